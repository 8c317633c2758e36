"""Why judges preferred one condition to another: their reasons, made into a paragraph by the model (GraphRAG §4.1)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from conspectus.errors import CallFailed, ModelError
from conspectus.evaluation.comparing.asked_answers import made_with
from conspectus.evaluation.jsonl_table import JsonlTable, Judgement
from conspectus.evaluation.judging.verdicts import winner_of
from conspectus.models.base import Model, Tick, no_tick
from conspectus.tasks import Criterion, SummariseReasons
from conspectus.tokens import count

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
