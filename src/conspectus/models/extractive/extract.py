"""Entities and relationships of a chunk: what its sentences mention, and what they mention together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, combinations, product

from conspectus.models.base import performs
from conspectus.models.extractive.sentence_store import SentenceStore, speaker_of, words_of
from conspectus.rows import Span
from conspectus.tasks import (
    AnyMissed,
    DescribeElement,
    Description,
    ExtractGraph,
    Extraction,
    FoundEntity,
    FoundRelationship,
)
from conspectus.text.question import question_pattern
from conspectus.text.sentences import quality
from conspectus.text.words import cached_by_hash, is_unspaced, unspaced_terms

STRENGTH = 8.0
"""Strength of every relationship, on the scale of 1 to 10 that language models use. It orders those of the same weight
alone: nothing that is measured moves with others for what neighbouring sentences mention, and for speakers."""
OPENS = 0.25
"""What a sentence gains as a description of the thing that it mentions first: "Rook Wherry is an old barge" tells more
of it than who painted it. A quarter of the best quality; the sample's descriptions are as good without (F1 -0.05)."""


@performs(ExtractGraph)
def extract_graph(task: ExtractGraph, passages: SentenceStore | None) -> Extraction:
    """Find the entities of a chunk, each with the sentence that tells most of it, and the pairs of them.

    Two entities are related where one sentence mentions both, where two neighbouring ones do, and where one speaks of
    the other. A chunk that is not in `passages` is read by itself.
    """
    if passages is None or not passages.knows(task.chunk):
        passages = SentenceStore.of_chunk(task.chunk, task.entity_types)
    best: dict[int, tuple[float, int]] = {}
    # what is found in a sentence shares its text and span, which stay in memory
    quoted, span_of = cache(passages.quoted), cache(passages.span)
    relationships: list[FoundRelationship] = []
    inside = passages.within(task.chunk)
    for sentence in inside:
        mentioned, speaker = passages.mentioned(sentence), passages.speaker_of(sentence)
        quality = passages.quality(sentence) if mentioned else 0.0
        merits = {entity: quality + OPENS * (rank == 0) for rank, entity in enumerate(mentioned)}
        if speaker >= 0:  # what is said of them comes before what they say
            merits.setdefault(speaker, quality - 1)
        for entity, merit in merits.items():
            if entity not in best or merit > best[entity][0]:
                best[entity] = (merit, sentence)
        near = sentence > inside.start and passages.follows(sentence)
        before = passages.mentioned(sentence - 1) if near else []
        relationships += _pairs(sentence, mentioned, before, speaker, passages, quoted, span_of)
    names, types = passages.names, passages.types
    entities = (
        FoundEntity(names[entity], types[entity], quoted(sentence), span_of(sentence))
        for entity, (_, sentence) in best.items()
    )
    return Extraction(tuple(entities), tuple(relationships))


@performs(AnyMissed)
def any_missed(task: AnyMissed) -> bool:
    """Return False: the same rules would find the same again."""
    return False


def _pairs(
    sentence: int,
    mentioned: list[int],
    before: list[int],
    speaker: int,
    passages: SentenceStore,
    quoted: Callable[[int], str],
    span_of: Callable[[int], Span],
) -> Iterator[FoundRelationship]:
    """Yield the relationships that one sentence gives, with the one before it where that stands near."""
    if not mentioned:
        return
    names, text, span = passages.names, quoted(sentence), span_of(sentence)
    spoken_of = mentioned if speaker >= 0 and speaker not in mentioned else []
    for one, other in chain(combinations(mentioned, 2), product([speaker], spoken_of)):
        if passages.are_related(one, other):
            yield FoundRelationship(names[one], names[other], text, STRENGTH, span)
    if before and set(mentioned).isdisjoint(before):
        both = f"{quoted(sentence - 1)}\n{text}"
        wide = Span(span.document_id, span_of(sentence - 1).start, span.end)
        for one, other in product(before, mentioned):
            if passages.are_related(one, other):
                yield FoundRelationship(names[one], names[other], both, STRENGTH, wide)


MOST_SENTENCES = {"entity": 3, "relationship": 2}
MOST_WORDS = 70
"""Words of a description at the most, but for its first sentence. With half, the sample's descriptions share less with
those of a language model (F1 of their terms -4.1); with double 0.4 more, which is within chance."""


@performs(DescribeElement)
def describe_element(task: DescribeElement) -> Description:
    """Choose the few instances that read best and say something of their own; name them in order of merit."""
    chosen: list[int] = []
    words: set[str] = set()
    length = 0
    texts, merits = task.descriptions, _merits(task)
    for i in sorted(range(len(texts)), key=merits.__getitem__, reverse=True):
        own = _words(texts[i])
        if chosen and (len(own & words) > 0.6 * len(own) or length + len(own) > MOST_WORDS):
            continue
        chosen.append(i)
        words |= own
        length += len(own)
        if len(chosen) == MOST_SENTENCES.get(task.kind, 2):
            break
    return Description("\n".join(texts[i] for i in chosen), tuple(chosen))


def _words(description: str) -> frozenset[str]:
    """Return the words of a description; where there are no spaces, its pairs of characters."""
    text = description.lower()
    return frozenset(unspaced_terms(text)) if is_unspaced(text) else frozenset(text.split())


# 11 million tokens have 200,000 distinct ones, which names of one community share; they would take 50 MB
@cached_by_hash(1 << 16)
def _reading(description: str, language: str) -> float:
    """Return the quality of a description."""
    first, *others = description.splitlines() or [""]
    return min(quality(words_of(first), language), *(0.9 * _reading(line, language) for line in others), 1.0)


def _merits(task: DescribeElement) -> list[float]:
    """Return for each description how well it reads and tells what the element is."""
    name, small, defines = task.name, task.name.lower(), question_pattern(task.language, "defines")
    merits: list[float] = []
    for description in task.descriptions:
        first = description.partition("\n")[0]
        words = words_of(first)
        merit = _reading(description, task.language)
        if name == speaker_of(first):  # what somebody says is no description of them
            merit -= 1
        at = words.lower().find(small)
        if at >= 0:
            merit += 0.15 if at < 20 else 0.0
            if defines.match(words[at + len(name) :]):
                merit += 0.35
        merits.append(merit)
    return merits
