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


def rounded(interval: Interval, places: int = 4) -> dict[str, float]:
    """Return an interval as it goes into JSON."""
    return {name: round(value, places) for name, value in interval._asdict().items()}


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


def pooled(parts: Sequence[float], wholes: Sequence[float], samples: int = 2000, seed: int = 0) -> Interval:
    """Return the sum of parts over the sum of wholes, and its 95 % interval over resampled groups.

    Each group has a part and a whole, so that what belongs together is drawn together; 0 where the wholes sum to 0.
    """
    pairs = np.asarray([parts, wholes], np.float64)
    if not pairs[1].sum():
        return Interval(0.0, 0.0, 0.0)
    picked = np.random.default_rng(seed).integers(0, pairs.shape[1], (samples, pairs.shape[1]))
    part, whole = pairs[0][picked].sum(axis=1), pairs[1][picked].sum(axis=1)
    low, high = np.percentile(part[whole > 0] / whole[whole > 0], (2.5, 97.5))
    return Interval(float(pairs[0].sum() / pairs[1].sum()), float(low), float(high))
