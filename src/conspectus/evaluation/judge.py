"""What answers are compared by: the paper's four criteria (GraphRAG appendix F.2), and those that a file defines."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from conspectus.errors import CallFailed, UsageError
from conspectus.evaluation.comparison import answers_now, names_in
from conspectus.evaluation.conditions import place_of
from conspectus.evaluation.jsonl_table import (
    ConditionAnswer,
    JsonlTable,
    Judgement,
    Pair,
    Question,
    answers_in,
    each,
    judgements_in,
)
from conspectus.evaluation.questions import digest_of, drawn, read_list
from conspectus.models.base import Model, Tick, no_tick
from conspectus.readers import list_generated
from conspectus.tasks import Criterion, Judge
from conspectus.text.language import language_of

FILE = "criteria.json"
"""In a comparison's folder: the description of each criterion that was judged by, the last of each name."""
PAPER: Mapping[str, Mapping[str, str]] = {
    "comprehensiveness": {
        "en": "How much detail does the answer give on all sides of the question? It should leave out nothing that "
        "matters, and neither repeat itself nor pad.",
        "zh": "回答在多大程度上详细涵盖了问题的各个方面？不应遗漏重要内容，也不应重复或凑字数。",
    },
    "diversity": {
        "en": "How varied and rich is the answer in perspectives on the question, and in the sources and the evidence "
        "that it brings?",
        "zh": "回答对问题给出的视角是否多样而丰富，所引来源和证据是否多样？",
    },
    "empowerment": {
        "en": "How well does the answer help its reader to understand the subject and to come to a judgement of their "
        "own? It should give its reasons and its sources, and not mislead.",
        "zh": "回答在多大程度上帮助读者理解主题并作出自己的判断？应说明理由和来源，且不误导读者。",
    },
    "directness": {
        "en": "How specifically and clearly does the answer say what was asked for, without anything that is not "
        "needed for it?",
        "zh": "回答是否具体、清楚地回答了所问，而没有多余的内容？",
    },
}
"""The description of each criterion by language. Directness is the control: it goes against the first two."""


def criteria_of(said: Sequence[str] = (), language: str = "en") -> tuple[Criterion, ...]:
    """Return criteria by name and from files, in the order said; all of the paper's where nothing is said.

    A file is TOML or JSON that maps names to descriptions. Raises UsageError where one cannot be read, or a name is
    neither the paper's nor a file.
    """
    papers = _papers(language)
    found: dict[str, str] = {}
    for one in said or PAPER:
        if one in PAPER:
            found[one] = papers[one]
        elif Path(one).suffix or Path(one).exists():
            found |= _in_file(Path(one))
        else:
            raise UsageError(
                f"there is no criterion {one!r}; there are {', '.join(PAPER)}, or name a file .toml or .json of more"
            )
    return tuple(Criterion(name, description) for name, description in found.items())


def keep_criteria(criteria: Iterable[Criterion], folder: Path) -> None:
    """Write criteria into a comparison's folder, beside those that are there."""
    told = _kept(folder) | {one.name: one.description for one in criteria}
    list_generated(folder, [FILE])
    (folder / FILE).write_text(json.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def criteria_in(folder: Path, names: Iterable[str], language: str) -> list[Criterion]:
    """Return criteria, the paper's first, as they were described when they were judged by.

    One that only people judged by is described as in the paper, or not at all. Raises UsageError where the folder's
    file of them cannot be read.
    """
    told, named = _papers(language) | _kept(folder), dict.fromkeys(names)
    ordered = [*(name for name in PAPER if name in named), *(name for name in named if name not in PAPER)]
    return [Criterion(name, told.get(name, "")) for name in ordered]


def _papers(language: str) -> dict[str, str]:
    own = "zh" if language.startswith("zh") else "en"
    return {name: texts[own] for name, texts in PAPER.items()}


def _kept(folder: Path) -> dict[str, str]:
    return _in_file(folder / FILE) if (folder / FILE).exists() else {}


def _in_file(path: Path) -> dict[str, str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        values: Any = json.loads(text) if path.suffix.lower() == ".json" else tomllib.loads(text)
    except OSError as error:
        raise UsageError(f"the criteria {path} cannot be read: {error.strerror}") from None
    except ValueError as error:
        kind = "JSON" if path.suffix.lower() == ".json" else "TOML"
        raise UsageError(f"the criteria {path} are not {kind}: {error}") from None
    wrong = f'the criteria {path} are not names with descriptions, as candour = "Does the answer say what it …?"'
    if not isinstance(values, dict) or not values:
        raise UsageError(wrong)
    found: dict[str, str] = {}
    for name, description in values.items():  # pyright: ignore[reportUnknownVariableType]
        if not isinstance(name, str) or not isinstance(description, str) or not (name.strip() and description.strip()):
            raise UsageError(wrong)
        found[" ".join(name.split())] = description.strip()
    return found


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
        return f"{judge} {digest_of(self.criterion.name, self.criterion.description, self.question.text, *shown)}"


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
    swap = int(digest_of(*sorted(pair), criterion.name), 16) % 2
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


TOGETHER = 50
"""Judgements that are written together: the disk is slower than a judge. A kill loses fewer, and not their replies."""


@dataclass(frozen=True)
class Pending:
    """What of a plan is left to judge: by a model, and by the rule that equal answers are a tie."""

    to_ask: tuple[HeadToHead, ...]
    ties: tuple[HeadToHead, ...]


def pending(plan: Plan, kept: JsonlTable[Judgement], by: str) -> Pending:
    """Return the comparisons of a plan that have no sound judgement by a judge."""
    left = [one for one in plan.comparisons if not kept.done(one.key(by), one.made_with(by))]
    return Pending(tuple(one for one in left if not one.equal), tuple(one for one in left if one.equal))


async def judge(
    left: Pending,
    model: Model,
    kept: JsonlTable[Judgement],
    by: str,
    language: str = "en",
    at_once: int = 50,
    tick: Tick = no_tick,
) -> None:
    """Judge what is left and keep each judgement; one that failed is kept with its error.

    At most `at_once` are given to the model together, so that not all prompts are in memory.

    Raises Unusable, when what is under way has ended, where nothing more can be asked of the model.
    """
    made = [one.judged(0, EQUAL, by=by) for one in left.ties]

    def keep(at_least: int) -> None:
        if len(made) >= at_least:
            kept.add_all(made)
            made.clear()

    async def work(one: HeadToHead) -> None:
        made.append(await _asked(one, model, by, language))
        keep(TOGETHER)

    try:
        await each(left.to_ask, work, tick, at_once)
    finally:
        keep(1)


async def _asked(one: HeadToHead, model: Model, by: str, language: str) -> Judgement:
    try:
        verdict = await model.perform(task_of(one, language))
    except CallFailed as error:
        return one.judged(by=by, error=str(error) or type(error).__name__)
    return one.judged(verdict.winner, verdict.reasoning, by=by)


def task_of(one: HeadToHead, language: str) -> Judge:
    """Return what a model is asked."""
    return Judge(
        one.question.text, one.first.text, one.second.text, one.criterion, language=language, sample=one.replicate
    )


def standing(plan: Plan, kept: JsonlTable[Judgement], by: str) -> list[Judgement]:
    """Return a judge's judgements of a plan that hold for its answers and criteria, failed ones too, in its order.

    Those that were made by hand always hold, where the judge has made none.
    """
    found: list[Judgement] = []
    for one in plan.comparisons:
        judgement = kept.get(one.key(by))
        if judgement is None or judgement.made_with not in ("", one.made_with(by)):
            judgement = kept.get(one.key(""))
        if judgement is not None:
            found.append(judgement)
    return found


@dataclass(frozen=True)
class Judged:
    """The judgements of one judge that hold, and the comparisons that they are of."""

    plan: Plan
    judgements: tuple[Judgement, ...]
    """Failed ones among them."""
    judge: str
    others: tuple[str, ...] = ()
    """Other judges that the folder has judgements of."""

    @property
    def sound(self) -> list[Judgement]:
        """Those that did not fail."""
        return [one for one in self.judgements if not one.error]


def judged_in(folder: Path, judge: str | None = None) -> Judged | None:
    """Return the judgements of a folder that hold, of the judge that is named or who judged most; None without any.

    The plan has the pairs of which there is any judgement, in the order of conditions. Raises UsageError where a judge
    is named who made none, and as `plan` does.
    """
    rows = list(judgements_in(folder).rows.values())
    if not rows:
        return None
    judges = names_in(row.made_with for row in rows)
    if judge is not None and judge not in judges:
        raise UsageError(f"{judge} made no judgement in {folder}; there are those by {', '.join(judges) or 'hand'}")
    questions = read_list(folder)
    criteria = criteria_in(folder, (row.criterion for row in rows), language_of(one.text for one in questions))
    replicates = max(row.replicate for row in rows)
    there = {frozenset((row.first, row.second)) for row in rows}
    names = sorted({row.condition for row in answers_now(folder).values()}, key=place_of)
    pairs = [f"{one}:{other}" for one, other in combinations(names, 2) if frozenset((one, other)) in there]
    if not pairs:  # all are of conditions that have no answers any more
        return None
    planned = plan(folder, questions, criteria, pairs, replicates)
    votes = Counter(row.made_with.rpartition(" ")[0] for row in rows)
    by = judge if judge is not None else max(votes, key=lambda name: (votes[name], name))
    held = standing(planned, judgements_in(folder), by)
    return Judged(planned, tuple(held), by, tuple(name for name in judges if name != by))
