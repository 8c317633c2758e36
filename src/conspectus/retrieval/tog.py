"""Think-on-Graph 2: explore the graph from the entities of a question, and check every step against the texts (ToG-2).

Each round chooses relations, scores the entities they lead to by the chunks that mention them, and asks whether what
was read suffices to answer. `tog1` is Think-on-Graph: the same search without reading any text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any

import numpy as np

from conspectus import tokens
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.retrieval import method
from conspectus.retrieval.base import empty_answer, extractive, finish, hit, run_ready
from conspectus.retrieval.bm25 import scores_of
from conspectus.retrieval.vector import has_vectors, question_vectors
from conspectus.rows import Answer, Hit, ReasoningPath, Relationship, Triple
from conspectus.settings import Settings
from conspectus.tasks import (
    AnswerFromContext,
    ChooseRelations,
    DraftAnswer,
    Edge,
    ExamineEvidence,
    NameEntities,
    Topic,
)
from conspectus.tasks.base import Context
from conspectus.text.language import question_language
from conspectus.text.words import (
    STOPWORDS,
    WORD,
    fold,
    is_content,
    likeness,
    name_key,
    root,
    roots_of_label,
    search_terms,
    terms,
)
from conspectus.triple_graph import Step, TripleGraph

SCORED_CHUNKS, READ_CHUNKS = 10, 5
"""Number of top chunks whose scores count for their entities (K), and that are read to answer (L), as in ToG-2."""
DECAY = 0.4
"""Decay alpha of the score of a chunk with its rank, as in ToG-2."""
MOST_EDGES = 60
"""Relations of an entity that are shown to choose from: those of the most triples."""


@dataclass(frozen=True)
class Exploration:
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
) -> Exploration:
    """Search from what a question names, or from the given names, for at most D rounds.

    Without `texts` no chunk is read: Think-on-Graph. A search that comes to an end without an answer has
    none.
    """
    graph = TripleGraph.of(index)
    tog = settings.tog
    trails = [ReasoningPath(graph.names[n]) for n in await _topics(question, graph, model, tog.width, start)]
    scorer = Scorer(question, index, graph, settings, texts)
    clues: tuple[str, ...] = ()
    begun = scorer.beginning([trail.start for trail in trails], SCORED_CHUNKS)
    seen: dict[int, float] = dict(begun)
    last_paths: list[ReasoningPath] = []
    for round_ in range(1, tog.depth + 1):
        topics = [Topic(trail, _edges(trail, graph)) for trail in trails]
        chosen = await model.perform(ChooseRelations(question, tuple(topics), tog.width, clues))
        candidates = list(_candidates(topics, chosen, graph, tog.width))
        best, chunks = prune(candidates, scorer, clues, tog.width)
        if not best:
            return Exploration((), tuple(last_paths), _ranked(seen), clues, round_ - 1)
        for chunk, score in chunks:
            seen[chunk] = max(score, seen.get(chunk, 0.0))
        trails = last_paths = [candidate.trail for candidate in best]
        shown = _ranked({**dict(begun), **dict(chunks)}) if begun else chunks
        read = tuple(index.chunks[chunk] for chunk, _ in shown[:READ_CHUNKS])
        examined = await model.perform(ExamineEvidence(question, tuple(trails), Context(sources=read), clues))
        if examined.complete:
            trails.sort(key=lambda trail: trail.end not in examined.answers)
            return Exploration(examined.answers, tuple(trails), _ranked(seen), clues, round_)
        clues = (*clues, examined.clue) if examined.clue else clues
    return Exploration((), tuple(last_paths), _ranked(seen), clues, tog.depth)


async def _topics(question: str, graph: TripleGraph, model: Model, width: int, start: Sequence[str]) -> list[int]:
    if start:
        return [n for name in start for n in topic_entities(name, graph, 1, [name])]
    named = await model.perform(NameEntities(question)) if model.generative else ()
    return topic_entities(question, graph, width, named) or topic_entities(question, graph, width)


def _edges(trail: ReasoningPath, graph: TripleGraph) -> tuple[Edge, ...]:
    """Return the relations around the end of a trail, those of the most triples first, in the order of the
    table.
    """
    counts: dict[tuple[int, bool], int] = {}
    for step in _onward(trail, graph):
        counts[step.relation, step.inverse] = counts.get((step.relation, step.inverse), 0) + 1
    most = sorted(counts, key=lambda way: -counts[way])[:MOST_EDGES]
    return tuple(
        Edge(graph.relations[relation], inverse, counts[relation, inverse]) for relation, inverse in most
    )


def _onward(trail: ReasoningPath, graph: TripleGraph) -> list[Step]:
    """Return the edges that lead from the end of a trail to where it has not been."""
    visited = {graph.number_of[name] for name in trail.names}
    return [step for step in graph.steps(graph.number_of[trail.end]) if step.to not in visited]


def _candidates(
    topics: Sequence[Topic], chosen: Sequence[Sequence[int]], graph: TripleGraph, width: int
) -> list[Candidate]:
    candidates: list[Candidate] = []
    for topic_number, (topic, places) in enumerate(zip(topics, chosen, strict=False)):
        edges = [topic.edges[p] for p in places[:width] if 0 <= p < len(topic.edges)]
        ways = {(edge.relation, edge.inverse) for edge in edges}
        for step in _onward(topic.path, graph) if ways else ():
            if (graph.relations[step.relation], step.inverse) in ways:
                trail = ReasoningPath(topic.path.start, (*topic.path.triples, row_of(step.triple, graph)))
                candidates.append(Candidate(topic_number, trail, step.triple, step.to))
    return candidates


def row_of(triple: int, graph: TripleGraph) -> Triple:
    """Return a triple of the graph as a row."""
    head, tail = graph.names[int(graph.heads[triple])], graph.names[int(graph.tails[triple])]
    return Triple(str(triple), triple, head, graph.relations[int(graph.kinds[triple])], tail)


def _ranked(scores: dict[int, float]) -> tuple[tuple[int, float], ...]:
    return tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def topic_entities(question: str, graph: TripleGraph, most: int, named: Sequence[str] = ()) -> list[int]:
    """Return the names of a graph that a question holds, the longest and rarest first; at most so many.

    `named` are names that a model found in it. Of names that differ in case alone, the one that is spelt as
    in the question is meant. Without any capital a name must be of several words, or the question hold no
    other.
    """
    candidates: dict[int, tuple[int, int]] = {}
    for name in named:
        for number in _spelt(name, name_key(name), graph):
            candidates.setdefault(number, (0, name_key(name).count(" ")))
    if not candidates:
        candidates = dict(_spans(question, graph))
    return sorted(candidates, key=lambda n: (*candidates[n], graph.degree(n), n))[:most]


def _spans(question: str, graph: TripleGraph) -> list[tuple[int, tuple[int, int]]]:
    words = name_key(question).split()
    taken: set[int] = set()
    candidates: list[tuple[int, tuple[int, int]]] = []
    spans = [(a, b) for a in range(len(words)) for b in range(a + 1, min(len(words), a + graph.longest_key) + 1)]
    for a, b in sorted(spans, key=lambda s: (s[0] - s[1], s)):
        key = " ".join(words[a:b])
        if key not in graph.numbers_of_key or taken & {*range(a, b)} or (b - a == 1 and key in STOPWORDS):
            continue
        for number in _spelt(question, key, graph):
            plain = graph.names[number].islower() or graph.names[number] not in question
            candidates.append((number, (int(plain), a - b)))
        if any(graph.names[n] in question and not graph.names[n].islower() for n in graph.numbers_of_key[key]):
            taken |= {*range(a, b)}
    least = min((plain for _, (plain, _) in candidates), default=0)
    return [(number, order) for number, order in candidates if order[0] == least]


def _spelt(text: str, key: str, graph: TripleGraph) -> list[int]:
    """Return the names of a key: those spelt as in the text where there are any, else all."""
    numbers = graph.numbers_of_key.get(key, [])
    return [n for n in numbers if graph.names[n] in text] or numbers


MOST_PRUNED = 2000
"""Candidates that are looked at in one round, those of the fewest triples first."""
RERANKED = 4
"""Chunks that are ranked again, as a multiple of K."""


@dataclass(frozen=True)
class Candidate:
    """A name that can be reached: from which topic, by which path, and by which triple last."""

    topic: int
    trail: ReasoningPath
    triple: int
    name: int


class Scorer:
    """F: how much a text says to a question, its clues and the triple that led to it.

    In two stages: BM25 over all chunks, then, of the best, the cosine of vectors where the index has them,
    else the share of the question's words that the chunk holds. A graph without text is scored by its
    triples.
    """

    def __init__(self, question: str, index: Index, graph: TripleGraph, settings: Settings, texts: bool) -> None:
        self.question = question
        self.graph = graph
        self.texts = texts and len(index.chunks) > 0
        self._index = index
        self._settings = settings
        self._words = [root(w) for w in WORD.findall(fold(question)) if is_content(w)]

    def chunks(
        self, candidates: Sequence[Candidate], clues: Sequence[str], most: int
    ) -> list[tuple[int, int, float]]:
        """Return candidate, chunk and score from 0 to 1 of the best chunks of all candidates together."""
        query = " ".join((self.question, *clues[-1:]))
        base = scores_of(query, self._index)
        pairs: list[tuple[float, int, int]] = []
        for topic_number, candidate in enumerate(candidates):
            extra = scores_of(self.graph.names[candidate.name], self._index)
            for chunk in self._of(candidate):
                pairs.append((float(base[chunk] + extra[chunk]), topic_number, chunk))
        return self._best(pairs, query, most)

    def beginning(self, names: Sequence[str], most: int) -> list[tuple[int, float]]:
        """Return the best chunks of the documents linked to names, for a given graph: none of its triples leads
        to them.
        """
        if not self.texts or not self.graph.given:
            return []
        base = scores_of(self.question, self._index)
        linked = sorted({chunk for name in names for chunk in self._linked(name)})
        best = self._best([(float(base[chunk]), 0, chunk) for chunk in linked], self.question, most)
        return [(chunk, score) for _, chunk, score in best]

    def _best(self, pairs: list[tuple[float, int, int]], query: str, most: int) -> list[tuple[int, int, float]]:
        """Return candidate, chunk and score from 0 to 1 of the best of chunks that are scored by BM25."""
        pairs.sort(key=lambda p: (-p[0], p[1], p[2]))
        top = pairs[: RERANKED * most]
        highest = top[0][0] if top else 1.0
        again = self._again(query, [chunk for _, _, chunk in top])
        scored = [
            (topic_number, chunk, (score / (highest or 1.0) + again[chunk]) / 2)
            for score, topic_number, chunk in top
        ]
        return sorted(scored, key=lambda s: (-s[2], s[0], s[1]))[:most]

    def _of(self, candidate: Candidate) -> set[int]:
        """Return the chunks of a candidate: those that say its triple, and those that say any other of its
        triples; in a given graph, whose triples no text says, those of the documents linked to it.
        """
        chunks = set(self.graph.chunks[candidate.triple])
        for step in self.graph.steps(candidate.name):
            chunks.update(self.graph.chunks[step.triple])
        return chunks or self._linked(self.graph.names[candidate.name])

    def _linked(self, name: str) -> set[int]:
        number = self._index.entity_of_name.get(name)
        ids = self._index.entities[number].chunk_ids if number is not None else ()
        return {self._index.chunk_of[c].number for c in ids}

    def _again(self, query: str, chunks: Iterable[int]) -> dict[int, float]:
        places = sorted(set(chunks))
        if has_vectors(self._index):
            vector = question_vectors([query], self._index, self._settings)[0]
            cosines: np.ndarray[Any, Any] = self._index.arrays["vectors.chunks"][places] @ vector
            return dict(zip(places, np.maximum(cosines, 0).tolist(), strict=True))
        query_terms = set(search_terms(query, self._index))
        return {
            c: len(query_terms & set(search_terms(self._index.chunks[c].text, self._index)))
            / (len(query_terms) or 1)
            for c in places
        }

    def triple(self, candidate: Candidate, clues: Sequence[str]) -> float:
        """Return how much of the question a triple and the relations that lead on from its end say, 0 to 1."""
        if not self._words:
            return 0.0
        labels = {self.graph.kinds[candidate.triple]} | {s.relation for s in self.graph.steps(candidate.name)}
        parts = {r for label in labels for r in roots_of_label(self.graph.relations[label])}
        parts |= {root(w) for w in WORD.findall(fold(self.graph.names[candidate.name]))}
        return sum(max((likeness(w, p) for p in parts), default=0.0) for w in self._words) / len(self._words)


def prune(
    candidates: Sequence[Candidate], scorer: Scorer, clues: Sequence[str], width: int
) -> tuple[list[Candidate], list[tuple[int, float]]]:
    """Return the W best candidates, one for each name, and the best chunks of all, the best first.

    A candidate scores the sum over its chunks among the top K of s * exp(-alpha * rank), or with no text s of
    its triple; both, where the graph was given, and may have no text of most candidates.
    """
    if len(candidates) > MOST_PRUNED:
        candidates = sorted(candidates, key=lambda c: (scorer.graph.degree(c.name), c.triple))[:MOST_PRUNED]
    if scorer.texts:
        ranked = scorer.chunks(candidates, clues, SCORED_CHUNKS)
        scores = [0.0] * len(candidates)
        for rank, (topic_number, _, score) in enumerate(ranked):
            scores[topic_number] += score * exp(-DECAY * rank)
        if scorer.graph.given:
            scores = [score + scorer.triple(c, clues) for score, c in zip(scores, candidates, strict=True)]
    else:
        ranked = []
        scores = [scorer.triple(candidate, clues) for candidate in candidates]
    order = sorted(range(len(candidates)), key=lambda i: (-scores[i], i))
    best: dict[int, Candidate] = {}
    for i in order:
        best.setdefault(candidates[i].name, candidates[i])
        if len(best) == width:
            break
    chunks: dict[int, float] = {}
    for _, chunk, score in ranked:
        chunks[chunk] = max(score, chunks.get(chunk, 0.0))
    return list(best.values()), sorted(chunks.items(), key=lambda c: (-c[1], c[0]))


MOST_SHOWN = 20
"""Answers named in the text; `short` holds all."""


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the ranking with the extractive model, which prunes by similarity."""
    return run_ready(rank_with(question, index, extractive(index), settings))


async def rank_with(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that the search ranks highest."""
    exploration = await explore(question, index, model, settings)
    return [hit(chunk, score, index) for chunk, score in exploration.chunks[: settings.search.k]]


@method(
    "tog",
    help="explores the graph and reads texts in turns (Think-on-Graph 2)",
    reads={"graph", "chunks"},
    rank=rank,
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer by ToG-2, over the graph and the chunks of the index.

    Raises UsageError where the index has no graph.
    """
    return await _answer(question, index, model, settings, "tog")


@method(
    "tog1",
    help="explores the graph alone (Think-on-Graph)",
    reads={"graph"},
    no_preview="tog1 goes along the graph, step by step: nothing can be shown before the answer",
)
async def answer_on_graph(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer by Think-on-Graph: the same on the graph alone."""
    return await _answer(question, index, model, settings, "tog1")


async def _answer(question: str, index: Index, model: Model, settings: Settings, method: str) -> Answer:
    if not len(TripleGraph.of(index)):
        raise UsageError(f"{method} needs a graph, and this index has no triples and no relationships")
    exploration = await explore(question, index, model, settings, texts=method == "tog")
    evidence = evidence_of(exploration, index) if method == "tog" else Context()
    if not exploration.trails:
        return empty_answer(question, index, method=method)
    if evidence.sources:
        task = AnswerFromContext(question, evidence)
        used = tokens.count(evidence.text)
        result = await finish(task, Answer(question, "", method, context_tokens=used), index, model)
        if not model.generative and TripleGraph.of(index).given:
            result, exploration = _with_graph(
                result, exploration, wording(question_language(question, index)).selected
            )
    else:
        words = wording(question_language(question, index))
        notice = words.written if model.generative else words.selected
        result = Answer(question, _listed(exploration), method, notices=(notice,))
    short = exploration.answers or await _from_what_there_is(question, exploration, evidence, model)
    if not evidence.sources and not exploration.answers and short:
        result = replace(result, text="\n".join(f"- {name}" for name in short))
    rounds = f"{exploration.rounds} round{'s' * (exploration.rounds != 1)} from {exploration.trails[0].start}"
    complete = "" if exploration.answers else "; its facts were not found to be complete"
    return replace(result, short=short, reasoning_paths=exploration.trails, why=f"{rounds}{complete}")


def _with_graph(quoted: Answer, exploration: Exploration, notice: str) -> tuple[Answer, Exploration]:
    """Return what a given graph answers beside what documents say, and what counts as found.

    Without a language model nobody tells which of the two answers: what says more of the question goes first,
    and the graph, whose plans always lead somewhere, is not heard where the documents do.
    """
    texts = [source.text for citation in quoted.citations for source in citation.sources]
    name = {*terms(exploration.trails[0].start)}
    query_terms = [t for t in terms(quoted.question) if t not in name]
    chunks = max(
        (
            sum(t in held for t in query_terms) / len(query_terms)
            for text in texts
            if query_terms and (held := {*terms(text)})
        ),
        default=0.0,
    )
    if not exploration.answers or chunks > _said(query_terms, exploration.trails[0]):
        return quoted, replace(exploration, answers=())
    shares = (_listed(exploration), quoted.text) if texts else (_listed(exploration),)
    return replace(quoted, text="\n\n".join(shares), notices=(*quoted.notices, notice)), exploration


def _said(query_terms: Sequence[str], trail: ReasoningPath) -> float:
    """Return the share of words that the relations of a trail say."""
    labels = {r for triple in trail.triples for r in roots_of_label(triple.relation)}
    shares = (max((likeness(root(word), label) for label in labels), default=0.0) for word in query_terms)
    return sum(shares) / (len(query_terms) or 1)


async def _from_what_there_is(
    question: str, exploration: Exploration, evidence: Context, model: Model
) -> tuple[str, ...]:
    if not model.generative:
        return ()
    draft = await model.perform(DraftAnswer(question, paths=exploration.trails, context=evidence))
    return (draft.answer,)


def _listed(exploration: Exploration) -> str:
    """Return the answers a line each, then the paths that were gone to them."""
    names = exploration.answers[:MOST_SHOWN] or tuple(trail.end for trail in exploration.trails)
    more = len(exploration.answers) - MOST_SHOWN
    lines = [f"- {name}" for name in names] + ([f"- and {more} more"] if more > 0 else [])
    paths = [
        "; ".join(f"{t.head} – {_label(t.relation)} – {t.tail}" for t in trail.triples)
        for trail in exploration.trails
    ]
    return "\n".join(lines) + "\n\nPaths:\n\n" + "\n".join(f"- {path}" for path in paths)


def _label(relation: str) -> str:
    """Return a relation on one line: in a graph of descriptions, the first statement of it."""
    return relation.partition("\n")[0].replace("_", " ")


def evidence_of(exploration: Exploration, index: Index) -> Context:
    """Return the best chunks of a search and the relationships of its paths, as evidence."""
    chunks = tuple(index.chunks[chunk] for chunk, _ in exploration.chunks[:READ_CHUNKS])
    pairs = {frozenset((t.head, t.tail)) for trail in exploration.trails for t in trail.triples}
    rows: list[Relationship] = []
    for name in {name for pair in pairs for name in pair} & index.entity_of_name.keys():
        for number in index.edges_of(index.entity_of_name[name]):
            row = index.relationships[number]
            if frozenset((row.source, row.target)) in pairs and row not in rows:
                rows.append(row)
    return Context(relationships=tuple(sorted(rows, key=lambda r: r.number)), sources=chunks)
