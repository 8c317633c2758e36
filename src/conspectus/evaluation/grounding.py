"""The sentences of an answer with their references, and which of them these references support."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.errors import ModelError
from conspectus.evaluation import run
from conspectus.evaluation.checks import AnswerRow, Check, CheckOptions
from conspectus.evaluation.comparison import QuestionAnswer, names_in
from conspectus.evaluation.jsonl_table import ConditionAnswer
from conspectus.evaluation.statistics import Figures, Interval, bootstrap
from conspectus.messages import LANGUAGES, wording
from conspectus.models.base import Model
from conspectus.models.extractive.statements import speaker_of
from conspectus.runtime import public
from conspectus.tasks import Entails
from conspectus.text.language import language_of
from conspectus.text.sentences import sentences

if TYPE_CHECKING:
    from typing_extensions import Unpack

GROUNDED_BY_RULES = (
    "Found by rules: a text supports a sentence if it holds 70 % of its words. The shares are floors."
)
_MARKERS = re.compile(r"([ \t]*(?:\[\d+\])+)")
_HEADING = re.compile(r"#{1,6}\s+|\*\*[^*]+\*\*:?$|__[^_]+__:?$")
_BULLET = re.compile(r"(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_RULE = re.compile(r"\|?\s*:?-+[-:|\s]*$")
"""What stands below the head of a table."""
_HASHES = re.compile(r"#+\s*")
_OURS = frozenset(
    text
    for words in map(wording, LANGUAGES)
    for text in (words.assembled, words.assembled_with_reports, words.nothing)
)
"""What the program says, and no answer."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or a heading of an answer, without Markdown; `markers` are those of the references given for it."""

    text: str
    markers: tuple[int, ...] = ()
    heading: bool = False

    @property
    def shown(self) -> str:
        """The text as context shows it: a heading is told from a sentence."""
        return f"# {self.text}" if self.heading else self.text


def sentences_of(text: str, cited: Collection[int] = ()) -> list[Sentence]:
    """Return the sentences and headings of an answer in Markdown.

    A reference (`[1]`, of a marker in `cited`) stands for the sentence that it ends or stands in, and for those before
    it in its paragraph, back to the reference before: so `query.citations` has it too. What a speaker is quoted with
    on a line of its own is one sentence.
    """
    lines = [line.strip() for line in text.splitlines()]
    following = [*lines, ""][1:]
    return [s for line, after in zip(lines, following, strict=True) for s in _of_line(line, after, cited)]


def sentences_in(answer: ConditionAnswer) -> list[Sentence]:
    """Return the sentences and headings of an answer, see `sentences_of`."""
    return sentences_of(answer.text, {one.marker for one in answer.cited})


def plain(text: str, cited: set[int]) -> str:
    """Return the sentences and headings of an answer without its references, a line each."""
    return "\n".join(sentence.shown for sentence in sentences_of(text, cited))


def _of_line(line: str, after: str, cited: Collection[int]) -> list[Sentence]:
    """Return the sentences of a line, each with the references in it or else those that come next."""
    if not any(c.isalpha() for c in line):
        return []
    bare, runs = "", list[tuple[int, list[int]]]()
    for part in _MARKERS.split(_BULLET.sub("", line, count=1)):
        numbers = (
            [n for n in map(int, re.findall(r"\d+", part)) if n in cited] if _MARKERS.fullmatch(part) else []
        )
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
    found: list[Sentence] = []
    markers: tuple[int, ...] = ()
    for start, end in reversed(spans):
        own = [number for at, numbers in runs if at > start or start == spans[0][0] for number in numbers]
        runs = [run for run in runs if run[0] <= start]
        markers = tuple(dict.fromkeys(own)) or markers
        text = bare[start:end]
        text = _EMPHASIS.sub("", _HASHES.sub("", text) if heading else text).strip()
        if any(c.isalpha() for c in text) and text not in _OURS:
            found.append(Sentence(text, markers, heading))
    return found[::-1]


# What supports them


@dataclass(frozen=True)
class GroundedSentence:
    """A sentence of an answer, and what supports it."""

    text: str
    markers: tuple[int, ...] = ()
    """The references that are given for it; none where it cites nothing."""
    supported: bool = False
    """Whether it follows from the texts of these together."""
    samples: int = 0
    """The sampled answers from which it follows (self-consistency)."""


@dataclass(frozen=True)
class AnswerGrounding(AnswerRow):
    """The sentences of one answer without headings, each compared with `samples` sampled answers."""

    sentences: tuple[GroundedSentence, ...] = ()
    samples: int = 0


async def _work(answer: QuestionAnswer, model: Model) -> Mapping[str, Any]:
    """Return the sentences of an answer, each with whether its references and how many samples support it.

    Nothing follows from an empty text, and no model is asked. Raises ModelError where a sentence could not be checked.
    """
    texts = {reference.marker: reference.text for reference in answer.answer.cited}
    samples = [plain(sample.text, {c.marker for c in sample.cited}) for sample in answer.samples]
    statements = [sentence for sentence in sentences_in(answer.answer) if not sentence.heading]
    tasks: list[tuple[int, int, Entails]] = []
    for number, sentence in enumerate(statements):
        cited = "\n\n".join(dict.fromkeys(texts[marker].strip() for marker in sentence.markers))
        language = language_of([sentence.text])
        pairs = enumerate((cited, *samples))
        tasks += [
            (number, sample, Entails(text, sentence.text, language=language)) for sample, text in pairs if text
        ]
    supported: set[tuple[int, int]] = set()
    replies = await model.perform_all([task for *_, task in tasks])
    for (number, sample, _), reply in zip(tasks, replies, strict=True):
        if isinstance(reply, ModelError):
            raise reply
        if reply:
            supported.add((number, sample))
    grounded = [
        GroundedSentence(
            sentence.text,
            sentence.markers,
            (number, 0) in supported,
            sum((number, sample) in supported for sample in range(1, len(samples) + 1)),
        )
        for number, sentence in enumerate(statements)
    ]
    return {"sentences": tuple(grounded), "samples": len(samples)}


def _texts(answer: QuestionAnswer) -> Iterator[str]:
    for reference in answer.answer.cited:
        yield from (str(reference.marker), reference.text)
    yield from ("samples", *(sample.text for sample in answer.samples))


CHECK = Check("grounding", AnswerGrounding, ("Entails",), _texts, _work)


grounding_in, grounding_now = CHECK.table, CHECK.current
"""All rows in the folder of a comparison, and those on its answers as they are now, without failed ones."""

# What the grounding of a folder amounts to


@dataclass(frozen=True)
class ConditionGrounding:
    """One condition; shares are means over its answers, from 0 to 1, with 95 % bootstrap intervals."""

    condition: str
    answers: int
    empty: int
    """Answers that state nothing, which have no shares."""
    failed: int
    sentences: int
    uncited: int
    """Sentences that no reference is given for."""
    supported: Interval | None
    """Of all sentences, those that follow from what they cite; None where there are none."""
    of_cited: Interval | None
    """The same of the sentences that cite something."""
    cited: Interval | None
    """Of all sentences, those that cite something."""
    consistent: Interval | None
    """The share of samples that a sentence follows from; None where none were sampled."""
    samples: int = 0
    """Sampled answers in all."""


@dataclass(frozen=True)
class Grounding(Figures):
    """The grounding of one folder of answers in figures."""

    found_by: tuple[str, ...]
    conditions: tuple[ConditionGrounding, ...]
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """What failed, and how often."""

    @property
    def failed(self) -> int:
        """Answers that could not be checked."""
        return sum(self.errors.values())


def summarise(rows: Sequence[AnswerGrounding]) -> Grounding:
    """Return the figures of rows by condition, in the order in which these first come."""
    names = dict.fromkeys(row.condition for row in rows)
    errors = dict(Counter(row.error for row in rows if row.error))
    checkers = names_in(row.made_with for row in rows if not row.error)
    conditions = (_condition(name, [row for row in rows if row.condition == name]) for name in names)
    return Grounding(checkers, tuple(conditions), errors)


def _condition(name: str, rows: Sequence[AnswerGrounding]) -> ConditionGrounding:
    sound = [row for row in rows if not row.error]
    stating = [row for row in sound if row.sentences]

    def mean(shares: Iterable[float | None]) -> Interval | None:
        values = [share for share in shares if share is not None]
        return bootstrap(values) if values else None

    def consistent(row: AnswerGrounding) -> float | None:
        return _share(s.samples / row.samples for s in row.sentences) if row.samples else None

    return ConditionGrounding(
        name,
        answers=len(sound),
        empty=len(sound) - len(stating),
        failed=len(rows) - len(sound),
        sentences=sum(len(row.sentences) for row in sound),
        uncited=sum(not sentence.markers for row in sound for sentence in row.sentences),
        supported=mean(_share(s.supported for s in row.sentences) for row in stating),
        of_cited=mean(_share(s.supported for s in row.sentences if s.markers) for row in stating),
        cited=mean(_share(bool(s.markers) for s in row.sentences) for row in stating),
        consistent=mean(map(consistent, stating)),
        samples=sum(row.samples for row in sound),
    )


def _share(values: Iterable[float]) -> float | None:
    """Return the mean of values, None where there are none."""
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None


# The API


@public
def check_grounding(folder: str | Path, **options: Unpack[CheckOptions]) -> run.Result[Grounding]:
    """Check which sentences of a folder's answers follow from what they cite, and from answers sampled beside them.

    Answers that were checked are skipped, failed ones are tried again. Without a language model a sentence follows from
    a text that has most of its words. Raises UsageError where there are no answers, or no such condition.
    """
    done = CHECK.run(folder, **options)
    return run.Result(summarise(done.value), done.usage, done.notices)


@public
def preview_grounding(folder: str | Path, **options: Unpack[CheckOptions]) -> run.Preview:
    """Return what `check_grounding` would ask; no model is asked."""
    return CHECK.preview(folder, **options)
