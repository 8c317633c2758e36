"""Models that wrap another model: they change or observe the tasks of one question, unknown to the methods.

`WithAnswerOptions` adds the answer settings and the language to each task, `AnsweringModel` streams the final
answer, and `ContextRecorder` records the contexts that an answer would be written from.
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
    """A model that prepares each task and passes it on to another model."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.generative = model.generative
        self.selected: Collection[str] = getattr(model, "selected", ())
        self._model = model

    async def prepare(self, task: Task[R]) -> Task[R]:
        """Return the task to perform in place of the given one."""
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
    """A model that answers according to the answer settings, prompted in the language of the question."""

    def __init__(
        self, model: Model, question: str, settings: AnswerSettings, languages: Sequence[str] = ()
    ) -> None:
        """`languages` are those of the index; a question whose language is unclear is taken to be in the first."""
        super().__init__(model)
        self._values: dict[str, Any] = {
            "language": language_of([question], languages),
            "response": settings.response,
            "general_knowledge": settings.general_knowledge,
        }

    async def prepare(self, task: Task[R]) -> Task[R]:
        if isinstance(task, WriteReport):  # keeps the language of the corpus, as in indexing
            return cast("Task[R]", task)
        accepted = self._values.keys() & {f.name for f in fields(task)}
        return replace(task, **{name: self._values[name] for name in accepted})


FINAL = (ReduceAnswer, AnswerFromContext)
"""The tasks whose reply is the final answer."""


class AnsweringModel(WrappedModel):
    """A model that answers a question over several rounds, and streams the text of the answer.

    Nothing is streamed before the reply says whether the evidence suffices, and nothing of a reply with a clue query
    while `rounds` are left. Rows that an answer cites stay in the context of the next round.
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
        """The context of the last answer."""
        self.cited: Collection[str] = ()
        """The ids of the rows of `context` that the answer cites."""
        self.shown: str | None = None
        """The text of the last final reply that was streamed; None before the first one."""
        self._question, self._index, self._on_text = question, index, on_text
        self._rounds, self._window = rounds, window

    async def prepare(self, task: Task[R]) -> Task[R]:
        if not isinstance(task, AnswerFromContext):
            return task
        earlier, self.context = self.context, task.context
        if task.question != self._question:  # a further round asks with a clue
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
                continue  # the first line is not complete
            # Later text does not change earlier citations: a piece never ends inside a reference.
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
    """Return a window of the cited rows of one context, then all rows of the next; the first one if none there is new.

    Of questions 101 to 392 of 2wiki, in windows of 500 tokens, 93 lacked evidence that a query can name. The second
    window had it for 27, and for 23 if nothing was cited; with new and old rows alternating, for 31 and 17.
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
    """A model that performs the tasks before the final answer, and records the windows for it instead of answering."""

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
