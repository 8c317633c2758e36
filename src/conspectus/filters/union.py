"""A union of indexes: several indexes are asked as one.

Rows with the same key are merged: entities by name, relationships by their ends, triples by their content, words by
spelling. Statistics are counted over all indexes together, so that scores compare. Hierarchies stand side by side; an
entity of several indexes belongs to the communities of the index in which most chunks mention it, so that each level
stays a partition. A document that several indexes contain is read once, from the first. Paths begin with the name of
their index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain, zip_longest
from typing import Any

import numpy as np

from conspectus.filters.remapping import Array, LazyReports, LazyTable, RemappedArrays, RowMap
from conspectus.filters.subset import subset_of, translated
from conspectus.index import Index
from conspectus.models.embedders import same_model
from conspectus.references import Reference
from conspectus.rows import (
    AliasDecision,
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Failure,
    Relationship,
    Report,
    Span,
    Triple,
)
from conspectus.triple_graph import TripleGraph


class IndexUnion:
    """The rows of several indexes together, each table made when it is first used."""

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        """`indexes` are given by the names that paths begin with."""
        self.indexes = list(indexes.values())
        self.numbers = UnionRows(self.indexes)
        self._names = list(indexes)

    # What follows each other

    @cached_property
    def documents(self) -> list[Document]:
        named = zip(self._names, self.indexes, strict=True)
        rows = (replace(d, path=f"{name}:{d.path}") for name, index in named for d in index.documents)
        return [replace(row, number=i) for i, row in enumerate(rows)]

    @cached_property
    def chunks(self) -> list[Chunk]:
        every = chain.from_iterable(index.chunks for index in self.indexes)
        return [replace(row, number=i) for i, row in enumerate(every)]

    @cached_property
    def claims(self) -> list[Claim]:
        every = chain.from_iterable(index.claims for index in self.indexes)
        return [replace(row, number=i) for i, row in enumerate(every)]

    def failures(self) -> list[Failure]:
        """What could not be done in any of them."""
        return [
            replace(failure, document=f"{name}:{failure.document}") if failure.document else failure
            for name, index in zip(self._names, self.indexes, strict=True)
            for failure in index.failures
        ]

    def joins(self) -> list[AliasDecision]:
        """The decisions of all of them that names are one."""
        return list(dict.fromkeys(join for index in self.indexes for join in index.joins))

    # What joins

    @cached_property
    def entities(self) -> list[Entity]:
        degree = Counter(chain.from_iterable((r.source, r.target) for r in self.relationships))
        tables = [index.entities for index in self.indexes]
        rows = (
            merge_entities([tables[part][n] for part, n in sources]) for sources in self.numbers.sources_of("entities")
        )
        return [replace(row, number=i, degree=degree[row.name]) for i, row in enumerate(rows)]

    @cached_property
    def relationships(self) -> list[Relationship]:
        tables = [index.relationships for index in self.indexes]
        sources = self.numbers.sources_of("relationships")
        rows = [merge_relationships([tables[part][n] for part, n in same]) for same in sources]
        degree = Counter(chain.from_iterable((r.source, r.target) for r in rows))
        return [replace(r, number=i, combined_degree=degree[r.source] + degree[r.target]) for i, r in enumerate(rows)]

    @cached_property
    def triples(self) -> list[Triple]:
        tables = self.numbers.triples
        if not any(tables):
            return []
        rows: list[Triple] = []
        for sources in self.numbers.sources_of("triples"):
            same = [tables[part][n] for part, n in sources]
            chunks = tuple(chain.from_iterable(t.chunk_ids for t in same))
            rows.append(replace(same[0], number=len(rows), chunk_ids=chunks))
        return rows

    # The hierarchies

    @cached_property
    def communities(self) -> list[Community]:
        rows: list[Community] = []
        for part, index in enumerate(self.indexes):
            start = self.numbers.start(part, "communities")
            entity = self.numbers.row_map(part, "entities").numbers.tolist()
            relationship = self.numbers.row_map(part, "relationships").numbers.tolist()
            for old in index.communities:
                members = tuple(e for n in old.entity_numbers if self._owner[e := int(entity[n])] == part)
                edges = tuple(int(relationship[n]) for n in old.relationship_numbers)
                rows.append(
                    replace(
                        old,
                        number=start + old.number,
                        parent=start + old.parent if old.parent >= 0 else -1,
                        children=tuple(start + child for child in old.children),
                        entity_numbers=members,
                        relationship_numbers=edges if len(members) == old.size else self._among(edges, members),
                    )
                )
        return rows

    @cached_property
    def _owner(self) -> list[int]:
        """In whose communities each entity is: of the index that names it in most chunks, of equal ones the first."""
        tables = [index.entities for index in self.indexes]
        return [
            max(sources, key=lambda position: tables[position[0]][position[1]].frequency)[0]
            if len(sources) > 1
            else sources[0][0]
            for sources in self.numbers.sources_of("entities")
        ]

    def _among(self, edges: Sequence[int], members: Sequence[int]) -> tuple[int, ...]:
        """Return the relationships whose two ends are both members."""
        names = {self.entities[e].name for e in members}
        rows = self.relationships
        return tuple(r for r in edges if rows[r].source in names and rows[r].target in names)

    @cached_property
    def reports(self) -> LazyReports:
        """The reports, with their references in the new numbers, each made when it is first read."""
        starts = [self.numbers.start(part, "reports") for part in range(len(self.indexes))]

        def communities() -> list[int]:
            return [
                self.numbers.start(part, "communities") + community
                for part, index in enumerate(self.indexes)
                for community in _communities(index)
            ]

        def report_at(position: int) -> Report:
            part = max(p for p, index in enumerate(self.indexes) if starts[p] <= position and len(index.reports))
            old, start = self.indexes[part].reports[position - starts[part]], self.numbers.start(part, "communities")
            return replace(
                translated(old, partial(self.numbers.reference, part)),
                number=position,
                community=start + old.community,
                parent=start + old.parent if old.parent >= 0 else -1,
                children=tuple(start + child for child in old.children),
            )

        def counts() -> tuple[int, int, int]:
            whole, written, dropped = map(sum, zip(*map(_counts, self.indexes), strict=True))
            return whole, written, dropped

        return LazyReports(communities, report_at, counts)


def _communities(index: Index) -> Sequence[int]:
    reports = index.reports
    return reports.communities if isinstance(reports, LazyReports) else [r.community for r in reports]


def _counts(index: Index) -> tuple[int, int, int]:
    reports = index.reports
    return reports.counts() if isinstance(reports, LazyReports) and reports.counts else (len(reports), 0, 0)


def union_of(indexes: Mapping[str, Index]) -> Index:
    """Return several indexes as one, given by the names that the paths of their documents are to begin with.

    Vectors are there where all indexes have them by one embedder; see `vectors_differ`.
    """
    distinct: dict[str, Index] = {}
    seen: set[str] = set()
    for name, index in indexes.items():
        new = [d.id not in seen for d in index.documents]
        if any(new) or not new:  # a graph without text has no documents
            distinct[name] = subset_of(index, new)
        seen |= {d.id for d in index.documents}
    joint = IndexUnion(distinct)
    numbers = joint.numbers
    parts = [(index.arrays, partial(numbers.row_map, part)) for part, index in enumerate(joint.indexes)]
    otherwise: Mapping[str, Callable[[Mapping[str, Array]], Array]] = {
        name: partial(numbers.summed, name) for name in ("walk.frequency", "walk.kinds")
    }
    without = "vectors." if vectors_differ(list(indexes.values())) else ""
    return replace(
        next(iter(indexes.values())),
        documents=LazyTable(lambda: joint.documents),
        chunks=LazyTable(lambda: joint.chunks),
        entities=LazyTable(lambda: joint.entities),
        relationships=LazyTable(lambda: joint.relationships),
        triples=LazyTable(lambda: joint.triples),
        claims=LazyTable(lambda: joint.claims),
        communities=LazyTable(lambda: joint.communities),
        reports=joint.reports,
        joins=LazyTable(joint.joins),
        failures=LazyTable(joint.failures),
        words=LazyTable(lambda: list(numbers.keys("words"))),
        arrays=RemappedArrays(parts, numbers.size, otherwise, without),
        usage={},
        snapshot=" + ".join(index.snapshot for index in indexes.values()),
    )


def vectors_differ(indexes: Sequence[Index]) -> bool:
    """Tell whether some indexes have vectors that do not compare: by several embedders, or not in all of them."""
    first, *others = ((*embedder_of(index), _prefix_of(index)) for index in indexes)
    return any(not same_model(first[0], other[0]) or first[1:] != other[1:] for other in others)


def embedder_of(index: Index) -> tuple[str, int]:
    """Return who made the vectors of an index, and how many numbers they have; "" and 0 where it has none."""
    if "vectors.chunks" not in index.arrays:
        return "", 0
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    return str(made.get("model")), int(index.arrays["vectors.chunks"].shape[1])


def _prefix_of(index: Index) -> str:
    """Return what stood before the texts of an index when they were embedded."""
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    return str(made.get("passage_prefix") or "") if "vectors.chunks" in index.arrays else ""


FOLLOWING = ("documents", "chunks", "sentences", "claims", "communities", "reports")
"""Tables in which the rows of each index stand after those of the one before; the rows of all others join."""


class UnionRows:
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

    def sources_of(self, table: str) -> list[list[tuple[int, int]]]:
        """Return for each row of a table that joins which indexes hold it, with its number there."""
        sources: list[list[tuple[int, int]]] = [[] for _ in self.keys(table)]
        for part in range(len(self._indexes)):
            for old, new in enumerate(self.row_map(part, table).numbers.tolist()):
                sources[int(new)].append((part, old))
        return sources

    def row_map(self, part: int, axis: str) -> RowMap:
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
        numbers = self.row_map(part, "chunks" if reference.table == "Sources" else reference.table.lower()).numbers
        sources = 0 <= reference.number < len(numbers)
        return Reference(reference.table, int(numbers[reference.number])) if sources else None

    def summed(self, name: str, _: Mapping[str, Array]) -> Array:
        """Return a column of the names of the walk: frequencies as their sum, kinds as all that hold in any index."""
        made = np.zeros(self.size("names"), self._indexes[0].arrays[name].dtype)
        for part, index in enumerate(self._indexes):
            numbers, column = self.row_map(part, "names").numbers, index.arrays[name]
            made[numbers] = made[numbers] | column if name == "walk.kinds" else made[numbers] + column
        return made


def _as_triple(row: Relationship) -> Triple:
    return Triple(row.id, row.number, row.source, row.description, row.target, row.chunk_ids)


def merge_entities(same: Sequence[Entity]) -> Entity:
    """Return one entity of those of one name; its type is that of the one that most chunks name."""
    if len(same) == 1:
        return same[0]
    most = max(same, key=lambda e: e.frequency)
    return replace(
        same[0],
        type=most.type,
        description=_lines(e.description for e in same),
        chunk_ids=tuple(chain.from_iterable(e.chunk_ids for e in same)),
        spans=_in_turn([e.spans for e in same]),
        aliases=tuple(sorted({alias for e in same for alias in e.aliases})),
    )


def merge_relationships(same: Sequence[Relationship]) -> Relationship:
    """Return one relationship of those between the same ends; its strength is their mean by weight."""
    if len(same) == 1:
        return same[0]
    weight = sum(r.weight for r in same)
    return replace(
        same[0],
        description=_lines(r.description for r in same),
        weight=weight,
        strength=sum(r.strength * r.weight for r in same) / (weight or 1.0),
        chunk_ids=tuple(chain.from_iterable(r.chunk_ids for r in same)),
        spans=_in_turn([r.spans for r in same]),
    )


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _in_turn(spans: Sequence[Sequence[Span]]) -> tuple[Span, ...]:
    """Return the first of each, then the second of each, and so on: who shows a few shows some of each."""
    return tuple(span for turn in zip_longest(*spans) for span in turn if span is not None)
