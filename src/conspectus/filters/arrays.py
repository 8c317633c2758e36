"""The arrays of an index carried over to other rows: to some of its rows, or to those of several indexes together.

An axis is a table, or another set that arrays run along: `sentences`, `words` (terms), `names` (of the walk) and
`phrases` (the names of the triple graph, in its order). An array that is not named here is not carried over, so that
none is read along the wrong axis.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Ints = np.ndarray[Any, np.dtype[np.int64]]

COLUMNS: Mapping[str, tuple[str, str]] = {
    "sentences.document": ("sentences", "documents"),
    "sentences.start": ("sentences", ""),
    "sentences.end": ("sentences", ""),
    "sentences.templated": ("sentences", ""),
    "sentences.speaker": ("sentences", "entities"),
    "sentence_terms.lengths": ("sentences", ""),
    "chunk_terms.lengths": ("chunks", ""),
    "walk_terms.lengths": ("sentences", ""),
    "walk.first": ("chunks", "sentences"),
    "walk.last": ("chunks", "sentences"),
    "walk.names": ("names", ""),
    "walk.frequency": ("names", ""),
    "walk.kinds": ("names", ""),
    "vectors.chunks": ("chunks", ""),
    "vectors.sentences": ("sentences", ""),
    "vectors.triples": ("triples", ""),
    "vectors.names": ("phrases", ""),
}
"""Arrays with a value for each row of an axis, and the axis whose rows the values number (-1 for none), if they do."""
EDGES = ("walk.first", "walk.last")
"""Columns whose values say where a range of rows begins or ends."""
MERGED: Mapping[str, Callable[[Array, Array], Array]] = {"walk.frequency": np.add, "walk.kinds": np.bitwise_or}
"""How columns make one value of those of several indexes; the others have the value of the first."""
LISTS: Sequence[tuple[str, str, tuple[str, ...]]] = (
    ("sentences", "entities", ("sentences.mention_starts", "sentences.mentions")),
    ("sentences", "names", ("walk.out_starts", "walk.out_names", "walk.out_weights")),
    ("names", "sentences", ("walk.in_starts", "walk.in_sentences", "walk.in_weights")),
    ("words", "sentences", ("sentence_terms.starts", "sentence_terms.texts", "sentence_terms.counts")),
    ("words", "chunks", ("chunk_terms.starts", "chunk_terms.texts", "chunk_terms.counts")),
    ("words", "sentences", ("walk_terms.starts", "walk_terms.texts", "walk_terms.counts")),
)
"""Lists for each row of an axis, of rows of another: row `i` has `values[starts[i]:starts[i + 1]]`, with what more is
said of each value."""
LIST_OF = {name: lists for lists in LISTS for name in lists[2]}


ArrayPart = tuple[Callable[[str], Array], Callable[[str], Ints]]
"""The arrays of a part by name, and where the rows of an axis of it go: row `i` to `row_map(axis)[i]`, -1 nowhere."""


def combined(name: str, parts: Sequence[ArrayPart], size: Callable[[str], int]) -> Array:
    """Return an array of several parts together; `size` tells how many rows an axis has then."""
    return (_column if name in COLUMNS else _list)(name, parts, size)


def _column(name: str, parts: Sequence[ArrayPart], size: Callable[[str], int]) -> Array:
    axis, numbered = COLUMNS[name]
    first = parts[0][0](name)
    column = np.zeros((size(axis), *first.shape[1:]), first.dtype)
    for array, row_map in reversed(parts):
        rows = row_map(axis)
        values = array(name)[rows >= 0]
        if name in EDGES:
            values = _edges(row_map(numbered))[values]
        elif numbered:
            values = np.append(row_map(numbered), -1)[values]
        rows = rows[rows >= 0]
        column[rows] = MERGED[name](column[rows], values) if name in MERGED else values
    return column


def _list(name: str, parts: Sequence[ArrayPart], size: Callable[[str], int]) -> Array:
    """Return an array of lists, without the values that go nowhere; of several parts, one after the other."""
    axis, numbered, (starts, values, *_) = LIST_OF[name]
    rows: list[Ints] = []
    columns: list[Array] = []
    for array, row_map in parts:
        row = np.repeat(row_map(axis), np.diff(array(starts)))
        value = row_map(numbered)[array(values)]
        stays = (row >= 0) & (value >= 0)
        rows.append(row[stays])
        if name != starts:
            columns.append((value if name == values else array(name))[stays].astype(array(name).dtype))
    row = np.concatenate(rows)
    if name != starts:
        return np.concatenate(columns)[np.argsort(row, kind="stable")]
    counts = np.bincount(row, minlength=size(axis))
    return np.concatenate(([0], np.cumsum(counts))).astype(parts[0][0](starts).dtype)


def _edges(rows: Ints) -> Ints:
    """Return where the edges go that are before, between and after rows which follow each other."""
    stays = rows >= 0
    start = rows[stays][0] if stays.any() else 0
    return np.concatenate(([0], np.cumsum(stays))) + start
