"""Models that wrap another model: they change or observe the tasks of one question, and methods need not know.

`WithAnswerOptions` adds the answer settings and the language to each task, `StreamingModel` passes the final answer on
piece by piece, and `ContextRecorder` records the contexts that an answer would be written from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, cast

from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.models.base import Model, Tick, no_tick
from conspectus.references import CLOSING
from conspectus.retrieval.citations import cite
from conspectus.settings import AnswerSettings
from conspectus.tasks import (
    AnswerFromContext,
    Draft,
    DraftAnswer,
    MapAnswer,
    PartialAnswer,
    ReduceAnswer,
    Task,
    WriteReport,
)
from conspectus.tasks.base import Context
from conspectus.text.language import language_of

R = TypeVar("R")


class WithAnswerOptions:
    """A model that is asked for answers as the settings have them, by prompts in the question's language."""

    def __init__(
        self, model: Model, question: str, settings: AnswerSettings, languages: Sequence[str] = ()
    ) -> None:
        """`languages` are those of what is asked, of which a question that tells none is taken to be in the first."""
        self.name = model.name
        self.generative = model.generative
        self._model = model
        self._values: dict[str, Any] = {
            "language": language_of([question], languages),
            "response": settings.response,
            "general_knowledge": settings.general_knowledge,
        }

    def _styled(self, task: Task[R]) -> Task[R]:
        accepted = _fields(type(task))
        return replace(task, **{name: value for name, value in self._values.items() if name in accepted})

    async def perform(self, task: Task[R]) -> R:
        return await self._model.perform(self._styled(task))

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        return await self._model.perform_all([self._styled(task) for task in tasks], tick)

    def stream(self, task: Task[str]) -> AsyncIterator[str]:
        return self._model.stream(self._styled(task))


@cache
def _fields(kind: type[Task[Any]]) -> frozenset[str]:
    if kind is WriteReport:  # it is written in the language of the corpus, as indexing asks for it
        return frozenset()
    return frozenset(f.name for f in fields(kind))


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


_REPLIES: dict[type[Task[Any]], Any] = {
    AnswerFromContext: "",
    MapAnswer: PartialAnswer("", 0),
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
        if isinstance(task, AnswerFromContext | MapAnswer):
            self.windows.append(task.context)
        return cast("R", _REPLIES[type(task)])

    async def perform(self, task: Task[R]) -> R:
        return self._noted(task) if type(task) in _REPLIES else await self._model.perform(task)

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        if any(type(task) in _REPLIES for task in tasks):
            return [await self.perform(task) for task in tasks]
        return await self._model.perform_all(tasks, tick)

    def stream(self, task: Task[str]) -> AsyncIterator[str]:
        return self._model.stream(task)
