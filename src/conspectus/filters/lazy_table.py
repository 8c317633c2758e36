"""Tables that are made when they are first used."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar, overload

from conspectus.rows import Report

T = TypeVar("T")


class LazyTable(Sequence[T]):
    """The rows that a function returns, which is called when one of them, or their number, is first asked for."""

    def __init__(self, make: Callable[[], Sequence[T]]) -> None:
        self._make = make
        self._made: Sequence[T] | None = None

    @property
    def _rows(self) -> Sequence[T]:
        if self._made is None:
            self._made = self._make()
        return self._made

    @overload
    def __getitem__(self, at: int) -> T: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[T]: ...
    def __getitem__(self, at: int | slice) -> T | Sequence[T]:
        return self._rows[at]

    def __iter__(self) -> Iterator[T]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class Reports(Sequence[Report]):
    """Reports, each made when it is first read: few of them are for most questions."""

    def __init__(
        self,
        communities: Callable[[], Sequence[int]],
        make: Callable[[int], Report],
        counts: Callable[[], tuple[int, int, int]] | None = None,
    ) -> None:
        """`communities` returns the community of each report, `make` one report by its place.

        `counts` tells how many are as they were, how many are written anew, and how many are gone.
        """
        self.counts = counts
        self._of = communities
        self._make = make
        self._communities: Sequence[int] | None = None
        self._made: dict[int, Report] = {}

    @property
    def communities(self) -> Sequence[int]:
        """The number of the community of each."""
        if self._communities is None:
            self._communities = self._of()
        return self._communities

    @overload
    def __getitem__(self, at: int) -> Report: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Report]: ...
    def __getitem__(self, at: int | slice) -> Report | Sequence[Report]:
        places = range(len(self.communities))[at]
        return self._one(places) if isinstance(places, int) else [self._one(place) for place in places]

    @cached_property
    def by_community(self) -> ByCommunity:
        """The same by the number of their community."""
        return ByCommunity(self)

    def _one(self, place: int) -> Report:
        if place not in self._made:
            self._made[place] = self._make(place)
        return self._made[place]

    def __len__(self) -> int:
        return len(self.communities)


class ByCommunity(Mapping[int, Report]):
    """The same reports by the number of their community."""

    def __init__(self, reports: Reports) -> None:
        self._reports = reports
        self._known: dict[int, int] | None = None

    @property
    def _places(self) -> dict[int, int]:
        if self._known is None:
            self._known = {community: place for place, community in enumerate(self._reports.communities)}
        return self._known

    def __getitem__(self, community: int) -> Report:
        return self._reports[self._places[community]]

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, community: object) -> bool:
        return community in self._places
