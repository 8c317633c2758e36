"""Scores of several kinds made one, and the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]


def scaled(scores: Floats) -> Floats:
    """Return scores between 0 and 1: over the highest, and 0 for what is below 0."""
    return np.maximum(scores, 0) / max(float(scores.max(initial=0.0)), 1e-9)


def fused(parts: Sequence[tuple[float, Floats]]) -> Floats:
    """Return the weighted sum of scores of the same things, each scaled, and the sum scaled again."""
    total = np.zeros(len(parts[0][1]) if parts else 0)
    for weight, scores in parts:
        total = total + weight * scaled(scores)
    return scaled(total)


def highest(scores: Floats, k: int) -> Ints:
    """Return the places of the `k` highest scores, the best first; of equal ones the first."""
    places = np.flatnonzero(scores > 0)  # mostly few, and then all that it takes
    if len(places) < k:
        places = np.arange(len(scores))
    if k < len(places):
        among = scores[places]
        places = places[among >= np.partition(among, len(among) - k)[len(among) - k]]
    return places[np.argsort(-scores[places], kind="stable")][:k]
