"""HippoRAG: rank chunks by Personalized PageRank over noun phrases, seeded by what the question names.

The graph joins noun phrases by triples and by synonymy edges (HippoRAG §2.2). Two variants are implemented:

- `hipporag`: each named entity of the question is linked to one phrase; a chunk scores the mass of its phrases.
- `combined`: chunks are nodes of the graph too, as in HippoRAG 2. Seeds are the phrases of `hipporag` and the chunks
  most similar to the question.

Without vectors, similarity is computed from words and characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.ranking import personalized_pagerank, scaled
from conspectus.algorithms.similarity import Grams, pairs_of_texts, pairs_of_vectors
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.models.extractive.sentence_store import name_entities
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_from, extractive, hits_of, run_ready
from conspectus.retrieval.bm25 import scores_of
from conspectus.retrieval.vector import cosines, has_vectors, question_vectors
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import NameEntities
from conspectus.text.language import question_language
from conspectus.text.words import name_key
from conspectus.triple_graph import TripleGraph

Matrix = sparse.csr_array[Any, Any]

SYNONYMS = 0.8
"""Minimum similarity of two noun phrases for a synonymy edge, as in HippoRAG."""
MASS, SHARPNESS = 0.3, 5
"""`combined`: what the chunks weigh among the seeds beside 1 for the phrases, and the power of their likeness."""
TOLERANCE = 1e-4
"""Of the sum of all differences in PageRank, which sums to 1."""
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]


@dataclass(frozen=True)
class PhraseGraph:
    """Phrase `i` is all spellings of one name; the matrices are symmetric or phrases by chunks."""

    graph: TripleGraph
    keys: tuple[str, ...]
    of_name: Ints
    """The phrase of each name of the graph."""
    edges: Matrix
    """How many triples join two phrases, or how alike they are where they are synonyms."""
    mentions: Matrix
    """How often a phrase occurs in a chunk, by its triples: M."""
    vectors: Floats | None
    """Of the phrases, where the index has them."""
    synonyms: int
    """The number of synonymy edges."""

    @classmethod
    def of(cls, index: Index) -> PhraseGraph:
        """Return the phrases of an index, made once while it is open."""
        return index.derive(cls._made)

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
            first_spelling = np.zeros(n, np.int64)
            first_spelling[of_name[::-1]] = np.arange(len(of_name))[::-1]
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
            synonyms=len(first),
        )

    @cached_property
    def grams(self) -> Grams:
        """The phrases by their runs of characters."""
        return Grams.of(self.keys)

    @cached_property
    def specificity(self) -> Floats:
        """1 / the number of chunks that hold each phrase; 1 where none does."""
        return 1 / np.maximum(np.diff(self.mentions.indptr), 1)

    @cached_property
    def with_chunks(self) -> Matrix:
        """The graph of HippoRAG 2: phrases, then chunks, each joined to the phrases that it mentions."""
        contains = self.mentions.copy()
        contains.data[:] = 1
        return sparse.block_array([[self.edges, contains], [contains.T, None]]).tocsr()

    def nearest(self, names: Sequence[str], vectors: Floats | None) -> Ints:
        """Return for each name the phrase most like it: by vectors, else by characters."""
        if not names or not self.keys:
            return np.zeros(0, np.int64)
        if vectors is not None and self.vectors is not None:
            return (vectors @ self.vectors.T).argmax(axis=1)
        return self.grams.likeness([name_key(name) for name in names]).argmax(axis=1)


def _symmetric(first: Ints, second: Ints, weight: Floats, n: int) -> Matrix:
    rows, columns = np.concatenate((first, second)), np.concatenate((second, first))
    matrix = sparse.csr_array((np.concatenate((weight, weight)), (rows, columns)), shape=(n, n))
    matrix.sum_duplicates()
    return matrix


def _mentions(graph: TripleGraph, heads: Ints, tails: Ints, n: int, chunks: int) -> Matrix:
    triple = np.repeat(np.arange(len(graph)), np.array([len(c) for c in graph.chunks], np.int64))
    chunk = np.array([c for numbers in graph.chunks for c in numbers], np.int64)
    rows = np.concatenate((heads[triple], tails[triple]))
    columns = np.concatenate((chunk, chunk))
    matrix = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(n, chunks))
    matrix.sum_duplicates()
    return matrix


def scores(question: str, named: Sequence[str], index: Index, settings: Settings) -> Floats:
    """Return the score of every chunk, for a question and what it names.

    Raises UsageError where the index has neither triples nor relationships.
    """
    phrases = PhraseGraph.of(index)
    if not len(phrases.graph):
        raise UsageError("hippo needs a graph, and this index has no triples and no relationships")
    seeds = _seeds(named, phrases, index, settings)
    if settings.hippo.variant == "combined":
        return _combined(seeds, _similarity(question, index, settings), phrases, settings.hippo.damping)
    if not seeds.any():  # the question names nothing
        return _similarity(question, index, settings)
    rank = personalized_pagerank(phrases.edges, seeds, settings.hippo.damping, TOLERANCE)
    return rank @ phrases.mentions


def _seeds(named: Sequence[str], phrases: PhraseGraph, index: Index, settings: Settings) -> Floats:
    """Return the weight of each phrase as a seed: those most like the names, rarer ones heavier."""
    by_meaning = named and phrases.vectors is not None
    nearest = phrases.nearest(named, question_vectors(named, index, settings) if by_meaning else None)
    weights = np.zeros(len(phrases.keys))
    weights[nearest] = phrases.specificity[nearest]
    return weights


def _combined(seeds: Floats, similarity: Floats, phrases: PhraseGraph, damping: float) -> Floats:
    """Walk over phrases and chunks from the seeds and the chunks most like the question; return the mass of chunks."""
    chunks = scaled(similarity - similarity.min(initial=np.inf)) ** SHARPNESS
    chunks = chunks * (MASS * (seeds.sum() or 1.0) / max(float(chunks.sum()), 1e-12))
    reset = np.concatenate((seeds, chunks))
    if not reset.any():
        return np.zeros(len(chunks))
    rank = personalized_pagerank(phrases.with_chunks, reset, damping, TOLERANCE)
    return rank[len(seeds) :]


def _similarity(question: str, index: Index, settings: Settings) -> Floats:
    """Return how like the question each chunk is, by its vector where there is one, else by BM25."""
    if has_vectors(index):
        return cosines(question_vectors([question], index, settings)[0], index)
    return scores_of(question, index)


async def rank_with(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that hold most; the model says what the question names, without one rules do.

    Raises UsageError where the index has neither triples nor relationships.
    """
    named = await model.perform(NameEntities(question)) if model.generative else name_entities(question)
    return hits_of(scores(question, named, index, settings), index, settings.search.k)


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the same without a language model."""
    return run_ready(rank_with(question, index, extractive(index), settings))


@method(
    "hippo", help="Personalized PageRank over noun phrases (HippoRAG)", reads={"graph", "chunks"}, rank=rank
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the best chunks, and say what the ranking stands on."""
    hits = await rank_with(question, index, model, settings)
    result = await answer_from(hits, question, index, model, settings, method="hippo")
    if PhraseGraph.of(index).vectors is not None:
        return result
    return replace(result, notices=(*result.notices, wording(question_language(question, index)).spelt))
