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

from conspectus.algorithms.ranking import Postings, bm25, highest, personalized_pagerank, postings, scaled
from conspectus.algorithms.similarity import Grams, pairs_of_texts, pairs_of_vectors
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.models.extractive.reason import name_entities
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_from, hits_of
from conspectus.retrieval.bm25 import scores_of
from conspectus.retrieval.vector import cosines, has_vectors, question_vectors
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import NameEntities
from conspectus.text.language import question_language
from conspectus.text.words import name_key, terms
from conspectus.triple_graph import TripleGraph

Matrix = sparse.csr_array[Any, Any]

SYNONYMS = 0.8
"""Minimum similarity of two noun phrases for a synonymy edge, as in HippoRAG."""
NEAREST_TRIPLES = 5
"""Number of nearest triples, and of their phrases, that are seeds of `hipporag2`, as in HippoRAG 2."""
CHUNK_WEIGHT = 0.05
"""Weight of the similarity of chunks in the restart vector of `hipporag2`, as in HippoRAG 2."""


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
        spelt = [name_key(name) or name for name in graph.names]
        of_name = np.array([number.setdefault(key, len(number)) for key in spelt], np.int64)
        n = len(number)
        heads, tails = of_name[graph.heads], of_name[graph.tails]
        vectors = _vectors(index, of_name, n)
        first, second, like = (
            pairs_of_texts(list(number), SYNONYMS) if vectors is None else pairs_of_vectors(vectors, SYNONYMS)
        )
        apart = heads != tails
        ones = np.ones(int(apart.sum()), np.float32)
        joined = _symmetric(heads[apart], tails[apart], ones, n)
        return cls(
            graph=graph,
            keys=tuple(number),
            of_name=of_name,
            edges=joined.maximum(_symmetric(first, second, like, n)).tocsr(),
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


def _vectors(index: Index, of_name: Ints, n: int) -> Floats | None:
    """Return the vector of the first spelling of each phrase."""
    stored = index.arrays.get("vectors.names")
    if stored is None or len(stored) != len(of_name):
        return None
    first = np.zeros(n, np.int64)
    first[of_name[::-1]] = np.arange(len(of_name))[::-1]
    return stored[first].astype(np.float32)


def _symmetric(first: Ints, second: Ints, weight: Floats, n: int) -> Matrix:
    rows, columns = np.concatenate((first, second)), np.concatenate((second, first))
    matrix = sparse.csr_array((np.concatenate((weight, weight)), (rows, columns)), shape=(n, n))
    matrix.sum_duplicates()
    return matrix


def _mentions(graph: TripleGraph, heads: Ints, tails: Ints, n: int, chunks: int) -> Matrix:
    sizes = np.array([len(c) for c in graph.chunks], np.int64)
    triple = np.repeat(np.arange(len(graph)), sizes)
    chunk = np.array([c for numbers in graph.chunks for c in numbers], np.int64)
    rows = np.concatenate((heads[triple], tails[triple]))
    columns = np.concatenate((chunk, chunk))
    matrix = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(n, chunks))
    matrix.sum_duplicates()
    return matrix


Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]

MASS, SHARPNESS = 0.3, 5
"""Joined: what the chunks weigh among the seeds beside 1 for the phrases, and the power of their likeness."""
TOLERANCE = 1e-4
"""Of the sum of all differences in PageRank, which sums to 1."""


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


def scores(question: str, named: Sequence[str], index: Index, settings: Settings) -> Floats:
    """Return the score of every chunk, for a question and what it names."""
    phrases = PhraseGraph.of(index)
    if not len(phrases.graph):
        raise UsageError("hippo needs a graph, and this index has no triples and no relationships")
    match settings.hippo.variant:
        case "hipporag":
            return _hipporag(question, named, phrases, index, settings)
        case "hipporag2":
            return _hipporag2(question, named, phrases, index, settings)
        case "combined":
            return _combined(question, named, phrases, index, settings)


def _hipporag(
    question: str, named: Sequence[str], phrases: PhraseGraph, index: Index, settings: Settings
) -> Floats:
    reset = _linked(named, phrases, index, settings)
    if not reset.any():
        return likeness(question, index, settings)
    rank = personalized_pagerank(phrases.edges, reset, settings.hippo.damping, TOLERANCE)
    return rank @ phrases.mentions


def _linked(named: Sequence[str], phrases: PhraseGraph, index: Index, settings: Settings) -> Floats:
    """Return the weight of each phrase as a seed: those most like the names, rarer ones heavier."""
    vectors = question_vectors(named, index, settings) if named and phrases.vectors is not None else None
    linked, _ = phrases.nearest(named, vectors)
    reset = np.zeros(len(phrases.keys))
    reset[linked] = phrases.specificity[linked]
    return reset


def _combined(
    question: str, named: Sequence[str], phrases: PhraseGraph, index: Index, settings: Settings
) -> Floats:
    seeds = _linked(named, phrases, index, settings)
    chunks = _spread(likeness(question, index, settings)) ** SHARPNESS
    chunks = chunks * (MASS * (seeds.sum() or 1.0) / max(float(chunks.sum()), 1e-12))
    return _over_chunks(np.concatenate((seeds, chunks)), phrases, settings)


def _over_chunks(reset: Floats, phrases: PhraseGraph, settings: Settings) -> Floats:
    if not reset.any():
        return np.zeros(phrases.mentions.shape[1])
    rank = personalized_pagerank(phrases.with_chunks, reset, settings.hippo.damping, TOLERANCE)
    return rank[len(phrases.keys) :]


def _hipporag2(
    question: str, named: Sequence[str], phrases: PhraseGraph, index: Index, settings: Settings
) -> Floats:
    like = _spread(_triples_like(question, phrases, index, settings))
    seeds = _phrases_of(_recognised(like, named, phrases, index, settings), like, phrases)
    most = highest(seeds, NEAREST_TRIPLES)
    phrase_reset = np.zeros(len(seeds))
    phrase_reset[most] = seeds[most]
    chunks = CHUNK_WEIGHT * _spread(likeness(question, index, settings))
    return _over_chunks(np.concatenate((phrase_reset, chunks)), phrases, settings)


def _recognised(
    like: Floats, named: Sequence[str], phrases: PhraseGraph, index: Index, settings: Settings
) -> Ints:
    """Return the triples most like the question: of these, the ones of what it names, or all where there are none.

    A small embedder likes any triple of the same relation as well.
    """
    best = highest(like, NEAREST_TRIPLES)
    linked = np.flatnonzero(_linked(named, phrases, index, settings))
    recognized = best[np.isin(phrases.ends[:, best], linked).any(axis=0)]
    return recognized if len(recognized) else best


def _phrases_of(triples: Ints, like: Floats, phrases: PhraseGraph) -> Floats:
    """Return what each phrase weighs as a seed: the mean likeness of those of the triples that it is in, rarer ones
    heavier.
    """
    ends = phrases.ends[:, triples].ravel()
    total, times = np.zeros(len(phrases.keys)), np.zeros(len(phrases.keys))
    np.add.at(total, ends, np.tile(like[triples], 2))
    np.add.at(times, ends, 1)
    return total / np.maximum(times, 1) * phrases.specificity


def _spread(scores: Floats) -> Floats:
    """Return scores from 0, the lowest, to 1, the highest."""
    return scaled(scores - scores.min()) if len(scores) else scores


def likeness(question: str, index: Index, settings: Settings) -> Floats:
    """Return how like the question each chunk is, by its vector where there is one, else by BM25."""
    if has_vectors(index):
        return cosines(question_vectors([question], index, settings)[0], index)
    return scores_of(question, index)


def _triples_like(question: str, phrases: PhraseGraph, index: Index, settings: Settings) -> Floats:
    """Return how like the question each triple is."""
    stored = index.arrays.get("vectors.triples")
    if stored is not None and len(stored) == len(phrases.graph):
        return index.derive(_float) @ question_vectors([question], index, settings)[0]
    numbers, of_words = index.derive(_postings)
    query = [(numbers[t], 1.0) for t in terms(question) if t in numbers]
    return scaled(bm25(of_words, query))


def _float(index: Index) -> Floats:
    """Return the stored vectors of the triples in the precision that is multiplied fast."""
    return index.arrays["vectors.triples"].astype(np.float32)


def _postings(index: Index) -> tuple[dict[str, int], Postings]:
    """Return the words of the triples and which triples hold them."""
    graph = TripleGraph.of(index)
    numbers: dict[str, int] = {}
    flat: list[int] = []
    owners: list[int] = []
    for i in range(len(graph)):
        words = [numbers.setdefault(t, len(numbers)) for t in terms(graph.text(i))]
        flat += words
        owners += [i] * len(words)
    made = postings(np.array(flat, np.int32), np.array(owners, np.int32), size=len(numbers), texts=len(graph))
    return numbers, made


@method("hippo", help="Personalized PageRank over noun phrases (HippoRAG)", reads={"graph", "chunks"}, rank=rank)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the best chunks, and say what the ranking stands on."""
    hits = await rank_with(question, index, model, settings)
    result = await answer_from(hits, question, index, model, method="hippo")
    spelt = PhraseGraph.of(index).vectors is None
    notice = wording(question_language(question, index)).spelt
    return replace(result, notices=(*result.notices, notice)) if spelt else result
