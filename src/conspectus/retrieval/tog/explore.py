"""The rounds of the search: choose relations, choose entities by their chunks, examine, until answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.tog.prune import Candidate, Scorer, kept
from conspectus.retrieval.tog.topics import topics_in
from conspectus.rows import ReasoningPath, Triple
from conspectus.settings import Settings
from conspectus.tasks import ChooseRelations, Edge, ExamineEvidence, NameEntities, Topic
from conspectus.tasks.context import Context
from conspectus.triple_graph import Step, TripleGraph

MOST_EDGES = 60
"""Relations of an entity that are shown to choose from: those of the most triples."""


@dataclass(frozen=True)
class Explored:
    """What a search found: answers, the best first (none where the facts did not suffice), and what it stood
    on.
    """

    answers: tuple[str, ...] = ()
    trails: tuple[ReasoningPath, ...] = ()
    """Of the last round that went further, the best first."""
    chunks: tuple[tuple[int, float], ...] = ()
    """Numbers of chunks with their best scores over the rounds, the best first."""
    clues: tuple[str, ...] = ()
    rounds: int = 0


async def explore(
    question: str,
    index: Index,
    model: Model,
    settings: Settings,
    *,
    texts: bool = True,
    start: Sequence[str] = (),
) -> Explored:
    """Search from what a question names, or from the given names, for at most D rounds.

    Without `texts` no chunk is read: Think-on-Graph. A search that comes to an end without an answer has
    none.
    """
    graph = TripleGraph.of(index)
    tog = settings.tog
    trails = [ReasoningPath(graph.names[n]) for n in await _topics(question, graph, model, tog.width, start)]
    scorer = Scorer(question, index, graph, settings, texts)
    clues: tuple[str, ...] = ()
    begun = scorer.beginning([trail.start for trail in trails], tog.chunks)
    seen: dict[int, float] = dict(begun)
    gone: list[ReasoningPath] = []
    for round_ in range(1, tog.depth + 1):
        topics = [Topic(trail, _edges(trail, graph)) for trail in trails]
        chosen = await model.perform(ChooseRelations(question, tuple(topics), tog.width, clues))
        candidates = list(_candidates(topics, chosen, graph, tog.width))
        best, chunks = kept(candidates, scorer, clues, tog)
        if not best:
            return Explored((), tuple(gone), _ranked(seen), clues, round_ - 1)
        for chunk, score in chunks:
            seen[chunk] = max(score, seen.get(chunk, 0.0))
        trails = gone = [candidate.trail for candidate in best]
        shown = _ranked({**dict(begun), **dict(chunks)}) if begun else chunks
        read = tuple(index.chunks[chunk] for chunk, _ in shown[: min(tog.evidence, tog.chunks)])
        examined = await model.perform(ExamineEvidence(question, tuple(trails), Context(sources=read), clues))
        if examined.complete:
            trails.sort(key=lambda trail: trail.end not in examined.answers)
            return Explored(examined.answers, tuple(trails), _ranked(seen), clues, round_)
        clues = (*clues, examined.clue) if examined.clue else clues
    return Explored((), tuple(gone), _ranked(seen), clues, tog.depth)


async def _topics(question: str, graph: TripleGraph, model: Model, width: int, start: Sequence[str]) -> list[int]:
    if start:
        return [n for name in start for n in topics_in(name, graph, 1, [name])]
    named = await model.perform(NameEntities(question)) if model.generative else ()
    return topics_in(question, graph, width, named) or topics_in(question, graph, width)


def _edges(trail: ReasoningPath, graph: TripleGraph) -> tuple[Edge, ...]:
    """Return the relations around the end of a trail, those of the most triples first, in the order of the
    table.
    """
    counts: dict[tuple[int, bool], int] = {}
    for step in _onward(trail, graph):
        counts[step.relation, step.inverse] = counts.get((step.relation, step.inverse), 0) + 1
    most = sorted(counts, key=lambda way: -counts[way])[:MOST_EDGES]
    return tuple(Edge(graph.relations[relation], inverse, counts[relation, inverse]) for relation, inverse in most)


def _onward(trail: ReasoningPath, graph: TripleGraph) -> list[Step]:
    """Return the edges that lead from the end of a trail to where it has not been."""
    been = {graph.number_of[name] for name in trail.names}
    return [step for step in graph.steps(graph.number_of[trail.end]) if step.to not in been]


def _candidates(
    topics: Sequence[Topic], chosen: Sequence[Sequence[int]], graph: TripleGraph, width: int
) -> list[Candidate]:
    found: list[Candidate] = []
    for place, (topic, places) in enumerate(zip(topics, chosen, strict=False)):
        edges = [topic.edges[p] for p in places[:width] if 0 <= p < len(topic.edges)]
        ways = {(edge.relation, edge.inverse) for edge in edges}
        for step in _onward(topic.trail, graph) if ways else ():
            if (graph.relations[step.relation], step.inverse) in ways:
                trail = ReasoningPath(topic.trail.start, (*topic.trail.triples, row_of(step.triple, graph)))
                found.append(Candidate(place, trail, step.triple, step.to))
    return found


def row_of(triple: int, graph: TripleGraph) -> Triple:
    """Return a triple of the graph as a row."""
    head, tail = graph.names[int(graph.heads[triple])], graph.names[int(graph.tails[triple])]
    return Triple(str(triple), triple, head, graph.relations[int(graph.kinds[triple])], tail)


def _ranked(scores: dict[int, float]) -> tuple[tuple[int, float], ...]:
    return tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))
