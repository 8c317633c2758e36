"""Describe: one description for each entity and relationship, made of those of its instances (P1 3.1.3).

What has one description only keeps it: no task is asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from conspectus import tokens
from conspectus.errors import ModelError
from conspectus.index.merge import Element, Merged
from conspectus.models.base import Model, Tick, no_tick
from conspectus.rows import Entity, Failure, Relationship, Span
from conspectus.settings import DescribeSettings
from conspectus.tasks import DescribeElement, Description

R = TypeVar("R", Entity, Relationship)
MOST_SPANS = 8
"""Places kept for one row, the most telling first."""


async def describe(
    merged: Merged, model: Model, settings: DescribeSettings, language: str = "en", tick: Tick = no_tick
) -> tuple[list[Entity], list[Relationship], list[Failure]]:
    """Return the rows of the graph with their descriptions, and what could not be described.

    Where the model fails, the row keeps the longest of its instances' descriptions.
    """
    entities, lost = await _described(
        merged.entities, merged.entity_elements, [e.name for e in merged.entities], "entity", model, settings, language, tick
    )
    pairs = [f"{r.source} - {r.target}" for r in merged.relationships]
    relationships, more = await _described(
        merged.relationships, merged.relationship_elements, pairs, "relationship", model, settings, language, tick
    )
    return entities, relationships, lost + more


async def _described(
    rows: Sequence[R],
    elements: Sequence[Element],
    names: Sequence[str],
    kind: str,
    model: Model,
    settings: DescribeSettings,
    language: str,
    tick: Tick,
) -> tuple[list[R], list[Failure]]:
    texts = [element.descriptions for element in elements]
    pending = {i: tuple(t) for i, t in enumerate(texts) if len(t) > 1}
    order: dict[int, tuple[int, ...]] = {}
    final = {i: next(iter(t), "") for i, t in enumerate(texts) if len(t) <= 1}
    failures: list[Failure] = []
    while pending:
        steps = {i: _windows(descriptions, model, settings) for i, descriptions in pending.items()}
        tasks = [DescribeElement(names[i], kind, step, language=language) for i in steps for step in steps[i]]
        replies = iter(await model.perform_all(tasks, tick))
        following: dict[int, tuple[str, ...]] = {}
        for i, windows in steps.items():
            said = [next(replies) for _ in windows]
            errors = [reply for reply in said if isinstance(reply, ModelError)]
            parts = [reply for reply in said if isinstance(reply, Description)]
            if errors:
                failures.append(Failure("describe", f"{kind} {names[i]}: {errors[0]}"))
                final[i] = max((*pending[i], *(p.text for p in parts)), key=len)
            elif len(parts) > 1:
                following[i] = tuple(part.text for part in parts)
            else:
                final[i], order[i] = parts[0].text, parts[0].used
        pending = following
    return [
        replace(row, description=final[i], spans=_places(texts[i], order.get(i, ()))) for i, row in enumerate(rows)
    ], failures


def _windows(descriptions: tuple[str, ...], model: Model, settings: DescribeSettings) -> list[tuple[str, ...]]:
    """Cut a long list into pieces that fit the window; a model that only selects takes it whole."""
    if not model.generative or tokens.at_most("\n".join(descriptions), settings.context_tokens):
        return [descriptions]
    return list(_packed(descriptions, settings.context_tokens))


def _packed(descriptions: tuple[str, ...], limit: int) -> Iterator[tuple[str, ...]]:
    window: list[str] = []
    used = 0
    for description in descriptions:
        size = tokens.count(description) + 1
        if len(window) > 1 and used + size > limit:
            yield tuple(window)
            window, used = [], 0
        window.append(description)
        used += size
    yield tuple(window)


def _places(descriptions: dict[str, Span], used: tuple[int, ...]) -> tuple[Span, ...]:
    """Return where a description comes from: the instances that it stands on, or else the first ones."""
    spans = list(descriptions.values())
    first = [spans[i] for i in used if i < len(spans)]
    return tuple(dict.fromkeys((*first, *([] if first else spans))))[:MOST_SPANS]
