"""The sentences of an answer, as they are checked one by one, each with the references that stand for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conspectus.errors import CallFailed, ModelError
from conspectus.evaluation import comparison, run
from conspectus.evaluation.comparison import AskedAnswer, Key, asked_answers, found_by, made_with, names_in
from conspectus.evaluation.jsonl_table import ConditionAnswer, JsonlTable, each
from conspectus.evaluation.statistics import Interval, bootstrap, rounded
from conspectus.indexing.pipeline import Progress
from conspectus.messages import LANGUAGES, wording
from conspectus.models.base import Model, Tick, no_tick
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.statements import speaker_of
from conspectus.models.llm.session import Session
from conspectus.runtime import Given, path_of, resolved
from conspectus.tasks import Entails
from conspectus.text.language import language_of
from conspectus.text.sentences import sentences

GROUNDED_BY_RULES = "Found by rules: a text supports a sentence if it holds 70 % of its words. The shares are floors."
_MARKERS = re.compile(r"[ \t]*((?:\[\d+\])+)")
_HEADING = re.compile(r"#{1,6}\s+|\*\*[^*]+\*\*:?$|__[^_]+__:?$")
_BULLET = re.compile(r"(?:>\s*)*(?:(?:[-*+•]|\d{1,3}[.)])\s+)?")
_EMPHASIS = re.compile(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)")
_RULE = re.compile(r"\|?\s*:?-+[-:|\s]*$")
"""What stands below the head of a table."""
_HASHES = re.compile(r"#+\s*")
_OURS = frozenset(
    text for words in map(wording, LANGUAGES) for text in (words.assembled, words.assembled_with_reports, words.nothing)
)
"""What the program says, and no answer."""


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
class AnswerGrounding:
    """The sentences of one answer without headings, each compared with `samples` sampled answers."""

    condition: str
    question: str
    sentences: tuple[GroundedSentence, ...] = ()
    samples: int = 0
    made_with: str = ""
    error: str = ""


def grounding_in(folder: Path) -> JsonlTable[AnswerGrounding]:
    """Return the grounding of a comparison's answers, by condition and question."""
    return JsonlTable(folder / "grounding.jsonl", AnswerGrounding, lambda row: (row.condition, row.question))


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


def _of_line(line: str, after: str, cited: Collection[int]) -> Iterator[Sentence]:
    if not any(c.isalpha() for c in line):
        return
    bare, runs = _without_markers(line, cited)
    heading = bool(_HEADING.match(bare)) or (line.startswith("|") and bool(_RULE.match(after)))
    if line.startswith("|"):
        bare, runs = ", ".join(cell.strip() for cell in bare.strip("|").split("|")), [(len(bare), m) for _, m in runs]
    for start, end, markers in _marked(bare, runs, heading):
        said = _EMPHASIS.sub("", _HASHES.sub("", bare[start:end]) if heading else bare[start:end]).strip()
        if any(c.isalpha() for c in said) and said not in _OURS:
            yield Sentence(said, markers, heading)


def _without_markers(line: str, cited: Collection[int]) -> tuple[str, list[tuple[int, tuple[int, ...]]]]:
    """Return a line without its bullet and references, and where these stood."""
    line = line[_bullet(line) :]
    bare, end = "", 0
    runs: list[tuple[int, tuple[int, ...]]] = []
    for match in _MARKERS.finditer(line):
        if numbers := tuple(n for n in map(int, re.findall(r"\d+", match[1])) if n in cited):
            bare += line[end : match.start()]
            runs.append((len(bare), numbers))
            end = match.end()
    return bare + line[end:], runs


def _bullet(line: str) -> int:
    match = _BULLET.match(line)
    return match.end() if match else 0


def _marked(
    line: str, runs: Sequence[tuple[int, tuple[int, ...]]], whole: bool
) -> Iterator[tuple[int, int, tuple[int, ...]]]:
    """Yield the spans of the sentences of a line, each with its markers or else those that come next."""
    spans = [(0, len(line))] if whole or speaker_of(line) else list(sentences(line))
    markers: list[tuple[int, ...]] = [()] * len(spans)
    for at, numbers in runs:
        place = max((i for i, (start, _) in enumerate(spans) if start < at), default=0)
        markers[place] += numbers
    following: tuple[int, ...] = ()
    for i in reversed(range(len(spans))):
        following = markers[i] = tuple(dict.fromkeys(markers[i])) or following
    for (start, end), numbers in zip(spans, markers, strict=True):
        yield start, end, numbers


def pending(asked: Iterable[AskedAnswer], table: JsonlTable[AnswerGrounding], by: str) -> list[AskedAnswer]:
    """Return the answers that were not checked, failed, or were checked against other texts or by another model."""
    return comparison.pending(asked, table, by, _made_with)


def grounding_now(folder: Path) -> dict[Key, AnswerGrounding]:
    """Return the results of a folder that are on its answers as they are now, without failed ones."""
    return comparison.results_now(folder, grounding_in(folder), _made_with)


def _made_with(one: AskedAnswer, by: str) -> str:
    cited = (part for reference in one.answer.cited for part in (str(reference.marker), reference.text))
    samples = (sample.text for sample in one.samples)
    return made_with(by, one.question, one.answer.text, *cited, "samples", *samples)


async def ground(
    left: Sequence[AskedAnswer], model: Model, kept: JsonlTable[AnswerGrounding], by: str, tick: Tick = no_tick
) -> None:
    """Check answers and keep what is found; an answer of which a sentence failed is kept with the error.

    Raises Unusable, when what is under way has ended, where nothing more can be asked of the model.
    """

    async def work(one: AskedAnswer) -> None:
        checked: tuple[GroundedSentence, ...] = ()
        error = ""
        try:
            checked = await grounded(one, model)
        except CallFailed as failure:
            error = str(failure) or type(failure).__name__
        answer = one.answer
        kept.add(
            AnswerGrounding(answer.condition, answer.question, checked, len(one.samples), _made_with(one, by), error)
        )

    await each(left, work, tick)


async def grounded(one: AskedAnswer, model: Model) -> tuple[GroundedSentence, ...]:
    """Return the sentences of an answer, each with whether its references and how many samples support it.

    Raises CallFailed where one of them could not be checked.
    """
    tasks = list(entailments(one))
    replies: list[bool] = []
    for reply in await model.perform_all([task for _, task in tasks]):
        if isinstance(reply, ModelError):
            raise reply
        replies.append(reply)
    followed: dict[tuple[int, int], bool] = {key: reply for (key, _), reply in zip(tasks, replies, strict=True)}
    return tuple(
        GroundedSentence(
            sentence.text,
            sentence.markers,
            followed.get((place, 0), False),
            sum(followed.get((place, number), False) for number in range(1, len(one.samples) + 1)),
        )
        for place, sentence in enumerate(_statements(one))
    )


def _statements(one: AskedAnswer) -> list[Sentence]:
    return [sentence for sentence in sentences_in(one.answer) if not sentence.heading]


def entailments(one: AskedAnswer) -> Iterable[tuple[tuple[int, int], Entails]]:
    """Yield what has to be asked of an answer, by sentence and by sample (0: what is cited).

    Nothing follows from an empty text, and nobody is asked.
    """
    texts = {reference.marker: reference.text for reference in one.answer.cited}
    samples = [plain(sample.text, {c.marker for c in sample.cited}) for sample in one.samples]
    for place, sentence in enumerate(_statements(one)):
        language = language_of([sentence.text])
        cited = "\n\n".join(dict.fromkeys(texts[marker].strip() for marker in sentence.markers))
        for number, text in enumerate((cited, *samples)):
            if text:
                yield (place, number), Entails(text, sentence.text, language=language)


def plain(text: str, cited: set[int]) -> str:
    """Return the sentences and headings of an answer without its references, a line each."""
    return "\n".join(sentence.shown for sentence in sentences_of(text, cited))


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
class Grounding:
    """All of it for one folder of answers."""

    found_by: tuple[str, ...]
    conditions: tuple[ConditionGrounding, ...]
    errors: Mapping[str, int] = field(default_factory=dict[str, int])
    """What failed, and how often."""

    @property
    def failed(self) -> int:
        """Answers that could not be checked."""
        return sum(one.failed for one in self.conditions)

    def as_json(self) -> dict[str, Any]:
        """Return the figures as they go into JSON."""
        shares = ("supported", "of_cited", "cited", "consistent")
        conditions = [
            asdict(one) | {name: (value := getattr(one, name)) and rounded(value) for name in shares}
            for one in self.conditions
        ]
        return {"found_by": self.found_by, "conditions": conditions, "errors": self.errors}


def summarise(rows: Sequence[AnswerGrounding]) -> Grounding:
    """Return what rows amount to, condition by condition in the order in which these first come."""
    names = list(dict.fromkeys(row.condition for row in rows))
    errors = dict(Counter(row.error for row in rows if row.error))
    judges = names_in(row.made_with for row in rows if not row.error)
    conditions = (_condition(name, [row for row in rows if row.condition == name]) for name in names)
    return Grounding(judges, tuple(conditions), errors)


def _condition(name: str, rows: Sequence[AnswerGrounding]) -> ConditionGrounding:
    sound = [row for row in rows if not row.error]
    stating = [row for row in sound if row.sentences]
    sampled = [row for row in stating if row.samples]

    def mean(over: Sequence[AnswerGrounding], share: Callable[[AnswerGrounding], float]) -> Interval | None:
        return bootstrap([share(row) for row in over]) if over else None

    return ConditionGrounding(
        name,
        len(sound),
        len(sound) - len(stating),
        len(rows) - len(sound),
        sum(len(row.sentences) for row in sound),
        sum(not sentence.markers for row in sound for sentence in row.sentences),
        mean(stating, lambda row: _share(s.supported for s in row.sentences)),
        mean([r for r in stating if any(s.markers for s in r.sentences)], _of_cited),
        mean(stating, lambda row: _share(bool(s.markers) for s in row.sentences)),
        mean(sampled, lambda row: sum(s.samples for s in row.sentences) / row.samples / len(row.sentences)),
        sum(row.samples for row in sound),
    )


def _of_cited(row: AnswerGrounding) -> float:
    return _share(sentence.supported for sentence in row.sentences if sentence.markers)


def _share(told: Iterable[bool]) -> float:
    values = list(told)
    return sum(values) / len(values)


# The API


def check_grounding(
    folder: str | Path,
    *,
    conditions: Sequence[str] = (),
    sample: int | None = None,
    settings: Given = None,
    model: Model | None = None,
    progress: Progress | None = None,
) -> run.Result[Grounding]:
    """Check which sentences of a folder's answers follow from what they cite, and from answers sampled beside them.

    Answers that were checked are skipped, failed ones are tried again. Without a language model a sentence follows from
    a text that has most of its words. Raises UsageError where there are no answers, or no such condition.
    """
    chosen, target = resolved(settings), path_of(folder)
    answers, table = asked_answers(target, conditions, sample), grounding_in(target)
    by = model.name if model else found_by(chosen, "Entails")
    left = pending(answers, table, by)

    async def work(performer: Model | None, _: Session | None) -> None:
        await ground(left, performer or ExtractiveModel(), table, by, run.tick_of(progress, "grounding", len(left)))

    done = run.perform(chosen, target, model, lambda session: run.estimate(left, grounded, session, chosen), work)
    rows = [row for answer in answers if (row := table.get(answer.key))]
    return run.Result(summarise(rows), done.usage, done.notices)


def preview_grounding(
    folder: str | Path, *, conditions: Sequence[str] = (), sample: int | None = None, settings: Given = None
) -> run.Preview:
    """Return what `check_grounding` would ask; no model is asked."""
    chosen, target = resolved(settings), path_of(folder)
    answers = asked_answers(target, conditions, sample)
    left = pending(answers, grounding_in(target), found_by(chosen, "Entails"))
    cost = run.preview(chosen, target, lambda session: run.estimate(left, grounded, session, chosen))
    return run.Preview(len(answers), len(left), cost)
