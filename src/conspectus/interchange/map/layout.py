"""Where the things of a graph lie on a map: communities first, then what is in them, by forces.

The hierarchy of communities is the coarsening of a multilevel layout: the roots are laid out, then their
parts start where the roots lie, and so on down to the entities. On each level the forces are those of
ForceAtlas2 (Jacomy et al. 2014): all things push each other away by 1 / distance, edges pull, gravity holds
together; and each thing is pulled to the middle of its community. With gravity that grows with the distance
these fill a disc of radius 1 evenly.

Repulsion is computed on a mesh by Fourier transform, so that a step takes O(n) and not O(n^2) or O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

STEPS = 120
"""Steps on each level."""
STEP = 0.09
"""Share of a force that a step goes along."""
PULL = 2.2
"""How much edges pull, gravity is 1."""
COHESION = 4.0
"""How much the middles of the communities that hold a thing pull, together."""
ACROSS = 0.3
"""What an edge between two communities counts; on two levels, the square of it."""
DEPTH = 3
"""Levels of communities that hold together what is in them."""
HALF = 1.6
"""Half the width of the mesh; what is farther out counts as at its edge."""
FILL = 0.16
"""Share of the disc that the nodes cover."""
SPREAD = 12
"""Steps that push overlapping nodes apart."""
MARGIN = 1.15
"""How far apart two nodes are at least, as a multiple of their radii."""


@dataclass(frozen=True)
class Edges:
    """Edge `i` joins nodes `source[i]` and `target[i]` with a weight above 0."""

    source: Ints
    target: Ints
    weight: Floats

    def between(self, group: Ints, n: int) -> Edges:
        """Return the edges between groups of nodes (-1: in none), one for each pair, with their summed
        weights."""
        a, b = group[self.source], group[self.target]
        keep = (a != b) & (a >= 0) & (b >= 0)
        low, high = np.minimum(a, b)[keep], np.maximum(a, b)[keep]
        code, place = np.unique(low * n + high, return_inverse=True)
        return Edges(
            code // n, code % n, np.bincount(place, self.weight[keep], minlength=len(code)).astype(np.float64)
        )


def lay_out(area: Floats, edges: Edges, levels: list[Ints], seed: int = 0) -> Floats:
    """Return the place of each node, an array of n rows (x, y).

    `area` is what each node covers; `levels` gives, from the root down, the group of each node (-1: none).
    Groups of a level lie inside those of the level above. Equal arguments give equal places. The unit is
    that of `area`.
    """
    n = len(area)
    if not n:
        return np.zeros((0, 2))
    random = np.random.default_rng(seed)
    above, places = np.zeros(n, np.int64), np.zeros((1, 2))
    within: list[Ints] = []
    apart = np.zeros(len(edges.source))
    for group in [*levels, np.arange(n)]:
        loose = np.flatnonzero(group < 0)
        group = group.copy()
        group[loose] = group.max(initial=-1) + 1 + np.arange(len(loose))  # what is in none stands for itself
        _, first, group = np.unique(group, return_index=True, return_inverse=True)
        size = len(first)
        mass = np.bincount(group, area, minlength=size).astype(np.float64)
        parent = above[first]
        start = places[parent] + _scattered(parent, mass, random)
        weakened = Edges(edges.source, edges.target, edges.weight * ACROSS**apart)
        places = _relaxed(start, mass, weakened.between(group, size), [w[first] for w in within])
        if len(within) < DEPTH:
            within.append(group)
            apart += group[edges.source] != group[edges.target]
        above = group
    places = places[above]
    radius = np.sqrt(area / np.pi)
    scale = np.sqrt(area.sum() / (FILL * np.pi)) / max(float(np.quantile(np.hypot(*places.T), 0.98)), 1e-9)
    return _apart(places * scale, radius) if n > 1 else places * 0


def _scattered(parent: Ints, mass: Floats, random: np.random.Generator) -> Floats:
    """Return for each thing a place around the middle of its parent: a spiral whose turns are as wide as the
    things."""
    order = np.lexsort((random.random(len(mass)), parent))
    starts = np.flatnonzero(np.diff(parent[order], prepend=-1))
    inside = np.cumsum(mass[order])
    before = np.repeat(inside[starts] - mass[order][starts], np.diff(np.append(starts, len(order))))
    radius = np.empty(len(mass))
    radius[order] = np.sqrt((inside - before - mass[order] / 2) / mass.sum())
    turn = np.empty(len(mass))
    turn[order] = np.arange(len(mass)) * np.pi * (3 - np.sqrt(5))
    return np.stack((radius * np.cos(turn), radius * np.sin(turn)), axis=1)


def _relaxed(places: Floats, mass: Floats, edges: Edges, within: list[Ints]) -> Floats:
    """Return the places after the forces have done their work; `within` gives the community of each, level
    by level."""
    n = len(places)
    if n == 1:
        return places * 0
    mesh = _Mesh(256 if n > 3000 else 128)
    whole = mass.sum()
    strength = np.bincount(edges.source, edges.weight, n) + np.bincount(edges.target, edges.weight, n)
    # an edge counts by its share of what its two ends have, so that neither hubs nor heavy pairs rule the map
    pull = PULL * edges.weight / np.sqrt(strength[edges.source] * strength[edges.target])
    shares = [np.bincount(group, mass) for group in within]
    for step in range(STEPS):
        cold = 1 - step / STEPS
        force = mesh.repulsion(places, mass / whole) - places
        for axis in (0, 1):
            for group, share in zip(within, shares, strict=True):
                middle = np.bincount(group, mass * places[:, axis]) / np.maximum(share, 1e-12)
                force[:, axis] += COHESION / len(within) * (middle[group] - places[:, axis])
            tension = pull * (places[edges.target, axis] - places[edges.source, axis])
            force[:, axis] += np.bincount(edges.source, tension, n) - np.bincount(edges.target, tension, n)
        move = STEP * force
        length = np.hypot(move[:, 0], move[:, 1])
        places = places + move * np.minimum(1, 0.06 * cold / np.maximum(length, 1e-12))[:, None]
    return places


class _Mesh:
    """Repulsion by 1 / distance among many points, by way of a grid of `size` cells in each direction."""

    def __init__(self, size: int) -> None:
        from scipy import fft

        self._size = size
        self._cell = 2 * HALF / (size - 1)
        offset = np.fft.fftfreq(2 * size, 1 / (2 * size)) * self._cell
        x, y = np.meshgrid(offset, offset, indexing="ij")
        near = x * x + y * y + (0.7 * self._cell) ** 2
        self._kernels = fft.rfft2(x / near), fft.rfft2(y / near)

    def repulsion(self, places: Floats, mass: Floats) -> Floats:
        """Return the force on each point, by the masses of the others and not by its own."""
        from scipy import fft

        size = self._size
        at = np.clip((places + HALF) / self._cell, 0, size - 1.000001)
        low = at.astype(np.int64)
        rest = at - low
        cells: list[Ints] = []
        shares: list[Floats] = []
        for dx in (0, 1):
            for dy in (0, 1):
                cells.append((low[:, 0] + dx) * size + low[:, 1] + dy)
                shares.append(np.abs(1 - dx - rest[:, 0]) * np.abs(1 - dy - rest[:, 1]))
        density = sum(np.bincount(c, mass * s, size * size) for c, s in zip(cells, shares, strict=True))
        spread = fft.rfft2(np.reshape(density, (size, size)), (2 * size, 2 * size))
        force = np.zeros_like(places)
        for axis, kernel in enumerate(self._kernels):
            field = fft.irfft2(spread * kernel, (2 * size, 2 * size))[:size, :size].ravel()
            force[:, axis] = sum(field[c] * s for c, s in zip(cells, shares, strict=True))
        return force


def _apart(places: Floats, radius: Floats) -> Floats:
    """Return the places with overlapping nodes pushed apart, the smaller of two the farther."""
    from scipy.spatial import cKDTree

    reach = 2 * MARGIN * float(radius.max())
    for _ in range(SPREAD):
        a, b = cKDTree(places).query_pairs(reach, output_type="ndarray").T
        gap = places[b] - places[a]
        distance = np.hypot(gap[:, 0], gap[:, 1])
        overlap = MARGIN * (radius[a] + radius[b]) - distance
        hit = overlap > 0
        if not hit.any():
            break
        a, b, gap, distance, overlap = a[hit], b[hit], gap[hit], distance[hit], overlap[hit]
        same = distance < 1e-9
        gap[same] = np.stack((np.cos(2.4 * a[same]), np.sin(2.4 * a[same])), axis=1)
        push = gap / np.where(same, 1, distance)[:, None] * overlap[:, None]
        share = (radius[b] / (radius[a] + radius[b]))[:, None]
        move = np.zeros_like(places)
        for axis in (0, 1):
            move[:, axis] -= np.bincount(a, (push * share)[:, axis], len(places))
            move[:, axis] += np.bincount(b, (push * (1 - share))[:, axis], len(places))
        length = np.hypot(move[:, 0], move[:, 1])
        places = places + move * np.minimum(1, reach / np.maximum(length, 1e-12))[:, None]
    return places
