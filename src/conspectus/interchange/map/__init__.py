"""The map of an index: its graph laid out by communities, as one HTML page that needs no network."""
# scipy has incomplete types:
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import base64
import colorsys
import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np
from jinja2 import Environment
from markupsafe import Markup
from scipy import fft, ndimage
from scipy.spatial import cKDTree

from conspectus import Index
from conspectus.rows import Claim, Community, Entity, Relationship, Span
from conspectus.text.words import name_key

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

MAX_OPEN_ENTITIES = 20_000
"""Entities of the largest graph that is drawn at once; of larger ones communities are opened on demand."""
MAX_SPANS = 3
"""Spans in the sources shown for each entity and relationship."""
DESCRIPTION_CHARS = 300
"""Characters of a relationship's description."""
SMALLEST, LARGEST = 1.6, 11.0
"""Radius of the entities with the lowest and the highest degree."""
GREY = "#9a9a9a"
"""Colour of what is in no community."""


@dataclass(frozen=True)
class Edges:
    """Edge `i` joins nodes `source[i]` and `target[i]` with a weight above 0."""

    source: Ints
    target: Ints
    weight: Floats


class Circle(NamedTuple):
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
    relationships: Sequence[Relationship]
    """Of each edge."""
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
        """Return the title of the report of a community, else the names of its three best connected entities."""
        if report := self.index.report_of_community.get(community):
            return report.title
        members = [self.index.entities[n] for n in self.index.communities[community].entity_numbers]
        names: dict[str, str] = {}  # of names that differ only in case and punctuation the first
        for entity in sorted(members, key=lambda e: (-e.degree, e.number)):
            names.setdefault(name_key(entity.name), entity.name)
        return ", ".join(list(names.values())[:3])


def scene_of(index: Index, seed: int = 0) -> Scene:
    """Lay out the graph of an index; the same index and seed give the same scene."""
    degree = np.array([e.degree for e in index.entities], np.float64)
    radius = SMALLEST + (LARGEST - SMALLEST) * np.sqrt(degree / max(degree.max(initial=0.0), 1.0))
    number = index.entity_of_name
    relationships = sorted(index.relationships, key=lambda r: (-r.weight, r.number))
    edges = Edges(
        np.array([number[r.source] for r in relationships], np.int64),
        np.array([number[r.target] for r in relationships], np.int64),
        np.array([max(r.weight, 1e-6) for r in relationships], np.float64),
    )
    home = [np.full(len(index.entities), -1, np.int64) for _ in index.levels]
    for level, communities in enumerate(home):
        for community in index.communities_at(level):
            communities[list(community.entity_numbers)] = community.number
    positions = lay_out(np.pi * radius**2, edges, home, seed)
    circles: list[Circle] = []
    for community in index.communities:
        members = list(community.entity_numbers)
        area = radius[members] ** 2
        x, y = (positions[members] * area[:, None]).sum(0) / max(area.sum(), 1e-9)
        circles.append(Circle(float(x), float(y), float(np.sqrt(area.sum() / 0.3))))
    return Scene(index, positions, radius, edges, relationships, home, colours(index.communities), circles)


def frame(scene: Scene) -> tuple[float, float, float, float]:
    """Return the left, top, width and height of what holds all nodes and a margin."""
    if not len(scene.positions):
        return (-1.0, -1.0, 2.0, 2.0)
    low = (scene.positions - scene.radius[:, None]).min(0)
    high = (scene.positions + scene.radius[:, None]).max(0)
    margin: Any = 0.04 * (high - low).max()
    (left, top), (width, height) = (low - margin).tolist(), (high - low + 2 * margin).tolist()
    return left, top, width, height


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


# The layout

STEPS = 120
"""Steps on each level: the largest moves shrink to nothing over them."""
PULL, COHESION = 2.2, 4.0
"""Pull of edges and of the middle of a community, where gravity is 1: clusters show on the podcast sample."""
CELLS, HALF = 192, 1.6
"""Cells of the mesh of repulsion in each direction, and half its width; what is farther out counts as at its edge."""
FILL, MARGIN = 0.16, 1.15
"""Share of the disc that nodes cover, and the least distance of two nodes as a multiple of their radii."""


def lay_out(area: Floats, edges: Edges, levels: Sequence[Ints], seed: int = 0) -> Floats:
    """Return the position of each node, an array of n rows (x, y), in the unit of `area`, what each node covers.

    `levels` gives, from the root down, the group of each node (-1: none). The groups are laid out first, then their
    parts around them, by the forces of ForceAtlas2 (Jacomy et al. 2014). Equal arguments give equal positions.
    """
    n = len(area)
    if n < 2:
        return np.zeros((n, 2))
    random = np.random.default_rng(seed)
    above, positions = np.zeros(n, np.int64), np.zeros((1, 2))
    for numbers in [*levels, np.arange(n)]:
        loose = numbers < 0  # what is in no group is one by itself
        group = np.where(loose, numbers.max() + 1 + np.arange(n), numbers)
        _, first, group = np.unique(group, return_index=True, return_inverse=True)
        parent, mass = above[first], np.bincount(group, area) / area.sum()
        spread = np.sqrt(np.bincount(parent, mass)[parent] * random.random(len(mass)))
        angle = 2 * np.pi * random.random(len(mass))
        start = positions[parent] + spread[:, None] * np.stack((np.cos(angle), np.sin(angle)), axis=1)
        across = group[edges.source] != group[edges.target]
        joined = Edges(group[edges.source][across], group[edges.target][across], edges.weight[across])
        positions = _relaxed(start, mass, joined, parent)
        above = group
    positions = positions[above]
    reach = max(float(np.quantile(np.hypot(*positions.T), 0.98)), 1e-9)
    return _apart(positions * np.sqrt(area.sum() / (FILL * np.pi)) / reach, np.sqrt(area / np.pi))


def _relaxed(positions: Floats, mass: Floats, edges: Edges, parent: Ints) -> Floats:
    """Return the positions after repulsion, gravity, the pull of edges and that of what shares a parent.

    Repulsion by 1 / distance is a convolution on a mesh, so that a step takes O(n) and not O(n^2).
    """
    n = len(positions)
    offset = np.fft.fftfreq(2 * CELLS, 1 / (2 * CELLS)) * 2 * HALF / CELLS
    x, y = np.meshgrid(offset, offset, indexing="ij")
    kernel = fft.fft2((x + 1j * y) / (x * x + y * y + (HALF / CELLS) ** 2))
    strength = np.bincount(edges.source, edges.weight, n) + np.bincount(edges.target, edges.weight, n)
    # by its share of what its two ends have, so that neither hubs nor heavy pairs rule the map
    pull = PULL * edges.weight / np.sqrt(strength[edges.source] * strength[edges.target])
    share = np.bincount(parent, mass)[:, None]
    cohesion = COHESION if len(share) > 1 else 0
    for step in range(STEPS):
        cell = (np.clip(positions, -HALF, HALF) + HALF) * CELLS / (2 * HALF) - 0.5
        density, *_ = np.histogram2d(*cell.T, bins=CELLS, range=[[-0.5, CELLS - 0.5]] * 2, weights=mass)
        field = fft.ifft2(fft.fft2(density, (2 * CELLS, 2 * CELLS)) * kernel)[:CELLS, :CELLS]
        pushed = ndimage.map_coordinates(field, cell.T, order=1, mode="nearest")
        force = np.stack((pushed.real, pushed.imag), axis=1) - positions
        tension = pull[:, None] * (positions[edges.target] - positions[edges.source])
        for axis in (0, 1):
            middle = np.bincount(parent, mass * positions[:, axis]) / share[:, 0]
            force[:, axis] += cohesion * (middle[parent] - positions[:, axis])
            force[:, axis] += np.bincount(edges.source, tension[:, axis], n)
            force[:, axis] -= np.bincount(edges.target, tension[:, axis], n)
        move, longest = 0.09 * force, 0.06 * (1 - step / STEPS)
        positions = positions + move * np.minimum(1, longest / np.maximum(np.hypot(*move.T), 1e-12))[:, None]
    return positions


def _apart(positions: Floats, radius: Floats) -> Floats:
    """Return the positions with overlapping nodes pushed apart, the smaller of two the farther."""
    reach = 2 * MARGIN * float(radius.max())
    for _ in range(12):
        a, b = cKDTree(positions).query_pairs(reach, output_type="ndarray").T
        gap = positions[b] - positions[a] + 1e-9
        distance = np.hypot(*gap.T)
        push = gap / distance[:, None] * np.maximum(0, MARGIN * (radius[a] + radius[b]) - distance)[:, None]
        share = (radius[b] / (radius[a] + radius[b]))[:, None]
        move = np.zeros_like(positions)
        np.add.at(move, a, -push * share)
        np.add.at(move, b, push * (1 - share))
        length = np.hypot(*move.T)
        positions = positions + move * np.minimum(1, reach / np.maximum(length, 1e-12))[:, None]
    return positions


# The page


def page(scene: Scene, *, title: str, level: int = 0, sources: bool = True) -> str:
    """Return the page; it opens on the communities of `level`. `sources` keeps the texts of the documents in it."""
    content = _content(scene) | {"level": level}
    content["documents"] = [[d.title, d.text if sources else ""] for d in scene.index.documents]
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    packed = base64.b64encode(gzip.compress(data.encode(), 6, mtime=0)).decode()
    html, css, js = (
        files(__name__).joinpath(f"map.{suffix}").read_text("utf-8") for suffix in ("html", "css", "js")
    )
    values = {"title": title, "css": Markup(css), "js": Markup(js), "data": packed}  # noqa: S704  # files of ours
    return Environment(autoescape=True).from_string(html).render(values)


def _content(scene: Scene) -> dict[str, Any]:
    """Return the data of the page but for documents; lists go in the order of the index, edges in that of the scene."""
    index = scene.index
    types = sorted({entity.type for entity in index.entities})
    return {
        "levels": len(index.levels),
        "folded": len(index.entities) > MAX_OPEN_ENTITIES,
        "frame": [round(v, 1) for v in frame(scene)],
        "types": types,
        "entities": {
            "name": [e.name for e in index.entities],
            "type": [types.index(e.type) for e in index.entities],
            "said": [e.description for e in index.entities],
            "degree": [e.degree for e in index.entities],
            "x": scene.positions[:, 0].round(1).tolist(),
            "y": scene.positions[:, 1].round(1).tolist(),
            "r": scene.radius.round(1).tolist(),
            "at": [_spans(e, index) for e in index.entities],
        },
        "edges": {
            "source": scene.edges.source.tolist(),
            "target": scene.edges.target.tolist(),
            "weight": [round(r.weight, 2) for r in scene.relationships],
            "number": [r.number for r in scene.relationships],
            "said": [r.description[:DESCRIPTION_CHARS] for r in scene.relationships],
            "at": [_spans(r, index)[:1] for r in scene.relationships],
        },
        "home": [level_home.tolist() for level_home in scene.home],
        "communities": [_community(community, scene) for community in index.communities],
        "reports": [
            {"community": r.community, "summary": r.summary, "rating": r.rating}
            | {"findings": [[f.summary, f.explanation] for f in r.findings]}
            for r in index.reports
        ],
        "claims": [[c.subject, c.description, *_spans(c, index)] for c in index.claims],
        "chunks": [_span(c.span, index) for c in index.chunks],
    }


def _community(community: Community, scene: Scene) -> dict[str, Any]:
    report = scene.index.report_of_community.get(community.number)
    return {name: getattr(community, name) for name in ("level", "parent", "children", "size")} | {
        "title": scene.title(community.number),
        "colour": scene.colour[community.number],
        "circle": [round(v, 1) for v in scene.circle[community.number]],
        "report": report.number if report else -1,
    }


def _spans(row: Entity | Relationship | Claim, index: Index) -> list[list[int]]:
    """Return the first spans of a row, those of its chunks where it has none of its own."""
    chunks = (index.chunk_of[chunk].span for chunk in row.chunk_ids[:MAX_SPANS] if chunk in index.chunk_of)
    return [_span(span, index) for span in row.spans[:MAX_SPANS] or chunks]


def _span(span: Span, index: Index) -> list[int]:
    return [index.document_of[span.document_id].number, span.start, span.end]
