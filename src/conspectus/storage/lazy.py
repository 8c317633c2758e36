"""Tables and mappings whose rows and values are made when they are first read, and a cache of limited size."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import Lock
from typing import Generic, TypeVar, overload

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
    """The rows of a table, made when they are read: a row or a slice alone, all by iteration."""

    _ALONE = 10
    """What making a part costs beside its rows, in rows made together with all others (40 and 4 us)."""

    def __init__(self, length: Callable[[], int], make: Callable[[int, int], Sequence[T]]) -> None:
        """`make` returns the rows from a number to another one."""
        self._length = length
        self._make = make
        self._spent = 0

    @cached_property
    def _all(self) -> Sequence[T]:
        return self._make(0, len(self))

    def _part(self, start: int, stop: int) -> Sequence[T]:
        # once the parts have cost as much as all rows do, all are made, and cached
        self._spent += self._ALONE + stop - start
        if "_all" in self.__dict__ or self._spent > len(self):
            return self._all[start:stop]
        return self._make(start, stop)

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        numbers = range(len(self))[at]
        if isinstance(numbers, int):
            return self._part(numbers, numbers + 1)[0]
        if not numbers:
            return []
        first, last = min(numbers[0], numbers[-1]), max(numbers[0], numbers[-1])
        return self._part(first, last + 1)[:: numbers.step]

    def __iter__(self) -> Iterator[T]:
        return iter(self._all)

    def __len__(self) -> int:
        return self._length()

    def __repr__(self) -> str:
        """Return how many rows there are, and the first."""
        first = f": {self[0]!r}, …" if len(self) else ""
        return f"<{len(self):,} rows{first}>"


class LazyMapping(Mapping[K, T]):
    """Values by key, each made when it is first read."""

    def __init__(self, keys: Iterable[K], make: Callable[[K], T]) -> None:
        self._keys = dict.fromkeys(keys)
        self._make = make
        self._made: dict[K, T] = {}

    def __getitem__(self, key: K) -> T:
        if key not in self._made:
            if key not in self._keys:
                raise KeyError(key)
            self._made[key] = self._make(key)
        return self._made[key]

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


@contextmanager
def paused_garbage_collection() -> Generator[None]:
    """Pause Python's cycle collector: many rows that stay are made, and it would visit them all often.

    Afterwards they count as old, so that it does not visit them at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # what somebody else has frozen stays frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
