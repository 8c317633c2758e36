"""What a task is: something to be done with language, whose type names its reply."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, kw_only=True)
class Task(Generic[R]):
    """Something to be done with language; `R` is the type of its reply."""

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
