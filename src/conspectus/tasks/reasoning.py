"""The tasks of reasoning step by step, over triples and chunks (ToG-2, IV-B, IRCoT)."""

from __future__ import annotations

from dataclasses import dataclass, field

from conspectus.rows import ReasoningPath
from conspectus.tasks.base import Task
from conspectus.tasks.context import Context


@dataclass(frozen=True, slots=True)
class Edge:
    """A relation around an entity, as one to choose from; `inverse` where the entity is the tail of its triples."""

    relation: str
    inverse: bool = False
    count: int = 1


@dataclass(frozen=True, slots=True)
class Topic:
    """An entity that a search over a graph stands on: the path that led to it, and which relations lead on."""

    path: ReasoningPath
    edges: tuple[Edge, ...]

    @property
    def name(self) -> str:
        return self.path.end


@dataclass(frozen=True, slots=True)
class Examined:
    """Whether facts answer a question: the answers, the best first, or what to look for next."""

    answers: tuple[str, ...] = ()
    clue: str = ""

    @property
    def complete(self) -> bool:
        """Whether there is an answer."""
        return bool(self.answers)


@dataclass(frozen=True, slots=True)
class Draft:
    """A short answer, and how it was come to."""

    answer: str
    reasoning: str = ""


@dataclass(frozen=True)
class NextThought(Task[str]):
    """Write the next sentence of a chain of thought about a question (IRCoT)."""

    label = "reason"

    question: str
    context: Context
    thoughts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChooseRelations(Task[tuple[tuple[int, ...], ...]]):
    """Choose for each topic entity the places of at most `width` of its edges that help (ToG-2: relation prune)."""

    label = "choose relationships"

    question: str
    topics: tuple[Topic, ...]
    width: int
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExamineEvidence(Task[Examined]):
    """Tell whether paths of triples and chunks answer a question, else what to look for next (ToG-2)."""

    question: str
    paths: tuple[ReasoningPath, ...]
    context: Context = field(default_factory=Context)
    clues: tuple[str, ...] = ()


@dataclass(frozen=True)
class DraftAnswer(Task[Draft]):
    """Answer in few words: from facts and evidence where they are given, else from what the model knows itself."""

    question: str
    stepwise: bool = False
    """Whether to reason step by step first (chain of thought)."""
    paths: tuple[ReasoningPath, ...] = ()
    context: Context = field(default_factory=Context)
