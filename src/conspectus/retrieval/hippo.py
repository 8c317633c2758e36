"""HippoRAG: rank chunks by Personalized PageRank over noun phrases, seeded by what a question is about.

The graph connects noun phrases by triples and by synonymy edges (HippoRAG §2.2). Three methods use it:

- `hipporag`, as published (Gutiérrez et al., 2024): each named entity of the question is linked to one phrase, a seed;
  rarer seeds weigh more. A chunk scores the sum, over all phrases, of a phrase's mass times its occurrences in it.
- `hipporag2`, as published (Gutiérrez et al., 2025): chunks are nodes of the graph too. Seeds are the phrases of the
  triples most similar to the question, filtered by a language model, and, with small weights, all chunks.
- `combined`, ours: the graph of the second with the seeds of the first, and the chunks most similar to the question.

Without vectors, similarity is computed from words and characters; without a language model, rules find the names in a
question, and no triple is filtered out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.ranking import Floats, Ints, highest, personalized_pagerank, products, scaled
from conspectus.algorithms.similarity import Grams, pairs_of_texts, pairs_of_vectors
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.index_models import cosines, has_vectors, question_vectors
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.name_lookup import question_language
from conspectus.retrieval import AskingRanking, method
from conspectus.retrieval.base import answer_from, hits_of
from conspectus.retrieval.bm25 import TextWords, scores_of
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import NameEntities, RecognizeTriples
from conspectus.text.mentions import units
from conspectus.text.words import name_key
from conspectus.triple_graph import TripleGraph

Matrix = sparse.csr_array[Any, Any]

SYNONYMS = 0.8
"""Minimum similarity of two noun phrases for a synonymy edge, as in HippoRAG."""
LINKED = 5
"""`hipporag2`: number of triples that the question is linked to, and maximum number of seed phrases, as published."""
PASSAGE_WEIGHT = 0.05
"""`hipporag2`: seed weight of the chunk most similar to the question, the best triple having 1; as published."""
MASS, SHARPNESS = 0.3, 5
"""`combined`: seed weight of all chunks relative to 1 for all phrases, and the exponent of the chunks' similarity."""
TOLERANCE = 1e-4
"""Sum of all differences between two steps at which PageRank, which sums to 1, has converged."""
Scoring = Callable[[str, Index, Model, Settings], Awaitable[Floats]]
"""The score of every chunk for a question."""


@dataclass(frozen=True)
class PhraseGraph:
    """A graph of noun phrases, each with all spellings of one name; matrices are phrases by phrases or by chunks."""

    graph: TripleGraph
    keys: tuple[str, ...]
    of_name: Ints
    """The number of the phrase of each name of the graph."""
    edges: Matrix
    """The number of triples that connect two phrases or, for synonyms, their similarity if that is more; symmetric."""
    mentions: Matrix
    """How often a phrase is an end of a chunk's triples."""
    vectors: Floats | None
    """The vectors of the phrases, or None if the index has none."""

    @classmethod
    def of(cls, index: Index) -> PhraseGraph:
        """Return the phrase graph of an index, built once while it is open; raise UsageError if it has no graph."""
        if index.graph_file:
            raise UsageError("HippoRAG needs a graph of texts, and this one is on disk; use the method tog")
        phrases = index.derive(cls._made)
        if not len(phrases.graph):
            raise UsageError("HippoRAG needs a graph, and this index has no triples and no relationships")
        return phrases

    @classmethod
    def _made(cls, index: Index) -> PhraseGraph:
        graph = TripleGraph.of(index)
        number: dict[str, int] = {}
        keys = [name_key(name) or name for name in graph.names]
        of_name = np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
        n = len(number)
        heads, tails = of_name[graph.heads], of_name[graph.tails]
        vectors: Floats | None = None
        stored = index.arrays.get("vectors.names")
        if stored is not None and len(stored) == len(of_name):
            first_spelling = np.unique(of_name, return_index=True)[1]
            vectors = stored[first_spelling].astype(np.float32)
        if vectors is None:
            first, second, likeness = pairs_of_texts(list(number), SYNONYMS)
        else:
            first, second, likeness = pairs_of_vectors(vectors, SYNONYMS)
        apart = heads != tails
        joined = _symmetric(heads[apart], tails[apart], np.ones(int(apart.sum()), np.float32), n)
        return cls(
            graph=graph,
            keys=tuple(number),
            of_name=of_name,
            edges=joined.maximum(_symmetric(first, second, likeness, n)).tocsr(),
            mentions=_mentions(graph, heads, tails, n, len(index.chunks)),
            vectors=vectors,
        )

    @cached_property
    def grams(self) -> Grams:
        """The character n-grams of the phrases."""
        return Grams.of(self.keys)

    @cached_property
    def specificity(self) -> Floats:
        """1 / the number of chunks that each phrase was extracted from; 1 if there are none."""
        return 1 / np.maximum(np.diff(self.mentions.indptr), 1)

    @cached_property
    def with_chunks(self) -> Matrix:
        """The graph of HippoRAG 2: phrases, then chunks, each connected to the phrases that it mentions."""
        contains = self.mentions.copy()
        contains.data[:] = 1
        return sparse.block_array([[self.edges, contains], [contains.T, None]]).tocsr()

    @cached_property
    def triple_texts(self) -> list[str]:
        """Each triple as a text."""
        graph = self.graph
        rows = zip(graph.heads.tolist(), graph.kinds.tolist(), graph.tails.tolist(), strict=True)
        return [
            f"{graph.names[head]} {graph.relations[kind]} {graph.names[tail]}" for head, kind, tail in rows
        ]

    @cached_property
    def triple_words(self) -> TextWords:
        """The inverted index of the triples."""
        return TextWords.of(self.triple_texts)

    def nearest(self, names: Sequence[str], vectors: Floats | None) -> Ints:
        """Return the number of the phrase most similar to each name: by vectors, else by characters."""
        if not names or not self.keys:
            return np.zeros(0, np.int64)
        if vectors is not None and self.vectors is not None:
            return (vectors @ self.vectors.T).argmax(axis=1)
        return self.grams.likeness([name_key(name) for name in names]).argmax(axis=1)


def _symmetric(first: Ints, second: Ints, weight: Floats, n: int) -> Matrix:
    rows, columns = np.concatenate((first, second)), np.concatenate((second, first))
    return sparse.csr_array((np.concatenate((weight, weight)), (rows, columns)), shape=(n, n))


def _mentions(graph: TripleGraph, heads: Ints, tails: Ints, n: int, chunks: int) -> Matrix:
    triple = np.repeat(np.arange(len(graph)), np.array([len(c) for c in graph.chunks], np.int64))
    chunk = np.array([c for numbers in graph.chunks for c in numbers], np.int64)
    rows = np.concatenate((heads[triple], tails[triple]))
    columns = np.concatenate((chunk, chunk))
    return sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(n, chunks))


def occurrences(index: Index) -> Matrix:
    """Return matrix M: how often each phrase occurs in the chunks (titles included) of its triples, at least 1."""
    phrases = PhraseGraph.of(index)
    marked = ["".join(f" {word} " for word in units(key)) for key in phrases.keys]
    matrix = phrases.mentions.T.tocsr()
    for chunk in index.chunks:
        text = f"{index.document_of[chunk.document_id].title}\n{chunk.text}"
        # not cached: texts are long
        words = "".join(f" {word} " for word in units(name_key.__wrapped__(text)))
        own = slice(matrix.indptr[chunk.number], matrix.indptr[chunk.number + 1])
        present: list[int] = matrix.indices[own].tolist()
        matrix.data[own] = [max(1, words.count(marked[phrase])) for phrase in present]
    return matrix.T.tocsr()


def _similarity(question: str, index: Index, settings: Settings) -> Floats:
    """Return the similarity of each chunk to the question, by vectors if the index has them, else by BM25."""
    if has_vectors(index):
        return cosines("chunks", question_vectors([question], index, settings)[0], index)
    return scores_of(question, index)


def _unit(scores: Floats) -> Floats:
    """Return scores rescaled to between 0, for the lowest, and 1."""
    return scaled(scores - scores.min(initial=np.inf))


async def _seeds(
    task: NameEntities, phrases: PhraseGraph, index: Index, model: Model, settings: Settings
) -> Floats:
    """Return the seed weight of each phrase: its specificity if it is the nearest to a name in the question, else 0."""
    names = await model.perform(task)
    by_meaning = names and phrases.vectors is not None
    nearest = phrases.nearest(names, question_vectors(names, index, settings) if by_meaning else None)
    weights = np.zeros(len(phrases.keys))
    weights[nearest] = phrases.specificity[nearest]
    return weights


def _register(name: str, help: str) -> Callable[[Scoring], AskingRanking]:
    """Register a scoring of chunks as a method, and return its ranking."""

    def register(score: Scoring) -> AskingRanking:
        async def rank(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
            return hits_of(await score(question, index, model, settings), index, settings.search.k)

        async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
            hits = await rank(question, index, model, settings)
            result = await answer_from(hits, question, index, model, settings, method=name)
            if PhraseGraph.of(index).vectors is not None:
                return result
            spelt = wording(question_language(question, index)).spelt
            return replace(result, notices=(*result.notices, spelt))

        method(name, help=help, reads={"graph", "chunks"}, rank=rank)(answer)
        return rank

    return register


@_register("hipporag", help="Personalized PageRank over noun phrases (HippoRAG)")
async def hipporag(question: str, index: Index, model: Model, settings: Settings) -> Floats:
    """Score chunks as published in 2024; by similarity if the question names nothing."""
    phrases = PhraseGraph.of(index)
    seeds = await _seeds(NameEntities(question, strict=True), phrases, index, model, settings)
    if not seeds.any():
        return _similarity(question, index, settings)
    rank = personalized_pagerank(phrases.edges, seeds, settings.hippo.damping, TOLERANCE)
    return rank @ index.derive(occurrences)


@_register("hipporag2", help="the same over phrases and chunks, from triples like the question (HippoRAG 2)")
async def hipporag2(question: str, index: Index, model: Model, settings: Settings) -> Floats:
    """Score chunks as published in 2025; by similarity if no triple is relevant to the question."""
    phrases, similarity = PhraseGraph.of(index), _similarity(question, index, settings)
    vectors = index.arrays.get("vectors.triples")
    if vectors is None or len(vectors) != len(phrases.graph):
        likeness = phrases.triple_words.scores(question)
    else:
        likeness = products(vectors, question_vectors([question], index, settings)[0])
    best = [int(t) for t in highest(likeness, LINKED) if likeness[t] > 0]
    likeness = scaled(likeness)
    texts = tuple(phrases.triple_texts[triple] for triple in best)
    recognized = await model.perform(RecognizeTriples(question, texts)) if texts else ()
    by_phrase: dict[int, list[float]] = {}
    for triple in (best[number - 1] for number in recognized if 0 < number <= len(best)):
        for name in phrases.graph.heads[triple], phrases.graph.tails[triple]:
            by_phrase.setdefault(int(phrases.of_name[name]), []).append(float(likeness[triple]))
    if not by_phrase:
        return similarity
    weights = {phrase: float(np.mean(scores)) for phrase, scores in by_phrase.items()}
    seeds = np.zeros(len(phrases.keys))
    for phrase in sorted(weights, key=lambda phrase: (-weights[phrase], phrase))[:LINKED]:
        seeds[phrase] = weights[phrase]
    return _mass_of_chunks(seeds, PASSAGE_WEIGHT * _unit(similarity), phrases, settings)


@_register("combined", help="the same from what the question names and the chunks most like it")
async def combined(question: str, index: Index, model: Model, settings: Settings) -> Floats:
    """Score chunks by a walk over phrases and chunks, from the names in a question and the chunks similar to it."""
    phrases = PhraseGraph.of(index)
    seeds = await _seeds(NameEntities(question), phrases, index, model, settings)
    chunks = _unit(_similarity(question, index, settings)) ** SHARPNESS
    chunks = chunks * (MASS * (seeds.sum() or 1.0) / max(float(chunks.sum()), 1e-12))
    return _mass_of_chunks(seeds, chunks, phrases, settings)


def _mass_of_chunks(seeds: Floats, chunks: Floats, phrases: PhraseGraph, settings: Settings) -> Floats:
    """Return the PageRank of each chunk for a restart vector over phrases (`seeds`) and chunks (`chunks`)."""
    reset = np.concatenate((seeds, chunks))
    if not reset.any():
        return np.zeros(len(chunks))
    return personalized_pagerank(phrases.with_chunks, reset, settings.hippo.damping, TOLERANCE)[len(seeds) :]
