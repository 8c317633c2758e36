"""Map-reduce: a scored answer from each window of evidence, one answer of the most helpful (GraphRAG §3.1.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from conspectus import tokens
from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.finish import finish, nothing_found
from conspectus.rows import Answer, Chunk, Report
from conspectus.settings import GlobalSettings
from conspectus.tasks import MapAnswer, MapPoints, PartialAnswer, ReduceAnswer
from conspectus.tasks.context import Context

HEADING_TOKENS = 20
"""Room for the heading of the table in a window."""


async def map_reduce(
    question: str,
    windows: Sequence[Context],
    index: Index,
    model: Model,
    settings: GlobalSettings,
    *,
    method: str,
    level: int | None = None,
    used: int,
    notices: Sequence[str] = (),
) -> Answer:
    """Answer from each window, score that, and write one answer from the most helpful; `used` is their
    tokens.

    Raises ModelError where no window could be answered.
    """
    replies = await mapped(question, windows, model, settings)
    failed = [reply for reply in replies if isinstance(reply, ModelError)]
    if failed and len(failed) == len(replies):
        raise failed[0]
    partial = [p for reply in replies if not isinstance(reply, ModelError) for p in reply if p.score > 0]
    told = list(notices)
    if failed:
        told.append(f"{len(failed)} of {len(windows)} windows could not be read: {failed[0]}")
    if not partial:
        answer = nothing_found(question, index, method=method, level=level, context_tokens=used)
        return replace(answer, notices=tuple(told))
    helpful = sorted(partial, key=lambda p: -p.score)
    final = ReduceAnswer(question, tuple(fitting(helpful, settings.context_tokens)))
    return await finish(final, question, index, model, method=method, level=level, context_tokens=used, notices=told)


async def mapped(
    question: str, windows: Sequence[Context], model: Model, settings: GlobalSettings
) -> list[tuple[PartialAnswer, ...] | ModelError]:
    """Return the scored answers from each window: one, or with `map_reply = "points"` several."""
    if settings.map_reply == "points" and model.generative:
        return await model.perform_all([MapPoints(question, window) for window in windows])
    whole = await model.perform_all([MapAnswer(question, window) for window in windows])
    return [reply if isinstance(reply, ModelError) else (reply,) for reply in whole]


def packed(rows: Sequence[Report] | Sequence[Chunk], limit: int) -> Iterator[list[Report | Chunk]]:
    """Yield the rows in windows that have no more tokens than the limit, each with one row at least."""
    window: list[Report | Chunk] = []
    used = 0
    for row in rows:
        size = row.n_tokens + 4  # its number, and the line after it
        if window and used + size > limit - HEADING_TOKENS:
            yield window
            window, used = [], 0
        window.append(row)
        used += size
    if window:
        yield window


def fitting(answers: Sequence[PartialAnswer], limit: int) -> Iterator[PartialAnswer]:
    """Yield whole answers, in their order, until the window is full; always the first one."""
    used = 0
    for place, partial in enumerate(answers):
        used += tokens.count(partial.text)
        if place and used > limit:
            return
        yield partial
