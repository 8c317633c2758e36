"""HippoRAG: rank chunks by Personalized PageRank over noun phrases, seeded by what the question names.

The graph joins noun phrases by triples and by synonymy edges (HippoRAG §2.2). Three variants are implemented:

- `hipporag`: each named entity of the question is linked to one phrase; a chunk scores the mass of its phrases.
- `hipporag2`: chunks are nodes too. Seeds are the phrases of the triples most similar to the question, and all chunks
  with a small weight. Which of those triples matter is decided by the names in the question; the paper asks a model.
- `combined`: the graph of `hipporag2`, seeded by the phrases of `hipporag` and the chunks most similar to the question.

Without vectors, similarity is computed from words and characters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.ranking import highest, personalized_pagerank, scaled
from conspectus.algorithms.similarity import Grams, pairs_of_texts, pairs_of_vectors
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.models.extractive.reason import name_entities
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_from, hits_of
from conspectus.retrieval.bm25 import TextWords, scores_of
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
NEAREST_TRIPLES = 5
"""Number of nearest triples, and of their phrases, that are seeds of `hipporag2`, as in HippoRAG 2."""
CHUNK_WEIGHT = 0.05
"""Weight of the similarity of chunks in the restart vector of `hipporag2`, as in HippoRAG 2."""
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
        first, second, likeness = (
            pairs_of_texts(list(number), SYNONYMS) if vectors is None else pairs_of_vectors(vectors, SYNONYMS)
        )
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
    def ends(self) -> Ints:
        """The phrases of the head and of the tail of each triple, of shape (2, triples)."""
        return self.of_name[np.stack((self.graph.heads, self.graph.tails))]

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

    def nearest(self, names: Sequence[str], vectors: Floats | None) -> tuple[Ints, Floats]:
        """Return for each name the phrase most like it, and how like: by vectors, else by characters."""
        if not names or not self.keys:
            return np.zeros(0, np.int64), np.zeros(0)
        if vectors is not None and self.vectors is not None:
            likeness = vectors @ self.vectors.T
        else:
            likeness = self.grams.likeness([name_key(name) for name in names])
        best = likeness.argmax(axis=1)
        return best, likeness[np.arange(len(best)), best]


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


@dataclass(frozen=True)
class _Walk:
    """A question over the phrases of an index, as HippoRAG's variants rank chunks for it."""

    question: str
    phrases: PhraseGraph
    index: Index
    settings: Settings

    def linked(self, names: Sequence[str]) -> Floats:
        """Return the weight of each phrase as a seed: those most like the names, rarer ones heavier."""
        by_meaning = names and self.phrases.vectors is not None
        vectors = question_vectors(names, self.index, self.settings) if by_meaning else None
        nearest, _ = self.phrases.nearest(names, vectors)
        weights = np.zeros(len(self.phrases.keys))
        weights[nearest] = self.phrases.specificity[nearest]
        return weights

    def hipporag(self, seeds: Floats) -> Floats:
        """Return the score of every chunk: the mass of its phrases, or its likeness where the question names none."""
        if not seeds.any():
            return self.chunk_likeness
        rank = personalized_pagerank(self.phrases.edges, seeds, self.settings.hippo.damping, TOLERANCE)
        return rank @ self.phrases.mentions

    def hipporag2(self, linked: Floats) -> Floats:
        """Return the same, seeded by the phrases of the triples most like the question, and by all chunks a little."""
        likeness = _from_zero_to_one(self._triple_likeness())
        triples = highest(likeness, NEAREST_TRIPLES)
        about_named = triples[np.isin(self.phrases.ends[:, triples], np.flatnonzero(linked)).any(axis=0)]
        if len(about_named):  # a small embedder likes any triple of the same relation as well
            triples = about_named
        ends = self.phrases.ends[:, triples].ravel()
        total, times = np.zeros(len(self.phrases.keys)), np.zeros(len(self.phrases.keys))
        np.add.at(total, ends, np.tile(likeness[triples], 2))
        np.add.at(times, ends, 1)
        weights = total / np.maximum(times, 1) * self.phrases.specificity
        seeds = np.zeros(len(weights))
        best = highest(weights, NEAREST_TRIPLES)
        seeds[best] = weights[best]
        return self._over_chunks(seeds, CHUNK_WEIGHT * _from_zero_to_one(self.chunk_likeness))

    def combined(self, seeds: Floats) -> Floats:
        """Return the same, seeded by the phrases of `hipporag` and the chunks most like the question."""
        chunks = _from_zero_to_one(self.chunk_likeness) ** SHARPNESS
        return self._over_chunks(
            seeds, chunks * (MASS * (seeds.sum() or 1.0) / max(float(chunks.sum()), 1e-12))
        )

    def _over_chunks(self, seeds: Floats, chunks: Floats) -> Floats:
        """Walk over phrases and chunks from weights of both, and return where it is on the chunks."""
        reset = np.concatenate((seeds, chunks))
        if not reset.any():
            return np.zeros(len(chunks))
        damping = self.settings.hippo.damping
        rank = personalized_pagerank(self.phrases.with_chunks, reset, damping, TOLERANCE)
        return rank[len(self.phrases.keys) :]

    @property
    def chunk_likeness(self) -> Floats:
        """How like the question each chunk is, by its vector where there is one, else by BM25."""
        if has_vectors(self.index):
            return cosines(question_vectors([self.question], self.index, self.settings)[0], self.index)
        return scores_of(self.question, self.index)

    def _triple_likeness(self) -> Floats:
        """Return how like the question each triple is, by its vector where there is one, else by BM25."""
        stored = self.index.arrays.get("vectors.triples")
        if stored is not None and len(stored) == len(self.phrases.graph):
            query = question_vectors([self.question], self.index, self.settings)[0]
            return self.index.derive(_triple_vectors) @ query
        return scaled(self.index.derive(_triple_words).scores(self.question))


def _from_zero_to_one(scores: Floats) -> Floats:
    return scaled(scores - scores.min()) if len(scores) else scores


def _triple_vectors(index: Index) -> Floats:
    """Return the stored vectors of the triples in the precision that is multiplied fast."""
    return index.arrays["vectors.triples"].astype(np.float32)


def _triple_words(index: Index) -> TextWords:
    """Return the words of the triples."""
    graph = TripleGraph.of(index)
    return TextWords.of([graph.text(i) for i in range(len(graph))])


def scores(question: str, named: Sequence[str], index: Index, settings: Settings) -> Floats:
    """Return the score of every chunk, for a question and what it names.

    Raises UsageError where the index has neither triples nor relationships.
    """
    walk = _Walk(question, PhraseGraph.of(index), index, settings)
    if not len(walk.phrases.graph):
        raise UsageError("hippo needs a graph, and this index has no triples and no relationships")
    variants = {"hipporag": walk.hipporag, "hipporag2": walk.hipporag2, "combined": walk.combined}
    return variants[settings.hippo.variant](walk.linked(named))


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that hold most; what the question names is read off it by rules.

    Raises UsageError where the index has neither triples nor relationships.
    """
    return hits_of(scores(question, name_entities(question), index, settings), index, settings.search.k)


async def rank_with(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Do what `rank` does, where a model says what the question names."""
    if not model.generative:
        return rank(question, index, settings)
    named = await model.perform(NameEntities(question))
    return hits_of(scores(question, named, index, settings), index, settings.search.k)


@method(
    "hippo", help="Personalized PageRank over noun phrases (HippoRAG)", reads={"graph", "chunks"}, rank=rank
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the best chunks, and say what the ranking stands on."""
    hits = await rank_with(question, index, model, settings)
    result = await answer_from(hits, question, index, model, method="hippo")
    if PhraseGraph.of(index).vectors is not None:
        return result
    return replace(result, notices=(*result.notices, wording(question_language(question, index)).spelt))
