"""The interface of all models: a model performs tasks."""

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
"""A progress callback, called once for each completed piece of work."""

AT_ONCE = 10
"""Items started before the event loop runs the ones already started."""
MOST_BEGUN = 1000
"""Maximum number of items processed at once: forty for each of the 25 concurrent calls that a server gets by default,
so that it is never idle, with some 20 MB of prompts."""


def no_tick() -> None:
    """Do nothing."""


class Performs(Protocol):
    """An object that can be used as a model: it has a method `perform`, asynchronous or not."""

    def perform(self, task: Any) -> Any: ...


@runtime_checkable
class Model(Protocol):
    """Performs tasks. References in its replies use the numbers of the index, whichever model wrote them.

    A subclass needs a `name` and `perform`; the rest is inherited.
    """

    name: str
    generative: bool = True
    """Whether the model writes text of its own; False if it only selects text from the sources."""

    async def perform(self, task: Task[R]) -> R:
        """Perform one task and return the reply; raise ModelError if it fails for good."""
        ...

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        """Perform tasks in any order; return a reply or the ModelError for each, in the order of the tasks."""

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
        """Perform a task whose reply is text, and yield the reply piece by piece."""
        yield await self.perform(task)


class Performing(Model):
    """Wraps any object with `perform` as a model, with the object's `name` and `generative` if it has these."""

    def __init__(self, performer: Performs) -> None:
        self.name = getattr(performer, "name", type(performer).__name__)
        self.generative = getattr(performer, "generative", True)
        self._performer = performer

    async def perform(self, task: Task[R]) -> R:
        reply = self._performer.perform(task)
        return await reply if inspect.isawaitable(reply) else reply


@dataclass(frozen=True, slots=True)
class Performer:
    """A function that performs a type of task, and the names of its parameters after the task."""

    function: Callable[..., Any]
    needs: tuple[str, ...]


_performers: dict[type[Task[Any]], Performer] = {}
REGISTERING = "graph", "sentence_store", "answer", "reason"
"""The modules of `models.extractive` with functions that `performs` registers. They are imported in this order until
the requested type of task is registered."""


def performs(kind: Callable[..., Task[R]]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register the decorated function as the one by which the extractive model performs a type of task.

    The first parameter of the function is the task. The others are named after properties of `ExtractiveModel`, such
    as `index` or `searcher`, which are passed to it (as with fixtures in pytest) and created when first needed.

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
    """Return the function that is registered for a type of task, or None."""
    for module in REGISTERING:
        if kind in _performers:
            break
        import_module(f".extractive.{module}", __package__)
    return _performers.get(kind)


def writes(model: Model, kind: type[Task[Any]]) -> bool:
    """Return whether a model writes the replies to a type of task itself, rather than selecting them from sources."""
    return model.generative and kind.__name__ not in getattr(model, "selected", ())


def portable(model: Model, documents: range | None = None) -> Model | None:
    """Return a model that performs tasks identically in another process, where it extracts from `documents` only.

    Return None if there is none: the limits and the cache of a language model belong to this process. The method
    `digest` of the model returns a digest of the corpus data that its extraction depends on.
    """
    make: Callable[[range | None], Model] | None = getattr(model, "portable", None)
    return make(documents) if make else None


class Waiting(Exception):
    """Signals that a call became part of a batch: repeat the work that made the call once the batch is `answered`.

    In this way a call that waits for a day keeps neither its prompt nor the prompt's inputs in memory.
    """

    def __init__(self, answered: asyncio.Event) -> None:
        super().__init__("a call waits for its batch")
        self.answered = answered


async def when_answered(work: Callable[[], Awaitable[R]]) -> R:
    """Return the result of `work`; repeat it after each batch with one of its calls, whose reply is then cached."""
    while True:
        try:
            return await work()
        except Waiting as waiting:
            answered = waiting.answered
        await answered.wait()


def succeeded(replies: Iterable[R | ModelError]) -> list[R]:
    """Return the replies that are not errors, in their order."""
    return [reply for reply in replies if not isinstance(reply, ModelError)]


async def together(works: Iterable[Awaitable[R]]) -> list[R]:
    """Await all works concurrently and return their results in the given order.

    If one raises, the others still finish, so that their replies are stored; then the first error is raised.
    """
    results = await asyncio.gather(*works, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # pyright: ignore[reportReturnType]  # no exceptions are left in it


async def performed(model: Model, work: Callable[[T], Awaitable[R]], items: Sequence[T]) -> list[R]:
    """Return the result of `work` for each item: MOST_BEGUN items at once if the model is generative, else in turn.

    Items that raise `Waiting` are processed again when all their batches are answered; until then they use no memory.
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
                # so that the first calls are sent before the last items are started
                await asyncio.sleep(0)
        await together(begun)
        for answered in set(waiting.values()):
            await answered.wait()
        remaining = sorted(waiting)
    return [results[i] for i in range(len(items))]


def run_sync(work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine and return its result, even if the caller is inside an event loop, like every notebook cell.

    In that case it runs in the loop of another thread, and an interrupt of the caller cancels it. The result is passed
    through a list instead of being the task's result, which asyncio would convert to text.
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
