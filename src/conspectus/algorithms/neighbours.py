"""Nearest neighbours by inner product: exact, block by block, or by a graph of neighbours (HNSW) that finds nearly all
of them and looks at few vectors.

CPU ms to find the 10 nearest of one query among vectors of 384 numbers, on one core, with the share of the 10 that a
graph finds (of questions that its breadth was not chosen by) and the CPU seconds of making it; the vectors are of real
sentences and, from 66,000 on, of mixtures of these:

      vectors   exact, as float32    by a graph, found    making it
       66,000     5 ms     101 MB     0.4 ms    98.8 %      9 s     35 MB
      200,000    15 ms     307 MB     0.9 ms    99.1 %     35 s    107 MB
      500,000    32 ms     768 MB     1.2 ms    98.3 %    131 s    266 MB
    1,000,000    73 ms   1,536 MB     2.3 ms    98.2 %    298 s    533 MB

Exact search wants float32, since numpy multiplies float16 eight times slower; beside a graph float16 will do. To embed
a question here takes 7 ms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

BLOCK = 1 << 22  # unexplained
"""Products, or numbers of vectors, held at once: 16 MB."""
LARGE = 80_000_000  # unexplained
"""Numbers in all vectors (208,000 vectors of 384) from which on a graph is worth its making."""
LINKS, BREADTH_MADE = 16, 64  # unexplained
"""Neighbours that each vector of a graph is linked to, and candidates that are looked at for them."""
BREADTHS = (64, 128, 256, 512, 1024)  # unexplained
MORE = 50  # unexplained
"""Vectors, beside twice as many as are wanted, that are ranked anew by all their bits."""
RECALL, SAMPLE, NEAREST = 0.985, 200, 10  # unexplained
"""What a breadth is chosen for: so much of the 10 nearest of so many queries."""


def nearest(vectors: Floats, queries: Floats, k: int) -> tuple[Ints, Floats]:
    """Return for each query the places of the `k` vectors of the highest inner product, and these, the best
    first.

    `vectors` is of shape (n, d) and `queries` of shape (m, d); both results are of shape (m, min(k, n)).
    Equal products are in the order of their places.
    """
    k = min(k, len(vectors))
    rows = max(1, BLOCK // max(len(queries), vectors.shape[1], 1))
    best = np.zeros((len(queries), 0), np.int64)
    products = np.zeros((len(queries), 0), np.float32)
    for start in range(0, len(vectors), rows):
        part = np.asarray(vectors[start : start + rows], np.float32)
        block: Floats = queries @ part.T
        places = np.tile(np.arange(start, start + len(part)), (len(queries), 1))
        products, best = np.hstack((products, block)), np.hstack((best, places))
        if products.shape[1] > k:
            # a stable sort of what is near the top alone: ties at the edge must not depend on the partition
            products, best = _top(products, best, k)
    order = np.argsort(-products, axis=1, kind="stable")
    return np.take_along_axis(best, order, 1), np.take_along_axis(products, order, 1)


def products(vectors: Floats, query: Floats) -> Floats:
    """Return the inner product of each of the vectors, (n, d), with one, (d,)."""
    if vectors.dtype == np.float32:
        return vectors @ query
    rows = max(1, BLOCK // max(vectors.shape[1], 1))
    parts = (
        vectors[start : start + rows].astype(np.float32) @ query for start in range(0, len(vectors), rows)
    )
    return np.concatenate([np.zeros(0, np.float32), *parts])


def _top(products: Floats, places: Ints, k: int) -> tuple[Floats, Ints]:
    """Return the k largest columns of each row, of equal ones the first, in the order of their places."""
    edge = -np.partition(-products, k - 1, axis=1)[:, k - 1 : k]
    larger, equal = products > edge, products == edge
    room = k - larger.sum(axis=1, keepdims=True)
    kept = larger | (equal & (np.cumsum(equal, axis=1) <= room))
    return products[kept].reshape(len(products), k), places[kept].reshape(len(products), k)


@dataclass(frozen=True)
class NeighbourGraph:
    """A graph of neighbours over vectors of length 1, which it does not hold: their numbers in 8 bits lead the way,
    and what they lead to is ranked by the vectors themselves.

    `content` is what is stored; the same vectors give the same bytes.
    """

    content: Bytes
    breadth: int = BREADTHS[0]
    """Candidates that are looked at for a query: the more, the more of the nearest are found."""
    recall: float = 0.0
    """The share of the 10 nearest that is found, measured when it was made."""

    @classmethod
    def of(cls, vectors: Floats, queries: Floats) -> NeighbourGraph:
        """Make the graph of vectors, with the least breadth at which `RECALL` is reached for queries of their kind.

        Raises ImportError where usearch is not installed.
        """
        made: Any = import_module("usearch.index").Index(
            ndim=vectors.shape[1], metric="cos", dtype="i8", connectivity=LINKS, expansion_add=BREADTH_MADE
        )
        for start in range(0, len(vectors), BLOCK // vectors.shape[1]):
            part = np.asarray(vectors[start : start + BLOCK // vectors.shape[1]], np.float32)
            made.add(np.arange(start, start + len(part)), part, threads=1)  # on several, bytes would differ
        content = np.frombuffer(made.save(), np.uint8)
        true, _ = nearest(vectors, queries, NEAREST)
        graph = cls(content)
        for breadth in BREADTHS:
            found, _ = replace(graph, breadth=breadth).nearest(vectors, queries, NEAREST)
            met = [len(set(a) & set(b)) for a, b in zip(found.tolist(), true.tolist(), strict=True)]
            graph = replace(graph, breadth=breadth, recall=sum(met) / max(true.size, 1))
            if graph.recall >= RECALL:
                break
        return graph

    @cached_property
    def readable(self) -> bool:
        """Whether usearch is there to read it."""
        return find_spec("usearch") is not None

    @cached_property
    def _index(self) -> Any:
        """What searches the graph; it reads the bytes where they are."""
        return import_module("usearch.index").Index.restore(self.content.data, view=True)

    def nearest(self, vectors: Floats, queries: Floats, k: int) -> tuple[Ints, Floats]:
        """Return what `neighbours.nearest` does, or nearly all of it.

        Raises ImportError where usearch is not installed.
        """
        k = min(k, len(vectors))
        places, products = np.zeros((len(queries), k), np.int64), np.zeros((len(queries), k), np.float32)
        for row, query in enumerate(queries):
            places[row], products[row] = self._nearest(vectors, query, k)
        return places, products

    def _nearest(self, vectors: Floats, query: Floats, k: int) -> tuple[Ints, Floats]:
        many = min(2 * k + MORE, len(vectors))  # 8 bits do not tell close ones apart
        self._index.expansion_search = max(self.breadth, many)
        found = self._index.search(query, many, threads=1).keys
        if len(found) < k:  # parts of the graph that no link leads to
            places, products = nearest(vectors, query[None], k)
            return places[0], products[0]
        near = np.sort(found.astype(np.int64))
        products = np.asarray(vectors[near], np.float32) @ query
        order = np.argsort(-products, kind="stable")[:k]
        return near[order], products[order]
