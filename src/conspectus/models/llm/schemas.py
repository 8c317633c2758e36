"""What replies in JSON look like, as JSON schemas in the strict form: every property required, no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]

TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
TEXT_OR_NULL: Schema = {"type": ["string", "null"]}


def record(**properties: Schema) -> Schema:
    """Return the schema of an object with just these properties."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def many(items: Schema) -> Schema:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


GRAPH = record(
    entities=many(record(name=TEXT, type=TEXT, description=TEXT)),
    relationships=many(record(source=TEXT, target=TEXT, description=TEXT, strength=NUMBER)),
)
CLAIMS = record(
    claims=many(
        record(
            subject=TEXT,
            object=TEXT,
            type=TEXT,
            status={"type": "string", "enum": ["TRUE", "FALSE", "SUSPECTED"]},
            description=TEXT,
            source_text=TEXT,
            start_date=TEXT_OR_NULL,
            end_date=TEXT_OR_NULL,
        )
    )
)
REPORT = record(
    title=TEXT,
    summary=TEXT,
    rating=NUMBER,
    rating_explanation=TEXT,
    findings=many(record(summary=TEXT, explanation=TEXT)),
)
