"""Many pieces of work on one model: a number of them under way, each result kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from conspectus.errors import ModelError, UsageError
from conspectus.models.base import Tick, no_tick, together

T = TypeVar("T")
AT_ONCE = 50
"""Pieces under way or waiting for their turn; how many calls are really open at once is the model's business."""


async def each(
    pieces: Iterable[T], work: Callable[[T], Awaitable[None]], tick: Tick = no_tick, at_once: int = AT_ONCE
) -> None:
    """Do the work on each piece, the first ones first.

    Where nothing more can be asked of the model, or what is asked makes no sense, what is under way ends and nothing
    new is begun; then the ModelError or UsageError is raised. What fails alone is the work's own to keep.
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
