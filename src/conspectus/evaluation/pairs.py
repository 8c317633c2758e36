"""The criteria by which answers are compared, and the balanced order in which pairs are shown (GraphRAG §4)."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from conspectus.errors import UsageError
from conspectus.evaluation import comparison
from conspectus.evaluation.comparison import (
    ConditionAnswer,
    JsonlTable,
    Judgement,
    Key,
    Pair,
    Question,
    Study,
)
from conspectus.tasks import Criterion, Judge

FILE = "criteria.json"
"""The file in a comparison's folder with the description of each criterion that was used; the last of a name counts."""
_Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_CRITERIA = TypeAdapter(Annotated[dict[_Text, _Text], Field(min_length=1)])


# Criteria


def paper_criteria(language: str = "en") -> dict[str, str]:
    """Return the paper's criteria (GraphRAG appendix F.2): descriptions by name."""
    name = f"criteria.{'zh' if language.startswith('zh') else 'en'}.toml"
    return tomllib.loads(files("conspectus.evaluation").joinpath("templates", name).read_text("utf-8"))


def criteria_of(names: Sequence[str] = (), language: str = "en") -> tuple[Criterion, ...]:
    """Return criteria by name and from files, in the order given; by default the paper's.

    A file is TOML or JSON that maps names to descriptions. Raises UsageError if a file cannot be read, or if a name is
    neither that of a criterion of the paper nor that of a file.
    """
    paper = paper_criteria(language)
    criteria: dict[str, str] = {}
    for name in names or paper:
        if name in paper:
            criteria[name] = paper[name]
        elif Path(name).suffix or Path(name).exists():
            criteria |= _read(Path(name))
        else:
            known = ", ".join(paper)
            raise UsageError(
                f"there is no criterion {name!r}; there are {known}, or name a file .toml or .json"
            )
    return tuple(Criterion(name, description) for name, description in criteria.items())


def save_criteria(criteria: Iterable[Criterion], folder: Path) -> None:
    """Add criteria to those that are saved in a comparison's folder."""
    comparison.write_json(folder / FILE, _saved(folder) | {one.name: one.description for one in criteria})


def criteria_in(study: Study) -> list[Criterion]:
    """Return the paper's criteria, then those saved in a comparison's folder, with the description saved last."""
    described = paper_criteria(study.language) | _saved(study.folder)
    return [Criterion(name, description) for name, description in described.items()]


def _saved(folder: Path) -> dict[str, str]:
    return _read(folder / FILE) if (folder / FILE).exists() else {}


def _read(path: Path) -> dict[str, str]:
    is_json = path.suffix.lower() == ".json"
    try:
        text = path.read_text(encoding="utf-8-sig")
        return _CRITERIA.validate_python(json.loads(text) if is_json else tomllib.loads(text))
    except OSError as error:
        raise UsageError(f"the criteria {path} cannot be read: {error.strerror}") from None
    except ValidationError:
        example = 'candour = "Does the answer say …?"'
        raise UsageError(f"the criteria {path} are not names with descriptions, as {example}") from None
    except ValueError as error:
        raise UsageError(f"the criteria {path} are not {'JSON' if is_json else 'TOML'}: {error}") from None


# Pairs


@dataclass(frozen=True)
class HeadToHead:
    """Two answers to one question, in the order in which a judge is shown them for one replicate."""

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
        """Return the key of a judge's judgement, see `judgements_in`; the order of the answers does not matter."""
        return *self.pair, self.criterion.name, self.question.id, self.replicate, by

    @property
    def digest(self) -> str:
        """A digest of all that a judge is shown; it does not depend on the order of the answers."""
        texts = sorted((self.first.with_references, self.second.with_references))
        return comparison.digest_of(
            self.criterion.name, self.criterion.description, self.question.text, *texts
        )

    def made_with(self, by: str) -> str:
        """Return the `made_with` of a judgement: the judge and the digest."""
        return f"{by} {self.digest}"

    def judged(self, winner: int = 0, reasoning: str = "", *, by: str, error: str = "") -> Judgement:
        """Return the row for the outcome."""
        return Judgement(
            self.first.condition, self.second.condition, self.criterion.name, self.question.id, self.replicate,
            winner, reasoning, self.made_with(by), error,
        )  # fmt: skip

    def task(self, language: str) -> Judge:
        """Return the task for the model."""
        shown = (self.question.text, self.first.with_references, self.second.with_references)
        return Judge(*shown, self.criterion, language=language, sample=self.replicate)


@dataclass(frozen=True)
class Plan:
    """All comparisons of a run, including those that are judged already."""

    conditions: tuple[str, ...]
    pairs: tuple[Pair, ...]
    criteria: tuple[Criterion, ...]
    questions: int
    replicates: int
    comparisons: tuple[HeadToHead, ...]
    omitted: tuple[str, ...]
    """Lines on questions for which a pair is not compared, because one of its answers failed, is empty or missing."""

    def remaining(self, table: JsonlTable[Judgement], by: str) -> list[HeadToHead]:
        """Return the comparisons without a valid judgement by a judge."""
        return [one for one in self.comparisons if not table.done(one.key(by), one.made_with(by))]

    def judgements(self, table: JsonlTable[Judgement], by: str) -> list[Judgement]:
        """Return a judge's judgements of the current answers and criteria, including failed ones, in order."""
        rows = ((table.get(one.key(by)), one.made_with(by)) for one in self.comparisons)
        return [row for row, made_with in rows if row is not None and row.made_with == made_with]


def plan(
    study: Study,
    criteria: Sequence[Criterion],
    pairs: Sequence[str] = (),
    replicates: int = 5,
    sample: int | None = None,
) -> Plan:
    """Return the plan of comparisons; `pairs` as `C0:SS`, by default all. Raises UsageError if there are none."""
    if replicates < 1:
        raise UsageError("at least one replicate is made")
    chosen, questions = pairs_of(pairs, study), study.draw(sample)
    comparisons: list[HeadToHead] = []
    omitted: list[str] = []
    for pair in chosen:
        complete: list[Question] = []
        reasons = Counter[tuple[str, str]]()
        for question in questions:
            answers = ((name, study.answers.get((name, question.id))) for name in pair)
            missing = [(name, why) for name, answer in answers if (why := _missing(answer))]
            reasons.update(missing[:1])
            complete += [] if missing else [question]
        for (name, why), n in sorted(reasons.items()):
            omitted.append(f"{n} x {':'.join(pair)}: no answer of {name} ({why})")
        for criterion in criteria:
            comparisons += _balanced(pair, criterion, complete, study.answers, replicates)
    planned = tuple(comparisons)
    return Plan(
        study.conditions, chosen, tuple(criteria), len(questions), replicates, planned, tuple(omitted)
    )


def pairs_of(names: Sequence[str], study: Study) -> tuple[Pair, ...]:
    """Return the pairs named as `C0:SS`, by default all; raise UsageError if a name is not a pair of conditions."""
    conditions = study.conditions
    if len(conditions) < 2:
        raise UsageError(
            f"there is nothing to compare: {study.folder} has only answers of {', '.join(conditions)}"
        )
    pairs: list[Pair] = []
    for name in names:
        first, _, second = (part.strip() for part in name.partition(":"))
        if first == second or not {first, second} <= set(conditions):
            raise UsageError(f"{name!r} is not a pair: name two, e.g. C0:SS, of {', '.join(conditions)}")
        pairs.append((first, second))
    if len({frozenset(pair) for pair in pairs}) < len(pairs):
        raise UsageError("a pair is named twice")
    return tuple(pairs) or tuple(combinations(conditions, 2))


def _missing(answer: ConditionAnswer | None) -> str:
    """Return why an answer cannot be compared; an empty text if it can."""
    if answer is None:
        return "there is none"
    return answer.error or ("" if answer.text.strip() else "it is empty")


def _balanced(
    pair: Pair,
    criterion: Criterion,
    questions: Sequence[Question],
    answers: Mapping[Key, ConditionAnswer],
    replicates: int,
) -> list[HeadToHead]:
    """Return the comparisons of a pair, with each of its conditions shown first half of the time."""
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
        shown += not rows[-1].equal  # equal texts are a tie by rule, which is shown to nobody
    return rows
