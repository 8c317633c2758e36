"""Questions of a comparison, from a list or written by a model from a description of the corpus (GraphRAG §3.2)."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import asdict, astuple, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import AliasChoices, BaseModel, Field, TypeAdapter, ValidationError, model_validator

from conspectus.errors import DocumentError, ModelError, UsageError
from conspectus.evaluation import run
from conspectus.evaluation.jsonl_table import Question, answers_in
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.llm.model import Session
from conspectus.readers import list_generated
from conspectus.rows import Usage, content_id
from conspectus.runtime import Given, path_of, resolved
from conspectus.settings import Settings
from conspectus.tasks import GlobalQuestions, Persona, Personas, Task, UserTasks
from conspectus.text.language import language_of

T = TypeVar("T")
COMPARISON = "comparison"
"""The folder of a comparison where none is named."""
Source = str | Path | Sequence[Question]
"""A file of questions, the folder of a comparison, or the questions."""
FILE, TABLE = "questions.json", "questions.csv"
COLUMNS = ("question_id", "question_text", "persona", "task")
"""Of the table that is written."""
ROUNDS = 4
"""Times that the same is asked for: once, and again for what duplicates took."""


# Lists


class _Row(BaseModel, coerce_numbers_to_str=True):
    """A row of a list of questions, with the names that lists have for its fields."""

    text: str = Field(validation_alias=AliasChoices("question_text", "question", "text"))
    id: str | None = Field(None, validation_alias=AliasChoices("question_id", "id", "_id"))
    persona: str | None = None
    task: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _of_text(cls, value: Any) -> Any:
        return {"text": value} if isinstance(value, str) else value

    def question(self) -> Question:
        text, id_, persona, task = (
            " ".join((value or "").split()) for value in (self.text, self.id, self.persona, self.task)
        )
        return Question(id_ or id_of(text), text, persona, task)


_ROWS = TypeAdapter(list[_Row])


def questions_of(source: Source) -> list[Question]:
    """Return the questions of a file or folder, or those given."""
    return read_list(Path(source)) if isinstance(source, str | Path) else list(source)


def read_list(source: Path) -> list[Question]:
    """Return the questions of a file, `-` for standard input, or those of a comparison's folder.

    The suffix says what a file is: in a .csv table they are in the column `question_text` or `question`, with
    `question_id` (or `id`), `persona` and `task` where it has them; a .json holds a list of texts or of objects with
    such fields; anything else has one on each line. Empty ones are left out. One without an id gets one of its text.

    Raises DocumentError where it cannot be read or holds none.
    """
    file = source / FILE if source.is_dir() else source
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
        match file.suffix.lower():
            case ".csv":
                rows = _ROWS.validate_python(list(csv.DictReader(io.StringIO(text, newline=""))))
            case ".json":
                rows = _ROWS.validate_json(text)
            case _:
                rows = _ROWS.validate_python(text.splitlines())
    except OSError as error:
        raise DocumentError(f"the questions {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"the questions {file} are not UTF-8 (byte {error.start})") from None
    except (csv.Error, ValidationError) as error:
        reason = error if isinstance(error, csv.Error) else error.errors()[0]["msg"]
        raise DocumentError(
            f"the questions {file} cannot be read ({reason}): give a table with a column question_text or question, a "
            "JSON list of texts or of objects with a field question, or a text with one question on each line"
        ) from None
    questions = [question for row in rows if (question := row.question()).text]
    if not questions:
        raise DocumentError(f"there is no question in {file}")
    return questions


def id_of(text: str) -> str:
    """Return the id of a question that was given none."""
    return content_id("question", text)[:12]


def normalised(text: str) -> str:
    """Return what all spellings of one question have in common: its letters and digits, in lower case."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def once(questions: Sequence[Question]) -> list[Question]:
    """Return each question once, the first of those whose texts differ in nothing but case and marks.

    Raises UsageError where two questions that differ have one id.
    """
    texts: dict[str, Question] = {}
    for question in questions:
        texts.setdefault(normalised(question.text), question)
    ids: dict[str, Question] = {}
    for question in texts.values():
        if (other := ids.setdefault(question.id, question)) is not question:
            raise UsageError(f"two questions have the id {question.id}: {other.text!r} and {question.text!r}")
    return list(texts.values())


def write_list(questions: Sequence[Question], folder: Path) -> None:
    """Write the questions of a comparison into its folder, as `questions.json` and `questions.csv`."""
    table = io.StringIO()
    csv.writer(table, lineterminator="\n").writerows([COLUMNS, *map(astuple, questions)])
    listed = json.dumps([asdict(question) for question in questions], ensure_ascii=False, indent=1) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    list_generated(folder, [FILE, TABLE])
    for name, text in ((FILE, listed), (TABLE, table.getvalue())):
        new = folder / f".{name}.new"
        new.write_text(text, encoding="utf-8")
        new.replace(folder / name)


def drawn(questions: Sequence[Question], seed: int = 0) -> list[Question]:
    """Return questions in an order drawn by a seed: each one's position depends on its id alone.

    So the first N are the same sample whoever draws it, and a larger sample contains a smaller one.
    """
    return sorted(questions, key=lambda question: digest_of(str(seed), question.id))


def digest_of(*parts: str) -> str:
    """Return 16 hexadecimal digits that depend on some texts and their order."""
    return sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def joined(questions: Sequence[Question], folder: Path) -> list[Question]:
    """Return the questions of a comparison's folder and those of a list that it lacks, in their order.

    Raises UsageError where the folder has another question of the same id.
    """
    by_id = {question.id: question for question in (read_list(folder) if (folder / FILE).exists() else ())}
    for question in questions:
        other = by_id.setdefault(question.id, question)
        if other.text != question.text:
            detail = f"the question {question.id} reads {other.text!r}, and here {question.text!r}"
            raise UsageError(f"{folder} is a comparison of other questions ({detail}); name another folder")
    return list(by_id.values())


# Questions that a model writes (GraphRAG Algorithm 1)


@dataclass(frozen=True)
class QuestionCounts:
    """How many `users` (personas), `tasks` of each, and `questions` of each for each task are to be written."""

    users: int = 5
    tasks: int = 5
    questions: int = 5


PAPER_COUNTS = QuestionCounts()


@dataclass(frozen=True)
class QuestionList:
    """Questions in the order of their personas and tasks, and what there is to say of how they came about."""

    questions: tuple[Question, ...]
    notices: tuple[str, ...] = ()
    failed: int = 0
    """Lists of tasks or questions that a failure of the model left short."""
    usage: Usage = run.NO_USAGE


Known = tuple[str, ...]


@dataclass
class _Wanted(Generic[T]):
    """A list to be filled with `size` items that differ; `task` asks for so many beside those that are known."""

    task: Callable[[int, Known, int], Task[tuple[T, ...]]]
    size: int
    items: dict[str, T] = field(default_factory=dict[str, T])
    """By name."""
    repeated: list[str] = field(default_factory=list[str])
    error: ModelError | None = None

    @property
    def missing(self) -> int:
        return self.size - len(self.items)

    def take(self, items: Iterable[T], seen: set[str]) -> None:
        """Take the items that nobody has seen, as far as there is room."""
        for item in items:
            name = item.name if isinstance(item, Persona) else str(item)
            key = normalised(name)
            if key in seen:
                self.repeated.append(name)
            elif key and self.missing:
                seen.add(key)
                self.items[name] = item


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
        seen = [set[str]() if apart else shared for _ in lists]
        for round in range(ROUNDS):
            short = [n for n, one in enumerate(lists) if one.missing and one.error is None]
            tasks = [lists[n].task(lists[n].missing, (*lists[n].items, *lists[n].repeated), round) for n in short]
            for n, reply in zip(
                short, await self.model.perform_all(tasks, no_tick if round else self.tick), strict=True
            ):
                if isinstance(reply, ModelError):
                    lists[n].error = reply
                else:
                    lists[n].take(reply, seen[n])
        failures = [one.error for one in lists if one.error is not None]
        if failures and not any(one.items for one in lists):
            raise failures[0]
        self.failed += len(failures)
        if failures:
            self.notices.append(f"{len(failures)} of {len(lists)} lists of {what} are not whole: {failures[0]}")
        if missing := sum(one.missing for one in lists if one.error is None):
            total = sum(one.size for one in lists)
            self.notices.append(
                f"{missing} of {total} {what} are missing: the model repeats itself, {ROUNDS} times"
            )


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
        def task(n: int, known: Known, sample: int) -> UserTasks:
            return UserTasks(description, who, n, known, language=language, sample=sample)

        return _Wanted(task, counts.tasks)

    def questions_for(who: Persona, what: str) -> _Wanted[str]:
        def task(n: int, known: Known, sample: int) -> GlobalQuestions:
            return GlobalQuestions(description, who, what, n, known, language=language, sample=sample)

        return _Wanted(task, counts.questions)

    users = _Wanted(
        lambda n, known, sample: Personas(description, n, known, language=language, sample=sample), counts.users
    )
    await writer.fill([users], "personas")
    tasks = {who: tasks_of(who) for who in users.items.values()}
    await writer.fill(list(tasks.values()), "tasks", apart=True)
    asking = {(who, what): questions_for(who, what) for who, wanted in tasks.items() for what in wanted.items}
    await writer.fill(list(asking.values()), "questions")
    questions = tuple(
        Question(id_of(text), text, f"{who.name}: {who.description}", what)
        for (who, what), wanted in asking.items()
        for text in wanted.items
    )
    return QuestionList(questions, tuple(writer.notices), writer.failed)


# The API


def generate_questions(
    description: str,
    folder: str | Path = COMPARISON,
    *,
    counts: QuestionCounts = PAPER_COUNTS,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> QuestionList:
    """Have a model write questions on a corpus from its description alone, into a folder (GraphRAG §3.2).

    Raises UsageError without a language model, and where the folder has answers to other questions.
    """
    chosen, target = resolved(settings), path_of(folder)
    if chosen.model == "extractive" and model is None:
        raise UsageError("questions are written by a language model: name one with model=NAME, or bring your own")
    tick = run.tick_of(progress, "questions", 1 + counts.users + counts.users * counts.tasks)

    async def work(performer: Model | None, _: Session | None) -> QuestionList:
        assert performer is not None
        return await make_questions(description, performer, counts, tick)

    result = run.perform(chosen, target, model, _cost(description, counts, chosen), work, lock="")
    made = result.value
    save_questions(made.questions, target)
    return replace(made, notices=(*made.notices, *result.notices), usage=result.usage)


def preview_questions(
    description: str, *, counts: QuestionCounts = PAPER_COUNTS, settings: Given = None
) -> Estimate:
    """Return what `generate_questions` would ask of the model that the settings name; no model is asked."""
    chosen = resolved(settings)
    return run.preview(chosen, None, _cost(description, counts, chosen)) or Estimate(())


def _cost(
    description: str, counts: QuestionCounts, settings: Settings
) -> Callable[[Session], Coroutine[Any, Any, Estimate]]:
    def work(counts: QuestionCounts, model: Model) -> Coroutine[Any, Any, QuestionList]:
        return make_questions(description, model, counts)

    return lambda session: run.estimate([counts], work, session, settings)


def list_questions(source: Source, folder: str | Path = COMPARISON) -> QuestionList:
    """Write questions of one's own into the folder of a comparison, each once; see `read_list` for files."""
    given = questions_of(source)
    questions = tuple(once(given))
    save_questions(questions, path_of(folder))
    twice = len(given) - len(questions)
    notice = f"{twice:,} of {len(given):,} questions came twice and are listed once"
    return QuestionList(questions, (notice,) if twice else ())


def save_questions(questions: Sequence[Question], folder: Path) -> None:
    """Write the questions of a comparison, in place of others where those have no answers yet."""
    ids = {question.id for question in questions}
    answered = {row.question for row in answers_in(folder).rows.values()}
    if answered - ids:
        raise UsageError(f"{folder} has answers to {len(answered - ids)} other questions: name another folder")
    write_list(questions, folder)
