"""One window of rows of several tables, each within its part, the most relevant first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from conspectus import tokens
from conspectus.evidence import Evidence, Row, render
from conspectus.rows import Chunk, Claim, Entity, Relationship, Report
from conspectus.settings import LocalSettings

T = TypeVar("T", bound=Row)


def windowed(
    settings: LocalSettings,
    *,
    reports: Iterable[Report] = (),
    entities: Iterable[Entity] = (),
    relationships: Iterable[Relationship] = (),
    claims: Iterable[Claim] = (),
    sources: Iterable[Chunk] = (),
) -> Evidence:
    """Return the first rows of each table that fit its part of the window; chunks have what the others' leave.

    The part of the claims is the chunks' too where there are none.
    """
    limit = settings.context_tokens
    claimed = _fit(claims, settings.claim_share * limit)
    others = settings.entity_share + settings.relationship_share + settings.report_share
    rest = 1 - others - (settings.claim_share if claimed else 0.0)
    return Evidence(
        reports=_fit(reports, settings.report_share * limit),
        entities=_fit(entities, settings.entity_share * limit),
        relationships=_fit(relationships, settings.relationship_share * limit),
        claims=claimed,
        sources=_fit(sources, rest * limit),
    )


def _fit(rows: Iterable[T], limit: float) -> tuple[T, ...]:
    """Return the first rows that fit a part of the window together; one at least, unless the part is nothing."""
    kept: list[T] = []
    used = 0
    for row in rows if limit > 0 else ():
        used += tokens.count(render(row, 100))
        if kept and used > limit:
            break
        kept.append(row)
    return tuple(kept)
