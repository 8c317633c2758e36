"""The columns of every table: Microsoft GraphRAG's first, in its names, order and types, then our own."""
# pyarrow carries no types of its own, so nothing of it is known to a type checker:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow as pa

from conspectus.errors import UsageError
from conspectus.rows import (
    AliasDecision,
    Chunk,
    Claim,
    Community,
    Document,
    Entity,
    Failure,
    Finding,
    Place,
    Relationship,
    Report,
    Span,
    Triple,
)

if TYPE_CHECKING:
    from conspectus.index import Index


T = TypeVar("T")


# Kinds of values


@dataclass(frozen=True)
class Kind:
    """How values of one kind become an Arrow array of `type`, and back.

    Both are also given what spans need to know of documents: packing, the row number of each id; unpacking, a
    function that returns the ids in the order of their rows.
    """

    type: pa.DataType
    pack: Callable[[list[Any], Mapping[str, int]], pa.Array]
    unpack: Callable[[pa.Array, Callable[[], Sequence[str]]], list[Any]]


_DTYPES = {pa.int64(): np.int64, pa.float64(): np.float64}
_LONGEST = 2**31 - 1


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return an Arrow array of numbers or texts, None among them.

    Made of its buffers: where pandas is installed, `pa.array` imports it, at .2 s and 50 MB.
    """
    known = np.fromiter((value is not None for value in values), np.bool_, len(values))
    validity = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    if type_ in _DTYPES:
        return _numbers(np.array([value or 0 for value in values], _DTYPES[type_]), type_, validity)
    encoded = [(value or "").encode() for value in values]
    if sum(map(len, encoded)) > _LONGEST:
        return pa.array(values, type_)  # in several pieces
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(np.fromiter(map(len, encoded), np.int32, len(values)), out=offsets[1:])
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(type_, len(values), buffers)


def _numbers(values: np.ndarray[Any, Any], type_: pa.DataType, validity: pa.Buffer | None = None) -> pa.Array:
    return pa.Array.from_buffers(type_, len(values), [validity, pa.py_buffer(values)])


def _plain(type_: pa.DataType) -> Kind:
    return Kind(type_, lambda values, _: _array(values, type_), lambda array, _: array.to_pylist())


def _many(kind: Kind) -> Kind:
    """Return the kind of tuples of values of a kind."""
    type_ = pa.list_(pa.field("element", kind.type))

    def pack(values: list[Any], rows: Mapping[str, int]) -> pa.Array:
        offsets = np.zeros(len(values) + 1, np.int32)
        np.cumsum(np.fromiter(map(len, values), np.int32, len(values)), out=offsets[1:])
        flat = kind.pack(list(chain.from_iterable(values)), rows)
        lists = [None, pa.py_buffer(offsets)]
        return pa.ListArray.from_buffers(type_, len(values), lists, children=[flat])

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
        raise UsageError(f"a span is in document {missing}, which is not in the table of documents") from None
    starts = np.fromiter((s.start for s in spans), np.int32, n)
    ends = np.fromiter((s.end for s in spans), np.int32, n)
    parts = [_numbers(numbers, pa.int32()) for numbers in (documents, starts, ends)]
    return pa.StructArray.from_arrays(parts, fields=list(_SPAN_TYPE))


def _unpack_spans(array: pa.Array, ids: Callable[[], Sequence[str]]) -> list[Span]:
    if not len(array):
        return []
    documents = map(ids().__getitem__, array.field("document").to_pylist())
    return list(map(Span, documents, array.field("start").to_pylist(), array.field("end").to_pylist()))


def _pack_places(places: list[Place], _: Mapping[str, int]) -> pa.Array:
    starts = np.fromiter((p.start for p in places), np.int32, len(places))
    columns = [_array([p.name for p in places], pa.string()), _numbers(starts, pa.int32())]
    return pa.StructArray.from_arrays(columns, fields=list(_PLACE_TYPE))


def _unpack_places(array: pa.Array, _: object) -> list[Place]:
    return list(map(Place, array.field("start").to_pylist(), array.field("name").to_pylist()))


def _pack_findings(findings: list[Finding], _: Mapping[str, int]) -> pa.Array:
    columns = [[f.explanation for f in findings], [f.summary for f in findings]]
    return pa.StructArray.from_arrays([_array(c, pa.string()) for c in columns], fields=list(_FINDING_TYPE))


def _unpack_findings(array: pa.Array, _: object) -> list[Finding]:
    return list(map(Finding, array.field("summary").to_pylist(), array.field("explanation").to_pylist()))


def _pack_metadata(values: list[Mapping[str, str]], _: Mapping[str, int]) -> pa.Array:
    return _array([json.dumps(dict(v), ensure_ascii=False, sort_keys=True) for v in values], pa.string())


_SPAN_TYPE = pa.struct([("document", pa.int32()), ("start", pa.int32()), ("end", pa.int32())])
_PLACE_TYPE = pa.struct([("name", pa.string()), ("start", pa.int32())])
_FINDING_TYPE = pa.struct([("explanation", pa.string()), ("summary", pa.string())])

TEXT, INTEGER, NUMBER = _plain(pa.string()), _plain(pa.int64()), _plain(pa.float64())
TEXTS, INTEGERS = _many(TEXT), _many(INTEGER)
SPANS = _many(Kind(_SPAN_TYPE, _pack_spans, _unpack_spans))
PLACES = _many(Kind(_PLACE_TYPE, _pack_places, _unpack_places))
FINDINGS = _many(Kind(_FINDING_TYPE, _pack_findings, _unpack_findings))
METADATA = Kind(pa.string(), _pack_metadata, lambda array, _: [json.loads(v) for v in array.to_pylist()])


# Columns that are computed from the whole index, for other tools alone


def nothing(table: str) -> Callable[[Index], Iterable[Any]]:
    return lambda index: [None] * len(getattr(index, table))


def naming(table: str) -> Callable[[Index], Iterable[Any]]:
    """Return the column of chunks that holds the ids of the rows of a table that name the chunk."""

    def column(index: Index) -> Iterable[Any]:
        found: dict[str, list[str]] = {}
        for row in getattr(index, table):
            for chunk in row.chunk_ids:
                found.setdefault(chunk, []).append(row.id)
        return [found.get(c.id, ()) for c in index.chunks]

    return column


def chunks_of_documents(index: Index) -> Iterable[Any]:
    found: dict[str, list[str]] = {}
    for chunk in index.chunks:
        found.setdefault(chunk.document_id, []).append(chunk.id)
    return [found.get(d.id, ()) for d in index.documents]


def ids(table: str, numbers: str) -> Callable[[Index], Iterable[Any]]:
    """Return the column of communities that holds the ids of the rows of a table whose numbers they hold."""

    def column(index: Index) -> Iterable[Any]:
        ids = [row.id for row in getattr(index, table)]
        try:
            return [[ids[n] for n in getattr(c, numbers)] for c in index.communities]
        except IndexError:
            raise UsageError(f"a community names a row of {table} that is not there") from None

    return column


def quotations(index: Index) -> Iterable[Any]:
    """Yield the text that each claim stands on."""
    texts = {d.id: d.text for d in index.documents} if index.claims else {}
    for claim in index.claims:
        quoted = [texts[s.document_id][s.start : s.end] for s in claim.spans if s.document_id in texts]
        yield "\n".join(quoted) if quoted else None


def as_json(report: Report) -> str:
    content = {
        "title": report.title,
        "summary": report.summary,
        "findings": [{"summary": f.summary, "explanation": f.explanation} for f in report.findings],
        "rating": report.rating,
        "rating_explanation": report.rating_explanation,
    }
    return json.dumps(content, ensure_ascii=False)


# Tables


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
