"""A random walk between sentences and the names in them, drawn to the sentences that are like a question.

From a sentence the walker goes to one of its names; from a name to one of the sentences that it leads to, the more
readily the more that sentence is like the question. With probability 1 - damping it starts again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

Matrix = sparse.csr_array[Any, Any]
Floats = np.ndarray[Any, np.dtype[np.float32]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]


@dataclass(frozen=True)
class Incidence:
    """`outward`: sentences by names, rows sum to 1 (or 0); `inward`: names by sentences, of any weights."""

    outward: Matrix
    inward: Matrix


def walk(
    incidence: Incidence, pull: Floats, sentence_reset: Floats, name_reset: Floats, damping: float, steps: int
) -> Floats:
    """Return how much of the walk is on each sentence, on average over the last two of so many steps.

    `pull` (more than 0) is how like the question each sentence is. The resets need not be normalised; together they are
    taken to sum to 1, and then so does the walk, on sentences and names together, less what is on sentences without
    names and names without sentences. Sentences and names take turns, so that odd and even steps differ: hence two.
    """
    total = float(sentence_reset.sum() + name_reset.sum())
    if total <= 0:
        return np.zeros_like(sentence_reset)
    at_sentences, at_names = sentence_reset / total, name_reset / total
    from_sentences, from_names = (1 - damping) * at_sentences, (1 - damping) * at_names
    reach = np.maximum(incidence.inward @ pull, 1e-12)
    to_names, to_sentences = incidence.outward.T, incidence.inward.T
    previous = at_sentences
    for _ in range(steps):
        previous = at_sentences
        at_names, at_sentences = (
            damping * (to_names @ at_sentences) + from_names,
            damping * pull * (to_sentences @ (at_names / reach)) + from_sentences,
        )
    return (previous + at_sentences) / 2


def around(
    incidence: Incidence, sentences: Ints, names: Ints, frequency: Ints, most_frequent: int
) -> tuple[Ints, Ints, Incidence]:
    """Return the part of an incidence around some sentences and names: its sentences, its names, and itself.

    Its names are the given ones and those of the given sentences that at most `most_frequent` passages hold; its
    sentences are the given ones and all that its names lead to. Rows still sum to what they did or to less.
    """
    outward, inward = incidence.outward, incidence.inward
    near = _columns(outward, sentences)
    kept = np.union1d(near[frequency[near] <= most_frequent], names)
    reached = np.union1d(_columns(inward, kept), sentences)
    place = np.full(outward.shape[1], -1, np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    part_out = _rows(outward, reached, place, len(kept))
    place = np.full(outward.shape[0], -1, np.int32)
    place[reached] = np.arange(len(reached), dtype=np.int32)
    part_in = _rows(inward, kept, place, len(reached))
    return reached, kept, Incidence(part_out, part_in)


def _entries(matrix: Matrix, rows: Ints) -> tuple[Ints, Ints]:
    """Return the places of the entries of some rows, and how many each row has."""
    starts = matrix.indptr[rows]
    sizes = matrix.indptr[rows + 1] - starts
    offsets = np.cumsum(sizes)
    return np.arange(offsets[-1] if len(offsets) else 0) + np.repeat(starts - offsets + sizes, sizes), sizes


def _columns(matrix: Matrix, rows: Ints) -> Ints:
    return np.unique(matrix.indices[_entries(matrix, rows)[0]])


def _rows(matrix: Matrix, rows: Ints, place: Ints, columns: int) -> Matrix:
    """Return some rows of a matrix, with only the columns that have a place, moved there."""
    entries, sizes = _entries(matrix, rows)
    to = place[matrix.indices[entries]]
    kept = to >= 0
    row = np.repeat(np.arange(len(rows)), sizes)[kept]
    starts = np.concatenate(([0], np.cumsum(np.bincount(row, minlength=len(rows))))).astype(np.int32)
    return sparse.csr_array((matrix.data[entries][kept], to[kept], starts), shape=(len(rows), columns))
