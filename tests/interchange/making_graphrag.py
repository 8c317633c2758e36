"""A small index in the format of Microsoft GraphRAG, and in the formats of its earlier releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT = (
    "Ada Brook bought the Orran Mill. Ruben Vale refused to pay. The river Tarn turned the wheel of the mill."
)
CITED = "[Data: Entities (0); Relationships (0)]"
Rows = list[dict[str, Any]]


def tables() -> dict[str, Rows]:
    """A small index as GraphRAG 3.x writes it."""
    unit = {
        "id": "u0",
        "human_readable_id": 0,
        "text": f"title: mill.txt.\n{TEXT}",
        "n_tokens": 30,
        "document_id": "d0",
    }
    names = ("ADA BROOK", "ORRAN MILL", "RUBEN VALE")
    entities = [
        {
            "id": f"e{i}",
            "human_readable_id": i,
            "title": name,
            "type": kind,
            "description": f"{name} is told of.",
            "text_unit_ids": ["u0"],
        }
        for i, (name, kind) in enumerate(zip(names, ("PERSON", "GEO", "PERSON"), strict=True))
    ]
    return {
        "documents": [
            {"id": "d0", "human_readable_id": 0, "title": "mill.txt", "text": TEXT, "text_unit_ids": ["u0"]}
        ],
        "text_units": [unit],
        "entities": entities,
        "relationships": [edge(0, "ADA BROOK", "ORRAN MILL", 8.0)],
        "communities": [
            {
                "id": "c0",
                "human_readable_id": 0,
                "community": 0,
                "level": 0,
                "parent": -1,
                "children": [],
                "entity_ids": ["e0", "e1"],
                "text_unit_ids": ["u0"],
            },
        ],
        "community_reports": [
            {
                "id": "r0",
                "human_readable_id": 0,
                "community": 0,
                "title": "The mill",
                "summary": "It was bought.",
                "rank": 7.5,
                "rating_explanation": "Why not.",
                "full_content": "# The mill\n\nIt was bought.",
                "findings": [{"summary": "Sold", "explanation": f"Ada bought it {CITED}."}],
            },
        ],
        "covariates": [claim(0, "ADA BROOK", "Ada Brook bought the mill.")],
    }


def edge(number: int, source: str, target: str, weight: float = 1.0) -> dict[str, Any]:
    said = f"{source} goes with {target}."
    return {
        "id": f"r{number}",
        "human_readable_id": number,
        "source": source,
        "target": target,
        "weight": weight,
        "description": said,
        "text_unit_ids": ["u0"],
    }


def claim(number: int, subject: str, said: str | None) -> dict[str, Any]:
    return {
        "id": f"k{number}",
        "human_readable_id": number,
        "subject_id": subject,
        "object_id": "NONE",
        "type": "SALE",
        "status": "TRUE",
        "description": said,
        "source_text": "Ada  Brook bought the Orran Mill.",
        "text_unit_id": "u0",
        "start_date": "NONE",
        "end_date": None,
    }


def as_2x(rows: Mapping[str, Rows]) -> dict[str, Rows]:
    """The same as 2.x writes it: units name several documents, documents have metadata, entities have positions."""
    return {
        **rows,
        "documents": [row | {"metadata": {"author": "A. Brook", "year": None}} for row in rows["documents"]],
        "text_units": [
            _but(row, "document_id") | {"document_ids": [row["document_id"]]} for row in rows["text_units"]
        ],
        "entities": [row | {"x": 0.5, "y": -0.5, "degree": 1, "frequency": 1} for row in rows["entities"]],
    }


def _but(row: Mapping[str, Any], *columns: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in columns}
