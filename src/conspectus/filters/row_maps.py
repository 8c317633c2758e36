"""Where the rows of several indexes go when they are one: those of some tables join, those of others follow on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from conspectus.filters.arrays import Array, RowMap
from conspectus.index import Index
from conspectus.references import Reference
from conspectus.rows import Relationship, Triple
from conspectus.triple_graph import TripleGraph

FOLLOWING = ("documents", "chunks", "sentences", "claims", "communities", "reports")
"""Tables in which the rows of each index stand after those of the one before; the rows of all others join."""


class Numbers:
    """The new numbers of the rows of several indexes; `part` is the place of one of these."""

    def __init__(self, indexes: Sequence[Index]) -> None:
        self._indexes = indexes
        self._numbered: dict[str, Mapping[Any, int]] = {}
        self._places: dict[tuple[int, str], RowMap] = {}
        self._edges: dict[str, list[int]] = {}

    def start(self, part: int, table: str) -> int:
        """Return where the rows of an index begin, in a table in which they follow each other."""
        return self._following(table)[part]

    def _following(self, table: str) -> list[int]:
        def size(index: Index) -> int:
            return len(index.arrays["sentences.document"]) if table == "sentences" else len(getattr(index, table))

        if table not in self._edges:
            self._edges[table] = np.cumsum([0, *map(size, self._indexes)]).tolist()
        return self._edges[table]

    def size(self, axis: str) -> int:
        """Return how many rows an axis has; see `layout`."""
        return self._following(axis)[-1] if axis in FOLLOWING else len(self.keys(axis))

    def keys(self, table: str) -> Mapping[Any, int]:
        """Return by what rows of a table are one, with their numbers: in the order met, names of the walk ascending."""
        if table not in self._numbered:
            keys = dict.fromkeys(chain.from_iterable(self._keys(p, table) for p in range(len(self._indexes))))
            self._numbered[table] = {key: i for i, key in enumerate(sorted(keys) if table == "names" else keys)}
        return self._numbered[table]

    def _keys(self, part: int, table: str) -> Sequence[Any]:
        index = self._indexes[part]
        match table:
            case "entities":
                return [e.name for e in index.entities]
            case "relationships":
                return [(r.source, r.target) for r in index.relationships]
            case "triples" if any(self.triples):
                return [(t.head, t.relation, t.tail) for t in self.triples[part]]
            case "triples":  # what has vectors as a triple is then a relationship
                return self._keys(part, "relationships")
            case "phrases":
                return TripleGraph.of(index).names
            case "names":
                return index.arrays["walk.names"].tolist()
            case _:
                return index.words

    @cached_property
    def triples(self) -> list[Sequence[Triple]]:
        """The triples of each index: where only some have any, the others' relationships stand for theirs."""
        if not any(len(index.triples) for index in self._indexes):
            return [() for _ in self._indexes]
        return [index.triples or [_as_triple(r) for r in index.relationships] for index in self._indexes]

    def held(self, table: str) -> list[list[tuple[int, int]]]:
        """Return for each row of a table that joins which indexes hold it, with its number there."""
        held: list[list[tuple[int, int]]] = [[] for _ in self.keys(table)]
        for part in range(len(self._indexes)):
            for old, new in enumerate(self.places(part, table).numbers.tolist()):
                held[int(new)].append((part, old))
        return held

    def places(self, part: int, axis: str) -> RowMap:
        """Return where the rows of an axis of an index go."""
        if (part, axis) not in self._places:
            if axis in FOLLOWING:
                start, end = self._following(axis)[part : part + 2]
                places = RowMap(np.arange(start, end), start)
            else:
                keys = self.keys(axis)
                places = RowMap(np.array([keys[key] for key in self._keys(part, axis)], np.int64))
            self._places[part, axis] = places
        return self._places[part, axis]

    def reference(self, part: int, reference: Reference) -> Reference | None:
        """Return a reference of an index in the new numbers, None where it led nowhere."""
        numbers = self.places(part, "chunks" if reference.table == "Sources" else reference.table.lower()).numbers
        held = 0 <= reference.number < len(numbers)
        return Reference(reference.table, int(numbers[reference.number])) if held else None

    def summed(self, name: str, _: Mapping[str, Array]) -> Array:
        """Return a column of the names of the walk: frequencies as their sum, kinds as all that hold in any index."""
        made = np.zeros(self.size("names"), self._indexes[0].arrays[name].dtype)
        for part, index in enumerate(self._indexes):
            numbers, column = self.places(part, "names").numbers, index.arrays[name]
            made[numbers] = made[numbers] | column if name == "walk.kinds" else made[numbers] + column
        return made


def _as_triple(row: Relationship) -> Triple:
    return Triple(row.id, row.number, row.source, row.description, row.target, row.chunk_ids)
