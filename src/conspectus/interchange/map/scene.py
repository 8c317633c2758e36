"""What a map shows: each entity with its place, size and community on every level, edges, colours and
titles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from conspectus.index import Index
from conspectus.interchange.map.colours import colours
from conspectus.interchange.map.layout import Edges, Floats, Ints, lay_out
from conspectus.text.words import name_key

SMALLEST, LARGEST = 1.6, 11.0
"""Radius of the entities with the lowest and the highest degree."""


@dataclass(frozen=True)
class Circle:
    """Where a community lies: the middle of its entities, the radius of a disc as large as their share."""

    x: float
    y: float
    radius: float


@dataclass(frozen=True)
class Scene:
    """Row `i` of `places` (x, y) and `radius` is entity `i`."""

    index: Index
    places: Floats
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

    def title(self, community: int) -> str:
        """Return what a community is called: the title of its report, else its most connected entities.

        Names that differ in case and spelling alone stand there once.
        """
        report = self.index.report_of_community.get(community)
        if report is not None:
            return report.title
        members = self.index.communities[community].entity_numbers
        entities = self.index.entities
        best = (entities[n].name for n in sorted(members, key=lambda n: (-entities[n].degree, n)))
        told: dict[str, str] = {}
        for name in best:
            told.setdefault(name_key(name), name)
            if len(told) == 3:
                break
        return ", ".join(told.values())


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
