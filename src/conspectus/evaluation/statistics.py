"""Confidence intervals of means, and tests of whether two conditions differ: the statistics of GraphRAG appendix G."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import erfc, sqrt
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from scipy import stats

from conspectus.rows import Usage


class Interval(NamedTuple):
    """A mean and the bounds of its 95 % confidence interval."""

    mean: float
    low: float
    high: float


EXACT = frozenset({"p", "p_holm", "shapiro_p"})
"""Figures that are not rounded, because p values may be very small."""


def plain(value: Any, places: int = 4) -> Any:
    """Return results as plain values for JSON: dataclasses and intervals as objects, figures rounded to `places`."""
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Interval):
        value = value._asdict()
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, Any]", value).items()
        return {name: one if name in EXACT else plain(one, places) for name, one in pairs}
    if isinstance(value, list | tuple):
        return [plain(one, places) for one in cast("Sequence[Any]", value)]
    if isinstance(value, Path):
        return str(value)
    return round(value, places) if isinstance(value, float) else value


class Figures:
    """Results that can be converted to JSON."""

    def as_json(self) -> dict[str, Any]:
        """Return all figures by name, rounded to four decimals except p values."""
        return plain(self)


def bootstrap(values: Sequence[float], samples: int = 2000, seed: int = 0) -> Interval:
    """Return the mean of values, one per question, and its 95 % bootstrap interval over resampled questions."""
    return pooled(values, [1.0] * len(values), samples, seed)


def paired_difference(
    values: Sequence[float], others: Sequence[float], samples: int = 2000, seed: int = 0
) -> Interval:
    """Return the mean difference between two methods on the same questions, and its 95 % interval.

    Raises ValueError if the numbers of values differ.
    """
    if len(values) != len(others):
        raise ValueError(f"{len(values)} and {len(others)} values are not of the same questions")
    return bootstrap(np.subtract(values, others).tolist(), samples, seed)


def pooled(parts: Sequence[float], wholes: Sequence[float], samples: int = 2000, seed: int = 0) -> Interval:
    """Return the sum of parts divided by the sum of wholes, and its 95 % interval (percentile bootstrap; Efron, 1979).

    Each group has one part and one whole, which are resampled together. All values are 0 if the wholes sum to 0.
    """
    pairs = np.asarray([parts, wholes], np.float64)
    if not pairs[1].sum():
        return Interval(0.0, 0.0, 0.0)
    picked = np.random.default_rng(seed).integers(0, pairs.shape[1], (samples, pairs.shape[1]))
    part, whole = pairs[0][picked].sum(axis=1), pairs[1][picked].sum(axis=1)
    low, high = np.percentile(part[whole > 0] / whole[whole > 0], (2.5, 97.5))
    return Interval(float(pairs[0].sum() / pairs[1].sum()), float(low), float(high))


ALPHA = 0.05
"""The corrected p below which a difference is called significant."""
ALL_TIED, TOO_FEW = "all tied", "too few questions"
FEWEST = 6
"""Questions that are not ties: with fewer, no result could be significant, since 2 / 2^5 is more than .05."""


class SignedRank(NamedTuple):
    """The result of Wilcoxon's signed-rank test; `note` says why there are no figures."""

    z: float | None = None
    """At most 0, as in the paper; the mean shows which of the two is ahead."""
    p: float | None = None
    """Two-sided, by the normal approximation with a correction for ties and without one for continuity."""
    rank_biserial: float | None = None
    """The matched-pairs rank-biserial correlation (Kerby, 2014), from -1 (all for the second condition) to 1."""
    note: str = ""


def wilcoxon(margins: Sequence[float]) -> SignedRank:
    """Test whether margins, one per question, are centred on 0; margins of 0 are left out (Wilcoxon, 1945)."""
    untied = np.asarray([margin for margin in margins if margin], np.float64)
    if not len(untied):
        if not len(margins):
            return SignedRank(note=TOO_FEW)
        return SignedRank(rank_biserial=0.0, note=ALL_TIED)
    ranks = np.sign(untied) * stats.rankdata(np.abs(untied))
    rank_biserial = float(ranks.sum() / np.abs(ranks).sum())
    if len(untied) < FEWEST:
        return SignedRank(rank_biserial=rank_biserial, note=TOO_FEW)
    z = 0 - abs(float(ranks.sum())) / sqrt(float((ranks**2).sum()))  # by chance each rank has either sign
    return SignedRank(z, two_sided(z), rank_biserial)


def shapiro(margins: Sequence[float]) -> tuple[float | None, float | None]:
    """Return W and p of the test that margins are normally distributed (Shapiro and Wilk, 1965).

    Both are None if there are fewer than three margins, or if all are equal.
    """
    if len(margins) < 3 or len(set(margins)) == 1:
        return None, None
    w, p = stats.shapiro(np.asarray(margins, np.float64))
    return float(w), float(p)


def cohens_d(margins: Sequence[float]) -> float | None:
    """Return the mean of paired differences over their standard deviation (Cohen's d_z); None if all are equal."""
    if len(set(margins)) < 2:
        return None
    return float(np.mean(margins) / np.std(margins, ddof=1))


def two_sided(z: float) -> float:
    """Return the probability that a standard normal value is at least as far from 0 as `z`."""
    return erfc(abs(z) / sqrt(2))


def holm(ps: Sequence[float | None]) -> list[float | None]:
    """Return the p values of one family, corrected for their number (Holm, 1979), in the given order.

    A comparison without p (None) gets none, but counts in the family: leaving it out would favour the others.
    """
    ordered = sorted((p, n) for n, p in enumerate(ps) if p is not None)
    corrected: list[float | None] = [None] * len(ps)
    least = 0.0
    for rank, (p, n) in enumerate(ordered):
        least = max(least, min(1.0, (len(ps) - rank) * p))
        corrected[n] = least
    return corrected


@dataclass(frozen=True, kw_only=True)
class PairTest:
    """The test of two conditions on the questions that both answered: its margins' statistics and the effect sizes."""

    first: str
    second: str
    questions: int
    low: float
    """The lower bound of a 95 % bootstrap interval; `high` is the upper one."""
    high: float
    z: float | None
    p: float | None
    p_holm: float | None = None
    """p corrected for all pairs of the family."""
    rank_biserial: float | None
    cohens_d: float | None
    note: str
    """Why there is no z or p: `all tied` or `too few questions`."""

    @property
    def significant(self) -> bool:
        """Whether the two conditions differ significantly after correction."""
        return self.p_holm is not None and self.p_holm < ALPHA


Test = TypeVar("Test", bound=PairTest)


def paired(pair: tuple[str, str], margins: Sequence[float], interval: Interval) -> dict[str, Any]:
    """Return the values of a `PairTest` by name."""
    return {
        "first": pair[0],
        "second": pair[1],
        "questions": len(margins),
        "low": interval.low,
        "high": interval.high,
        "cohens_d": cohens_d(margins),
        **wilcoxon(margins)._asdict(),
    }


def corrected(family: Sequence[Test]) -> list[Test]:
    """Return tests with their p values corrected together, see `holm`."""
    return [replace(one, p_holm=p) for one, p in zip(family, holm([one.p for one in family]), strict=True)]


def kappa(rows: Sequence[Sequence[str]]) -> float | None:
    """Return Cohen's kappa (1960) of two raters or Fleiss' (1971) of more: their agreement beyond chance, at most 1.

    A row has the labels of all raters for one unit. None without rows, or if all raters always give the same label.
    """
    if not rows:
        return None
    raters = len(rows[0])
    same = sum(n * (n - 1) for row in rows for n in Counter(row).values())
    observed = same / (len(rows) * raters * (raters - 1))
    counts = [Counter(labels) for labels in zip(*rows, strict=True)]
    if raters > 2:  # Fleiss assumes one distribution of labels for all raters
        counts = [sum(counts, Counter[str]())] * 2
    first, second = counts
    expected = sum(n * second[label] for label, n in first.items()) / (first.total() * second.total())
    return (observed - expected) / (1 - expected) if expected < 1 - 1e-12 else None


@dataclass(frozen=True)
class Measured:
    """The results of one method: its measures question by question, and the time it took."""

    method: str
    values: Mapping[str, Sequence[float]]
    milliseconds: Sequence[float]
    """CPU milliseconds per question; with a language model elapsed time, with many questions in progress at once."""
    failures: Mapping[str, str] = field(default_factory=dict[str, str])
    """The errors by the ids of the questions that failed, which have no measures."""
    usage: Usage = field(default=Usage())
    """The usage of language models in this run."""

    @property
    def queries(self) -> int:
        """The number of questions."""
        return len(self.milliseconds) + len(self.failures)

    @property
    def means(self) -> dict[str, float]:
        """The mean of each measure."""
        return {name: float(np.mean(values)) for name, values in self.values.items()}

    def interval(self, measure: str) -> Interval:
        """Return the mean of a measure and its 95 % interval."""
        return bootstrap(self.values[measure])

    def over(self, other: Measured, measure: str) -> Interval:
        """Return the mean advantage over another method, and its 95 % interval."""
        return paired_difference(self.values[measure], other.values[measure])

    def as_row(self) -> dict[str, float]:
        """Return the means for JSON; `ms` is the median of milliseconds per question, `ms_p95` the 95th percentile."""
        median, late = np.percentile(self.milliseconds or [0.0], (50, 95)).round(2).tolist()
        return {
            **{name: round(value, 4) for name, value in self.means.items()},
            "queries": self.queries,
            "failed": len(self.failures),
            "ms": median,
            "ms_p95": late,
        }
