"""Shows what an answer would be made from: a method is run as it is, but nobody is asked for the answer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, TypeVar, cast

from conspectus.errors import ModelError
from conspectus.models.base import Model, Tick, no_tick
from conspectus.retrieval import READS_NOTHING
from conspectus.tasks import (
    AnswerFromContext,
    Draft,
    DraftAnswer,
    MapAnswer,
    MapPoints,
    PartialAnswer,
    ReduceAnswer,
    Task,
)
from conspectus.tasks.context import Context

R = TypeVar("R")
_KNOWING = "{} reads nothing: it asks for what a language model knows"
NO_PREVIEW = {
    "drift": "each step of drift reads what the step before it asks for: nothing can be shown before the answer",
    "tog1": "tog1 goes along the graph, step by step: nothing can be shown before the answer",
    **{name: _KNOWING.format(name) for name in READS_NOTHING},
}
"""Why there is nothing to show, by method."""
_REPLIES: dict[type[Task[Any]], Any] = {
    AnswerFromContext: "",
    MapAnswer: PartialAnswer("", 0),
    MapPoints: (),
    ReduceAnswer: "",
    DraftAnswer: Draft(""),
}


class ContextRecorder:
    """A model that performs the tasks on the way to an answer, and notes the windows that it would be made from."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.generative = model.generative
        self.windows: list[Context] = []
        self._model = model

    def _noted(self, task: Task[R]) -> R:
        if isinstance(task, AnswerFromContext | MapAnswer | MapPoints):
            self.windows.append(task.evidence)
        return cast("R", _REPLIES[type(task)])

    async def perform(self, task: Task[R]) -> R:
        return self._noted(task) if type(task) in _REPLIES else await self._model.perform(task)

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        if any(type(task) in _REPLIES for task in tasks):
            return [await self.perform(task) for task in tasks]
        return await self._model.perform_all(tasks, tick)

    def stream(self, task: Task[str]) -> AsyncIterator[str]:
        return self._model.stream(task)
