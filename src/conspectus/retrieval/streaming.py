"""Tells an answer while it is written: references appear as citations, once they are whole and checked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from typing import TypeVar, cast

from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.models.base import Model, Tick, no_tick
from conspectus.references import CLOSING
from conspectus.retrieval.citations import cite
from conspectus.tasks import AnswerFromContext, ReduceAnswer, Task

R = TypeVar("R")
FINAL = (ReduceAnswer, AnswerFromContext)
"""The tasks whose reply is the answer."""


class StreamingModel:
    """A model whose final reply is told piece by piece; a method that is given it need not know."""

    def __init__(self, model: Model, index: Index, tell: Callable[[str], None]) -> None:
        self.name = model.name
        self.generative = model.generative
        self._model = model
        self._index = index
        self._tell = tell

    async def perform(self, task: Task[R]) -> R:
        if not isinstance(task, FINAL):
            return await self._model.perform(task)
        text = shown = ""
        async for piece in self._model.stream(cast("Task[str]", task)):
            text += piece
            # What is cited before does not change by what comes after: a piece never ends inside a reference.
            cited = cite(text, self._index)[0] if CLOSING.search(piece) else shown + piece
            cited = cited if shown else cited.lstrip()
            if len(cited) > len(shown):
                self._tell(cited[len(shown) :])
                shown = cited
        return cast("R", text)

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        return await self._model.perform_all(tasks, tick)

    def stream(self, task: Task[str]) -> AsyncIterator[str]:
        return self._model.stream(task)
