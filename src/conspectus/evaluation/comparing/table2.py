"""How much the conditions of a global answer read of an index: units and tokens (GraphRAG Table 2)."""

from __future__ import annotations

from dataclasses import dataclass

from conspectus.index import Index


@dataclass(frozen=True)
class Units:
    """What one condition reads to answer any question."""

    condition: str
    units: int
    """Reports of a level, or chunks."""
    tokens: int
    share: float
    """Its tokens over those of TS, the most that can be read; 0 where there is no text."""
    projected: int = 0
    """Of the units, reports of communities of higher levels that have no parts here."""
    entities: float = 1.0
    """The part of the graph's entities that belong to a community with a report here; 1 for TS."""


def table2(index: Index) -> list[Units]:
    """Return a row for each level, C0 the root, and one for TS; none of levels where there are no reports."""
    most = sum(chunk.n_tokens for chunk in index.chunks)
    rows = [_level(index, level, most) for level in index.levels if index.reports_at(level)]
    return [*rows, Units("TS", len(index.chunks), most, 1.0 if most else 0.0)]


def _level(index: Index, level: int, most: int) -> Units:
    reports = index.reports_at(level)
    tokens = sum(report.n_tokens for report in reports)
    above = sum(report.level < level for report in reports)
    held = {e for report in reports for e in index.communities[report.community].entity_numbers}
    share = tokens / most if most else 0.0
    return Units(f"C{level}", len(reports), tokens, share, above, len(held) / max(1, len(index.entities)))
