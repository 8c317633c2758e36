"""A random walk between sentences and the names in them, drawn to the sentences that are like a question.

From a sentence the walker goes to one of its names; from a name to one of the sentences that it leads to, the
more readily the more that sentence is like the question. With probability 1 - damping it starts again.
Passages are ranges of sentences, in order, and may overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.ranking import Floats, Ints, ranges

DAMPING = 0.87
"""Damping factor of the walk: probability of going on at each step."""
STEPS = 9
"""Number of steps of the walk."""
LEAST = 3e-7
"""The part of the walk from which on a sentence is left for its names, and for each of its sentences a name. At 11
million tokens the first twelve chunks are those of the whole walk, but for chunks whose scores are as good as equal."""
WHOLE = 1 << 17
"""Sentences up to which a walk goes over all: from twice as many on it is cheaper to see where it goes."""

Matrix = sparse.csr_array[Any, Any]


@dataclass(frozen=True)
class Incidence:
    """Reads the names of sentences (`outward`; rows sum to 1) and the sentences of names (`inward`: `sizes` each)."""

    outward: Callable[[Ints], Matrix]
    inward: Callable[[Ints], Matrix]
    sizes: Ints


class _Reached:
    """The rows of a matrix that a walk has reached, read when it does; columns draw it by their pull."""

    def __init__(self, read: Callable[[Ints], Matrix], pull: Floats) -> None:
        self._read, self._pull, self._rows = read, pull, np.zeros(0, np.int64)
        self._columns = read(self._rows).T

    def step(self, mass: Floats, reached: Any) -> Floats:
        """Return how much of the mass of the rows that are or were reached goes to each column."""
        reached[self._rows] = False
        if len(new := np.flatnonzero(reached)):
            rows = self._read(new)
            rows.data = rows.data * self._pull[rows.indices]
            rows.data /= np.repeat(np.maximum(rows.sum(axis=1), 1e-12), np.diff(rows.indptr))
            self._rows = np.concatenate((self._rows, new))
            self._columns = sparse.hstack((self._columns, rows.T), "csc")
        return self._columns @ mass[self._rows]


def walk(
    incidence: Incidence,
    pull: Floats,
    sentence_reset: Floats,
    name_reset: Floats,
    damping: float = DAMPING,
    steps: int = STEPS,
) -> Floats:
    """Return how much of the walk is on each sentence, on average over the last two of so many steps.

    `pull` (more than 0) is how like the question each sentence is. The resets need not be normalised. The walk sums to
    1, on sentences and names together, less what is lost on sentences without names, on names without sentences, and
    where too little arrives to go on (`LEAST`), as in the local PageRank of Andersen, Chung and Lang (2006). Sentences
    and names take turns, so that odd and even steps differ: hence two.
    """
    total = max(float(sentence_reset.sum() + name_reset.sum()), 1e-9)
    at_sentences, at_names = ((reset / total).astype(np.float32) for reset in (sentence_reset, name_reset))
    from_sentences, from_names = (1 - damping) * at_sentences, (1 - damping) * at_names
    outward, inward = _Reached(incidence.outward, np.ones_like(at_names)), _Reached(incidence.inward, pull)
    least = LEAST if len(pull) > WHOLE else -1
    of_names, previous = least * np.maximum(incidence.sizes, 1), at_sentences
    for _ in range(steps):
        previous = at_sentences
        to_names = outward.step(damping * at_sentences, at_sentences > least)
        at_sentences = inward.step(damping * at_names, at_names > of_names)
        at_sentences += from_sentences
        at_names = to_names + from_names
    return (previous + at_sentences) / 2


# Passages


def totals(values: Floats, first: Ints, last: Ints) -> Floats:
    """Return the sum of the values of each range."""
    sums = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    return sums[last] - sums[first]


def spread(shares: Floats, pull: Floats, first: Ints, last: Ints) -> Floats:
    """Return what each sentence gets if passages divide their shares, more than `LEAST`, among them by the pull."""
    chosen = np.flatnonzero(shares > LEAST)
    at, sizes = ranges(first[chosen], last[chosen])
    passage = np.repeat(np.arange(len(chosen)), sizes)
    total = np.bincount(passage, pull[at], len(chosen))
    parts = pull[at] * (shares[chosen] / np.maximum(total, 1e-12))[passage]
    return np.bincount(at, parts, len(pull)).astype(np.float32)
