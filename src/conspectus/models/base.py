"""What every model can do: perform tasks."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ParamSpec, Protocol, TypeVar, runtime_checkable

from conspectus.errors import ModelError, Unusable
from conspectus.tasks import Task

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Tick = Callable[[], None]
"""Called once for each piece of work that is done."""

AT_ONCE = 10
"""Works that are begun before those that were begun go on."""
MOST_BEGUN = 1000
"""Works that are under way at once: forty for each of the 25 calls that a server gets at once by default, so that it is
never left without work, and some 20 MB of prompts."""


def no_tick() -> None:
    """Do nothing."""


class Performs(Protocol):
    """What an object has that is taken as a model: `perform`, asynchronous or not."""

    def perform(self, task: Any) -> Any: ...


@runtime_checkable
class Model(Protocol):
    """Performs tasks. References in what comes back are in the index's numbers, whoever wrote them.

    A subclass needs a `name` and `perform`; the rest is inherited.
    """

    name: str
    generative: bool = True
    """Whether it writes text of its own; False for one that only selects from the sources."""

    async def perform(self, task: Task[R]) -> R:
        """Perform one task; raise ModelError where that fails for good."""
        ...

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        """Perform tasks in any order, and return replies in the given one, failures among them as values."""

        async def one(task: Task[R]) -> R | ModelError:
            try:
                return await self.perform(task)
            except Unusable:
                raise
            except ModelError as error:
                return error
            finally:
                tick()

        return await performed(self, one, tasks)

    async def stream(self, task: Task[str]) -> AsyncIterator[str]:
        """Perform a task whose reply is text, piece by piece."""
        yield await self.perform(task)


class Performing(Model):
    """Makes a model of any object with `perform`; takes its `name` and `generative` if it has these."""

    def __init__(self, performer: Performs) -> None:
        self.name = getattr(performer, "name", type(performer).__name__)
        self.generative = getattr(performer, "generative", True)
        self._performer = performer

    async def perform(self, task: Task[R]) -> R:
        reply = self._performer.perform(task)
        return await reply if inspect.isawaitable(reply) else reply


@dataclass(frozen=True, slots=True)
class Performer:
    """A function that performs a type of task, and the names of what it takes of the model beside the task."""

    function: Callable[..., Any]
    needs: tuple[str, ...]


_performers: dict[type[Task[Any]], Performer] = {}
REGISTERING = "graph", "sentence_store", "answer", "reason"
"""The modules of `models.extractive` whose functions `performs` registers: imported in this order, one after the other,
until the task at hand is among them."""


def performs(kind: Callable[..., Task[R]]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the function below as what the extractive model does with a type of task.

    The first parameter of the function is the task. The names of the others say what it takes of the model, as
    fixtures do in pytest: properties of `ExtractiveModel`, such as `index` or `searcher`, made when first needed.

        @performs(RateReport)
        def rate_report(task: RateReport, searcher: Searcher) -> int: ...
    """

    def register(function: Callable[P, R]) -> Callable[P, R]:
        assert isinstance(kind, type)
        _, *needs = inspect.signature(function).parameters
        _performers[kind] = Performer(function, tuple(needs))
        return function

    return register


def performer_of(kind: type[Task[Any]]) -> Performer | None:
    """Return the function that is registered for a type of task, None where there is none."""
    for module in REGISTERING:
        if kind in _performers:
            break
        import_module(f".extractive.{module}", __package__)
    return _performers.get(kind)


def writes(model: Model, kind: type[Task[Any]]) -> bool:
    """Return whether a model writes the replies to a type of task, and does not have them selected from the sources."""
    return model.generative and kind.__name__ not in getattr(model, "selected", ())


def portable(model: Model, documents: range | None = None) -> Model | None:
    """Return a model that performs tasks alike in another process, there extracting from some documents of the corpus.

    None where there is none: a language model has its limits and its cache in this process. Its `digest` is one of what
    it extracts by.
    """
    make: Callable[[range | None], Model] | None = getattr(model, "portable", None)
    return make(documents) if make else None


class Waiting(Exception):
    """A call of a work is part of a batch: the work is to be done again when that is `answered`.

    So a call that waits for a day holds neither its prompt nor what it was made from.
    """

    def __init__(self, answered: asyncio.Event) -> None:
        super().__init__("a call waits for its batch")
        self.answered = answered


async def when_answered(work: Callable[[], Awaitable[R]]) -> R:
    """Do a work, and again after each batch that a call of it is part of, whose replies then are cached."""
    while True:
        try:
            return await work()
        except Waiting as waiting:
            answered = waiting.answered
        await answered.wait()


def succeeded(replies: Iterable[R | ModelError]) -> list[R]:
    """Return the replies that are no failures, in their order."""
    return [reply for reply in replies if not isinstance(reply, ModelError)]


async def together(works: Iterable[Awaitable[R]]) -> list[R]:
    """Do all works at once and return their results in the given order.

    Where one raises, the others come to their end, so that what is under way is kept; then the first error is raised.
    """
    results = await asyncio.gather(*works, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # pyright: ignore[reportReturnType]  # no exceptions are left in it


async def performed(model: Model, work: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
    """Do the same work on each item: MOST_BEGUN at once where the model has to be waited for, else in turn.

    What is `Waiting` for a batch is done again when all of it is answered; until then it takes no memory.
    """
    if not model.generative:
        return [await work(item) for item in items]
    results: dict[int, R] = {}
    remaining: Sequence[int] = range(len(items))
    while remaining:
        waiting: dict[int, asyncio.Event] = {}
        numbers = iter(remaining)

        async def go_on(numbers: Iterator[int], waiting: dict[int, asyncio.Event]) -> None:
            for i in numbers:
                try:
                    results[i] = await work(items[i])
                except Waiting as answer:
                    waiting[i] = answer.answered

        begun: list[asyncio.Future[None]] = []
        while len(begun) < min(MOST_BEGUN, len(remaining)):
            begun.append(asyncio.ensure_future(go_on(numbers, waiting)))
            if len(begun) % AT_ONCE == 0:
                # so that the first call is on its way before the last is thought of
                await asyncio.sleep(0)
        await together(begun)
        for answered in set(waiting.values()):
            await answered.wait()
        remaining = sorted(waiting)
    return [results[i] for i in range(len(items))]


def run_sync(work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine to its end, also where the caller is inside an event loop, as every cell of a notebook is.

    It then runs in a loop of another thread; an interrupt of the caller ends it. The result is handed over apart, since
    asyncio would write a task's result out as text.
    """
    results: list[R] = []
    cancel: list[Callable[[], object]] = []

    async def store_result() -> None:
        task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()
        cancel.append(lambda: loop.call_soon_threadsafe(task.cancel))
        results.append(await task)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(store_result())
        return results[0]
    with ThreadPoolExecutor(1, thread_name_prefix="conspectus") as thread:
        done = thread.submit(asyncio.run, store_result())
        try:
            done.result()
        except BaseException:
            if cancel and not done.done():  # the caller was interrupted while it waited
                cancel[0]()
            raise
    return results[0]
