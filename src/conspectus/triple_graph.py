"""The graph of an index as triples over numbered names: what the methods that reason over a graph walk on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from conspectus.index import Index
from conspectus.text.words import name_key

Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]


@dataclass(frozen=True)
class Step:
    """One edge as it is followed: `inverse` where it leads from the tail of its triple to the head."""

    triple: int
    relation: int
    inverse: bool
    to: int


@dataclass(frozen=True)
class TripleGraph:
    """Triple `i` leads from name `heads[i]` by relation `kinds[i]` to name `tails[i]`."""

    names: tuple[str, ...]
    relations: tuple[str, ...]
    heads: Ints
    kinds: Ints
    tails: Ints
    chunks: tuple[tuple[int, ...], ...]
    """The numbers of the chunks that say each triple."""

    @classmethod
    def of(cls, index: Index) -> TripleGraph:
        """Return the triples of an index, or its relationships where it has none; made once for an open index."""
        return index.derive(cls._made)

    @classmethod
    def _made(cls, index: Index) -> TripleGraph:
        if len(index.triples):
            statements = [(t.head, t.relation, t.tail, t.chunk_ids) for t in index.triples]
        else:
            statements = [(r.source, r.description, r.target, r.chunk_ids) for r in index.relationships]
        names: dict[str, int] = {}
        relations: dict[str, int] = {}
        rows = np.zeros((len(statements), 3), np.int64)
        number_of_chunk = {chunk.id: chunk.number for chunk in index.chunks}
        chunks: list[tuple[int, ...]] = []
        for i, (head, relation, tail, chunk_ids) in enumerate(statements):
            rows[i] = (
                names.setdefault(head, len(names)),
                relations.setdefault(relation, len(relations)),
                names.setdefault(tail, len(names)),
            )
            chunks.append(tuple(number_of_chunk[c] for c in chunk_ids if c in number_of_chunk))
        return cls(tuple(names), tuple(relations), rows[:, 0], rows[:, 1], rows[:, 2], tuple(chunks))

    def __len__(self) -> int:
        return len(self.heads)

    @cached_property
    def given(self) -> bool:
        """Whether no text says any of its triples: texts are linked to its names, if to anything."""
        return not any(self.chunks)

    @cached_property
    def number_of(self) -> dict[str, int]:
        """Numbers of names."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def numbers_of_key(self) -> dict[str, list[int]]:
        """Numbers of the names that are alike but for case, accents, marks and a leading article."""
        keys: dict[str, list[int]] = {}
        for i, name in enumerate(self.names):
            keys.setdefault(name_key(name), []).append(i)
        return keys

    @cached_property
    def longest_key(self) -> int:
        """Words of the longest name, 12 at the most."""
        return min(12, max((key.count(" ") + 1 for key in self.numbers_of_key), default=0))

    @cached_property
    def _around(self) -> tuple[Ints, Ints]:
        """For each name, where its edges are in the second array: triples, below zero (`~`) where it is the tail."""
        n = len(self.heads)
        ends = np.concatenate((self.heads, self.tails))
        edges = np.concatenate((np.arange(n), ~np.arange(n)))
        order = np.argsort(ends, kind="stable")
        starts = np.searchsorted(ends[order], np.arange(len(self.names) + 1))
        return starts, edges[order]

    def degree(self, name: int) -> int:
        """Return how many triples a name has."""
        starts, _ = self._around
        return int(starts[name + 1] - starts[name])

    def steps(self, name: int) -> Iterator[Step]:
        """Yield the edges of a name, in the order of the table, those that lead from it first."""
        starts, edges = self._around
        for edge in edges[starts[name] : starts[name + 1]].tolist():
            triple, inverse = (~edge, True) if edge < 0 else (edge, False)
            to = self.heads[triple] if inverse else self.tails[triple]
            yield Step(triple, int(self.kinds[triple]), inverse, int(to))

    @cached_property
    def ways(self) -> Ways:
        """How the relations of the graph go together."""
        return Ways(self)


class Ways:
    """Ways to leave a name: way `2 r` along relation `r`, way `2 r + 1` against it.

    Who goes way `a` arrives at a name that can be left by way `a ^ 1`.
    """

    def __init__(self, graph: TripleGraph) -> None:
        from scipy import sparse

        self.size = 2 * len(graph.relations)
        rows = np.concatenate((graph.heads, graph.tails))
        columns = np.concatenate((2 * graph.kinds, 2 * graph.kinds + 1))
        ones = np.ones(len(rows), np.int32)
        self._of_name = sparse.csr_array((ones, (rows, columns)), shape=(len(graph.names), self.size))
        self._of_name.data[:] = 1
        self._of_way = self._of_name.tocsc()
        self._follow: dict[int, dict[int, float]] = {}

    def of(self, name: int) -> list[int]:
        """Return the ways by which a name can be left."""
        starts = self._of_name.indptr
        return np.sort(self._of_name.indices[starts[name] : starts[name + 1]]).tolist()

    def names(self, way: int) -> Ints:
        """Return the names that can be left by a way: those that its opposite arrives at."""
        starts = self._of_way.indptr
        return self._of_way.indices[starts[way] : starts[way + 1]]

    def follow(self, way: int) -> dict[int, float]:
        """Return the ways that can be gone after a way, each with the share of the names arrived at that have it."""
        if way not in self._follow:
            arrived = self.names(way ^ 1)
            counts = np.asarray(self._of_name[arrived].sum(axis=0)).ravel()
            ways = np.flatnonzero(counts)
            shares = counts[ways] / max(len(arrived), 1)
            self._follow[way] = dict(zip(ways.tolist(), shares.tolist(), strict=True))
        return self._follow[way]
