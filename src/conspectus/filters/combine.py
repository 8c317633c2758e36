"""Index union and subset: parts of indexes as one `Index`, so that every method works on it unchanged.

Rows with the same key are merged: entities by name, relationships by their ends, triples by their content, words by
spelling. Statistics (document frequencies, degrees) are computed over the parts, so that scores are comparable and
rankings do not depend on documents that are left out. Hierarchies stay side by side; an entity of several indexes
belongs to the communities of the first, so that each level stays a partition. A report is reused if the parts contain
everything that it was written from; the others are rewritten from the rest of their communities, extractively and
without a model. Tables and arrays are computed when they are first read (lazy tables).

The row map of an axis (`storage.arrays`) maps row `i` of a part to row `row_map[i]` of the union; -1 drops it. An array
that is not declared there is dropped, so that none is read along the wrong axis.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property
from itertools import chain, compress, zip_longest
from typing import Any

import numpy as np

from conspectus.algorithms.ranking import Ints
from conspectus.community_context import CommunityContextBuilder, brief_draft, report_of
from conspectus.filters.part import Array, Part, Row
from conspectus.index import Index, LazyMapping, Rows
from conspectus.models.extractive.graph import write_report
from conspectus.references import Reference, translate
from conspectus.rows import Community, Entity, Relationship, Report, Triple
from conspectus.settings import ReportSettings
from conspectus.storage import TABLES
from conspectus.storage.arrays import COLUMNS, EDGES, LIST_OF, OF_WHOLE
from conspectus.tasks import ReportDraft, WriteReport

FOLLOWING = ("documents", "chunks", "sentences", "claims", "communities", "reports")
"""Axes along which the rows of the parts are concatenated; along the others, rows are merged by their keys."""
MERGED: Mapping[str, Callable[[Array, Array], Array]] = {
    "walk.frequency": np.add,
    "walk.kinds": np.bitwise_or,
}
"""Functions that merge the values of a column from several indexes; other columns have the value of the first."""


def combine(parts: Sequence[Part], *, vectors: bool = True, condition: str = "") -> Index:
    """Return parts of indexes as one index; settings and folder are those of the first.

    vectors: whether to include vectors, which must be by one embedder.
    condition: the conditions on the documents, as a text for the snapshot.
    """
    tables = _Tables(parts)
    names = {*COLUMNS, *LIST_OF}.intersection(*(part.index.arrays for part in parts))
    names = {name for name in names if not name.startswith(OF_WHOLE)}
    if not vectors:
        names = {name for name in names if not name.startswith("vectors.")}

    def lazy(name: str) -> Rows[Row]:
        return Rows(lambda: len(tables.table(name)), lambda start, stop: tables.table(name)[start:stop])

    snapshot = " + ".join(part.index.snapshot for part in parts)
    return replace(
        parts[0].index,
        **{name: lazy(name) for name in TABLES if name != "reports"},
        reports=CombinedReports(tables),
        arrays=LazyMapping(names, lambda name: (tables.column if name in COLUMNS else tables.list)(name)),
        usage={},
        snapshot=f"{snapshot} {condition}".strip(),
    )


class _Tables:
    """The combined tables of several parts, and the row maps from each part."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.keys = cache(self._keys)
        self.row_map = cache(self._row_map)
        self.table = cache(self._table)

    def _row_map(self, part: int, axis: str) -> Ints:
        """Return the row map of an axis for a part: the new number of each row of its index, -1 for dropped rows."""
        axis = self._joining(axis)
        mask = self.parts[part].mask(axis)
        if axis in FOLLOWING:
            start = sum(int(earlier.mask(axis).sum()) for earlier in self.parts[:part])
            return np.where(mask, start + np.cumsum(mask) - 1, -1)
        numbers = self.keys(axis)
        rows = np.array([numbers.get(key, -1) for key in self.parts[part].keys(axis)], np.int64)
        return np.where(mask, rows, -1)

    def size(self, axis: str) -> int:
        """Return the number of rows along an axis."""
        if axis in FOLLOWING:
            return sum(int(part.mask(axis).sum()) for part in self.parts)
        return len(self.keys(self._joining(axis)))

    def _joining(self, axis: str) -> str:
        """Return the axis, but relationships for triples if there are none: vectors of triples are then of those."""
        return "relationships" if axis == "triples" and not self._has_triples else axis

    @cached_property
    def _has_triples(self) -> bool:
        return any(len(part.index.triples) for part in self.parts)

    def _keys(self, axis: str) -> Mapping[Any, int]:
        """Return the number of each distinct key of an axis, in order of occurrence; names of the walk are sorted."""
        keys: dict[Any, None] = {}
        if axis == "phrases":
            ends = [(row.head, row.tail) for row in self.table("triples")]
            ends = ends or [(row.source, row.target) for row in self.table("relationships")]
            keys = dict.fromkeys(chain.from_iterable(ends))
        else:
            for part in self.parts:
                keys |= dict.fromkeys(compress(part.keys(axis), part.mask(axis)))
        return {key: i for i, key in enumerate(sorted(keys) if axis == "names" else keys)}

    def _table(self, name: str) -> Sequence[Row]:
        match name:
            case "documents" | "chunks" | "claims":
                rows = chain.from_iterable(part.rows(name) for part in self.parts)
                return [replace(row, number=number) for number, row in enumerate(rows)]
            case "joins" | "failures":
                rows = chain.from_iterable(getattr(part.index, name) for part in self.parts)
                return list(dict.fromkeys(rows))
            case "words":
                return list(self.keys("words"))
            case _:
                return getattr(self, f"_{name}")()

    def _entities(self) -> list[Entity]:
        degree = Counter(chain.from_iterable((r.source, r.target) for r in self.table("relationships")))
        rows: list[Entity] = []
        for same in self._alike("entities"):
            row: Entity = same[0]
            if len(same) > 1:  # the type is that of the row with the most chunks
                most = max(same, key=lambda entity: entity.frequency)
                aliases = tuple(sorted(set(_joined(same, "aliases"))))
                row = replace(row, type=most.type, aliases=aliases, **_merged_texts(same))
            rows.append(replace(row, number=len(rows), degree=degree[row.name]))
        return rows

    def _relationships(self) -> list[Relationship]:
        rows: list[Relationship] = []
        for same in self._alike("relationships"):
            row: Relationship = same[0]
            if len(same) > 1:  # the strength is the mean, weighted by `weight`
                weight = sum(r.weight for r in same)
                strength = sum(r.strength * r.weight for r in same) / (weight or 1.0)
                row = replace(row, weight=weight, strength=strength, **_merged_texts(same))
            rows.append(row)
        degree = Counter(chain.from_iterable((r.source, r.target) for r in rows))
        return [
            replace(row, number=number, combined_degree=degree[row.source] + degree[row.target])
            for number, row in enumerate(rows)
        ]

    def _triples(self) -> list[Triple]:
        """Return the distinct triples; if only some parts have triples, with the relationships of the others."""
        if not self._has_triples:
            return []
        return [
            replace(same[0], number=number, chunk_ids=_joined(same, "chunk_ids"))
            for number, same in enumerate(self._alike("triples"))
        ]

    def _alike(self, table: str) -> Iterable[list[Row]]:
        groups: dict[Any, list[Row]] = {}
        for part in self.parts:
            for key, row in zip(compress(part.keys(table), part.mask(table)), part.rows(table), strict=True):
                groups.setdefault(key, []).append(row)
        return groups.values()

    def _communities(self) -> list[Community]:
        rows: list[Community] = []
        elsewhere: set[int] = set()
        """Entities in communities of earlier parts."""
        for number, part in enumerate(self.parts):
            rows += [self._community(number, old, elsewhere) for old in part.rows("communities")]
            elsewhere.update(entity for row in rows for entity in row.entity_numbers)
        return rows

    def _community(self, part: int, old: Community, elsewhere: set[int]) -> Community:
        """Return a community of a part in the new numbers, without the entities of earlier parts' communities."""

        def moved(axis: str, numbers: Sequence[int]) -> tuple[int, ...]:
            new: list[int] = self.row_map(part, axis)[list(numbers)].tolist()
            return tuple(number for number in new if number >= 0)

        numbers, relationships = self.row_map(part, "communities"), self.table("relationships")
        members = tuple(entity for entity in moved("entities", old.entity_numbers) if entity not in elsewhere)
        names = {self.table("entities")[entity].name for entity in members}
        edges = moved("relationships", old.relationship_numbers)
        return replace(
            old,
            number=int(numbers[old.number]),
            parent=int(numbers[old.parent]) if old.parent >= 0 else -1,
            children=moved("communities", old.children),
            entity_numbers=members,
            relationship_numbers=tuple(
                edge for edge in edges if {relationships[edge].source, relationships[edge].target} <= names
            ),
        )

    # Arrays

    def column(self, name: str) -> Array:
        """Return a combined array with one value for each row of an axis."""
        axis, numbered = COLUMNS[name]
        first, *others = (part.array(name) for part in self.parts)
        column = np.zeros((self.size(axis), *first.shape[1:]), np.result_type(first, *others))
        for number, part in reversed(list(enumerate(self.parts))):
            rows = self.row_map(number, axis)
            values = part.array(name)[rows >= 0]
            if name in EDGES:
                values = _edges(self.row_map(number, numbered))[values]
            elif numbered:
                values = np.append(self.row_map(number, numbered), -1)[values]
            rows = rows[rows >= 0]
            column[rows] = MERGED[name](column[rows], values) if name in MERGED else values
        return column

    def list(self, name: str) -> Array:
        """Return an array of the combined lists of an axis, without dropped values; those of merged rows are joined."""
        axis, numbered, (starts, values, *_) = LIST_OF[name]
        rows: list[Ints] = []
        columns: list[Array] = []
        for number, part in enumerate(self.parts):
            row = np.repeat(self.row_map(number, axis), np.diff(part.array(starts)))
            value = self.row_map(number, numbered)[part.array(values)]
            stays = (row >= 0) & (value >= 0)
            rows.append(row[stays])
            if name != starts:
                array = part.array(name)
                columns.append((value if name == values else array)[stays].astype(array.dtype))
        row = np.concatenate(rows)
        if name != starts:
            return np.concatenate(columns)[np.argsort(row, kind="stable")]
        counts = np.bincount(row, minlength=self.size(axis))
        return np.concatenate(([0], np.cumsum(counts))).astype(self.parts[0].array(starts).dtype)


def _edges(rows: Ints) -> Ints:
    """Return the map of the boundaries before, between and after consecutive rows, given the row map (`rows`)."""
    stays = rows >= 0
    start = rows[stays][0] if stays.any() else 0
    return np.concatenate(([0], np.cumsum(stays))) + start


class CombinedReports(Rows[Report]):
    """The reports of several parts, each computed when it is first read: most questions read few of them."""

    def __init__(self, tables: _Tables) -> None:
        super().__init__(
            lambda: len(self._old), lambda start, stop: list(map(self._report, range(start, stop)))
        )
        self._tables = tables
        self._report = cache(self._make_report)

    @cached_property
    def _old(self) -> list[tuple[int, Report]]:
        """Each original report, with the number of its part."""
        return [(n, report) for n, part in enumerate(self._tables.parts) for report in part.rows("reports")]

    @cached_property
    def by_community(self) -> Mapping[int, Report]:
        """The reports by the number of their community."""
        numbers = {self._community(number).number: number for number in range(len(self))}
        return LazyMapping(numbers, lambda community: self._report(numbers[community]))

    def _community(self, number: int) -> Community:
        part, old = self._old[number]
        row_map = self._tables.row_map(part, "communities")
        return self._tables.table("communities")[int(row_map[old.community])]

    def _make_report(self, number: int) -> Report:
        part_number, old = self._old[number]
        part, community = self._tables.parts[part_number], self._community(number)
        if part.is_unchanged(old):
            findings = (
                replace(f, explanation=self._renumbered(f.explanation, part_number)) for f in old.findings
            )
            summary = self._renumbered(old.summary, part_number)
            draft = ReportDraft(old.title, summary, old.rating, old.rating_explanation, tuple(findings))
        elif old.brief:
            draft = brief_draft(self._evidence.build(community, {}), part.index.languages[0])
        else:
            languages = part.index.languages
            task = WriteReport(self._evidence.build(community, self.by_community), language=languages[0])
            draft = write_report(task, multilingual=len(languages) > 1)
        return replace(report_of(community, number, draft), id=old.id)

    def _renumbered(self, text: str, part: int) -> str:
        """Return a text with its references in the new numbers, without references to dropped rows."""

        def renumbered(reference: Reference) -> Reference | None:
            axis = "chunks" if reference.table == "Sources" else reference.table.lower()
            numbers = self._tables.row_map(part, axis)
            number = int(numbers[reference.number]) if reference.number < len(numbers) else -1
            return Reference(reference.table, number) if number >= 0 else None

        return translate(text, renumbered)[0]

    @cached_property
    def _evidence(self) -> CommunityContextBuilder:
        tables = self._tables
        settings: Mapping[str, Any] = tables.parts[0].index.settings.get("reports", {})
        limit = settings.get("context_tokens", ReportSettings().context_tokens)
        communities, entities, edges = map(tables.table, ("communities", "entities", "relationships"))
        return CommunityContextBuilder(communities, entities, edges, limit, tables.table("claims"))


def _merged_texts(same: Sequence[Entity | Relationship]) -> dict[str, Any]:
    turns = zip_longest(*(row.spans for row in same))  # the first few contain some of each
    return {
        "description": "\n".join(dict.fromkeys(row.description for row in same if row.description)),
        "chunk_ids": _joined(same, "chunk_ids"),
        "spans": tuple(span for turn in turns for span in turn if span is not None),
    }


def _joined(same: Sequence[Row], name: str) -> tuple[Any, ...]:
    return tuple(chain.from_iterable(getattr(row, name) for row in same))
