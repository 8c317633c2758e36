"""Questions about a whole corpus, made from its description alone (GraphRAG §3.2, algorithm 1).

People who would use the corpus, tasks that each of them has, questions that each asks for each task. What comes twice
counts once, and as many are asked for again, a few times: what is then still missing is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from conspectus.errors import ModelError, UsageError
from conspectus.evaluation.comparing.question_files import id_of, normalised
from conspectus.evaluation.jsonl_table import Question
from conspectus.models.base import Model, Tick, no_tick
from conspectus.tasks import GlobalQuestions, Persona, Personas, Task, UserTasks
from conspectus.text.language import language_of

T = TypeVar("T")
ROUNDS = 4
"""Times that the same is asked for: once, and again for what duplicates took."""


@dataclass(frozen=True)
class MadeQuestions:
    """Questions in the order of their personas and tasks, and what there is to say of how they came about."""

    questions: tuple[Question, ...]
    personas: tuple[Persona, ...]
    notices: tuple[str, ...] = ()
    failed: int = 0
    """Lists of tasks or questions that a failure of the model left short."""


async def make_questions(
    description: str, model: Model, users: int = 5, tasks: int = 5, questions: int = 5, tick: Tick = no_tick
) -> MadeQuestions:
    """Return `users` x `tasks` x `questions` questions about a corpus, in the language of its description.

    A failure leaves the rest standing and is told. Raises UsageError where there is no description or nothing is asked
    for, ModelError where nothing could be made.
    """
    description = plain(description)
    if min(users, tasks, questions) < 1:
        raise UsageError("at least one user, one task and one question are needed")
    language = language_of([description])
    filling = _Filling(model, tick)

    def asks_personas(n: int, known: Known, sample: int) -> Personas:
        return Personas(description, n, known, language=language, sample=sample)

    def asks_tasks(who: Persona) -> _Asks[str]:
        return lambda n, known, sample: UserTasks(description, who, n, known, language=language, sample=sample)

    def asks_questions(who: Persona, task: str) -> _Asks[str]:
        return lambda n, known, sample: GlobalQuestions(
            description, who, task, n, known, language=language, sample=sample
        )

    everybody = _Wanted(asks_personas, users)
    await filling.fill([everybody], lambda persona: persona.name, "personas")
    doing = {who: _Wanted(asks_tasks(who), tasks) for who in everybody.found}
    await filling.fill(doing.values(), str, "tasks")
    seen: set[str] = set()  # a question is asked once, whoever asks it
    asking = {
        (who, task): _Wanted(asks_questions(who, task), questions, seen=seen)
        for who, wanted in doing.items()
        for task in wanted.found
    }
    await filling.fill(asking.values(), str, "questions")
    made = tuple(
        Question(id_of(text), text, f"{who.name}: {who.description}", task)
        for (who, task), wanted in asking.items()
        for text in wanted.found
    )
    return MadeQuestions(made, tuple(everybody.found), tuple(filling.notices), filling.failed)


def plain(description: str) -> str:
    """Return a description of a corpus on one line; raise UsageError where it says nothing."""
    if not (line := " ".join(description.split())):
        raise UsageError("the description of the corpus is empty")
    return line


Known = tuple[str, ...]
_Asks = Callable[[int, Known, int], Task[tuple[T, ...]]]
"""Makes the task that asks for so many, beside those that are known; replicates differ in the last."""


@dataclass
class _Wanted(Generic[T]):
    """A list to be filled with so many that differ."""

    asks: _Asks[T]
    size: int
    found: list[T] = field(default_factory=list[T])
    twice: list[str] = field(default_factory=list[str])
    seen: set[str] = field(default_factory=set[str])
    error: ModelError | None = None

    @property
    def missing(self) -> int:
        return self.size - len(self.found)

    def take(self, values: Iterable[T], name: Callable[[T], str]) -> None:
        """Take what is new, as far as there is room."""
        for value in values:
            key = normalised(name(value))
            if key in self.seen:
                self.twice.append(name(value))
            elif key and self.missing:
                self.seen.add(key)
                self.found.append(value)


class _Filling:
    """Asks for lists until they are full, and takes down what they lack in the end."""

    def __init__(self, model: Model, tick: Tick) -> None:
        self.notices: list[str] = []
        self.failed = 0
        self._model = model
        self._tick = tick

    async def fill(self, lists: Iterable[_Wanted[T]], name: Callable[[T], str], what: str) -> None:
        """Fill lists with what differs by its name.

        Raises the first failure where there is nothing in any of them.
        """
        lists = list(lists)
        for round in range(ROUNDS):
            short = [one for one in lists if one.missing and one.error is None]
            asked = [one.asks(one.missing, (*map(name, one.found), *one.twice), round) for one in short]
            replies = await self._model.perform_all(asked, no_tick if round else self._tick)
            for one, reply in zip(short, replies, strict=True):
                if isinstance(reply, ModelError):
                    one.error = reply
                else:
                    one.take(reply, name)
        failures = [one.error for one in lists if one.error is not None]
        if failures and not any(one.found for one in lists):
            raise failures[0]
        self.failed += len(failures)
        if failures:
            self.notices.append(f"{len(failures)} of {len(lists)} lists of {what} are not whole: {failures[0]}")
        if missing := sum(one.missing for one in lists if one.error is None):
            total = sum(one.size for one in lists)
            self.notices.append(f"{missing} of {total} {what} are missing: the model repeats itself, {ROUNDS} times")
