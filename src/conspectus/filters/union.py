"""Several indexes as one, so that a question is asked of all of them at once.

What bears one name in several is one thing: entities join by their names, relationships by their ends, triples by what
they say, words by their spelling. All statistics are counted over all of them together, so that scores compare: the
rarity of a word is its rarity in the whole. Hierarchies stand side by side; a thing that several indexes know is in the
communities of the one that names it in most chunks, so that a level stays a partition. A document that several hold is
read once, in the first of them. Paths begin with the name of their index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

from conspectus.filters.arrays import Array, RemappedArrays
from conspectus.filters.lazy_table import LazyTable, Reports
from conspectus.filters.merge_rows import united_entity, united_relationship
from conspectus.filters.reporting import translated
from conspectus.filters.row_maps import Numbers
from conspectus.filters.subset import subset_of
from conspectus.index import Index
from conspectus.models.embedders import same_model
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
    Triple,
)


class IndexUnion:
    """The rows of several indexes together, each table made when it is first used."""

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        """`indexes` are given by the names that paths begin with."""
        self.indexes = list(indexes.values())
        self.numbers = Numbers(self.indexes)
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
        rows = (united_entity([tables[part][n] for part, n in held]) for held in self.numbers.held("entities"))
        return [replace(row, number=i, degree=degree[row.name]) for i, row in enumerate(rows)]

    @cached_property
    def relationships(self) -> list[Relationship]:
        tables = [index.relationships for index in self.indexes]
        held = self.numbers.held("relationships")
        rows = [united_relationship([tables[part][n] for part, n in same]) for same in held]
        degree = Counter(chain.from_iterable((r.source, r.target) for r in rows))
        return [replace(r, number=i, combined_degree=degree[r.source] + degree[r.target]) for i, r in enumerate(rows)]

    @cached_property
    def triples(self) -> list[Triple]:
        tables = self.numbers.triples
        if not any(tables):
            return []
        rows: list[Triple] = []
        for held in self.numbers.held("triples"):
            same = [tables[part][n] for part, n in held]
            chunks = tuple(chain.from_iterable(t.chunk_ids for t in same))
            rows.append(replace(same[0], number=len(rows), chunk_ids=chunks))
        return rows

    # The hierarchies

    @cached_property
    def communities(self) -> list[Community]:
        rows: list[Community] = []
        for part, index in enumerate(self.indexes):
            start = self.numbers.start(part, "communities")
            entity = self.numbers.places(part, "entities").numbers.tolist()
            relationship = self.numbers.places(part, "relationships").numbers.tolist()
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
            max(held, key=lambda place: tables[place[0]][place[1]].frequency)[0] if len(held) > 1 else held[0][0]
            for held in self.numbers.held("entities")
        ]

    def _among(self, edges: Sequence[int], members: Sequence[int]) -> tuple[int, ...]:
        """Return the relationships whose two ends are both members."""
        names = {self.entities[e].name for e in members}
        rows = self.relationships
        return tuple(r for r in edges if rows[r].source in names and rows[r].target in names)

    @cached_property
    def reports(self) -> Reports:
        """The reports, with their references in the new numbers, each made when it is first read."""
        starts = [self.numbers.start(part, "reports") for part in range(len(self.indexes))]

        def communities() -> list[int]:
            return [
                self.numbers.start(part, "communities") + community
                for part, index in enumerate(self.indexes)
                for community in _communities(index)
            ]

        def one(place: int) -> Report:
            part = max(p for p, index in enumerate(self.indexes) if starts[p] <= place and len(index.reports))
            old, start = self.indexes[part].reports[place - starts[part]], self.numbers.start(part, "communities")
            return replace(
                translated(old, partial(self.numbers.reference, part)),
                number=place,
                community=start + old.community,
                parent=start + old.parent if old.parent >= 0 else -1,
                children=tuple(start + child for child in old.children),
            )

        def counts() -> tuple[int, int, int]:
            whole, written, gone = map(sum, zip(*map(_counts, self.indexes), strict=True))
            return whole, written, gone

        return Reports(communities, one, counts)


def _communities(index: Index) -> Sequence[int]:
    reports = index.reports
    return reports.communities if isinstance(reports, Reports) else [r.community for r in reports]


def _counts(index: Index) -> tuple[int, int, int]:
    reports = index.reports
    return reports.counts() if isinstance(reports, Reports) and reports.counts else (len(reports), 0, 0)


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
    parts = [(index.arrays, partial(numbers.places, part)) for part, index in enumerate(joint.indexes)]
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
