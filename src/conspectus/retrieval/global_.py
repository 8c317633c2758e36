"""Global answers: map-reduce over the reports of one level of the hierarchy (GraphRAG §3.1.6)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.community_selection import select_communities
from conspectus.retrieval.finish import nothing_found
from conspectus.retrieval.map_reduce import map_reduce, packed
from conspectus.rows import Answer, Report
from conspectus.settings import GlobalSettings
from conspectus.tasks.context import Context

ENOUGH_REPORTS = 10
"""Where no level is asked for, the first one with so many reports is answered from, or else the one with
most.

Measured with the extractive model on the 125 questions of the paper's podcast corpus, whose level 0 has 17 reports:
level 0 quotes most (10.4 sentences from 8.0 episodes an answer; level 1 8.2 from 6.2, level 3 6.7 from 5.2) and reads
fewest tokens. A level of a few reports gives an answer of one section.
"""


async def answer(question: str, index: Index, model: Model, settings: GlobalSettings) -> Answer:
    """Answer from the reports of a level, or with `descend` from those that are relevant from the root down.

    Raises UsageError where the index has no such level, ModelError where no window could be answered.
    """
    level = level_of(index, settings)
    notices: list[str] = []
    if settings.descend:
        descent = await select_communities(question, index, model, settings)
        reports, level, why = descent.chosen, None, descent.told
        if descent.failed:
            notices.append(f"not rated, of {descent.rated} reports: {len(descent.failed)} ({descent.failed[0]})")
        if not reports:
            return replace(nothing_found(question, index, method="global"), why=why, notices=tuple(notices))
    else:
        reports, why = index.reports_at(level), ""
    windows = packed_windows(reports, settings)
    used = sum(report.n_tokens for report in reports)
    evidence = [Context(reports=tuple(window)) for window in windows]
    result = await map_reduce(
        question, evidence, index, model, settings, method="global", level=level, used=used, notices=notices
    )
    count = len(windows)
    return replace(result, why="; ".join(filter(None, (why, f"{count} window{'s' if count > 1 else ''} of reports"))))


def level_of(index: Index, settings: GlobalSettings) -> int:
    """Return the level to answer from; UsageError where the index has no reports or no such level."""
    if not index.reports:
        raise UsageError("this index has no reports to answer from: ask by rollup, which writes those that it needs")
    if settings.level is None:
        has = index.report_of_community
        sizes = [sum(c.number in has for c in index.communities_at(level)) for level in index.levels]
        return next((level for level, size in enumerate(sizes) if size >= ENOUGH_REPORTS), sizes.index(max(sizes)))
    if settings.level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {settings.level}")
    return settings.level


def windows_of(index: Index, level: int, settings: GlobalSettings) -> list[list[Report]]:
    """Return the reports of a level, shuffled by the seed and packed into windows."""
    return packed_windows(index.reports_at(level), settings)


def packed_windows(reports: Sequence[Report], settings: GlobalSettings) -> list[list[Report]]:
    """Return reports, shuffled by the seed and packed into windows."""
    shuffled = list(reports)
    random.Random(settings.seed).shuffle(shuffled)
    windows = packed(shuffled, settings.context_tokens)
    return [[row for row in window if isinstance(row, Report)] for window in windows]
