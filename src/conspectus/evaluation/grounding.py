"""Checks of answers by a model, with a row for each answer; one check determines which sentences references support."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from conspectus.errors import ModelError
from conspectus.evaluation import comparison
from conspectus.evaluation.comparison import ConditionAnswer, JsonlTable, Key, QuestionAnswer, made_with
from conspectus.evaluation.run import Step, StepFunction, Value, model_names
from conspectus.evaluation.statistics import Figures, Interval, bootstrap
from conspectus.indexing.pipeline import Progress
from conspectus.messages import LANGUAGES, wording
from conspectus.models.base import Model
from conspectus.models.extractive.sentence_store import speaker_of
from conspectus.runtime import Options, path_of, run_of
from conspectus.tasks import Entails
from conspectus.text.language import language_of
from conspectus.text.sentences import sentences

if TYPE_CHECKING:
    from typing_extensions import Unpack

GROUNDED_BY_RULES = (
    "Found by rules: a text supports a sentence if it holds 70 % of its words. The shares are floors."
)
_MARKERS = re.compile(r"([ \t]*(?<!\\)(?:\[\d+\])+)")
_HEADING = re.compile(r"#{1,6}\s+|\*\*[^*]+\*\*:?$|__[^_]+__:?$")
_BULLET = re.compile(r"(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_RULE = re.compile(r"\|?\s*:?-+[-:|\s]*$")
"""The line below the head of a Markdown table."""
_HASHES = re.compile(r"#+\s*")
_OURS = frozenset(
    text
    for words in map(wording, LANGUAGES)
    for text in (words.assembled, words.assembled_with_reports, words.nothing)
)
"""Texts that the program adds to answers, and that are not part of an answer."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or a heading of an answer, without Markdown; `markers` are the numbers of its references."""

    text: str
    markers: tuple[int, ...] = ()
    heading: bool = False

    @property
    def shown(self) -> str:
        """The text as it is shown in context, where headings are marked with `#`."""
        return f"# {self.text}" if self.heading else self.text


def sentences_of(text: str, cited: Collection[int] = ()) -> list[Sentence]:
    """Return the sentences and headings of an answer in Markdown.

    A reference (`[1]`, if its marker is in `cited`) applies to the sentence that it ends or is part of, and to those
    before it in its paragraph, back to the previous reference, as in `references.between`. A line that quotes a speaker
    is one sentence.
    """
    lines = [line.strip() for line in text.splitlines()]
    following = [*lines, ""][1:]
    return [s for line, after in zip(lines, following, strict=True) for s in _of_line(line, after, cited)]


def sentences_in(answer: ConditionAnswer) -> list[Sentence]:
    """Return the sentences and headings of an answer, see `sentences_of`."""
    return sentences_of(answer.text, {one.marker for one in answer.cited})


def _of_line(line: str, after: str, cited: Collection[int]) -> list[Sentence]:
    """Return the sentences of a line, each with the references in it, or else the references of the next sentence."""
    bare, runs = "", list[tuple[int, list[int]]]()
    for number, part in enumerate(_MARKERS.split(_BULLET.sub("", line, count=1))):
        is_text = number % 2 == 0
        numbers = [] if is_text else [n for n in map(int, re.findall(r"\d+", part)) if n in cited]
        if numbers:
            runs.append((len(bare), numbers))
        else:
            bare += part
    is_row = line.startswith("|")
    heading = bool(_HEADING.match(bare)) or (is_row and bool(_RULE.match(after)))
    if is_row:
        bare = ", ".join(cell.strip() for cell in bare.strip("|").split("|"))
        runs = [(len(bare), numbers) for _, numbers in runs]
    spans = [(0, len(bare))] if heading or speaker_of(bare) else list(sentences(bare))
    result: list[Sentence] = []
    markers: tuple[int, ...] = ()
    for start, end in reversed(spans):
        own = [number for at, numbers in runs if at > start or start == spans[0][0] for number in numbers]
        runs = [run for run in runs if run[0] <= start]
        markers = tuple(dict.fromkeys(own)) or markers
        text = _HASHES.sub("", bare[start:end]) if heading else bare[start:end]
        text = _EMPHASIS.sub("", text).strip()
        if any(c.isalpha() for c in text) and text not in _OURS:
            result.append(Sentence(text, markers, heading))
    return result[::-1]


# Checks


class CheckOptions(Options, total=False):
    """Which answers are checked.

    conditions: the conditions whose answers are checked; all that have answers if left out.
    sample: a number of questions, drawn at random with a fixed seed, as in judging.
    progress: True shows progress on standard error; or an object that shows it.
    """

    conditions: Sequence[str]
    sample: int | None
    progress: Progress | bool | None


@dataclass(frozen=True)
class AnswerRow:
    """The result of checking one answer, identified by condition and question (its id)."""

    condition: str
    question: str
    made_with: str = ""
    """The name of the checker, a space, and a digest of the texts that were read."""
    error: str = ""


Row = TypeVar("Row", bound=AnswerRow)


class Check(Step[QuestionAnswer, Value], Generic[Row, Value]):
    """A step that checks answers; its rows are in a file of a comparison's folder, named after its stage."""

    kind: type[Any]
    """The type of its rows."""
    tasks: tuple[str, ...]
    """The names of the tasks that it gives to a model."""

    def __init__(self, folder: str | Path, options: CheckOptions) -> None:
        """Raise UsageError if there are no answers, or if a condition does not exist."""
        target = path_of(folder)
        super().__init__(target, run_of(options), options.get("progress"))
        self.table = self.rows_in(target)
        self.by = self.model.name if self.model else model_names(self.settings, *self.tasks)
        study = comparison.study_in(target)
        self.pieces = study.successful(options.get("conditions", ()), options.get("sample"))
        self.remaining = [a for a in self.pieces if not self.table.done(a.key, self.made_with(a, self.by))]

    @classmethod
    def rows_in(cls, folder: Path) -> JsonlTable[Row]:
        """Return all rows in the folder of a comparison, by condition and question."""
        return JsonlTable(folder / f"{cls.stage}.jsonl", cls.kind, lambda row: (row.condition, row.question))

    @classmethod
    def current(cls, folder: Path) -> dict[Key, Row]:
        """Return the rows of successful checks whose answers have not changed since, by condition and question."""
        table = cls.rows_in(folder)
        checkers = comparison.names_in(row.made_with for row in table.rows.values())
        return {
            answer.key: table.rows[answer.key]
            for answer in comparison.study_in(folder).successful()
            if any(table.done(answer.key, cls.made_with(answer, by)) for by in checkers)
        }

    @classmethod
    def texts(cls, answer: QuestionAnswer) -> Iterable[str]:
        """Return the texts that a result depends on, in addition to the question and the answer."""
        return ()

    @classmethod
    def made_with(cls, answer: QuestionAnswer, by: str) -> str:
        """Return the `made_with` of a result: `by` and a digest of all texts that were read."""
        return made_with(by, answer.question, answer.answer.text, *cls.texts(answer))

    def save(self, piece: QuestionAnswer, result: Mapping[str, Any] | None, error: str) -> None:
        with_ = self.made_with(piece, self.by)
        self.table.add(self.kind(*piece.key, made_with=with_, error=error, **(result or {})))

    def rows(self) -> list[Row]:
        """Return the rows of all answers, including failed ones, which have an error."""
        return [row for answer in self.pieces if (row := self.table.get(answer.key))]


# Grounding


@dataclass(frozen=True)
class GroundedSentence:
    """A sentence of an answer, and whether the texts of its references together support it."""

    text: str
    markers: tuple[int, ...] = ()
    """The numbers of its references; empty if it cites nothing."""
    supported: bool = False


@dataclass(frozen=True)
class AnswerGrounding(AnswerRow):
    """The sentences of one answer, without headings."""

    sentences: tuple[GroundedSentence, ...] = ()


@dataclass(frozen=True)
class ConditionGrounding:
    """The grounding of one condition; shares are means over its answers, from 0 to 1, with 95 % bootstrap intervals."""

    condition: str
    answers: int
    empty: int
    """Number of answers without sentences, which have no shares."""
    failed: int
    sentences: int
    uncited: int
    """Number of sentences without a reference."""
    supported: Interval | None
    """The share of all sentences that are supported by what they cite; None if there are none."""
    of_cited: Interval | None
    """The same share of the sentences that cite something."""


@dataclass(frozen=True)
class Grounding(Figures):
    """The grounding of the answers in one folder."""

    checked_by: tuple[str, ...]
    conditions: tuple[ConditionGrounding, ...]


class GroundingCheck(Check[AnswerGrounding, Grounding]):
    """The step that checks whether the sentences of answers follow from what they cite."""

    stage = "grounding"
    kind = AnswerGrounding
    tasks = ("Entails",)
    rules = (GROUNDED_BY_RULES,)

    @classmethod
    def texts(cls, answer: QuestionAnswer) -> Iterable[str]:
        for reference in answer.answer.cited:
            yield from (str(reference.marker), reference.text)

    async def work(self, piece: QuestionAnswer, model: Model) -> Mapping[str, Any]:
        """Return the sentences of an answer, each with whether its references support it.

        No model is asked about sentences that cite nothing. Raises ModelError if a sentence could not be checked.
        """
        texts = {reference.marker: reference.text.strip() for reference in piece.answer.cited}
        statements = [sentence for sentence in sentences_in(piece.answer) if not sentence.heading]
        tasks: dict[Sentence, Entails] = {}
        for sentence in statements:
            if cited := "\n\n".join(dict.fromkeys(texts[marker] for marker in sentence.markers)):
                tasks[sentence] = Entails(cited, sentence.text, language=language_of([sentence.text]))
        replies = dict(zip(tasks, await model.perform_all(list(tasks.values())), strict=True))
        for reply in replies.values():
            if isinstance(reply, ModelError):
                raise reply
        grounded = (GroundedSentence(s.text, s.markers, bool(replies.get(s))) for s in statements)
        return {"sentences": tuple(grounded)}

    def value(self) -> Grounding:
        return summarise(self.rows())


def summarise(rows: Sequence[AnswerGrounding]) -> Grounding:
    """Return the grounding of each condition, with conditions in the order of their first rows."""
    names = dict.fromkeys(row.condition for row in rows)
    checkers = comparison.names_in(row.made_with for row in rows if not row.error)
    conditions = (_condition(name, [row for row in rows if row.condition == name]) for name in names)
    return Grounding(checkers, tuple(conditions))


def _condition(name: str, rows: Sequence[AnswerGrounding]) -> ConditionGrounding:
    sound = [row.sentences for row in rows if not row.error]
    stating = [sentences for sentences in sound if sentences]
    citing = [cited for sentences in sound if (cited := [one for one in sentences if one.markers])]

    def supported(answers: Sequence[Sequence[GroundedSentence]]) -> Interval | None:
        shares = [sum(one.supported for one in sentences) / len(sentences) for sentences in answers]
        return bootstrap(shares) if shares else None

    return ConditionGrounding(
        name,
        answers=len(sound),
        empty=len(sound) - len(stating),
        failed=len(rows) - len(sound),
        sentences=sum(map(len, sound)),
        uncited=sum(map(len, sound)) - sum(map(len, citing)),
        supported=supported(stating),
        of_cited=supported(citing),
    )


@StepFunction
def check_grounding(folder: str | Path, **options: Unpack[CheckOptions]) -> GroundingCheck:
    """Check which sentences of a folder's answers follow from what they cite.

    Answers that were checked are skipped, failed ones are tried again. Without a language model, a text supports a
    sentence if it contains most of its words. Raises UsageError if there are no answers or no such condition.
    """
    return GroundingCheck(folder, options)
