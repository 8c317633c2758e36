"""Files of questions: a line each, a column of a CSV table, or a JSON list."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any, cast

from conspectus.errors import DocumentError

COLUMNS = ("question_text", "question")


def read_questions(file: Path) -> list[str]:
    """Return the questions of a file, `-` for standard input; the suffix says what it is: .csv, .json, lines.

    In a CSV table they are in the column `question_text` or `question`; a JSON list holds texts, or objects
    with such a field. Empty ones are left out. Raises DocumentError where it cannot be read or holds none.
    """
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DocumentError(f"the questions {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"the questions {file} are not UTF-8 (byte {error.start})") from None
    match file.suffix.lower():
        case ".csv":
            found = _of_csv(text, file)
        case ".json":
            found = _of_json(text, file)
        case _:
            found = text.splitlines()
    questions = [" ".join(question.split()) for question in found]
    if not any(questions):
        raise DocumentError(f"there is no question in {file}")
    return [question for question in questions if question]


def _of_csv(text: str, file: Path) -> list[str]:
    try:
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise DocumentError(f"the questions {file} are not a CSV table: {error}") from None
    column = next((c for c in COLUMNS if rows and c in rows[0]), None)
    if rows and column is None:
        there = ", ".join(map(str, rows[0]))
        raise DocumentError(f"{file} has no column {' or '.join(COLUMNS)}; its columns are {there}")
    return [row[column] or "" for row in rows if column]


def _of_json(text: str, file: Path) -> list[str]:
    try:
        values: Any = json.loads(text)
    except ValueError as error:
        raise DocumentError(f"the questions {file} are not JSON: {error}") from None
    if not isinstance(values, list):
        raise DocumentError(f"{file} does not hold a JSON list of questions")
    return [_question(value, file) for value in cast("list[object]", values)]


def _question(value: object, file: Path) -> str:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        value = next((fields[c] for c in COLUMNS if c in fields), None)
    if isinstance(value, str):
        return value
    raise DocumentError(f"{file} holds a value that is no question: give texts, or objects with a field `question`")
