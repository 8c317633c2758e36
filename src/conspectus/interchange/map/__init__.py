"""The map of an index: its graph laid out by communities, for the web app and as one page without a server."""

from __future__ import annotations

import base64
import colorsys
import gzip
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import conspectus
from conspectus import Index
from conspectus.algorithms.layout import Layout, nested_discs
from conspectus.rows import Community, Entity, Relationship, Span
from conspectus.text.words import name_key

Array = np.ndarray[Any, Any]

MAX_EDGES = 60_000
"""Relationships that are sent, the strongest first: 480 kB. The page draws at most 12,000 of them at once."""
MAX_SPANS = 3
"""Sources of an entity that are shown on a page without a server."""
DESCRIPTION_CHARS = 300
"""Characters of a relationship's description on such a page."""


@dataclass(frozen=True)
class MapData:
    """Positions as arrays of 32-bit numbers after a JSON header, and names of what they are positions of.

    Entities are points, the best connected first, so that the first points are those that a small map shows.
    """

    arrays: bytes
    names: dict[str, list[Any]]
    """`communities` by number, `entities` by point, and `aliases` as pairs of a point and another name of it."""


def layout_of(index: Index) -> Layout:
    """Lay out the graph of an index: a disc for each community, a point for each entity."""
    entities, number = index.entities, index.entity_of_name
    members = {
        c.number: sorted(c.entity_numbers, key=lambda n: (-entities[n].degree, n))
        for c in index.communities
        if not c.children
    }
    rows = [(number[r.source], number[r.target], r.weight) for r in index.relationships]
    source, target, weight = np.array(rows, np.float64).reshape(-1, 3).T
    edges = source.astype(np.int64), target.astype(np.int64), weight
    roots = [c.number for c in index.communities if c.parent < 0]
    return nested_discs([c.children for c in index.communities], roots, members, edges, len(entities))


def map_data(index: Index) -> MapData:
    """Lay out an index and encode the result."""
    layout, entities, number = layout_of(index), index.entities, index.entity_of_name
    order = sorted(range(len(entities)), key=lambda n: (-entities[n].degree, n))
    point_of = np.empty(len(order), np.int64)
    point_of[order] = np.arange(len(order))
    home = np.full(len(order), -1, np.int32)
    for community in index.communities:
        if not community.children:
            home[list(community.entity_numbers)] = community.number
    rows = np.array([(n, entities[n].degree, home[n]) for n in order], np.int32)
    strongest = sorted(index.relationships, key=lambda r: (-r.weight, r.number))[:MAX_EDGES]
    ends = np.array([(number[r.source], number[r.target]) for r in strongest], np.int64).reshape(-1, 2)
    head = {
        "communities": len(index.communities),
        "entities": len(order),
        "edges": len(ends),
        "levels": len(index.levels),
    }
    points = layout.points[order].astype("<f4")
    arrays = [layout.discs.astype("<f4"), _hierarchy(index), points, rows, point_of[ends].astype(np.uint32)]
    names = {
        "communities": [title_of(index, n) for n in range(len(index.communities))],
        "entities": [entities[n].name for n in order],
        "aliases": [[int(point_of[e.number]), alias] for e in entities for alias in e.aliases],
    }
    return MapData(_encoded(head, arrays), names)


STORED = "map.bin"
"""The file of an index folder with the map of one snapshot: a line of JSON with the names, and the arrays."""


def stored_map(index: Index, *, write: bool) -> MapData:
    """Return the map of an index as it was stored with it, else lay it out, and store it where that is possible.

    The layout takes 2 s of CPU at 20,000 entities and 8 s at 100,000, reading it 0.1 s.
    """
    made_by = {"snapshot": index.snapshot, "version": conspectus.__version__}
    file = index.folder / STORED if index.folder else None
    if file:
        with suppress(OSError, ValueError, KeyError), file.open("rb") as stored:
            head = json.loads(stored.readline())
            if made_by.items() <= head.items():
                return MapData(stored.read(), head["names"])
    data = map_data(index)
    if file and write:
        with suppress(OSError), TemporaryDirectory(dir=file.parent, prefix=".map-") as folder:
            line = json.dumps({**made_by, "names": data.names}).encode()
            written = Path(folder) / STORED
            written.write_bytes(line + b"\n" + data.arrays)
            written.replace(file)
    return data


def _hierarchy(index: Index) -> Array:
    """Return level, parent, report and root of each community."""
    root: dict[int, int] = {}
    rows: list[tuple[int, int, int, int]] = []
    for community in index.communities:
        parent = community.parent
        root[community.number] = community.number if parent < 0 else root[parent]
        report = index.report_of_community.get(community.number)
        rows.append((community.level, parent, report.number if report else -1, root[community.number]))
    return np.array(rows, np.int32).reshape(-1, 4)


def _encoded(head: dict[str, int], arrays: list[Array]) -> bytes:
    """Return a header of JSON, its length before it, padded so that the arrays after it are aligned."""
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 4)
    return b"".join(
        [len(text).to_bytes(4, "little"), text, *(np.ascontiguousarray(a).tobytes() for a in arrays)]
    )


def title_of(index: Index, community: int) -> str:
    """Return the title of a community's report, else the names of its three best connected entities."""
    if report := index.report_of_community.get(community):
        return report.title
    members = [index.entities[n] for n in index.communities[community].entity_numbers]
    names: dict[str, str] = {}  # of names that differ only in case and punctuation the first
    for entity in sorted(members, key=lambda e: (-e.degree, e.number)):
        names.setdefault(name_key(entity.name), entity.name)
    return ", ".join(list(names.values())[:3])


def colours(communities: Sequence[Community]) -> list[str]:
    """Return a colour `#rrggbb` for each community: hues of roots lie far apart, those of parts near the whole's."""
    hues: dict[int, float] = {}
    roots = sorted((c for c in communities if c.parent < 0), key=lambda c: (-c.size, c.number))
    for i, root in enumerate(roots):
        hues[root.number] = (0.07 + 0.382 * i) % 1  # by the golden angle neighbours differ most
    shades = dict.fromkeys(hues, 0.52)
    for community in sorted(communities, key=lambda c: c.level):
        for i, child in enumerate(community.children):
            aside = ((i + 0.5) / len(community.children) - 0.5) / (6 + 6 * community.level)
            hues[child] = (hues[community.number] + aside) % 1
            shades[child] = min(0.7, max(0.4, shades[community.number] + (0.0, 0.08, -0.08)[i % 3]))
    rgb = [colorsys.hls_to_rgb(hues[c.number], shades[c.number], 0.45) for c in communities]
    return ["#" + "".join(f"{round(255 * value):02x}" for value in values) for values in rgb]


# The page without a server

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="generator" content="Conspectus">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<style>{css}</style>
</head>
<body>
<div id="app"></div>
<script type="application/octet-stream" id="arrays">{arrays}</script>
<script type="application/octet-stream" id="texts">{texts}</script>
<script>{js}</script>
</body>
</html>
"""


def page(index: Index, *, title: str, level: int = 0, sources: bool = True) -> str:
    """Return the page; it opens with the communities down to `level`. `sources` keeps the texts of the documents."""
    data = map_data(index)
    texts = {"title": title, "level": level, "names": data.names, **_texts(index, sources)}
    packed = json.dumps(texts, ensure_ascii=False, separators=(",", ":")).encode()
    css, js = (files(__name__).joinpath(name).read_text("utf-8") for name in ("map.css", "map.js"))
    js = js.replace("</script", "<\\/script")  # which would end the script element
    return _PAGE.format(
        title=escape(title), css=css, js=js, arrays=_packed(data.arrays), texts=_packed(packed)
    )


def _packed(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, 6, mtime=0)).decode()


def _texts(index: Index, sources: bool) -> dict[str, Any]:
    """Return what the page says of entities, relationships and reports, in the order of the index."""
    types = sorted({entity.type for entity in index.entities})
    number = index.entity_of_name
    strongest = sorted(index.relationships, key=lambda r: (-r.weight, r.number))
    return {
        "types": types,
        "entities": {
            "type": [types.index(e.type) for e in index.entities],
            "description": [e.description for e in index.entities],
            "spans": [_spans(e, index, MAX_SPANS) for e in index.entities],
        },
        "edges": {
            "source": [number[r.source] for r in strongest],
            "target": [number[r.target] for r in strongest],
            "weight": [round(r.weight, 2) for r in strongest],
            "description": [r.description[:DESCRIPTION_CHARS] for r in strongest],
            "spans": [_spans(r, index, 1) for r in strongest],
        },
        "reports": [
            {"rating": r.rating, "summary": r.summary}
            | {"findings": [{"summary": f.summary, "explanation": f.explanation} for f in r.findings]}
            for r in index.reports
        ],
        "documents": [[d.title, d.text if sources else ""] for d in index.documents],
    }


def _spans(row: Entity | Relationship, index: Index, most: int) -> list[list[int]]:
    """Return the first spans of a row, those of its chunks where it has none of its own."""

    def numbers(span: Span) -> list[int]:
        return [index.document_of[span.document_id].number, span.start, span.end]

    chunks = (index.chunk_of[chunk].span for chunk in row.chunk_ids[:most] if chunk in index.chunk_of)
    return [numbers(span) for span in row.spans[:most] or chunks]
