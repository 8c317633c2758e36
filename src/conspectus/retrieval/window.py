"""One window of rows of several tables, each within its part, the most relevant first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from conspectus import tokens
from conspectus.rows import Chunk, Claim, Entity, Relationship, Report
from conspectus.settings import LocalSettings
from conspectus.tasks.context import Context, Row, render

T = TypeVar("T", bound=Row)


def windowed(
    settings: LocalSettings,
    *,
    reports: Iterable[Report] = (),
    entities: Iterable[Entity] = (),
    relationships: Iterable[Relationship] = (),
    claims: Iterable[Claim] = (),
    sources: Iterable[Chunk] = (),
) -> Context:
    """Return the first rows of each table that fit its part of the window; chunks have what the others leave."""
    limit = settings.context_tokens
    reported, left = _fit(reports, settings.report_share * limit, limit)
    named, left = _fit(entities, settings.entity_share * limit, left)
    related, left = _fit(relationships, settings.relationship_share * limit, left)
    claimed, left = _fit(claims, settings.claim_share * limit, left)
    told, _ = _fit(sources, left, left)
    return Context(reports=reported, entities=named, relationships=related, claims=claimed, sources=told)


def _fit(rows: Iterable[T], part: float, left: float) -> tuple[tuple[T, ...], float]:
    """Return the first rows that fit a part of the window together, and what they leave of it.

    They are one at least, unless the part is nothing.
    """
    kept: list[T] = []
    used = 0
    for row in rows if part > 0 else ():
        size = tokens.count(render(row, 100))
        if kept and used + size > part:
            break
        kept.append(row)
        used += size
    return tuple(kept), left - used
