"""The map as one HTML page that needs nothing beside it: the data, packed, and a small program that draws
them."""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from importlib.resources import files
from typing import Any

from conspectus import Index
from conspectus.interchange.map.scene import Scene, frame
from conspectus.rows import Report, Span

MAX_OPEN_ENTITIES = 20_000
"""Entities of the largest graph that is drawn at once; of larger ones communities are opened on demand."""
MAX_SPANS = 3
"""Spans in the sources shown for each entity and relationship."""
DESCRIPTION_CHARS = 300
"""Characters of a relationship's description."""


def page(scene: Scene, *, title: str, level: int = 0, sources: bool = True) -> str:
    """Return the page; it opens on the communities of `level`. `sources` keeps the texts of the documents in
    it."""
    program = {
        name: files("conspectus.interchange.map").joinpath(name).read_text("utf-8")
        for name in ("map.html", "map.css", "map.js")
    }
    content = json.dumps(_content(scene, level, sources), ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(content.encode(), 6, mtime=0)).decode()
    text = program["map.html"]
    for name, value in (
        ("title", escape(title)),
        ("css", program["map.css"]),
        ("js", program["map.js"]),
        ("data", packed),
    ):
        text = text.replace(f"{{{{{name}}}}}", value)
    return text


def _content(scene: Scene, level: int, sources: bool) -> dict[str, Any]:
    index = scene.index
    place = {document.id: i for i, document in enumerate(index.documents)}
    types = sorted({entity.type for entity in index.entities})
    order: list[int] = scene.order.tolist()
    relationships = [index.relationships[number] for number in order]
    left, top, width, height = frame(scene.positions, scene.radius)
    return {
        "level": level,
        "levels": len(index.levels),
        "folded": len(index.entities) > MAX_OPEN_ENTITIES,
        "frame": [round(v, 1) for v in (left, top, width, height)],
        "types": types,
        "entities": {
            "name": [e.name for e in index.entities],
            "type": [types.index(e.type) for e in index.entities],
            "said": [e.description for e in index.entities],
            "degree": [e.degree for e in index.entities],
            "x": scene.positions[:, 0].round(1).tolist(),
            "y": scene.positions[:, 1].round(1).tolist(),
            "r": scene.radius.round(1).tolist(),
            "at": [_places(e.spans, e.chunk_ids, index, place) for e in index.entities],
        },
        "edges": {
            "source": scene.edges.source.tolist(),
            "target": scene.edges.target.tolist(),
            "weight": [round(r.weight, 2) for r in relationships],
            "number": order,
            "said": [r.description[:DESCRIPTION_CHARS] for r in relationships],
            "at": [_places(r.spans[:1], r.chunk_ids, index, place)[:1] for r in relationships],
        },
        "home": [level_home.tolist() for level_home in scene.home],
        "communities": [
            {
                "level": c.level,
                "parent": c.parent,
                "children": c.children,
                "title": scene.title(c.number),
                "colour": scene.colour[c.number],
                "circle": [round(v, 1) for v in (circle.x, circle.y, circle.radius)],
                "size": c.size,
                "report": report.number if (report := index.report_of_community.get(c.number)) else -1,
            }
            for c, circle in zip(index.communities, scene.circle, strict=True)
        ],
        "reports": [_report(report) for report in index.reports],
        "claims": [[c.subject, c.description, *_places(c.spans, c.chunk_ids, index, place)] for c in index.claims],
        "chunks": [[place[c.document_id], c.start, c.end] for c in index.chunks],
        "documents": [[d.title, d.text if sources else ""] for d in index.documents],
    }


def _report(report: Report) -> dict[str, Any]:
    findings = [[finding.summary, finding.explanation] for finding in report.findings]
    return {
        "community": report.community,
        "summary": report.summary,
        "rating": report.rating,
        "findings": findings,
    }


def _places(
    spans: tuple[Span, ...], chunk_ids: tuple[str, ...], index: Index, place: dict[str, int]
) -> list[list[int]]:
    """Return the first places of a row: document, start and end; those of its chunks where it has none of
    its own."""
    own = spans[:MAX_SPANS] or [index.chunk_of[c].span for c in chunk_ids[:MAX_SPANS] if c in index.chunk_of]
    return [[place[span.document_id], span.start, span.end] for span in own]
