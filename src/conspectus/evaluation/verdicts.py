"""What judgements amount to: majorities, win rates, and the tests of each pair by each criterion (GraphRAG §4, G)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conspectus.evaluation.comparison import write_json
from conspectus.evaluation.jsonl_table import Judgement, Pair
from conspectus.evaluation.pairs import Plan
from conspectus.evaluation.statistics import bootstrap, cohens_d, holm, plain, shapiro, wilcoxon

DECIMALS = 9
"""Places of a score: what rounding leaves of thirds must not tell apart what is equal."""
EQUAL = "The two answers are the same text."
"""The reasoning of a tie that no model was asked about."""
STATISTICS, WIN_RATES = "statistics.json", "win_rates.json"
ALPHA = 0.05
"""The corrected p below which a difference is called significant."""
EVEN = 50.0
_ANSWER_NUMBER = re.compile(r"\b(?:the\s+)?answer\s*#?([12])\b|(?:回答|答案)\s*([12一二])", re.IGNORECASE)
WinRates = dict[str, dict[str, dict[str, float | None]]]
"""How often the row wins over the column in %, a tie being half a win, by criterion, row and column."""


def winner_of(judgement: Judgement) -> str | None:
    """Return the condition that a judge preferred, None for a tie."""
    return (None, judgement.first, judgement.second)[judgement.winner]


def named(judgement: Judgement) -> str:
    """Return a judge's reasons with the conditions in place of `Answer 1` and `Answer 2`."""

    def name(match: re.Match[str]) -> str:
        return judgement.first if (match[1] or match[2]) in ("1", "一") else judgement.second

    return _ANSWER_NUMBER.sub(name, judgement.reasoning)


def majority(judgements: Iterable[Judgement]) -> str | None:
    """Return the condition that more than half of the judgements of one question prefer; None, a tie, without one.

    They are the replicates of one pair, criterion and question (GraphRAG §4.2); failed ones do not count.
    Raises ValueError where they are not.
    """
    sound = [judgement for judgement in judgements if not judgement.error]
    if len({(frozenset((j.first, j.second)), j.criterion, j.question) for j in sound}) > 1:
        raise ValueError("a majority is of the judgements of one pair, criterion and question")
    wins = [winner_of(judgement) for judgement in sound]
    return next((one for one in dict.fromkeys(wins) if one is not None and 2 * wins.count(one) > len(wins)), None)


def labels(judgements: Iterable[Judgement]) -> dict[tuple[Pair, str, str], str | None]:
    """Return the majority of each (pair in alphabetical order, criterion, question)."""
    groups: defaultdict[tuple[Pair, str, str], list[Judgement]] = defaultdict(list)
    for one in judgements:
        if not one.error:
            low, high = sorted((one.first, one.second))
            groups[(low, high), one.criterion, one.question].append(one)
    return {key: majority(group) for key, group in groups.items()}


@dataclass(frozen=True)
class Tally:
    """Judgements of one pair by one criterion, counted; `margins` has a number for each question.

    A margin is the score of the first condition less that of the second, from -100 to 100: with 100 for a win, 50 for
    a tie and 0 for a loss, averaged over the replicates (GraphRAG appendix G).
    """

    wins: int
    ties: int
    losses: int
    margins: Mapping[str, float]

    @property
    def mean(self) -> float:
        """The mean score of the first condition over the questions, from 0 to 100; 50 where there are none."""
        return EVEN + sum(self.margins.values()) / len(self.margins) / 2 if self.margins else EVEN


def tally(judgements: Sequence[Judgement], pair: Pair, criterion: str) -> Tally:
    """Count the judgements of a pair by a criterion that did not fail."""
    winners: defaultdict[str, list[str | None]] = defaultdict(list)
    for one in judgements:
        if one.criterion == criterion and not one.error and {one.first, one.second} == set(pair):
            winners[one.question].append(winner_of(one))
    first, second = pair
    margins = {
        question: round(100 * (won.count(first) - won.count(second)) / len(won), DECIMALS)
        for question, won in sorted(winners.items())
    }
    every = [winner for won in winners.values() for winner in won]
    return Tally(every.count(first), every.count(None), every.count(second), margins)


@dataclass(frozen=True)
class Position:
    """How much the order of the answers counted: 50 % of wins for the one shown first is no bias."""

    decided: int
    """Judgements that are no ties."""
    first_wins: float | None
    """The share of them that the answer shown first won, in %; None where all are ties."""


def position(judgements: Iterable[Judgement]) -> Position:
    """Measure the bias of a judge to the answer that is shown first."""
    decided = [one.winner for one in judgements if one.winner and not one.error]
    return Position(len(decided), 100 * decided.count(1) / len(decided) if decided else None)


@dataclass(frozen=True)
class Compared:
    """One pair by one criterion; means are scores from 0 to 100 over questions, with a 95 % bootstrap interval."""

    criterion: str
    first: str
    second: str
    questions: int
    wins: int
    """Judgements that preferred the first."""
    ties: int
    losses: int
    mean_first: float
    mean_second: float
    low: float
    """Of the interval of the mean of the first."""
    high: float
    shapiro_w: float | None
    shapiro_p: float | None
    z: float | None
    p: float | None
    p_holm: float | None
    """p corrected for all pairs that were judged by the criterion."""
    rank_biserial: float | None
    cohens_d: float | None
    note: str
    """Why there is no z or p: `all tied` or `too few questions`."""

    @property
    def significant(self) -> bool:
        return self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True)
class Judged:
    """The judgements of one judge that hold, and the comparisons that they are of."""

    plan: Plan
    judgements: tuple[Judgement, ...]
    """Failed ones among them."""
    judge: str
    others: tuple[str, ...] = ()
    """Other judges that the folder has judgements of."""

    @property
    def sound(self) -> list[Judgement]:
        """Those that did not fail."""
        return [one for one in self.judgements if not one.error]


@dataclass(frozen=True)
class Comparison:
    """All that a judge's judgements say of a folder of answers."""

    judges: tuple[str, ...]
    conditions: tuple[str, ...]
    criteria: Mapping[str, str]
    """Names and descriptions."""
    questions: int
    replicates: int
    judgements: int
    """Those that count; failed ones do not."""
    failed: int
    equal: int
    """Judgements that are ties since both answers are the same text; no model was asked."""
    missing: int
    """Judgements that the plan has and that were not made yet, or of other answers than there are now."""
    omitted: tuple[str, ...]
    position: Position
    results: tuple[Compared, ...]

    def of(self, criterion: str) -> list[Compared]:
        """Return the results of one criterion, in the order of the pairs."""
        return [one for one in self.results if one.criterion == criterion]

    @property
    def normality(self) -> str:
        """How many of the comparisons are not normally distributed, in a sentence."""
        tested = [one.shapiro_p for one in self.results if one.shapiro_p is not None]
        odd = sum(p < ALPHA for p in tested)
        return f"By Shapiro and Wilk, {odd} of {len(tested)} comparisons are not normally distributed."

    @property
    def position_bias(self) -> str:
        """How much the order of the answers counted, in a sentence."""
        if self.position.first_wins is None:
            return "All judgements are ties."
        return (
            f"The answer shown first won {self.position.first_wins:.1f} % of {self.position.decided:,} decided "
            "judgements; 50 is no bias."
        )

    @property
    def win_rates(self) -> WinRates:
        """The win rates by each criterion, of the conditions of the pairs that were judged by it (GraphRAG Figure 2).

        A condition against itself has 50, a pair that was not compared None.
        """
        rates: WinRates = {}
        for criterion in self.criteria:
            means = {(one.first, one.second): one.mean_first for one in self.of(criterion)}
            means |= {(one.second, one.first): one.mean_second for one in self.of(criterion)}
            means |= {(name, name): EVEN for pair in list(means) for name in pair}
            names = [name for name in self.conditions if (name, name) in means]
            if names:
                rates[criterion] = {row: {column: means.get((row, column)) for column in names} for row in names}
        return rates

    def is_significant(self, criterion: str, one: str, other: str) -> bool:
        """Whether the win rate of two conditions differs from 50 after correction."""
        return any(row.significant for row in self.of(criterion) if {row.first, row.second} == {one, other})

    def as_json(self) -> dict[str, Any]:
        """Return what goes into statistics.json."""
        return plain(self, 6)


def compare(judged: Judged) -> Comparison:
    """Return what judgements say of each pair that was judged by each criterion (GraphRAG appendix G)."""
    plan, sound = judged.plan, judged.sound
    asked = [one for one in sound if one.reasoning != EQUAL]
    return Comparison(
        (judged.judge,) if judged.judge else (),
        plan.conditions,
        {criterion.name: criterion.description for criterion in plan.criteria},
        plan.questions,
        plan.replicates,
        judgements=len(sound),
        failed=len(judged.judgements) - len(sound),
        equal=len(sound) - len(asked),
        missing=len(plan.comparisons) - len(judged.judgements),
        omitted=plan.omitted,
        position=position(asked),
        results=tuple(one for criterion in plan.criteria for one in _family(sound, plan.pairs, criterion.name)),
    )


def _family(judgements: Sequence[Judgement], pairs: Sequence[Pair], criterion: str) -> list[Compared]:
    """Return the results of all pairs that were judged by one criterion, which are corrected together."""
    counted = ((pair, tally(judgements, pair, criterion)) for pair in pairs)
    results = [_compared(criterion, pair, one) for pair, one in counted if one.margins]
    corrected = holm([one.p for one in results])
    return [replace(one, p_holm=p) for one, p in zip(results, corrected, strict=True)]


def _compared(criterion: str, pair: Pair, counted: Tally) -> Compared:
    margins = list(counted.margins.values())
    test = wilcoxon(margins)
    interval = bootstrap([EVEN + margin / 2 for margin in margins])
    return Compared(
        criterion, *pair, len(margins), counted.wins, counted.ties, counted.losses, counted.mean, 100 - counted.mean,
        interval.low, interval.high, *shapiro(margins), test.z, test.p, None, test.rank_biserial, cohens_d(margins),
        test.note,
    )  # fmt: skip


def write_statistics(comparison: Comparison, folder: Path) -> None:
    """Write statistics.json and win_rates.json into a folder."""
    write_json(folder / STATISTICS, comparison.as_json())
    write_json(folder / WIN_RATES, plain(comparison.win_rates))
