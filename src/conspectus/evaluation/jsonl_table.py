"""Results in JSON-lines files that a run goes on from: each row is durable before the next is asked for.

A comparison of conditions (GraphRAG §4) is a folder of such files; the modules beside this one each read some and
write one.

    DIR/
      questions.json      what is asked (`Question`); questions.csv has the same
      answers.jsonl       what each condition answered (`ConditionAnswer`)
      setups.jsonl        what each condition answered with: index, model, settings (`set_up.SetUp`)
      judgements.jsonl    which of two answers a judge preferred (`Judgement`)
      criteria.json       what was judged by, name and description
      claims.jsonl        the factual claims of each answer (`AnswerClaims`)
      grounding.jsonl     which sentences of an answer are supported by what they cite (`AnswerGrounding`)
      ratings.jsonl       what people preferred (`people.ratings.Rating`)
      replies.sqlite      every reply of a model, paid for once
"""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from conspectus.errors import ModelError, UsageError
from conspectus.models.base import Tick, no_tick, together
from conspectus.readers import list_generated

T = TypeVar("T")


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
    """What one condition answered to one question, and what that took; `error` where it could not."""

    condition: str
    question: str
    """The id of the question."""
    text: str = ""
    cited: tuple[CitedText, ...] = ()
    units: int = 0
    """Reports or chunks that were read."""
    context_tokens: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    """CPU seconds where no model is asked, else the time waited."""
    sample: int = 0
    """The number of a sampled answer, from 1, for self-consistency; 0 for the answer itself."""
    made_with: str = ""
    """A digest of index, model and settings: an answer made with others is not gone on from."""
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


@dataclass(frozen=True)
class AnswerClaims:
    """The factual claims of one answer, each once."""

    condition: str
    question: str
    claims: tuple[str, ...] = ()
    made_with: str = ""
    error: str = ""


@dataclass(frozen=True)
class GroundedSentence:
    """A sentence of an answer, and what speaks for it."""

    text: str
    markers: tuple[int, ...] = ()
    """The references that are given for it; none where it cites nothing."""
    supported: bool = False
    """Whether it follows from the texts of these together."""
    samples: int = 0
    """The sampled answers from which it follows (self-consistency)."""


@dataclass(frozen=True)
class AnswerGrounding:
    """The sentences of one answer, headings left out; `samples` are the sampled answers they were held against."""

    condition: str
    question: str
    sentences: tuple[GroundedSentence, ...] = ()
    samples: int = 0
    made_with: str = ""
    error: str = ""


class JsonlTable(Generic[T]):
    """The rows of one kind in one file, the last of each key; rows are only ever appended."""

    def __init__(self, path: Path, make: Callable[..., T], key: Callable[[T], Hashable]) -> None:
        """Read the file if it is there; a last line that was cut off by a kill is left out.

        `make` makes a row of the values of a line. Raises UsageError where another line is no such row.
        """
        self.path = path
        self._key = key
        self.rows: dict[Hashable, T] = {}
        lines = path.read_bytes().split(b"\n") if path.exists() else []
        for number, line in enumerate(lines[:-1], 1):
            try:
                row = make(**json.loads(line))
            except (ValueError, TypeError) as error:
                raise UsageError(f"{path}, line {number}, cannot be read ({error}); remove that line") from None
            self.rows[key(row)] = row
        if lines and lines[-1]:
            with path.open("r+b") as file:
                file.truncate(sum(len(line) + 1 for line in lines[:-1]))

    def add(self, row: T) -> None:
        """Append a row, durably, and take it for the row of its key."""
        self.add_all([row])

    def add_all(self, rows: Sequence[T]) -> None:
        """Append rows, durably, with one wait for the disk."""
        if not rows:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self.path.exists():
            list_generated(self.path.parent, [self.path.name])
        with self.path.open("ab") as file:
            for row in rows:
                file.write(json.dumps(_plain(row), ensure_ascii=False).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows |= {self._key(row): row for row in rows}

    def get(self, key: Hashable) -> T | None:
        return self.rows.get(key)


def _plain(row: Any) -> dict[str, Any]:
    return asdict(row)


def condition_answer(**values: Any) -> ConditionAnswer:
    """Make an answer of the values of a line."""
    cited = tuple(_cited(**one) for one in values.pop("cited", ()))
    return ConditionAnswer(cited=cited, **values)


def _cited(**values: Any) -> CitedText:
    return CitedText(documents=tuple(values.pop("documents", ())), **values)


def answers_in(folder: Path) -> JsonlTable[ConditionAnswer]:
    """Return the answers of a comparison, by condition, question and sample."""
    return JsonlTable(folder / "answers.jsonl", condition_answer, lambda row: (row.condition, row.question, row.sample))


def judgements_in(folder: Path) -> JsonlTable[Judgement]:
    """Return the judgements of a comparison, by the pair (in alphabetical order) and what else tells them apart."""

    def key(row: Judgement) -> Hashable:
        judge = row.made_with.rpartition(" ")[0]
        return *sorted((row.first, row.second)), row.criterion, row.question, row.replicate, judge

    return JsonlTable(folder / "judgements.jsonl", Judgement, key)


def claims_in(folder: Path) -> JsonlTable[AnswerClaims]:
    """Return the claims of a comparison's answers, by condition and question."""

    def make(**values: Any) -> AnswerClaims:
        return AnswerClaims(claims=tuple(values.pop("claims", ())), **values)

    return JsonlTable(folder / "claims.jsonl", make, lambda row: (row.condition, row.question))


def grounding_in(folder: Path) -> JsonlTable[AnswerGrounding]:
    """Return the grounding of a comparison's answers, by condition and question."""

    def sentence(markers: list[int], **values: Any) -> GroundedSentence:
        return GroundedSentence(markers=tuple(markers), **values)

    def make(**values: Any) -> AnswerGrounding:
        return AnswerGrounding(sentences=tuple(sentence(**one) for one in values.pop("sentences", ())), **values)

    return JsonlTable(folder / "grounding.jsonl", make, lambda row: (row.condition, row.question))


Pair = tuple[str, str]
"""Two conditions."""
Piece = TypeVar("Piece")
AT_ONCE = 50
"""Pieces under way or waiting for their turn; how many calls are really open at once is the model's business."""


async def each(
    pieces: Iterable[Piece], work: Callable[[Piece], Awaitable[None]], tick: Tick = no_tick, at_once: int = AT_ONCE
) -> None:
    """Do the work on each piece, the first ones first.

    Where nothing more can be asked of the model, or what is asked makes no sense, what is under way ends and nothing
    new is begun; then the ModelError or UsageError is raised. What fails alone is the work's own to keep.
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
