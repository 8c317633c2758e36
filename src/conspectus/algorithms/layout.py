"""Layout of a hierarchy as nested discs: communities within communities, entities within the smallest ones.

The area of a disc grows with what it contains, connected siblings are next to each other, and the same input gives the
same layout. Discs are packed greedily, the largest first: each goes into the pocket between two packed ones that is
nearest to the middle and to its connected siblings. Small ones without connections form rings around the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from conspectus.algorithms.ranking import Floats, Ints

GAP = 0.06
"""Space around a disc, as a share of its radius: the outlines of neighbours stay apart at all zoom levels."""
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))
"""Radians between two points of a sunflower, which fills a disc evenly whatever their number."""
PULL = 0.25
"""Weight of the distance to connected siblings against that to the middle, by which a disc chooses a free pocket."""
SMALL = 0.12
"""Unconnected discs below this share of the radius of all the others are gathered in rings around them."""
RETRY = 0.85
"""A pocket too small for a disc is tested again for discs below this share of that disc's radius."""
BATCH = 24
"""Pockets that are tested at once: on the podcast corpus, the first free one is among them 19 times out of 20."""


@dataclass(frozen=True)
class Layout:
    """Discs of communities, rows (x, y, radius), and positions of entities, rows (x, y); the whole fits a unit disc."""

    discs: Floats
    points: Floats


def nested_discs(
    children: Sequence[Sequence[int]],
    roots: Sequence[int],
    members: Mapping[int, Sequence[int]],
    edges: tuple[Ints, Ints, Floats],
    n_points: int,
) -> Layout:
    """Lay out a hierarchy of communities and the entities in them.

    children: the communities within each community, by number.
    roots: the communities that are in no other.
    members: the entities of each community without children, the most important first.
    edges: rows of source, target and weight between entities.
    n_points: number of entities; those in no community lie around all communities.
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
    loose = np.flatnonzero(leaf_of < 0)
    around = np.sqrt(whole**2 * (1 + GAP) ** 2 * bool(len(loose)) + 1.5 * np.arange(1, len(loose) + 1))
    angle = np.arange(len(loose)) * GOLDEN_ANGLE
    points[loose] = np.column_stack([around * np.cos(angle), around * np.sin(angle)])
    whole = float(around[-1]) if len(loose) else whole
    return Layout(np.column_stack([centre, radius]) / whole, points / whole)


def _parents(children: Sequence[Sequence[int]], roots: Sequence[int]) -> tuple[Ints, list[int]]:
    """Return the parent of each community, -1 for roots, and an order in which parents come before children."""
    parent, order = np.full(len(children), -1, np.int64), list(roots)
    for community in order:  # grows while it is read
        for child in children[community]:
            parent[child] = community
            order.append(child)
    return parent, order


def _sibling_ties(
    leaf_of: Ints,
    parent: Ints,
    edges: tuple[Ints, Ints, Floats],
) -> dict[int, dict[int, float]]:
    """Return the total weight of the edges between communities of the same parent, by their numbers."""
    source, target, weight = leaf_of[edges[0]], leaf_of[edges[1]], np.asarray(edges[2], np.float64)
    known = (source >= 0) & (target >= 0)
    source, target, weight = source[known], target[known], weight[known]
    chains = (
        {c: _chain(c, parent) for c in np.unique(np.concatenate([source, target]))} if len(source) else {}
    )
    ties: dict[int, dict[int, float]] = {}
    pairs, where = np.unique(np.stack([source, target], axis=1), axis=0, return_inverse=True)
    sums = np.bincount(where.ravel(), weight, len(pairs))
    for (a, b), total in zip(pairs.tolist(), sums.tolist(), strict=True):
        for one, other in zip(chains[a], chains[b], strict=False):  # from the root down to where they diverge
            if one != other:
                ties.setdefault(one, {})[other] = ties.get(one, {}).get(other, 0.0) + total
                ties.setdefault(other, {})[one] = ties.get(other, {}).get(one, 0.0) + total
                break
    return ties


def _chain(community: int, parent: Ints) -> list[int]:
    """Return a community and all that contain it, the root first."""
    chain = [int(community)]
    while parent[chain[-1]] >= 0:
        chain.append(int(parent[chain[-1]]))
    return chain[::-1]


def _sunflower(n: int) -> Floats:
    """Return `n` points that fill the unit disc evenly, the first in its centre."""
    rank = np.arange(n, dtype=np.float64)
    distance, angle = np.sqrt(rank / max(n, 1)) * 0.92, rank * GOLDEN_ANGLE
    return np.column_stack([distance * np.cos(angle), distance * np.sin(angle)])


def _pack(discs: list[int], radius: Floats, offset: Floats, ties: Mapping[int, Mapping[int, float]]) -> float:
    """Pack discs around the origin without overlap, write their offsets, and return the radius around all of them."""
    if not discs:
        return 0.0
    waiting = sorted(discs, key=lambda d: (-radius[d], d))
    limit = SMALL * float(np.sqrt((radius[waiting] ** 2).sum()))
    outer = [d for d in waiting if d not in ties and radius[d] < limit]
    inner = [d for d in waiting if d in ties or radius[d] >= limit]
    if not inner:
        inner, outer = outer, []
    xy = _packed(inner, radius[inner], ties)
    centre, around = _enclosing(xy, radius[inner])
    offset[inner] = xy - centre
    if outer:
        offset[outer], around = _rings(radius[outer], around)
    return around


def _packed(discs: list[int], r: Floats, ties: Mapping[int, Mapping[int, float]]) -> Floats:
    """Return positions of discs (largest first), each in the best free pocket beside two packed ones."""
    n = len(discs)
    xy, position = np.zeros((n, 2)), {disc: number for number, disc in enumerate(discs)}
    if n > 1:
        xy[1, 0] = r[0] + r[1]
    pockets = np.zeros((0, 2), np.int64) if n < 2 else np.array([(0, 1), (1, 0)])
    below = np.full(len(pockets), np.inf)  # a pocket is tried for discs with less than this radius
    for number in range(2, n):
        near = {position[d]: w for d, w in ties.get(discs[number], {}).items() if position.get(d, n) < number}
        middle = np.average(xy[:number], axis=0, weights=r[:number] ** 2)
        live = np.flatnonzero(below > r[number])
        spots = _tangent(xy, r, pockets[live], r[number])
        cost: Floats = np.hypot(*(spots - middle).T)
        if near:
            weights = np.array(list(near.values()))
            pull = (xy[list(near)] * weights[:, None]).sum(0) / weights.sum()
            cost = (1 - PULL) * cost + PULL * np.hypot(*(spots - pull).T)
        order = np.argsort(np.round(np.nan_to_num(cost, nan=np.inf), 9), kind="stable")
        free = -1
        for start in range(0, len(order), BATCH):
            some = order[start : start + BATCH]
            away = np.hypot(*(spots[some, None] - xy[:number]).transpose(2, 0, 1))
            fits = (away >= (r[:number] + r[number]) * (1 - 1e-9)).all(1)
            at = int(np.argmax(fits)) if fits.any() else len(some)
            below[live[some[:at]]] = RETRY * r[number]
            if at < len(some):
                free = int(some[at])
                break
        xy[number] = spots[free] if free >= 0 else middle + 4 * r.sum()
        gap = np.hypot(*(xy[:number] - xy[number]).T) - r[:number] - r[number]
        beside = np.flatnonzero(gap < r[number])
        both = np.column_stack([beside, np.full(len(beside), number)])
        pockets = np.concatenate([pockets, both, both[:, ::-1]])
        below = np.concatenate([below, np.full(2 * len(both), np.inf)])
    return xy


def _tangent(xy: Floats, r: Floats, pairs: Ints, radius: float) -> Floats:
    """Return where a disc touches both of each two others, to the left of the line between them; NaN if nowhere."""
    a, b = xy[pairs[:, 0]], xy[pairs[:, 1]]
    to_a, to_b = r[pairs[:, 0]] + radius, r[pairs[:, 1]] + radius
    apart = np.hypot(*(b - a).T)
    along = (apart**2 + to_a**2 - to_b**2) / (2 * apart)
    square = to_a**2 - along**2
    aside = np.sqrt(np.where(square >= 0, square, np.nan))
    unit = (b - a) / apart[:, None]
    normal = np.column_stack([-unit[:, 1], unit[:, 0]])
    return a + along[:, None] * unit + aside[:, None] * normal


def _rings(r: Floats, inside: float) -> tuple[Floats, float]:
    """Return positions of small discs (largest first) in rings around a disc, and the radius around all."""
    xy, start = np.zeros((len(r), 2)), 0
    while start < len(r):
        distance = inside + r[start] * (1 + GAP)
        steps = 2 * np.arcsin(np.minimum(1, r[start:] * (1 + GAP) / distance))
        fit = max(int(np.searchsorted(np.cumsum(steps), 2 * np.pi)), 1)
        ring = steps[:fit]
        # a full ring is spread evenly; a short one is grouped at the lower right, out of the way
        full = start + fit < len(r)
        ring = ring * (2 * np.pi / ring.sum()) if full else ring
        angle = -np.pi / 4 + np.cumsum(ring) - ring / 2 - ring.sum() / 2
        xy[start : start + fit] = distance * np.column_stack([np.cos(angle), np.sin(angle)])
        inside, start = distance + float(r[start]), start + fit
    return xy, inside


def _enclosing(xy: Floats, r: Floats) -> tuple[Floats, float]:
    """Return centre and radius of a disc around discs, found by small steps towards the one that sticks out most."""
    if not len(xy):
        return np.zeros(2), 0.0
    centre = np.average(xy, axis=0, weights=r**2)
    for step in range(60):
        distance = np.hypot(*(xy - centre).T) + r
        worst = int(np.argmax(distance))
        centre = centre + (xy[worst] - centre) * 0.5 / (step + 2)
    return centre, float((np.hypot(*(xy - centre).T) + r).max())
