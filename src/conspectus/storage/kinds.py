"""Kinds of values: how those of a column become an Arrow array, and back."""
# pyarrow carries no types of its own, so nothing of it is known to a type checker:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from conspectus.errors import UsageError
from conspectus.rows import Finding, Place, Span

T = TypeVar("T")


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
