"""Local answers: from the graph around the entities that a question names, outwards (GraphRAG §1)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from conspectus.algorithms.ranking import Floats, highest, ranges
from conspectus.index import Chosen, Index, edge_ranks
from conspectus.index_models import cosines, question_vectors
from conspectus.models.base import Model
from conspectus.name_lookup import declined_stems, entity_of_key
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_within, first_chunks, most_chunks, pack
from conspectus.retrieval.bm25 import scores_of
from conspectus.rows import Answer, Claim, Entity, Relationship, Report
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks.base import Context
from conspectus.text.mentions import units
from conspectus.text.question import read_question
from conspectus.text.words import CJK, STOPWORDS, name_key, stem, stems, without_particles

MOST_NAMED = 10
"""Maximum number of entities that the context starts from."""
FILLED_UP = 4
"""Minimum number of entities to start from, filled up by those described most like the question. Of the sample corpus's
19 joins of facts, the context has all evidence of 15 without them, of 16 up to 3 or 4, of 14 with always 4 more."""
NEIGHBOURS = 2
"""Number of neighbours that are added for each named entity."""
LONGEST, LONGEST_UNSPACED = 6, 14
"""Maximum length of a name that is looked up in a question: in words, and in characters of a script without spaces."""


@method(
    "local",
    help="entities that the question names and their neighbourhood",
    reads={"reports", "graph", "chunks"},
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from entities, relationships, reports, claims and chunks around what the question is about."""
    start = matching(question, index, settings)
    names = ", ".join([entity.name for entity in start[:4]])
    why = f"from what the graph knows of {names}" if names else "from the chunks nearest to the question"
    rows = rows_around(question, index, settings.answer, start)
    return await answer_within(rows, Answer(question, "", "local", why=why), index, model, settings)


def matching(question: str, index: Index, settings: Settings) -> list[Entity]:
    """Return the entities that a question names, then, if there are vectors, those described most like it."""
    named = entities_in(question, index)
    if "vectors.entities" not in index.arrays:
        return named[:MOST_NAMED]
    alike = cosines("entities", question_vectors([question], index, settings)[0], index)
    near: list[int] = highest(alike, FILLED_UP).tolist()
    numbers = dict.fromkeys([*(entity.number for entity in named), *near])
    return [index.entities[number] for number in numbers][: max(FILLED_UP, min(len(named), MOST_NAMED))]


def context(question: str, index: Index, settings: AnswerSettings) -> Context:
    """Return the window for a question: the rows around the entities that it names, as many as fit."""
    return pack(rows_around(question, index, settings), settings.context_tokens)


def rows_around(
    question: str,
    index: Index,
    settings: AnswerSettings,
    start: Sequence[Entity] | None = None,
    *,
    with_reports: bool = True,
) -> Context:
    """Return the rows around the entities that a question names, or `start`; the most relevant of each table first."""
    named = entities_in(question, index)[:MOST_NAMED] if start is None else start
    scores = scores_of(question, index)
    numbers = _edges(named, scores, index)
    edges = Chosen(index.relationships, numbers)
    around = _scores_around(named, numbers, scores, index)
    best: list[int] = highest(around, most_chunks(settings)).tolist()
    return Context(
        reports=tuple(_reports(named, index)) if with_reports else (),
        entities=(*named, *_nearest(named, edges, index)),
        relationships=edges,
        claims=tuple(claims_of({entity.name for entity in named}, scores, index)),
        sources=first_chunks((i for i in best if around[i] > 0), index, settings),
        available={"sources": len(index.chunks)},
    )


def entities_in(question: str, index: Index) -> list[Entity]:
    """Return the entities that a question names, the longest and rarest names first."""
    full_names = [name_key(name).split() for name in read_question(question).full_names]
    question = without_particles(question, index.languages)
    # if a question uses capitals, its lower-case "stem" is not STEM, nor is "hard" Harding
    small = set(question.split()) if question[:1].isupper() else set[str]()
    if CJK.search(question):
        words, longest = units(name_key(question)), LONGEST_UNSPACED
    else:
        words, longest = name_key(question).split(), LONGEST
    entities: dict[int, tuple[int, int]] = {}
    start = 0
    while start < len(words):
        sizes = range(min(longest, len(words) - start), 0, -1)
        numbers = {size: _named_by(words[start : start + size], index) for size in sizes}
        size = next((size for size in sizes if numbers[size]), 0)
        if size == 1 and (words[start] in STOPWORDS or CJK.match(words[start])):
            size = 0
        full_name = next((name for name in full_names if words[start : start + 2] == name[:2]), list[str]())
        for number in numbers[size] if size else ():
            name = index.entities[number].name
            first, *others = name_key(name).split()
            other = name.isupper() or (name[:1].isupper() and first.rstrip("s") != words[start].rstrip("s"))
            if size == 1 and words[start] in small and other:
                continue
            # "Charlie Bell" is no other Charlie
            if first not in full_name[:1] or not others or not stems(others).isdisjoint(stems(full_name)):
                entities[number] = (-size, index.entities[number].degree)
        start += max(size, 1)
    return [index.entities[number] for number in sorted(entities, key=lambda n: (*entities[n], n))]


def _named_by(words: Sequence[str], index: Index) -> set[int]:
    """Return the numbers of the entities that words name: as written, with the last word stemmed, or declined."""
    stemmed = " ".join((*words[:-1], stem(words[-1])))
    keys = {" ".join(words), stemmed, *declined_stems(" ".join(words), index.languages)}
    return {number for key in keys if (number := entity_of_key(key, index)) is not None}


def _edges(named: Sequence[Entity], scores: Floats, index: Index) -> list[int]:
    """Return the relationships of named entities by number: between two of them first, then by chunks and weight."""
    ends = [number for entity in named for number in index.edges_of(entity.number)]
    numbers, named_ends = np.unique(np.array(ends, np.int64), return_counts=True)
    starts, chunks = index.lists("edge_chunk")
    (ranks,) = index.looked_up(edge_ranks, "graph.edge_ranks")
    at, sizes = ranges(starts[numbers], starts[numbers + 1])
    relevance = np.zeros(len(numbers), np.float32)
    np.maximum.at(relevance, np.repeat(np.arange(len(numbers)), sizes), scores[chunks[at]])
    return numbers[np.lexsort((ranks[numbers], -relevance, -named_ends))].tolist()


def claims_of(names: Collection[str], scores: Floats, index: Index) -> list[Claim]:
    """Return the claims about any of the names: those between two of them first, then by the scores of their chunks."""

    def order(claim: Claim) -> tuple[float, ...]:
        both = claim.subject in names and claim.object in names
        chunks = map(index.number_of_chunk.__getitem__, claim.chunk_ids)
        return (-float(both), -max(scores[list(chunks)], default=0.0), claim.number)

    return sorted((c for c in index.claims if c.subject in names or c.object in names), key=order)


def _nearest(named: Sequence[Entity], edges: Sequence[Relationship], index: Index) -> Iterator[Entity]:
    """Yield the other ends of the best relationships."""
    seen = {entity.name for entity in named}
    for edge in edges[: 4 * NEIGHBOURS * max(len(named), 1)]:
        for end in (edge.source, edge.target):
            if end not in seen and len(seen) < (1 + NEIGHBOURS) * len(named):
                seen.add(end)
                yield index.entities[index.entity_of_name[end]]


def _reports(named: Sequence[Entity], index: Index) -> Iterator[Report]:
    """Yield the reports of each named entity's smallest community with a full report, those with most of them first."""
    smallest: dict[int, int] = {}
    for entity in named:
        for community in index.communities_of(entity.number):
            report = index.report_of_community.get(community)
            if report is not None and not report.brief:
                smallest[report.number] = smallest.get(report.number, 0) + 1
                break
    for number in sorted(smallest, key=lambda n: (-smallest[n], n)):
        yield index.reports[number]


def _scores_around(named: Sequence[Entity], edges: Sequence[int], scores: Floats, index: Index) -> Floats:
    """Return the score of each chunk by its words, raised if it mentions named entities or their relationships."""
    gain = np.zeros(len(index.chunks), np.float32)
    for entity in named:
        gain[index.listed("entity_chunk", entity.number)] += 1 / np.sqrt(max(len(entity.chunk_ids), 1))
    for edge in edges[:40]:
        gain[index.listed("edge_chunk", edge)] += 0.1
    top = float(scores.max(initial=0.0)) or 1.0
    scale = float(gain.max(initial=0.0)) or 1.0
    return (scores / top + 0.5 * gain / scale).astype(np.float32)
