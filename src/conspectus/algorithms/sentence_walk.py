"""A random walk between sentences and the names in them, drawn to the sentences that are like a question.

From a sentence the walker goes to one of its names; from a name to one of the sentences that it leads to, the
more readily the more that sentence is like the question. With probability 1 - damping it starts again.
Passages are ranges of sentences, in order, and may overlap.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

DAMPING = 0.87
"""Damping factor of the walk: probability of going on at each step."""
STEPS = 9
"""Number of steps of the walk."""

Matrix = sparse.csr_array[Any, Any]
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]


@dataclass(frozen=True)
class Incidence:
    """`outward`: sentences by names, rows sum to 1 (or 0); `inward`: names by sentences, of any weights."""

    outward: Matrix
    inward: Matrix


def walk(
    incidence: Incidence,
    pull: Floats,
    sentence_reset: Floats,
    name_reset: Floats,
    damping: float = DAMPING,
    steps: int = STEPS,
) -> Floats:
    """Return how much of the walk is on each sentence, on average over the last two of so many steps.

    `pull` (more than 0) is how like the question each sentence is. The resets need not be normalised; together they are
    taken to sum to 1. Then so does the walk, on sentences and names together, less what is lost on sentences without
    names and names without sentences. Sentences and names take turns, so that odd and even steps differ: hence two.
    """
    total = float(sentence_reset.sum() + name_reset.sum())
    if total <= 0:
        return np.zeros(len(sentence_reset), np.float32)
    at_sentences = (sentence_reset / total).astype(np.float32)
    at_names = (name_reset / total).astype(np.float32)
    from_sentences, from_names = (1 - damping) * at_sentences, (1 - damping) * at_names
    to_names, to_sentences = incidence.outward.T, incidence.inward.T
    reach = np.maximum(incidence.inward @ pull, 1e-12)
    previous = at_sentences
    for _ in range(steps):
        previous = at_sentences
        at_names, at_sentences = (
            damping * (to_names @ at_sentences) + from_names,
            damping * pull * (to_sentences @ (at_names / reach)) + from_sentences,
        )
    return (previous + at_sentences) / 2


# Passages


def totals(values: Floats, first: Ints, last: Ints) -> Floats:
    """Return the sum of the values of each range."""
    sums = np.concatenate(([0.0], np.cumsum(values, dtype=np.float64)))
    return sums[last] - sums[first]


def spread(shares: Floats, pull: Floats, first: Ints, last: Ints) -> Floats:
    """Return what each sentence gets if passages divide their shares among their sentences by the pull."""
    held = totals(pull, first, last)
    by_pull = np.divide(shares, held, out=np.zeros(len(shares)), where=last > first)
    edges = np.zeros(len(pull) + 1)
    np.add.at(edges, first, by_pull)
    np.add.at(edges, last, -by_pull)
    return pull * np.maximum(np.cumsum(edges)[:-1], 0)


def sentences_of(passages: Ints, first: Ints, last: Ints) -> Ints:
    """Return the sentences of some passages, each once, ascending."""
    inside = np.zeros(int(last.max(initial=0)) + 1, np.int64)
    np.add.at(inside, first[passages], 1)
    np.add.at(inside, last[passages], -1)
    return np.flatnonzero(np.cumsum(inside))
