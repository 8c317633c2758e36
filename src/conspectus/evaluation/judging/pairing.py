"""Which answers are held against each other: pairs of conditions, in an order that is balanced exactly.

Questions stand in an order of their own, drawn by a seed from their ids, so that a sample of N is the same whoever
draws it, and a larger one goes on from it. At place p of the questions of a pair, replicate r shows the first
condition first where p + r is even (or odd: that is drawn for each pair and criterion). So each is shown first half of
the time, over questions as over replicates; of an odd number, one more.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations
from pathlib import Path

from conspectus.errors import UsageError
from conspectus.evaluation.comparing.conditions import place_of
from conspectus.evaluation.jsonl_table import ConditionAnswer, Judgement, Question, answers_in
from conspectus.evaluation.judging.verdicts import Pair
from conspectus.tasks import Criterion

SEED = 0  # any number: the same pairs in every run
EQUAL = "The two answers are the same text."
"""The reasoning of a tie that no model was asked about."""


@dataclass(frozen=True)
class HeadToHead:
    """Two answers to one question, as a judge is shown them for one replicate."""

    first: ConditionAnswer
    second: ConditionAnswer
    criterion: Criterion
    question: Question
    replicate: int

    @property
    def equal(self) -> bool:
        """Whether both answers are the same text, which is a tie by rule."""
        return self.first.text.strip() == self.second.text.strip()

    @property
    def pair(self) -> Pair:
        """The two conditions in alphabetical order."""
        low, high = sorted((self.first.condition, self.second.condition))
        return low, high

    def key(self, by: str) -> Hashable:
        """Return what a judge's judgement of it is kept under, see `judgements_in`: its order is not in it."""
        return *self.pair, self.criterion.name, self.question.id, self.replicate, by

    def judged(self, winner: int = 0, reasoning: str = "", *, by: str, error: str = "") -> Judgement:
        """Return the row of its outcome."""
        return Judgement(
            self.first.condition, self.second.condition, self.criterion.name, self.question.id, self.replicate,
            winner, reasoning, self.made_with(by), error,
        )  # fmt: skip

    def made_with(self, judge: str) -> str:
        """Return what must be the same for a judgement to hold: `judge`, and a digest of all that it was shown.

        Which of the answers came first is not in it.
        """
        shown = sorted((self.first.text, self.second.text))
        return f"{judge} {_digest(self.criterion.name, self.criterion.description, self.question.text, *shown)}"


@dataclass(frozen=True)
class LeftOut:
    """Questions that a pair is not compared on, since an answer of one of the two failed or is missing."""

    pair: Pair
    questions: int
    condition: str
    why: str
    """Of the first of them."""


@dataclass(frozen=True)
class Plan:
    """All comparisons of a run, those that are judged already among them."""

    conditions: tuple[str, ...]
    pairs: tuple[Pair, ...]
    criteria: tuple[Criterion, ...]
    questions: int
    replicates: int
    comparisons: tuple[HeadToHead, ...]
    left_out: tuple[LeftOut, ...]


def plan(
    folder: Path,
    questions: Sequence[Question],
    criteria: Sequence[Criterion],
    pairs: Sequence[str] = (),
    replicates: int = 5,
    sample: int | None = None,
) -> Plan:
    """Lay out the comparisons of a folder's answers; `pairs` as `C0:SS`, all where none are named.

    Raises UsageError where there is nothing to compare, or an answer is to a question that is not there.
    """
    if replicates < 1 or (sample is not None and sample < 1):
        raise UsageError("replicates and sampled questions are at least 1")
    answers = {(a.condition, a.question): a for a in answers_in(folder).rows.values() if a.sample == 0}
    conditions = tuple(sorted({condition for condition, _ in answers}, key=place_of))
    asked = drawn([one for one in questions if any(q == one.id for _, q in answers)])[:sample]
    if unknown := {question for _, question in answers} - {one.id for one in questions}:
        raise UsageError(
            f"{folder / 'answers.jsonl'} answers {len(unknown)} questions that are not in questions.json, "
            f"such as {min(unknown)!r}"
        )
    chosen = pairs_of(pairs, conditions, folder)
    comparisons: list[HeadToHead] = []
    left_out: list[LeftOut] = []
    for pair in chosen:
        missing = [(one, _why_not(answers, one, pair)) for one in asked]
        left_out += _left_out(pair, [(condition, why) for _, (condition, why) in missing if why])
        sound = [one for one, (_, why) in missing if not why]
        for criterion in criteria:
            comparisons += _balanced(pair, criterion, sound, answers, replicates)
    return Plan(conditions, chosen, tuple(criteria), len(asked), replicates, tuple(comparisons), tuple(left_out))


def drawn(questions: Sequence[Question], seed: int = SEED) -> list[Question]:
    """Return questions in an order drawn by a seed, in which each has its place by its id alone."""
    return sorted(questions, key=lambda one: _digest(str(seed), one.id))


def pairs_of(said: Sequence[str], conditions: Sequence[str], folder: Path) -> tuple[Pair, ...]:
    """Return the pairs that are named as `C0:SS`, all where none are; raise UsageError where one cannot be."""
    if len(conditions) < 2:
        there = f"only {conditions[0]}" if conditions else "none"
        raise UsageError(f"there is nothing to compare: of conditions with answers, {folder} has {there}")
    if not said:
        return tuple(combinations(conditions, 2))
    found: list[Pair] = []
    for one in said:
        first, _, second = (part.strip() for part in one.partition(":"))
        if first == second or not {first, second} <= set(conditions):
            raise UsageError(f"{one!r} is no pair: name two as C0:SS, of {', '.join(conditions)}")
        found.append((first, second))
    if len({frozenset(pair) for pair in found}) < len(found):
        raise UsageError("a pair is named twice")
    return tuple(found)


Answers = dict[tuple[str, str], ConditionAnswer]


def _why_not(answers: Answers, question: Question, pair: Pair) -> tuple[str, str]:
    """Return which of two conditions has no sound answer, and why; two empty texts where both have."""
    for condition in pair:
        answer = answers.get((condition, question.id))
        if answer is None or answer.error or not answer.text.strip():
            return condition, "there is none" if answer is None else answer.error or "it is empty"
    return "", ""


def _left_out(pair: Pair, missing: Sequence[tuple[str, str]]) -> list[LeftOut]:
    found = ((condition, [why for at, why in missing if at == condition]) for condition in pair)
    return [LeftOut(pair, len(whys), condition, whys[0]) for condition, whys in found if whys]


def _balanced(
    pair: Pair, criterion: Criterion, questions: Sequence[Question], answers: Answers, replicates: int
) -> list[HeadToHead]:
    found: list[HeadToHead] = []
    swap = int(_digest(*sorted(pair), criterion.name), 16) % 2
    shown = 0
    for question in questions:
        first, second = sorted((answers[pair[0], question.id], answers[pair[1], question.id]), key=_name)
        for replicate in range(1, replicates + 1):
            turned = (shown + replicate + swap) % 2
            one, other = (second, first) if turned else (first, second)
            found.append(HeadToHead(one, other, criterion, question, replicate))
        shown += not found[-1].equal  # a tie by rule is shown to nobody
    return found


def _name(answer: ConditionAnswer) -> str:
    return answer.condition


def _digest(*parts: str) -> str:
    return sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
