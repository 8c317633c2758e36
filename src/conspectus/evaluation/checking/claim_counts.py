"""What claims amount to: claims and clusters an answer (GraphRAG Tables 3 and 4), differences, agreement with the
judge.

Claims an answer measure comprehensiveness, clusters of them diversity. An answer without claims counts with 0; one
that failed, or whose claims could not be found, does not count.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from typing import Any

from conspectus.evaluation.checking.clusters import THRESHOLDS, clusters, distinct
from conspectus.evaluation.comparing.asked_answers import names_in
from conspectus.evaluation.jsonl_table import AnswerClaims, Judgement
from conspectus.evaluation.judging.verdicts import Pair, labels
from conspectus.evaluation.significance import cohens_d, holm, wilcoxon
from conspectus.evaluation.statistics import Interval, bootstrap, paired_difference, rounded

CLAIMS = "claims"
MEASURES = (CLAIMS, *(f"clusters at {threshold:g}" for threshold in THRESHOLDS))
CRITERION = {measure: "comprehensiveness" if measure == CLAIMS else "diversity" for measure in MEASURES}
"""The judge's criterion that each is held against."""

Values = Mapping[str, Mapping[str, float]]
"""Of one condition: for each question the values of all measures."""


@dataclass(frozen=True)
class ConditionClaims:
    """The averages of one condition over its answers, by measure."""

    condition: str
    answers: int
    failed: int
    """Answers whose claims could not be found."""
    averages: Mapping[str, Interval]


@dataclass(frozen=True)
class Difference:
    """One pair by one measure over the questions that both answered: how many more the first has, and the test."""

    measure: str
    first: str
    second: str
    questions: int
    mean: float
    low: float
    high: float
    """Of the 95 % bootstrap interval of the mean difference."""
    z: float | None
    p: float | None
    p_holm: float | None
    """p corrected for all pairs of the measure."""
    rank_biserial: float | None
    cohens_d: float | None
    note: str = ""
    """Why there is no z or p."""


@dataclass(frozen=True)
class Agreement:
    """How often a measure prefers the condition that the judges' majority does (GraphRAG §4.2).

    Counted over pairs of answers of which a majority prefers one and the measure too.
    """

    measure: str
    criterion: str
    pairs: int
    """Pairs of answers that were judged."""
    labelled: int
    """Those of which more than half of the judgements prefer one."""
    equal: int
    """Of these, the pairs that the measure takes for equal; they are left out of the rate."""
    agreeing: int

    @property
    def rate(self) -> float | None:
        """The share of agreement in %; None where nothing can be compared."""
        counted = self.labelled - self.equal
        return 100 * self.agreeing / counted if counted else None


@dataclass(frozen=True)
class ClaimCounts:
    """All of it for one folder of answers."""

    found_by: tuple[str, ...]
    conditions: tuple[ConditionClaims, ...]
    unique: int
    """Different claims of all answers together."""
    differences: tuple[Difference, ...]
    agreement: tuple[Agreement, ...]
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """What failed, and how often."""

    @property
    def failed(self) -> int:
        """Answers whose claims could not be found."""
        return sum(one.failed for one in self.conditions)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as they go into JSON."""
        conditions = [
            asdict(one) | {"averages": {name: rounded(value) for name, value in one.averages.items()}}
            for one in self.conditions
        ]
        return {
            "found_by": self.found_by,
            "conditions": conditions,
            "unique": self.unique,
            "differences": [_rounded(asdict(one)) for one in self.differences],
            "agreement": [asdict(one) | {"rate": one.rate} for one in self.agreement],
            "errors": self.errors,
        }


def _rounded(figures: dict[str, Any]) -> dict[str, Any]:
    """Round as far as figures go; p values keep what they have, being small."""
    return {
        name: round(value, 4) if isinstance(value, float) and name not in ("p", "p_holm") else value
        for name, value in figures.items()
    }


def count(rows: Sequence[AnswerClaims], judgements: Iterable[Judgement] = ()) -> ClaimCounts:
    """Count the claims of a folder's answers; conditions in the order in which they first come."""
    names = list(dict.fromkeys(row.condition for row in rows))
    sound = [row for row in rows if not row.error]
    values = {name: {row.question: _measured(row.claims) for row in sound if row.condition == name} for name in names}
    conditions = [
        ConditionClaims(
            name,
            len(values[name]),
            sum(bool(row.error) for row in rows if row.condition == name),
            {m: bootstrap([one[m] for one in values[name].values()]) for m in MEASURES} if values[name] else {},
        )
        for name in names
    ]
    errors = dict(Counter(row.error for row in rows if row.error))
    return ClaimCounts(
        names_in(row.made_with for row in sound),
        tuple(conditions),
        len(distinct(claim for row in sound for claim in row.claims)),
        tuple(d for measure in MEASURES for d in _family(values, measure)),
        tuple(_agreement(values, list(judgements))),
        errors,
    )


def _measured(claims: Sequence[str]) -> dict[str, float]:
    found = clusters(claims)
    return dict(zip(MEASURES, map(float, (len(claims), *found)), strict=True))


def _family(values: Mapping[str, Values], measure: str) -> list[Difference]:
    """Return the differences of all pairs by one measure, which are corrected together."""
    found = [_difference(values, pair, measure) for pair in combinations(values, 2)]
    corrected = holm([one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


def _difference(values: Mapping[str, Values], pair: Pair, measure: str) -> Difference:
    first, second = (values[name] for name in pair)
    shared = [question for question in first if question in second]
    one, other = ([side[question][measure] for question in shared] for side in (first, second))
    margins = [a - b for a, b in zip(one, other, strict=True)]
    test = wilcoxon(margins)
    interval = paired_difference(one, other)
    return Difference(
        measure, *pair, len(shared), *interval, test.z, test.p, None, test.rank_biserial, cohens_d(margins), test.note
    )


def _agreement(values: Mapping[str, Values], judgements: Sequence[Judgement]) -> Iterable[Agreement]:
    """Yield the agreement of each measure with its criterion, where there are judgements by it."""
    majorities = labels(judgements)
    for measure in MEASURES:
        pairs = labelled = equal = agreeing = 0
        for ((low, high), criterion, question), preferred in majorities.items():
            if criterion != CRITERION[measure]:
                continue
            sides = [values.get(name, {}).get(question) for name in (low, high)]
            if sides[0] is None or sides[1] is None:
                continue
            pairs += 1
            if preferred is None:
                continue
            labelled += 1
            a, b = sides[0][measure], sides[1][measure]
            equal += a == b
            agreeing += a != b and preferred == (low if a > b else high)
        if pairs:
            yield Agreement(measure, CRITERION[measure], pairs, labelled, equal, agreeing)
