"""Statistics of numbers: distinct ones, lists in flat arrays, and things that occur together more than by chance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import count, filterfalse
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]
Floats = np.ndarray[Any, np.dtype[np.float64]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]
Codes = np.ndarray[Any, np.dtype[np.uint8]]
Hashes = np.ndarray[Any, np.dtype[np.uint64]]

LISTS = 1 << 15
"""Lists (or sentences) whose values are processed at once, about 500,000 numbers: numpy needs 64 bits for each."""


def repeated(which: Ints, sizes: Ints, flat: Ints) -> tuple[Ints, Ints]:
    """Return the lists `which` as starts and values; list `i` has the next `sizes[i]` values of `flat`."""
    sizes = sizes.astype(np.int32)  # numpy sums in 64 bits by default
    begin = np.cumsum(sizes, dtype=np.int32) - sizes
    starts = np.zeros(len(which) + 1, np.int32)
    np.cumsum(sizes[which] if len(sizes) else [], dtype=np.int32, out=starts[1:])
    values = np.empty(starts[-1], flat.dtype)
    for low in range(0, len(which), LISTS):
        ends = starts[low : low + LISTS + 1]
        take = np.repeat(begin[which[low : low + LISTS]] - ends[:-1], np.diff(ends))
        take += np.arange(ends[0], ends[-1], dtype=np.int32)
        values[ends[0] : ends[-1]] = flat[take]
    return starts, values


def numbers_of(texts: Sequence[str], number: dict[str, int]) -> Ints:
    """Return the numbers of texts; a text without one gets the next number, which is added to `number`."""
    new = dict.fromkeys(filterfalse(number.__contains__, texts))
    number.update(zip(new, count(len(number)), strict=False))
    return np.array([*map(number.__getitem__, texts)], np.int32)


def concatenated(parts: Iterable[Sequence[Ints]], kinds: str) -> list[Any]:
    """Return the concatenated columns of parts, with the dtype codes `kinds`; frees the parts' columns one by one."""
    columns = [[np.zeros(0, kind)] for kind in kinds]
    for part in parts:
        for column, own in zip(columns, part, strict=True):
            column.append(own)
    return [np.concatenate(columns.pop(0), dtype=kind, casting="unsafe") for kind in kinds]


def unique_numbers(codes: Ints) -> Ints:
    """Return the distinct numbers, ascending; `np.unique` hashes them and takes ten times as long."""
    codes = np.sort(codes)
    return codes[np.append(True, codes[1:] != codes[:-1])[: len(codes)]]


def first_indices(numbers: Ints) -> Ints:
    """Return the first index of each distinct (small) number, in order; `np.unique` takes ten times as long."""
    first = np.full(int(numbers.max(initial=-1)) + 1, len(numbers), np.int32)
    # assigned in reverse: the first occurrence is written last
    first[numbers[::-1]] = np.arange(len(numbers), dtype=np.int32)[::-1]
    return first[first < len(numbers)]


def rounded_size(n: int) -> int:
    """Return a size rounded up to a power of 2**(1/4), so that one document more or less changes no statistics.

    >>> rounded_size(1000), rounded_size(1010)
    (1024, 1024)
    """
    return math.ceil(2 ** (math.ceil(4 * math.log2(max(n, 1))) / 4))


# Things that occur together more than by chance, by Dunning's log-likelihood ratio (1993)

SIGNIFICANT = 21.66
"""Least log-likelihood ratio of related things: twice 10.83 (chi-squared with one degree of freedom, p = 0.001), since
each co-occurrence is counted in two contexts. With half of it, web pages on society have 52 % more relationships and
podcasts 31 %, with the same answers and rankings."""
MAX_MEMBERS = 12
"""Maximum number of things in a context; lists and tables, which name more, say nothing about how two of them are
related. With 24, the foods that a novel lists once (pears, apples, lemons) were among its best connected entities."""
MAX_PARTNERS = 10
"""Partners that each thing may propose, its most significant ones: a graph has at most ten relationships per entity."""
MIN_PARTNERS = 3
"""Partners that each thing may propose even if not significant: in the sample of 43 short documents, a name has too few
uses for more than one significant partner, and otherwise the graph would have communities of only one level."""


def significant_pairs(contexts: Ints, members: Ints, things: int, total: int) -> Ints:
    """Return the pairs of things that share more contexts than by chance, as ascending codes `low * things + high`.

    Context `contexts[i]` of `total` names thing `members[i]`. Each thing proposes up to MAX_PARTNERS significant
    partners, and its MIN_PARTNERS best even if not significant. So there are at most MAX_PARTNERS pairs per thing, and
    every thing that shares a context with others is in a pair.
    """
    named = unique_numbers(contexts.astype(np.int64) * things + members)
    size = np.bincount(named // things, minlength=total)
    named = named[size[named // things] <= MAX_MEMBERS]
    frequency = np.bincount(named % things, minlength=things).astype(np.float64)
    pairs = [np.zeros(0, np.int64)]
    for gap in range(1, MAX_MEMBERS):
        first, second = named[:-gap], named[gap:]
        together = first // things == second // things
        pairs.append(first[together] % things * things + second[together] % things)
    codes, counts = np.unique(np.concatenate(pairs), return_counts=True)
    low, high, count = codes // max(things, 1), codes % max(things, 1), counts.astype(np.float64)
    total = rounded_size(total)
    ratio = log_likelihood_ratio(count, frequency[low], frequency[high], total)
    expected = frequency[low] * frequency[high] / total
    # negative if less often than by chance
    ratio = np.where(count >= expected, ratio, -ratio)
    order = np.lexsort((high, low, -ratio))
    low, high, ratio = low[order], high[order], ratio[order]
    rank = _rank(low, high, things)
    chosen = (rank < MIN_PARTNERS) | ((rank < MAX_PARTNERS) & (ratio > SIGNIFICANT))
    return np.sort(low[chosen] * things + high[chosen])


def _rank(low: Ints, high: Ints, things: int) -> Ints:
    """Return for each pair (the best first) the better of its two ranks, among the pairs of either of its things."""
    ends = np.column_stack([low, high]).ravel()  # of all pairs in order
    order = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[order], np.arange(things))
    rank = np.empty(len(ends), np.int64)
    rank[order] = np.arange(len(ends)) - starts[ends[order]]
    return rank.reshape(-1, 2).min(axis=1)


def log_likelihood_ratio(both: Floats, first: Floats, second: Floats, total: int) -> Floats:
    """Return the evidence that two things are not independent, from how many of `total` contexts have both and each.
    The ratio is 2 * sum(observed * log(observed / expected)) over the four cells of the contingency table. For
    independent things it is chi-squared distributed with one degree of freedom.
    """
    observed = (both, first - both, second - both, total - first - second + both)
    expected = (
        first * second / total,
        first * (total - second) / total,
        (total - first) * second / total,
        (total - first) * (total - second) / total,
    )
    terms = (
        o * np.log(np.maximum(o, 1e-12) / np.maximum(e, 1e-12))
        for o, e in zip(observed, expected, strict=True)
    )
    return 2 * np.sum(list(terms), axis=0)
