"""A model as judge, head to head (GraphRAG §4.1, F): every comparison of a plan, with all judgements kept.

A comparison is judged anew where its judgement failed, is of other answers, of another judge, or of a criterion that
is described otherwise now. Equal answers are a tie that no model is asked about.
"""

from __future__ import annotations

from dataclasses import dataclass

from conspectus.errors import CallFailed
from conspectus.evaluation.at_once import each
from conspectus.evaluation.jsonl_table import JsonlTable, Judgement
from conspectus.evaluation.judging.pairing import EQUAL, HeadToHead, Plan
from conspectus.models.base import Model, Tick, no_tick
from conspectus.tasks import Judge

TOGETHER = 50
"""Judgements that are written together: the disk is slower than a judge. A kill loses fewer, and not their replies."""


@dataclass(frozen=True)
class Pending:
    """What of a plan is left to judge: by a model, and by the rule that equal answers are a tie."""

    to_ask: tuple[HeadToHead, ...]
    ties: tuple[HeadToHead, ...]


def pending(plan: Plan, kept: JsonlTable[Judgement], by: str) -> Pending:
    """Return the comparisons of a plan that have no sound judgement by a judge."""
    left = [one for one in plan.comparisons if not _stands(kept.get(one.key(by)), one, by)]
    return Pending(tuple(one for one in left if not one.equal), tuple(one for one in left if one.equal))


def _stands(judgement: Judgement | None, comparison: HeadToHead, by: str) -> bool:
    return judgement is not None and not judgement.error and judgement.made_with == comparison.made_with(by)


async def judge(
    left: Pending,
    model: Model,
    kept: JsonlTable[Judgement],
    by: str,
    language: str = "en",
    at_once: int = 50,
    tick: Tick = no_tick,
) -> None:
    """Judge what is left and keep each judgement; one that failed is kept with its error.

    At most `at_once` are given to the model together, so that not all prompts are in memory.

    Raises Unusable, when what is under way has ended, where nothing more can be asked of the model.
    """
    made = [one.judged(0, EQUAL, by=by) for one in left.ties]

    def keep(at_least: int) -> None:
        if len(made) >= at_least:
            kept.add_all(made)
            made.clear()

    async def work(one: HeadToHead) -> None:
        made.append(await _asked(one, model, by, language))
        keep(TOGETHER)

    try:
        await each(left.to_ask, work, tick, at_once)
    finally:
        keep(1)


async def _asked(one: HeadToHead, model: Model, by: str, language: str) -> Judgement:
    try:
        verdict = await model.perform(task_of(one, language))
    except CallFailed as error:
        return one.judged(by=by, error=str(error) or type(error).__name__)
    return one.judged(verdict.winner, verdict.reasoning, by=by)


def task_of(one: HeadToHead, language: str) -> Judge:
    """Return what a model is asked."""
    return Judge(
        one.question.text, one.first.text, one.second.text, one.criterion, language=language, sample=one.replicate
    )


def standing(plan: Plan, kept: JsonlTable[Judgement], by: str) -> list[Judgement]:
    """Return a judge's judgements of a plan that hold for its answers and criteria, failed ones too, in its order.

    Those that were made by hand always hold, where the judge has made none.
    """
    found: list[Judgement] = []
    for one in plan.comparisons:
        judgement = kept.get(one.key(by))
        if judgement is None or judgement.made_with not in ("", one.made_with(by)):
            judgement = kept.get(one.key(""))
        if judgement is not None:
            found.append(judgement)
    return found
