"""Global answers: map-reduce over the reports of one level of the hierarchy (P1 3.1.6)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from conspectus import tokens
from conspectus.errors import ModelError, UsageError
from conspectus.evidence import Evidence
from conspectus.models.base import Model
from conspectus.query.finish import finish, nothing_found
from conspectus.rows import Answer, Report
from conspectus.settings import GlobalSettings
from conspectus.tables import Index
from conspectus.tasks import MapAnswer, PartialAnswer, ReduceAnswer

ENOUGH_REPORTS = 10
"""Where no level is asked for, the first one with so many reports is answered from, or else the one with most.

Measured with the extractive model on the 125 questions of the paper's podcast corpus, whose level 0 has 14 reports:
level 0 quotes most (10.3 sentences from 8.0 episodes an answer; level 1 8.1 from 6.2, level 3 6.6 from 5.1) and reads
fewest tokens. A level of a few reports gives an answer of one section.
"""
HEADING_TOKENS = 20
"""Room for the heading of the table of reports in a window."""


async def answer(question: str, index: Index, model: Model, settings: GlobalSettings) -> Answer:
    """Answer from each window of reports, score it, and write one answer from the most helpful.

    Raises UsageError where the index has no such level, ModelError where no window could be answered.
    """
    level = level_of(index, settings)
    windows = windows_of(index, level, settings)
    used = sum(report.n_tokens for window in windows for report in window)
    replies = await model.perform_all([MapAnswer(question, Evidence(reports=tuple(w))) for w in windows])
    failed = [reply for reply in replies if isinstance(reply, ModelError)]
    if failed and len(failed) == len(replies):
        raise failed[0]
    helpful = sorted((r for r in replies if isinstance(r, PartialAnswer) and r.score > 0), key=lambda p: -p.score)
    if not helpful:
        return nothing_found(question, method="global", level=level, context_tokens=used)
    missing = [f"{len(failed)} of {len(windows)} windows of reports could not be read: {failed[0]}"] if failed else []
    final = ReduceAnswer(question, tuple(_fitting(helpful, settings.context_tokens)))
    result = await finish(
        final, question, index, model, method="global", level=level, context_tokens=used, notices=missing
    )
    count = len(windows)
    return replace(result, why=f"{count} window{'s' if count > 1 else ''} of reports")


def level_of(index: Index, settings: GlobalSettings) -> int:
    """Return the level to answer from; UsageError where the index has no reports or no such level."""
    if not index.reports:
        raise UsageError("this index has no reports to answer from: its graph has no community large enough")
    if settings.level is None:
        sizes = [len(index.reports_at(level)) for level in index.levels]
        return next((level for level, size in enumerate(sizes) if size >= ENOUGH_REPORTS), sizes.index(max(sizes)))
    if settings.level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {settings.level}")
    return settings.level


def windows_of(index: Index, level: int, settings: GlobalSettings) -> list[list[Report]]:
    """Return the reports of a level, shuffled by the seed and packed into windows."""
    reports = index.reports_at(level)
    random.Random(settings.seed).shuffle(reports)
    return list(_packed(reports, settings.context_tokens - HEADING_TOKENS))


def _packed(reports: Sequence[Report], limit: int) -> Iterator[list[Report]]:
    window: list[Report] = []
    used = 0
    for report in reports:
        size = report.n_tokens + 4  # its number, and the line after it
        if window and used + size > limit:
            yield window
            window, used = [], 0
        window.append(report)
        used += size
    if window:
        yield window


def _fitting(answers: Sequence[PartialAnswer], limit: int) -> Iterator[PartialAnswer]:
    """Yield whole answers, in their order, until the window is full; always the first one."""
    used = 0
    for place, partial in enumerate(answers):
        used += len(partial.text) // 8 if tokens.at_most(partial.text, 0) else tokens.count(partial.text)
        if place and used > limit:
            return
        yield partial
