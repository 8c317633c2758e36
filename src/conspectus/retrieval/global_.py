"""Global search: map-reduce over community reports (GraphRAG §3.1.6), or over source texts (its baseline TS, §4.1.2).

With `level auto`, reports are selected from the root of the hierarchy down by their relevance (dynamic community
selection).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from conspectus.errors import ModelError, UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import method
from conspectus.retrieval.base import empty_answer, map_reduce
from conspectus.rows import Answer, Chunk, Report, column
from conspectus.settings import AnswerSettings, GlobalSettings, Settings
from conspectus.tasks import RateReport
from conspectus.tasks.base import Context

RowT = TypeVar("RowT", Report, Chunk)

ENOUGH_REPORTS = 10
"""Minimum number of reports of the default level: the first level with so many is used, or else the one with the most.

With fewer reports, an answer has a single section. Measured with the extractive model on the 125 questions of the
paper's podcast corpus, whose level 0 has 17 reports: level 0 quotes most (10.4 sentences from 8.0 episodes an answer;
level 1 8.2 from 6.2, level 3 6.7 from 5.2) and reads the fewest tokens.
"""
RELEVANT = 1
"""Minimum relevance rating, 0 to 5, of a report that is used and whose children are rated."""
SHUFFLE_SEED = 42
"""Random seed of the order in which reports, or chunks, are packed into windows (GraphRAG §3.1.6 shuffles them)."""
HEADING_TOKENS = 20
"""Tokens of a window reserved for the heading of the table."""
SOURCE_SUMMARY = "source-summary"


@method("global", help="map-reduce over the community reports of one level", reads={"reports"})
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the reports of a level, or with `auto` from those that dynamic community selection chooses.

    Raises UsageError if the index has no such level, ModelError if no window could be answered.
    """
    level = level_of(index, settings.global_)
    if settings.global_.level == "auto":
        selection = await select_communities(question, index, model)
        reports: Sequence[Report] = [rated.report for rated in selection.chosen]
        draft = Answer(question, "", "global", why=selection.description, notices=selection.notices)
        if not reports:
            return empty_answer(draft, index)
    else:
        reports = index.reports_at(level)
        draft = Answer(question, "", "global", level=level)
    windows = report_windows(reports, settings.answer)
    draft = replace(draft, context_tokens=sum(report.n_tokens for report in reports))
    result = await map_reduce(draft, windows, index, model, settings.answer)
    read = f"{len(windows)} window{'s' * (len(windows) > 1)} of reports"
    return replace(result, why="; ".join(filter(None, (draft.why, read))))


@method(SOURCE_SUMMARY, help="map-reduce over all source texts")
async def source_summary(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from windows of all chunks, shuffled, with the prompts of global answers."""
    parts = shuffled_windows(index.chunks, settings.answer.context_tokens)
    windows = [Context(sources=tuple(part)) for part in parts]
    used = sum(column(index.chunks, "n_tokens"))
    draft = Answer(question, "", SOURCE_SUMMARY, context_tokens=used)
    if not windows:
        return empty_answer(draft, index)
    result = await map_reduce(draft, windows, index, model, settings.answer)
    return replace(result, why=f"{len(windows)} window{'s' * (len(windows) != 1)} of source text")


def level_of(index: Index, settings: GlobalSettings) -> int:
    """Return the level to answer from; raise UsageError if the index has no reports or no such level."""
    if not index.reports:
        raise UsageError(
            "this index has no reports to answer from: ask by rollup, which writes those that it needs"
        )
    if settings.level is None or settings.level == "auto":
        return index.derive(_default_level)
    if settings.level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {settings.level}")
    return settings.level


def _default_level(index: Index) -> int:
    least: int = index.settings.get("reports", {}).get("min_report_entities", 0)  # below it they are brief
    large = {number for number, size in enumerate(column(index.communities, "size")) if size >= least}
    full = large & index.report_of_community.keys()
    sizes = [sum(number in full for number in index.numbers_at(level)) for level in index.levels]
    enough = (level for level, size in enumerate(sizes) if size >= ENOUGH_REPORTS)
    return next(enough, sizes.index(max(sizes)))


def report_windows(reports: Sequence[Report], settings: AnswerSettings) -> list[Context]:
    """Return reports, shuffled and packed into windows."""
    windows = shuffled_windows(reports, settings.context_tokens)
    return [Context(reports=tuple(window)) for window in windows]


def shuffled_windows(rows: Sequence[RowT], limit: int) -> list[list[RowT]]:
    """Return the rows, shuffled, in windows of at most `limit` tokens, each with at least one row.

    Brief reports come after all others, so that they take only the room that these leave.
    """
    shuffled: list[RowT] = []
    brief: list[RowT] = []
    for row in rows:
        (brief if isinstance(row, Report) and row.brief else shuffled).append(row)
    random.Random(SHUFFLE_SEED).shuffle(shuffled)
    windows: list[list[RowT]] = []
    used = 0
    for row in (*shuffled, *brief):
        size = row.n_tokens + 4  # its number, and the line after it
        if not windows or used + size > limit - HEADING_TOKENS:
            windows.append([])
            used = 0
        windows[-1].append(row)
        used += size
    return windows


@dataclass(frozen=True)
class RatedReport:
    """A report with its relevance, 0 to 5, and the relevant report above it, if it is not a root."""

    report: Report
    rating: int
    parent: RatedReport | None = None

    @property
    def path(self) -> str:
        """The reports from the root to this one, with their ratings, as a text."""
        here = f"{self.report.title} ({self.rating})"
        return f"{self.parent.path} > {here}" if self.parent else here


@dataclass
class CommunitySelection:
    """The number of reports rated, the failures, and the reports chosen for the answer."""

    rated: int = 0
    failed: list[ModelError] = field(default_factory=list[ModelError])
    chosen: list[RatedReport] = field(default_factory=list[RatedReport])

    @property
    def notices(self) -> tuple[str, ...]:
        """A notice about failures, if there were any."""
        if not self.failed:
            return ()
        return (f"not rated, of {self.rated} reports: {len(self.failed)} ({self.failed[0]})",)

    @property
    def description(self) -> str:
        """What was rated and what was used, as a text."""
        if not self.chosen:
            return f"{self.rated} reports rated from the root down, none of them relevant"
        levels: dict[int, list[int]] = {}
        for rated in self.chosen:
            levels.setdefault(rated.report.level, []).append(rated.report.community)
        used = ", ".join(
            f"{len(numbers)} of level {level} (communities {', '.join(map(str, sorted(numbers)))})"
            for level, numbers in sorted(levels.items())
        )
        return f"{self.rated} reports rated from the root down, used {used}"


async def select_communities(
    question: str,
    index: Index,
    model: Model,
    choose: Callable[[list[RatedReport]], list[RatedReport]] = lambda level: [
        rated for rated in level if rated.rating >= RELEVANT
    ],
) -> CommunitySelection:
    """Rate the reports of the root, then the children of every report that `choose` returns, and so on down the levels.

    A chosen report is used unless one of its children is chosen too: children say the same in more detail. A report
    that cannot be rated counts as relevant, so that nothing is lost; a missing report is replaced by those of its
    sub-communities. Brief reports are not rated. Raises ModelError if no report could be rated.
    """
    result = CommunitySelection()
    roots = index.reports_of(index.numbers_at(0))
    level: list[tuple[Report, RatedReport | None]] = [(report, None) for report in roots]
    while level:
        replies = await model.perform_all([RateReport(question, report) for report, _ in level])
        result.failed += [reply for reply in replies if isinstance(reply, ModelError)]
        result.rated += len(level)
        if len(result.failed) == result.rated:
            raise result.failed[0]
        chosen = choose(
            [
                RatedReport(report, RELEVANT if isinstance(reply, ModelError) else reply, parent)
                for (report, parent), reply in zip(level, replies, strict=True)
            ]
        )
        replaced = {id(rated.parent) for rated in chosen}
        result.chosen = [rated for rated in result.chosen if id(rated) not in replaced] + chosen
        level = [(part, rated) for rated in chosen for part in index.reports_of(rated.report.children)]
    return result
