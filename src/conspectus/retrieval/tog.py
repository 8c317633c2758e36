"""Think-on-Graph 2: explore the graph from the entities of a question, and check every step against the texts (ToG-2).

Each round chooses relations, scores the entities they lead to by the chunks that mention them, and asks whether what
was read suffices to answer. `tog1` is Think-on-Graph: the same search without reading any text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
from conspectus.rows import Answer, Hit, ReasoningPath, Triple
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
MOST_PRUNED = 2000
"""Candidates that are looked at in one round, those of the fewest triples first."""
RERANKED = 4
"""Chunks that are ranked again, as a multiple of K."""
MOST_SHOWN = 20
"""Answers named in the text; `short` holds all."""


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that the search with the extractive model, which prunes by similarity, ranks highest."""
    exploration = run_ready(explore(question, index, extractive(index), settings))
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
    graph = TripleGraph.of(index)
    if not len(graph):
        raise UsageError(f"{method} needs a graph, and this index has no triples and no relationships")
    exploration = await explore(question, index, model, settings, texts=method == "tog")
    if not exploration.paths:
        return empty_answer(question, index, method=method)
    answers = exploration.answers
    words = wording(question_language(question, index))
    context = _context(exploration, index) if method == "tog" else Context()
    if context.sources:
        draft = Answer(question, "", method, context_tokens=tokens.count(context.text))
        result = await finish(AnswerFromContext(question, context), draft, index, model)
        if graph.given and not model.generative:
            if answers and _graph_says_more(result, exploration.paths[0]):
                text = f"{_listed(exploration)}\n\n{result.text}" if result.citations else _listed(exploration)
                result = replace(result, text=text, notices=(*result.notices, words.selected))
            else:
                answers = ()
    else:
        notice = words.uncited if model.generative else words.selected
        result = Answer(question, _listed(exploration), method, notices=(notice,))
    short = answers
    if not answers and model.generative:
        reply = await model.perform(DraftAnswer(question, paths=exploration.paths, context=context))
        short = (reply.answer,)
        if not context.sources:
            result = replace(result, text=f"- {reply.answer}")
    rounds = f"{exploration.rounds} round{'s' * (exploration.rounds != 1)} from {exploration.paths[0].start}"
    why = rounds if answers else f"{rounds}; its facts were not found to be complete"
    return replace(result, short=short, reasoning_paths=exploration.paths, why=why)


def _graph_says_more(quoted: Answer, path: ReasoningPath) -> bool:
    """Tell whether the relations of a path in a given graph say as much of the question as any passage quoted.

    Without a language model nobody tells which of the two answers: the graph, whose plans always lead somewhere, is
    not heard where the documents say more.
    """
    name = {*terms(path.start)}
    query_terms = [term for term in terms(quoted.question) if term not in name]
    if not query_terms:
        return True
    texts = [source.text for citation in quoted.citations for source in citation.sources]
    shared = (sum(map({*terms(text)}.__contains__, query_terms)) for text in texts)
    labels = {label for triple in path.triples for label in roots_of_label(triple.relation)}
    expressed = sum(
        max((likeness(root(term), label) for label in labels), default=0.0) for term in query_terms
    )
    return max(shared, default=0) / len(query_terms) <= expressed / len(query_terms)


def _listed(exploration: Exploration) -> str:
    """Return the answers a line each, then the paths that were gone to them."""
    names = exploration.answers[:MOST_SHOWN] or tuple(path.end for path in exploration.paths)
    more = len(exploration.answers) - MOST_SHOWN
    lines = [f"- {name}" for name in names] + ([f"- and {more} more"] if more > 0 else [])
    lines += ["", "Paths:", ""]
    for path in exploration.paths:
        steps = ((t.head, t.relation.partition("\n")[0].replace("_", " "), t.tail) for t in path.triples)
        lines.append("- " + "; ".join(" – ".join(step) for step in steps))
    return "\n".join(lines)


def _context(exploration: Exploration, index: Index) -> Context:
    """Return the best chunks of a search and the relationships of its paths."""
    chunks = tuple(index.chunks[chunk] for chunk, _ in exploration.chunks[:READ_CHUNKS])
    pairs = {frozenset((t.head, t.tail)) for path in exploration.paths for t in path.triples}
    names = {name for pair in pairs for name in pair} & index.entity_of_name.keys()
    numbers = {number for name in names for number in index.edges_of(index.entity_of_name[name])}
    rows = [index.relationships[number] for number in sorted(numbers)]
    on_path = tuple(row for row in rows if frozenset((row.source, row.target)) in pairs)
    return Context(relationships=on_path, sources=chunks)


# The search


@dataclass(frozen=True)
class Exploration:
    """What a search found: answers, the best first (none where the facts did not suffice), and how it got there."""

    answers: tuple[str, ...]
    paths: tuple[ReasoningPath, ...]
    """Of the last round that went further, the best first."""
    chunks: tuple[tuple[int, float], ...]
    """Numbers of chunks with their best scores over the rounds, the best first."""
    rounds: int


async def explore(
    question: str, index: Index, model: Model, settings: Settings, *, texts: bool = True
) -> Exploration:
    """Search from what a question names for at most D rounds; without `texts` no chunk is read (Think-on-Graph)."""
    graph, tog = TripleGraph.of(index), settings.tog
    named = await model.perform(NameEntities(question)) if model.generative else ()
    paths = [ReasoningPath(graph.names[n]) for n in topic_entities(question, graph, tog.width, named)]
    scorer = Scorer(question, index, graph, settings, texts)
    linked = dict(scorer.linked_chunks([path.start for path in paths]))
    seen = dict(linked)
    clues: tuple[str, ...] = ()
    reached: tuple[ReasoningPath, ...] = ()
    for round_ in range(1, tog.depth + 1):
        topics = [Topic(path, _edges(path, graph)) for path in paths]
        chosen = await model.perform(ChooseRelations(question, tuple(topics), tog.width, clues))
        best, chunks = prune(_candidates(topics, chosen, graph, tog.width), scorer, clues, tog.width)
        if not best:
            return Exploration((), reached, _ranked(seen), round_ - 1)
        for chunk, score in chunks:
            seen[chunk] = max(score, seen.get(chunk, 0.0))
        paths = [candidate.path for candidate in best]
        reached = tuple(paths)
        shown = _ranked(linked | dict(chunks))[:READ_CHUNKS]
        context = Context(sources=tuple(index.chunks[chunk] for chunk, _ in shown))
        examined = await model.perform(ExamineEvidence(question, reached, context, clues))
        if examined.complete:
            answering = sorted(paths, key=lambda path: path.end not in examined.answers)
            return Exploration(examined.answers, tuple(answering), _ranked(seen), round_)
        clues = (*clues, examined.clue) if examined.clue else clues
    return Exploration((), reached, _ranked(seen), tog.depth)


def _ranked(scores: Mapping[int, float]) -> tuple[tuple[int, float], ...]:
    return tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def _edges(path: ReasoningPath, graph: TripleGraph) -> tuple[Edge, ...]:
    """Return the relations around the end of a path, those of the most triples first, in the order of the table."""
    counts: dict[tuple[int, bool], int] = {}
    for step in _steps_onward(path, graph):
        counts[step.relation, step.inverse] = counts.get((step.relation, step.inverse), 0) + 1
    most = sorted(counts, key=lambda edge: -counts[edge])[:MOST_EDGES]
    return tuple(
        Edge(graph.relations[relation], inverse, counts[relation, inverse]) for relation, inverse in most
    )


def _steps_onward(path: ReasoningPath, graph: TripleGraph) -> list[Step]:
    """Return the edges that lead from the end of a path to where it has not been."""
    visited = {graph.number_of[name] for name in path.names}
    return [step for step in graph.steps(graph.number_of[path.end]) if step.to not in visited]


@dataclass(frozen=True)
class Candidate:
    """A name that can be reached: by which path, and by which triple last."""

    path: ReasoningPath
    triple: int
    name: int


def _candidates(
    topics: Sequence[Topic], chosen: Sequence[Sequence[int]], graph: TripleGraph, width: int
) -> list[Candidate]:
    """Return the names that the chosen edges of each topic lead to."""
    candidates: list[Candidate] = []
    for topic, numbers in zip(topics, chosen, strict=False):
        edges = [topic.edges[n] for n in numbers[:width] if 0 <= n < len(topic.edges)]
        directions = {(edge.relation, edge.inverse) for edge in edges}
        for step in _steps_onward(topic.path, graph) if directions else ():
            if (graph.relations[step.relation], step.inverse) in directions:
                path = ReasoningPath(topic.path.start, (*topic.path.triples, row_of(step.triple, graph)))
                candidates.append(Candidate(path, step.triple, step.to))
    return candidates


def row_of(triple: int, graph: TripleGraph) -> Triple:
    """Return a triple of the graph as a row."""
    head, tail = graph.names[int(graph.heads[triple])], graph.names[int(graph.tails[triple])]
    return Triple(str(triple), triple, head, graph.relations[int(graph.kinds[triple])], tail)


def topic_entities(question: str, graph: TripleGraph, most: int, named: Sequence[str] = ()) -> list[int]:
    """Return the names of a graph that a question holds, the longest and rarest first; at most so many.

    `named` are names that a model found in it. Of names that differ in case alone, the one that is spelt as in the
    question is meant. Without any capital a name must be of several words, or the question hold no other.
    """
    candidates: dict[int, tuple[int, int]] = {}
    for name in named:
        for number in _spelt_as_in(name, name_key(name), graph):
            candidates.setdefault(number, (0, name_key(name).count(" ")))
    if not candidates:
        candidates = _names_in(question, graph)
    return sorted(candidates, key=lambda n: (*candidates[n], graph.degree(n), n))[:most]


def _names_in(question: str, graph: TripleGraph) -> dict[int, tuple[int, int]]:
    """Return the names that stand in a question, each with whether it is written small, and minus its words."""
    words = name_key(question).split()
    taken: set[int] = set()
    candidates: dict[int, tuple[int, int]] = {}
    spans = [
        (a, b) for a in range(len(words)) for b in range(a + 1, min(len(words), a + graph.longest_key) + 1)
    ]
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span)):
        key = " ".join(words[start:end])
        is_stopword = end - start == 1 and key in STOPWORDS
        if key not in graph.numbers_of_key or taken & {*range(start, end)} or is_stopword:
            continue
        for number in _spelt_as_in(question, key, graph):
            small = graph.names[number].islower() or graph.names[number] not in question
            candidates[number] = int(small), start - end
        if any(graph.names[n] in question and not graph.names[n].islower() for n in graph.numbers_of_key[key]):
            taken |= {*range(start, end)}
    least = min((small for small, _ in candidates.values()), default=0)
    return {number: order for number, order in candidates.items() if order[0] == least}


def _spelt_as_in(text: str, key: str, graph: TripleGraph) -> list[int]:
    """Return the names of a key: those spelt as in the text where there are any, else all."""
    numbers = graph.numbers_of_key.get(key, [])
    return [n for n in numbers if graph.names[n] in text] or numbers


class Scorer:
    """How much a text says to a question, its clues and the triple that led to it.

    In two stages: BM25 over all chunks, then, of the best, the cosine of vectors where the index has them, else the
    share of the question's words that the chunk holds. A graph without text is scored by its triples.
    """

    def __init__(
        self, question: str, index: Index, graph: TripleGraph, settings: Settings, texts: bool
    ) -> None:
        self.question = question
        self.graph = graph
        self.texts = texts and len(index.chunks) > 0
        self._index = index
        self._settings = settings
        self._words = [root(w) for w in WORD.findall(fold(question)) if is_content(w)]

    def chunks(
        self, candidates: Sequence[Candidate], clues: Sequence[str], most: int
    ) -> list[tuple[int, int, float]]:
        """Return the place of the candidate, the chunk, and its score, 0 to 1, for the best chunks of all."""
        query = " ".join((self.question, *clues[-1:]))
        base = scores_of(query, self._index)
        pairs: list[tuple[float, int, int]] = []
        for place, candidate in enumerate(candidates):
            extra = scores_of(self.graph.names[candidate.name], self._index)
            pairs += (
                (float(base[chunk] + extra[chunk]), place, chunk) for chunk in self._chunks_of(candidate)
            )
        return self._best(pairs, query, most)

    def linked_chunks(self, names: Sequence[str]) -> list[tuple[int, float]]:
        """Return the best chunks linked to names of a given graph: none of its triples leads to them."""
        if not self.texts or not self.graph.given:
            return []
        base = scores_of(self.question, self._index)
        linked = sorted({chunk for name in names for chunk in self._linked(name)})
        best = self._best([(float(base[chunk]), 0, chunk) for chunk in linked], self.question, SCORED_CHUNKS)
        return [(chunk, score) for _, chunk, score in best]

    def _best(
        self, pairs: list[tuple[float, int, int]], query: str, most: int
    ) -> list[tuple[int, int, float]]:
        """Return candidate, chunk and score from 0 to 1 of the best of chunks that are scored by BM25."""
        top = sorted(pairs, key=lambda p: (-p[0], p[1], p[2]))[: RERANKED * most]
        highest = top[0][0] if top else 1.0
        second = self._second_scores(query, {chunk for _, _, chunk in top})
        scored = [(place, chunk, (s / (highest or 1.0) + second[chunk]) / 2) for s, place, chunk in top]
        return sorted(scored, key=lambda s: (-s[2], s[0], s[1]))[:most]

    def _chunks_of(self, candidate: Candidate) -> set[int]:
        """Return the chunks that say any triple of a candidate; in a given graph, those linked to it."""
        chunks = set(self.graph.chunks[candidate.triple])
        for step in self.graph.steps(candidate.name):
            chunks.update(self.graph.chunks[step.triple])
        return chunks or self._linked(self.graph.names[candidate.name])

    def _linked(self, name: str) -> set[int]:
        number = self._index.entity_of_name.get(name)
        ids = self._index.entities[number].chunk_ids if number is not None else ()
        return {self._index.chunk_of[c].number for c in ids}

    def _second_scores(self, query: str, chunks: Iterable[int]) -> dict[int, float]:
        numbers = sorted(chunks)
        if has_vectors(self._index):
            vector = question_vectors([query], self._index, self._settings)[0]
            cosines: np.ndarray[Any, Any] = self._index.arrays["vectors.chunks"][numbers] @ vector
            return dict(zip(numbers, np.maximum(cosines, 0).tolist(), strict=True))
        query_terms = set(search_terms(query, self._index))
        texts = ((chunk, self._index.chunks[chunk].text) for chunk in numbers)
        shared = {chunk: query_terms.intersection(search_terms(text, self._index)) for chunk, text in texts}
        return {chunk: len(found) / (len(query_terms) or 1) for chunk, found in shared.items()}

    def triple(self, candidate: Candidate) -> float:
        """Return how much of the question a triple and the relations that lead on from its end say, 0 to 1."""
        labels = {self.graph.kinds[candidate.triple]} | {s.relation for s in self.graph.steps(candidate.name)}
        parts = {r for label in labels for r in roots_of_label(self.graph.relations[label])}
        parts |= {root(w) for w in WORD.findall(fold(self.graph.names[candidate.name]))}
        best = (max((likeness(w, part) for part in parts), default=0.0) for w in self._words)
        return sum(best) / (len(self._words) or 1)


def prune(
    candidates: Sequence[Candidate], scorer: Scorer, clues: Sequence[str], width: int
) -> tuple[list[Candidate], list[tuple[int, float]]]:
    """Return the W best candidates, one for each name, and the best chunks of all, the best first.

    A candidate scores the sum over its chunks among the top K of s * exp(-alpha * rank), or with no text s of
    its triple; both, where the graph was given, and may have no text of most candidates.
    """
    if len(candidates) > MOST_PRUNED:
        candidates = sorted(candidates, key=lambda c: (scorer.graph.degree(c.name), c.triple))[:MOST_PRUNED]
    ranked = scorer.chunks(candidates, clues, SCORED_CHUNKS) if scorer.texts else []
    scores = [0.0] * len(candidates)
    chunks: dict[int, float] = {}
    for rank, (place, chunk, score) in enumerate(ranked):
        scores[place] += score * exp(-DECAY * rank)
        chunks[chunk] = max(score, chunks.get(chunk, 0.0))
    if scorer.graph.given or not scorer.texts:
        scores = [score + scorer.triple(c) for score, c in zip(scores, candidates, strict=True)]
    best: dict[int, Candidate] = {}
    for i in sorted(range(len(candidates)), key=lambda i: (-scores[i], i)):
        best.setdefault(candidates[i].name, candidates[i])
        if len(best) == width:
            break
    return list(best.values()), list(_ranked(chunks))
