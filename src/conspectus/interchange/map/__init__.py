"""The map of an index: its graph laid out by communities, as one HTML page that needs nothing beside it.

`picture` draws the same scene for papers.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import cos, pi, sin
from typing import Any

import numpy as np
from jinja2 import Environment
from markupsafe import Markup

from conspectus import Index
from conspectus.interchange.map.layout import Edges, Floats, Ints, lay_out
from conspectus.rows import Claim, Community, Entity, Relationship, Span
from conspectus.text.words import name_key

MAX_OPEN_ENTITIES = 20_000
"""Entities of the largest graph that is drawn at once; of larger ones communities are opened on demand."""
MAX_SPANS = 3
"""Spans in the sources shown for each entity and relationship."""
DESCRIPTION_CHARS = 300
"""Characters of a relationship's description."""
SMALLEST, LARGEST = 1.6, 11.0
"""Radius of the entities with the lowest and the highest degree."""


@dataclass(frozen=True)
class Circle:
    """A community on the map: the centre of its entities, and the radius of a disc as large as their area."""

    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Scene:
    """Row `i` of `positions` (x, y) and `radius` is entity `i`."""

    index: Index
    positions: Floats
    radius: Floats
    edges: Edges
    """The strongest first."""
    order: Ints
    """The number of the relationship that each edge is."""
    home: list[Ints]
    """The community of each entity in the view of each level, -1 for none."""
    colour: list[str]
    """Of each community."""
    circle: list[Circle]
    """Of each community."""

    def entity_colour(self, entity: int, level: int) -> str:
        """Return the colour of the community of an entity on a level, grey if it has none."""
        community = int(self.home[level][entity]) if self.home else -1
        return self.colour[community] if community >= 0 else GREY

    def title(self, community: int) -> str:
        """Return the title of the report of a community, else the names of its three best connected entities.

        Of names that differ only in case, accents and punctuation the first is taken.
        """
        report = self.index.report_of_community.get(community)
        if report is not None:
            return report.title
        members = self.index.communities[community].entity_numbers
        entities = self.index.entities
        names = (entities[n].name for n in sorted(members, key=lambda n: (-entities[n].degree, n)))
        shown: dict[str, str] = {}
        for name in names:
            shown.setdefault(name_key(name), name)
            if len(shown) == 3:
                break
        return ", ".join(shown.values())


def scene_of(index: Index, seed: int = 0) -> Scene:
    """Lay out the graph of an index; the same index and seed give the same scene."""
    entities, communities = list(index.entities), list(index.communities)
    degree = np.array([e.degree for e in entities], np.float64)
    top = float(degree.max(initial=1.0)) or 1.0
    radius = SMALLEST + (LARGEST - SMALLEST) * np.sqrt(degree / top)
    number = index.entity_of_name
    relationships = sorted(index.relationships, key=lambda r: (-r.weight, r.number))
    edges = Edges(
        np.array([number[r.source] for r in relationships], np.int64),
        np.array([number[r.target] for r in relationships], np.int64),
        np.array([max(r.weight, 1e-6) for r in relationships], np.float64),
    )
    home = [_home(index, level) for level in index.levels]
    places = lay_out(np.pi * radius**2, edges, home, seed)
    circle = [_circle(np.array(c.entity_numbers, np.int64), places, radius) for c in communities]
    order = np.array([r.number for r in relationships], np.int64)
    return Scene(index, places, radius, edges, order, home, colours(communities), circle)


def _home(index: Index, level: int) -> Ints:
    home = np.full(len(index.entities), -1, np.int64)
    for community in index.communities_at(level):
        home[list(community.entity_numbers)] = community.number
    return home


def _circle(members: Ints, places: Floats, radius: Floats) -> Circle:
    if not len(members):
        return Circle(0.0, 0.0, 0.0)
    area = radius[members] ** 2
    x, y = ((places[members] * area[:, None]).sum(0) / area.sum()).tolist()
    return Circle(x, y, float(np.sqrt(area.sum() / 0.3)))


def frame(places: Floats, radius: Floats, margin: float = 0.04) -> tuple[float, float, float, float]:
    """Return the left, top, width and height of what holds all nodes and a margin."""
    if not len(places):
        return (-1.0, -1.0, 2.0, 2.0)
    low = (places - radius[:, None]).min(0)
    high = (places + radius[:, None]).max(0)
    aside: Any = margin * (high - low).max()
    (left, top), (width, height) = (low - aside).tolist(), (high - low + 2 * aside).tolist()
    return left, top, width, height


GREY = "#9a9a9a"
"""What is in no community."""
_GOLDEN = 137.508  # degrees: the golden angle, so that neighbours differ most in hue
_TONES = ((0.66, 0.15), (0.58, 0.13), (0.74, 0.13))
"""Lightness and chroma that roots take in turn."""


def colours(communities: Sequence[Community]) -> list[str]:
    """Return a colour `#rrggbb` for each community, the largest roots the farthest apart."""
    shades: dict[int, tuple[float, float, float]] = {}
    roots = sorted((c for c in communities if c.parent < 0), key=lambda c: (-c.size, c.number))
    for place, root in enumerate(roots):
        lightness, chroma = _TONES[place % len(_TONES)]
        shades[root.number] = (lightness, chroma, (25 + place * _GOLDEN) % 360)
    below = [c for c in sorted(communities, key=lambda c: c.level) if c.children]
    for community in below:
        _shade(community.children, shades[community.number], 32 / (1 + community.level), shades)
    return [hexadecimal(*shades[c.number]) if c.number in shades else GREY for c in communities]


def _shade(
    children: Iterable[int],
    parent: tuple[float, float, float],
    width: float,
    shades: dict[int, tuple[float, float, float]],
) -> None:
    listed = list(children)
    lightness, chroma, hue = parent
    for place, child in enumerate(listed):
        aside = (place + 0.5) / len(listed) - 0.5
        lighter = (0.0, 0.07, -0.07)[place % 3]
        shades[child] = (min(0.82, max(0.5, lightness + lighter)), chroma, (hue + 2 * width * aside) % 360)


def hexadecimal(lightness: float, chroma: float, hue: float) -> str:
    """Return a colour of the OKLCh space (Ottosson 2020; hue in degrees) as `#rrggbb`, cut to what a screen
    shows."""
    a, b = chroma * cos(hue * pi / 180), chroma * sin(hue * pi / 180)
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    linear = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    return "#" + "".join(f"{_eight_bits(value):02x}" for value in linear)


def _eight_bits(value: float) -> int:
    value = min(1.0, max(0.0, value))
    return round(255 * (12.92 * value if value <= 0.0031308 else 1.055 * value ** (1 / 2.4) - 0.055))


# The page


def page(scene: Scene, *, title: str, level: int = 0, sources: bool = True) -> str:
    """Return the page; it opens on the communities of `level`. `sources` keeps the texts of the documents in it."""
    content = _content(scene) | {"level": level}
    content["documents"] = [[d.title, d.text if sources else ""] for d in scene.index.documents]
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(data.encode(), 6, mtime=0)).decode()
    html, css, js = (
        files("conspectus.interchange.map").joinpath(f"map.{suffix}").read_text("utf-8")
        for suffix in ("html", "css", "js")
    )
    values = {"title": title, "css": Markup(css), "js": Markup(js), "data": packed}  # noqa: S704  # files of ours
    return Environment(autoescape=True).from_string(html).render(values)


def _content(scene: Scene) -> dict[str, Any]:
    """Return the data of the page but for documents; lists go in the order of the index, edges in that of the scene."""
    index = scene.index
    types = sorted({entity.type for entity in index.entities})
    order: list[int] = scene.order.tolist()
    relationships = [index.relationships[number] for number in order]
    return {
        "levels": len(index.levels),
        "folded": len(index.entities) > MAX_OPEN_ENTITIES,
        "frame": [round(v, 1) for v in frame(scene.positions, scene.radius)],
        "types": types,
        "entities": {
            "name": [e.name for e in index.entities],
            "type": [types.index(e.type) for e in index.entities],
            "said": [e.description for e in index.entities],
            "degree": [e.degree for e in index.entities],
            "x": scene.positions[:, 0].round(1).tolist(),
            "y": scene.positions[:, 1].round(1).tolist(),
            "r": scene.radius.round(1).tolist(),
            "at": [_places(e, index) for e in index.entities],
        },
        "edges": {
            "source": scene.edges.source.tolist(),
            "target": scene.edges.target.tolist(),
            "weight": [round(r.weight, 2) for r in relationships],
            "number": order,
            "said": [r.description[:DESCRIPTION_CHARS] for r in relationships],
            "at": [_places(r, index)[:1] for r in relationships],
        },
        "home": [level_home.tolist() for level_home in scene.home],
        "communities": [_community(community, scene) for community in index.communities],
        "reports": [
            {"community": r.community, "summary": r.summary, "rating": r.rating}
            | {"findings": [[f.summary, f.explanation] for f in r.findings]}
            for r in index.reports
        ],
        "claims": [[c.subject, c.description, *_places(c, index)] for c in index.claims],
        "chunks": [_place(c.span, index) for c in index.chunks],
    }


def _community(community: Community, scene: Scene) -> dict[str, Any]:
    circle = scene.circle[community.number]
    report = scene.index.report_of_community.get(community.number)
    return {
        "level": community.level,
        "parent": community.parent,
        "children": community.children,
        "title": scene.title(community.number),
        "colour": scene.colour[community.number],
        "circle": [round(v, 1) for v in (circle.x, circle.y, circle.radius)],
        "size": community.size,
        "report": report.number if report else -1,
    }


def _places(row: Entity | Relationship | Claim, index: Index) -> list[list[int]]:
    """Return the first places of a row, those of its chunks where it has none of its own."""
    chunks = (index.chunk_of[chunk].span for chunk in row.chunk_ids[:MAX_SPANS] if chunk in index.chunk_of)
    return [_place(span, index) for span in row.spans[:MAX_SPANS] or chunks]


def _place(span: Span, index: Index) -> list[int]:
    return [index.document_of[span.document_id].number, span.start, span.end]
