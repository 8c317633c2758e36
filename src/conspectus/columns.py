"""Between rows and Parquet: the columns of every table, and how values of each kind become Arrow arrays and back.

Each table has the columns of Microsoft GraphRAG 3.x first, in its names, order and types, then our own; so other
tools read our tables as they are. A column that holds a field of the row is read back into it; a column that is
computed (`entity_ids` of a chunk, the JSON of a report) is written for those tools alone.
"""
# pyarrow carries no types of its own, so nothing of it is known to a type checker:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import chain, pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from conspectus.errors import UsageError
from conspectus.rows import (
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Failure,
    Finding,
    Join,
    Relationship,
    Report,
    Span,
)

if TYPE_CHECKING:
    from conspectus.tables import Index

T = TypeVar("T")


# Kinds of values


@dataclass(frozen=True)
class Kind:
    """How values of one kind become an Arrow array of `type`, and back.

    Both take what they need to know of documents: packing the row number of each id, unpacking a function that
    returns the ids in the order of their rows.
    """

    type: pa.DataType
    pack: Callable[[list[Any], Mapping[str, int]], pa.Array]
    unpack: Callable[[pa.Array, Callable[[], Sequence[str]]], list[Any]]


def _plain(type_: pa.DataType) -> Kind:
    # not by way of numpy: where pandas is installed, pyarrow imports it for that, at .2 s
    return Kind(type_, lambda values, _: pa.array(values, type_), lambda array, _: array.to_pylist())


def _many(kind: Kind) -> Kind:
    """Return the kind of tuples of values of a kind."""
    type_ = pa.list_(pa.field("element", kind.type))

    def pack(values: list[Any], rows: Mapping[str, int]) -> pa.Array:
        offsets = np.zeros(len(values) + 1, np.int32)
        np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=offsets[1:])
        return pa.ListArray.from_arrays(offsets, kind.pack(list(chain.from_iterable(values)), rows), type=type_)

    def unpack(array: pa.Array, ids: Callable[[], Sequence[str]]) -> list[Any]:
        offsets: list[int] = array.offsets.to_pylist()
        first = offsets[0]
        flat = kind.unpack(array.values.slice(first, offsets[-1] - first), ids)
        return [tuple(flat[start - first : end - first]) for start, end in pairwise(offsets)]

    return Kind(type_, pack, unpack)


def _pack_spans(spans: list[Span], rows: Mapping[str, int]) -> pa.Array:
    n = len(spans)
    try:
        documents = np.fromiter((rows[s.document_id] for s in spans), np.int32, n)
    except KeyError as missing:
        raise UsageError(f"a span names the document {missing}, which is not in the table of documents") from None
    starts = np.fromiter((s.start for s in spans), np.int32, n)
    ends = np.fromiter((s.end for s in spans), np.int32, n)
    return pa.StructArray.from_arrays([documents, starts, ends], fields=list(_SPAN_TYPE))


def _unpack_spans(array: pa.Array, ids: Callable[[], Sequence[str]]) -> list[Span]:
    if not len(array):
        return []
    documents = map(ids().__getitem__, array.field("document").to_pylist())
    return list(map(Span, documents, array.field("start").to_pylist(), array.field("end").to_pylist()))


def _pack_findings(findings: list[Finding], _: Mapping[str, int]) -> pa.Array:
    columns = [[f.explanation for f in findings], [f.summary for f in findings]]
    return pa.StructArray.from_arrays([pa.array(c, pa.string()) for c in columns], fields=list(_FINDING_TYPE))


def _unpack_findings(array: pa.Array, _: object) -> list[Finding]:
    return list(map(Finding, array.field("summary").to_pylist(), array.field("explanation").to_pylist()))


def _pack_metadata(values: list[Mapping[str, str]], _: Mapping[str, int]) -> pa.Array:
    return pa.array([json.dumps(dict(v), ensure_ascii=False, sort_keys=True) for v in values], pa.string())


_SPAN_TYPE = pa.struct([("document", pa.int32()), ("start", pa.int32()), ("end", pa.int32())])
_FINDING_TYPE = pa.struct([("explanation", pa.string()), ("summary", pa.string())])

TEXT, INTEGER, NUMBER = _plain(pa.string()), _plain(pa.int64()), _plain(pa.float64())
TEXTS, INTEGERS = _many(TEXT), _many(INTEGER)
SPANS = _many(Kind(_SPAN_TYPE, _pack_spans, _unpack_spans))
FINDINGS = _many(Kind(_FINDING_TYPE, _pack_findings, _unpack_findings))
METADATA = Kind(pa.string(), _pack_metadata, lambda array, _: [json.loads(v) for v in array.to_pylist()])


# Columns that are computed


def _nothing(table: str) -> Callable[[Index], Iterable[Any]]:
    return lambda index: [None] * len(getattr(index, table))


def _naming(table: str) -> Callable[[Index], Iterable[Any]]:
    """Return the column of chunks that holds the ids of the rows of a table that name the chunk."""

    def column(index: Index) -> Iterable[Any]:
        found: dict[str, list[str]] = {c.id: [] for c in index.chunks}
        for row in getattr(index, table):
            for chunk in row.chunk_ids:
                if chunk in found:
                    found[chunk].append(row.id)
        return found.values() if len(found) == len(index.chunks) else [found[c.id] for c in index.chunks]

    return column


def _chunks_of_documents(index: Index) -> Iterable[Any]:
    found: dict[str, list[str]] = {}
    for chunk in index.chunks:
        found.setdefault(chunk.document_id, []).append(chunk.id)
    return [found.get(d.id, ()) for d in index.documents]


def _ids(table: str, numbers: str) -> Callable[[Index], Iterable[Any]]:
    """Return the column of communities that holds the ids of the rows of a table whose numbers they hold."""

    def column(index: Index) -> Iterable[Any]:
        ids = [row.id for row in getattr(index, table)]
        try:
            return [[ids[n] for n in getattr(c, numbers)] for c in index.communities]
        except IndexError:
            raise UsageError(f"a community names a row of {table} that is not there") from None

    return column


def _quotations(index: Index) -> Iterable[Any]:
    """Yield the text that each claim stands on."""
    for claim in index.claims:
        texts = (index.document_of[s.document_id].text[s.start : s.end] for s in claim.spans)
        yield "\n".join(texts) if claim.spans else None


def _as_json(report: Report) -> str:
    content = {
        "title": report.title,
        "summary": report.summary,
        "findings": [{"summary": f.summary, "explanation": f.explanation} for f in report.findings],
        "rating": report.rating,
        "rating_explanation": report.rating_explanation,
    }
    return json.dumps(content, ensure_ascii=False)


# The tables


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    source: str | Callable[[Index], Iterable[Any]]
    """The attribute of the row that it holds, or the function that computes it from the whole index."""


@dataclass(frozen=True)
class Table(Generic[T]):
    make: Callable[..., T]
    """Makes a row of the values of `stored`."""
    columns: tuple[Column, ...]

    @cached_property
    def stored(self) -> tuple[Column, ...]:
        """The columns that a row is made of, in the order in which `make` takes them."""
        if self.make is str:
            return self.columns
        by_source = {c.source: c for c in self.columns}
        return tuple(by_source[f.name] for f in fields(self.make))  # type: ignore[arg-type]

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([(c.name, c.kind.type) for c in self.columns])


_KEYS = (Column("id", TEXT, "id"), Column("human_readable_id", INTEGER, "number"))
_PLACE = (
    Column("level", INTEGER, "level"),
    Column("parent", INTEGER, "parent"),
    Column("children", INTEGERS, "children"),
)

TABLES: Mapping[str, Table[Any]] = {
    "documents": Table(Document, (
        *_KEYS,
        Column("title", TEXT, "title"),
        Column("text", TEXT, "text"),
        Column("text_unit_ids", TEXTS, _chunks_of_documents),
        Column("creation_date", TEXT, "date"),
        Column("raw_data", TEXT, _nothing("documents")),
        Column("path", TEXT, "path"),
        Column("metadata", METADATA, "metadata"),
    )),
    "chunks": Table(Chunk, (
        *_KEYS,
        Column("text", TEXT, "text"),
        Column("n_tokens", INTEGER, "n_tokens"),
        Column("document_id", TEXT, "document_id"),
        Column("entity_ids", TEXTS, _naming("entities")),
        Column("relationship_ids", TEXTS, _naming("relationships")),
        Column("covariate_ids", TEXTS, _naming("claims")),
        Column("start", INTEGER, "start"),
        Column("end", INTEGER, "end"),
    )),
    "entities": Table(Entity, (
        *_KEYS,
        Column("title", TEXT, "name"),
        Column("type", TEXT, "type"),
        Column("description", TEXT, "description"),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        Column("frequency", INTEGER, "frequency"),
        Column("degree", INTEGER, "degree"),
        Column("spans", SPANS, "spans"),
        Column("aliases", TEXTS, "aliases"),
    )),
    "relationships": Table(Relationship, (
        *_KEYS,
        Column("source", TEXT, "source"),
        Column("target", TEXT, "target"),
        Column("description", TEXT, "description"),
        Column("weight", NUMBER, "weight"),
        Column("combined_degree", INTEGER, "combined_degree"),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        Column("strength", NUMBER, "strength"),
        Column("spans", SPANS, "spans"),
    )),
    "claims": Table(Claim, (
        *_KEYS,
        Column("covariate_type", TEXT, lambda index: ["claim"] * len(index.claims)),
        Column("type", TEXT, "type"),
        Column("description", TEXT, "description"),
        Column("subject_id", TEXT, "subject"),
        Column("object_id", TEXT, "object"),
        Column("status", TEXT, "status"),
        Column("start_date", TEXT, "start_date"),
        Column("end_date", TEXT, "end_date"),
        Column("source_text", TEXT, _quotations),
        Column("text_unit_id", TEXT, lambda index: [next(iter(c.chunk_ids), None) for c in index.claims]),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        Column("spans", SPANS, "spans"),
    )),
    "communities": Table(Community, (
        *_KEYS,
        Column("community", INTEGER, lambda index: [c.number for c in index.communities]),
        *_PLACE,
        Column("title", TEXT, lambda index: [f"Community {c.number}" for c in index.communities]),
        Column("entity_ids", TEXTS, _ids("entities", "entity_numbers")),
        Column("relationship_ids", TEXTS, _ids("relationships", "relationship_numbers")),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        Column("period", TEXT, _nothing("communities")),
        Column("size", INTEGER, "size"),
        Column("entity_numbers", INTEGERS, "entity_numbers"),
        Column("relationship_numbers", INTEGERS, "relationship_numbers"),
        Column("unsplit", TEXT, "unsplit"),
    )),
    "reports": Table(Report, (
        *_KEYS,
        Column("community", INTEGER, "community"),
        *_PLACE,
        Column("title", TEXT, "title"),
        Column("summary", TEXT, "summary"),
        Column("full_content", TEXT, "text"),
        Column("rank", NUMBER, "rating"),
        Column("rating_explanation", TEXT, "rating_explanation"),
        Column("findings", FINDINGS, "findings"),
        Column("full_content_json", TEXT, lambda index: map(_as_json, index.reports)),
        Column("period", TEXT, _nothing("reports")),
        Column("size", INTEGER, "size"),
        Column("n_tokens", INTEGER, "n_tokens"),
    )),
    "joins": Table(Join, tuple(Column(name, TEXT, name) for name in ("name", "into", "rule", "evidence"))),
    "failures": Table(Failure, tuple(Column(name, TEXT, name) for name in ("stage", "error", "document"))),
    "words": Table(str, (Column("word", TEXT, lambda index: index.words),)),
}  # fmt: skip


# To Parquet and back


def encode(index: Index) -> Iterable[tuple[str, memoryview]]:
    """Yield the name and the Parquet file of each table; equal rows give equal bytes.

    Raises `UsageError` where a row names another that is not there.
    """
    row_of_document = {d.id: row for row, d in enumerate(index.documents)}
    for name, table in TABLES.items():
        rows = list(getattr(index, name))
        arrays = [
            c.kind.pack(list(map(attrgetter(c.source), rows) if isinstance(c.source, str) else c.source(index)),
                        row_of_document)
            for c in table.columns
        ]  # fmt: skip
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_arrays(arrays, schema=table.schema), sink, compression="zstd", compression_level=1)
        yield name, memoryview(sink.getvalue())


@contextmanager
def _collector_resting() -> Iterator[None]:
    """Keep the garbage collector from searching a growing mass of new rows, none of which is garbage, again and again."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Stored(Generic[T]):
    """One table in the bytes of its Parquet file, read from them once, on first use."""

    def __init__(self, name: str, content: Any, document_ids: Callable[[], Sequence[str]]) -> None:
        self._table: Table[T] = TABLES[name]
        self._file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(content)))
        self._document_ids = document_ids

    @cached_property
    def _arrow(self) -> pa.Table:
        return self._file.read([c.name for c in self._table.stored], use_threads=False)

    def rows(self, start: int, stop: int) -> list[T]:
        """Return the rows from `start` to `stop`, built column by column."""
        part = self._arrow.slice(start, stop - start)
        with _collector_resting():
            columns = [
                list(chain.from_iterable(c.kind.unpack(a, self._document_ids) for a in part.column(c.name).chunks))
                for c in self._table.stored
            ]
            return list(map(self._table.make, *columns))

    def column(self, name: str) -> list[Any]:
        """Return the values of one column, without reading the others."""
        return self._file.read([name], use_threads=False).column(name).to_pylist()
