"""Ablations of answers: their folder is a comparison, whose conditions are what is varied.

So whatever works on comparisons works on it: claims, judges, the report. What those found there is in the table, too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus import tokens
from conspectus.evaluation.ablations.found import Cell, mean
from conspectus.evaluation.charts import Panel, Series
from conspectus.evaluation.comparing.answer_folder import Laid, estimates, make
from conspectus.evaluation.comparing.current_results import Judged, Key, claims_now, judged_in
from conspectus.evaluation.jsonl_table import ConditionAnswer
from conspectus.evaluation.judging.verdicts import tally
from conspectus.indexing.estimate import Estimate
from conspectus.indexing.pipeline import Progress
from conspectus.messages import says_nothing
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.session import Session
from conspectus.settings import Settings

CITATIONS, DOCUMENTS, NOTHING_FOUND = "citations", "documents_cited", "nothing_found_%"
CLAIMS = "claims"
WINS = "wins_"


@dataclass(frozen=True)
class OfAnswers:
    """The answers of an ablation, laid out."""

    laid: Laid

    @property
    def settings(self) -> Settings:
        return self.laid.settings

    @property
    def folder(self) -> Path:
        return self.laid.folder

    @property
    def cells(self) -> int:
        return len(self.laid.works)

    @property
    def left(self) -> int:
        return len(self.laid.left)

    async def estimates(self, session: Session) -> dict[str, Estimate]:
        """Return what the answers that are left will ask, by condition."""
        return await estimates(self.laid, session, ExtractiveModel.of_index(self.laid.index))

    async def run(self, session: Session | None, model: Model | None, progress: Progress) -> None:
        """Make the answers that are left."""
        stand_in = ExtractiveModel.of_index(self.laid.index)
        await make(self.laid, session, model or stand_in, stand_in, progress)

    @property
    def rows(self) -> list[ConditionAnswer]:
        """The answers that there are, failed ones among them."""
        found: list[ConditionAnswer] = []
        for work in self.laid.works:
            row = self.laid.kept.get(work.key)
            if row is not None and row.made_with == work.made_with:
                found.append(row)
        return found

    @property
    def errors(self) -> dict[str, int]:
        """What failed, and how often."""
        return dict(Counter(row.error for row in self.rows if row.error))


@dataclass(frozen=True)
class Further:
    """What was found of the answers besides: claims by model or rules, and judgements."""

    claims: dict[Key, int]
    judged: Judged | None

    @classmethod
    def of(cls, folder: Path, rows: Iterable[ConditionAnswer]) -> Further:
        """Read what a folder has of some answers."""
        keys = {(row.condition, row.question) for row in rows if not row.error}
        if not keys:
            return cls({}, None)
        return cls({key: len(row.claims) for key, row in claims_now(folder).items() if key in keys}, judged_in(folder))

    @property
    def criteria(self) -> list[str]:
        """The names of what there are judgements by."""
        return [criterion.name for criterion in self.judged.plan.criteria] if self.judged else []

    def score(self, first: str, second: str, criterion: str, questions: set[str]) -> float | None:
        """Return how often a condition wins over another on some questions, in %; None where none was judged."""
        if not self.judged:
            return None
        sound = [one for one in self.judged.sound if one.question in questions]
        found = tally(sound, (first, second), criterion)
        return round(found.mean, 1) if found.margins else None


def wins(criterion: str) -> str:
    """Return the column of win rates by a criterion, in %."""
    return f"{WINS}{criterion}_%"


def measured(rows: Sequence[ConditionAnswer], further: Further) -> dict[str, Cell]:
    """Return the means over answers; documents are None where answers do not say from which they quote."""
    good = [row for row in rows if not row.error]
    told = [row for row in good if not says_nothing(row.text)]
    tellable = all(cited.documents for row in good for cited in row.cited)
    claims = [n for row in good if (n := further.claims.get((row.condition, row.question))) is not None]
    return {
        "answers": len(good),
        "failed": len(rows) - len(good),
        NOTHING_FOUND: mean([100.0 * (row not in told) for row in good], 1),
        "units_read": mean([row.units for row in good], 1),
        "tokens_read": mean([row.context_tokens for row in good], 0),
        CITATIONS: mean([len(row.cited) for row in good]),
        DOCUMENTS: mean([len(_documents(row)) for row in good]) if tellable else None,
        "answer_tokens": mean([tokens.count(row.text) for row in good], 0),
        **({CLAIMS: mean(claims)} if further.claims else {}),
    }


def _documents(row: ConditionAnswer) -> set[str]:
    return {document for cited in row.cited for document in cited.documents}


def panels(
    rows: Sequence[dict[str, Cell]],
    measures: Iterable[tuple[str, str]],
    place: Callable[[dict[str, Cell]], str],
    axis: str,
    series: Callable[[dict[str, Cell]], str],
) -> tuple[Panel, ...]:
    """Return a chart of lines for each measure (its column and its title) that any row has."""
    places = tuple(dict.fromkeys(map(place, rows)))
    names = tuple(dict.fromkeys(map(series, rows)))
    found: list[Panel] = []
    for column, title in measures:
        values = {(series(row), place(row)): value for row in rows if isinstance(value := row.get(column), int | float)}
        if values:
            lines = (Series(name, tuple(values.get((name, at)) for at in places)) for name in names)
            found.append(Panel(title, places, axis, tuple(lines), top=100.0 if column.startswith(WINS) else None))
    return tuple(found)
