"""How far raters agree with the judge and with each other: shares, Cohen's kappa, Fleiss' kappa.

A label is which of two answers is better, or `tie`. Which of a pair counts as the first is drawn for each question, so
that no label is commoner than another by how pairs are written, and chance is what it is between raters. Intervals are
percentiles over resampled questions (Efron, 1979): what is said of one question hangs together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import combinations
from typing import Any

import numpy as np

from conspectus.evaluation.jsonl_table import Judgement
from conspectus.evaluation.judging.verdicts import majority
from conspectus.evaluation.people.ratings import Rating

TIE, FIRST, SECOND = "tie", "first", "second"
ALL = "all criteria"
JUDGE, MAJORITY = "judge", "majority of raters"
SAMPLES = 1000  # bootstrap samples

Unit = tuple[str, str, str, str]
"""What is labelled: the pair in alphabetical order, the criterion and the question."""
Labels = Mapping[Unit, str]


@dataclass(frozen=True)
class Bounded:
    """A figure with its 95 % interval; None where it is not defined."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Agreement:
    """Two who labelled the same units by one criterion: with a tie as a label of its own, and without all ties."""

    one: str
    other: str
    criterion: str
    units: int
    agree: Bounded
    """The share of units with the same label, in %."""
    kappa: Bounded
    """Cohen's (1960), of the three labels."""
    ties_of_one: int
    ties_of_other: int
    decided: int
    """Units of which neither says a tie."""
    agree_decided: Bounded
    kappa_decided: Bounded


@dataclass(frozen=True)
class Between:
    """More than two raters together: Fleiss' kappa (1971) over what all of them labelled."""

    raters: tuple[str, ...]
    criterion: str
    units: int
    kappa: Bounded


@dataclass(frozen=True)
class Agreements:
    """All of it for one folder."""

    raters: Mapping[str, int]
    """Ratings of each."""
    judge: str
    """Empty where there are no judgements."""
    with_judge: tuple[Agreement, ...]
    between: tuple[Agreement, ...]
    together: tuple[Between, ...]

    def as_json(self) -> dict[str, Any]:
        """Return what goes into JSON; figures have four places."""
        return _rounded(asdict(self))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return round(value, 4) if isinstance(value, float) else value


def agreements(ratings: Iterable[Rating], judgements: Sequence[Judgement], judge: str = JUDGE) -> Agreements:
    """Compare what raters say with each other, and with the majority of a judge's replicates (GraphRAG §4.2)."""
    by_rater: defaultdict[str, dict[Unit, str]] = defaultdict(dict)
    for one in ratings:
        unit = _unit(one.first, one.second, one.criterion, one.question)
        by_rater[one.rater][unit] = _label((None, one.first, one.second)[one.winner], unit)
    judged = _judged(judgements)
    with_judge = [row for rater, labels in by_rater.items() for row in _compared(rater, labels, judge, judged)]
    if len(by_rater) > 1:
        with_judge += _compared(MAJORITY, _majority(by_rater.values()), judge, judged)
    pairs = combinations(by_rater, 2)
    between = [row for one, other in pairs for row in _compared(one, by_rater[one], other, by_rater[other])]
    together = _together(by_rater) if len(by_rater) > 2 else []
    counts = {rater: len(labels) for rater, labels in by_rater.items()}
    return Agreements(counts, judge if judged else "", tuple(with_judge), tuple(between), tuple(together))


def _unit(first: str, second: str, criterion: str, question: str) -> Unit:
    low, high = sorted((first, second))
    return low, high, criterion, question


def _label(winner: str | None, unit: Unit) -> str:
    """Return the label of a unit; which condition is its first is drawn from its pair and question."""
    if winner is None:
        return TIE
    turned = sha256("\x00".join((unit[0], unit[1], unit[3])).encode("utf-8", "surrogatepass")).digest()[0] % 2
    return FIRST if winner == unit[turned] else SECOND


def _judged(judgements: Sequence[Judgement]) -> dict[Unit, str]:
    groups: defaultdict[Unit, list[Judgement]] = defaultdict(list)
    for one in judgements:
        if not one.error:
            groups[_unit(one.first, one.second, one.criterion, one.question)].append(one)
    return {unit: _label(majority(group), unit) for unit, group in groups.items()}


def _majority(raters: Iterable[Labels]) -> dict[Unit, str]:
    """Return what more than half of those say who labelled a unit, else a tie."""
    votes: defaultdict[Unit, Counter[str]] = defaultdict(Counter)
    for labels in raters:
        for unit, label in labels.items():
            votes[unit][label] += 1
    return {
        unit: next((label for label, n in counts.items() if 2 * n > counts.total()), TIE)
        for unit, counts in votes.items()
    }


def _compared(one: str, labels: Labels, other: str, others: Labels) -> list[Agreement]:
    """Return the agreement of two by each criterion, and by all together where there are several."""
    shared = [unit for unit in labels if unit in others]
    criteria = list(dict.fromkeys(unit[2] for unit in shared))
    found: list[Agreement] = []
    for criterion in [*criteria, *([ALL] if len(criteria) > 1 else [])]:
        units = [unit for unit in shared if criterion in (ALL, unit[2])]
        pairs = [(labels[unit], others[unit]) for unit in units]
        places = [place for place, pair in enumerate(pairs) if TIE not in pair]
        questions = [unit[3] for unit in units]
        decided, asked = [pairs[p] for p in places], [questions[p] for p in places]
        found.append(
            Agreement(
                one,
                other,
                criterion,
                len(units),
                bounded(share, pairs, questions),
                bounded(cohens_kappa, pairs, questions),
                sum(a == TIE for a, _ in pairs),
                sum(b == TIE for _, b in pairs),
                len(decided),
                bounded(share, decided, asked),
                bounded(cohens_kappa, decided, asked),
            )
        )
    return found


def _together(by_rater: Mapping[str, Labels]) -> list[Between]:
    shared = [u for u in next(iter(by_rater.values())) if all(u in labels for labels in by_rater.values())]
    criteria = list(dict.fromkeys(unit[2] for unit in shared))
    found: list[Between] = []
    for criterion in [*criteria, *([ALL] if len(criteria) > 1 else [])]:
        units = [unit for unit in shared if criterion in (ALL, unit[2])]
        rows = [tuple(labels[unit] for labels in by_rater.values()) for unit in units]
        kappa = bounded(fleiss_kappa, rows, [unit[3] for unit in units])
        found.append(Between(tuple(by_rater), criterion, len(units), kappa))
    return found


# The measures


Row = tuple[str, ...]


def share(rows: Sequence[Row]) -> float | None:
    """Return the share of rows whose labels are all the same, in %; None of none."""
    return 100 * sum(len(set(row)) == 1 for row in rows) / len(rows) if rows else None


def cohens_kappa(rows: Sequence[Row]) -> float | None:
    """Return Cohen's kappa (1960) of pairs of labels: 1 where all agree, 0 where as many do as by chance.

    None where there is nothing to tell from chance: no rows, or both always say the same one label.
    """
    if not rows:
        return None
    one, other = Counter(row[0] for row in rows), Counter(row[1] for row in rows)
    observed = sum(row[0] == row[1] for row in rows) / len(rows)
    expected = sum(one[label] * other[label] for label in one) / len(rows) ** 2
    return (observed - expected) / (1 - expected) if expected < 1 else None


def fleiss_kappa(rows: Sequence[Row]) -> float | None:
    """Return Fleiss' kappa (1971) of rows of as many labels each; None as for `cohens_kappa`."""
    if not rows:
        return None
    size = len(rows[0])
    counts = [Counter(row) for row in rows]
    observed = sum((sum(n * n for n in c.values()) - size) / (size * (size - 1)) for c in counts) / len(rows)
    every = Counter(label for row in rows for label in row)
    expected = sum((n / every.total()) ** 2 for n in every.values())
    return (observed - expected) / (1 - expected) if expected < 1 - 1e-12 else None


def bounded(measure: Callable[[Sequence[Row]], float | None], rows: Sequence[Row], groups: Sequence[str]) -> Bounded:
    """Return a measure of rows, and its 95 % interval over resampled groups of them."""
    value = measure(rows)
    by_group: defaultdict[str, list[Row]] = defaultdict(list)
    for row, group in zip(rows, groups, strict=True):
        by_group[group].append(row)
    if value is None or len(by_group) < 2:
        return Bounded(value)
    listed = list(by_group.values())
    drawn: list[list[int]] = np.random.default_rng(0).integers(0, len(listed), (SAMPLES, len(listed))).tolist()
    found = (measure([row for place in places for row in listed[place]]) for places in drawn)
    known = [one for one in found if one is not None]
    low, high = np.percentile(known, (2.5, 97.5))
    return Bounded(value, float(low), float(high))
