"""Parts of indexes as one index: a value of the same type, so that every method works on it unchanged.

Rows with the same key are one: entities by name, relationships by their ends, triples by their content, words by
spelling. Statistics (document frequencies, degrees) are counted over what is read, so that scores compare and no
ranking depends on the rest. Hierarchies stand side by side; an entity of several indexes belongs to the communities of
the first, so that each level stays a partition. A report stays where all that it was written from is read; the others
are written again from what is left of their communities, by selection and without a model. Tables and arrays are made
when they are first read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import chain, compress, zip_longest
from typing import Any

import numpy as np

from conspectus import tokens
from conspectus.community_context import CommunityContextBuilder, report_of
from conspectus.filters.arrays import COLUMNS, LIST_OF, Ints, combined
from conspectus.filters.part import Part, Row
from conspectus.index import Index
from conspectus.models.extractive.report import report_with_references
from conspectus.references import Reference, translate
from conspectus.rows import Community, Entity, Failure, Finding, Relationship, Report, Triple
from conspectus.settings import ReportSettings
from conspectus.storage import TABLES
from conspectus.storage.lazy import LazyMapping, Rows
from conspectus.tasks import WriteReport

FOLLOWING = ("documents", "chunks", "sentences", "claims", "communities", "reports")
"""Axes along which the rows of each part stand after those of the one before; rows of the others join by their keys."""


def combine(parts: Sequence[Part], *, vectors: bool = True, condition: str = "") -> Index:
    """Return parts of indexes as one index; settings and folder are those of the first.

    vectors: whether it has any; they must be by one embedder.
    condition: what the documents were chosen by, for its snapshot.
    """
    tables = _Tables(parts)
    names = {*COLUMNS, *LIST_OF}.intersection(*(part.index.arrays for part in parts))
    if not vectors:
        names = {name for name in names if not name.startswith("vectors.")}
    array_parts = [(part.array, partial(tables.row_map, number)) for number, part in enumerate(parts)]
    snapshot = " + ".join(part.index.snapshot for part in parts)
    return replace(
        parts[0].index,
        **{name: _lazily(partial(getattr, tables, name)) for name in TABLES if name != "reports"},
        reports=CombinedReports(tables),
        arrays=LazyMapping(names, lambda name: combined(name, array_parts, tables.size)),
        usage={},
        snapshot=f"{snapshot} {condition}".strip(),
    )


def _lazily(table: Callable[[], Sequence[Row]]) -> Rows[Row]:
    return Rows(lambda: len(table()), lambda start, stop: table()[start:stop])


class _Tables:
    """The tables of several parts together, and where the rows of each went."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.keys = cache(self._keys)
        self.row_map = cache(self._row_map)

    # Numbers

    def _row_map(self, part: int, axis: str) -> Ints:
        """Return where the rows of an axis of a part's index go, -1 for those that are not read."""
        axis = self._joining(axis)
        mask = self.parts[part].mask(axis)
        if axis in FOLLOWING:
            start = sum(int(earlier.mask(axis).sum()) for earlier in self.parts[:part])
            return np.where(mask, start + np.cumsum(mask) - 1, -1)
        numbers = self.keys(axis)
        rows = np.array([numbers.get(key, -1) for key in self.parts[part].keys(axis)], np.int64)
        return np.where(mask, rows, -1)

    def size(self, axis: str) -> int:
        """Return how many rows an axis has."""
        if axis in FOLLOWING:
            return sum(int(part.mask(axis).sum()) for part in self.parts)
        return len(self.keys(self._joining(axis)))

    def _joining(self, axis: str) -> str:
        """Return the axis itself, but relationships for triples where there are none: they have vectors as such."""
        return "relationships" if axis == "triples" and not self._has_triples else axis

    @cached_property
    def _has_triples(self) -> bool:
        return any(len(part.index.triples) for part in self.parts)

    def _keys(self, axis: str) -> Mapping[Any, int]:
        """Return by what rows of an axis are one, with their numbers: in the order met, names of the walk ascending."""
        keys: dict[Any, None] = {}
        if axis == "phrases":
            keys = dict.fromkeys(self._ends())
        else:
            for part in self.parts:
                keys |= dict.fromkeys(compress(part.keys(axis), part.mask(axis)))
        return {key: i for i, key in enumerate(sorted(keys) if axis == "names" else keys)}

    def _ends(self) -> Iterator[str]:
        """Yield the names of the triple graph in its order."""
        for triple in self.triples:
            yield from (triple.head, triple.tail)
        if not self._has_triples:
            for relationship in self.relationships:
                yield from (relationship.source, relationship.target)

    # Tables

    @cached_property
    def documents(self) -> list[Row]:
        rows = ((part.prefix, row) for part in self.parts for row in part.rows("documents"))
        return [replace(row, number=i, path=prefix + row.path) for i, (prefix, row) in enumerate(rows)]

    @cached_property
    def chunks(self) -> list[Row]:
        return self._following("chunks")

    @cached_property
    def claims(self) -> list[Row]:
        return self._following("claims")

    def _following(self, table: str) -> list[Row]:
        every = chain.from_iterable(part.rows(table) for part in self.parts)
        return [replace(row, number=i) for i, row in enumerate(every)]

    @cached_property
    def failures(self) -> list[Failure]:
        return [
            replace(row, document=part.prefix + row.document) if row.document else row
            for part in self.parts
            for paths in [{document.path for document in part.rows("documents")}]
            for row in part.index.failures
            if part.is_whole or not row.document or row.document in paths
        ]

    @cached_property
    def joins(self) -> list[Row]:
        return list(dict.fromkeys(chain.from_iterable(part.index.joins for part in self.parts)))

    @cached_property
    def words(self) -> list[str]:
        return list(self.keys("words"))

    @cached_property
    def entities(self) -> list[Entity]:
        degree = Counter(chain.from_iterable((r.source, r.target) for r in self.relationships))
        merged = [_merged_entity(same) for same in self._alike("entities", lambda row: row.name)]
        return [replace(row, number=i, degree=degree[row.name]) for i, row in enumerate(merged)]

    @cached_property
    def relationships(self) -> list[Relationship]:
        alike = self._alike("relationships", lambda row: (row.source, row.target))
        rows = [_merged_relationship(same) for same in alike]
        degree = Counter(chain.from_iterable((r.source, r.target) for r in rows))
        numbered: list[Relationship] = []
        for number, row in enumerate(rows):
            combined_degree = degree[row.source] + degree[row.target]
            numbered.append(replace(row, number=number, combined_degree=combined_degree))
        return numbered

    @cached_property
    def triples(self) -> list[Triple]:
        """One for each statement; where only some parts have any, the relationships of the others stand for theirs."""
        if not self._has_triples:
            return []
        rows: list[Triple] = []
        for same in self._alike("triples", lambda row: (row.head, row.relation, row.tail)):
            rows.append(replace(same[0], number=len(rows), chunk_ids=_joined(same, "chunk_ids")))
        return rows

    def _alike(self, table: str, key: Callable[[Row], Any]) -> Iterable[list[Row]]:
        groups: dict[Any, list[Row]] = {}
        for row in chain.from_iterable(part.rows(table) for part in self.parts):
            groups.setdefault(key(row), []).append(row)
        return groups.values()

    @cached_property
    def communities(self) -> list[Community]:
        rows: list[Community] = []
        elsewhere: set[int] = set()
        """Entities that are in communities of earlier parts."""
        for number, part in enumerate(self.parts):
            for old in part.rows("communities"):
                rows.append(self._community(number, old, elsewhere))
            elsewhere.update(entity for row in rows for entity in row.entity_numbers)
        return rows

    def _community(self, part: int, old: Community, elsewhere: set[int]) -> Community:
        """Return a community of a part in the new numbers, without the entities that are in communities elsewhere."""
        numbers = self.row_map(part, "communities")
        members = self._moved(part, "entities", old.entity_numbers)
        members = tuple(entity for entity in members if entity not in elsewhere)
        names = {self.entities[entity].name for entity in members}
        edges = self._moved(part, "relationships", old.relationship_numbers)
        return replace(
            old,
            number=int(numbers[old.number]),
            parent=int(numbers[old.parent]) if old.parent >= 0 else -1,
            children=self._moved(part, "communities", old.children),
            entity_numbers=members,
            relationship_numbers=tuple(edge for edge in edges if names.issuperset(self._names_of(edge))),
        )

    def _moved(self, part: int, axis: str, numbers: Sequence[int]) -> tuple[int, ...]:
        """Return the new numbers of rows, without those that are not read."""
        new: list[int] = self.row_map(part, axis)[list(numbers)].tolist()
        return tuple(number for number in new if number >= 0)

    def _names_of(self, relationship: int) -> tuple[str, str]:
        row = self.relationships[relationship]
        return row.source, row.target


class CombinedReports(Rows[Report]):
    """The reports of several parts, each made when it is first read: few of them are for most questions."""

    def __init__(self, tables: _Tables) -> None:
        super().__init__(lambda: len(self._old), self._reports)
        self._tables = tables
        self._report = cache(self._make_report)

    def _reports(self, start: int, stop: int) -> list[Report]:
        return [self._report(number) for number in range(start, stop)]

    @cached_property
    def _old(self) -> list[tuple[int, Report]]:
        """Each report as it was, with the number of its part."""
        old: list[tuple[int, Report]] = []
        for number, part in enumerate(self._tables.parts):
            old += ((number, report) for report in part.rows("reports"))
        return old

    @cached_property
    def by_community(self) -> Mapping[int, Report]:
        """The same by the number of their community."""
        numbers = {self._community(number).number: number for number in range(len(self))}
        return LazyMapping(numbers, lambda community: self._report(numbers[community]))

    def counts(self) -> tuple[int, int, int]:
        """Return how many reports are as they were, how many are written again, and how many are left out."""
        parts = self._tables.parts
        every = sum(len(part.index.reports) for part in parts)
        unchanged = sum(parts[part].is_unchanged(old) for part, old in self._old)
        return unchanged, len(self) - unchanged, every - len(self)

    def _community(self, number: int) -> Community:
        part, old = self._old[number]
        row_map = self._tables.row_map(part, "communities")
        return self._tables.communities[int(row_map[old.community])]

    def _make_report(self, number: int) -> Report:
        part, old = self._old[number]
        community = self._community(number)
        if not self._tables.parts[part].is_unchanged(old):
            return self._written_again(number, community)
        findings = (Finding(f.summary, self._renumbered(f.explanation, part)) for f in old.findings)
        report = replace(
            old,
            number=number,
            community=community.number,
            parent=community.parent,
            children=community.children,
            summary=self._renumbered(old.summary, part),
            findings=tuple(findings),
        )
        return replace(report, n_tokens=tokens.count(report.text))

    def _renumbered(self, text: str, part: int) -> str:
        """Return a text with its references in the new numbers, without those that lead nowhere."""

        def renumbered(reference: Reference) -> Reference | None:
            axis = "chunks" if reference.table == "Sources" else reference.table.lower()
            numbers = self._tables.row_map(part, axis)
            number = int(numbers[reference.number]) if reference.number < len(numbers) else -1
            return Reference(reference.table, number) if number >= 0 else None

        return translate(text, renumbered)[0]

    def _written_again(self, number: int, community: Community) -> Report:
        part, old = self._old[number]
        languages = self._tables.parts[part].index.languages
        evidence = self._evidence.build(community, self.by_community)
        task = WriteReport(evidence, language=languages[0])
        worth = self._tables.parts[part].sentences.worth
        draft = report_with_references(task, worth, multilingual=len(languages) > 1)
        return replace(report_of(community, number, draft), id=old.id)

    @cached_property
    def _evidence(self) -> CommunityContextBuilder:
        tables = self._tables
        settings: Mapping[str, Any] = tables.parts[0].index.settings.get("reports", {})
        limit = settings.get("context_tokens", ReportSettings().context_tokens)
        rows = tables.communities, tables.entities, tables.relationships
        return CommunityContextBuilder(*rows, limit, tables.claims)


def _merged_entity(same: Sequence[Entity]) -> Entity:
    """Return one entity of those of one name; its type is that of the one that most chunks name."""
    if len(same) == 1:
        return same[0]
    most = max(same, key=lambda entity: entity.frequency)
    aliases = tuple(sorted(set(_joined(same, "aliases"))))
    return replace(same[0], type=most.type, aliases=aliases, **_merged_texts(same))


def _merged_relationship(same: Sequence[Relationship]) -> Relationship:
    """Return one relationship of those between the same ends; its strength is their mean by weight."""
    if len(same) == 1:
        return same[0]
    weight = sum(r.weight for r in same)
    strength = sum(r.strength * r.weight for r in same) / (weight or 1.0)
    return replace(same[0], weight=weight, strength=strength, **_merged_texts(same))


def _merged_texts(same: Sequence[Entity | Relationship]) -> dict[str, Any]:
    turns = zip_longest(*(row.spans for row in same))  # who shows a few shows some of each
    return {
        "description": "\n".join(dict.fromkeys(row.description for row in same if row.description)),
        "chunk_ids": _joined(same, "chunk_ids"),
        "spans": tuple(span for turn in turns for span in turn if span is not None),
    }


def _joined(same: Sequence[Row], name: str) -> tuple[Any, ...]:
    return tuple(chain.from_iterable(getattr(row, name) for row in same))
