"""The records of replies, as mappings of texts and numbers, made into the rows that tasks promise."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

from conspectus.rows import Finding
from conspectus.tasks import FoundClaim, FoundEntity, FoundRelationship
from conspectus.tokens import well_formed

Record = Mapping[str, Any]
Row = TypeVar("Row")


@dataclass
class Notes:
    """What is noticed while a reply is read."""

    dropped: list[str] = field(default_factory=list[str])
    repaired: list[str] = field(default_factory=list[str])


class Malformed(ValueError):
    """One record cannot be used; says why."""


def text_of(record: Record, key: str, needed: bool = False) -> str:
    """Return a text (or a number, as one), stripped and fit to be stored; empty where there is none."""
    value = record.get(key)
    text = "" if value is None or isinstance(value, dict | list) else well_formed(str(value)).strip()
    if needed and not text:
        raise Malformed(f"no {key}")
    return text


def name_of(record: Record, key: str) -> str:
    """Return a text that must be there, on one line."""
    return " ".join(text_of(record, key, needed=True).split())


def number_of(record: Record, key: str, low: float, high: float, notes: Notes) -> float:
    """Return a number that may be written as text (`"8"`, `8/10`), held within its bounds."""
    match = re.fullmatch(rf"(-?\d+(?:\.\d+)?)(?:\s*/\s*{high:g})?", text_of(record, key))
    if not match or isinstance(record.get(key), bool) or not math.isfinite(float(match[1])):
        raise Malformed(f"its {key} is no number" if text_of(record, key) else f"no {key}")
    value = float(match[1])
    if not low <= value <= high:
        notes.repaired.append(f"a {key} of {value:g} was taken for {min(max(value, low), high):g}")
    return min(max(value, low), high)


def date_of(record: Record, key: str) -> str | None:
    """Return a date as it is written, None for none."""
    text = text_of(record, key)
    return None if text.upper() in ("", "NONE", "NULL") else text


def entity(record: Record, notes: Notes) -> FoundEntity:
    return FoundEntity(name_of(record, "name"), text_of(record, "type"), text_of(record, "description"))


def relationship(record: Record, notes: Notes) -> FoundRelationship:
    source, target = name_of(record, "source"), name_of(record, "target")
    return FoundRelationship(
        source, target, text_of(record, "description"), number_of(record, "strength", 1, 10, notes)
    )


def claim(record: Record, notes: Notes) -> FoundClaim:
    return FoundClaim(
        subject=name_of(record, "subject"),
        object=" ".join(text_of(record, "object").split()) or "NONE",
        type=text_of(record, "type"),
        status=text_of(record, "status").upper(),
        description=text_of(record, "description", needed=True),
        source_text=text_of(record, "source_text"),
        start_date=date_of(record, "start_date"),
        end_date=date_of(record, "end_date"),
    )


def finding(record: Record, notes: Notes) -> Finding:
    return Finding(text_of(record, "summary"), text_of(record, "explanation", needed=True))


def rows(records: Sequence[Any], what: str, make: Callable[[Record, Notes], Row], notes: Notes) -> tuple[Row, ...]:
    """Return the rows that records make; what is wrong with the others is noted."""
    made: list[Row] = []
    for n, record in enumerate(records, 1):
        try:
            if not isinstance(record, dict):
                raise Malformed("it is no object")
            made.append(make(cast("Record", record), notes))
        except Malformed as why:
            notes.dropped.append(f"{what} {n}: {why}")
    return tuple(made)
