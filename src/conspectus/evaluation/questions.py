"""Questions for a comparison, written by a model from a description of the corpus (GraphRAG §3.2, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from conspectus.errors import CallFailed, ModelError, UsageError
from conspectus.evaluation import comparison
from conspectus.evaluation.comparison import COMPARISON, Question, Source
from conspectus.evaluation.run import Step, StepFunction
from conspectus.evaluation.statistics import Figures
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick
from conspectus.runtime import Options, path_of, run_of
from conspectus.tasks import GlobalQuestions, Persona, Personas, Task, UserTasks
from conspectus.text.language import language_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
ROUNDS = 4
"""Rounds in which questions are requested: one for all, and up to three to replace duplicates."""


@dataclass(frozen=True)
class QuestionCounts:
    """The numbers of `users` (personas), of `tasks` per user, and of `questions` per user and task to be written."""

    users: int = 5
    tasks: int = 5
    questions: int = 5


PAPER_COUNTS = QuestionCounts()


@dataclass(frozen=True)
class QuestionList(Figures):
    """Questions in the order of their personas and tasks, with notices about how they were made."""

    questions: tuple[Question, ...]
    notices: tuple[str, ...] = ()
    failed: int = 0
    """Number of lists of personas, tasks or questions that are missing because a call failed."""


@dataclass
class _Writer:
    """Lets a model write lists, and records which of them failed."""

    model: Model
    tick: Tick
    notices: list[str] = field(default_factory=list[str])
    failures: list[ModelError] = field(default_factory=list[ModelError])

    async def write(self, tasks: Sequence[Task[tuple[T, ...]]], what: str) -> list[tuple[T, ...]]:
        """Return the list for each task; an empty one if it failed."""
        replies = await self.model.perform_all(tasks, self.tick)
        failures = [reply for reply in replies if isinstance(reply, ModelError)]
        if failures:
            self.failures += failures
            self.notices.append(f"{len(failures)} of {len(replies)} lists of {what} failed: {failures[0]}")
        return [() if isinstance(reply, ModelError) else reply for reply in replies]


def _distinct(items: Sequence[T], count: int, seen: dict[str, T]) -> list[T]:
    """Return at most `count` items whose names differ in letters or digits from each other and from `seen`."""
    new: list[T] = []
    for item in items:
        key = comparison.normalised(item.name if isinstance(item, Persona) else str(item))
        if key and key not in seen and len(new) < count:
            seen[key] = item
            new.append(item)
    return new


async def make_questions(
    description: str, model: Model, counts: QuestionCounts = PAPER_COUNTS, tick: Tick = no_tick
) -> QuestionList:
    """Return distinct questions about a corpus, in the language of its description.

    Questions that are missing, because a call failed or the model repeats itself, are recorded in a notice. Raises
    UsageError if the description is empty or a count is below 1, ModelError if no question could be made.
    """
    if not (description := " ".join(description.split())):
        raise UsageError("the description of the corpus is empty")
    if min(counts.users, counts.tasks, counts.questions) < 1:
        raise UsageError("at least one user, one task and one question are needed")
    language = language_of([description])
    writer = _Writer(model, tick)
    lists = await writer.write([Personas(description, counts.users, language=language)], "personas")
    users = _distinct(lists[0], counts.users, {})
    about = [UserTasks(description, who, counts.tasks, language=language) for who in users]
    lists = await writer.write(about, "tasks")
    asking = [
        GlobalQuestions(description, who, what, counts.questions, language=language)
        for who, listed in zip(users, lists, strict=True)
        for what in _distinct(listed, counts.tasks, {})
    ]
    questions = tuple(
        Question(comparison.id_of(text), text, f"{task.persona.name}: {task.persona.description}", task.task)
        for task, listed in (await _filled(asking, writer)).items()
        for text in listed
    )
    if not questions and writer.failures:
        raise writer.failures[0]
    return QuestionList(questions, tuple(writer.notices), len(writer.failures))


async def _filled(tasks: Sequence[GlobalQuestions], writer: _Writer) -> dict[GlobalQuestions, list[str]]:
    """Return distinct questions for each task; duplicates are replaced by asking again."""
    lists: dict[GlobalQuestions, list[str]] = {task: [] for task in tasks}
    seen: dict[str, str] = {}
    for round in range(ROUNDS):
        missing = {task: n for task, listed in lists.items() if (n := task.count - len(listed))}
        if not missing or (round and writer.failures):
            break
        known = tuple(seen.values())
        shorter = [replace(task, count=n, known=known, sample=round) for task, n in missing.items()]
        replies = await writer.write(shorter, "questions")
        for (task, n), reply in zip(missing.items(), replies, strict=True):
            lists[task] += _distinct(reply, n, seen)
        writer.tick = no_tick
    wanted, made = sum(task.count for task in tasks), len(seen)
    if made < wanted and not writer.failures:
        writer.notices.append(
            f"{wanted - made:,} of {wanted:,} questions are missing: the model repeats itself"
        )
    return lists


class QuestionOptions(Options, total=False):
    """What is written.

    counts: the numbers of personas, tasks and questions; 5 of each if left out.
    progress: True shows progress on standard error; or an object that shows it.
    """

    counts: QuestionCounts
    progress: Progress | bool | None


class QuestionStep(Step[QuestionCounts, QuestionList]):
    """The step that writes all questions, as one piece of work: each is written with the earlier ones in view."""

    def __init__(self, description: str, folder: Path, options: QuestionOptions) -> None:
        """Raise UsageError if there is no language model."""
        super().__init__(folder, run_of(options), options.get("progress"))
        if not self.generative:
            raise UsageError(
                "questions are written by a language model: name one with model=NAME, or bring your own"
            )
        self.description = description
        self.pieces = self.remaining = (options.get("counts", PAPER_COUNTS),)
        self.made = QuestionList(())

    async def work(self, piece: QuestionCounts, model: Model) -> QuestionList:
        count = 1 + piece.users + piece.users * piece.tasks
        tick = self.progress.stage("questions", count) if self.progress else no_tick
        return await make_questions(self.description, model, piece, tick)

    def save(self, piece: QuestionCounts, result: QuestionList | None, error: str) -> None:
        if result is None:  # nothing can be written without personas
            raise CallFailed(error)
        self.made = result
        self.notices += result.notices
        save_questions(result.questions, self.folder)
        if result.failed:
            self.errors["a list of tasks or questions is not whole"] = result.failed

    def value(self) -> QuestionList:
        return self.made


@StepFunction
def generate_questions(
    description: str, folder: str | Path = COMPARISON, **options: Unpack[QuestionOptions]
) -> QuestionStep:
    """Let a model write questions about a corpus from its description alone, into a folder (GraphRAG §3.2).

    Raises UsageError if there is no language model, or if the folder has answers to other questions.
    """
    return QuestionStep(description, path_of(folder), options)


def list_questions(source: Source, folder: str | Path = COMPARISON) -> QuestionList:
    """Write your own questions into the folder of a comparison, without duplicates; see `read_list` for files."""
    given = comparison.questions_of(source)
    questions = tuple(comparison.once(given))
    save_questions(questions, path_of(folder))
    duplicates = len(given) - len(questions)
    notice = f"{duplicates:,} of {len(given):,} questions came twice and are listed once"
    return QuestionList(questions, (notice,) if duplicates else ())


def save_questions(questions: Sequence[Question], folder: Path) -> None:
    """Write the questions of a comparison; they replace others, unless answers to those exist (UsageError)."""
    ids = {question.id for question in questions}
    answered = {row.question for row in comparison.answers_in(folder).rows.values()}
    if other := answered - ids:
        raise UsageError(f"{folder} has answers to {len(other)} other questions: name another folder")
    comparison.write_list(questions, folder)
