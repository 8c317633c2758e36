"""Tables to Parquet files and back."""
# pyarrow carries no types of its own, so nothing of it is known to a type checker:
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from conspectus.errors import IndexDamaged, UsageError
from conspectus.storage.schema import KEYS, TABLES, Column, Table

if TYPE_CHECKING:
    from conspectus.index import Index

T = TypeVar("T")


def encode(index: Index) -> Iterator[tuple[str, memoryview]]:
    """Yield the file name (without suffix) and the Parquet file of each table; equal rows give equal bytes.

    Raises `UsageError` where a row names another that is not there, or holds text that is not valid Unicode.
    """
    row_of_document = {d.id: row for row, d in enumerate(index.documents)}
    for name, table in TABLES.items():
        yield table.file, _encoded(index, name, table, row_of_document)


def _encoded(index: Index, name: str, table: Table[Any], row_of_document: Mapping[str, int]) -> memoryview:
    arrays: list[pa.Array] = []
    for column in table.columns:
        take = column.source
        values = map(attrgetter(take), getattr(index, name)) if isinstance(take, str) else take(index)
        try:
            arrays.append(column.kind.pack(list(values), row_of_document))
        except UnicodeEncodeError as error:
            raise UsageError(f"a text in {table.file}.{column.name} cannot be stored: {error}") from None
    sink = pa.BufferOutputStream()
    # zstd at level 1 makes 15 MB of 37, but a commit takes .24 s CPU for .19, and a read .027 for .014
    pq.write_table(pa.Table.from_arrays(arrays, schema=table.schema), sink, compression="none")
    return memoryview(sink.getvalue())


@contextmanager
def _collector_resting() -> Generator[None]:
    """Keep the garbage collector from searching a growing mass of new rows over and over (half the time)."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Stored(Generic[T]):
    """One table in the bytes of its Parquet file, which are read once, on first use.

    `document_ids` returns the ids of documents in the order of their rows; only tables with spans ask for it.
    """

    def __init__(self, table: Table[T], content: Any, document_ids: Callable[[], Sequence[str]]) -> None:
        self._table = table
        self._content = content
        self._document_ids = document_ids

    def _read(self, columns: Sequence[Column]) -> pa.Table:
        try:
            file = pq.ParquetFile(pa.BufferReader(pa.py_buffer(self._content)))
            table = file.read([c.name for c in columns], use_threads=False)
        except (pa.ArrowException, OSError) as error:
            advice = "delete manifest.json and index again"
            raise IndexDamaged(f"the table {self._table.file} cannot be read ({error}); {advice}") from error
        if missing := [c.name for c in columns if c.name not in table.column_names]:
            without = f"the table {self._table.file} has no column {missing[0]!r}"
            raise IndexDamaged(f"{without}: another version wrote it; delete manifest.json and index again")
        return table

    @cached_property
    def _arrow(self) -> pa.Table:
        return self._read(self._table.stored)

    def rows(self, start: int, stop: int) -> list[T]:
        """Return the rows from `start` to `stop`, built column by column."""
        part = self._arrow.slice(start, stop - start)
        with _collector_resting():
            columns = [
                [v for array in part.column(c.name).chunks for v in c.kind.unpack(array, self._document_ids)]
                for c in self._table.stored
            ]
            return list(map(self._table.make, *columns))

    def ids(self) -> list[str]:
        """Return the ids of all rows, without reading anything else."""
        return self._read(KEYS[:1]).column(0).to_pylist()
