"""The tasks of evaluating: questions from personas, judges, claims (GraphRAG §3.2, 4.2, F)."""

from __future__ import annotations

from dataclasses import dataclass

from conspectus.tasks.base import Numbered, Task


@dataclass(frozen=True, slots=True)
class Persona:
    """Somebody who would ask of a corpus: a few words, and who that is in a sentence or two."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Criterion:
    """What two answers are compared by: a name, and what a good answer is by it."""

    name: str
    description: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Which of two answers is the better one, 1 or 2, or 0 where they do not differ much; and why."""

    winner: int
    reasoning: str


@dataclass(frozen=True)
class Personas(Task[tuple[Persona, ...]]):
    """Name `count` kinds of people, beside those `known`, who would use a corpus so described (GraphRAG alg. 1)."""

    description: str
    count: int
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class UserTasks(Task[tuple[str, ...]]):
    """Name `count` tasks that somebody would do with a corpus, beside those that are known (GraphRAG algorithm 1)."""

    description: str
    persona: Persona
    count: int
    known: tuple[str, ...] = ()


@dataclass(frozen=True)
class GlobalQuestions(Task[tuple[str, ...]]):
    """Write `count` new questions on the whole corpus that somebody would ask for a task (GraphRAG algorithm 1)."""

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
    """Rewrite sentences so that each is clear alone; leave out what the context does not settle (Claimify).

    `sentences` is the context, all sentences of the answer; `chosen` are the numbers, from 1, of those to rewrite.
    """

    about = ("sentences",)

    question: str
    sentences: tuple[str, ...]
    chosen: tuple[int, ...]


@dataclass(frozen=True)
class FactualClaims(Task[tuple[Numbered, ...]]):
    """Take each sentence apart into simple claims that each stand alone (GraphRAG §4.2; Claimify, decomposition)."""

    about = ("sentences",)

    question: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Entails(Task[bool]):
    """Tell whether a statement follows from a text alone."""

    label = "compare claims"

    text: str
    statement: str
