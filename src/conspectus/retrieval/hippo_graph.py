"""The graph of HippoRAG: noun phrases joined by triples and synonymy, and the chunks that mention them (Graph RAG
IV-B).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.similarity import Grams, pairs_of_texts, pairs_of_vectors
from conspectus.index import Index
from conspectus.text.words import name_key
from conspectus.triple_graph import TripleGraph

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]
Matrix = sparse.csr_array[Any, Any]


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
    def of(cls, index: Index, threshold: float) -> PhraseGraph:
        """Return the phrases of an index; made once for an open index and threshold."""
        key = f"phrases {threshold}"
        if key not in index.derived:
            index.derived[key] = cls._made(index, threshold)
        phrases: PhraseGraph = index.derived[key]
        return phrases

    @classmethod
    def _made(cls, index: Index, threshold: float) -> PhraseGraph:
        graph = TripleGraph.of(index)
        number: dict[str, int] = {}
        spelt = [name_key(name) or name for name in graph.names]
        of_name = np.array([number.setdefault(key, len(number)) for key in spelt], np.int64)
        n = len(number)
        heads, tails = of_name[graph.heads], of_name[graph.tails]
        vectors = _vectors(index, of_name, n)
        first, second, like = (
            pairs_of_texts(list(number), threshold) if vectors is None else pairs_of_vectors(vectors, threshold)
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
    chunk = np.array([c for said in graph.chunks for c in said], np.int64)
    rows = np.concatenate((heads[triple], tails[triple]))
    columns = np.concatenate((chunk, chunk))
    matrix = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(n, chunks))
    matrix.sum_duplicates()
    return matrix
