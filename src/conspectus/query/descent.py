"""Dynamic choice of reports: from the root down, only where a report is relevant (`--level auto`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from conspectus.errors import ModelError
from conspectus.models.base import Model
from conspectus.rows import Report
from conspectus.settings import GlobalSettings
from conspectus.tables import Index
from conspectus.tasks import RateReport

MOST_NAMED = 12


@dataclass
class Descent:
    """Which reports were rated, and which of them an answer is made from."""

    rated: int = 0
    failed: list[ModelError] = field(default_factory=list[ModelError])
    chosen: list[Report] = field(default_factory=list[Report])

    @property
    def told(self) -> str:
        """What was looked at and what was used, in words."""
        if not self.chosen:
            return f"{self.rated} reports rated from the root down, none of them relevant"
        levels = Counter(report.level for report in self.chosen)
        used = ", ".join(f"{n} of level {level}" for level, n in sorted(levels.items()))
        numbers = [str(report.community) for report in self.chosen]
        named = ", ".join(numbers[:MOST_NAMED]) + (", …" if len(numbers) > MOST_NAMED else "")
        return f"{self.rated} reports rated from the root down, {used} used (communities {named})"


async def descend(question: str, index: Index, model: Model, settings: GlobalSettings) -> Descent:
    """Rate the reports of the root, then those of the parts of every relevant one, and so on down.

    A relevant report is used unless a part of it is relevant too: the parts say the same in more detail. A
    report that cannot be rated counts as relevant, so that nothing is lost by it.

    Raises ModelError where none could be rated.
    """
    result = Descent()
    level = list(index.reports_at(0))
    while level:
        replies = await model.perform_all([RateReport(question, report) for report in level])
        failed = [reply for reply in replies if isinstance(reply, ModelError)]
        if len(failed) == len(replies):
            raise failed[0]
        result.failed += failed
        result.rated += len(level)
        ratings = [settings.relevance if isinstance(reply, ModelError) else reply for reply in replies]
        relevant = [r for r, rating in zip(level, ratings, strict=True) if rating >= settings.relevance]
        _use(relevant, result.chosen)
        level = [part for report in relevant for part in _parts(report, index)]
    return result


def _use(relevant: Sequence[Report], chosen: list[Report]) -> None:
    """Add relevant reports, in place of those that they are parts of."""
    replaced = {report.parent for report in relevant}
    chosen[:] = [report for report in chosen if report.community not in replaced]
    chosen += relevant


def _parts(report: Report, index: Index) -> list[Report]:
    reported = index.report_of_community
    return [reported[child] for child in report.children if child in reported]
