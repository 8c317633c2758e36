"""A random walk between sentences and the names in them, drawn to sentences that are similar to a question.

From a sentence the walker goes to one of its names; from a name to one of its sentences, the more probably the more
similar that sentence is to the question. With probability 1 - damping it starts again. Passages are ranges of
sentences, in order, and may overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.ranking import Floats, Ints, ranges

DAMPING = 0.87
"""Damping factor of the walk: probability of continuing at each step."""
STEPS = 9
"""Number of steps of the walk."""
LEAST = 3e-7
"""Least share of the walk at which it continues from a sentence, and from a name for each of the name's sentences. At
11 million tokens, the first twelve chunks are those of the whole walk, except for chunks with almost equal scores."""
WHOLE = 1 << 17
"""Most sentences for a walk over the whole graph: from twice as many on, it is cheaper to track what it reaches."""

Matrix = sparse.csr_array[Any, Any]


@dataclass(frozen=True)
class Incidence:
    """Reads the names of sentences (`outward`; rows sum to 1) and sentences of names (`inward`: `sizes` of each)."""

    outward: Callable[[Ints], Matrix]
    inward: Callable[[Ints], Matrix]
    sizes: Ints


class _Reached:
    """The rows of a matrix that a walk has reached, read on arrival; columns attract the walk by their pull."""

    def __init__(self, read: Callable[[Ints], Matrix], pull: Floats) -> None:
        self._read, self._pull, self._rows = read, pull, np.zeros(0, np.int64)
        self._columns = read(self._rows).T

    def step(self, mass: Floats, reached: Any) -> Floats:
        """Return how much mass goes to each column from the rows that are, or were, reached."""
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
    """Return the share of the walk on each sentence, averaged over the last two of `steps` steps.

    `pull` (more than 0) is how similar each sentence is to the question. The resets need not be normalised. The walk
    sums to 1 over sentences and names, minus what is lost at sentences without names, at names without sentences, and
    where too little arrives to continue (`LEAST`), as in the local PageRank of Andersen, Chung and Lang (2006).
    Sentences and names alternate, so that odd and even steps differ: hence two.
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
    """Return the sum of the values in each range from `first` to `last` (excluded)."""
    sums = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    return sums[last] - sums[first]


def spread(shares: Floats, pull: Floats, first: Ints, last: Ints) -> Floats:
    """Return the share of each sentence if passages divide theirs, above `LEAST`, among their sentences by pull."""
    chosen = np.flatnonzero(shares > LEAST)
    at, sizes = ranges(first[chosen], last[chosen])
    passage = np.repeat(np.arange(len(chosen)), sizes)
    total = np.bincount(passage, pull[at], len(chosen))
    parts = pull[at] * (shares[chosen] / np.maximum(total, 1e-12))[passage]
    return np.bincount(at, parts, len(pull)).astype(np.float32)
