"""Layout of a hierarchy as nested discs: communities within communities, entities within the smallest ones.

The area of a disc grows with what it holds, siblings that are connected lie side by side, and the same input gives the
same layout. Discs are packed greedily: each moves from the direction of its connected siblings towards the centre until
it touches another one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

DIRECTIONS = 64
"""Directions from which a disc is moved towards the centre: more pack at most 2 % closer on the podcast corpus."""
GAP = 0.06
"""Space around a disc, as a share of its radius: the outlines of neighbours stay apart at all zoom levels."""
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
"""Radians between two points of a sunflower, which fills a disc evenly whatever their number."""
PULL = 0.75
"""Weight of the distance to connected siblings against that to the centre when a direction is chosen."""


@dataclass(frozen=True)
class Layout:
    """Discs of communities, rows (x, y, radius), and positions of entities, rows (x, y); the whole fits a unit disc."""

    discs: Floats
    points: Floats


def nested_discs(
    children: Sequence[Sequence[int]],
    roots: Sequence[int],
    members: Mapping[int, Sequence[int]],
    edges: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Floats],
    n_points: int,
) -> Layout:
    """Lay out a hierarchy of communities and the entities in them.

    children: the communities within each community, by number.
    roots: the communities that are in no other.
    members: the entities of each community without children, the most important first.
    edges: rows of source, target and weight between entities.
    n_points: number of entities; those in no community lie at the origin.
    """
    n = len(children)
    leaf_of = np.full(n_points, -1, np.int64)
    for community, entities in members.items():
        leaf_of[list(entities)] = community
    parent, order = _parents(children, roots)
    ties = _sibling_ties(leaf_of, parent, edges)
    radius, offset = np.zeros(n), np.zeros((n, 2))
    for community in reversed(order):  # the inner ones first
        if children[community]:
            radius[community] = _pack(list(children[community]), radius, offset, ties)
        else:
            radius[community] = np.sqrt(max(len(members.get(community, ())), 1))
        radius[community] *= 1 + GAP
    whole = _pack(list(roots), radius, offset, ties) or 1.0
    centre = np.zeros((n, 2))
    for community in order:
        centre[community] = offset[community] + (centre[parent[community]] if parent[community] >= 0 else 0.0)
    points = np.zeros((n_points, 2))
    for community, entities in members.items():
        points[list(entities)] = centre[community] + _sunflower(len(entities)) * radius[community] / (1 + GAP)
    return Layout(np.column_stack([centre, radius]) / whole, points / whole)


def _parents(
    children: Sequence[Sequence[int]], roots: Sequence[int]
) -> tuple[np.ndarray[Any, Any], list[int]]:
    """Return the parent of each community, -1 for roots, and an order in which parents come before children."""
    parent, order = np.full(len(children), -1, np.int64), list(roots)
    for community in order:  # grows while it is read
        for child in children[community]:
            parent[child] = community
            order.append(child)
    return parent, order


def _sibling_ties(
    leaf_of: np.ndarray[Any, Any],
    parent: np.ndarray[Any, Any],
    edges: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Floats],
) -> dict[int, dict[int, float]]:
    """Return the weight of the edges between communities of one parent, by their numbers."""
    source, target, weight = leaf_of[edges[0]], leaf_of[edges[1]], np.asarray(edges[2], np.float64)
    known = (source >= 0) & (target >= 0)
    source, target, weight = source[known], target[known], weight[known]
    depth = np.zeros(len(parent), np.int64)
    for community in range(len(parent)):
        depth[community] = 0 if parent[community] < 0 else -1
    chains = {c: _chain(c, parent) for c in np.unique(np.concatenate([source, target]))} if len(source) else {}
    ties: dict[int, dict[int, float]] = {}
    pairs, where = np.unique(np.stack([source, target], axis=1), axis=0, return_inverse=True)
    sums = np.bincount(where.ravel(), weight, len(pairs))
    for (a, b), total in zip(pairs.tolist(), sums.tolist(), strict=True):
        for one, other in zip(chains[a], chains[b], strict=False):  # from the root down to where they part
            if one != other:
                ties.setdefault(one, {})[other] = ties.get(one, {}).get(other, 0.0) + total
                ties.setdefault(other, {})[one] = ties.get(other, {}).get(one, 0.0) + total
                break
    return ties


def _chain(community: int, parent: np.ndarray[Any, Any]) -> list[int]:
    """Return a community and all around it, the root first."""
    chain = [int(community)]
    while parent[chain[-1]] >= 0:
        chain.append(int(parent[chain[-1]]))
    return chain[::-1]


def _sunflower(n: int) -> Floats:
    """Return `n` points that fill the unit disc evenly, the first in its centre."""
    place = np.arange(n, dtype=np.float64)
    distance, angle = np.sqrt(place / max(n, 1)) * 0.92, place * GOLDEN_ANGLE
    return np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])


def _pack(discs: list[int], radius: Floats, offset: Floats, ties: Mapping[int, Mapping[int, float]]) -> float:
    """Pack discs around the origin without overlap, write their offsets, and return the radius around all of them."""
    waiting = sorted(discs, key=lambda d: (-radius[d], d))
    angles = np.linspace(0, 2 * np.pi, DIRECTIONS, endpoint=False)
    unit = np.column_stack([np.cos(angles), np.sin(angles)])
    xy, r = np.empty((len(discs), 2)), np.empty(len(discs))
    position: dict[int, int] = {}
    for number, disc in enumerate(waiting):
        r[number] = radius[disc]
        if number == 0:
            xy[0] = 0.0
        else:
            distance = _free_distance(unit, xy[:number], r[:number] + radius[disc])
            candidates = unit * distance[:, None]
            near = {position[d]: w for d, w in ties.get(disc, {}).items() if d in position}
            cost = distance
            if near:
                weights = np.array(list(near.values()))
                pull = (xy[list(near)] * weights[:, None]).sum(0) / weights.sum()
                cost = (1 - PULL) * distance + PULL * np.hypot(*(candidates - pull).T)
            xy[number] = candidates[int(np.argmin(np.round(cost, 9)))]
        position[disc] = number
    centre, around = _enclosing(xy, r)
    offset[waiting] = xy - centre
    return around


def _free_distance(unit: Floats, xy: Floats, apart: Floats) -> Floats:
    """Return for each direction the distance from the origin at which a disc touches the outermost one in its way.

    apart: the distance that its centre needs from the centre of each disc.
    """
    along = unit @ xy.T
    square = apart**2 - (xy**2).sum(1) + along**2
    reach = np.where(square >= 0, along + np.sqrt(np.maximum(square, 0.0)), 0.0)
    return reach.max(1)


def _enclosing(xy: Floats, r: Floats) -> tuple[Floats, float]:
    """Return centre and radius of a disc around discs: a few steps towards the one that sticks out most."""
    if not len(xy):
        return np.zeros(2), 0.0
    centre = np.average(xy, axis=0, weights=r**2)
    for step in range(60):
        distance = np.hypot(*(xy - centre).T) + r
        worst = int(np.argmax(distance))
        centre = centre + (xy[worst] - centre) * 0.5 / (step + 2)
    return centre, float((np.hypot(*(xy - centre).T) + r).max())
