"""How a step of an evaluation runs: estimate it, check the budget, lock the folder, work, say what it took.

An estimate does the work itself on some of the pieces, with a stand-in for the language model that renders and counts
each prompt and sends none. What depends on replies is a range.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from conspectus import tasks
from conspectus.errors import ModelError, NotSupported
from conspectus.indexing.estimate import Estimate, Estimator, Range, check_budget, exactly
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.cache import FILE_NAME
from conspectus.models.llm.model import Session, open_session
from conspectus.models.llm.wire import prompt_tokens
from conspectus.rows import Usage
from conspectus.runtime import run_sync, session_for
from conspectus.settings import Settings
from conspectus.storage import manifests

R = TypeVar("R")
Piece = TypeVar("Piece")
Value = TypeVar("Value")
NO_USAGE = Usage()
SAMPLED = 200
"""Pieces of work whose prompts an estimate renders: enough for a mean within a few percent, in a second or two."""
Assumed = Callable[[Any], Any]
"""Makes the reply to a task that an estimate assumes."""
USUAL = Range(20, 600)
"""Tokens of a reply to a task that is not listed."""
REPLIES: dict[str, tuple[Range, Assumed | None]] = {
    "MapAnswer": (Range(20, 900), None),
    "ReduceAnswer": (Range(200, 1800), None),
    "AnswerFromContext": (Range(100, 1500), None),
    "RateReport": (Range(1, 5), None),
    "DraftAnswer": (Range(10, 400), lambda task: tasks.Draft("?")),
    "SelectFactual": (Range(3, 60), lambda task: range(1, len(task.sentences) + 1)),
    "ClearSentences": (
        Range(20, 900),
        lambda task: [tasks.Numbered(n, task.sentences[n - 1]) for n in task.chosen],
    ),
    "FactualClaims": (
        Range(20, 1500),
        lambda task: [tasks.Numbered(*pair) for pair in enumerate(task.sentences, 1)],
    ),
    "Entails": (Range(1, 3), None),
    "Judge": (Range(40, 250), lambda task: tasks.Verdict(0, "")),
    "Personas": (
        Range(25, 80),
        lambda task: [tasks.Persona(f"Persona {n}", "who asks " * 25) for n in _new(task)],
    ),
    "UserTasks": (Range(10, 40), lambda task: [f"Task {n}: find out what the corpus says" for n in _new(task)]),
    "GlobalQuestions": (
        Range(12, 45),
        lambda task: [f"Question {n} of {task.persona.name} on {task.task}" for n in _new(task)],
    ),
}
"""By task: tokens of a reply (of one item, where the task asks for a number of items), as models usually reply, and
what an estimate takes for it, where the extractive model does not reply or finds less than a language model."""


def _new(task: Any) -> range:
    """Return the numbers of the items that a task asks for."""
    return range(len(task.known) + 1, len(task.known) + task.count + 1)


@dataclass(frozen=True)
class Preview:
    """What a run would do: `total` pieces of work, of which `left` have no result yet, and what these would take."""

    total: int
    left: int
    estimate: Estimate | None = None
    """None where no language model is asked."""


@dataclass(frozen=True)
class Result(Generic[Value]):
    """The result of a run, what it took of a language model, and what the replies lacked, a line each."""

    value: Value
    usage: Usage = NO_USAGE
    notices: tuple[str, ...] = ()


@dataclass
class _Prompts:
    """The prompts of one task: how many, their tokens, and the items that they ask for."""

    calls: int = 0
    tokens: int = 0
    items: int = 0


@dataclass
class StandIn:
    """A model that counts the prompts of a language model, except those whose replies are cached.

    It replies as the extractive model does, or as a language model that finds something everywhere.
    """

    session: Session
    extractive: Model
    prompts: dict[str, _Prompts] = field(default_factory=dict[str, _Prompts])
    generative: bool = True

    def __post_init__(self) -> None:
        self.name = self.session.model.name

    async def perform(self, task: tasks.Task[R]) -> R:
        asked: Any = task
        without_answers = replace(asked, answers=()) if isinstance(asked, tasks.ReduceAnswer) else asked
        request = self.session.model.request(without_answers)
        if self.session.sender.peek(request) is None:
            counted = self.prompts.setdefault(type(task).__name__, _Prompts())
            counted.calls += 1
            counted.tokens += prompt_tokens(request)
            counted.items += getattr(task, "count", 1)
        _, assumed = REPLIES.get(type(task).__name__, (USUAL, None))
        reply: Any = assumed(task) if assumed else await self.extractive.perform(asked)
        if isinstance(reply, tasks.PartialAnswer):
            reply = replace(reply, score=max(1, reply.score))
        return cast("R", reply)

    async def perform_all(self, tasks: Sequence[tasks.Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        return [await self.perform(task) for task in tasks]

    def stream(self, task: tasks.Task[str]) -> AsyncIterator[str]:
        raise NotSupported("an estimate streams nothing")


async def estimate(
    pieces: Sequence[Piece],
    work: Callable[[Piece, Model], Awaitable[Any]],
    session: Session,
    settings: Settings,
    extractive: Model | None = None,
    sampled: int = SAMPLED,
) -> Estimate:
    """Return what work on all pieces would take, by what it takes on `sampled` of them, spread evenly."""
    step = max(1, len(pieces) // sampled)
    sample = pieces[::step][:sampled]
    stand_in = StandIn(session, extractive or ExtractiveModel())
    for piece in sample:
        await work(piece, stand_in)
    estimator = Estimator(session.model, session.sender, settings)
    scale = len(pieces) / max(1, len(sample))
    rows = [
        estimator.row(
            task,
            exactly(round(counted.calls * scale)),
            _prompts(task, counted, scale, settings),
            REPLIES.get(task, (USUAL, None))[0].times(exactly(counted.items * scale)),
        )
        for task, counted in stand_in.prompts.items()
    ]
    return Estimate(tuple(rows))


def _prompts(task: str, counted: _Prompts, scale: float, settings: Settings) -> Range:
    """Return the tokens of all prompts of a task; a reduce step also reads partial answers, as many as fit."""
    tokens, calls = round(counted.tokens * scale), round(counted.calls * scale)
    if task != "ReduceAnswer":
        return exactly(tokens)
    return Range(tokens + calls * REPLIES["MapAnswer"][0].low, tokens + calls * settings.answer.context_tokens)


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Return several estimates as one."""
    return Estimate(tuple(task for estimate in estimates for task in estimate.tasks))


def preview(settings: Settings, folder: Path | None, cost: Callable[[Session], Awaitable[Value]]) -> Value | None:
    """Return what `cost` estimates with the model of the settings and the cache in a folder; None without a model."""
    if settings.model == "extractive":
        return None

    async def run() -> Value:
        cached = folder if folder and (folder / FILE_NAME).exists() else None  # an estimate creates no cache
        async with open_session(settings, cached, to_ask=False) as session:
            return await cost(session)

    return run_sync(run())


def perform(
    settings: Settings,
    folder: Path | None,
    model: Model | None,
    cost: Callable[[Session], Awaitable[Estimate]],
    work: Callable[[Model | None, Session | None], Awaitable[Value]],
    *,
    lock: str = "comparison",
) -> Result[Value]:
    """Do work with a model, that of the settings, or (None for `work`) without a language model.

    A budget is checked before the first call, the folder is locked against other processes (unless `lock` is empty).
    Raises BudgetReached, IndexBusy, and what the work raises.
    """

    async def run() -> Result[Value]:
        async with session_for(settings, folder, model) as session:
            if session and session.sender.budget.limited:
                check_budget(await cost(session), session.sender.budget)
            performer = model or (session.model if session else None)
            with manifests.writing(folder, lock) if folder and lock else nullcontext():
                value = await work(performer, session)
            return Result(value, session.total, session.notices) if session else Result(value)

    return run_sync(run())


def tick_of(progress: Progress | None, stage: str, total: int) -> Tick:
    """Return what each finished piece of a stage is reported to."""
    return progress.stage(stage, total) if progress else no_tick
