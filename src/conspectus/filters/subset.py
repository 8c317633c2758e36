"""An index with some of its documents alone, as if there were no others.

What stands on those documents alone stays as it is. What also stood on others is told anew from them, by selection and
without a model: of a description remain the lines that stand in their text, or else sentences of theirs that name the
thing; a report is written from what of its community is left. What stands on none of them is gone, and so is a claim
that several documents make up together. Numbers close up; ids stay what they are. Statistics (of words, of names, the
degrees of the graph) are those of the documents that are left, so that nothing is ranked by what is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from conspectus.filters.arrays import Array, Ints, RemappedArrays, RowMap
from conspectus.filters.lazy_table import LazyTable
from conspectus.filters.reporting import PartReports
from conspectus.filters.resummarize import Resummarizer
from conspectus.index import Index
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.rows import Chunk, Claim, Community, Document, Entity, Failure, Relationship, Triple
from conspectus.triple_graph import TripleGraph


class IndexSubset:
    """The rows that are left of an index, each table made when it is first used, and where the others' numbers went."""

    def __init__(self, index: Index, kept: Sequence[bool]) -> None:
        """`kept` tells of each document whether it is left."""
        self.index = index
        self._kept = np.array(kept, bool)

    # Rows

    @cached_property
    def documents(self) -> list[Document]:
        return _numbered(d for d, kept in zip(self.index.documents, self._kept.tolist(), strict=True) if kept)

    @cached_property
    def chunks(self) -> list[Chunk]:
        return _numbered(c for c in self.index.chunks if c.document_id in self.document_ids)

    @cached_property
    def entities(self) -> list[Entity]:
        """The entities that a chunk names; degrees count the relationships that are left."""
        degree: dict[str, int] = {}
        for row in self.relationships:
            for end in (row.source, row.target):
                degree[end] = degree.get(end, 0) + 1
        rows: list[Entity] = []
        for old in self._entities:
            told = self.teller.entity(old, self.inside(old)) if self.mixed(old) else old
            rows.append(replace(told, number=len(rows), degree=degree.get(old.name, 0)))
        return rows

    @cached_property
    def relationships(self) -> list[Relationship]:
        """The relationships that a chunk tells of, as heavy as the share of their chunks that is left."""
        left: list[Relationship] = []
        degree: dict[str, int] = {}
        for old in self.index.relationships:
            if self.inside(old):
                left.append(old)
                for end in (old.source, old.target):
                    degree[end] = degree.get(end, 0) + 1
        rows: list[Relationship] = []
        for old in left:
            told = self.teller.relationship(old, self.inside(old)) if self.mixed(old) else old
            combined = degree[old.source] + degree[old.target]
            rows.append(replace(told, number=len(rows), combined_degree=combined))
        return rows

    @cached_property
    def triples(self) -> list[Triple]:
        return _numbered(replace(t, chunk_ids=inside) for t in self.index.triples if (inside := self.inside(t)))

    @cached_property
    def claims(self) -> list[Claim]:
        return _numbered(c for c in self.index.claims if self.inside(c) and not self.mixed(c))

    @cached_property
    def communities(self) -> list[Community]:
        """The communities that an entity is left of; a part of one that has none left is gone."""
        entity, relationship = self.places("entities").numbers, self.places("relationships").numbers
        place = self.places("communities").numbers.tolist()
        return [
            replace(
                old,
                number=place[old.number],
                parent=place[old.parent] if old.parent >= 0 else -1,
                children=_left(old.children, place),
                entity_numbers=_left(old.entity_numbers, entity),
                relationship_numbers=_left(old.relationship_numbers, relationship),
                chunk_ids=tuple(chunk for chunk in old.chunk_ids if chunk in self.chunk_ids),
            )
            for old in self.index.communities
            if place[old.number] >= 0
        ]

    @cached_property
    def failures(self) -> list[Failure]:
        paths = {d.path for d in self.documents}
        return [failure for failure in self.index.failures if not failure.document or failure.document in paths]

    # What is inside

    @cached_property
    def document_ids(self) -> frozenset[str]:
        return frozenset(d.id for d in self.documents)

    @cached_property
    def chunk_ids(self) -> frozenset[str]:
        return frozenset(c.id for c in self.chunks)

    def inside(self, row: Entity | Relationship | Triple | Claim) -> tuple[str, ...]:
        """Return the chunks of a row that are left."""
        return tuple(chunk for chunk in row.chunk_ids if chunk in self.chunk_ids)

    def mixed(self, row: Entity | Relationship | Claim) -> bool:
        """Tell whether a row also stands on chunks that are not left."""
        return not self.chunk_ids.issuperset(row.chunk_ids)

    @cached_property
    def _entities(self) -> list[Entity]:
        return [e for e in self.index.entities if not self.chunk_ids.isdisjoint(e.chunk_ids)]

    @cached_property
    def teller(self) -> Resummarizer:
        """Who describes anew what is left of a row."""
        return Resummarizer(
            SentenceStore.of_index(self.index), self.document_ids, self.places("sentences").numbers >= 0
        )

    # Where numbers go

    def places(self, axis: str) -> RowMap:
        """Return where the rows of an axis of the index go; see `layout`."""
        if axis not in self._places:
            self._places[axis] = self._placed(axis)
        return self._places[axis]

    @cached_property
    def _places(self) -> dict[str, RowMap]:
        return {}

    def _placed(self, axis: str) -> RowMap:
        arrays, index = self.index.arrays, self.index
        match axis:
            case "documents":
                return RowMap.of(self._kept)
            case "chunks":
                ids = self.document_ids
                return RowMap.of(np.array([c.document_id in ids for c in index.chunks], bool))
            case "sentences":
                return RowMap.of(self._kept[arrays["sentences.document"]])
            case "entities":
                return _of_rows(len(index.entities), (e.number for e in self._entities))
            case "relationships":
                left = (r.number for r in index.relationships if not self.chunk_ids.isdisjoint(r.chunk_ids))
                return _of_rows(len(index.relationships), left)
            case "claims":
                left = (c.number for c in index.claims if self.inside(c) and not self.mixed(c))
                return _of_rows(len(index.claims), left)
            case "communities":
                entity = self.places("entities").numbers
                holds = [bool(np.any(entity[list(c.entity_numbers)] >= 0)) for c in index.communities]
                return RowMap.of(np.array(holds, bool))
            case "names":
                starts, values = arrays["walk.in_starts"], arrays["walk.in_sentences"]
                row = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
                held = np.bincount(row[self.places("sentences").numbers[values] >= 0], minlength=len(starts) - 1)
                return RowMap.of(held > 0)
            case "triples":
                rows: Sequence[Triple] | Sequence[Relationship] = index.triples or index.relationships
                return RowMap.of(np.array([bool(self.inside(row)) for row in rows], bool))
            case "phrases":
                return self._phrases()
            case _:  # all stay: words, which have places in a vocabulary that is not changed
                return RowMap(np.arange(len(index.words)))

    def _phrases(self) -> RowMap:
        """Return where the names of the graph of triples go: into the order of the graph that is left."""
        names = TripleGraph.of(self.index).names
        rows: Sequence[Triple] | Sequence[Relationship] = self.triples or self.relationships
        number: dict[str, int] = {}
        for row in rows:
            for name in (row.head, row.tail) if isinstance(row, Triple) else (row.source, row.target):
                number.setdefault(name, len(number))
        return RowMap(np.array([number.get(name, -1) for name in names], np.int64))

    def size(self, axis: str) -> int:
        """Return how many rows of an axis are left."""
        return int(np.count_nonzero(self.places(axis).numbers >= 0))


def subset_of(index: Index, kept: Sequence[bool], name: str = "") -> Index:
    """Return the index with some of its documents alone, `kept` a switch for each; the index itself where all are.

    `name` says which they are: it becomes part of the snapshot's.
    """
    if all(kept):
        return index
    part = IndexSubset(index, kept)
    return replace(
        index,
        documents=LazyTable(lambda: part.documents),
        chunks=LazyTable(lambda: part.chunks),
        entities=LazyTable(lambda: part.entities),
        relationships=LazyTable(lambda: part.relationships),
        triples=LazyTable(lambda: part.triples),
        claims=LazyTable(lambda: part.claims),
        communities=LazyTable(lambda: part.communities),
        reports=PartReports(part).rows,
        failures=LazyTable(lambda: part.failures),
        arrays=RemappedArrays(
            [(index.arrays, part.places)], part.size, {"walk.frequency": lambda a: _frequency(a, part)}
        ),
        snapshot=f"{index.snapshot} {name}".strip(),
    )


def _frequency(arrays: Mapping[str, Array], part: IndexSubset) -> Array:
    """Return in how many passages each name of the walk occurs that is left."""
    from scipy import sparse

    first, last = arrays["walk.first"], arrays["walk.last"]
    sizes = (last - first).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    sentences = np.arange(int(starts[-1])) + np.repeat(first - starts[:-1], sizes)
    shape = len(first), part.size("sentences")
    holding = sparse.csr_array((np.ones(len(sentences), np.float32), sentences, starts), shape=shape)
    out: Any = (arrays["walk.out_weights"], arrays["walk.out_names"], arrays["walk.out_starts"])
    names = part.size("names")
    held: Any = holding @ sparse.csr_array(out, shape=(shape[1], names))
    counted = np.maximum(np.bincount(held.indices, minlength=names), 1)
    places = part.places("names").numbers
    before = part.index.arrays["walk.frequency"][places >= 0]
    return np.minimum(counted, before).astype(before.dtype)


def _numbered(rows: Iterable[Any]) -> list[Any]:
    return [replace(row, number=i) for i, row in enumerate(rows)]


def _of_rows(size: int, numbers: Iterable[int]) -> RowMap:
    kept = np.zeros(size, bool)
    kept[list(numbers)] = True
    return RowMap.of(kept)


def _left(numbers: Sequence[int], place: Ints | Sequence[int]) -> tuple[int, ...]:
    return tuple(int(place[n]) for n in numbers if place[n] >= 0)
