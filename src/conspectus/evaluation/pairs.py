"""What answers are compared by, and which of them in which order: criteria, and balanced pairs (GraphRAG §4)."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from conspectus.errors import UsageError
from conspectus.evaluation import comparison
from conspectus.evaluation.comparison import ConditionAnswer, JsonlTable, Judgement, Pair, Question
from conspectus.tasks import Criterion, Judge

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


# Criteria


def criteria_of(names: Sequence[str] = (), language: str = "en") -> tuple[Criterion, ...]:
    """Return criteria by name and from files, in the order given; by default the paper's (appendix F.2).

    A file is TOML or JSON that maps names to descriptions. Raises UsageError where one cannot be read, or a name is
    neither the paper's nor a file.
    """
    paper = _paper(language)
    criteria: dict[str, str] = {}
    for name in names or PAPER:
        if name in paper:
            criteria[name] = paper[name]
        elif Path(name).suffix or Path(name).exists():
            criteria |= _in_file(Path(name))
        else:
            raise UsageError(
                f"there is no criterion {name!r}; there are {', '.join(PAPER)}, or name a file .toml or .json of more"
            )
    return tuple(Criterion(name, description) for name, description in criteria.items())


def save_criteria(criteria: Iterable[Criterion], folder: Path) -> None:
    """Write criteria into a comparison's folder, beside those that are there."""
    comparison.write_json(folder / FILE, _saved(folder) | {one.name: one.description for one in criteria})


def criteria_in(folder: Path, names: Iterable[str], language: str) -> list[Criterion]:
    """Return criteria, the paper's first, as they were described when they were judged by.

    One that only people judged by is described as in the paper, or not at all.
    """
    described, wanted = _paper(language) | _saved(folder), dict.fromkeys(names)
    ordered = [*(name for name in PAPER if name in wanted), *(name for name in wanted if name not in PAPER)]
    return [Criterion(name, described.get(name, "")) for name in ordered]


def _paper(language: str) -> dict[str, str]:
    return {name: texts["zh" if language.startswith("zh") else "en"] for name, texts in PAPER.items()}


def _saved(folder: Path) -> dict[str, str]:
    return _in_file(folder / FILE) if (folder / FILE).exists() else {}


def _in_file(path: Path) -> dict[str, str]:
    is_json = path.suffix.lower() == ".json"
    try:
        text = path.read_text(encoding="utf-8-sig")
        values = TypeAdapter(dict[str, str]).validate_python(
            json.loads(text) if is_json else tomllib.loads(text)
        )
    except OSError as error:
        raise UsageError(f"the criteria {path} cannot be read: {error.strerror}") from None
    except ValidationError:
        values = dict[str, str]()
    except ValueError as error:
        raise UsageError(f"the criteria {path} are not {'JSON' if is_json else 'TOML'}: {error}") from None
    criteria = {" ".join(name.split()): description.strip() for name, description in values.items()}
    if not criteria or not all(name and description for name, description in criteria.items()):
        raise UsageError(
            f'the criteria {path} are not names with descriptions, as candour = "Does the answer say …?"'
        )
    return criteria


# Pairs


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
        """Return the key of a judge's judgement of it, see `judgements_in`: the order of the answers is not in it."""
        return *self.pair, self.criterion.name, self.question.id, self.replicate, by

    def judged(self, winner: int = 0, reasoning: str = "", *, by: str, error: str = "") -> Judgement:
        """Return the row of its outcome."""
        return Judgement(
            self.first.condition, self.second.condition, self.criterion.name, self.question.id, self.replicate,
            winner, reasoning, self.made_with(by), error,
        )  # fmt: skip

    def made_with(self, by: str) -> str:
        """Return what must be the same for a judgement to hold: the judge, and all that it was shown in any order."""
        texts = sorted((self.first.text, self.second.text))
        return comparison.made_with(
            by, self.criterion.name, self.criterion.description, self.question.text, *texts
        )

    def task(self, language: str) -> Judge:
        """Return what a model is asked."""
        shown = (self.question.text, self.first.text, self.second.text)
        return Judge(*shown, self.criterion, language=language, sample=self.replicate)


@dataclass(frozen=True)
class Plan:
    """All comparisons of a run, those that are judged already among them."""

    conditions: tuple[str, ...]
    pairs: tuple[Pair, ...]
    criteria: tuple[Criterion, ...]
    questions: int
    replicates: int
    comparisons: tuple[HeadToHead, ...]
    omitted: tuple[str, ...]
    """Lines on questions that a pair is not compared on, since an answer of one of the two failed or is missing."""

    def remaining(self, table: JsonlTable[Judgement], by: str) -> list[HeadToHead]:
        """Return the comparisons that have no sound judgement by a judge."""
        return [one for one in self.comparisons if not table.done(one.key(by), one.made_with(by))]

    def judgements(self, table: JsonlTable[Judgement], by: str) -> list[Judgement]:
        """Return a judge's judgements that hold for the answers and criteria, failed ones too, in order.

        Those that were made by hand always hold, where the judge has made none.
        """
        rows: list[Judgement] = []
        for one in self.comparisons:
            row = table.get(one.key(by))
            if row is None or row.made_with not in ("", one.made_with(by)):
                row = table.get(one.key(""))
            rows += [row] if row is not None else []
        return rows


def plan(
    folder: Path,
    questions: Sequence[Question],
    criteria: Sequence[Criterion],
    pairs: Sequence[str] = (),
    replicates: int = 5,
    sample: int | None = None,
) -> Plan:
    """Return the comparisons of a folder's answers; `pairs` as `C0:SS`, by default all.

    Raises UsageError where there is nothing to compare, or an answer is to a question that is not there.
    """
    comparison.check_sample(sample, replicates)
    answers = comparison.answers_now(folder)
    comparison.check_questions(folder, answers, questions)
    conditions = tuple(sorted({condition for condition, _ in answers}, key=comparison.condition_order))
    answered = {question for _, question in answers}
    asked = comparison.drawn([one for one in questions if one.id in answered])[:sample]
    chosen = pairs_of(pairs, conditions, folder)
    comparisons: list[HeadToHead] = []
    omitted: list[str] = []
    for pair in chosen:
        missing = {one.id: failed for one in asked if (failed := _missing(answers, one, pair))}
        for condition in pair:
            reasons = [why for at, why in missing.values() if at == condition]
            if reasons:
                omitted.append(f"{len(reasons)} x {':'.join(pair)}: no answer of {condition} ({reasons[0]})")
        sound = [one for one in asked if one.id not in missing]
        for criterion in criteria:
            comparisons += _balanced(pair, criterion, sound, answers, replicates)
    return Plan(
        conditions, chosen, tuple(criteria), len(asked), replicates, tuple(comparisons), tuple(omitted)
    )


def pairs_of(names: Sequence[str], conditions: Sequence[str], folder: Path) -> tuple[Pair, ...]:
    """Return the pairs that are named as `C0:SS`, by default all; raise UsageError where one cannot be."""
    if len(conditions) < 2:
        there = f"only {conditions[0]}" if conditions else "none"
        raise UsageError(f"there is nothing to compare: of conditions with answers, {folder} has {there}")
    pairs: list[Pair] = []
    for name in names:
        first, _, second = (part.strip() for part in name.partition(":"))
        if first == second or not {first, second} <= set(conditions):
            raise UsageError(f"{name!r} is no pair: name two as C0:SS, of {', '.join(conditions)}")
        pairs.append((first, second))
    if len({frozenset(pair) for pair in pairs}) < len(pairs):
        raise UsageError("a pair is named twice")
    return tuple(pairs) or tuple(combinations(conditions, 2))


Answers = Mapping[tuple[str, str], ConditionAnswer]


def _missing(answers: Answers, question: Question, pair: Pair) -> tuple[str, str] | None:
    """Return which of two conditions has no sound answer, and why; None where both have."""
    for condition in pair:
        answer = answers.get((condition, question.id))
        if answer is None or answer.error or not answer.text.strip():
            return condition, "there is none" if answer is None else answer.error or "it is empty"
    return None


def _balanced(
    pair: Pair, criterion: Criterion, questions: Sequence[Question], answers: Answers, replicates: int
) -> list[HeadToHead]:
    """Return the comparisons of a pair, each of its answers shown first half of the time."""
    rows: list[HeadToHead] = []
    names = sorted(pair)
    swap = int(comparison.digest_of(*names, criterion.name), 16) % 2
    shown = 0
    for question in questions:
        first, second = (answers[name, question.id] for name in names)
        for replicate in range(1, replicates + 1):
            turned = (shown + replicate + swap) % 2
            ordered = (second, first) if turned else (first, second)
            rows.append(HeadToHead(*ordered, criterion, question, replicate))
        shown += not rows[-1].equal  # a tie by rule is shown to nobody
    return rows
