"""Entities and relationships of a chunk: what its sentences mention, and what they mention together."""

from __future__ import annotations

from itertools import combinations

from conspectus.models.extractive.passages import Passages
from conspectus.tasks import ExtractGraph, FoundEntity, FoundRelationship, Graph
from conspectus.rows import Span

SAME_SENTENCE = 8.0
NEXT_SENTENCE = 3.0
SPOKEN = 4.0
"""Strength of the relationship between a speaker and what they speak of."""
MOST_PAIRED = 12
"""Of a sentence that mentions more things than this, only the first ones are paired."""


def extract_graph(task: ExtractGraph, passages: Passages) -> Graph:
    """Find the entities of a chunk, each described by the sentence that tells most of it, and the pairs of them.

    Two entities are related where one sentence mentions both, or, more weakly, two neighbouring ones do.
    """
    sentences = passages.within(task.chunk)
    best: dict[int, tuple[float, int]] = {}
    relationships: list[FoundRelationship] = []
    before: list[int] = []
    for sentence in sentences:
        mentioned = passages.mentioned(sentence)
        quality = passages.quality(sentence) if mentioned else 0.0
        for place, entity in enumerate(mentioned):
            score = quality + (0.25 if place == 0 else 0.0)
            if entity not in best or score > best[entity][0]:
                best[entity] = (score, sentence)
        relationships += _pairs(sentence, mentioned, before if passages.follows(sentence) else [], passages)
        before = mentioned
    names, types = passages.lexicon.names, passages.lexicon.types
    entities = (
        FoundEntity(names[entity], types[entity], passages.quoted(sentence), passages.span(sentence))
        for entity, (_, sentence) in best.items()
    )
    return Graph(tuple(entities), tuple(relationships))


def _pairs(sentence: int, mentioned: list[int], before: list[int], passages: Passages) -> list[FoundRelationship]:
    found: list[FoundRelationship] = []
    if not mentioned:
        return found
    names, here = passages.lexicon.names, mentioned[:MOST_PAIRED]
    text, span = passages.quoted(sentence), passages.span(sentence)
    for a, b in combinations(here, 2):
        found.append(FoundRelationship(names[a], names[b], text, SAME_SENTENCE, span))
    known = set(mentioned)
    if before and known.isdisjoint(before):
        first = passages.span(sentence - 1)
        both = f"{passages.quoted(sentence - 1)} {text}"
        wide = Span(span.document_id, first.start, span.end)
        for a in before[:MOST_PAIRED]:
            for b in here:
                found.append(FoundRelationship(names[a], names[b], both, NEXT_SENTENCE, wide))
    return found
