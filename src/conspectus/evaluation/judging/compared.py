"""What a comparison found: each pair by each criterion with its tests (GraphRAG Table 6), as it goes into
statistics.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from conspectus.evaluation.jsonl_table import Judgement
from conspectus.evaluation.judging.pairing import EQUAL, LeftOut, Plan
from conspectus.evaluation.judging.reasons import Reasons
from conspectus.evaluation.judging.verdicts import Pair, Position, Tally, position, tally
from conspectus.evaluation.significance import cohens_d, holm, shapiro, wilcoxon
from conspectus.evaluation.statistics import bootstrap
from conspectus.readers import list_generated

FILE = "statistics.json"
ALPHA = 0.05
"""The corrected p below which a difference is called significant."""


@dataclass(frozen=True)
class Compared:
    """One pair by one criterion; means are scores from 0 to 100 over questions, with a 95 % bootstrap interval."""

    criterion: str
    first: str
    second: str
    questions: int
    wins: int
    """Judgements that preferred the first."""
    ties: int
    losses: int
    mean_first: float
    mean_second: float
    low: float
    """Of the interval of the mean of the first."""
    high: float
    shapiro_w: float | None
    shapiro_p: float | None
    z: float | None
    p: float | None
    p_holm: float | None
    """p corrected for all pairs that were judged by the criterion."""
    rank_biserial: float | None
    cohens_d: float | None
    note: str
    """Why there is no z or p: `all tied` or `too few questions`."""

    @property
    def significant(self) -> bool:
        return self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True)
class Comparison:
    """All that judges found in a folder of answers."""

    judges: tuple[str, ...]
    conditions: tuple[str, ...]
    criteria: Mapping[str, str]
    """Names and descriptions."""
    questions: int
    replicates: int
    judgements: int
    """Those that count; failed ones do not."""
    failed: int
    equal: int
    """Judgements that are ties since both answers are the same text; no model was asked."""
    missing: int
    """Judgements that the plan has and that were not made yet, or of other answers than there are now."""
    left_out: tuple[LeftOut, ...]
    position: Position
    results: tuple[Compared, ...]
    reasons: tuple[Reasons, ...] = ()

    def of(self, criterion: str) -> list[Compared]:
        """Return the results of one criterion, in the order of the pairs."""
        return [one for one in self.results if one.criterion == criterion]

    def as_json(self) -> dict[str, Any]:
        """Return what goes into statistics.json; figures have six places."""
        return _rounded(asdict(self))


def compare(
    plan: Plan, judgements: Sequence[Judgement], judges: Sequence[str], reasons: Sequence[Reasons] = ()
) -> Comparison:
    """Make of the judgements of a plan what they say of each pair that was judged by each criterion (GraphRAG
    appendix G)."""
    sound = [one for one in judgements if not one.error]
    results = [one for criterion in plan.criteria for one in _family(sound, plan.pairs, criterion.name)]
    asked = [one for one in sound if one.reasoning != EQUAL]
    paired = {condition for pair in plan.pairs for condition in pair}
    return Comparison(
        tuple(judges),
        plan.conditions,
        {criterion.name: criterion.description for criterion in plan.criteria},
        plan.questions,
        plan.replicates,
        len(sound),
        len(judgements) - len(sound),
        len(sound) - len(asked),
        len(plan.comparisons) - len(judgements),
        plan.left_out,
        position(asked, [condition for condition in plan.conditions if condition in paired]),
        tuple(results),
        tuple(reasons),
    )


def _family(judgements: Sequence[Judgement], pairs: Sequence[Pair], criterion: str) -> list[Compared]:
    """Return the results of all pairs that were judged by one criterion, which are corrected together."""
    found = [compared(told) for pair in pairs if (told := tally(judgements, pair, criterion)).margins]
    corrected = holm([one.p for one in found])
    return [replace(one, p_holm=p) for one, p in zip(found, corrected, strict=True)]


def compared(counted: Tally) -> Compared:
    """Test one pair by one criterion; without a correction, which takes the whole family."""
    margins = list(counted.margins.values())
    normal, test = shapiro(margins), wilcoxon(margins)
    interval = bootstrap([50 + margin / 2 for margin in margins])
    return Compared(
        counted.criterion, *counted.pair, len(margins), counted.wins, counted.ties, counted.losses,
        counted.mean, 100 - counted.mean, interval.low, interval.high,
        normal.w, normal.p, test.z, test.p, None, test.rank_biserial, cohens_d(margins), test.note,
    )  # fmt: skip


def write(comparison: Comparison, folder: Path) -> None:
    """Write statistics.json into a folder."""
    text = json.dumps(comparison.as_json(), ensure_ascii=False, indent=1) + "\n"
    list_generated(folder, [FILE])
    (folder / FILE).write_text(text, encoding="utf-8")


def _rounded(value: Any) -> Any:
    """Round as far as figures go; p values keep what they have, being small."""
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {key: one if key in _EXACT else _rounded(one) for key, one in pairs}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in cast("Sequence[Any]", value)]
    return round(value, 6) if isinstance(value, float) else value


_EXACT = frozenset({"p", "p_holm", "shapiro_p"})
