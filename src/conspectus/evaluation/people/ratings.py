"""Ratings by people: read from the tables that raters send back, unblinded by the key, and kept."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.errors import DocumentError, UsageError
from conspectus.evaluation.comparing.current_results import answers_now, questions_in
from conspectus.evaluation.jsonl_table import JsonlTable
from conspectus.evaluation.people.forms import COLUMNS
from conspectus.evaluation.people.pairs import Keys, keys_in, read

CHOICES = {"1": 1, "2": 2, "tie": 0, "0": 0, "=": 0, "equal": 0, "none": 0, "neither": 0}
"""What a rater may say, and which of the answers it prefers."""


@dataclass(frozen=True)
class Rating:
    """Which of two conditions' answers to a question a rater preferred by a criterion; `first` was shown first."""

    rater: str
    first: str
    second: str
    criterion: str
    question: str
    winner: int
    """1 or 2 as they were shown, 0 for a tie."""
    comment: str = ""
    read: str = ""
    """A digest of the texts of both."""


def ratings_in(folder: Path) -> JsonlTable[Rating]:
    """Return the ratings of a comparison, by rater, pair, criterion and question."""
    return JsonlTable(
        folder / "ratings.jsonl",
        Rating,
        lambda row: (row.rater, *sorted((row.first, row.second)), row.criterion, row.question),
    )


@dataclass(frozen=True)
class Imported:
    """Ratings of one or more tables, by rater, and the cells of them that were left empty."""

    ratings: tuple[Rating, ...]
    raters: Mapping[str, int]
    empty: int


def read_ratings(files: Sequence[Path], folder: Path, rater: str | None = None) -> Imported:
    """Read tables of ratings of a folder's pairs; `rater` is whose they all are, else each says that itself.

    A table that does not say whose it is has the name of its file. Raises DocumentError where a file cannot be read,
    UsageError where it is no such table, or rates what the keys of the folder do not know.
    """
    keys = keys_in(folder)
    if not keys.items:
        raise UsageError(f"{folder} has no key of blinded pairs: export them with conspectus eval people export")
    found: list[Rating] = []
    empty = 0
    for file in files:
        for line, row in _rows(file):
            if not row["choice"].strip():
                empty += 1
                continue
            try:
                found.append(_rating(row, keys, rater or row.get("rater", "").strip() or file.stem))
            except UsageError as error:
                raise UsageError(f"{file}, line {line}: {error}") from None
    counts = {name: sum(one.rater == name for one in found) for name in dict.fromkeys(one.rater for one in found)}
    return Imported(tuple(found), counts, empty)


def _rating(row: Mapping[str, str], keys: Keys, rater: str) -> Rating:
    choice, criterion = row["choice"].strip().lower(), row["criterion"].strip()
    item = keys.items.get(row["item"].strip())
    if choice not in CHOICES:
        raise UsageError(f"the choice is {choice!r}, and not 1, 2 or tie")
    if item is None:
        raise UsageError(f"no key knows the pair {row['item']!r}; name the folder that it was made from")
    if criterion not in keys.criteria:
        raise UsageError(f"there is no criterion {criterion!r}; there are {', '.join(sorted(keys.criteria))}")
    comment = " ".join(row.get("comment", "").split())
    return Rating(rater, item.first, item.second, criterion, item.question, CHOICES[choice], comment, item.read)


def ratings_now(folder: Path) -> list[Rating]:
    """Return the ratings of a folder that are of the answers that are in it now."""
    answers, questions = answers_now(folder), questions_in(folder)
    found: list[Rating] = []
    for row in ratings_in(folder).rows.values():
        one, other = (answers.get((name, row.question)) for name in (row.first, row.second))
        asked = questions.get(row.question)
        if one and other and asked and row.read == read(asked.text, one.text, other.text):
            found.append(row)
    return found


def _rows(file: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a table with the lines that they end on; commas, semicolons or tabs stand between its cells."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise DocumentError(f"the ratings {file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise DocumentError(f"the ratings {file} are not UTF-8 (byte {error.start}); save them as CSV UTF-8") from None
    head = text.partition("\n")[0]
    delimiter = max(",;\t", key=head.count)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    needed = ("item", "criterion", "choice")
    if missing := [name for name in needed if name not in (reader.fieldnames or ())]:
        raise UsageError(f"{file} has no column {', '.join(missing)}; ratings have {', '.join(COLUMNS)}")
    for row in reader:
        yield reader.line_num, {name: value or "" for name, value in row.items() if isinstance(name, str)}
