"""The columns of every table: Microsoft GraphRAG's first, in its names, order and types, then our own."""
# pyarrow carries no types of its own, so nothing of it is known to a type checker:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa

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
from conspectus.storage.computed import as_json, chunks_of_documents, ids, naming, nothing, quotations
from conspectus.storage.kinds import FINDINGS, INTEGER, INTEGERS, METADATA, NUMBER, PLACES, SPANS, TEXT, TEXTS, Kind

if TYPE_CHECKING:
    from conspectus.index import Index

T = TypeVar("T")


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    source: str | Callable[[Index], Iterable[Any]]
    """The attribute of the row that it holds, or the function that computes it from the whole index."""


def _same(kind: Kind, *names: str) -> list[Column]:
    """Return columns that have the names of the attributes they hold."""
    return [Column(name, kind, name) for name in names]


@dataclass(frozen=True)
class Table(Generic[T]):
    file: str
    """Its name on disk, and Microsoft's."""
    make: Callable[..., T]
    """Makes a row of the values of `stored`."""
    columns: list[Column]

    @cached_property
    def stored(self) -> list[Column]:
        """The columns that a row is made of, in the order in which `make` takes them."""
        if not is_dataclass(self.make):
            return self.columns
        by_source = {c.source: c for c in self.columns}
        return [by_source[f.name] for f in fields(self.make)]

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([(c.name, c.kind.type) for c in self.columns])


KEYS = [Column("id", TEXT, "id"), Column("human_readable_id", INTEGER, "number")]

TABLES: Mapping[str, Table[Any]] = {
    "documents": Table("documents", Document, [
        *KEYS,
        *_same(TEXT, "title", "text"),
        Column("text_unit_ids", TEXTS, chunks_of_documents),
        Column("creation_date", TEXT, "date"),
        Column("raw_data", TEXT, nothing("documents")),
        # ours
        *_same(TEXT, "path"),
        *_same(METADATA, "metadata"),
        *_same(PLACES, "places"),
    ]),
    "chunks": Table("text_units", Chunk, [
        *KEYS,
        *_same(TEXT, "text"),
        *_same(INTEGER, "n_tokens"),
        *_same(TEXT, "document_id"),
        Column("entity_ids", TEXTS, naming("entities")),
        Column("relationship_ids", TEXTS, naming("relationships")),
        Column("covariate_ids", TEXTS, naming("claims")),
        # ours
        *_same(INTEGER, "start", "end"),
    ]),
    "entities": Table("entities", Entity, [
        *KEYS,
        Column("title", TEXT, "name"),
        *_same(TEXT, "type", "description"),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        *_same(INTEGER, "frequency", "degree"),
        # ours
        *_same(SPANS, "spans"),
        *_same(TEXTS, "aliases"),
    ]),
    "relationships": Table("relationships", Relationship, [
        *KEYS,
        *_same(TEXT, "source", "target", "description"),
        *_same(NUMBER, "weight"),
        *_same(INTEGER, "combined_degree"),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        # ours
        *_same(NUMBER, "strength"),
        *_same(SPANS, "spans"),
    ]),
    "triples": Table("triples", Triple, [
        *KEYS,
        *_same(TEXT, "head", "relation", "tail"),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
    ]),
    "claims": Table("covariates", Claim, [
        *KEYS,
        Column("covariate_type", TEXT, lambda index: ["claim"] * len(index.claims)),
        *_same(TEXT, "type", "description"),
        Column("subject_id", TEXT, "subject"),
        Column("object_id", TEXT, "object"),
        *_same(TEXT, "status", "start_date", "end_date"),
        Column("source_text", TEXT, quotations),
        Column("text_unit_id", TEXT, lambda index: [next(iter(c.chunk_ids), None) for c in index.claims]),
        # ours
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        *_same(SPANS, "spans"),
    ]),
    "communities": Table("communities", Community, [
        *KEYS,
        Column("community", INTEGER, lambda index: [c.number for c in index.communities]),
        *_same(INTEGER, "level", "parent"),
        *_same(INTEGERS, "children"),
        Column("title", TEXT, lambda index: [f"Community {c.number}" for c in index.communities]),
        Column("entity_ids", TEXTS, ids("entities", "entity_numbers")),
        Column("relationship_ids", TEXTS, ids("relationships", "relationship_numbers")),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        Column("period", TEXT, nothing("communities")),
        *_same(INTEGER, "size"),
        # ours
        *_same(INTEGERS, "entity_numbers", "relationship_numbers"),
        *_same(TEXT, "unsplit"),
    ]),
    "reports": Table("community_reports", Report, [
        *KEYS,
        *_same(INTEGER, "community", "level", "parent"),
        *_same(INTEGERS, "children"),
        *_same(TEXT, "title", "summary"),
        Column("full_content", TEXT, "text"),
        Column("rank", NUMBER, "rating"),
        *_same(TEXT, "rating_explanation"),
        *_same(FINDINGS, "findings"),
        Column("full_content_json", TEXT, lambda index: map(as_json, index.reports)),
        Column("period", TEXT, nothing("reports")),
        *_same(INTEGER, "size"),
        # ours
        *_same(INTEGER, "n_tokens"),
    ]),
    "joins": Table("joins", AliasDecision, _same(TEXT, "name", "into", "rule", "evidence")),
    "failures": Table("failures", Failure, _same(TEXT, "stage", "error", "document")),
    "words": Table("words", str, [Column("word", TEXT, lambda index: index.words)]),
}  # fmt: skip
"""The tables by their names in `Index`."""
