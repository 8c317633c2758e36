"""Whether answers stand on what they cite, and whether they would be given again: the rate of fabrication.

Each sentence is held against the texts of the references that are given for it, and against other answers to the same
question that were sampled from the same condition, as SelfCheckGPT does (Manakul et al., 2023): what a model makes up
differs from sample to sample. Without a language model a sentence follows from a text that holds its words, see
`models.extractive.facts`: a floor for answers in words of their own, and no check of what negation turns around.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from conspectus.errors import CallFailed, ModelError
from conspectus.evaluation.at_once import each
from conspectus.evaluation.checking.sentences import Sentence, sentences_in, sentences_of
from conspectus.evaluation.comparing.asked_answers import AskedAnswer, made_with, names_in
from conspectus.evaluation.jsonl_table import AnswerGrounding, GroundedSentence, JsonlTable
from conspectus.evaluation.statistics import Interval, bootstrap, rounded
from conspectus.models.base import Model, Tick, no_tick
from conspectus.tasks import Entails
from conspectus.text.language import language_of


def pending(asked: Iterable[AskedAnswer], kept: JsonlTable[AnswerGrounding], by: str) -> list[AskedAnswer]:
    """Return the answers that were not checked, failed, or were checked against other texts or by another."""

    def stands(one: AskedAnswer) -> bool:
        row = kept.get((one.answer.condition, one.answer.question))
        return row is not None and not row.error and row.made_with == _made_with(one, by)

    return [one for one in asked if not stands(one)]


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
