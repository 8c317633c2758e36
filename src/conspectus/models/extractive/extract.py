"""Entities and relationships of a chunk: what its sentences mention, and what they mention together."""

from __future__ import annotations

from itertools import combinations

from conspectus.models.base import performs
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.rows import Span
from conspectus.tasks import AnyMissed, ExtractGraph, Extraction, FoundEntity, FoundRelationship

SAME_SENTENCE = 8.0  # unexplained
NEXT_SENTENCE = 3.0  # unexplained
SPOKEN = 4.0  # unexplained
"""Strength of the relationship between a speaker and what they speak of."""
OPENS = 0.25  # unexplained
"""What a sentence gains as a description of the thing that it mentions first."""
WORTH_SAYING = 0.5  # unexplained
"""Least quality of a sentence that relates its speaker to what it mentions."""
MOST_SPOKEN_OF = 3  # unexplained
MOST_PAIRED = 12  # unexplained
"""Of a sentence that mentions more things than this, only the first ones are paired."""


@performs(ExtractGraph)
def extract_graph(task: ExtractGraph, passages: SentenceStore | None) -> Extraction:
    """Find the entities of a chunk, each with the sentence that tells most of it, and the pairs of them.

    Two entities are related where one sentence mentions both, more weakly where two neighbouring ones do, and
    where one speaks of the other. A chunk that is not in `passages` is read by itself.
    """
    if passages is None or not passages.knows(task.chunk):
        passages = SentenceStore.of_chunk(task.chunk, task.entity_types)
    best: dict[int, tuple[float, int]] = {}
    relationships: list[FoundRelationship] = []
    before: list[int] = []
    for sentence in passages.within(task.chunk):
        mentioned = passages.mentioned(sentence)
        quality = passages.quality(sentence) if mentioned else 0.0
        for place, entity in enumerate(mentioned):
            _keep_best(best, entity, quality + (OPENS if place == 0 else 0.0), sentence)
        speaker = passages.said_by(sentence)
        if speaker >= 0 and quality >= WORTH_SAYING:
            _keep_best(best, speaker, quality - 1, sentence)  # what is said of them comes before what they say
        else:
            speaker = -1
        relationships += _pairs(sentence, mentioned, before if passages.follows(sentence) else [], speaker, passages)
        before = mentioned
    names, types = passages.names, passages.types
    entities = (
        FoundEntity(names[entity], types[entity], passages.quoted(sentence), passages.span(sentence))
        for entity, (_, sentence) in best.items()
    )
    return Extraction(tuple(entities), tuple(relationships))


@performs(AnyMissed)
def any_missed(task: AnyMissed) -> bool:
    """Return False: the same rules would find the same again."""
    return False


def _keep_best(best: dict[int, tuple[float, int]], entity: int, score: float, sentence: int) -> None:
    if entity not in best or score > best[entity][0]:
        best[entity] = (score, sentence)


def _pairs(
    sentence: int, mentioned: list[int], before: list[int], speaker: int, passages: SentenceStore
) -> list[FoundRelationship]:
    """Return the relationships that one sentence gives, with the one before it where that stands near."""
    if not mentioned:
        return []
    names, here = passages.names, mentioned[:MOST_PAIRED]
    text, span = passages.quoted(sentence), passages.span(sentence)
    found = [FoundRelationship(names[a], names[b], text, SAME_SENTENCE, span) for a, b in combinations(here, 2)]
    if speaker >= 0 and speaker not in here:
        found += [FoundRelationship(names[speaker], names[b], text, SPOKEN, span) for b in here[:MOST_SPOKEN_OF]]
    if before and set(mentioned).isdisjoint(before):
        both = f"{passages.quoted(sentence - 1)}\n{text}"
        wide = Span(span.document_id, passages.span(sentence - 1).start, span.end)
        found += [
            FoundRelationship(names[a], names[b], both, NEXT_SENTENCE, wide) for a in before[:MOST_PAIRED] for b in here
        ]
    return found
