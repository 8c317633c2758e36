"""Arrays and tables of an index carried over to other rows: to a subset of it, or to a union of several indexes.

`LAYOUT` says along which axes each array runs. An axis is a table, or another set that arrays run along: `sentences`,
`words` (terms), `names` (of the walk) and `phrases` (the names of the triple graph, in its order). A `RowMap` says
where the rows of an axis go. An array without a layout is not carried over, so that none is read along the wrong axis.
Tables and arrays are made when they are first read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, overload

import numpy as np

from conspectus.rows import Report

Array = np.ndarray[Any, Any]
Ints = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Column:
    """One value for each row of an axis."""

    rows: str
    of: str = ""
    """The axis whose rows the values number, -1 for none."""
    edges: bool = False
    """Whether the values say where a range of rows begins or ends."""


@dataclass(frozen=True)
class CsrColumns:
    """A list for each row of an axis: row `i` has `values[starts[i]:starts[i + 1]]`, which number rows of another."""

    rows: str
    of: str
    starts: str
    values: str
    beside: tuple[str, ...] = ()
    """Arrays that say more of each value."""

    @property
    def names(self) -> tuple[str, ...]:
        return self.starts, self.values, *self.beside


def _postings(name: str, texts: str) -> tuple[dict[str, Column], CsrColumns]:
    lists = CsrColumns("words", texts, f"{name}.starts", f"{name}.texts", (f"{name}.counts",))
    return {f"{name}.lengths": Column(texts)}, lists


_SENTENCES, _SENTENCE_TERMS = _postings("sentence_terms", "sentences")
_CHUNKS, _CHUNK_TERMS = _postings("chunk_terms", "chunks")
_WALK, _WALK_TERMS = _postings("walk_terms", "sentences")

COLUMNS: Mapping[str, Column] = {
    "sentences.document": Column("sentences", "documents"),
    "sentences.start": Column("sentences"),
    "sentences.end": Column("sentences"),
    "sentences.templated": Column("sentences"),
    "sentences.speaker": Column("sentences", "entities"),
    "walk.first": Column("chunks", "sentences", edges=True),
    "walk.last": Column("chunks", "sentences", edges=True),
    "walk.names": Column("names"),
    "walk.frequency": Column("names"),
    "walk.kinds": Column("names"),
    "vectors.chunks": Column("chunks"),
    "vectors.sentences": Column("sentences"),
    "vectors.triples": Column("triples"),
    "vectors.names": Column("phrases"),
    **_SENTENCES,
    **_CHUNKS,
    **_WALK,
}
LISTS: Sequence[CsrColumns] = (
    CsrColumns("sentences", "entities", "sentences.mention_starts", "sentences.mentions"),
    CsrColumns("sentences", "names", "walk.out_starts", "walk.out_names", ("walk.out_weights",)),
    CsrColumns("names", "sentences", "walk.in_starts", "walk.in_sentences", ("walk.in_weights",)),
    _SENTENCE_TERMS,
    _CHUNK_TERMS,
    _WALK_TERMS,
)
LAYOUT: Mapping[str, Column | CsrColumns] = {**COLUMNS, **{name: lists for lists in LISTS for name in lists.names}}
"""What each array goes along, by its name; `index.lexical`, `index.incidence` and `index.embed` say what it holds."""


@dataclass(frozen=True)
class RowMap:
    """Where the rows of an axis go: row `i` to `numbers[i]`, -1 where it goes nowhere."""

    numbers: Ints
    start: int = 0
    """Where the rows of this part begin."""

    @classmethod
    def of(cls, mask: Array) -> RowMap:
        """Return the places of the rows that are kept (a switch for each), one after the other."""
        return cls(np.where(mask, np.cumsum(mask) - 1, -1))

    @property
    def edges(self) -> Ints:
        """Where the edges between rows go."""
        return np.concatenate(([0], np.cumsum(self.numbers >= 0))) + self.start


Axis = Callable[[str], RowMap]
"""The places of the rows of an axis, by its name."""


class RemappedArrays(Mapping[str, Array]):
    """The arrays of one or several parts, carried over to where their rows go; each is made when it is first used."""

    def __init__(
        self,
        parts: Sequence[tuple[Mapping[str, Array], Axis]],
        size: Callable[[str], int],
        made: Mapping[str, Callable[[Mapping[str, Array]], Array]] | None = None,
        without: str = "",
    ) -> None:
        """`size` tells the rows of an axis; `made` makes arrays in another way; `without` begins names left out."""
        self._parts = parts
        self._size = size
        self._otherwise = made or {}
        self._names = [
            name
            for name in LAYOUT
            if all(name in arrays for arrays, _ in parts) and not (without and name.startswith(without))
        ]
        self._made: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._made:
            goes = LAYOUT[name]
            if name in self._otherwise:
                self._made[name] = self._otherwise[name](self)
            elif isinstance(goes, Column):
                self._made[name] = self._column(name, goes)
            else:
                self._made |= self._lists(goes)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def _column(self, name: str, goes: Column) -> Array:
        """Return a column; a row that several parts have bears the value of the first of them."""
        first = self._parts[0][0][name]
        column = np.zeros((self._size(goes.rows), *first.shape[1:]), first.dtype)
        for arrays, axis in reversed(self._parts):
            rows = axis(goes.rows).numbers
            mask = rows >= 0
            values = arrays[name][mask]
            if goes.edges:
                values = axis(goes.of).edges[values]
            elif goes.of:
                values = np.append(axis(goes.of).numbers, -1)[values]
            column[rows[mask]] = values
        return column

    def _lists(self, goes: CsrColumns) -> dict[str, Array]:
        """Return lists without the values that go nowhere; of several parts, one after the other."""
        rows: list[Ints] = []
        columns: dict[str, list[Array]] = {name: [] for name in goes.names[1:]}
        for arrays, axis in self._parts:
            row = np.repeat(axis(goes.rows).numbers, np.diff(arrays[goes.starts]))
            value = axis(goes.of).numbers[arrays[goes.values]]
            mask = (row >= 0) & (value >= 0)
            rows.append(row[mask])
            columns[goes.values].append(value[mask].astype(arrays[goes.values].dtype))
            for name in goes.beside:
                columns[name].append(arrays[name][mask])
        row = np.concatenate(rows)
        made = {name: np.concatenate(values) for name, values in columns.items()}
        if np.any(row[1:] < row[:-1]):
            order = np.argsort(row, kind="stable")
            made = {name: values[order] for name, values in made.items()}
        counts = np.bincount(row, minlength=self._size(goes.rows))
        starts = np.concatenate(([0], np.cumsum(counts))).astype(self._parts[0][0][goes.starts].dtype)
        return {goes.starts: starts, **made}


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


class LazyReports(Sequence[Report]):
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
        return self._one(places) if isinstance(places, int) else [self._one(position) for position in places]

    @cached_property
    def by_community(self) -> ByCommunity:
        """The same by the number of their community."""
        return ByCommunity(self)

    def _one(self, position: int) -> Report:
        if position not in self._made:
            self._made[position] = self._make(position)
        return self._made[position]

    def __len__(self) -> int:
        return len(self.communities)


class ByCommunity(Mapping[int, Report]):
    """The same reports by the number of their community."""

    def __init__(self, reports: LazyReports) -> None:
        self._reports = reports
        self._known: dict[int, int] | None = None

    @property
    def _places(self) -> dict[int, int]:
        if self._known is None:
            self._known = {community: position for position, community in enumerate(self._reports.communities)}
        return self._known

    def __getitem__(self, community: int) -> Report:
        return self._reports[self._places[community]]

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, community: object) -> bool:
        return community in self._places
