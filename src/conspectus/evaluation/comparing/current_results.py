"""What of a comparison's folder holds for the answers that are in it now: judgements, claims and grounding.

An answer that was made anew leaves behind what was found of the text before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from conspectus.errors import UsageError
from conspectus.evaluation.checking import claiming, grounding
from conspectus.evaluation.comparing.asked_answers import AskedAnswer, asked_answers, names_in
from conspectus.evaluation.comparing.conditions import place_of
from conspectus.evaluation.comparing.question_files import read_list
from conspectus.evaluation.jsonl_table import (
    AnswerClaims,
    AnswerGrounding,
    ConditionAnswer,
    JsonlTable,
    Judgement,
    Question,
    answers_in,
    claims_in,
    grounding_in,
    judgements_in,
)
from conspectus.evaluation.judging.criteria import criteria_in
from conspectus.evaluation.judging.judge import standing
from conspectus.evaluation.judging.pairing import Plan, plan
from conspectus.text.language import language_of

Found = TypeVar("Found", AnswerClaims, AnswerGrounding)
Key = tuple[str, str]
"""A condition, and the id of a question."""


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
    is named who made none, and as `pairing.plan` does.
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


def questions_in(folder: Path) -> dict[str, Question]:
    """Return the questions of a folder by id."""
    return {one.id: one for one in read_list(folder)}


def answers_now(folder: Path) -> dict[Key, ConditionAnswer]:
    """Return the answers of a folder, failed ones among them, without further samples."""
    return {(row.condition, row.question): row for row in answers_in(folder).rows.values() if not row.sample}


def claims_now(folder: Path) -> dict[Key, AnswerClaims]:
    """Return the claims that hold for the answers of a folder, without those that could not be found."""
    return _held(asked_answers(folder), claims_in(folder), claiming.pending)


def grounding_now(folder: Path) -> dict[Key, AnswerGrounding]:
    """Return the same of grounding."""
    return _held(asked_answers(folder), grounding_in(folder), grounding.pending)


def _held(
    asked: Sequence[AskedAnswer],
    kept: JsonlTable[Found],
    pending: Callable[[Sequence[AskedAnswer], JsonlTable[Found], str], list[AskedAnswer]],
) -> dict[Key, Found]:
    found: dict[Key, Found] = {}
    for by in names_in(row.made_with for row in kept.rows.values()):
        left = {_key(one) for one in pending(asked, kept, by)}
        keys = (key for one in asked if (key := _key(one)) not in left)
        found |= {key: row for key in keys if (row := kept.get(key)) is not None}
    return found


def _key(one: AskedAnswer) -> Key:
    return one.answer.condition, one.answer.question
