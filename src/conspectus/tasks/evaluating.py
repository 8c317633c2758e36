"""The tasks of evaluation: questions by personas, judges, claims (GraphRAG §3.2, 4.2, F)."""

from __future__ import annotations

from dataclasses import dataclass

from conspectus.tasks.base import Numbered, Task


@dataclass(frozen=True, slots=True)
class Persona:
    """A person who would ask about a corpus: a short name, and a description of a sentence or two."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion to compare two answers by: its name, and what it asks of a good answer."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The better of two answers, 1 or 2, or 0 if they do not differ much, and the reason."""

    winner: int
    reasoning: str


@dataclass(frozen=True)
class Personas(Task[tuple[Persona, ...]]):
    """Name `count` kinds of people, besides `known` ones, who would use a corpus (GraphRAG algorithm 1)."""

    description: str
    count: int
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class UserTasks(Task[tuple[str, ...]]):
    """Name `count` tasks, besides `known` ones, that a persona would do with a corpus (GraphRAG algorithm 1)."""

    description: str
    persona: Persona
    count: int
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class GlobalQuestions(Task[tuple[str, ...]]):
    """Write `count` new questions about the whole corpus that a persona would ask for a task (GraphRAG algorithm 1)."""

    description: str
    persona: Persona
    task: str
    count: int
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judge(Task[Verdict]):
    """Compare two answers to a question by one criterion (GraphRAG appendix F.1); replicates differ in `sample`."""

    label = "judge answers"

    question: str
    first: str
    second: str
    criterion: Criterion


@dataclass(frozen=True)
class SelectFactual(Task[tuple[int, ...]]):
    """Choose the numbers, from 1, of the sentences that state at least one verifiable fact (Claimify, selection)."""

    question: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class ClearSentences(Task[tuple[Numbered, ...]]):
    """Rewrite sentences so that each is clear alone; omit those that the context leaves ambiguous (Claimify).

    `sentences` is the context, all sentences of the answer; `chosen` are the numbers, from 1, of those to rewrite.
    """

    about = ("sentences",)

    question: str
    sentences: tuple[str, ...]
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class FactualClaims(Task[tuple[Numbered, ...]]):
    """Split sentences into simple claims that are clear alone (GraphRAG §4.2; Claimify, decomposition)."""

    about = ("sentences",)

    question: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Entails(Task[bool]):
    """Decide whether a statement follows from a text alone."""

    label = "compare claims"

    text: str
    statement: str
