"""How sure a mean is: percentile bootstrap over questions (Efron, 1979), and differences question by
question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """A mean and the bounds between which it lies with 95 % confidence."""

    mean: float
    low: float
    high: float


def bootstrap(values: Sequence[float], samples: int = 2000, seed: int = 0) -> Interval:
    """Return the mean of values, one for each question, and its 95 % interval over resampled questions."""
    if not len(values):
        return Interval(0.0, 0.0, 0.0)
    array = np.asarray(values, np.float64)
    picked = np.random.default_rng(seed).integers(0, len(array), (samples, len(array)))
    low, high = np.percentile(array[picked].mean(axis=1), (2.5, 97.5))
    return Interval(float(array.mean()), float(low), float(high))


def paired_difference(values: Sequence[float], others: Sequence[float], samples: int = 2000, seed: int = 0) -> Interval:
    """Return the mean difference between two methods on the same questions, and its 95 % interval.

    Raises ValueError where they do not have as many questions.
    """
    if len(values) != len(others):
        raise ValueError(f"{len(values)} and {len(others)} values are not of the same questions")
    return bootstrap(np.subtract(values, others).tolist(), samples, seed)
