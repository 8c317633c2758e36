"""An index as one JSON object: its tables as lists of objects, in the names of `rows`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, cast

from conspectus.index import Index
from conspectus.readers.found import GENERATED
from conspectus.rows import Report

TABLES = (
    "documents",
    "chunks",
    "entities",
    "relationships",
    "triples",
    "claims",
    "communities",
    "reports",
    "joins",
    "failures",
)


def as_json(index: Index) -> Iterator[str]:
    """Yield pieces of the object, a row a line; spans are lists of document id, start and end."""
    head = {"generator": GENERATED, "format": "conspectus", "version": 1, "snapshot": index.snapshot}
    yield json.dumps(head).removesuffix("}")
    for table in TABLES:
        yield f',\n"{table}": ['
        for place, row in enumerate(getattr(index, table)):
            value = _plain(row)
            if isinstance(row, Report):
                value["text"] = row.text
            yield (",\n" if place else "\n") + json.dumps(value, ensure_ascii=False, default=_plain)
        yield "]"
    yield "}\n"


def _plain(value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping):  # not every mapping is a dict
        return dict(cast("Mapping[str, Any]", value))
    return {field.name: getattr(value, field.name) for field in fields(value)}
