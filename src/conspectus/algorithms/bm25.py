"""BM25 over postings: which texts hold a term, how often (Robertson and Zaragoza, 2009)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Ints = np.ndarray[Any, np.dtype[np.int32]]
AnyInts = np.ndarray[Any, np.dtype[np.integer[Any]]]
Floats = np.ndarray[Any, np.dtype[np.float32]]


@dataclass(frozen=True)
class Postings:
    """Term `t` is in texts `texts[starts[t]:starts[t + 1]]`, `counts` times each; `lengths` are in terms."""

    starts: Ints
    texts: Ints
    counts: Ints
    lengths: Ints

    def arrays(self, name: str) -> dict[str, np.ndarray[Any, Any]]:
        """Return the arrays by the names under which an index keeps them."""
        return {f"{name}.{part}": getattr(self, part) for part in ("starts", "texts", "counts", "lengths")}

    @classmethod
    def of(cls, arrays: Mapping[str, np.ndarray[Any, Any]], name: str) -> Postings:
        """Return the postings kept under a name."""
        return cls(*(arrays[f"{name}.{part}"] for part in ("starts", "texts", "counts", "lengths")))

    @cached_property
    def mean_length(self) -> float:
        """The mean number of terms in a text, more than 0."""
        return max(float(self.lengths.mean()), 1e-9) if len(self.lengths) else 1.0

    def frequency(self, term: int) -> int:
        """Return how many texts hold a term."""
        return int(self.starts[term + 1] - self.starts[term])


def postings(terms: AnyInts, owners: AnyInts, *, size: int, texts: int) -> Postings:
    """Count the terms of texts: flat numbers of terms, below `size`, with the text of each, below `texts`."""
    flat = np.asarray(terms, np.int64)
    code, counts = np.unique(flat * max(texts, 1) + owners, return_counts=True)
    starts = np.searchsorted(code, np.arange(size + 1, dtype=np.int64) * max(texts, 1))
    lengths = np.bincount(owners, minlength=texts)
    return Postings(
        starts.astype(np.int32),
        (code % max(texts, 1)).astype(np.int32),
        counts.astype(np.int32),
        lengths.astype(np.int32),
    )


def idf(texts: int, frequency: int) -> float:
    """Return the inverse document frequency of a term, never below zero."""
    return float(np.log(1 + (texts - frequency + 0.5) / (frequency + 0.5)))


def gains(index: Postings, term: int, k1: float = 1.2, b: float = 0.75) -> tuple[Ints, Floats]:
    """Return the texts that hold a term, and what it adds to the score of each."""
    low, high = int(index.starts[term]), int(index.starts[term + 1])
    where, count = index.texts[low:high], index.counts[low:high]
    norm = k1 * (1 - b + b * index.lengths[where] / index.mean_length)
    return where, (idf(len(index.lengths), high - low) * count * (k1 + 1) / (count + norm)).astype(np.float32)


def bm25(index: Postings, query: Iterable[tuple[int, float]], k1: float = 1.2, b: float = 0.75) -> Floats:
    """Return the score of every text for a query of terms with weights; a repeated term counts again."""
    scores = np.zeros(len(index.lengths), np.float32)
    for term, weight in query:
        where, gain = gains(index, term, k1, b)
        scores[where] += np.float32(weight) * gain
    return scores
