"""Rows of several indexes that are one: what each says, in turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from conspectus.rows import Entity, Relationship, Span


def united_entity(same: Sequence[Entity]) -> Entity:
    """Return one entity of those of one name; its type is that of the one that most chunks name."""
    if len(same) == 1:
        return same[0]
    most = max(same, key=lambda e: e.frequency)
    return replace(
        same[0],
        type=most.type,
        description=_lines(e.description for e in same),
        chunk_ids=tuple(chain.from_iterable(e.chunk_ids for e in same)),
        spans=_in_turn([e.spans for e in same]),
        aliases=tuple(sorted({alias for e in same for alias in e.aliases})),
    )


def united_relationship(same: Sequence[Relationship]) -> Relationship:
    """Return one relationship of those between the same ends; its strength is their mean by weight."""
    if len(same) == 1:
        return same[0]
    weight = sum(r.weight for r in same)
    return replace(
        same[0],
        description=_lines(r.description for r in same),
        weight=weight,
        strength=sum(r.strength * r.weight for r in same) / (weight or 1.0),
        chunk_ids=tuple(chain.from_iterable(r.chunk_ids for r in same)),
        spans=_in_turn([r.spans for r in same]),
    )


def _lines(texts: Iterable[str]) -> str:
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _in_turn(spans: Sequence[Sequence[Span]]) -> tuple[Span, ...]:
    """Return the first of each, then the second of each, and so on: who shows a few shows some of each."""
    return tuple(span for turn in zip_longest(*spans) for span in turn if span is not None)
