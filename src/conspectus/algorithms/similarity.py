"""Find pairs of similar texts, by vectors or by character n-grams, block by block and never all at once.

CPU seconds for noun phrases of real texts, above a cosine of 0.8, on one core:

    phrases    by characters    by all vectors (384)    by near ones alone
     50,000          2                 12                      2
    137,899         13                 92                     10, with 99.6 % of the pairs
    200,000         25                  -                     17
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.ranking import Floats, Ints

Pairs = tuple[Ints, Ints, Floats]
"""First and second index (first < second) and cosine of each pair, in the order of the indices."""

BLOCK = 1024
"""Rows whose products with all others are computed at once: 82 MB for 20,000; with 256 or 4,096 it is no faster."""
MANY = 20_000
"""Most vectors that are all compared with each other: 2 CPU s."""
CENTRES, NEAREST = 4, 8
"""Beyond: centres, as a multiple of the square root of the vectors, and how many each vector is assigned to. All of 451
pairs of 6,970 names are found, with 4 nearest 96 %; with 16, or twice the centres, no more for twice the work."""
ROUNDING = 1e-6
"""Assumed relative error of sums of squares in 32 bits; for names, up to 0.3 of this was measured."""


def pairs_of_vectors(vectors: Floats, threshold: float, block: int = BLOCK, many: int = MANY) -> Pairs:
    """Return pairs of rows whose cosine exceeds a threshold; rows have length 1 or are all zero.

    Of up to `many` rows, these are all pairs; of more, those of rows that share one of their nearest centres.
    """
    return _all_pairs(vectors, threshold, block) if len(vectors) <= many else _near_pairs(vectors, threshold)


def _all_pairs(vectors: Floats, threshold: float, block: int = BLOCK) -> Pairs:
    pairs: list[Pairs] = []
    for start in range(0, len(vectors), block):
        likeness = vectors[start : start + block] @ vectors[start:].T
        first, second = np.nonzero(likeness > threshold)
        above = second > first
        first, second = first[above], second[above]
        pairs.append((first + start, second + start, likeness[first, second].astype(np.float32)))
    return _joined(pairs)


def _near_pairs(vectors: Floats, threshold: float) -> Pairs:
    """Return pairs of rows that share one of their `NEAREST` centres; the centres are evenly spaced rows."""
    n = len(vectors)
    centres = vectors[np.linspace(0, n - 1, int(CENTRES * n**0.5)).astype(int)]
    near = np.zeros((n, NEAREST), np.int32)
    for start in range(0, n, BLOCK):
        likeness = vectors[start : start + BLOCK] @ centres.T
        near[start : start + BLOCK] = np.argpartition(-likeness, NEAREST, axis=1)[:, :NEAREST]
    order = np.argsort(near, axis=None, kind="stable")
    edges = np.searchsorted(near.ravel()[order], np.arange(len(centres) + 1))
    pairs: list[Pairs] = []
    for members in np.split(order // NEAREST, edges[1:-1]):
        first, second, likeness = _all_pairs(vectors[members], threshold)
        pairs.append((members[first], members[second], likeness))
    first, second, likeness = _joined(pairs)
    _, once = np.unique(first * n + second, return_index=True)
    return first[once], second[once], likeness[once]


def pairs_of_texts(texts: Sequence[str], threshold: float, size: int = 3, block: int = BLOCK) -> Pairs:
    """Return pairs of texts whose n-grams of `size` characters, weighted by rarity, have a cosine above a threshold.

    Candidates share one of their rarer n-grams. These are, for each text, the rarest ones, so many that the others
    weigh too little to reach the threshold alone: no pair above it is missed.
    """
    grams = Grams.of(texts, size).matrix
    pairs: list[Pairs] = []
    telling = _telling(grams, threshold)
    holding = telling.T.tocsr()
    for start in range(0, grams.shape[0], block):
        candidates = (telling[start : start + block] @ holding).tocoo()
        first, second = candidates.row.astype(np.int64) + start, candidates.col.astype(np.int64)
        different = second > first
        first, second = first[different], second[different]
        likeness = np.asarray(grams[first].multiply(grams[second]).sum(axis=1)).ravel()
        above = likeness > threshold
        pairs.append((first[above], second[above], likeness[above].astype(np.float32)))
    first, second, likeness = _joined(pairs)
    order = np.lexsort((second, first))
    return first[order], second[order], likeness[order]


def _telling(grams: sparse.csr_array[Any, Any], threshold: float) -> sparse.csr_array[Any, Any]:
    """Return the matrix with only the rarest n-grams of each row; the others have a norm of at most `threshold`.

    By Cauchy-Schwarz, the rarest n-gram that a pair above the threshold shares remains in both: otherwise, all that
    they share would be among the n-grams left out of one.
    """
    frequency = np.bincount(grams.indices, minlength=grams.shape[1])
    row: Ints = np.repeat(np.arange(len(grams.indptr) - 1), np.diff(grams.indptr))
    order = np.lexsort((grams.indices, -frequency[grams.indices], row))  # the most frequent of each row first
    squares = grams.data[order].astype(np.float64) ** 2
    total = np.cumsum(squares)
    before = np.concatenate(([0.0], total))[grams.indptr[:-1]]
    left_out = total - before[row[order]] <= threshold**2 * (1 - ROUNDING)
    rarest = order[~left_out]
    columns, rows = grams.indices[rarest], row[rarest]
    return sparse.csr_array((np.ones(len(rarest), np.float32), (rows, columns)), shape=grams.shape)


@dataclass(frozen=True)
class Grams:
    """Texts by their character n-grams, with ends marked, weighted by inverse frequency, in rows of length 1."""

    number: Mapping[str, int]
    weights: Floats
    matrix: sparse.csr_array[Any, Any]
    size: int

    @classmethod
    def of(cls, texts: Sequence[str], size: int = 3) -> Grams:
        """Return the weighted n-grams of texts."""
        number: dict[str, int] = {}
        counts = _counted(texts, size, lambda run: number.setdefault(run, len(number)), number)
        frequency = np.bincount(counts.indices, minlength=len(number))
        weights = np.log(1 + len(texts) / np.maximum(frequency, 1)).astype(np.float32)
        return cls(number, weights, _weighted(counts, weights), size)

    def likeness(self, texts: Sequence[str]) -> Floats:
        """Return the cosine of each of other texts with each of these, by the n-grams of these."""
        counts = _counted(texts, self.size, lambda run: self.number.get(run, -1), self.number)
        return (_weighted(counts, self.weights) @ self.matrix.T).toarray()


def _counted(
    texts: Sequence[str], size: int, column: Callable[[str], int], number: Mapping[str, int]
) -> sparse.csr_array[Any, Any]:
    columns: list[int] = []
    starts = [0]
    for text in texts:
        marked = f" {text} "
        runs = (column(marked[i : i + size]) for i in range(max(1, len(marked) - size + 1)))
        columns += (run for run in runs if run >= 0)
        starts.append(len(columns))
    counts = sparse.csr_array(
        (np.ones(len(columns), np.float32), columns, starts), shape=(len(texts), len(number))
    )
    counts.sum_duplicates()
    return counts


def _weighted(counts: sparse.csr_array[Any, Any], weights: Floats) -> sparse.csr_array[Any, Any]:
    counts.data *= weights[counts.indices]
    lengths = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    counts.data /= np.repeat(np.maximum(lengths, 1e-12), np.diff(counts.indptr)).astype(np.float32)
    return counts


def _joined(parts: Sequence[Pairs]) -> Pairs:
    first = np.concatenate([np.zeros(0, np.int64), *(p[0] for p in parts)])
    second = np.concatenate([np.zeros(0, np.int64), *(p[1] for p in parts)])
    return first, second, np.concatenate([np.zeros(0, np.float32), *(p[2] for p in parts)])
