"""The answers of conditions to questions (GraphRAG §4.1), each kept as soon as it is there, so that a run can go on.

Answers that are kept and were made with the same are not made again; those that failed are. With a language model many
are made at once, and what each took is booked for it: tokens of replies that were kept count too, since the figures are
what a condition takes and not what this run had to pay.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from conspectus import tokens
from conspectus.errors import CallFailed, UsageError
from conspectus.evaluation.at_once import each
from conspectus.evaluation.comparing.conditions import Condition, answering, check, made_with, settings_for
from conspectus.evaluation.comparing.usage_meter import Metered, Tally, Watched
from conspectus.evaluation.jsonl_table import CitedText, ConditionAnswer, JsonlTable, Question
from conspectus.index import Index
from conspectus.messages import says_nothing
from conspectus.models.base import Model, Tick, no_tick
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Answer, Citation
from conspectus.settings import Settings

MARK_OF_OMISSION = " […] "
"""Stands between places of the documents that are not next to each other."""


@dataclass(frozen=True)
class Work:
    """One answer to be made."""

    condition: Condition
    question: Question
    settings: Settings
    made_with: str
    sample: int = 0

    @property
    def key(self) -> tuple[str, str, int]:
        """What its answer is kept under."""
        return self.condition.name, self.question.id, self.sample


def plan(
    questions: Sequence[Question],
    conditions: Sequence[Condition],
    index: Index,
    settings: Settings,
    model: str,
    *,
    generative: bool,
    samples: int = 0,
) -> list[Work]:
    """Return all answers that a model of that name is to make, question by question; `samples` more of each.

    Raises UsageError where a condition cannot be asked, or samples are asked of a model that does not vary.
    """
    if samples and not generative:
        raise UsageError("the extractive model answers the same each time: samples need a language model (--model)")
    found: list[tuple[Condition, Settings, str]] = []
    for condition in conditions:
        chosen = settings_for(condition, settings, index)
        check(condition, index, chosen, generative=generative)
        found.append((condition, chosen, made_with(condition, index, model, chosen)))
    return [
        Work(condition, question, chosen, with_, sample)
        for question in questions
        for condition, chosen, with_ in found
        for sample in range(samples + 1)
    ]


def left(works: Sequence[Work], kept: JsonlTable[ConditionAnswer]) -> list[Work]:
    """Return what is not kept, failed, or was made with something else."""

    def stands(work: Work) -> bool:
        row = kept.get(work.key)
        return row is not None and not row.error and row.made_with == work.made_with

    return [work for work in works if not stands(work)]


async def run(
    works: Sequence[Work],
    index: Index,
    metered: Metered,
    kept: JsonlTable[ConditionAnswer],
    tick: Tick = no_tick,
    at_once: int = 1,
) -> None:
    """Make answers and keep them, so many at once, the first ones first; one that fails is kept with its error.

    Raises Unusable, when what is under way has ended, where nothing more can be asked of the model.
    """

    async def work(placed: tuple[int, Work]) -> None:
        place, one = placed
        kept.add(await answer(one, index, metered, ahead=len(works) - place))

    await each(enumerate(works), work, tick, at_once)


async def answer(work: Work, index: Index, metered: Metered, ahead: int = 0) -> ConditionAnswer:
    """Return one answer, or that it failed and why; what is `ahead` of other answers is asked before them.

    Raises UsageError where the index lacks what the condition needs, Unusable where the model is of no more use.
    """
    tally = Tally()
    model: Model = Watched(metered(tally), tally, work.sample, ahead)
    question = work.question.text
    if model.generative:
        model = WithAnswerOptions(model, question, work.settings.answer, index.languages)
    clock = time.perf_counter if model.generative else time.process_time
    began = clock()
    made: Answer | None = None
    error = ""
    try:
        made = await answering(question, work.condition, index)(question, index, model, work.settings)
    except CallFailed as failure:
        error = str(failure) or type(failure).__name__
    except UsageError as wrong:
        raise UsageError(f"{work.condition.name}: {wrong}") from None
    return ConditionAnswer(
        *work.key[:2],
        made.text if made else "",
        tuple(map(_cited, made.citations)) if made else (),
        units=len(tally.read),
        context_tokens=(made.context_tokens if made else 0) or sum(tally.read.values()),
        calls=tally.calls or (tally.tasks if model.generative else 0),
        prompt_tokens=tally.prompt_tokens,
        completion_tokens=tally.completion_tokens,
        seconds=round(clock() - began, 4),
        sample=work.sample,
        made_with=work.made_with,
        error=error,
    )


def _cited(citation: Citation) -> CitedText:
    """Return a citation with the characters behind it."""
    texts = dict.fromkeys(source.text for source in citation.sources)
    documents = tuple(dict.fromkeys(source.document for source in citation.sources))
    return CitedText(citation.marker, citation.title, MARK_OF_OMISSION.join(texts), documents)


# What came of it


@dataclass(frozen=True)
class Summary:
    """What one condition took for all its answers, and what came of it; means are over the answers that there are."""

    condition: str
    answers: int
    nothing: int
    """Answers that say that nothing was found."""
    failed: int
    units: float
    """Reports or chunks read, the mean."""
    context_tokens: float
    """Tokens of what was read, the mean."""
    answer_tokens: float
    """Tokens of an answer, the mean."""
    citations: float
    """The same of citations."""
    calls: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float
    """CPU seconds where no model was asked, else time waited, of all answers together."""


def summaries(works: Sequence[Work], kept: JsonlTable[ConditionAnswer]) -> list[Summary]:
    """Return a summary of each condition, over those answers of a plan that are kept."""
    rows: dict[str, list[ConditionAnswer]] = {work.condition.name: [] for work in works}
    for work in works:
        row = kept.get(work.key)
        if row is not None and row.made_with == work.made_with:
            rows[work.condition.name].append(row)
    return [_summary(name, found) for name, found in rows.items()]


def _summary(condition: str, rows: Sequence[ConditionAnswer]) -> Summary:
    good = [row for row in rows if not row.error]

    def mean(values: Sequence[int]) -> float:
        return round(sum(values) / len(values), 1) if values else 0.0

    return Summary(
        condition,
        answers=len(good),
        nothing=sum(says_nothing(row.text) for row in good),
        failed=len(rows) - len(good),
        units=mean([row.units for row in good]),
        context_tokens=mean([row.context_tokens for row in good]),
        answer_tokens=mean([tokens.count(row.text) for row in good]),
        citations=mean([len(row.cited) for row in good]),
        calls=sum(row.calls for row in rows),
        prompt_tokens=sum(row.prompt_tokens for row in rows),
        completion_tokens=sum(row.completion_tokens for row in rows),
        seconds=round(sum(row.seconds for row in rows), 2),
    )
