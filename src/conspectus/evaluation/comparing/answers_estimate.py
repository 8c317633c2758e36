"""What questions and answers will cost, told before it is spent.

A few questions are answered by each condition with the extractive model in the language model's place: what that would
have been asked is taken down, and nothing is sent. Windows of reports and chunks are known to the token; what depends
on replies (how long partial answers are, which way a search goes) is a range, or is as it went there.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from conspectus.errors import ModelError, NotSupported
from conspectus.evaluation.comparing.answers import Work, answering
from conspectus.index import Index
from conspectus.indexing.estimate import NONE, Estimate, Estimator, Range, TaskEstimate
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.model import ChatModel
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.tasks import (
    Draft,
    DraftAnswer,
    GlobalQuestions,
    MapAnswer,
    MapPoints,
    PartialAnswer,
    Persona,
    Personas,
    ReduceAnswer,
    Task,
    UserTasks,
)

R = TypeVar("R")
PROBED = 4
"""Questions that are tried by a condition whose evidence depends on them."""
REPLY = Range(20, 600)
"""Tokens of the reply to a task."""
REPLIES = {
    "MapAnswer": Range(20, 900),
    "MapPoints": Range(40, 1200),
    "ReduceAnswer": Range(200, 1800),
    "AnswerFromContext": Range(100, 1500),
    "RateReport": Range(1, 5),
    "DraftAnswer": Range(10, 400),
    "WriteReport": Range(200, 1800),
    "DescribeElement": Range(20, 300),
}
PERSONA, USER_TASK, QUESTION = Range(25, 80), Range(10, 40), Range(12, 45)
"""Tokens of one of each."""


@dataclass
class _Asked:
    """What a condition asked of the language model for some questions, by task."""

    questions: int = 0
    calls: dict[str, int] = field(default_factory=dict[str, int])
    tokens: dict[str, int] = field(default_factory=dict[str, int])

    def add(self, task: str, tokens: int) -> None:
        self.calls[task] = self.calls.get(task, 0) + 1
        self.tokens[task] = self.tokens.get(task, 0) + tokens


class _Probe:
    """A language model of which it is only taken down what it is asked; the extractive one replies for it."""

    generative = True

    def __init__(self, chat: ChatModel, stand_in: Model, asked: _Asked) -> None:
        self.name = chat.name
        self._chat = chat
        self._stand_in = stand_in
        self._asked = asked

    async def perform(self, task: Task[R]) -> R:
        asked: Task[Any] = task
        bare = replace(asked, answers=()) if isinstance(asked, ReduceAnswer) else asked
        self._asked.add(type(task).__name__, prompt_tokens(self._chat.request(bare)))
        if isinstance(asked, MapPoints):
            return cast("R", (PartialAnswer("?", 1),))
        if isinstance(asked, DraftAnswer):
            return cast("R", Draft("?"))
        reply = await self._stand_in.perform(task)
        if isinstance(reply, PartialAnswer):  # a language model finds something to say where this one does not
            return cast("R", replace(reply, score=max(1, reply.score)))
        return reply

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        return [await self.perform(task) for task in tasks]

    def stream(self, task: Task[str]) -> AsyncIterator[str]:
        raise NotSupported("nothing is streamed here")


async def estimate_answers(
    works: Sequence[Work], index: Index, chat: ChatModel, stand_in: Model, estimator: Estimator
) -> dict[str, Estimate]:
    """Return what the answers of each condition will take; replies that are kept are not taken off."""
    index = replace(index)  # what methods keep of this is none of the run's
    by_condition: dict[str, list[Work]] = {}
    for work in works:
        by_condition.setdefault(work.condition.name, []).append(work)
    return {name: await _estimate(some, index, chat, stand_in, estimator) for name, some in by_condition.items()}


async def _estimate(
    works: Sequence[Work], index: Index, chat: ChatModel, stand_in: Model, estimator: Estimator
) -> Estimate:
    fixed = works[0].condition.method in ("global", "source-summary") and not works[0].settings.global_.descend
    tried = works[:: max(1, len(works) // PROBED)][: 1 if fixed else PROBED]
    asked = _Asked()
    for work in tried:
        text = work.question.text
        probe = WithAnswerOptions(_Probe(chat, stand_in, asked), text, work.settings.answer, index.languages)
        await answering(text, work.condition, index)(text, index, probe, work.settings)
    times = len(works) / len(tried)
    window = works[0].settings.global_.context_tokens
    return Estimate(tuple(_row(name, asked, times, window, estimator) for name in asked.calls))


def _row(task: str, asked: _Asked, times: float, window: int, estimator: Estimator) -> TaskEstimate:
    calls, tokens = round(asked.calls[task] * times), round(asked.tokens[task] * times)
    prompts = Range(tokens, tokens)
    if task == ReduceAnswer.__name__:  # and with the partial answers, as many as fit
        prompts = Range(tokens + calls * REPLIES[MapAnswer.__name__].low, tokens + calls * window)
    return estimator.row(task, Range(calls, calls), prompts, Range(calls, calls).times(REPLIES.get(task, REPLY)))


def estimate_questions(
    description: str, language: str, users: int, tasks: int, questions: int, chat: ChatModel, estimator: Estimator
) -> Estimate:
    """Return what making questions takes: 1 + users + users x tasks calls, if the model does not repeat itself."""
    nobody = Persona("", "")
    one: Sequence[tuple[Task[Any], int, Range, Range]] = [
        (Personas(description, users, language=language), 1, NONE, PERSONA.times(Range(users, users))),
        (
            UserTasks(description, nobody, tasks, language=language),
            users,
            PERSONA,
            USER_TASK.times(Range(tasks, tasks)),
        ),
        (
            GlobalQuestions(description, nobody, "", questions, language=language),
            users * tasks,
            PERSONA.plus(USER_TASK),
            QUESTION.times(Range(questions, questions)),
        ),
    ]
    rows: list[TaskEstimate] = []
    for task, calls, more, reply in one:
        known, bare = Range(calls, calls), prompt_tokens(chat.request(task))
        rows.append(
            estimator.row(type(task).__name__, known, known.times(more.plus(Range(bare, bare))), known.times(reply))
        )
    return Estimate(tuple(rows))


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Return the estimates of all conditions as one."""
    return Estimate(tuple(task for one in estimates for task in one.tasks))
