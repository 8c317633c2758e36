"""Lists of questions: lines, a CSV table or JSON from anywhere, and the `questions.json` of a comparison."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, cast

from conspectus.errors import DocumentError, UsageError
from conspectus.evaluation.jsonl_table import Question
from conspectus.readers import list_generated
from conspectus.rows import content_id

Row = Mapping[str, Any]
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
