"""Measures of one ranking against the passages that are relevant; all lie between 0 and 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2


def recall(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Return the share of the relevant passages that are among the first `k`."""
    return len(set(ranking[:k]) & relevant.keys()) / len(relevant)


def all_found(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Return 1 where every relevant passage is among the first `k`, else 0."""
    return float(relevant.keys() <= set(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, float]) -> float:
    """Return 1 / the place of the first relevant passage, 0 where there is none."""
    return next((1 / place for place, passage in enumerate(ranking, start=1) if passage in relevant), 0.0)


def ndcg(ranking: Sequence[str], relevant: Mapping[str, float], k: int) -> float:
    """Return the normalised discounted cumulative gain of the first `k` (Järvelin and Kekäläinen, 2002)."""
    gained = _discounted([relevant.get(passage, 0.0) for passage in ranking[:k]])
    return gained / _discounted(sorted(relevant.values(), reverse=True)[:k])


def _discounted(gains: Sequence[float]) -> float:
    return sum(gain / log2(place + 1) for place, gain in enumerate(gains, start=1))
