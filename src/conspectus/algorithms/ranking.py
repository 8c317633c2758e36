"""Score texts by terms and vectors and nodes by edges, scale the scores, and select the highest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array, csr_matrix

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]


def scaled(scores: Floats) -> Floats:
    """Return scores divided by the highest, with negative ones as 0."""
    return np.maximum(scores, 0) / max(float(scores.max(initial=0.0)), 1e-9)


def highest(scores: Floats, k: int) -> Ints:
    """Return the indices of the `k` highest scores, the best first; of equal ones, the first."""
    best = np.flatnonzero(scores > 0)  # usually few, which are then all that matter
    if len(best) < k:
        best = np.arange(len(scores))
    if k < len(best):
        among = scores[best]
        best = best[among >= np.partition(among, len(among) - k)[len(among) - k]]
    return best[np.argsort(-scores[best], kind="stable")][:k]


def ranges(first: Ints, last: Ints) -> tuple[Ints, Ints]:
    """Return the numbers from each `first` to each `last` (excluded), range after range, and the size of each range."""
    sizes = np.maximum(last - first.astype(np.int64), 0)
    begin = np.cumsum(sizes) - sizes
    return np.repeat(first - begin, sizes) + np.arange(int(sizes.sum())), sizes


def positions(ordered: Ints, values: Ints) -> Ints:
    """Return the index of each of some values in an ascending array, -1 for one that is not in it."""
    if not len(ordered):
        return np.full(len(values), -1)
    at = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    return np.where(ordered[at] == values, at, -1)


BLOCK = 1 << 22
"""Numbers in vectors that are converted at once: 16 MB. numpy multiplies float16 eight times slower than float32."""
SORTED = 1 << 20
"""Terms that are sorted at once, as 64 bits each: all of 11 million tokens would be 80 MB, and as much again. Of very
many terms, a sixteenth is sorted at once, because each pass reads all of them."""


def products(vectors: Floats, query: Floats) -> Floats:
    """Return the inner product of each of the vectors, (n, d), with one, (d,), or with each of several, (d, m). With
    vectors of 384 numbers as float32, 66,000 take 5 ms on one core, and 1,000,000 take 73 ms.
    """
    if vectors.dtype == np.float32:
        return vectors @ query
    rows = max(1, BLOCK // max(vectors.shape[1], 1))
    starts = range(0, len(vectors), rows)
    parts = [vectors[start : start + rows].astype(np.float32) @ query for start in starts]
    return np.concatenate([np.zeros((0, *query.shape[1:]), np.float32), *parts])


CENTRES, PROBED = 4, 256
"""Number of lists, as a multiple of the square root of the number of vectors, and how many of them are searched. Of the
ten nearest of 200,000 vectors, 94 % are in 64 lists, 97 % in 128 (9 % of the vectors), 99 % in 256; for sentences
alone, without made-up ones among them, fewer. With a quarter of the lists, twice as many vectors contain as many."""
SAMPLE, ROUNDS = 32, 3
"""Vectors per list from which the centres are computed, and rounds of k-means. Of the ten nearest of 31,751 vectors, 32
lists contain 80 % without a round, 88 % with 2 or 5, 89 % with 10; 87 % with half the vectors."""
TOGETHER = 16
"""Lists that are multiplied at once: 4,000 vectors of a million."""
LARGEST_CODE = 127
"""Largest absolute value of an 8-bit code."""


@dataclass(frozen=True)
class InArrays:
    """Data that an index stores as several arrays, each named by the name of the whole and its own."""

    def arrays(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays by their names in an index."""
        return {f"{name}.{part.name}": getattr(self, part.name) for part in fields(self)}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray[Any, Any]], name: str) -> Self:
        """Return the data stored under a name, from arrays or from slices, which read parts of them."""
        return cls(*(arrays[f"{name}.{part.name}"] for part in fields(cls)))


@dataclass(frozen=True)
class VectorLists(InArrays):
    """Vectors in lists, each in that of its nearest centre: list `i` has rows `rows[starts[i]:starts[i + 1]]`. `codes`
    are the vectors in this order, as 8-bit numbers, `scales` the factor of each.
    """

    centres: Floats
    starts: Ints
    rows: Ints
    scales: Floats
    codes: Ints

    @classmethod
    def made(cls, vectors: Floats) -> VectorLists:
        """Divide vectors of length 1 into lists by k-means, which starts from evenly spaced ones."""
        count = int(CENTRES * len(vectors) ** 0.5)
        sample = _spread(vectors, SAMPLE * count)
        centres = _spread(sample, count)
        for _ in range(ROUNDS):
            nearest = _nearest(sample, centres)
            order = np.argsort(nearest, kind="stable")
            present, first = np.unique(nearest[order], return_index=True)
            sums = np.add.reduceat(sample[order], first)
            centres[present] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)
        nearest = _nearest(vectors, centres)
        rows = np.argsort(nearest, kind="stable").astype(np.int32)
        starts = np.searchsorted(nearest[rows], np.arange(len(centres) + 1)).astype(np.int32)
        scales, codes = np.zeros(len(vectors), np.float32), np.zeros(vectors.shape, np.int8)
        for part in np.array_split(np.arange(len(vectors)), 1 + vectors.size // BLOCK):
            numbers = vectors[rows[part]].astype(np.float32)
            scales[part] = np.maximum(np.abs(numbers).max(axis=1), 1e-9) / LARGEST_CODE
            codes[part] = np.rint(numbers / scales[part, None])
        return cls(centres.astype(np.float16), starts, rows, scales, codes)

    def products(self, query: Floats) -> Floats:
        """Return what the function of this name does, but only for vectors in the nearest lists; 0 for the others."""
        queries = query.reshape(len(query), -1)
        likeness = products(self.centres[...], queries)
        probed = np.argpartition(-likeness, min(PROBED, len(likeness)) - 1, axis=0)[:PROBED]
        scores = np.zeros((len(self.rows), queries.shape[1]), np.float32)
        starts, lists = self.starts[...], np.unique(probed)
        for some in np.array_split(lists, 1 + len(lists) // TOGETHER):
            at = ranges(starts[some], starts[some + 1])[0]
            scores[self.rows[at]] = self.codes[at].astype(np.float32) @ queries * self.scales[at][:, None]
        return scores.reshape(-1, *query.shape[1:])


def _spread(vectors: Floats, most: int) -> Floats:
    """Return `most` vectors, evenly spaced, or all if there are fewer."""
    return vectors[np.linspace(0, len(vectors) - 1, min(len(vectors), most)).astype(int)].astype(np.float32)


def _nearest(vectors: Floats, centres: Floats) -> Ints:
    """Return the index of the centre nearest to each vector."""
    parts = np.array_split(vectors, 1 + len(vectors) * len(centres) // BLOCK)
    return np.concatenate([(part.astype(np.float32) @ centres.T).argmax(axis=1) for part in parts])


def personalized_pagerank(
    adjacency: csr_array[Any, Any] | csr_matrix[Any],
    reset: ArrayLike,
    damping: float = 0.85,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
) -> NDArray[np.float64]:
    """Return how often a walker is on each node who, with probability 1 - damping, jumps to one of `reset`.

    A step follows an edge from a row to a column, in proportion to its weight; from a node without edges the walker
    jumps, too. Neither `reset` (a weight for each node) nor the adjacency needs to be normalised. The result sums to 1,
    and its absolute differences from the exact one sum to at most `tolerance`.

    Raises ValueError if `reset` is not one weight for each node, none negative and not all zero, or `damping` is not in
    [0, 1); ArithmeticError if `max_iterations` do not reach the tolerance.
    """
    jump = np.asarray(reset, np.float64)
    weights = np.isfinite(jump).all() and jump.min(initial=0) >= 0 and jump.any()
    if jump.shape != adjacency.shape[:1] or not weights:
        raise ValueError("reset must hold one weight for each node, none negative and not all zero")
    if not 0 <= damping < 1:
        raise ValueError(f"damping must be at least 0 and less than 1, not {damping}")
    jump = jump / jump.sum()
    out = np.asarray(adjacency.sum(axis=1), np.float64).ravel()
    share = np.divide(damping, out, out=np.zeros_like(out), where=out > 0)
    backward = adjacency.T
    rank = jump
    for _ in range(max_iterations):
        walked = backward @ (share * rank)
        following = walked + (1 - walked.sum()) * jump
        change = float(np.abs(following - rank).sum())
        rank = following
        if change * damping <= tolerance * (1 - damping):  # each step multiplies the error by the damping
            return rank
    raise ArithmeticError(f"PageRank did not settle within {tolerance:g} in {max_iterations} iterations")


@dataclass(frozen=True)
class Postings(InArrays):
    """Inverted index: term `t` is in `texts[starts[t]:starts[t + 1]]`, `counts` times each; `lengths` are in terms."""

    starts: Ints
    texts: Ints
    counts: Ints
    lengths: Ints

    @cached_property
    def mean_length(self) -> float:
        """The mean number of terms in a text, more than 0."""
        return max(float(self.lengths[:].mean()), 1e-9) if len(self.lengths) else 1.0

    def frequency(self, term: int) -> int:
        """Return how many texts contain a term."""
        return int(self.starts[term + 1] - self.starts[term])


def postings(
    terms: Ints, sizes: Ints, shared: tuple[Ints, Ints, Ints] | None = None, *, size: int
) -> Postings:
    """Return the inverted index of texts: `terms` are numbers below `size`, text after text, `sizes` how many each has.

    `shared` are further terms, with the first and last (excluded) of the texts in which each occurs once more.
    """
    more, first, last = shared or (np.zeros(0, np.int64),) * 3
    texts, owner = len(sizes), np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    steps = np.bincount(first, minlength=texts + 1) - np.bincount(last, minlength=texts + 1)
    lengths = sizes + np.cumsum(steps)[:texts]
    lengths = lengths.astype(np.min_scalar_type(lengths.max(initial=0)))
    uses = np.bincount(terms, minlength=size) + np.bincount(more, last - first, size)
    uses = np.cumsum(uses.astype(np.int64))
    total = int(uses[-1]) if size else 0
    steps = np.arange(0, total, max(SORTED, total // 16))[1:]
    ends: list[int] = np.searchsorted(uses, steps, "right").tolist()
    # the unused end of the array is never touched, so that it takes no memory
    of, counts = np.empty(total, np.int32), [np.zeros(0, np.uint8)]
    frequency, done = np.zeros(size + 1, np.int32), 0
    for low, high in pairwise([0, *dict.fromkeys(ends), size]):
        inside = np.flatnonzero((terms >= low) & (terms < high))
        others = np.flatnonzero((more >= low) & (more < high))
        code = terms[inside] * np.int64(texts) + owner[inside]
        spread, numbers = ranges(first[others], last[others])
        spread += np.repeat(more[others] * np.int64(texts), numbers)
        code = np.concatenate([code, spread])
        code.sort()
        new = np.flatnonzero(np.append(True, code[1:] != code[:-1])[: len(code)])
        uses_in = np.diff(new, append=len(code))
        counts.append(uses_in.astype(np.min_scalar_type(uses_in.max(initial=0))))  # mostly one byte
        code = code[new]
        frequency[low + 1 : high + 1] = np.bincount(code // max(texts, 1) - low, minlength=high - low)
        of[done : done + len(new)] = code % max(texts, 1)
        done += len(new)
    starts = np.cumsum(frequency, dtype=np.int32)
    return Postings(starts, of[:done], np.concatenate(counts), lengths)


def idf(texts: int, frequency: int) -> float:
    """Return the inverse document frequency of a term, never below zero."""
    return float(np.log(1 + (texts - frequency + 0.5) / (frequency + 0.5)))


def gains(
    index: Postings, term: int, k1: float = 1.2, b: float = 0.75, among: Ints | None = None
) -> tuple[Ints, Floats]:
    """Return the texts that contain a term, and its BM25 score in each; with `among`, as indices into this array."""
    low, high = int(index.starts[term]), int(index.starts[term + 1])
    at, texts = slice(low, high), index.texts[low:high]
    where = texts
    if among is not None:
        own = positions(texts, among)
        where = np.flatnonzero(own >= 0)
        at, texts = low + own[where], among[where]
    count = index.counts[at]
    norm = k1 * (1 - b + b * index.lengths[texts] / index.mean_length)
    return where, (idf(len(index.lengths), high - low) * count * (k1 + 1) / (count + norm)).astype(np.float32)


def bm25(index: Postings, query: Iterable[tuple[int, float]], k1: float = 1.2, b: float = 0.75) -> Floats:
    """Return the BM25 score of every text for a query of terms with weights; a repeated term counts again."""
    scores = np.zeros(len(index.lengths), np.float32)
    for term, weight in query:
        where, gain = gains(index, term, k1, b)
        scores[where] += np.float32(weight) * gain
    return scores
