"""Global search: map-reduce over community reports (GraphRAG §3.1.6), or over source texts (its baseline TS, §4.1.2).

With `level auto`, reports are selected from the root of the hierarchy down by their relevance (dynamic community
selection).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from conspectus.errors import ModelError, UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import method
from conspectus.retrieval.base import empty_answer, map_reduce, pack_windows
from conspectus.rows import Answer, Chunk, Report
from conspectus.settings import AnswerSettings, GlobalSettings, Settings
from conspectus.tasks import RateReport
from conspectus.tasks.base import Context

ENOUGH_REPORTS = 10
"""Where no level is asked for, the first one with so many reports is answered from, or else the one with
most.

Measured with the extractive model on the 125 questions of the paper's podcast corpus, whose level 0 has 17 reports:
level 0 quotes most (10.4 sentences from 8.0 episodes an answer; level 1 8.2 from 6.2, level 3 6.7 from 5.2) and reads
fewest tokens. A level of a few reports gives an answer of one section.
"""


RELEVANT = 1
"""Minimum relevance rating, 0 to 5, of a report whose children are read."""
SHUFFLE_SEED = 42
"""Random seed of the order in which reports, or chunks, are packed into windows (GraphRAG §3.1.6 shuffles them)."""


@method("global", help="map-reduce over the community reports of one level", reads={"reports"})
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the reports of a level, or with `auto` from those that are relevant from the root down.

    Raises UsageError where the index has no such level, ModelError where no window could be answered.
    """
    level = level_of(index, settings.global_)
    notices: list[str] = []
    if settings.global_.level == "auto":
        descent = await select_communities(question, index, model)
        reports, level, why = descent.chosen, None, descent.description
        if descent.failed:
            notices.append(f"not rated, of {descent.rated} reports: {len(descent.failed)} ({descent.failed[0]})")
        if not reports:
            return replace(empty_answer(question, index, method="global"), why=why, notices=tuple(notices))
    else:
        reports, why = index.reports_at(level), ""
    windows = packed_windows(reports, settings.answer)
    used = sum(report.n_tokens for report in reports)
    evidence = [Context(reports=tuple(window)) for window in windows]
    draft = Answer(question, "", "global", level=level, context_tokens=used, notices=tuple(notices))
    result = await map_reduce(draft, evidence, index, model, settings.answer)
    count = len(windows)
    return replace(
        result, why="; ".join(filter(None, (why, f"{count} window{'s' if count > 1 else ''} of reports")))
    )


def level_of(index: Index, settings: GlobalSettings) -> int:
    """Return the level to answer from; UsageError where the index has no reports or no such level."""
    if not index.reports:
        raise UsageError(
            "this index has no reports to answer from: ask by rollup, which writes those that it needs"
        )
    if settings.level is None or settings.level == "auto":
        has = index.report_of_community
        sizes = [sum(c.number in has for c in index.communities_at(level)) for level in index.levels]
        return next(
            (level for level, size in enumerate(sizes) if size >= ENOUGH_REPORTS), sizes.index(max(sizes))
        )
    if settings.level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {settings.level}")
    return settings.level


def windows_of(index: Index, level: int, settings: AnswerSettings) -> list[list[Report]]:
    """Return the reports of a level, shuffled and packed into windows."""
    return packed_windows(index.reports_at(level), settings)


def packed_windows(reports: Sequence[Report], settings: AnswerSettings) -> list[list[Report]]:
    """Return reports, shuffled and packed into windows."""
    shuffled = list(reports)
    random.Random(SHUFFLE_SEED).shuffle(shuffled)
    windows = pack_windows(shuffled, settings.context_tokens)
    return [[row for row in window if isinstance(row, Report)] for window in windows]


@dataclass
class CommunitySelection:
    """Which reports were rated, and which of them an answer is made from."""

    rated: int = 0
    failed: list[ModelError] = field(default_factory=list[ModelError])
    chosen: list[Report] = field(default_factory=list[Report])

    @property
    def description(self) -> str:
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


async def select_communities(question: str, index: Index, model: Model) -> CommunitySelection:
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
        ratings = [RELEVANT if isinstance(reply, ModelError) else reply for reply in replies]
        relevant = [reached for reached, rating in zip(level, ratings, strict=True) if rating >= RELEVANT]
        gone_on = {whole for _, whole in relevant}
        result.chosen = [report for report in result.chosen if report.community not in gone_on]
        result.chosen += [report for report, _ in relevant]
        level = [(part, report.community) for report, _ in relevant for part in index.reports_of(report.children)]
    return result


SOURCE_SUMMARY = "source-summary"


@method("source-summary", help="map-reduce over all source texts", settings=AnswerSettings)
async def source_summary(question: str, index: Index, model: Model, settings: AnswerSettings) -> Answer:
    """Answer from windows of all chunks, shuffled, with the prompts of global answers."""
    windows = chunk_windows(index, settings)
    if not windows:
        return empty_answer(question, index, method=SOURCE_SUMMARY)
    used = sum(chunk.n_tokens for window in windows for chunk in window.sources)
    draft = Answer(question, "", SOURCE_SUMMARY, context_tokens=used)
    result = await map_reduce(draft, windows, index, model, settings)
    return replace(result, why=f"{len(windows)} windows of source text")


def chunk_windows(index: Index, settings: AnswerSettings) -> list[Context]:
    """Return the chunks, shuffled and packed into windows."""
    chunks = list(index.chunks)
    random.Random(SHUFFLE_SEED).shuffle(chunks)
    windows = pack_windows(chunks, settings.context_tokens)
    return [Context(sources=tuple(row for row in window if isinstance(row, Chunk))) for window in windows]
