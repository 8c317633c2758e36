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

Matrix = sparse.csr_array[Any, Any]
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]
Switches = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True)
class Incidence:
    """`outward`: sentences by names, rows sum to 1 (or 0); `inward`: names by sentences, of any weights."""

    outward: Matrix
    inward: Matrix


def walk(
    incidence: Incidence, pull: Floats, sentence_reset: Floats, name_reset: Floats, damping: float, steps: int
) -> Floats:
    """Return how much of the walk is on each sentence, on average over the last two of so many steps.

    `pull` (more than 0) is how like the question each sentence is. The resets need not be normalised;
    together they are taken to sum to 1. Then so does the walk, on sentences and names together, less what is
    lost on sentences without names and names without sentences. Sentences and names take turns, so that odd
    and even steps differ: hence two.
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
    """Return the sentences of some passages, ascending."""
    sizes = last[passages] - first[passages]
    return ascending(int(last.max(initial=0)), _ranges(first[passages], sizes))


def passages_of(sentences: Ints, first: Ints, last: Ints) -> Ints:
    """Return the passages that hold one of some sentences (and empty ones among them), ascending."""
    low = np.searchsorted(last, sentences, "right")
    return ascending(len(first), _ranges(low, np.searchsorted(first, sentences, "right") - low))


def ascending(size: int, *numbers: Ints) -> Ints:
    """Return all of some numbers below `size`, each once, ascending."""
    # several times as fast as np.unique, which hashes
    among = np.zeros(size, bool)
    for some in numbers:
        among[some] = True
    return np.flatnonzero(among)


def _ranges(starts: Ints, sizes: Ints) -> Ints:
    """Return the numbers from each start on, as many as its size says, one after the other."""
    offsets = np.cumsum(sizes)
    return np.arange(offsets[-1] if len(offsets) else 0) + np.repeat(starts - offsets + sizes, sizes)


# A part of the whole


def around(
    incidence: Incidence, sentences: Ints, names: Ints, common: Switches
) -> tuple[Ints, Ints, Incidence]:
    """Return the part of an incidence around some sentences and names: its sentences, its names, and itself.

    Its names are the given ones and those of the given sentences that are not `common` (a switch for each
    name); its sentences are the given ones and all that its names lead to. Rows sum to what they did, or to
    less.
    """
    near = columns(incidence.outward, sentences)
    kept = ascending(len(common), near[~common[near]], names)
    reached = ascending(incidence.outward.shape[0], columns(incidence.inward, kept), sentences)
    part = Incidence(_part(incidence.outward, reached, kept), _part(incidence.inward, kept, reached))
    return reached, kept, part


def columns(matrix: Matrix, rows: Ints) -> Ints:
    """Return the columns that some rows have entries in, ascending."""
    return ascending(matrix.shape[1], matrix.indices[_ranges(matrix.indptr[rows], _sizes(matrix, rows))])


def _sizes(matrix: Matrix, rows: Ints) -> Ints:
    return matrix.indptr[rows + 1] - matrix.indptr[rows]


def _part(matrix: Matrix, rows: Ints, kept: Ints) -> Matrix:
    """Return some rows and columns of a matrix; both must ascend."""
    sizes = _sizes(matrix, rows)
    entries = _ranges(matrix.indptr[rows], sizes)
    place = np.full(matrix.shape[1], -1, np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    column = place[matrix.indices[entries]]
    here = column >= 0
    starts = np.concatenate(([0], np.cumsum(here)))[np.concatenate(([0], np.cumsum(sizes)))]
    data = matrix.data[entries[here]]
    return sparse.csr_array((data, column[here], starts.astype(np.int32)), shape=(len(rows), len(kept)))
