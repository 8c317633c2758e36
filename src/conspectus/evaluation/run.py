"""One way to run a step of an evaluation: estimate it, check the budget, lock the folder, do it, say what it took.

An estimate runs the work itself, on some of its pieces, with a stand-in for the language model: each prompt that would
be sent is rendered and counted, and nothing is sent. What depends on replies is a range.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from conspectus.errors import ModelError, NotSupported
from conspectus.index import Index
from conspectus.indexing.estimate import NONE, Estimate, Estimator, Range, check_budget
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.cache import FILE_NAME
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.session import Session, open_session
from conspectus.rows import Usage
from conspectus.runtime import run_sync, session_for
from conspectus.settings import Settings
from conspectus.storage import locks
from conspectus.tasks import (
    ClearSentences,
    Draft,
    DraftAnswer,
    FactualClaims,
    GlobalQuestions,
    Judge,
    MapAnswer,
    MapPoints,
    Numbered,
    PartialAnswer,
    Persona,
    Personas,
    ReduceAnswer,
    SelectFactual,
    Task,
    UserTasks,
    Verdict,
)

R = TypeVar("R")
Piece = TypeVar("Piece")
Value = TypeVar("Value")
NO_USAGE = Usage()
SAMPLED = 200
"""Pieces of work whose prompts are rendered for an estimate; what they take stands for all."""
REPLY = Range(20, 600)
"""Tokens of a reply to a task that is not listed."""
REPLIES = {
    "MapAnswer": Range(20, 900),
    "MapPoints": Range(40, 1200),
    "ReduceAnswer": Range(200, 1800),
    "AnswerFromContext": Range(100, 1500),
    "RateReport": Range(1, 5),
    "DraftAnswer": Range(10, 400),
    "SelectFactual": Range(3, 60),
    "ClearSentences": Range(20, 900),
    "FactualClaims": Range(20, 1500),
    "Entails": Range(1, 3),
    "Judge": Range(40, 250),
    "Personas": Range(25, 80),
    "UserTasks": Range(10, 40),
    "GlobalQuestions": Range(12, 45),
}
"""Tokens of a reply by task (of one item, where the task asks for a number of items), as models usually reply."""


@dataclass(frozen=True)
class Preview:
    """What a run would do: `total` pieces of work, of which `left` have no result yet, and what these would take."""

    total: int
    left: int
    estimate: Estimate | None = None
    """None where no language model is asked."""


@dataclass(frozen=True)
class Result(Generic[Value]):
    """What a run found, what it took of a language model, and what the replies lacked, a line each."""

    value: Value
    usage: Usage = NO_USAGE
    notices: tuple[str, ...] = ()


@dataclass
class _Prompts:
    """The prompts of one task that were rendered: how many, their tokens, and the items that they ask for."""

    calls: int = 0
    tokens: int = 0
    items: int = 0


@dataclass
class StandIn:
    """A model that only counts what a language model would be asked, without replies that are cached.

    It replies as `extractive` does, or as a language model that finds something everywhere.
    """

    session: Session
    extractive: Model
    prompts: dict[str, _Prompts] = field(default_factory=dict[str, _Prompts])
    generative: bool = True

    def __post_init__(self) -> None:
        self.name = self.session.model.name

    async def perform(self, task: Task[R]) -> R:
        asked: Task[Any] = task
        request = self.session.model.request(replace(asked, answers=()) if isinstance(asked, ReduceAnswer) else asked)
        if not self.session.sender.has(request):
            counted = self.prompts.setdefault(type(task).__name__, _Prompts())
            counted.calls += 1
            counted.tokens += prompt_tokens(request)
            counted.items += getattr(task, "count", 1)
        reply = _assumed(asked)
        if reply is None:
            reply = await self.extractive.perform(asked)
        if isinstance(reply, PartialAnswer):  # a language model finds something to say where this one does not
            reply = replace(reply, score=max(1, reply.score))
        return cast("R", reply)

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        return [await self.perform(task) for task in tasks]

    def stream(self, task: Task[str]) -> AsyncIterator[str]:
        raise NotSupported("nothing is streamed here")


def _assumed(task: Task[Any]) -> Any:
    """Return the reply that an estimate assumes, None where the extractive model's will do."""
    match task:
        case MapPoints():
            return (PartialAnswer("?", 1),)
        case DraftAnswer():
            return Draft("?")
        case Judge():
            return Verdict(0, "")
        case SelectFactual():
            return tuple(range(1, len(task.sentences) + 1))
        case ClearSentences():
            return tuple(Numbered(number, task.sentences[number - 1]) for number in task.chosen)
        case FactualClaims():
            return tuple(Numbered(number, text) for number, text in enumerate(task.sentences, 1))
        case Personas():
            return tuple(
                Persona(f"Persona {n}", "who would use the corpus for what it says " * 5) for n in _numbers(task)
            )
        case UserTasks():
            return tuple(
                f"Task {n}: find out what the corpus says about a subject and compare it" for n in _numbers(task)
            )
        case GlobalQuestions():
            return tuple(f"Question {n} of {task.persona.name} on {task.task}" for n in _numbers(task))
        case _:
            return None


def _numbers(task: Personas | UserTasks | GlobalQuestions) -> range:
    return range(len(task.known) + 1, len(task.known) + task.count + 1)


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
    some = pieces[::step][:sampled]
    stand_in = StandIn(session, extractive or ExtractiveModel())
    for piece in some:
        await work(piece, stand_in)
    estimator = Estimator(session.model, session.sender, settings)
    scale = len(pieces) / max(1, len(some))
    rows = [
        estimator.row(
            task,
            _exactly(round(counted.calls * scale)),
            _asked(task, counted, scale, settings),
            REPLIES.get(task, REPLY).times(_exactly(counted.items * scale)),
        )
        for task, counted in stand_in.prompts.items()
    ]
    return Estimate(tuple(rows))


def _asked(task: str, counted: _Prompts, scale: float, settings: Settings) -> Range:
    """Return the tokens of all prompts of a task; a reduce step reads partial answers too, as many as fit."""
    tokens, calls = round(counted.tokens * scale), round(counted.calls * scale)
    if task != ReduceAnswer.__name__:
        return _exactly(tokens)
    return Range(tokens + calls * REPLIES[MapAnswer.__name__].low, tokens + calls * settings.global_.context_tokens)


def _exactly(number: float) -> Range:
    return Range(number, number)


def total(estimates: Iterable[Estimate]) -> Estimate:
    """Return several estimates as one."""
    return Estimate(tuple(task for one in estimates for task in one.tasks))


def preview(settings: Settings, folder: Path | None, cost: Callable[[Session], Awaitable[Value]]) -> Value | None:
    """Return what `cost` estimates with the model of the settings, whose cache is in a folder; nothing is sent.

    None without a language model.
    """
    if settings.model == "extractive":
        return None

    async def run() -> Value:
        cached = folder if folder and (folder / FILE_NAME).exists() else None  # an estimate makes no file of replies
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
            if session and session.sender.ledger.limited:
                check_budget(await cost(session), session.sender.ledger)
            performer = model or (session.model if session else None)
            if folder and lock:
                with locks.writing(folder, lock):
                    value = await work(performer, session)
            else:
                value = await work(performer, session)
            return Result(value, session.total, session.notices) if session else Result(value)

    return run_sync(run())


def tick_of(progress: Progress | None, stage: str, total: int) -> Tick:
    """Return what a step of a stage is reported to."""
    return progress.stage(stage, total) if progress else no_tick


def opened(index: Index | str | Path) -> Index:
    """Return an index, opened where its folder is given."""
    from conspectus.api.building import open_index

    return index if isinstance(index, Index) else open_index(index)


__all__ = ["NONE", "Preview", "Result", "StandIn", "estimate", "opened", "perform", "preview", "tick_of", "total"]
