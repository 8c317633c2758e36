"""What judgements amount to: the label of a question, its score, and how much the order of the answers counted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from conspectus.evaluation.jsonl_table import Judgement

Pair = tuple[str, str]
"""Two conditions."""
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
