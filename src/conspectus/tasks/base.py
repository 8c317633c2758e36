"""What a task is: something to be done with language, whose type names its reply."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

R = TypeVar("R")

TASKS: dict[str, type[Task[Any]]] = {}
"""Every type of task by its name."""
OTHER_CALLS = {"Embed": "compute embeddings", "Probe": "test the server", "Rerank": "rerank"}
"""What people read for calls of models that perform no task."""


@dataclass(frozen=True, kw_only=True)
class Task(Generic[R]):
    """Something to be done with language; `R` is the type of its reply.

    A new task is a frozen dataclass below this one, with a prompt of its name: its fields fill the prompt
    (`models.llm.prompts`), the type of its reply says how that is read (`models.llm.replies`), and `@performs` names
    the function that performs it without a language model (`models.base`).
    """

    label: ClassVar[str] = ""
    """What people read for the task, where the words of its name do not say it."""
    size_setting: ClassVar[str] = "context_tokens"
    """The setting that says how long the requests of the task are, for errors of ones that are too long."""

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        TASKS[cls.__name__] = cls

    language: str = "en"
    """The language to write in, as a two-letter code."""
    sample: int = 0
    """The number of a sampled reply, from 1; 0 for the one that is likeliest."""
    priority: float = field(default=0.0, compare=False)
    """When many wait for a place, the highest goes first."""


@dataclass(frozen=True)
class Turn:
    """A task and its reply, as the conversation that a later task goes on with."""

    task: Task[Any]
    reply: Any


def task_label(name: str) -> str:
    """Return what people read for the name of a task or call: `extract claims` for `ExtractClaims`."""
    label = TASKS[name].label if name in TASKS else OTHER_CALLS.get(name)
    return label or re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()


def reply_type(kind: type[Task[Any]]) -> Any:
    """Return the type of the reply to a type of task: `bool` for `class Entails(Task[bool])`."""
    for base in kind.__mro__:
        for generic in vars(base).get("__orig_bases__", ()):
            if get_origin(generic) is Task:
                return get_args(generic)[0]
    return None
