"""The folder of a comparison (GraphRAG §4): its questions, and its results in JSON lines, from which a run continues.

Every row has a key, `made_with` (what the result depends on, as a digest) and `error` (why there is no result). A
command that is run again does the work whose row is missing, failed or has another `made_with`.

    DIR/
      questions.json      the questions (`Question`), also as questions.csv
      answers.jsonl       the answer of each condition to each question (`ConditionAnswer`)
      setups.jsonl        what each condition answered with: index, model, settings (`conditions.SetUp`)
      judgements.jsonl    which of two answers a judge preferred (`Judgement`)
      criteria.json       the criteria of the judgements, name and description
      claims.jsonl        the factual claims of each answer (`claims.AnswerClaims`)
      grounding.jsonl     the sentences of each answer that its references support (`grounding.AnswerGrounding`)
      ratings.jsonl       what people preferred (`Judgement`)
      replies.sqlite      the response cache
"""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from conspectus.errors import DocumentError, UsageError
from conspectus.readers import list_generated
from conspectus.rows import content_id
from conspectus.text.language import language_of

T = TypeVar("T")
Key = tuple[str, str]
"""The name of a condition, and the id of a question."""
Pair = tuple[str, str]
"""The names of two conditions."""
PAPER = ("C0", "C1", "C2", "C3", "TS", "SS")
"""The conditions of GraphRAG, in the paper's order."""
COMPARISON = "comparison"
"""The default folder of a comparison."""
QUESTIONS, QUESTION_TABLE = "questions.json", "questions.csv"


# Rows


@dataclass(frozen=True)
class Question:
    """A question, the persona and task behind it, and the accepted answers and documents, where these are known."""

    id: str
    text: str
    persona: str = ""
    task: str = ""
    answers: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    """The paths, or the ends of the paths, of the documents that together answer the question."""
    kind: str = ""


@dataclass(frozen=True)
class CitedText:
    """A citation of an answer: its marker, the title of the cited reports or chunks, and the text of their sources."""

    marker: int
    title: str
    text: str
    documents: tuple[str, ...] = ()
    """The paths of the documents that contain these sources."""


@dataclass(frozen=True)
class ConditionAnswer:
    """The answer of one condition to one question (its id), and its cost."""

    condition: str
    question: str
    text: str = ""
    cited: tuple[CitedText, ...] = ()
    units: int = 0
    """Reports or chunks that were read."""
    context_tokens: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """CPU seconds with the extractive model, else elapsed seconds."""
    made_with: str = ""
    """A digest of index, model and settings."""
    error: str = ""

    @property
    def with_references(self) -> str:
        """The text, followed by a line for each citation with its marker and title."""
        return "\n".join((self.text, *(f"[{cited.marker}] {cited.title}" for cited in self.cited)))


@dataclass(frozen=True)
class Judgement:
    """One comparison of two conditions' answers to one question; `first` is the one shown as Answer 1."""

    first: str
    second: str
    criterion: str
    question: str
    replicate: int
    winner: int = 0
    """1 or 2 in the order shown, 0 for a tie."""
    reasoning: str = ""
    made_with: str = ""
    """The name of the judge, a space, and a digest of the criterion, the question and both answers."""
    error: str = ""

    @property
    def by(self) -> str:
        """The name of the judge: a model or a person."""
        return self.made_with.rpartition(" ")[0]


@dataclass(frozen=True)
class QuestionAnswer:
    """An answer together with the text of its question."""

    answer: ConditionAnswer
    question: str

    @property
    def key(self) -> Key:
        """The condition and the id of the question."""
        return self.answer.condition, self.answer.question


@dataclass(frozen=True)
class Study:
    """The questions of a comparison and their answers, including failed ones."""

    folder: Path
    questions: Sequence[Question]
    answers: Mapping[Key, ConditionAnswer]

    @property
    def conditions(self) -> tuple[str, ...]:
        """The names of the conditions that have answers, the paper's first."""
        return tuple(sorted({condition for condition, _ in self.answers}, key=_order))

    @property
    def language(self) -> str:
        """The language of the questions."""
        return language_of(question.text for question in self.questions)

    def draw(self, sample: int | None = None) -> list[Question]:
        """Return the questions that have answers, in a reproducible random order: all, or the first `sample`."""
        check_sample(sample)
        answered = {question for _, question in self.answers}
        return drawn([question for question in self.questions if question.id in answered])[:sample]

    def successful(self, conditions: Sequence[str] = (), sample: int | None = None) -> list[QuestionAnswer]:
        """Return the answers that did not fail, by condition (by default all) and in the order of the questions.

        `sample` limits the questions to a random sample. Raises UsageError if a condition has no answers.
        """
        for name in conditions:
            if name not in self.conditions:
                known = ", ".join(self.conditions)
                raise UsageError(f"{self.folder} has no condition {name!r} with answers; there are {known}")
        sampled = set(self.draw(sample))
        return [
            QuestionAnswer(answer, question.text)
            for name in conditions or self.conditions
            for question in self.questions
            if question in sampled and (answer := self.answers.get((name, question.id))) and not answer.error
        ]


def study_in(folder: Path) -> Study:
    """Return the questions and answers of a comparison's folder.

    Raises UsageError if there are no answers, or if an answer belongs to a question that is not in questions.json.
    """
    answers = {(row.condition, row.question): row for row in answers_in(folder).rows.values()}
    if not answers:
        raise UsageError(f"there are no answers in {folder}: make them with conspectus eval answers")
    questions = read_list(folder)
    if unknown := {question for _, question in answers} - {question.id for question in questions}:
        example = f"{len(unknown)} questions that are not in questions.json, such as {min(unknown)!r}"
        raise UsageError(f"{folder / 'answers.jsonl'} answers {example}")
    return Study(folder, questions, answers)


def _order(condition: str) -> tuple[int, str, int, str]:
    """Return the sort key of a condition: the paper's in the paper's order, then the others by name.

    Variants of a condition (`C2@8k`) follow it, sorted by the number that their label begins with, if any.
    """
    name, _, variant = condition.partition("@")
    digits = re.match(r"\d+", variant)
    number = int(digits[0]) if digits else -1
    return (PAPER.index(name) if name in PAPER else len(PAPER)), name, number, variant


def check_sample(sample: int | None) -> None:
    """Raise UsageError for a number of questions below 1."""
    if sample is not None and sample < 1:
        raise UsageError("at least one question is sampled")


# Tables


class JsonlTable(Generic[T]):
    """The rows of one kind in one JSONL file; rows are only appended, and the last one of a key counts."""

    def __init__(self, path: Path | None, kind: type[T], key: Callable[[T], Hashable]) -> None:
        """Read the file if it exists; an incomplete last line, left by a process that was killed, is removed.

        `kind` is the dataclass of a row; without a path the rows are only in memory. Raises UsageError if another line
        is not such a row.
        """
        self.path = path
        self.rows: dict[Hashable, T] = {}
        self._key = key
        lines = path.read_bytes().split(b"\n") if path and path.exists() else []
        adapter = TypeAdapter(kind)
        for number, line in enumerate(lines[:-1], 1):
            try:
                row = adapter.validate_json(line)
            except ValidationError as error:
                reason = error.errors()[0]["msg"]
                raise UsageError(f"{path}, line {number}, cannot be read: {reason}; remove it") from None
            self.rows[key(row)] = row
        if path and lines and lines[-1]:
            with path.open("r+b") as file:
                file.truncate(sum(len(line) + 1 for line in lines[:-1]))

    def add(self, *rows: T) -> None:
        """Append rows; each replaces an earlier row with the same key."""
        if self.path and rows:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                list_generated(self.path.parent, [self.path.name])
            lines = [json.dumps(asdict(row), ensure_ascii=False) + "\n" for row in rows]  # pyright: ignore[reportArgumentType]
            with self.path.open("ab") as file:
                file.write("".join(lines).encode())
        self.rows |= {self._key(row): row for row in rows}

    def get(self, key: Hashable) -> T | None:
        """Return the row with a key, or None."""
        return self.rows.get(key)

    def done(self, key: Hashable, made_with: str) -> bool:
        """Return whether the row of a key exists, did not fail and has the same `made_with`."""
        row: Any = self.rows.get(key)
        return row is not None and not row.error and row.made_with == made_with


def answers_in(folder: Path) -> JsonlTable[ConditionAnswer]:
    """Return the table of a comparison's answers, by condition and question."""
    return JsonlTable(folder / "answers.jsonl", ConditionAnswer, lambda row: (row.condition, row.question))


def judgements_in(folder: Path, file: str = "judgements.jsonl") -> JsonlTable[Judgement]:
    """Return the judgements of a comparison, by pair (in alphabetical order), criterion, question, replicate, judge."""

    def key(row: Judgement) -> Hashable:
        return *sorted((row.first, row.second)), row.criterion, row.question, row.replicate, row.by

    return JsonlTable(folder / file, Judgement, key)


def ratings_in(folder: Path) -> JsonlTable[Judgement]:
    """Return the table of judgements that people made, see `judgements_in`."""
    return judgements_in(folder, "ratings.jsonl")


def digest_of(*parts: str) -> str:
    """Return a digest of some texts in their order: 16 hexadecimal digits."""
    return sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def made_with(by: str, *read: str) -> str:
    """Return the `made_with` of a result: `by`, who made it, and a digest of all texts that were read for it."""
    return f"{by} {digest_of(*read)}"


def names_in(made_with: Iterable[str]) -> tuple[str, ...]:
    """Return the distinct authors in `made_with` values, in their order."""
    return tuple(dict.fromkeys(name for one in made_with if (name := one.rpartition(" ")[0])))


def write_text(path: Path, text: str) -> None:
    """Write a file and record it as generated, so that indexing its folder does not read it as a document."""
    path.parent.mkdir(parents=True, exist_ok=True)
    list_generated(path.parent, [path.name])
    path.write_text(text, encoding="utf-8", newline="")


def write_json(path: Path, value: Any) -> None:
    """Write a value as a JSON file, see `write_text`."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


# Lists of questions


_ROWS = TypeAdapter(list[str | dict[str, Any]])


def _question(row: str | Mapping[str, Any]) -> Question:
    """Return the question in a row, whose fields may have any of the names that are in use in question lists."""

    def field(*names: str) -> str:
        values = (fields[name] for name in names if fields.get(name) is not None)
        return " ".join(str(next(values, "")).split())

    fields = {"text": row} if isinstance(row, str) else row
    if not fields.keys() & {"question_text", "question", "text"}:
        raise ValueError("a row has no question")

    def listed(*names: str) -> tuple[str, ...]:
        known: Any = next((fields[name] for name in names if fields.get(name)), "")
        values = cast("list[Any]", known) if isinstance(known, list) else [known]
        return tuple(dict.fromkeys(filter(None, (str(value).strip() for value in values))))

    text = field("question_text", "question", "text")
    id = field("question_id", "id", "_id") or id_of(text)
    answers, documents = listed("answers", "answer"), listed("documents", "document", "pages")
    return Question(id, text, field("persona"), field("task"), answers, documents, field("kind", "type"))


Source = str | Path | Sequence[Question]
"""A file of questions, the folder of a comparison, or a list of questions."""


def questions_of(source: Source) -> list[Question]:
    """Return the questions of a source; raise UsageError if something in a list is not a `Question`."""
    questions = read_list(Path(source)) if isinstance(source, str | Path) else list(source)
    for question in questions:
        if not isinstance(cast("object", question), Question):
            raise UsageError(f"questions must be a file or a list of Question(id, text), not {question!r}")
    return questions


def read_list(source: Path) -> list[Question]:
    """Return the questions of a file, `-` for standard input, or those of a comparison's folder.

    The suffix determines the format. A .csv table has a column `question_text` or `question`, and may have
    `question_id` (or `id`), `persona`, `task` and `answer`. A .json or .jsonl file contains a list, or one item per
    line, of texts or of objects with such fields (and with lists `answers` and `documents`). Any other file has one
    question per line. Empty questions are left out. A question without an id gets one derived from its text.

    Raises DocumentError if the source cannot be read or contains no question.
    """
    file = source / QUESTIONS if source.is_dir() else source
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise DocumentError(f"the questions {file} cannot be read as a text in UTF-8: {error}") from None
    try:
        match file.suffix.lower():
            case ".csv":
                rows: Any = list(csv.DictReader(io.StringIO(text, newline="")))
            case ".json" | ".jsonl":
                if text.lstrip().startswith("["):
                    rows = json.loads(text)
                else:
                    rows = [json.loads(line) for line in text.split("\n") if line.strip()]
            case _:
                rows = text.splitlines()
        questions = [question for row in _ROWS.validate_python(rows) if (question := _question(row)).text]
    except (csv.Error, ValueError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise DocumentError(
            f"the questions {file} cannot be read ({reason}): give a table with a column question_text or question, a "
            "JSON list of texts or of objects with a field question, or a text with one question on each line"
        ) from None
    if not questions:
        raise DocumentError(f"there is no question in {file}")
    return questions


def id_of(text: str) -> str:
    """Return the id for a question without one, derived from its text."""
    return content_id("question", text)[:12]


def normalised(text: str) -> str:
    """Return the letters and digits of a text in lower case: equal for all spellings of one question."""
    return " ".join("".join(c if c.isalnum() else " " for c in text.casefold()).split())


def once(questions: Sequence[Question]) -> list[Question]:
    """Return each question once: the first of those whose texts differ only in case and punctuation.

    Raises UsageError if two different questions have the same id.
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
    write_json(folder / QUESTIONS, [asdict(question) for question in questions])
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("question_id", "question_text", "persona", "task"))
    writer.writerows((one.id, one.text, one.persona, one.task) for one in questions)
    write_text(folder / QUESTION_TABLE, table.getvalue())


def drawn(questions: Sequence[Question]) -> list[Question]:
    """Return questions in a pseudo-random order, in which the position of each depends only on its id.

    The first N are therefore the same sample on every machine, and a larger sample contains a smaller one.
    """
    return sorted(questions, key=lambda question: digest_of("0", question.id))


def joined(questions: Sequence[Question], folder: Path) -> list[Question]:
    """Return the questions of a comparison's folder, followed by those of a list that it lacks.

    Raises UsageError if the folder has a different question with the same id.
    """
    by_id = {one.id: one for one in (read_list(folder) if (folder / QUESTIONS).exists() else ())}
    for question in questions:
        other = by_id.setdefault(question.id, question)
        if other.text != question.text:
            differ = f"the question {question.id} reads {other.text!r}, and here {question.text!r}"
            raise UsageError(f"{folder} is a comparison of other questions ({differ}); name another folder")
    return list(by_id.values())
