"""The arrays of an index: their axes, the rows that their values refer to, and conversion to `.npy` files and back.

An axis is a table, or another set of rows: `sentences`, `words` (terms), `names` (of the sentence–entity graph), `keys`
(of entities), `parts` (words of names), `phrases` (the names of the triple graph, in its order). Compiled code uses the
numbers in arrays without bounds checks, and the manifest of a forged index matches its files; therefore all values
that are read are checked against the declarations in this module.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from math import prod
from threading import Lock
from typing import IO, Any, cast
from zlib import crc32

import numpy as np
from numpy.lib import format as npy

from conspectus.errors import IndexDamaged, UsageError

Array = np.ndarray[Any, Any]
# python/cpython#106905: `ast`, with which numpy parses headers, may fail when several threads use it
_PARSING = Lock()

NEAR = tuple(f"near.{table}" for table in ("chunks", "sentences", "entities"))
"""The names of the vector lists (`ranking.VectorLists`), which exist for tables with many vectors."""
COLUMNS: Mapping[str, tuple[str, str]] = {
    "sentences.document": ("sentences", "documents"),
    "sentences.start": ("sentences", ""),
    "sentences.end": ("sentences", ""),
    "sentences.speaker": ("sentences", "entities"),
    "sentence_terms.lengths": ("sentences", ""),
    "chunk_terms.lengths": ("chunks", ""),
    "walk_terms.lengths": ("sentences", ""),
    "walk.first": ("chunks", "sentences"),
    "walk.last": ("chunks", "sentences"),
    "walk.names": ("names", ""),
    "walk.frequency": ("names", ""),
    "walk.kinds": ("names", ""),
    "graph.edge_ranks": ("relationships", ""),
    "graph.speakers": ("speakers", "entities"),
    "graph.entity_digests": ("entities", ""),
    "graph.edge_digests": ("relationships", ""),
    "keys.part": ("parts", ""),
    "keys.part_entity": ("parts", "entities"),
    "keys.hash": ("keys", ""),
    "keys.entity": ("keys", "entities"),
    "vectors.chunks": ("chunks", ""),
    "vectors.sentences": ("sentences", ""),
    "vectors.entities": ("entities", ""),
    "vectors.names": ("phrases", ""),
    "vectors.triples": ("triples", ""),
    **{f"{lists}.centres": (lists, "") for lists in NEAR},
    **{f"{lists}.codes": (lists.removeprefix("near."), "") for lists in NEAR},
    **{f"ids.{table}_hash": (table, "") for table in ("documents", "chunks", "entities", "words")},
    **{f"ids.{table}_row": (table, table) for table in ("documents", "chunks", "entities", "words")},
}
"""Arrays with a value for each row of an axis; and the axis whose row numbers the values are (-1 for none), if any."""
EDGES = ("walk.first", "walk.last")
"""Columns whose values are bounds of ranges of rows, so that they may equal the number of rows."""
LISTS: Sequence[tuple[str, str, tuple[str, ...]]] = (
    ("sentences", "entities", ("sentences.mention_starts", "sentences.mentions")),
    ("sentences", "names", ("walk.out_starts", "walk.out_names", "walk.out_weights", "walk.back_weights")),
    ("names", "sentences", ("walk.in_starts", "walk.in_sentences", "walk.in_weights")),
    ("words", "sentences", ("sentence_terms.starts", "sentence_terms.texts", "sentence_terms.counts")),
    ("words", "chunks", ("chunk_terms.starts", "chunk_terms.texts", "chunk_terms.counts")),
    ("words", "sentences", ("walk_terms.starts", "walk_terms.texts", "walk_terms.counts")),
    ("documents", "chunks", ("graph.chunk_starts", "graph.chunks")),
    ("entities", "relationships", ("graph.edge_starts", "graph.edges")),
    ("entities", "chunks", ("graph.entity_chunk_starts", "graph.entity_chunks")),
    ("relationships", "chunks", ("graph.edge_chunk_starts", "graph.edge_chunks")),
    ("entities", "communities", ("graph.community_starts", "graph.communities")),
    *(
        (lists, lists.removeprefix("near."), (f"{lists}.starts", f"{lists}.rows", f"{lists}.scales"))
        for lists in NEAR
    ),
)
"""Lists for each row of an axis, of rows of another: row `i` has `values[starts[i]:starts[i + 1]]`, and weights."""
LIST_OF = {name: lists for lists in LISTS for name in lists[2]}
LARGEST = 2.0**50
"""Maximum of a weight or a component of a vector: sums of products of two such numbers stay finite in 32 bits."""
BLOCK = 1 << 18
"""Bytes of an array that are verified together, in 0.2 ms; 200 MB are 800 blocks, each with 10 bytes in the manifest.
With a quarter of this, a question to 100 million tokens takes as long: it verifies less, but reads more blocks."""
OF_WHOLE = ("graph.", "ids.", "keys.", "near.")
"""Prefixes of the names of arrays that are valid only for a whole index, not for a subset of its documents."""
_AXES = {
    "sentences": "sentences.document", "names": "walk.names", "speakers": "graph.speakers",
    "keys": "keys.hash", "parts": "keys.part", **{lists: f"{lists}.centres" for lists in NEAR},
}  # fmt: skip
"""For each axis that is not a table, an array whose length is the number of rows."""


def write_array(name: str, array: Array, file: IO[bytes]) -> None:
    """Write an array as an `.npy` file; raise `UsageError` if it cannot be stored."""
    if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        raise UsageError(f"an array is named {name!r}; letters, digits, '.', '_' and '-' can be stored")
    if array.dtype.hasobject:
        raise UsageError(f"the array {name} holds Python objects; numbers and fixed-width text can be stored")
    values = np.asarray(array, order="C")
    npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(values))
    file.write(values.reshape(-1).view(np.uint8).data if values.nbytes else b"")
    if isinstance(array, np.memmap) and hasattr(mmap, "MADV_DONTNEED"):
        # pages read from a mapped file would count as memory of the process
        cast("Any", array)._mmap.madvise(mmap.MADV_DONTNEED)


class StoredArray:
    """An array in the bytes of its file; only the parts that are read are verified, by checksums and declarations."""

    def __init__(
        self, name: str, content: Any, blocks: Sequence[int],
        arrays: Mapping[str, StoredArray], counts: Mapping[str, int],
    ) -> None:  # fmt: skip
        """Open one of the `arrays` of an index from its file; raise `IndexDamaged` if it is invalid or misshapen.

        `blocks` are the checksums of the header and of blocks of numbers, empty if the whole file was verified.
        """
        self._name, self._arrays, self._counts = name, arrays, counts
        self._list: tuple[str, ...]
        self._axis, self._numbered, self._list = LIST_OF.get(name, (*COLUMNS.get(name, ("", "")), ()))
        self._role = "column" if name in COLUMNS else ""
        if self._list:
            self._role = ("starts", "values", "weights", "weights")[self._list.index(name)]
        elif name.startswith(("vectors.", "near.")):
            self._role = "vectors"
        if self._axis == "triples" and not counts.get("triples"):
            self._axis = "relationships"  # which serve as triples if there are no others
        self._blocks, self._checked = blocks[1:], set[int]()
        size = 10 + int.from_bytes(content[8:10], "little")
        head, self._content = BytesIO(content[:size]), memoryview(content)[size:]
        covered = len(self._blocks) * BLOCK
        if blocks and (crc32(head.getvalue()) != blocks[0] or covered < len(self._content)):
            raise self._damaged("has changed since it was written, by its hash")
        try:
            npy.read_magic(head)
            with _PARSING:
                shape, _, dtype = npy.read_array_header_1_0(head)
            if dtype.hasobject or len(self._content) != prod(shape) * dtype.itemsize:
                raise ValueError("its size is another")  # objects would be numbers read as addresses
            self._array: Array = np.ndarray(shape, dtype, buffer=self._content)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise self._damaged(f"cannot be read ({error})") from None
        self._count = -(-len(self._content) // BLOCK)
        self._row_bytes = self._array.nbytes // max(len(self), 1)
        if not self._is_shaped():
            raise self._damaged("does not fit the rest of the index")

    def __len__(self) -> int:
        return self._array.shape[0] if self._array.ndim else 1

    def __getitem__(self, at: Any) -> Any:
        """Return a row, or an array of the rows of a slice or of some numbers, or of all rows for `...`."""
        if len(self._checked) < self._count:
            self._check(at)
        return self._array[at]

    def searchsorted(self, values: Any) -> Any:
        """Return the insertion points of values in an ascending column; only the rows around them are checked.

        Values should have the column's type: otherwise the whole column is converted.
        """
        at: Array = self._array.searchsorted(np.asarray(values))
        if len(self):
            around = np.append(at - 1, at)
            self._check(np.clip(around, 0, len(self) - 1))
        return at

    def _check(self, at: Any) -> None:
        """Verify the blocks that contain some rows, by checksums and declarations, each block once."""
        size = self._row_bytes
        if isinstance(at, int) and at * size // BLOCK in self._checked and self._array.ndim == 1:
            return
        if isinstance(at, (int, slice)) or at is ...:
            if isinstance(at, int):
                low = high = at % len(self)
            else:
                rows = range(len(self))[slice(None) if at is ... else at]
                low, high = sorted((rows[0], rows[-1])) if rows else (0, -1)
            first, last = low * size, (high + 1) * size - 1
            blocks: Iterable[int] = range(first // BLOCK, last // BLOCK + 1)
        else:
            used, numbers = np.zeros(self._count, bool), np.asarray(at) % len(self)  # -1 is the last one
            firsts = numbers * size
            used[firsts // BLOCK] = True
            used[(firsts + size - 1) // BLOCK] = True
            blocks = np.flatnonzero(used).tolist()
        for block in set(blocks) - self._checked:
            start = block * BLOCK
            end = start + BLOCK
            if self._blocks and crc32(self._content[start:end]) != self._blocks[block]:
                raise self._damaged("has changed since it was written, by its hash")
            # including the previous number, so that the order is checked across blocks
            before = max(start - self._array.itemsize, 0)
            if self._role and not self._fits(np.frombuffer(self._content[before:end], self._array.dtype)):
                raise self._damaged("does not fit the rest of the index")
            self._checked.add(block)

    def _damaged(self, what: str) -> IndexDamaged:
        return IndexDamaged(f"the array {self._name} {what}; restore it, or index again")

    def _size(self, axis: str) -> int:
        """Return the number of rows of an axis, -1 if it is unknown."""
        if (first := _AXES.get(axis)) is None:
            return self._counts.get(axis, -1)
        return len(self if first == self._name else self._arrays[first])

    def _is_shaped(self) -> bool:
        """Return whether the array has the shape and the type of numbers that its role requires."""
        array, role = self._array, self._role
        kinds = {"vectors": "fi", "weights": "iuf"}.get(role, "iu")
        native = array.dtype.isnative and array.dtype.itemsize <= np.dtype(np.int64).itemsize
        if not role:
            return True
        if not native or array.dtype.kind not in kinds or array.ndim != 1 + (role == "vectors"):
            return False
        if role in ("column", "vectors"):
            return self._size(self._axis) in (len(array), -1)
        if role == "starts":
            return len(array) == self._size(self._axis) + 1 and self[0] == 0 and self[-1] >= 0
        return len(array) == int(self._arrays[self._list[0]][-1])

    def _fits(self, numbers: Array) -> bool:
        """Return whether some of its numbers are valid: existing rows, ascending starts, finite weights."""
        if self._role == "starts":
            ascending = bool((numbers[:-1] <= numbers[1:]).all())
            return ascending and _within(numbers, 0, int(self._array[-1]) + 1)
        if numbers.dtype.kind == "f" and not _finite(numbers):
            return False
        if self._role == "weights":
            return not (numbers < 0).any()
        low, end = -(self._role == "column"), self._size(self._numbered) + (self._name in EDGES)
        return not self._numbered or _within(numbers, low, end)


def _within(array: Array, low: int, end: int) -> bool:
    return not array.size or (low <= int(array.min()) and int(array.max()) < end)


def _finite(array: Array) -> bool:
    """Return whether all numbers are finite and none exceeds `LARGEST` in absolute value."""
    # 0.6 ms for 4 million numbers of 16 bits; np.isfinite takes 8
    bits = np.dtype(f"u{array.dtype.itemsize}")
    limit = np.array(min(LARGEST, float(np.finfo(array.dtype).max)), array.dtype).view(bits)
    sign = bits.type(1 << (8 * bits.itemsize - 1))
    return not array.size or bool((array.view(bits) & ~sign).max() <= limit)
