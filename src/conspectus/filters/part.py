"""Index subset: some documents of an index, and the rows derived from them, as if there were no other documents.

Rows derived only from these documents stay as they are. Entities and relationships that other documents also contribute
to are described by sentences of these documents. Rows without any evidence in them are left out, and so are claims with
evidence in others. Numbers are those of the whole index; `combine` assigns new ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress, islice
from typing import Any

import numpy as np

from conspectus.errors import IndexDamaged
from conspectus.index import Index
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.rows import Community, Document, Entity, Relationship, Report, Triple
from conspectus.triple_graph import TripleGraph

Array = np.ndarray[Any, Any]
Row = Any
"""A row of any table."""
MOST_SENTENCES = 3
"""Maximum number of sentences in a new description: as many as the extractive model uses for an entity."""


class Part:
    """The selected documents of an index, and the rows derived from them. Numbers are those of the whole index."""

    def __init__(self, index: Index, documents: Sequence[bool], prefix: str = "") -> None:
        """`documents` states for each document whether it is selected; paths get the `prefix`."""
        self.index = index
        self.prefix = prefix
        self.is_whole = all(documents)
        self._masks: dict[str, Array] = {"documents": np.array(documents, bool)}

    def mask(self, axis: str) -> Array:
        """Return, for each row of an axis, whether it is in the part."""
        if axis not in self._masks:
            whole = np.ones(len(self.keys(axis)), bool)
            self._masks[axis] = whole if self.is_whole else self._mask(axis)
        return self._masks[axis]

    def keys(self, axis: str) -> Sequence[Any]:
        """Return the keys, which are the same in several indexes, of all rows of an axis of the index."""
        match axis:
            case "entities":
                return [e.name for e in self.index.entities]
            case "relationships":
                return [(r.source, r.target) for r in self.index.relationships]
            case "triples":
                return [(t.head, t.relation, t.tail) for t in self.triples]
            case "phrases":
                return TripleGraph.of(self.index).names
            case "names":
                return self.index.arrays["walk.names"].tolist()
            case "sentences":
                return range(len(self.index.arrays["sentences.document"]))
            case _:
                return getattr(self.index, axis)

    def _mask(self, axis: str) -> Array:
        index = self.index
        match axis:
            case "sentences":
                return self.mask("documents")[index.arrays["sentences.document"]]
            case "names":
                return self._name_counts > 0
            case "words" | "phrases":
                return np.ones(len(self.keys(axis)), bool)
            case "communities":
                entities = self.mask("entities")
                members = (list(community.entity_numbers) for community in index.communities)
                return np.array([entities[numbers].any() for numbers in members], bool)
            case "chunks":
                includes = (chunk.id in self.chunk_ids for chunk in index.chunks)
            case "claims":
                includes = (
                    bool(c.chunk_ids) and self.chunk_ids.issuperset(c.chunk_ids) for c in index.claims
                )
            case "reports":
                includes = (self.mask("communities")[report.community] for report in index.reports)
            case _:
                rows: Sequence[Row] = self.triples if axis == "triples" else getattr(index, axis)
                includes = (not self.chunk_ids.isdisjoint(row.chunk_ids) for row in rows)
        return np.fromiter(includes, bool)

    @cached_property
    def _document_ids(self) -> frozenset[str]:
        return frozenset(d.id for d in compress(self.index.documents, self.mask("documents")))

    @cached_property
    def chunk_ids(self) -> frozenset[str]:
        """The ids of the chunks of the selected documents."""
        return frozenset(c.id for c in self.index.chunks if c.document_id in self._document_ids)

    @cached_property
    def triples(self) -> Sequence[Triple]:
        """The triples of the index or, if it has none, its relationships as triples."""
        relationships = self.index.relationships
        return self.index.triples or [
            Triple(r.id, r.number, r.source, r.description, r.target, r.chunk_ids) for r in relationships
        ]

    def rows(self, table: str) -> Iterator[Row]:
        """Yield the rows of a table that are in the part, restricted to the selected documents."""
        rows = self.triples if table == "triples" else getattr(self.index, table)
        return map(self._restricted, compress(rows, self.mask(table).tolist()))

    def _restricted(self, row: Row) -> Row:
        """Return a row restricted to the chunks of the part; a document gets the prefix of its path."""
        if isinstance(row, Document):
            return replace(row, path=self.prefix + row.path)
        if self.is_whole or not isinstance(row, Entity | Relationship | Triple | Community):
            return row
        if self.chunk_ids.issuperset(row.chunk_ids):
            return row
        chunk_ids = tuple(chunk for chunk in row.chunk_ids if chunk in self.chunk_ids)
        if isinstance(row, Triple | Community):
            return replace(row, chunk_ids=chunk_ids)
        shown = list(islice(self._mentioning(row, chunk_ids), MOST_SENTENCES))
        spans = tuple(span for span in row.spans if span.document_id in self._document_ids)
        spans = spans or tuple(map(self.sentences.span, shown))
        description = "\n".join(dict.fromkeys(map(self.sentences.quoted, shown)))
        if isinstance(row, Relationship):
            weight = max(1.0, float(round(row.weight * len(chunk_ids) / len(row.chunk_ids))))
            row = replace(row, weight=weight)
        return replace(row, chunk_ids=chunk_ids, description=description, spans=spans)

    def _mentioning(self, row: Entity | Relationship, chunk_ids: Iterable[str]) -> Iterator[int]:
        """Yield the sentences of chunks that mention an entity, or both ends of a relationship, also as the speaker."""
        names = [row.name] if isinstance(row, Entity) else [row.source, row.target]
        numbers = {self.index.entity_of_name[name] for name in names}
        for chunk in chunk_ids:
            for i in self.sentences.within(self.index.chunk_of[chunk]):
                if numbers <= {*self.sentences.mentioned(i), self.sentences.speaker_of(i)}:
                    yield i

    @cached_property
    def sentences(self) -> SentenceStore:
        """The sentences of the whole index."""
        return SentenceStore.of_index(self.index)

    def is_unchanged(self, report: Report) -> bool:
        """Return whether all chunks of a report's community are in the part."""
        community = self.index.communities[report.community]
        return self.is_whole or (bool(community.chunk_ids) and self.chunk_ids.issuperset(community.chunk_ids))

    def array(self, name: str) -> Array:
        """Return an array of the whole index; name frequencies are scaled by the share of sentences in the part."""
        array = self.index.arrays[name]
        # the declarations of arrays do not state the number of names
        if name == "vectors.names" and len(array) != len(self.keys("phrases")):
            raise IndexDamaged(f"the array {name} does not fit the rest of the index; index again")
        if name != "walk.frequency" or self.is_whole:
            return array
        share = self._name_counts / np.maximum(np.diff(self.index.arrays["walk.in_starts"]), 1)
        return np.maximum(np.round(array * share), 1).astype(array.dtype)

    @cached_property
    def _name_counts(self) -> Array:
        """The number of sentences in the part that each name of the walk occurs in."""
        starts, sentences = self.index.arrays["walk.in_starts"], self.index.arrays["walk.in_sentences"]
        names = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        return np.bincount(names[self.mask("sentences")[sentences]], minlength=len(starts) - 1)
