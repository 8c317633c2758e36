"""What an answer is to be like, put into the tasks of a question: length, format, knowledge, language."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any, TypeVar

from conspectus.errors import ModelError
from conspectus.models.base import Model, Tick, no_tick
from conspectus.settings import AnswerSettings
from conspectus.tasks import Task, WriteReport
from conspectus.text.language import language_of

R = TypeVar("R")


class WithAnswerOptions:
    """A model that is asked for answers as the settings have them, by prompts in the question's language."""

    def __init__(self, model: Model, question: str, settings: AnswerSettings, languages: Sequence[str] = ()) -> None:
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
        known = _fields(type(task))
        return replace(task, **{name: value for name, value in self._values.items() if name in known})

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
