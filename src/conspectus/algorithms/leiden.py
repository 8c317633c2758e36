"""A hierarchy of communities of a weighted, undirected graph by Leiden, split until each is small.

Level 0 is Leiden on the whole graph (GraphRAG §3.1.4; Traag et al. 2019, arXiv 1810.08473); each community that is
too large is divided by Leiden on its own subgraph, and so on down. The arrays of one level are cut for all
its communities at once, so that each of many small subgraphs takes little more than the call of Leiden
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from conspectus.algorithms.division import divide, leiden
from conspectus.algorithms.graph import Graph, Ints, adjacency, components, inside, modularity
from conspectus.algorithms.warm_start import divided, warm_start

__all__ = ["Ints", "Part", "adjacency", "hierarchical_leiden", "memberships", "modularity"]


@dataclass(slots=True)
class Part:
    """A community of the hierarchy; `parent` and `children` are places in the list of parts."""

    level: int
    parent: int
    """-1 at level 0."""
    members: Ints
    """Its nodes, ascending."""
    children: list[int] = field(default_factory=list[int])
    """Together they hold each of its nodes once; empty where it is not split."""
    unsplit: str = ""
    """Why it is not split although it is larger than allowed."""


def hierarchical_leiden(
    graph: Graph,
    *,
    max_size: int = 10,
    resolution: float = 1.0,
    seed: int = 42,
    start: Sequence[Ints] = (),
) -> list[Part]:
    """Divide the nodes of a graph (see `adjacency`) into communities, and those until each has at most `max_size`.

    Parts come level by level, within a level the largest first, then by their smallest node. Each is
    connected, and every node is in exactly one part of level 0 and in exactly one child of each part that
    holds it and has children; a node without edges is a part by itself. A part that is not split stands for
    itself on every deeper level.

    The result depends on the set of edges and the seed, not on the order of edges or the direction of any.
    Weights of parallel edges add up; an edge from a node to itself says nothing about communities and is left
    out.

    `start` is an earlier hierarchy as `memberships` returns it: an array for each level, -1 for a node that
    was not in it. Each division then is the earlier one, carried on, where that is as good: see `continuing`.

    """
    labels = warm_start(graph, start[0], resolution, seed) if len(start) else leiden(graph, resolution, seed)
    parts: list[Part] = []
    found = [Part(0, -1, members) for members in components(graph, labels)]
    while found:
        found.sort(key=lambda part: (-part.members.size, part.members[0]))
        first = len(parts)
        parts += found
        for number, part in enumerate(found, first):
            if part.parent >= 0:
                parts[part.parent].children.append(number)
        large = [number for number in range(first, len(parts)) if parts[number].members.size > max_size]
        found = _next_level(graph, parts, large, resolution, seed, start)
    return parts


def memberships(parts: Sequence[Part], n: int) -> list[Ints]:
    """Return for each level, from coarse to fine, the place in `parts` of each node's part."""
    levels: list[Ints] = []
    for number, part in enumerate(parts):
        if part.level == len(levels):
            levels.append(levels[-1].copy() if levels else np.full(n, -1))
        levels[part.level][part.members] = number
    return levels


def _next_level(
    graph: Graph, parts: list[Part], large: list[int], resolution: float, seed: int, start: Sequence[Ints]
) -> list[Part]:
    """Divide the large parts of the deepest level; return their children, and note where there are none."""
    if not large:
        return []
    sizes = np.array([parts[number].members.size for number in large])
    nodes = np.concatenate([parts[number].members for number in large])
    ends = np.cumsum(sizes)
    level = parts[large[0]].level + 1
    before = start[level][nodes] if level < len(start) else None
    inner = inside(graph, nodes, np.repeat(np.arange(len(large)), sizes))
    labels = np.empty(nodes.size, np.int64)
    for number, a, b in zip(large, (ends - sizes).tolist(), ends.tolist(), strict=True):
        own = inner.cut(a, b)
        division = divide(own, resolution, seed) if before is None else divided(own, before[a:b], resolution, seed)
        labels[a:b] = -1 if isinstance(division, str) else division + a  # no two parts share a label
        if isinstance(division, str):
            parts[number].unsplit = division
    owner = np.repeat(np.array(large), sizes)
    return [
        Part(level, int(owner[places[0]]), nodes[places])
        for places in components(inner, labels)
        if labels[places[0]] >= 0
    ]
