"""Questions of a comparison that a model writes from a description of the corpus alone (GraphRAG §3.2, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
class _List:
    """A list of what a task asks for, to be filled with items that differ from all that are `seen`."""

    task: Any
    """One of `Personas`, `UserTasks` and `GlobalQuestions`, whose `count` is the size of the list."""
    seen: set[str] = field(default_factory=set[str])
    items: dict[str, Any] = field(default_factory=dict[str, Any])
    """By name."""
    repeated: list[str] = field(default_factory=list[str])
    error: ModelError | None = None

    @property
    def missing(self) -> int:
        return self.task.count - len(self.items)

    def next_task(self, round: int) -> Task[Any]:
        """Return what asks for the missing items beside those that are known."""
        return replace(self.task, count=self.missing, known=(*self.items, *self.repeated), sample=round)

    def add(self, reply: Sequence[Persona | str]) -> None:
        for item in reply:
            name = item.name if isinstance(item, Persona) else str(item)
            key = comparison.normalised(name)
            if key in self.seen:
                self.repeated.append(name)
            elif key and self.missing:
                self.seen.add(key)
                self.items[name] = item


async def _fill(lists: Sequence[_List], what: str, model: Model, tick: Tick, notices: list[str]) -> int:
    """Ask a model until lists are full, note what they lack in the end, and return how many failed.

    Raises the first failure where there is nothing in any of them.
    """
    for round in range(ROUNDS):
        short = [one for one in lists if one.missing and one.error is None]
        tasks = [one.next_task(round) for one in short]
        replies = await model.perform_all(tasks, no_tick if round else tick)
        for one, reply in zip(short, replies, strict=True):
            if isinstance(reply, ModelError):
                one.error = reply
            else:
                one.add(reply)
    failures = [one.error for one in lists if one.error is not None]
    if failures and not any(one.items for one in lists):
        raise failures[0]
    if failures:
        notices.append(f"{len(failures)} of {len(lists)} lists of {what} are not whole: {failures[0]}")
    if missing := sum(one.missing for one in lists if one.error is None):
        wanted = sum(one.task.count for one in lists)
        notices.append(f"{missing} of {wanted} {what} are missing: the model repeats itself, {ROUNDS} times")
    return len(failures)


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
    notices: list[str] = []
    users = _List(Personas(description, counts.users, language=language))
    failed = await _fill([users], "personas", model, tick, notices)
    tasks = [
        _List(UserTasks(description, who, counts.tasks, language=language)) for who in users.items.values()
    ]
    failed += await _fill(tasks, "tasks", model, tick, notices)
    seen = set[str]()
    asking = [
        _List(GlobalQuestions(description, one.task.persona, what, counts.questions, language=language), seen)
        for one in tasks
        for what in one.items
    ]
    failed += await _fill(asking, "questions", model, tick, notices)
    questions: list[Question] = []
    for one in asking:
        who = one.task.persona
        for text in one.items:
            id = comparison.id_of(text)
            questions.append(Question(id, text, f"{who.name}: {who.description}", one.task.task))
    return QuestionList(tuple(questions), tuple(notices), failed)


class QuestionOptions(Options, total=False):
    """What is written.

    counts: how many personas, tasks and questions; 5 of each if left out.
    progress: True shows on standard error how far it is; or an object that shows it.
    """

    counts: QuestionCounts
    progress: Progress | bool | None


class QuestionStep(Step[QuestionCounts, QuestionList]):
    """All questions, which are one piece: each is written with those before it in view."""

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
        count = 1 + piece.users + piece.users * piece.tasks
        tick = self.progress.stage("questions", count) if self.progress else no_tick
        return await make_questions(self.description, model, piece, tick)

    def save(self, piece: QuestionCounts, result: QuestionList | None, error: str) -> None:
        if result is None:  # without personas there is nothing
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
