"""A model for tests: it returns the replies of the test, and records its tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from conspectus.errors import ModelError, Unusable
from conspectus.models.base import Tick, no_tick
from conspectus.tasks import Task

R = TypeVar("R")
Script = Mapping[type[Task[Any]], Sequence[Any] | Callable[[Any], Any]]


class ScriptedModel:
    """Performs each type of task by a list of replies, in order, or by a function; exceptions in a list are raised."""

    name = "scripted"
    generative = True

    def __init__(self, script: Script) -> None:
        self._script = {kind: reply if callable(reply) else list(reply) for kind, reply in script.items()}
        self.tasks: list[Task[Any]] = []

    def seen(self, kind: type[Any]) -> Any:
        """Return the only performed task of a type; raise AssertionError if there were none or several."""
        tasks = self.all_seen(kind)
        assert len(tasks) == 1, f"{kind.__name__} was asked {len(tasks)} times"
        return tasks[0]

    def all_seen(self, kind: type[Any]) -> list[Any]:
        """Return all performed tasks of a type, in order."""
        return [task for task in self.tasks if type(task) is kind]

    async def perform(self, task: Task[R]) -> R:
        self.tasks.append(task)
        script = self._script.get(type(task))
        assert script is not None, f"the script has no reply to {type(task).__name__}"
        reply: Any = script(task) if callable(script) else script.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return cast("R", reply)

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        replies: list[R | ModelError] = []
        for task in tasks:
            try:
                replies.append(await self.perform(task))
            except Unusable:
                raise
            except ModelError as error:
                replies.append(error)
            tick()
        return replies

    async def stream(self, task: Task[str]) -> AsyncIterator[str]:
        for word in (await self.perform(task)).splitlines(keepends=True):
            yield word
