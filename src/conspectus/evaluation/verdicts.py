"""What judgements amount to: the label of a question, its score, and how much the order of the answers counted."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, cast

from conspectus.errors import CallFailed, ModelError
from conspectus.evaluation.comparison import made_with
from conspectus.evaluation.jsonl_table import JsonlTable, Judgement, Pair
from conspectus.evaluation.judge import EQUAL, LeftOut, Plan
from conspectus.evaluation.statistics import bootstrap, cohens_d, holm, shapiro, wilcoxon
from conspectus.models.base import Model, Tick, no_tick
from conspectus.readers import list_generated
from conspectus.tasks import Criterion, SummariseReasons
from conspectus.tokens import count

DECIMALS = 9
"""Places of a score: what rounding leaves of thirds must not tell apart what is equal."""


def winner_of(judgement: Judgement) -> str | None:
    """Return the condition that a judge preferred, None for a tie."""
    return (None, judgement.first, judgement.second)[judgement.winner]


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

    pair: Pair
    criterion: str
    wins: int
    ties: int
    losses: int
    margins: Mapping[str, float]

    @property
    def mean(self) -> float:
        """The mean score of the first condition over the questions, from 0 to 100; 50 where there are none."""
        return 50 + sum(self.margins.values()) / len(self.margins) / 2 if self.margins else 50.0


def tally(judgements: Sequence[Judgement], pair: Pair, criterion: str) -> Tally:
    """Count the judgements of a pair by a criterion; those that failed, and all others, are passed over."""
    found: defaultdict[str, list[str | None]] = defaultdict(list)
    for one in judgements:
        if one.criterion == criterion and not one.error and {one.first, one.second} == set(pair):
            found[one.question].append(winner_of(one))
    every = [winner for winners in found.values() for winner in winners]
    margins = {question: _margin(winners, pair) for question, winners in sorted(found.items())}
    return Tally(pair, criterion, every.count(pair[0]), every.count(None), every.count(pair[1]), margins)


def _margin(winners: Sequence[str | None], pair: Pair) -> float:
    return round(100 * (winners.count(pair[0]) - winners.count(pair[1])) / len(winners), DECIMALS)


@dataclass(frozen=True)
class Shown:
    """How often a condition wins when it is shown first and when second, of judgements that are no ties, in %."""

    condition: str
    first: float | None
    second: float | None


@dataclass(frozen=True)
class Position:
    """How much the order of the answers counted: 50 % of wins for the one shown first is none."""

    decided: int
    """Judgements that are no ties."""
    first_wins: float | None
    """The share of them that the answer shown first won, in %; None where all are ties."""
    conditions: tuple[Shown, ...]


def position(judgements: Iterable[Judgement], conditions: Sequence[str]) -> Position:
    """Measure the bias of judges to a place."""
    decided = [one for one in judgements if one.winner and not one.error]

    def share(condition: str, place: int) -> float | None:
        shown = [one.winner == place for one in decided if (one.first, one.second)[place - 1] == condition]
        return percent(sum(shown), len(shown))

    return Position(
        len(decided),
        percent(sum(one.winner == 1 for one in decided), len(decided)),
        tuple(Shown(name, share(name, 1), share(name, 2)) for name in conditions),
    )


def percent(part: int, whole: int) -> float | None:
    """Return a share in %, None of nothing."""
    return 100 * part / whole if whole else None


MOST_TOKENS = 6000
"""Tokens of reasons that one summary is made from: those of every question before the second of any."""
_PLACE = re.compile(r"\b(?:the\s+)?answer\s*#?([12])\b|(?:回答|答案)\s*([12一二])", re.IGNORECASE)


@dataclass(frozen=True)
class Reasons:
    """Why one condition was preferred to another by a criterion, in a paragraph."""

    criterion: str
    winner: str
    loser: str
    judgements: int = 0
    """Judgements that preferred it."""
    text: str = ""
    made_with: str = ""
    error: str = ""


def reasons_in(folder: Path) -> JsonlTable[Reasons]:
    """Return the summaries of a comparison, by criterion, winner and loser."""
    return JsonlTable(folder / "reasons.jsonl", Reasons, lambda row: (row.criterion, row.winner, row.loser))


def tasks_of(
    judgements: Iterable[Judgement], criteria: Sequence[Criterion], language: str = "en"
) -> list[tuple[SummariseReasons, int]]:
    """Return a task for each criterion, winner and loser that there are, and how many judgements it is about."""
    groups: defaultdict[tuple[str, str, str], list[Judgement]] = defaultdict(list)
    for one in judgements:
        if (winner := winner_of(one)) and not one.error and one.reasoning:
            loser = one.second if winner == one.first else one.first
            groups[one.criterion, winner, loser].append(one)
    known = {criterion.name: criterion for criterion in criteria}
    return [
        (SummariseReasons(known[name], winner, loser, _chosen(group), language=language), len(group))
        for (name, winner, loser), group in sorted(groups.items())
        if name in known
    ]


def _chosen(group: Sequence[Judgement]) -> tuple[str, ...]:
    by_question: defaultdict[str, list[str]] = defaultdict(list)
    for one in sorted(group, key=lambda one: (one.question, one.replicate)):
        by_question[one.question].append(named(one))
    rounds = zip_longest(*by_question.values())
    chosen: list[str] = []
    left = MOST_TOKENS
    for reason in dict.fromkeys(reason for texts in rounds for reason in texts if reason):
        left -= count(reason)
        if left < 0 and chosen:
            break
        chosen.append(reason)
    return tuple(chosen)


def named(judgement: Judgement) -> str:
    """Return a judge's reasons with the conditions in place of `Answer 1` and `Answer 2`."""

    def name(match: re.Match[str]) -> str:
        return judgement.first if (match[1] or match[2]) in ("1", "一") else judgement.second

    return _PLACE.sub(name, judgement.reasoning)


async def summarise(
    asked: Sequence[tuple[SummariseReasons, int]],
    model: Model,
    kept: JsonlTable[Reasons],
    by: str,
    tick: Tick = no_tick,
) -> None:
    """Have reasons summarised where that is not kept yet, and keep it; what failed is kept with its error.

    Raises Unusable where nothing more can be asked of the model.
    """
    left = [(task, n) for task, n in asked if not _stands(kept.get(_key(task)), task, by)]
    replies = await model.perform_all([task for task, _ in left], tick)
    for (task, n), reply in zip(left, replies, strict=True):
        if isinstance(reply, ModelError) and not isinstance(reply, CallFailed):
            raise reply
        told: Mapping[str, str] = {"error": str(reply)} if isinstance(reply, ModelError) else {"text": reply}
        kept.add(Reasons(*_key(task), n, made_with=_made_with(task, by), **told))


def _key(task: SummariseReasons) -> tuple[str, str, str]:
    return task.criterion.name, task.winner, task.loser


def _stands(reasons: Reasons | None, task: SummariseReasons, by: str) -> bool:
    return reasons is not None and not reasons.error and reasons.made_with == _made_with(task, by)


def _made_with(task: SummariseReasons, by: str) -> str:
    return made_with(by, task.criterion.name, task.criterion.description, *task.reasons)


STATISTICS = "statistics.json"
ALPHA = 0.05
"""The corrected p below which a difference is called significant."""


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
class Comparison:
    """All that judges found in a folder of answers."""

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
    left_out: tuple[LeftOut, ...]
    position: Position
    results: tuple[Compared, ...]
    reasons: tuple[Reasons, ...] = ()

    def of(self, criterion: str) -> list[Compared]:
        """Return the results of one criterion, in the order of the pairs."""
        return [one for one in self.results if one.criterion == criterion]

    @property
    def normality(self) -> str:
        """How many of the comparisons are not normally distributed, in a sentence."""
        tested = [one.shapiro_p for one in self.results if one.shapiro_p is not None]
        odd = sum(p < ALPHA for p in tested)
        return f"By Shapiro and Wilk, {odd} of {len(tested)} comparisons are not normally distributed."

    def as_json(self) -> dict[str, Any]:
        """Return what goes into statistics.json; figures have six places."""
        return _rounded_figures(asdict(self))


def compare(
    plan: Plan, judgements: Sequence[Judgement], judges: Sequence[str], reasons: Sequence[Reasons] = ()
) -> Comparison:
    """Make of the judgements of a plan what they say of each pair that was judged by each criterion (GraphRAG
    appendix G)."""
    sound = [one for one in judgements if not one.error]
    results = [one for criterion in plan.criteria for one in _family(sound, plan.pairs, criterion.name)]
    asked = [one for one in sound if one.reasoning != EQUAL]
    paired = {condition for pair in plan.pairs for condition in pair}
    return Comparison(
        tuple(judges),
        plan.conditions,
        {criterion.name: criterion.description for criterion in plan.criteria},
        plan.questions,
        plan.replicates,
        len(sound),
        len(judgements) - len(sound),
        len(sound) - len(asked),
        len(plan.comparisons) - len(judgements),
        plan.left_out,
        position(asked, [condition for condition in plan.conditions if condition in paired]),
        tuple(results),
        tuple(reasons),
    )


def _family(judgements: Sequence[Judgement], pairs: Sequence[Pair], criterion: str) -> list[Compared]:
    """Return the results of all pairs that were judged by one criterion, which are corrected together."""
    found = [compared(told) for pair in pairs if (told := tally(judgements, pair, criterion)).margins]
    corrected = holm([one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


def compared(counted: Tally) -> Compared:
    """Test one pair by one criterion; without a correction, which takes the whole family."""
    margins = list(counted.margins.values())
    normal, test = shapiro(margins), wilcoxon(margins)
    interval = bootstrap([50 + margin / 2 for margin in margins])
    return Compared(
        counted.criterion, *counted.pair, len(margins), counted.wins, counted.ties, counted.losses,
        counted.mean, 100 - counted.mean, interval.low, interval.high,
        normal.w, normal.p, test.z, test.p, None, test.rank_biserial, cohens_d(margins), test.note,
    )  # fmt: skip


def write_statistics(comparison: Comparison, folder: Path) -> None:
    """Write statistics.json into a folder."""
    text = json.dumps(comparison.as_json(), ensure_ascii=False, indent=1) + "\n"
    list_generated(folder, [STATISTICS])
    (folder / STATISTICS).write_text(text, encoding="utf-8")


def _rounded_figures(value: Any) -> Any:
    """Round as far as figures go; p values keep what they have, being small."""
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {key: one if key in _EXACT else _rounded_figures(one) for key, one in pairs}
    if isinstance(value, list | tuple):
        return [_rounded_figures(one) for one in cast("Sequence[Any]", value)]
    return round(value, 6) if isinstance(value, float) else value


_EXACT = frozenset({"p", "p_holm", "shapiro_p"})


WIN_RATES = "win_rates.json"
EVEN = 50.0


@dataclass(frozen=True)
class Matrix:
    """Win rates by one criterion, rows and columns in the order of the conditions.

    A condition against itself has 50, a pair that was not compared None; `significant` tells for each cell whether it
    differs from 50 after correction.
    """

    criterion: str
    conditions: tuple[str, ...]
    rates: tuple[tuple[float | None, ...], ...]
    significant: tuple[tuple[bool, ...], ...]


def matrices(comparison: Comparison) -> list[Matrix]:
    """Return the matrix of each criterion that any pair was judged by, of the conditions of those pairs."""
    return [_matrix(comparison, criterion) for criterion in comparison.criteria if comparison.of(criterion)]


def _matrix(comparison: Comparison, criterion: str) -> Matrix:
    rates: dict[tuple[str, str], float] = {}
    significant: set[tuple[str, str]] = set()
    paired: set[str] = set()
    for one in comparison.of(criterion):
        there, back = (one.first, one.second), (one.second, one.first)
        paired |= {*there}
        rates |= {there: one.mean_first, back: one.mean_second}
        if one.significant:
            significant |= {there, back}
    names = tuple(name for name in comparison.conditions if name in paired)
    return Matrix(
        criterion,
        names,
        tuple(tuple(EVEN if row == column else rates.get((row, column)) for column in names) for row in names),
        tuple(tuple((row, column) in significant for column in names) for row in names),
    )


def win_rates_json(found: list[Matrix]) -> Mapping[str, Any]:
    """Return win rates by criterion, row and column."""
    return {
        one.criterion: {
            row: {column: _rounded(rate) for column, rate in zip(one.conditions, rates, strict=True)}
            for row, rates in zip(one.conditions, one.rates, strict=True)
        }
        for one in found
    }


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)


def write_win_rates(found: list[Matrix], folder: Path) -> None:
    """Write win_rates.json into a folder."""
    list_generated(folder, [WIN_RATES])
    (folder / WIN_RATES).write_text(
        json.dumps(win_rates_json(found), ensure_ascii=False, indent=1) + "\n", encoding="utf-8"
    )
