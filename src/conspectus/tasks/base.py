"""What a task is: something to be done with language, whose type names its reply."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

R = TypeVar("R")

LABELS = {
    "AnyMissed": "check for missed entities",
    "ChooseRelations": "choose relationships",
    "DescribeElement": "describe entities and relationships",
    "Embed": "compute embeddings",
    "Entails": "compare claims",
    "ExtractGraph": "extract entities",
    "GleanMore": "extract missed entities",
    "Judge": "judge answers",
    "MapAnswer": "answer from parts",
    "NameEntities": "recognize entities",
    "NextThought": "reason",
    "PrimeAnswer": "answer from reports",
    "Probe": "test the server",
    "ReduceAnswer": "combine answers",
    "Rerank": "rerank",
    "StandaloneQuestion": "rewrite the question",
    "WriteReport": "write reports",
}
"""Tasks as people read them, where the words of their names do not say it."""


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


def task_label(name: str) -> str:
    """Return what people read for the name of a task: `extract claims` for `ExtractClaims`."""
    return LABELS.get(name) or re.sub(r"(?<!^)(?=[A-Z])", " ", name).lower()
