"""Leiden against Louvain (Blondel et al. 2008) on the graph of an index, as the first level of its communities.

Louvain may return communities that are not connected (Traag et al. 2019). How many are is counted of what a method
returns; for the other figures each is then split into its connected components, as an index does it.
"""

# networkx is an extra, and not there where types are checked:
# pyright: reportMissingImports=false, reportMissingModuleSource=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from statistics import mean, median

import numpy as np

from conspectus import Index
from conspectus.algorithms.leiden import Graph, Ints, Partition, adjacency, connected, leiden, modularity
from conspectus.errors import UsageError
from conspectus.settings import CommunitySettings

RESOLUTION = 1.0
"""Resolution of the modularity that both methods optimise, as at indexing."""
DIGITS = {"modularity": 4, "lowest": 4, "highest": 4, "connected_%": 2}
"""Decimals of figures; others have one."""


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
    communities = networkx.community.louvain_communities(drawn, resolution=resolution, seed=seed)
    for label, members in enumerate(sorted(map(sorted, communities))):
        labels[members] = label
    return labels


METHODS: Mapping[str, Partition] = {"Leiden": leiden, "Louvain": louvain}


def compare_methods(index: Index, settings: CommunitySettings, seeds: int) -> list[dict[str, str | float]]:
    """Divide the graph of an index by each method with so many seeds; return means over the seeds, a row for each.

    Raises UsageError where the index has no graph, or networkx is missing.
    """
    if not len(index.relationships):
        raise UsageError("this index has no graph to divide")
    numbers = {entity.name: entity.number for entity in index.entities}
    source = [numbers[row.source] for row in index.relationships]
    target = [numbers[row.target] for row in index.relationships]
    weights = [row.weight for row in index.relationships]
    graph = adjacency(source, target, weights, len(index.entities))
    rows: list[dict[str, str | float]] = []
    for method, partition in METHODS.items():
        numbered = range(settings.seed, settings.seed + seeds)
        runs = [partition_figures(graph, partition(graph, RESOLUTION, seed)) for seed in numbered]
        means = {name: mean(run[name] for run in runs) for name in runs[0]}
        modularities = [run["modularity"] for run in runs]
        means |= {"lowest": min(modularities), "highest": max(modularities)}
        figures = {name: round(value, DIGITS.get(name, 1)) for name, value in means.items()}
        rows.append({"method": method, **figures})
    return rows


def partition_figures(graph: Graph, labels: Ints) -> dict[str, float]:
    """Return the number, modularity and sizes of communities, and how many of them were connected."""
    components = connected(graph, labels)
    pairs = np.unique(np.stack((labels, components)), axis=1)
    _, pieces = np.unique(pairs[0], return_counts=True)
    sizes = np.bincount(components).tolist()
    return {
        "communities": len(sizes),
        "modularity": modularity(graph.rows, graph.indices, graph.data, components, RESOLUTION),
        "median_size": median(sizes),
        "largest": max(sizes),
        "singletons": sizes.count(1),
        "connected_%": 100 * float((pieces == 1).mean()),
    }
