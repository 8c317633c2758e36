"""All that a comparison's folder holds for the answers that are in it now, read once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from conspectus.errors import UsageError
from conspectus.evaluation.comparing.conditions import place_of
from conspectus.evaluation.comparing.current_results import (
    Judged,
    Key,
    answers_now,
    claims_now,
    grounding_now,
    judged_in,
)
from conspectus.evaluation.comparing.question_files import read_list
from conspectus.evaluation.comparing.run_info import SetUp, set_ups_in
from conspectus.evaluation.jsonl_table import (
    AnswerClaims,
    AnswerGrounding,
    ConditionAnswer,
    Question,
    answers_in,
    claims_in,
    grounding_in,
)
from conspectus.evaluation.judging.compared import Comparison
from conspectus.evaluation.judging.judge_folder import compared_in
from conspectus.evaluation.people.ratings import Rating, ratings_now

LOSS = "loss.json"


@dataclass(frozen=True)
class Held:
    """What a folder holds; what is not there is empty or None."""

    folder: Path
    questions: tuple[Question, ...]
    """Those that have an answer."""
    unanswered: int
    conditions: tuple[str, ...]
    answers: Mapping[Key, ConditionAnswer]
    samples: Mapping[str, int]
    """Further answers that were sampled, by condition."""
    set_ups: Mapping[str, SetUp]
    """By condition, of most of its answers."""
    judged: Judged | None
    compared: Comparison | None
    claims: Mapping[Key, AnswerClaims]
    claims_failed: Mapping[str, int]
    """Answers whose claims could not be found, by condition."""
    grounding: Mapping[Key, AnswerGrounding]
    grounding_failed: Mapping[str, int]
    ratings: tuple[Rating, ...]
    loss: Mapping[str, Any] | None
    ablations: tuple[Mapping[str, Any], ...]

    @property
    def keys(self) -> list[Key]:
        """All conditions and questions, condition by condition."""
        return [(name, one.id) for name in self.conditions for one in self.questions]

    def of(self, condition: str) -> list[ConditionAnswer]:
        """Return the answers of a condition, failed ones among them, in the order of questions."""
        rows = (self.answers.get((condition, one.id)) for one in self.questions)
        return [row for row in rows if row is not None]


def held(folder: Path, judge: str | None = None) -> Held:
    """Read a folder; raise UsageError where it is no comparison with answers."""
    answers = answers_now(folder)
    if not answers:
        raise UsageError(f"there are no answers in {folder}: make them with conspectus eval answers")
    listed = read_list(folder)
    answered = {question for _, question in answers}
    if unknown := answered - {one.id for one in listed}:
        raise UsageError(f"{folder / 'answers.jsonl'} answers {len(unknown)} questions that are not in questions.json")
    conditions = tuple(sorted({condition for condition, _ in answers}, key=place_of))
    samples = [row.condition for row in answers_in(folder).rows.values() if row.sample and not row.error]
    sound = any(not row.error for row in answers.values())
    judged = judged_in(folder, judge)
    claims = claims_in(folder).rows.values()
    grounding = grounding_in(folder).rows.values()
    return Held(
        folder,
        tuple(one for one in listed if one.id in answered),
        len(listed) - len(answered),
        conditions,
        answers,
        {name: samples.count(name) for name in conditions if name in samples},
        _set_ups(folder, answers),
        judged,
        compared_in(folder, judged) if judged else None,
        claims_now(folder) if sound else {},
        _failed(claims),
        grounding_now(folder) if sound else {},
        _failed(grounding),
        tuple(ratings_now(folder)),
        _json(folder / LOSS),
        tuple(told for path in sorted(folder.glob("ablation_*.json")) if (told := _json(path))),
    )


def _set_ups(folder: Path, answers: Mapping[Key, ConditionAnswer]) -> dict[str, SetUp]:
    kept = set_ups_in(folder)
    found: dict[str, SetUp] = {}
    counts: dict[tuple[str, str], int] = {}
    for (condition, _), row in answers.items():
        counts[condition, row.made_with] = counts.get((condition, row.made_with), 0) + 1
    for condition, with_ in sorted(counts, key=lambda key: counts[key]):
        if (row := kept.get((with_, condition))) is not None:
            found[condition] = row
    return found


def _failed(rows: Any) -> dict[str, int]:
    found: dict[str, int] = {}
    for row in rows:
        if row.error:
            found[row.condition] = found.get(row.condition, 0) + 1
    return found


def _json(path: Path) -> dict[str, Any] | None:
    if not path.exists():
        return None
    try:
        told: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path} cannot be read ({error}); remove it, or make it once more") from None
    return cast("dict[str, Any]", told) if isinstance(told, dict) else None
