"""Leiden against Louvain (Blondel et al. 2008) on the graph of an index, with the same recursion.

Louvain may return communities that are not connected (Traag et al. 2019). How many are is counted of what a method
returns; for what follows, each is then split into its connected parts, as an index does it.
"""

# networkx is an extra, and not there where types are checked:
# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from conspectus.algorithms.division import Partition, divide, leiden
from conspectus.algorithms.graph import Floats, Graph, Ints, adjacency, components, connected, dense, inside, modularity
from conspectus.algorithms.leiden import Part, memberships
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Tick, no_tick
from conspectus.settings import CommunitySettings

RESOLUTION = 1.0
"""Resolution of the modularity that both methods optimise, as at indexing."""
SEEDS = 10


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


# The comparison


@dataclass(frozen=True)
class Level:
    """The partition of one level, with the communities above it that are not split further."""

    communities: int
    modularity: float
    median_size: float
    largest: int
    singletons: int
    returned: int
    """Communities of this level as the method returned them."""
    connected: int
    """Those of them that are connected."""


def compare_methods(
    index: Index, settings: CommunitySettings, seeds: int = SEEDS, tick: Tick = no_tick
) -> list[dict[str, str | int | float]]:
    """Divide the graph of an index by each method with so many seeds; return means over the seeds by method and level.

    Raises UsageError where the index has no graph, or networkx is missing.
    """
    if not len(index.relationships):
        raise UsageError("this index has no graph to divide")
    ends = _ends(index)
    graph = adjacency(*ends, len(index.entities))
    rows: list[dict[str, str | int | float]] = []
    for method, partition in METHODS.items():
        runs: list[list[Level]] = []
        for seed in range(settings.seed, settings.seed + seeds):
            divided = hierarchy(graph, partition, max_size=settings.max_size, resolution=RESOLUTION, seed=seed)
            runs.append(list(_levels(divided, ends, graph.n, RESOLUTION)))
            tick()
        rows += _rows(method, runs)
    return rows


def _ends(index: Index) -> tuple[Ints, Ints, Floats]:
    node = {entity.name: entity.number for entity in index.entities}
    rows = index.relationships
    return (
        np.array([node[r.source] for r in rows], np.int64),
        np.array([node[r.target] for r in rows], np.int64),
        np.array([r.weight for r in rows], np.float64),
    )


def _levels(divided: Hierarchy, ends: tuple[Ints, Ints, Floats], n: int, resolution: float) -> Iterator[Level]:
    for level, members in enumerate(memberships(divided.parts, n)):
        sizes = sorted(np.unique(members, return_counts=True)[1].tolist())
        quality = round(modularity(*ends, members, resolution), 6)
        singletons = sum(size == 1 for size in sizes)
        yield Level(len(sizes), quality, median(sizes), sizes[-1], singletons, *divided.returned[level])


def _rows(method: str, runs: Sequence[Sequence[Level]]) -> Iterator[dict[str, str | int | float]]:
    for level in range(max(map(len, runs))):
        views = [run[min(level, len(run) - 1)] for run in runs]  # the deepest represents deeper ones
        own = [run[level] for run in runs if level < len(run)]
        quality = [one.modularity for one in views]
        yield {
            "method": method,
            "level": level,
            "communities": _mean([one.communities for one in views], 1),
            "modularity": _mean(quality, 4),
            "lowest": round(min(quality), 4),
            "highest": round(max(quality), 4),
            "median_size": _mean([one.median_size for one in views], 1),
            "largest": _mean([one.largest for one in views], 1),
            "singletons": _mean([one.singletons for one in views], 1),
            "connected_%": round(100 * sum(one.connected for one in own) / sum(one.returned for one in own), 2),
        }


def _mean(values: Sequence[float], digits: int) -> float:
    return round(sum(values) / len(values), digits)
