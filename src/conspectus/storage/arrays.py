"""The arrays of an index: what each runs along and numbers, and how it becomes an `.npy` file and back.

An axis is a table, or another set that arrays run along: `sentences`, `words` (terms), `names` (of the walk), `keys`
(of entities), `phrases` (the names of the triple graph, in its order). Compiled code follows the numbers of an array
without looking whether they lead anywhere, and the manifest of a forged index agrees with its files: so an array is
checked against what is declared here when it is first read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from io import BytesIO
from math import prod
from typing import Any

import numpy as np
from numpy.lib import format as npy

from conspectus.errors import IndexDamaged, UsageError

Array = np.ndarray[Any, Any]

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
    "keys.hash": ("keys", ""),
    "keys.entity": ("keys", "entities"),
    "vectors.chunks": ("chunks", ""),
    "vectors.sentences": ("sentences", ""),
    "vectors.entities": ("entities", ""),
    "vectors.names": ("phrases", ""),
    "vectors.triples": ("triples", ""),
}
"""Arrays with a value for each row of an axis, and the axis whose rows the values number (-1 for none), if they do."""
EDGES = ("walk.first", "walk.last")
"""Columns whose values say where a range of rows begins or ends."""
LISTS: Sequence[tuple[str, str, tuple[str, ...]]] = (
    ("sentences", "entities", ("sentences.mention_starts", "sentences.mentions")),
    ("sentences", "names", ("walk.out_starts", "walk.out_names", "walk.out_weights")),
    ("names", "sentences", ("walk.in_starts", "walk.in_sentences", "walk.in_weights")),
    ("words", "sentences", ("sentence_terms.starts", "sentence_terms.texts", "sentence_terms.counts")),
    ("words", "chunks", ("chunk_terms.starts", "chunk_terms.texts", "chunk_terms.counts")),
    ("words", "sentences", ("walk_terms.starts", "walk_terms.texts", "walk_terms.counts")),
    ("entities", "relationships", ("graph.edge_starts", "graph.edges")),
    ("entities", "communities", ("graph.community_starts", "graph.communities")),
)
"""Lists for each row of an axis, of rows of another: row `i` has `values[starts[i]:starts[i + 1]]`, with what more is
said of each value."""
LIST_OF = {name: lists for lists in LISTS for name in lists[2]}
LARGEST = 2.0**50
"""What a weight or a number of a vector may be at the most: sums of products of two stay finite in 32 bits."""
OF_WHOLE = ("graph.", "keys.")
"""How the names of arrays begin that hold for a whole index alone, and not for some of its documents."""
_AXES = {"sentences": "sentences.document", "names": "walk.names", "keys": "keys.hash"}
"""An array that has a value for each row of an axis that is no table."""


def encoded(name: str, array: Array) -> list[bytes | memoryview]:
    """Return the parts of the `.npy` file of an array; raise `UsageError` where it cannot be stored."""
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        raise UsageError(f"an array is named {name!r}; letters, digits, '.', '_' and '-' can be stored")
    if array.dtype.hasobject:
        raise UsageError(f"the array {name} holds Python objects; numbers and fixed-width text can be stored")
    array = np.asarray(array, order="C")
    head = BytesIO()
    npy.write_array_header_1_0(head, npy.header_data_from_array_1_0(array))
    return [head.getvalue(), array.reshape(-1).view(np.uint8).data if array.nbytes else b""]


def decoded(name: str, content: Any, arrays: Mapping[str, Array], counts: Mapping[str, int]) -> Array:
    """Return a stored array, read-only, as a view of the bytes of its file, which may be mapped into memory.

    arrays: the other arrays of the index.
    counts: the number of rows of each table.

    Raises `IndexDamaged` where the bytes are no array of numbers, or its numbers lead out of the index.
    """
    head = BytesIO(content[: 10 + int.from_bytes(content[8:10], "little")])
    try:
        npy.read_magic(head)
        shape, _, dtype = npy.read_array_header_1_0(head)
        if dtype.hasobject or len(content) - head.tell() != prod(shape) * dtype.itemsize:
            raise ValueError("its size is not that of its numbers")  # or they would be taken for addresses
        array: Array = np.ndarray(shape, dtype, buffer=content, offset=head.tell())
    except (ValueError, TypeError, OverflowError, RecursionError) as error:
        raise IndexDamaged(f"the array {name} cannot be read ({error}); index again") from None
    if not _fits(name, array, arrays, counts):
        raise IndexDamaged(f"the array {name} does not fit the rest of the index; index again")
    return array


def _fits(name: str, array: Array, arrays: Mapping[str, Array], counts: Mapping[str, int]) -> bool:
    """Tell whether an array has the shape that it should have, and its numbers lead to rows that are there."""

    def size(axis: str) -> int:  # -1 where it is not known
        first = _AXES.get(axis)
        return counts.get(axis, -1) if first is None else len(array if first == name else arrays[first])

    native = array.dtype.isnative and array.dtype.itemsize <= np.dtype(np.int64).itemsize
    whole = native and array.ndim == 1 and array.dtype.kind in "iu"
    if name in COLUMNS:
        axis, numbered = COLUMNS[name]
        if axis == "triples" and not counts.get(axis):
            axis = "relationships"  # which are the triples where there are no others
        if name.startswith("vectors."):
            whole = native and array.ndim == 2 and array.dtype.kind == "f" and _finite(array)
        fits = whole and size(axis) in (len(array), -1)
        return fits and (not numbered or _within(array, -1, size(numbered) + (name in EDGES)))
    if name not in LIST_OF:
        return True
    axis, numbered, (starts, values, *_) = LIST_OF[name]
    if name == starts:
        ascending = whole and len(array) == size(axis) + 1 and (array[:-1] <= array[1:]).all()
        return bool(ascending and array[0] == 0)
    if not native or array.ndim != 1 or len(array) != int(arrays[starts][-1]):
        return False
    if name == values:
        return whole and _within(array, 0, size(numbered))
    weighs = array.dtype.kind in "iu" or (array.dtype.kind == "f" and _finite(array))
    return weighs and not (array < 0).any()


def _within(array: Array, low: int, end: int) -> bool:
    return not array.size or (low <= int(array.min()) and int(array.max()) < end)


def _finite(array: Array) -> bool:
    """Tell whether all numbers are finite, and none so large that a product of two is not."""
    # 0.6 ms for 4 million numbers of 16 bits; np.isfinite takes 8
    bits = np.dtype(f"u{array.dtype.itemsize}")
    limit = np.array(min(LARGEST, float(np.finfo(array.dtype).max)), array.dtype).view(bits)
    sign = bits.type(1 << (8 * bits.itemsize - 1))
    return not array.size or bool((array.view(bits) & ~sign).max() <= limit)
