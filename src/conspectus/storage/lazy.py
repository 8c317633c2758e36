"""Tables and arrays that are read from disk when they are first used, and caches of what was made of them."""

from __future__ import annotations

import mmap
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from io import BytesIO
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

if TYPE_CHECKING:
    import numpy as np

    from conspectus.storage import Stored

T = TypeVar("T")
K = TypeVar("K")


class BoundedCache(Generic[K, T]):
    """Values by key, of which the least recently used go; threads may share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, T] = OrderedDict()
        self._lock = Lock()

    def get(self, key: K) -> T | None:
        """Return the value of a key, None where it is not there."""
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def setdefault(self, key: K, value: T) -> T:
        """Return the value of a key; where it has none, that is the one given."""
        with self._lock:
            value = self._values.setdefault(key, value)
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return value

    def __len__(self) -> int:
        return len(self._values)


class Rows(Sequence[T]):
    """The rows of a stored table, built when they are used: a row or a slice alone, all by iteration."""

    _ALONE = 10
    """What building a part costs beside its rows, in rows built together with all others (40 and 4 us)."""

    def __init__(self, length: int, stored: Stored[T]) -> None:
        self._length = length
        self._stored = stored
        self._spent = 0

    @cached_property
    def _all(self) -> list[T]:
        return self._stored.rows(0, self._length)

    def _part(self, start: int, stop: int) -> list[T]:
        # once the parts have cost as much as all rows do, all are built, and kept
        self._spent += self._ALONE + stop - start
        if "_all" in self.__dict__ or self._spent > self._length:
            return self._all[start:stop]
        return self._stored.rows(start, stop)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        places = range(self._length)[at]
        if isinstance(places, int):
            return self._part(places, places + 1)[0]
        if not places:
            return []
        first, last = min(places[0], places[-1]), max(places[0], places[-1])
        return self._part(first, last + 1)[:: places.step]

    def __iter__(self) -> Iterator[T]:
        return iter(self._all)

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        """Return how many rows there are, and the first."""
        first = f": {self[0]!r}, …" if self._length else ""
        return f"<{self._length:,} rows{first}>"


class Arrays(Mapping[str, "np.ndarray[Any, Any]"]):
    """The stored arrays by name, read-only, each mapped into memory rather than read."""

    def __init__(self, contents: Mapping[str, mmap.mmap | bytes]) -> None:
        self._contents = contents

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        import numpy as np
        from numpy.lib import format as npy

        content = self._contents[name]
        head = BytesIO(content[: 10 + int.from_bytes(content[8:10], "little")])
        npy.read_magic(head)
        shape, _, dtype = npy.read_array_header_1_0(head)
        return np.ndarray(shape, dtype, buffer=content, offset=head.tell())

    def __iter__(self) -> Iterator[str]:
        return iter(self._contents)

    def __len__(self) -> int:
        return len(self._contents)
