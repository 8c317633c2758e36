"""Models that wrap another model: they change or observe the tasks of one question, and methods need not know.

`WithAnswerOptions` adds the answer settings and the language to each task, `StreamingModel` passes the final answer on
piece by piece, and `ContextRecorder` records the contexts that an answer would be written from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar, cast

from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.models.base import Model, Tick, no_tick, performed
from conspectus.references import CLOSING
from conspectus.retrieval.base import cite
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


class WrappedModel:
    """A model that prepares each task, and has another model perform it."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.generative = model.generative
        self.selected: Collection[str] = getattr(model, "selected", ())
        self._model = model

    async def prepare(self, task: Task[R]) -> Task[R]:
        """Return the task to perform instead of one."""
        return task

    async def perform(self, task: Task[R]) -> R:
        return await self._model.perform(await self.prepare(task))

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        prepared = await performed(self._model, [self.prepare(task) for task in tasks])
        return await self._model.perform_all(prepared, tick)

    async def stream(self, task: Task[str]) -> AsyncIterator[str]:
        async for piece in self._model.stream(await self.prepare(task)):
            yield piece


class WithAnswerOptions(WrappedModel):
    """A model that is asked for answers as the settings have them, by prompts in the question's language."""

    def __init__(
        self, model: Model, question: str, settings: AnswerSettings, languages: Sequence[str] = ()
    ) -> None:
        """`languages` are those of what is asked, of which a question that tells none is taken to be in the first."""
        super().__init__(model)
        self._values: dict[str, Any] = {
            "language": language_of([question], languages),
            "response": settings.response,
            "general_knowledge": settings.general_knowledge,
        }

    async def prepare(self, task: Task[R]) -> Task[R]:
        return self._styled(task)

    def _styled(self, task: Task[R]) -> Task[R]:
        accepted = self._values.keys() & _fields(type(task))
        return replace(task, **{name: self._values[name] for name in accepted})


@cache
def _fields(kind: type[Task[Any]]) -> frozenset[str]:
    if kind is WriteReport:  # it is written in the language of the corpus, as indexing asks for it
        return frozenset()
    return frozenset(f.name for f in fields(kind))


FINAL = (ReduceAnswer, AnswerFromContext)
"""The tasks whose reply is the answer."""


class StreamingModel(WrappedModel):
    """A model that passes its final reply to `on_text` piece by piece; a method that is given it need not know."""

    def __init__(self, model: Model, index: Index, on_text: Callable[[str], None]) -> None:
        super().__init__(model)
        self._index = index
        self._on_text = on_text

    async def perform(self, task: Task[R]) -> R:
        if not isinstance(task, FINAL):
            return await super().perform(task)
        text = shown = ""
        async for piece in self._model.stream(cast("Task[str]", task)):
            text += piece
            # What is cited before does not change by what comes after: a piece never ends inside a reference.
            cited = cite(text, self._index)[0] if CLOSING.search(piece) else shown + piece
            cited = cited if shown else cited.lstrip()
            if len(cited) > len(shown):
                self._on_text(cited[len(shown) :])
                shown = cited
        return cast("R", text)


_REPLIES: dict[type[Task[Any]], Any] = {
    AnswerFromContext: "",
    MapAnswer: PartialAnswer("", 0),
    ReduceAnswer: "",
    DraftAnswer: Draft(""),
}


class ContextRecorder(WrappedModel):
    """A model that performs the tasks on the way to an answer, and records the windows that it would be made from."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.windows: list[Context] = []

    async def perform(self, task: Task[R]) -> R:
        if type(task) not in _REPLIES:
            return await super().perform(task)
        if isinstance(task, AnswerFromContext | MapAnswer):
            self.windows.append(task.context)
        return cast("R", _REPLIES[type(task)])

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        if any(type(task) in _REPLIES for task in tasks):
            return [await self.perform(task) for task in tasks]
        return await super().perform_all(tasks, tick)
