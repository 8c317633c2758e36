"""Models that wrap another model: they change or observe the tasks of one question, and methods need not know.

`WithAnswerOptions` adds the answer settings and the language to each task, `AnsweringModel` passes the final
answer on piece by piece, and `ContextRecorder` records the contexts that an answer would be written from.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar, cast

from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.models.base import Model, Tick, no_tick, performed
from conspectus.references import CLOSING
from conspectus.retrieval.base import cite, pack
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
from conspectus.tasks.base import HEADINGS, Context
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
        prepared = await performed(self._model, self.prepare, tasks)
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
        if isinstance(task, WriteReport):  # in the language of the corpus, as indexing asks for it
            return cast("Task[R]", task)
        accepted = self._values.keys() & {f.name for f in fields(task)}
        return replace(task, **{name: self._values[name] for name in accepted})


FINAL = (ReduceAnswer, AnswerFromContext)
"""The tasks whose reply is the answer."""


class AnsweringModel(WrappedModel):
    """A model that answers a question, also by a query of a further round, and passes the text on piece by piece.

    Nothing is passed on before the reply says whether the evidence suffices, and nothing of one that names what to
    search for next while `rounds` are left. Rows that an answer cites stay in the context of the next round.
    """

    def __init__(
        self,
        model: Model,
        question: str,
        index: Index,
        on_text: Callable[[str], None] | None,
        rounds: int,
        window: int,
    ) -> None:
        super().__init__(model)
        self.context = Context()
        """What the last answer was written from."""
        self.cited: Collection[str] = ()
        """The ids of those rows of it that the answer cites."""
        self.shown: str | None = None
        """What was passed on of the last final reply, if there was one."""
        self._question, self._index, self._on_text = question, index, on_text
        self._rounds, self._window = rounds, window

    async def prepare(self, task: Task[R]) -> Task[R]:
        if not isinstance(task, AnswerFromContext):
            return task
        earlier, self.context = self.context, task.context
        if task.question != self._question:  # which a further round is asked by another query
            self.context = joined(earlier, task.context, self.cited, self._window)
        return cast("Any", replace(task, question=self._question, context=self.context))

    async def perform(self, task: Task[R]) -> R:
        if not isinstance(task, FINAL):
            return await super().perform(task)
        self._rounds -= 1
        if self._on_text is None:
            return await super().perform(cast("Task[R]", task))
        reply = self.shown = ""
        async for piece in self.stream(cast("Task[str]", task)):
            reply += piece
            if not self.shown and (start := reply.lstrip())[:1] in "<*`" and "\n" not in start:
                continue  # the first line is not whole
            # What is cited before does not change by what comes after: a piece never ends inside a reference.
            cited = self.shown + piece
            if not self.shown or CLOSING.search(piece):
                _, clue, text = AnswerFromContext.parts(reply)
                cited = "" if clue and self._rounds > 0 else cite(text, self._index)[0]
            cited = cited if self.shown else cited.lstrip()
            if len(cited) > len(self.shown):
                self._on_text(cited[len(self.shown) :])
                self.shown = cited
        return cast("R", reply)


def joined(earlier: Context, later: Context, cited: Collection[str], window: int) -> Context:
    """Return a window of the cited rows of one context, then all of the next; the first where that has nothing new.

    Of questions 101 to 392 of 2wiki in windows of 500 tokens 93 lacked what a query can name: the second window held it
    for 27, and for 23 where nothing was cited. With new and old rows by turns these were 31 and 17.
    """
    tables: dict[str, Any] = {}
    old, new = ({row.id for _, rows in c.tables() for row in rows} for c in (earlier, later))
    for name in HEADINGS:
        first, then = getattr(earlier, name), getattr(later, name)
        rows = (*(row for row in first if row.id in cited), *then, *first)
        tables[name] = tuple({row.id: row for row in rows}.values())
    return pack(replace(later, **tables), window) if new - old else earlier


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
