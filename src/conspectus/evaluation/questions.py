"""Questions of a comparison that a model writes from a description of the corpus alone (GraphRAG §3.2, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from conspectus.errors import ModelError, UsageError
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
"""Times that the same is asked for: once, and again for what duplicates took."""


@dataclass(frozen=True)
class QuestionCounts:
    """How many `users` (personas), `tasks` of each, and `questions` of each for each task are to be written."""

    users: int = 5
    tasks: int = 5
    questions: int = 5


PAPER_COUNTS = QuestionCounts()


@dataclass(frozen=True)
class QuestionList(Figures):
    """Questions in the order of their personas and tasks, and what there is to say of how they came about."""

    questions: tuple[Question, ...]
    notices: tuple[str, ...] = ()
    failed: int = 0
    """Lists of tasks or questions that a failure of the model left short."""


@dataclass
class _Wanted(Generic[T]):
    """A list to be filled with `size` items that differ; `task` asks for so many beside those that are known."""

    task: Callable[[int, tuple[str, ...], int], Task[tuple[T, ...]]]
    size: int
    items: dict[str, T] = field(default_factory=dict[str, T])
    """By name."""
    repeated: list[str] = field(default_factory=list[str])
    error: ModelError | None = None

    @property
    def missing(self) -> int:
        return self.size - len(self.items)


@dataclass
class _Writer:
    """Asks a model for lists until they are full, and takes down what they lack in the end."""

    model: Model
    tick: Tick
    notices: list[str] = field(default_factory=list[str])
    failed: int = 0

    async def fill(self, lists: Sequence[_Wanted[T]], what: str, *, apart: bool = False) -> None:
        """Fill lists with what differs, in each alone where they are `apart`.

        Raises the first failure where there is nothing in any of them.
        """
        shared: set[str] = set()
        seen = {id(one): set[str]() if apart else shared for one in lists}
        for round in range(ROUNDS):
            short = [one for one in lists if one.missing and one.error is None]
            tasks = [one.task(one.missing, (*one.items, *one.repeated), round) for one in short]
            replies = await self.model.perform_all(tasks, no_tick if round else self.tick)
            for one, reply in zip(short, replies, strict=True):
                if isinstance(reply, ModelError):
                    one.error = reply
                    continue
                for item in reply:
                    name = item.name if isinstance(item, Persona) else str(item)
                    key = comparison.normalised(name)
                    if key in seen[id(one)]:
                        one.repeated.append(name)
                    elif key and one.missing:
                        seen[id(one)].add(key)
                        one.items[name] = item
        failures = [one.error for one in lists if one.error is not None]
        if failures and not any(one.items for one in lists):
            raise failures[0]
        self.failed += len(failures)
        if failures:
            self.notices.append(
                f"{len(failures)} of {len(lists)} lists of {what} are not whole: {failures[0]}"
            )
        if missing := sum(one.missing for one in lists if one.error is None):
            wanted = f"{sum(one.size for one in lists)} {what}"
            self.notices.append(f"{missing} of {wanted} are missing: the model repeats itself, {ROUNDS} times")


async def make_questions(
    description: str, model: Model, counts: QuestionCounts = PAPER_COUNTS, tick: Tick = no_tick
) -> QuestionList:
    """Return questions about a corpus, in the language of its description; a question is asked once, whoever asks it.

    A failure leaves the rest as it is and is noted. Raises UsageError where there is no description or nothing is asked
    for, ModelError where nothing could be made.
    """
    if not (description := " ".join(description.split())):
        raise UsageError("the description of the corpus is empty")
    if min(counts.users, counts.tasks, counts.questions) < 1:
        raise UsageError("at least one user, one task and one question are needed")
    language = language_of([description])
    writer = _Writer(model, tick)

    def tasks_of(who: Persona) -> _Wanted[str]:
        def task(n: int, known: tuple[str, ...], sample: int) -> UserTasks:
            return UserTasks(description, who, n, known, language=language, sample=sample)

        return _Wanted(task, counts.tasks)

    def questions_for(who: Persona, what: str) -> _Wanted[str]:
        def task(n: int, known: tuple[str, ...], sample: int) -> GlobalQuestions:
            return GlobalQuestions(description, who, what, n, known, language=language, sample=sample)

        return _Wanted(task, counts.questions)

    users = _Wanted(
        lambda n, known, sample: Personas(description, n, known, language=language, sample=sample),
        counts.users,
    )
    await writer.fill([users], "personas")
    tasks = {who: tasks_of(who) for who in users.items.values()}
    await writer.fill(list(tasks.values()), "tasks", apart=True)
    asking = {(who, what): questions_for(who, what) for who, wanted in tasks.items() for what in wanted.items}
    await writer.fill(list(asking.values()), "questions")
    questions = tuple(
        Question(comparison.id_of(text), text, f"{who.name}: {who.description}", what)
        for (who, what), wanted in asking.items()
        for text in wanted.items
    )
    return QuestionList(questions, tuple(writer.notices), writer.failed)


class QuestionOptions(Options, total=False):
    """What is written.

    counts: how many personas, tasks and questions; 5 of each if left out.
    progress: True shows on standard error how far it is; or an object that shows it.
    """

    counts: QuestionCounts
    progress: Progress | bool | None


class QuestionStep(Step[QuestionCounts, QuestionList]):
    """All questions, which are one piece: each is written with those before it in view."""

    lock = ""
    folder: Path

    def __init__(self, description: str, folder: Path, options: QuestionOptions) -> None:
        """Raise UsageError without a language model."""
        super().__init__(folder, run_of(options), options.get("progress"))
        if not self.generative:
            raise UsageError(
                "questions are written by a language model: name one with model=NAME, or bring your own"
            )
        self.description = description
        self.pieces = self.remaining = (options.get("counts", PAPER_COUNTS),)
        self.made = QuestionList(())

    async def work(self, piece: QuestionCounts, model: Model) -> QuestionList:
        return await make_questions(self.description, model, piece)

    async def do(self, piece: QuestionCounts, model: Model) -> None:
        count = 1 + piece.users + piece.users * piece.tasks
        tick = self.progress.stage("questions", count) if self.progress else no_tick
        self.save(piece, await make_questions(self.description, model, piece, tick), "")

    def save(self, piece: QuestionCounts, result: QuestionList, error: str) -> None:
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
    """Have a model write questions on a corpus from its description alone, into a folder (GraphRAG §3.2).

    Raises UsageError without a language model, and where the folder has answers to other questions.
    """
    return QuestionStep(description, path_of(folder), options)


def list_questions(source: Source, folder: str | Path = COMPARISON) -> QuestionList:
    """Write questions of one's own into the folder of a comparison, each once; see `read_list` for files."""
    given = comparison.questions_of(source)
    questions = tuple(comparison.once(given))
    save_questions(questions, path_of(folder))
    duplicates = len(given) - len(questions)
    notice = f"{duplicates:,} of {len(given):,} questions came twice and are listed once"
    return QuestionList(questions, (notice,) if duplicates else ())


def save_questions(questions: Sequence[Question], folder: Path) -> None:
    """Write the questions of a comparison, in place of others where those have no answers yet."""
    ids = {question.id for question in questions}
    answered = {row.question for row in comparison.answers_in(folder).rows.values()}
    if other := answered - ids:
        raise UsageError(f"{folder} has answers to {len(other)} other questions: name another folder")
    comparison.write_list(questions, folder)
