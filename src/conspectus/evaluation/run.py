"""How a step of an evaluation runs: estimate its cost, check the budget, lock the folder, work, report the usage.

A `Step` consists of pieces of work with a model. Each result is saved as soon as it is ready, so that the same call,
made again, continues from there. An estimate does the work itself on a sample of the pieces, with a stand-in for the
language model that renders and counts each prompt and sends none. Figures that depend on replies are ranges.
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, TypeVar, cast

from conspectus import tasks
from conspectus.api.asking import AskOptions, IndexLike, Request
from conspectus.api.building import Agree
from conspectus.errors import CallFailed, ModelError, UsageError
from conspectus.indexing.estimate import Estimate, Estimator, Range, TaskEstimate, check_budget, exactly
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick, together, writes
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.cache import FILE_NAME
from conspectus.models.llm.model import Session, open_session
from conspectus.models.llm.wire import prompt_tokens
from conspectus.retrieval.base import extractive
from conspectus.retrieval.model_wrappers import WithAnswerOptions
from conspectus.rows import Usage, content_id
from conspectus.runtime import DEFAULT_FOLDER, Run, public, run_sync, shown
from conspectus.settings import Settings
from conspectus.storage import manifests

if TYPE_CHECKING:
    from typing_extensions import Unpack

P = ParamSpec("P")
R = TypeVar("R")
Piece = TypeVar("Piece")
Value = TypeVar("Value")
Value_co = TypeVar("Value_co", covariant=True)
NO_USAGE = Usage()
AT_ONCE = 50
"""Pieces of work in progress at once: enough to use every connection of a model, which limits its calls itself."""
SAMPLED = 200
"""Pieces of work whose prompts an estimate renders: the mean is within a few percent, after a second or two."""


# Steps


@dataclass(frozen=True)
class Preview:
    """What a run would do: `total` pieces of work, `remaining` of them without a result, and an estimate of these."""

    total: int
    remaining: int
    estimate: Estimate | None = None
    """None if no language model is asked."""


@dataclass(frozen=True)
class Result(Generic[Value_co]):
    """The result of a run, the usage of language models, notices for the user, and the failures counted by message."""

    value: Value_co
    usage: Usage = NO_USAGE
    notices: tuple[str, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict[str, int])


class Runs(Protocol[Value_co]):
    """The interface of the object that a `StepFunction` runs, such as a `Step`."""

    def preview(self) -> Preview: ...

    def perform(self) -> Result[Value_co]: ...


class Step(ABC, Generic[Piece, Value]):
    """A step of an evaluation: its pieces of work with a model, those without a result (`remaining`), and its value."""

    stage = ""
    """The name in the display of progress; empty if the work displays its own progress."""
    rules: tuple[str, ...] = ()
    """Notices about results that were computed without a language model."""

    def __init__(self, folder: Path, run: Run, progress: Progress | bool | None) -> None:
        self.folder, self.run, self.settings, self.model = folder, run, run.settings, run.model
        self.progress: Progress | None = None
        self._shown = progress
        self.pieces: Sequence[Piece] = ()
        self.remaining: Sequence[Piece] = ()
        self.notices: list[str] = []
        self.errors = Counter[str]()

    @property
    def generative(self) -> bool:
        """Whether a language model does the work."""
        return self.model.generative if self.model else bool(self.settings.language_models)

    @abstractmethod
    async def work(self, piece: Piece, model: Model) -> Any:
        """Do the work on a piece; an estimate passes a stand-in for the model."""

    @abstractmethod
    def save(self, piece: Piece, result: Any, error: str) -> None:
        """Save the result of a piece; if there is none, `result` is None and `error` says why."""

    @abstractmethod
    def value(self) -> Value:
        """Return the value of the step, computed from all results when the work is done."""

    def extractive(self) -> Model:
        """Return the model that works where no language model is named."""
        return ExtractiveModel()

    def begin(self) -> None:
        """Write the files that the folder needs before the first result."""

    async def cost(self, session: Session) -> Estimate:
        """Return an estimate of the remaining work."""
        return await estimate(self.remaining, self.work, session, self.settings, self.extractive())

    def preview(self) -> Preview:
        """Return what the run would do and cost; no model is asked."""

        async def cost() -> Estimate:
            # An estimate creates no cache.
            cached = self.folder if (self.folder / FILE_NAME).exists() else None
            async with open_session(self.settings, cached, to_ask=False) as session:
                return await self.cost(session)

        asks = self.model is None and self.generative
        return Preview(len(self.pieces), len(self.remaining), run_sync(cost()) if asks else None)

    def perform(self) -> Result[Value]:
        """Do the remaining work and return the result.

        A budget is checked before the first call. Raises BudgetReached, IndexBusy if another process writes into the
        folder, and ModelError if no more calls are possible, after the work in progress has ended.
        """
        with shown(self._shown) as self.progress:
            return run_sync(self._perform())

    async def _perform(self) -> Result[Value]:
        async with self.run.session(self.folder, self.settings) as session:
            await agreed(session, self.cost)
            model = self.extractive()
            model = self.model or (session.model_with(model) if session else model)

            async def do(piece: Piece) -> None:
                result, error = await attempt(self.work(piece, model))
                self.errors.update([error] if error else [])
                self.save(piece, result, error)

            with manifests.writing(self.folder, "comparison"):
                self.begin()
                count = len(self.remaining)
                tick = self.progress.stage(self.stage, count) if self.progress and self.stage else no_tick
                await each(self.remaining, do, tick, self.settings.llm.concurrency)
                value = self.value()
            rules = () if self.generative else self.rules
            notices = (*rules, *self.notices, *(session.notices if session else ()))
            return Result(value, session.total if session else NO_USAGE, notices, dict(self.errors))


class StepFunction(Generic[P, Value]):
    """A public function that runs a step; `preview`, with the same arguments, returns what that would do and cost."""

    def __init__(self, plan: Callable[P, Runs[Value]]) -> None:
        @functools.wraps(plan)
        def perform(*args: P.args, **kwargs: P.kwargs) -> Result[Value]:
            return plan(*args, **kwargs).perform()

        @functools.wraps(plan)
        def preview(*args: P.args, **kwargs: P.kwargs) -> Preview:
            return plan(*args, **kwargs).preview()

        self._perform = public(perform)
        self.preview = public(preview)
        functools.update_wrapper(self, self._perform)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result[Value]:
        return self._perform(*args, **kwargs)


async def each(
    pieces: Iterable[Piece],
    work: Callable[[Piece], Awaitable[None]],
    tick: Tick = no_tick,
    at_once: int = AT_ONCE,
) -> None:
    """Do the work on each piece, in order, with at most `at_once` pieces in progress.

    When a piece raises ModelError or UsageError, no further one is begun, those in progress end, and it is raised.
    """
    waiting = list(pieces)[::-1]

    async def worker() -> None:
        while waiting:
            piece = waiting.pop()
            try:
                await work(piece)
            except (ModelError, UsageError):
                waiting.clear()
                raise
            tick()

    await together(worker() for _ in range(min(at_once, len(waiting))))


async def attempt(work: Awaitable[R]) -> tuple[R | None, str]:
    """Return the result of work on one piece and an empty text, or None and the message if a call failed."""
    try:
        return await work, ""
    except CallFailed as failure:
        return None, str(failure) or type(failure).__name__


def model_names(settings: Settings, *tasks: str) -> str:
    """Return the names of the models that perform some tasks, with a digest of the user's own prompts for them."""
    names = ", ".join(dict.fromkeys(map(settings.model_of, tasks)))
    folder = Path(settings.llm.prompts) if settings.llm.prompts else None
    own = sorted(path for task in tasks for path in folder.rglob(f"{task}.md")) if folder else []
    return f"{names}#{content_id(*(path.read_text(encoding='utf-8') for path in own))[:8]}" if own else names


# Estimates

USUAL = Range(20, 600)
"""Tokens of a reply to a task that is not in `REPLIES`, from the fewest to the most."""
REPLIES: Mapping[type[Any], Range] = {
    tasks.MapAnswer: Range(20, 900),
    tasks.ReduceAnswer: Range(200, 1800),
    tasks.AnswerFromContext: Range(100, 1500),
    tasks.RateReport: Range(1, 5),
    tasks.DraftAnswer: Range(10, 400),
    tasks.NameEntities: Range(5, 120),
    tasks.ExtractTriples: Range(60, 900),
    tasks.WritePropositions: Range(60, 900),
    tasks.NextThought: Range(10, 60),
    tasks.RecognizeTriples: Range(5, 20),
    tasks.SummarizePassages: Range(60, 300),
    tasks.SelectFactual: Range(3, 60),
    tasks.ClearSentences: Range(20, 900),
    tasks.FactualClaims: Range(20, 1500),
    tasks.Entails: Range(1, 3),
    tasks.Judge: Range(40, 250),
    tasks.Personas: Range(25, 80),
    tasks.UserTasks: Range(10, 40),
    tasks.GlobalQuestions: Range(12, 45),
}
"""Tokens that models usually reply with, by task (for one item, if the task asks for a number of items)."""


def assumed(task: Any) -> Any:
    """Return the reply that an estimate assumes where the extractive model has none, or a shorter one; else None."""
    match task:
        case tasks.ExtractTriples():
            return ()
        case tasks.WritePropositions():
            return (task.chunk.text,)
        case tasks.DraftAnswer():
            return tasks.Draft("?")
        case tasks.SelectFactual():
            return range(1, len(task.sentences) + 1)
        case tasks.ClearSentences():
            return [tasks.Numbered(n, task.sentences[n - 1]) for n in task.chosen]
        case tasks.FactualClaims():
            return [tasks.Numbered(n, text) for n, text in enumerate(task.sentences, 1)]
        case tasks.Judge():
            return tasks.Verdict(0, "")
        case tasks.Personas():
            return [tasks.Persona(f"Persona {n}", "who asks " * 25) for n in range(task.count)]
        case tasks.UserTasks():
            return [f"Task {n}: find out what the corpus says" for n in range(task.count)]
        case tasks.GlobalQuestions():
            return [f"Question {n} of {task.persona.name} on {task.task}" for n in range(task.count)]
        case _:
            return None


class StandIn(Model):
    """A model that counts the prompts of a language model, except those whose replies are cached.

    It replies like the extractive model, or like a language model that finds something in every text (see `assumed`).
    """

    name = ""  # methods do not store the replies of a model without a name

    def __init__(self, session: Session, extractive: Model) -> None:
        self.session, self.extractive = session, extractive
        self.calls, self.tokens, self.items = (Counter[type[Any]]() for _ in range(3))

    async def perform(self, task: tasks.Task[R]) -> R:
        kind, any_task = type(task), cast("Any", task)
        without_answers = (
            replace(any_task, answers=()) if isinstance(any_task, tasks.ReduceAnswer) else any_task
        )
        request = self.session.model.request(without_answers)
        if writes(self.session.model, kind) and self.session.sender.peek(request) is None:
            self.calls[kind] += 1
            self.tokens[kind] += prompt_tokens(request)
            self.items[kind] += getattr(task, "count", 1)
        reply = assumed(task)
        if reply is None:
            reply = await self.extractive.perform(any_task)
        if isinstance(reply, tasks.PartialAnswer):
            reply = replace(reply, score=max(1, reply.score))
        return cast("R", reply)


async def estimate(
    pieces: Sequence[Piece],
    work: Callable[[Piece, Model], Awaitable[Any]],
    session: Session,
    settings: Settings,
    extractive: Model,
    sampled: int = SAMPLED,
    rounds: int = 1,
) -> Estimate:
    """Return an estimate of the work on all pieces from `sampled` of them; each may be done up to `rounds` times."""
    step = max(1, len(pieces) // sampled)
    sample = pieces[::step][:sampled]
    stand_in = StandIn(session, extractive)
    for piece in sample:
        await work(piece, stand_in)
    estimator = Estimator(session.model, session.sender, settings)
    scale = len(pieces) / max(1, len(sample))
    rows: list[TaskEstimate] = []
    for kind, sampled_calls in stand_in.calls.items():
        calls, tokens = round(sampled_calls * scale), round(stand_in.tokens[kind] * scale)
        prompts = exactly(tokens)
        if kind is tasks.ReduceAnswer:  # it also reads as many partial answers as fit into the context
            shortest = REPLIES[tasks.MapAnswer].low
            prompts = Range(tokens + calls * shortest, tokens + calls * settings.answer.context_tokens)
        replies = REPLIES.get(kind, USUAL).times(exactly(stand_in.items[kind] * scale))
        times = Range(1, rounds if kind is tasks.AnswerFromContext else 1)
        taken = (times.times(amount) for amount in (exactly(calls), prompts, replies))
        rows.append(estimator.row(kind.__name__, *taken))
    return Estimate(tuple(rows))


async def agreed(
    session: Session | None, cost: Callable[[Session], Awaitable[Estimate]], agree: Agree | None = None
) -> None:
    """Check the budget against an estimate, and call `agree` with that estimate, before a language model is asked."""
    if session and (agree or session.sender.budget.limited):
        estimated = await cost(session)
        check_budget(estimated, session.sender.budget)
        if agree:
            agree(estimated)


async def estimate_answer(
    question: str, index: IndexLike = DEFAULT_FOLDER, **options: Unpack[AskOptions]
) -> tuple[str, str, Estimate | None]:
    """Return the method that would answer, why it was chosen, and an estimate of the model calls; none is made.

    The estimate is None if no language model would be asked. Arguments and errors are those of `conspectus.ask`.
    """
    request = Request.of(question, index, options)
    settings, asked = request.run.settings, request.view.index
    if request.run.model is not None or not settings.language_models:
        return request.method.name, request.why, None

    async def work(piece: str, model: Model) -> None:
        styled = WithAnswerOptions(model, piece, settings.answer, asked.languages)
        await request.method(piece, asked, styled, settings)

    cached = asked.folder if asked.folder and (asked.folder / FILE_NAME).exists() else None
    async with open_session(settings, cached, to_ask=False) as session:
        rounds = settings.auto.rounds if request.why else 1
        row = await estimate([question], work, session, settings, extractive(asked), 1, rounds)
    return request.method.name, request.why, row
