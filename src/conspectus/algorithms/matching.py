"""Find sequences of numbers in an array of numbers, by rolling hashes (Karp and Rabin, 1987)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from conspectus.algorithms.ranking import positions
from conspectus.algorithms.statistics import Hashes, Ints

_BASE = np.uint64(0x9E3779B97F4A7C15)
_LOW_BITS = np.uint64((1 << 20) - 1)
"""Bits of a hash compared first, as few positions begin a sequence: one word in 30 is looked up in vain."""


def longest_matches(numbers: Ints, row: Ints, first: Ints, tables: Mapping[int, Hashes]) -> tuple[Ints, Ints]:
    """Return the row and the sequence of the longest match from each position in `first`, if there is one.
    No match goes beyond a row. `tables` has by length the hashes of the sequences, ascending, and their indices.
    """
    index_at = np.full(len(numbers), -1, np.int64)
    rolling = np.zeros(len(first), np.uint64)  # the hash of the `size` numbers that begin at each position
    for size in range(1, min(max(tables, default=0), len(numbers)) + 1):
        first = first[: np.searchsorted(first, len(numbers) - size, "right")]
        rolling = rolling[: len(first)] * _BASE + mixed(numbers[first + size - 1])
        if size in tables:
            hashes, indices = tables[size]
            likely = np.zeros(int(_LOW_BITS) + 1, bool)
            likely[hashes & _LOW_BITS] = True
            at = np.flatnonzero(likely[rolling & _LOW_BITS] & (row[first] == row[first + size - 1]))
            index = positions(hashes, rolling[at])
            index_at[first[at[index >= 0]]] = indices[index[index >= 0]]
    hits = np.flatnonzero(index_at >= 0)
    return row[hits], index_at[hits]


MOST_ALIKE = 4
"""Most positions of a sequence for rows that begin with it to be compared with those that contain it: what four rows
share is a phrase, and to compare all of 1,000 alike documents with each other would take a million steps."""


def continuations(
    numbers: Ints, begin: Ints, end: Ints, least: int, slack: int
) -> Iterator[tuple[int, int, int, int]]:
    """Yield the rows that begin with what another one ends with: row, position in it, position in the other, and size.
    Row `i` is `numbers[begin[i]:end[i]]`. At least `least` numbers are the same, after up to `slack` others at the
    beginning of the row and before as many at the end of the other one. Of several overlaps the longest is taken.
    """
    rolling = np.zeros(max(len(numbers) - least + 1, 0), np.uint64)
    for k in range(least):
        rolling = rolling * _BASE + numbers[k : k + len(rolling)].astype(np.uint64)
    heads = begin[begin + least + slack <= end, np.newaxis] + np.arange(1, slack + 1)
    alike: dict[int, list[int]] = defaultdict(list)
    for at in np.flatnonzero(np.isin(rolling, rolling[heads])).tolist():
        alike[int(rolling[at])].append(at)
    for row in np.flatnonzero(begin + least + slack <= end).tolist():
        best = 0, 0, 0
        for head in range(int(begin[row]) + 1, int(begin[row]) + slack + 1):
            for at in ats if len(ats := alike[int(rolling[head])]) <= MOST_ALIKE else ():
                other = int(np.searchsorted(end, at, "right"))
                own, its = numbers[head : end[row]], numbers[at : end[other]]
                size = int(np.append(own[: len(its)] == its[: len(own)], False).argmin())
                if other != row and size + slack >= len(its):
                    best = max(best, (size, head, at))
        size, head, at = best
        if size >= least:
            yield row, head, at, size


def hash_of_sequence(numbers: Sequence[int]) -> int:
    """Return the hash by which a sequence of numbers is found."""
    rolling = np.zeros(1, np.uint64)
    for code in mixed(np.array(numbers)):
        rolling = rolling * _BASE + code
    return int(rolling[0])


def mixed(numbers: Ints) -> Hashes:
    """Return a pseudo-random 64-bit code for each number."""
    code = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0xBF58476D1CE4E5B9)
    return code ^ (code >> np.uint64(29))


def apart(start: Ints, size: int) -> Ints:
    """Return the ascending starts of sequences of `size`, skipping those that overlap one that is returned."""
    if size == 1 or not len(start):
        return start
    chosen: list[int] = []
    end = -1
    for at in start.tolist():
        if at >= end:
            chosen.append(at)
            end = at + size
    return np.array(chosen, np.int64)
