"""What every model can do: perform tasks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from conspectus.errors import ModelError
from conspectus.tasks import Task

R = TypeVar("R")
Tick = Callable[[], None]
"""Called once for each piece of work that is done."""

AT_ONCE = 10
"""Works that are begun before those that were begun go on."""


def no_tick() -> None:
    """Do nothing."""


class Model(Protocol):
    """Performs tasks. References in what comes back are in the index's numbers, whoever wrote them."""

    name: str
    generative: bool
    """Whether it writes text of its own; False for one that only selects from the sources."""

    async def perform(self, task: Task[R]) -> R:
        """Perform one task; raise ModelError where that fails for good."""
        ...

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        """Perform tasks in any order and return their replies in the given one, failures among them as
        values.
        """
        ...

    def stream(self, task: Task[str]) -> AsyncIterator[str]:
        """Perform a task whose reply is text, piece by piece."""
        ...


def succeeded(replies: Iterable[R | ModelError]) -> list[R]:
    """Return the replies that are no failures, in their order."""
    return [reply for reply in replies if not isinstance(reply, ModelError)]


async def together(works: Iterable[Awaitable[R]]) -> list[R]:
    """Do all works at once and return their results in the given order.

    Where one raises, the others come to their end, so that what is under way is kept; then the first error is
    raised.
    """
    results = await asyncio.gather(*works, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # pyright: ignore[reportReturnType]  # no exceptions are left in it


async def performed(model: Model, works: Iterable[Awaitable[R]]) -> list[R]:
    """Do works that perform tasks: all at once where it has to be waited for, else in turn."""
    if not model.generative:
        return [await work for work in works]
    begun: list[asyncio.Future[R]] = []
    for work in works:
        begun.append(asyncio.ensure_future(work))
        if len(begun) % AT_ONCE == 0:
            await asyncio.sleep(0)  # so that the first call is on its way before the last is thought of
    return await together(begun)
