"""Echoes: what a small model copies out of the example in its instructions, as if the text had said it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from conspectus.tasks import Extraction


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())


def leaked_names(graph: Extraction, text: str, sent: Callable[[], str]) -> tuple[str, ...]:
    """Return the names of entities, sorted, that stand in what was sent and nowhere in the text of the chunk.

    What was sent is asked for only where a name is not in the text, which is seldom.
    """
    said = _plain(text)
    unsaid = {entity.name for entity in graph.entities if _plain(entity.name) not in said}
    told = _plain(sent()) if unsaid else ""
    return tuple(sorted(name for name in unsaid if _plain(name) in told))


def without(graph: Extraction, names: tuple[str, ...]) -> Extraction:
    """Return a graph without some names, and without the relationships that have one of them as an end."""
    return replace(
        graph,
        entities=tuple(e for e in graph.entities if e.name not in names),
        relationships=tuple(r for r in graph.relationships if r.source not in names and r.target not in names),
    )
