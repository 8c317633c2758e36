"""Hierarchies of communities by Leiden and by Louvain (Blondel et al. 2008), with the same recursion.

Louvain may return communities that do not hang together (Traag et al. 2019). How many do is counted of what a method
returns; for what follows, each is then parted into what hangs together, as an index does it.
"""

# networkx is an extra, and not there where types are checked:
# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from conspectus.algorithms.division import Partition, divide, leiden
from conspectus.algorithms.graph import Graph, Ints, components, connected, dense, inside
from conspectus.algorithms.leiden import Part
from conspectus.errors import UsageError


def louvain(graph: Graph, resolution: float, seed: int) -> Ints:
    """Return the community of each node as Louvain finds it; raise UsageError where networkx is missing."""
    try:
        import networkx
    except ImportError:
        raise UsageError("Louvain needs networkx: pip install 'conspectus[eval]'") from None
    drawn = networkx.Graph()
    drawn.add_nodes_from(range(graph.n))
    upper = graph.rows < graph.indices
    ends = graph.rows[upper].tolist(), graph.indices[upper].tolist()
    drawn.add_weighted_edges_from(zip(*ends, graph.data[upper].tolist(), strict=True))
    labels = np.empty(graph.n, np.int64)
    found = networkx.community.louvain_communities(drawn, resolution=resolution, seed=seed)
    for label, members in enumerate(sorted(map(sorted, found))):
        labels[members] = label
    return labels


METHODS: Mapping[str, Partition] = {"Leiden": leiden, "Louvain": louvain}


@dataclass(frozen=True)
class Hierarchy:
    """Parts as `hierarchical_leiden` returns them, and what of them hung together when the method returned it."""

    parts: list[Part]
    returned: list[tuple[int, int]]
    """For each level the communities that were returned, and those of them that are connected."""


def hierarchy(graph: Graph, by: Partition, *, max_size: int, resolution: float, seed: int) -> Hierarchy:
    """Divide a graph into communities, and those in turn until each has at most `max_size` nodes."""
    labels = dense(by(graph, resolution, seed))
    returned = [_counted(graph, labels)]
    found = [Part(0, -1, members) for members in components(graph, labels)]
    parts: list[Part] = []
    while found:
        found.sort(key=lambda part: (-part.members.size, part.members[0]))
        first = len(parts)
        parts += found
        counts: list[tuple[int, int]] = []
        found = []
        for number, part in enumerate(parts[first:], first):
            if part.parent >= 0:
                parts[part.parent].children.append(number)
            if part.members.size <= max_size:
                continue
            own = inside(graph, part.members, np.zeros(part.members.size, np.int64))
            division = divide(own, resolution, seed, by)
            if isinstance(division, str):
                part.unsplit = division
                continue
            counts.append(_counted(own, division))
            found += [Part(part.level + 1, number, part.members[places]) for places in components(own, division)]
        if found:
            returned.append((sum(n for n, _ in counts), sum(whole for _, whole in counts)))
    return Hierarchy(parts, returned)


def _counted(graph: Graph, labels: Ints) -> tuple[int, int]:
    """Return how many communities there are, and how many of them are connected."""
    pairs = np.unique(np.stack((labels, connected(graph, labels))), axis=1)
    _, pieces = np.unique(pairs[0], return_counts=True)
    return int(pieces.size), int((pieces == 1).sum())
