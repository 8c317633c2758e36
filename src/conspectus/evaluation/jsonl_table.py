"""Results in JSON-lines files, from which a run continues: each row is on the disk before the next is asked for.

A comparison of conditions (GraphRAG §4) is a folder of such files. Every row has a key, `made_with` (what it depends
on) and `error` (why there is no result): what has no such row, or a failed one, is done by the same command again.

    DIR/
      questions.json      the questions (`Question`), also as questions.csv
      answers.jsonl       the answer of each condition to each question (`ConditionAnswer`)
      setups.jsonl        what each condition answered with: index, model, settings (`conditions.SetUp`)
      judgements.jsonl    which of two answers a judge preferred (`Judgement`)
      criteria.json       the criteria of the judgements, name and description
      claims.jsonl        the factual claims of each answer (`claims.AnswerClaims`)
      grounding.jsonl     the sentences of each answer that its references support (`grounding.AnswerGrounding`)
      ratings.jsonl       what people preferred (`people.Rating`)
      replies.sqlite      the response cache
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from conspectus.errors import CallFailed, ModelError, UsageError
from conspectus.models.base import Tick, no_tick, together
from conspectus.readers import list_generated

T = TypeVar("T")
Piece = TypeVar("Piece")
Pair = tuple[str, str]
"""Two conditions."""
AT_ONCE = 50
"""Pieces of work in progress: enough to fill every connection of a model, which limits its calls itself."""


class JsonlTable(Generic[T]):
    """The rows of one kind in one file, the last of each key; rows are only ever appended."""

    def __init__(self, path: Path | None, kind: type[T], key: Callable[[T], Hashable]) -> None:
        """Read the file if it exists; a last line that a kill cut off is removed.

        `kind` is the dataclass of a row; without a path the rows are in memory alone. Raises UsageError where another
        line is no such row.
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
                raise UsageError(f"{path}, line {number}, cannot be read ({reason}); remove that line") from None
            self.rows[key(row)] = row
        if path and lines and lines[-1]:
            with path.open("r+b") as file:
                file.truncate(sum(len(line) + 1 for line in lines[:-1]))

    def add(self, row: T) -> None:
        """Append a row, which replaces the one of its key."""
        self.add_all([row])

    def add_all(self, rows: Sequence[T]) -> None:
        """Append rows with one wait for the disk."""
        if self.path and rows:
            self._append(self.path, rows)
        self.rows |= {self._key(row): row for row in rows}

    def _append(self, path: Path, rows: Sequence[T]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            list_generated(path.parent, [path.name])
        with path.open("ab") as file:
            for row in rows:
                values: dict[str, Any] = asdict(row)  # pyright: ignore[reportArgumentType]  # T is a dataclass
                file.write(json.dumps(values, ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def get(self, key: Hashable) -> T | None:
        """Return the row of a key."""
        return self.rows.get(key)

    def done(self, key: Hashable, made_with: str) -> bool:
        """Return whether there is a row of a key that depends on just that and did not fail."""
        row: Any = self.rows.get(key)
        return row is not None and not row.error and row.made_with == made_with


async def each(
    pieces: Iterable[Piece],
    work: Callable[[Piece], Awaitable[None]],
    tick: Tick = no_tick,
    at_once: int = AT_ONCE,
) -> None:
    """Do the work on each piece, the first ones first.

    A ModelError that ends all calls, or a UsageError, lets what is in progress end, begins nothing new and is raised.
    """
    waiting = list(pieces)[::-1]

    async def worker() -> None:
        while waiting:
            piece = waiting.pop()
            try:
                await work(piece)
            except (ModelError, UsageError):
                waiting.clear()
                raise
            tick()

    await together(worker() for _ in range(min(at_once, len(waiting))))


async def attempt(work: Awaitable[T]) -> tuple[T | None, str]:
    """Return the result of work on one piece, or None and why a call of it failed."""
    try:
        return await work, ""
    except CallFailed as failure:
        return None, str(failure) or type(failure).__name__


# Rows


@dataclass(frozen=True)
class Question:
    """A question, and who asks it for what (both may be empty)."""

    id: str
    text: str
    persona: str = ""
    task: str = ""


@dataclass(frozen=True)
class CitedText:
    """A reference of an answer: its marker, the reports or chunks it names, and the characters behind it."""

    marker: int
    title: str
    text: str
    documents: tuple[str, ...] = ()
    """The paths of the documents that these stand in."""


@dataclass(frozen=True)
class ConditionAnswer:
    """What one condition answered to one question (its id), and what that took."""

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
    """CPU seconds of the extractive model, else the time waited."""
    sample: int = 0
    """The number of a sampled answer, from 1, for self-consistency; 0 for the answer itself."""
    made_with: str = ""
    """A digest of index, model and settings."""
    error: str = ""


@dataclass(frozen=True)
class Judgement:
    """One comparison of two conditions' answers to one question; `first` is the one shown as Answer 1."""

    first: str
    second: str
    criterion: str
    question: str
    replicate: int
    winner: int = 0
    """1 or 2 as they were shown, 0 for neither."""
    reasoning: str = ""
    made_with: str = ""
    """A digest of the judge, the criterion and both answers."""
    error: str = ""


def answers_in(folder: Path) -> JsonlTable[ConditionAnswer]:
    """Return the answers of a comparison, by condition, question and sample."""
    return JsonlTable(
        folder / "answers.jsonl", ConditionAnswer, lambda row: (row.condition, row.question, row.sample)
    )


def judgements_in(folder: Path) -> JsonlTable[Judgement]:
    """Return the judgements of a comparison, by the pair (in alphabetical order) and what else tells them apart."""

    def key(row: Judgement) -> Hashable:
        judge = row.made_with.rpartition(" ")[0]
        return *sorted((row.first, row.second)), row.criterion, row.question, row.replicate, judge

    return JsonlTable(folder / "judgements.jsonl", Judgement, key)
