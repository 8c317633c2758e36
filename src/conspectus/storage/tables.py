"""The columns of every table: first those of Microsoft GraphRAG, with its names, order and types, then our own."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from functools import cache, cached_property, lru_cache, partial
from io import BytesIO
from itertools import chain, islice, pairwise
from math import isqrt
from operator import attrgetter
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from conspectus.errors import IndexDamaged, UsageError
from conspectus.index import ALONE
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

# pyarrow has no type annotations, so type checkers know nothing about it:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false


T = TypeVar("T")


# Kinds of values


@dataclass(frozen=True)
class Kind:
    """How values of one kind are converted to an Arrow array of `type`, and back.
    Both functions also get the documents, which spans refer to: `pack` the row number of each document id, `unpack` a
    function that returns the ids in the order of their rows.
    """

    type: pa.DataType
    pack: Callable[[list[Any], Mapping[str, int]], pa.Array]
    unpack: Callable[[pa.Array, Callable[[], Sequence[str]]], list[Any]]


_DTYPES = {pa.int32(): np.int32, pa.int64(): np.int64, pa.float64(): np.float64}
_LONGEST = 2**31 - 1


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return an Arrow array of numbers or texts, possibly with None.
    It is built from buffers, because `pa.array` imports pandas if installed, which takes .2 s and 50 MB.
    """
    validity, given = None, values
    if None in values:
        present = [value is not None for value in values]
        validity = pa.py_buffer(np.packbits(present, bitorder="little"))
        values = [value or _DTYPES.get(type_, str)() for value in values]
    if type_ in _DTYPES:
        numbers = pa.py_buffer(np.array(values, _DTYPES[type_]))
        return pa.Array.from_buffers(type_, len(values), [validity, numbers])
    text = "".join(values)
    parts = values if text.isascii() else list(map(str.encode, values))
    ends = np.cumsum([0, *map(len, parts)])
    if ends[-1] > _LONGEST:
        return pa.array(given, type_)  # in several pieces
    content = text.encode() if parts is values else b"".join(parts)
    buffers = [validity, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(content)]
    return pa.Array.from_buffers(type_, len(values), buffers)


def _scalar_kind(type_: pa.DataType) -> Kind:
    return Kind(type_, lambda values, _: _array(values, type_), lambda array, _: array.to_pylist())


def _tuple_kind(kind: Kind) -> Kind:
    """Return the kind for tuples of values of a kind: an Arrow list."""
    type_ = pa.list_(pa.field("element", kind.type))

    def pack(values: list[Any], rows: Mapping[str, int]) -> pa.Array:
        offsets = np.cumsum([0, *map(len, values)], dtype=np.int32)
        flat = kind.pack(list(chain.from_iterable(values)), rows)
        lists = [None, pa.py_buffer(offsets)]
        return pa.ListArray.from_buffers(type_, len(values), lists, children=[flat])

    def unpack(array: pa.Array, ids: Callable[[], Sequence[str]]) -> list[Any]:
        offsets: list[int] = array.offsets.to_pylist()
        first, flat = offsets[0], kind.unpack(_flat(array), ids)
        return [tuple(flat[start - first : end - first]) for start, end in pairwise(offsets)]

    return Kind(type_, pack, unpack)


def _flat(lists: pa.ListArray) -> pa.Array:
    """Return the concatenated values of lists, none of which may be null."""
    first, last = (lists.offsets[at].as_py() for at in (0, -1))
    return lists.values.slice(first, last - first)


def _struct(make: Callable[..., Any], *parts: tuple[str, str, Kind]) -> Kind:
    """Return the kind for instances of the class `make`; parts are (name in Arrow, attribute, kind) of each field."""
    type_ = pa.struct([(name, kind.type) for name, _, kind in parts])
    attributes: tuple[str, ...] = make.__match_args__  # pyright: ignore[reportFunctionMemberAccess]
    ordered = sorted(parts, key=lambda part: attributes.index(part[1]))

    def pack(values: list[Any], rows: Mapping[str, int]) -> pa.Array:
        arrays = [kind.pack(list(map(attrgetter(attribute), values)), rows) for _, attribute, kind in parts]
        return pa.StructArray.from_arrays(arrays, fields=list(type_))

    def unpack(array: pa.Array, ids: Callable[[], Sequence[str]]) -> list[Any]:
        return list(map(make, *(kind.unpack(array.field(name), ids) for name, _, kind in ordered)))

    return Kind(type_, pack, unpack)


def _pack_documents(ids: Iterable[str], rows: Mapping[str, int]) -> pa.Array:
    try:
        return _array([rows[id_] for id_ in ids], pa.int32())
    except KeyError as missing:
        raise UsageError(f"a span is in document {missing}, which is not in the table of documents") from None


def _unpack_documents(array: pa.Array, ids: Callable[[], Sequence[str]]) -> list[str]:
    numbers = array.to_pylist()
    if min(numbers, default=0) < 0:
        raise IndexError("a span is in no document")
    known = ids() if numbers else ()
    if len(numbers) * ALONE > len(known):
        known = known[:]  # reading all ids at once is faster
    return list(map(known.__getitem__, numbers))


def _pack_metadata(values: list[Mapping[str, str]], _: Mapping[str, int]) -> pa.Array:
    return _array([json.dumps(dict(v), ensure_ascii=False, sort_keys=True) for v in values], pa.string())


TEXT, NUMBER = map(_scalar_kind, (pa.string(), pa.float64()))
INTEGER, SHORT = map(_scalar_kind, (pa.int64(), pa.int32()))
DOCUMENT = Kind(pa.int32(), _pack_documents, _unpack_documents)
"""The id of a document, stored as the number of its row."""
TEXTS, INTEGERS, SHORTS = map(_tuple_kind, (TEXT, INTEGER, SHORT))
SPANS = _tuple_kind(
    _struct(Span, ("document", "document_id", DOCUMENT), ("start", "start", SHORT), ("end", "end", SHORT))
)
PLACES = _tuple_kind(_struct(Place, ("name", "name", TEXT), ("start", "start", SHORT)))
FINDINGS = _tuple_kind(_struct(Finding, ("explanation", "explanation", TEXT), ("summary", "summary", TEXT)))
METADATA = Kind(pa.string(), _pack_metadata, lambda array, _: [json.loads(v) for v in array.to_pylist()])


# Columns that are computed from the whole index, only for other tools


def naming(table: str, named: str = "chunks") -> Callable[[Index], Iterable[Any]]:
    """Return a function that computes, for each chunk or document, the ids of the rows of a table that refer to it."""

    def column(index: Index) -> Iterable[Any]:
        ids_of: dict[str, list[str]] = {}
        for row in getattr(index, table):
            for id_ in row.chunk_ids if named == "chunks" else (row.document_id,):
                ids_of.setdefault(id_, []).append(row.id)
        return [ids_of.get(row.id, ()) for row in getattr(index, named)]

    return column


def ids(table: str, numbers: str) -> Callable[[Index], Iterable[Any]]:
    """Return a function that computes, for each community, the ids of rows of a table from its `numbers` attribute."""

    def column(index: Index) -> Iterable[Any]:
        ids = [row.id for row in getattr(index, table)]
        try:
            return [list(map(ids.__getitem__, getattr(c, numbers))) for c in index.communities]
        except IndexError:
            raise UsageError(f"a community names a row of {table} that is not there") from None

    return column


def quotations(index: Index) -> Iterable[Any]:
    """Yield the quoted source text of each claim."""
    texts = {d.id: d.text for d in index.documents} if index.claims else {}
    for claim in index.claims:
        quoted = [texts[s.document_id][s.start : s.end] for s in claim.spans if s.document_id in texts]
        yield "\n".join(quoted) if quoted else None


def as_json(report: Report) -> str:
    names = ("title", "summary", "findings", "rating", "rating_explanation")
    findings = [{"summary": f.summary, "explanation": f.explanation} for f in report.findings]
    values = {name: getattr(report, name) for name in names} | {"findings": findings}
    return json.dumps(values, ensure_ascii=False)


# Tables


@dataclass(frozen=True)
class Column:
    name: str
    kind: Kind
    source: str | Callable[[Index], Iterable[Any]]
    """The attribute of the row that the column stores, or the function that computes it from the whole index."""
    default: Any = None
    """The value for all rows of an index that lacks the column, if it was added later; None if it is mandatory."""
    numbers: str = ""
    """The table whose row numbers the column contains (-1 for none), if any."""

    def fault(self, values: pa.ChunkedArray, counts: Mapping[str, int] | None, required: bool) -> str:
        """Return what is wrong with the values, or "" if nothing is; `counts` has the number of rows of each table."""
        if values.type != self.kind.type:
            return "has values of another type"
        if required and any(map(_lacks_values, values.chunks)):
            return "lacks values"
        if counts is not None and (self.numbers or self.kind in (INTEGER, NUMBER)):
            low, end = (-1, counts[self.numbers]) if self.numbers else (0, np.inf)
            numbers = _numbers_of(values)
            if len(numbers) and not low <= numbers.min() <= numbers.max() < end:
                return "has numbers that lead nowhere"
        return ""


def _same(kind: Kind, *names: str, numbers: str = "") -> list[Column]:
    """Return columns that have the same names as the attributes they store."""
    return [Column(name, kind, name, numbers=numbers) for name in names]


@dataclass(frozen=True)
class Table(Generic[T]):
    file: str
    """The name of the file, which is also Microsoft's name of the table."""
    make: Callable[..., T]
    """Creates a row from the values of the columns `stored`."""
    columns: list[Column]

    @cached_property
    def stored(self) -> list[Column]:
        """The columns that a row is created from, in the order of the arguments of `make`."""
        if not is_dataclass(self.make):
            return self.columns
        by_source = {c.source: c for c in self.columns}
        return [by_source[f.name] for f in fields(self.make)]

    @cached_property
    def required(self) -> frozenset[str]:
        """The names of the columns that must have a value in every row."""
        optional = (
            {f.name for f in fields(self.make) if "None" in str(f.type)} if is_dataclass(self.make) else ()
        )
        return frozenset(
            c.name for c in self.columns if isinstance(c.source, str) and c.source not in optional
        )

    @cached_property
    def schema(self) -> pa.Schema:
        return pa.schema([(c.name, c.kind.type) for c in self.columns])


KEYS = [Column("id", TEXT, "id"), Column("human_readable_id", INTEGER, "number")]

TABLES: Mapping[str, Table[Any]] = {
    "documents": Table("documents", Document, [
        *KEYS,
        *_same(TEXT, "title", "text"),
        Column("text_unit_ids", TEXTS, naming("chunks", "documents")),
        Column("creation_date", TEXT, "date"),
        Column("raw_data", TEXT, lambda index: [None] * len(index.documents)),
        # ours
        *_same(TEXT, "path"),
        *_same(METADATA, "metadata"),
        *_same(PLACES, "places"),
        Column("omitted", SHORTS, "omitted", default=()),
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
        *_same(INTEGER, "level"),
        *_same(INTEGER, "parent", numbers="communities"),
        *_same(INTEGERS, "children", numbers="communities"),
        Column("title", TEXT, lambda index: [f"Community {c.number}" for c in index.communities]),
        Column("entity_ids", TEXTS, ids("entities", "entity_numbers")),
        Column("relationship_ids", TEXTS, ids("relationships", "relationship_numbers")),
        Column("text_unit_ids", TEXTS, "chunk_ids"),
        Column("period", TEXT, lambda index: [None] * len(index.communities)),
        *_same(INTEGER, "size"),
        # ours
        *_same(INTEGERS, "entity_numbers", numbers="entities"),
        *_same(INTEGERS, "relationship_numbers", numbers="relationships"),
        *_same(TEXT, "unsplit"),
    ]),
    "reports": Table("community_reports", Report, [
        *KEYS,
        *_same(INTEGER, "community", numbers="communities"),
        *_same(INTEGER, "level"),
        *_same(INTEGER, "parent", numbers="communities"),
        *_same(INTEGERS, "children", numbers="communities"),
        *_same(TEXT, "title", "summary"),
        Column("full_content", TEXT, "text"),
        Column("rank", NUMBER, "rating"),
        *_same(TEXT, "rating_explanation"),
        *_same(FINDINGS, "findings"),
        Column("full_content_json", TEXT, lambda index: map(as_json, index.reports)),
        Column("period", TEXT, lambda index: [None] * len(index.reports)),
        *_same(INTEGER, "size"),
        # ours
        *_same(INTEGER, "n_tokens"),
    ]),
    "joins": Table("joins", AliasDecision, _same(TEXT, "name", "into", "rule", "evidence")),
    "failures": Table("failures", Failure, _same(TEXT, "stage", "error", "document")),
    "words": Table("words", str, [Column("word", TEXT, lambda index: index.words)]),
}  # fmt: skip
"""The tables by their names in `Index`."""


def encode(index: Index) -> Iterator[tuple[str, memoryview]]:
    """Yield the file name (without suffix) and the contents of the Parquet file of each table."""
    for name, write in writers(index):
        write(sink := BytesIO())
        yield name, sink.getbuffer()


def writers(index: Index) -> Iterator[tuple[str, Callable[[IO[bytes]], None]]]:
    """Yield the file name (without suffix) of each table and a function that writes its Parquet file, which is the same
    for equal rows. It raises `UsageError` if a row refers to a missing row, or contains text that is invalid Unicode.
    """
    row_of_document = {d.id: row for row, d in enumerate(index.documents)}
    for name, table in TABLES.items():
        yield table.file, partial(_write, index, name, table, row_of_document)


def _write(
    index: Index, name: str, table: Table[Any], row_of_document: Mapping[str, int], sink: IO[bytes]
) -> None:
    def packed(values: Sequence[Iterable[Any]], count: int) -> pa.Table:
        arrays: list[pa.Array] = []
        for column, rows in zip(table.columns, values, strict=True):
            try:
                arrays.append(column.kind.pack(list(islice(rows, count)), row_of_document))
            except UnicodeEncodeError as error:
                raise UsageError(f"a text in {table.file}.{column.name} cannot be stored: {error}") from None
        return pa.Table.from_arrays(arrays, schema=table.schema)

    rows, takes = getattr(index, name), [c.source for c in table.columns]
    values = [iter(map(attrgetter(t), rows) if isinstance(t, str) else t(index)) for t in takes]
    first = [list(islice(v, SAMPLED)) for v in values]
    sample = packed(first, SAMPLED)
    sampled, whole = max(sample.nbytes, 1), len(sample) == len(rows)
    size = max(GROUP, isqrt(PER_GROUP * sampled * len(rows) // max(len(sample), 1)))
    group = max(1, size * len(sample) // sampled)
    at_once = SAMPLED if whole else group * max(1, AT_ONCE // size)
    values = list(map(chain, first, values))
    # zstd at level 1 reduces 37 MB to 15, but a commit takes .24 s CPU instead of .19, and a read .027 instead of .014;
    # dictionaries make files a sixth smaller, but double the time to read a group; statistics of texts repeat the texts
    how: Any = {
        "compression": "none", "use_dictionary": False, "write_statistics": False, "write_page_checksum": True,
    }  # fmt: skip
    with pq.ParquetWriter(sink, table.schema, **how) as writer, ThreadPoolExecutor(1) as pool:
        written: Future[Any] = pool.submit(list)  # nothing yet
        for _ in range(0, max(len(rows), 1), at_once):
            part = sample if whole else packed(values, at_once)
            written.result()  # the previous groups were written while these were packed
            written = pool.submit(writer.write_table, part, group)
        written.result()


GROUP = 1 << 18
"""Minimum size of a row group, in bytes; reading one row reads its whole group, which takes 0.3 ms."""
PER_GROUP = 700
"""Bytes that a question can read in the time that one more row group costs: a group takes 10 us in the footer, and a
question reads some 15 groups at 1 ns per byte. A table of 700 MB thus has groups of 700 kB."""
SAMPLED = 1 << 12
"""Number of rows from whose size the number of rows in a group is estimated."""
AT_ONCE = 1 << 23
"""Bytes of rows that are packed and written at once."""
GROUPS = 256
"""Maximum number of row groups of a table that are cached: 64 MB, or 180 MB for a table of 700 MB."""


class Stored(Generic[T]):
    """A table in the bytes of its Parquet file, of which only the required parts are read.

    `document_ids` returns the ids of documents in the order of their rows; only tables with spans use it. `counts` has
    the number of rows of every table, for checking the numbers in this one; None if it is unknown.
    """

    def __init__(
        self,
        table: Table[T],
        content: Callable[[], Any],
        document_ids: Callable[[], Sequence[str]],
        counts: Mapping[str, int] | None = None,
    ) -> None:
        self._table = table
        self._content = content
        self._document_ids = document_ids
        self._counts = counts
        self._name = next(name for name, known in TABLES.items() if known is table)
        self._group = lru_cache(GROUPS)(self._stored_rows)
        self._check_tree = cache(self._tree_checked)
        self._lock = Lock()  # a Parquet reader is not thread-safe

    @cached_property
    def _file(self) -> Any:
        """The opened file, whose footer is read only once."""
        try:
            source = pa.BufferReader(pa.py_buffer(self._content()))
            file = pq.ParquetFile(source, page_checksum_verification=True)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(f"cannot be read ({error})") from error
        rows = file.metadata.num_rows
        if self._counts is not None and rows != self._counts[self._name]:
            raise self._damaged(f"has {rows} rows, its manifest says {self._counts[self._name]}")
        return file

    @cached_property
    def _group_size(self) -> int:
        """The number of rows of each group except the last."""
        return max(1, self._file.metadata.row_group(0).num_rows) if self._file.metadata.num_row_groups else 1

    def _read(self, columns: Sequence[Column], groups: Iterable[int] | None = None) -> pa.Table:
        """Return columns of some row groups, by default of all."""
        groups = range(self._file.metadata.num_row_groups) if groups is None else groups
        try:
            present = self._file.schema_arrow.names
            names = [c.name for c in columns if c.name in present]
            with self._lock:
                table = self._file.read_row_groups(list(groups), names, use_threads=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise self._damaged(f"cannot be read ({error})") from error
        for column in (c for c in columns if c.name not in present):
            if column.default is None:
                raise self._damaged(f"has no column {column.name!r}")
            table = table.append_column(column.name, column.kind.pack([column.default] * len(table), {}))
        for column in columns:
            required = column.name in self._table.required
            if fault := column.fault(table.column(column.name), self._counts, required):
                raise self._damaged(f"{fault} in the column {column.name!r}")
        return table

    def _damaged(self, what: str) -> IndexDamaged:
        return IndexDamaged(f"the table {self._table.file} {what}; delete manifest.json and index again")

    def _stored_rows(self, first: int, last: int, name: str = "") -> pa.Table:
        """Return the stored columns, or those of one attribute, of the row groups from the first to the last."""
        self._check_tree()
        if name:
            return self._read([c for c in self._table.columns if c.source == name], range(first, last + 1))
        table = self._read(self._table.stored, range(first, last + 1))
        numbers = np.arange(
            first * self._group_size, min((last + 1) * self._group_size, self._file.metadata.num_rows)
        )
        numbered = self._counts is not None and self._table.stored[:2] == KEYS
        if len(table) != len(numbers) or (numbered and (_numbers_of(table.column(1)) != numbers).any()):
            raise self._damaged("has rows that are not in the order of their numbers")
        return table

    def _tree_checked(self) -> None:
        """Raise IndexDamaged if a community is not below its parent, since cycles would lead to endless loops."""
        if self._table.file != "communities" or self._counts is None:
            return
        table = self._read([c for c in self._table.columns if c.name in ("parent", "level", "children")])
        parent, level, children = (_numbers_of(table.column(n)) for n in ("parent", "level", "children"))
        sizes = [len(row) for row in table.column("children").to_pylist()]
        inside = np.flatnonzero(parent >= 0)
        others = parent[children] != np.arange(len(table)).repeat(sizes)
        if others.any() or (level[parent[inside]] >= level[inside]).any():
            raise self._damaged("has a community that is not below its parent")

    def rows(self, start: int, stop: int) -> list[T]:
        """Return the rows from `start` to `stop`, built column by column."""
        if start >= stop:
            return []
        with paused_garbage_collection():
            return list(map(self._table.make, *self._unpacked(self._part(start, stop), self._table.stored)))

    def _part(self, start: int, stop: int, name: str = "") -> pa.Table:
        first, last = start // self._group_size, (stop - 1) // self._group_size
        groups = (self._group if first == last else self._stored_rows)(first, last, name)
        return groups.slice(start - first * self._group_size, stop - start)

    def _unpacked(self, part: pa.Table, columns: Sequence[Column]) -> list[list[Any]]:
        try:
            return [self._values(part, column) for column in columns]
        except (ValueError, IndexError, TypeError) as error:
            raise self._damaged(f"has unreadable values ({error})") from None

    def _values(self, part: pa.Table, column: Column) -> list[Any]:
        pieces = part.column(column.name).chunks
        return [value for piece in pieces for value in column.kind.unpack(piece, self._document_ids)]

    def column(self, name: str, start: int, stop: int) -> list[Any]:
        """Return one attribute of the rows from `start` to `stop`, without reading other columns."""
        column = [c for c in self._table.columns if c.source == name]
        return self._unpacked(self._part(start, stop, name), column)[0]

    def arrow(self) -> Any:
        """Return all columns."""
        return self._read(self._table.columns)


def _numbers_of(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """Return the numbers of a column without nulls, or the concatenated numbers of its lists.
    They are read from its buffers, because `to_numpy` imports pandas if installed (.2 s and 50 MB), and `flatten`
    imports the compute functions (.05 s).
    """
    flat = list(map(_flat, column.chunks)) if pa.types.is_list(column.type) else column.chunks
    kind = _DTYPES[flat[0].type] if flat else np.int64
    views = [np.frombuffer(a.buffers()[1], kind, a.offset + len(a))[a.offset :] for a in flat if len(a)]
    return np.concatenate([np.zeros(0, kind), *views])


def _lacks_values(array: pa.Array) -> bool:
    """Return whether a value, or a value inside a list or struct, is null."""
    inner = [array.values] if pa.types.is_list(array.type) else []
    if pa.types.is_struct(array.type):
        inner = [array.field(i) for i in range(array.type.num_fields)]
    return array.null_count > 0 or any(map(_lacks_values, inner))


@contextmanager
def paused_garbage_collection() -> Generator[None]:
    """Pause Python's cycle collector while many long-lived rows are created, all of which it would visit repeatedly."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
