"""Dynamic choice of reports: from the root down, only where a report is relevant (`--level auto`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.rows import Report
from conspectus.settings import GlobalSettings
from conspectus.tasks import RateReport


@dataclass
class CommunitySelection:
    """Which reports were rated, and which of them an answer is made from."""

    rated: int = 0
    failed: list[ModelError] = field(default_factory=list[ModelError])
    chosen: list[Report] = field(default_factory=list[Report])

    @property
    def told(self) -> str:
        """What was looked at and what was used, in words."""
        if not self.chosen:
            return f"{self.rated} reports rated from the root down, none of them relevant"
        levels: dict[int, list[int]] = {}
        for report in self.chosen:
            levels.setdefault(report.level, []).append(report.community)
        used = ", ".join(
            f"{len(numbers)} of level {level} (communities {', '.join(map(str, sorted(numbers)))})"
            for level, numbers in sorted(levels.items())
        )
        return f"{self.rated} reports rated from the root down, used {used}"


async def select_communities(question: str, index: Index, model: Model, settings: GlobalSettings) -> CommunitySelection:
    """Rate the reports of the root, then those of the parts of every relevant one, and so on down.

    A relevant report is used unless a part of it is relevant too: the parts say the same in more detail. A
    report that cannot be rated counts as relevant, so that nothing is lost by it; in the place of one that is
    missing stand those of its parts.

    Raises ModelError where none could be rated.
    """
    result = CommunitySelection()
    roots = (community.number for community in index.communities_at(0))
    level: list[tuple[Report, int]] = [(report, -1) for report in index.reports_of(roots)]
    while level:
        replies = await model.perform_all([RateReport(question, report) for report, _ in level])
        result.failed += [reply for reply in replies if isinstance(reply, ModelError)]
        result.rated += len(level)
        if len(result.failed) == result.rated:
            raise result.failed[0]
        ratings = [settings.relevance if isinstance(reply, ModelError) else reply for reply in replies]
        relevant = [reached for reached, rating in zip(level, ratings, strict=True) if rating >= settings.relevance]
        gone_on = {whole for _, whole in relevant}
        result.chosen = [report for report in result.chosen if report.community not in gone_on]
        result.chosen += [report for report, _ in relevant]
        level = [(part, report.community) for report, _ in relevant for part in index.reports_of(report.children)]
    return result
