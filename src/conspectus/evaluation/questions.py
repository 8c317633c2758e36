"""Lists of questions: lines, a CSV table or JSON from anywhere, and the `questions.json` of a comparison."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from conspectus.errors import DocumentError, ModelError, UsageError
from conspectus.evaluation import run
from conspectus.evaluation.jsonl_table import Question, answers_in
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.llm.session import Session
from conspectus.readers import list_generated
from conspectus.rows import Usage, content_id
from conspectus.runtime import Given, path_of, resolved
from conspectus.settings import Settings
from conspectus.tasks import GlobalQuestions, Persona, Personas, Task, UserTasks
from conspectus.text.language import language_of

Row = Mapping[str, Any]
COMPARISON = "comparison"
"""The folder of a comparison where none is named."""
Source = str | Path | Sequence[Question]
"""A file of questions, the folder of a comparison, or the questions."""
FILE, TABLE = "questions.json", "questions.csv"
TEXT = ("question_text", "question")
WORDS = (*TEXT, "text")
"""The fields that hold a question, the first of them that is there; the last only in JSON, as we write it."""
ID = ("question_id", "id", "_id")
COLUMNS = {"id": "question_id", "text": "question_text"}
"""What the columns of a table that we write are called, where they are not called as the fields."""


def read_list(source: Path) -> list[Question]:
    """Return the questions of a file, `-` for standard input, or those of a comparison's folder.

    The suffix says what a file is: in a .csv table they are in the column `question_text` or `question`, with
    `question_id` (or `id`), `persona` and `task` where it has them; a .json holds a list of texts or of objects with
    such fields; anything else has one on each line. Empty ones are left out. One without an id gets one of its text.

    Raises DocumentError where it cannot be read or holds none.
    """
    file = source / FILE if source.is_dir() else source
    text = _text(file)
    match file.suffix.lower():
        case ".csv":
            found: Iterable[Row] = _of_csv(text, file)
        case ".json":
            found = _of_json(text, file)
        case _:
            found = [{"text": line} for line in text.splitlines()]
    questions = [question for row in found if (question := _question(row)).text]
    if not questions:
        raise DocumentError(f"there is no question in {file}")
    return questions


def _text(file: Path) -> str:
    try:
        return sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DocumentError(f"the questions {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"the questions {file} are not UTF-8 (byte {error.start})") from None


def _of_csv(text: str, file: Path) -> list[dict[str, Any]]:
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise DocumentError(f"the questions {file} are not a CSV table: {error}") from None
    if rows and not set(TEXT) & rows[0].keys():
        there = ", ".join(map(str, rows[0]))
        raise DocumentError(f"{file} has no column {' or '.join(TEXT)}; its columns are {there}")
    return rows


def _of_json(text: str, file: Path) -> list[Row]:
    try:
        values: Any = json.loads(text)
    except ValueError as error:
        raise DocumentError(f"the questions {file} are not JSON: {error}") from None
    if not isinstance(values, list):
        raise DocumentError(f"{file} does not hold a JSON list of questions")
    rows: list[Any] = [{"text": value} if isinstance(value, str) else value for value in cast("list[Any]", values)]
    if not all(isinstance(row, dict) and isinstance(_first(cast("Row", row), WORDS), str) for row in rows):
        raise DocumentError(f"{file} holds a value that is no question: give texts, or objects with a field `question`")
    return rows


def _question(row: Row) -> Question:
    text, persona, task = (_plain(value) for value in (_first(row, WORDS), row.get("persona"), row.get("task")))
    return Question(_plain(_first(row, ID)) or id_of(text), text, persona, task)


def _first(row: Row, names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) is not None), None)


def _plain(value: Any) -> str:
    return "" if value is None else " ".join(str(value).split())


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
    names = [f.name for f in fields(Question)]
    table = io.StringIO()
    writer = csv.DictWriter(table, names, lineterminator="\n")
    writer.writerow({name: COLUMNS.get(name, name) for name in names})
    writer.writerows(asdict(question) for question in questions)
    listed = json.dumps([asdict(question) for question in questions], ensure_ascii=False, indent=1)
    folder.mkdir(parents=True, exist_ok=True)
    list_generated(folder, [FILE, TABLE])
    _replace(folder / FILE, listed + "\n")
    _replace(folder / TABLE, table.getvalue())


def _replace(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)


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
    standing = read_list(folder) if (folder / FILE).exists() else []
    known = {question.id: question for question in standing}
    for question in questions:
        other = known.setdefault(question.id, question)
        if other.text != question.text:
            told = f"the question {question.id} reads {other.text!r}, and here {question.text!r}"
            raise UsageError(f"{folder} is a comparison of other questions ({told}); name another folder by --out")
    return list(known.values())


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


# The API


@dataclass(frozen=True)
class QuestionList:
    """The questions of a comparison, as they are in its folder now."""

    questions: tuple[Question, ...]
    folder: Path
    failed: int = 0
    """Lists of tasks or questions that a failure of the model left short."""
    notices: tuple[str, ...] = ()
    usage: Usage = run.NO_USAGE


@dataclass(frozen=True)
class QuestionCounts:
    """How many `users` (personas), `tasks` of each, and `questions` of each for each task are to be written."""

    users: int = 5
    tasks: int = 5
    questions: int = 5


PAPER_COUNTS = QuestionCounts()


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
        raise UsageError(
            "questions are written by a language model: name one with --model, or bring your own with --from FILE"
        )
    tick = run.tick_of(progress, "questions", 1 + counts.users + counts.users * counts.tasks)

    async def work(performer: Model | None, _: Session | None) -> MadeQuestions:
        assert performer is not None
        return await make_questions(description, performer, counts.users, counts.tasks, counts.questions, tick)

    result = run.perform(
        chosen, target, model, lambda session: _cost(description, counts, session, chosen), work, lock=""
    )
    made = result.value
    save_questions(made.questions, target)
    return QuestionList(made.questions, target, made.failed, (*made.notices, *result.notices), result.usage)


def preview_questions(description: str, *, counts: QuestionCounts = PAPER_COUNTS, settings: Given = None) -> Estimate:
    """Return what `generate_questions` would ask of the model that the settings name; no model is asked."""
    chosen = resolved(settings)
    return run.preview(chosen, None, lambda session: _cost(description, counts, session, chosen)) or Estimate(())


async def _cost(description: str, counts: QuestionCounts, session: Session, settings: Settings) -> Estimate:
    async def work(text: str, model: Model) -> None:
        await make_questions(text, model, counts.users, counts.tasks, counts.questions)

    return await run.estimate([description], work, session, settings)


def list_questions(source: Source, folder: str | Path = COMPARISON) -> QuestionList:
    """Write questions of one's own into the folder of a comparison, each once; see `read_list` for files."""
    given = read_list(Path(source)) if isinstance(source, str | Path) else list(source)
    questions = tuple(once(given))
    save_questions(questions, path_of(folder))
    twice = len(given) - len(questions)
    notices = (f"{twice} questions came twice and are kept once",) if twice else ()
    return QuestionList(questions, path_of(folder), notices=notices)


def save_questions(questions: Sequence[Question], folder: Path) -> None:
    """Write the questions of a comparison, in place of others where those have no answers yet."""
    ids = {question.id for question in questions}
    answered = {row.question for row in answers_in(folder).rows.values()}
    if answered - ids:
        raise UsageError(f"{folder} has answers to {len(answered - ids)} other questions: name another folder by --out")
    write_list(questions, folder)
