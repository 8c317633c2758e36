"""A partition carried on to a graph that has changed since, so that what did not change stays together.

What is carried on has to stand up to a new partition: it may lack at most `TOLERANCE` of its modularity. So errors
cannot add up over many changes, and what has passed once passes again while its graph is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from conspectus.algorithms.division import divide, leiden, merge_singletons, singletons
from conspectus.algorithms.graph import Graph, Ints, adjacency, connected, dense

TOLERANCE = 0.01  # unexplained
"""Share of the modularity of a new partition that one that is carried on may lack."""

Way = Callable[[], Ints | str]
"""Makes a partition; says in words why not, where it cannot."""


def warm_start(graph: Graph, start: Ints, resolution: float, seed: int) -> Ints:
    """Return the community of each node of a graph, given those of an earlier one (-1: it was not there).

    They stay; new nodes join them, or form others. Where that is not good enough, Leiden moves every node, beginning
    with what there was; where even that is not, it begins with nothing.
    """
    fresh = leiden(graph, resolution, seed)
    if (start < 0).all():
        return fresh
    stay = partial(_grown, graph, start, resolution, seed) if (start < 0).any() else partial(connected, graph, start)
    return _first_that_stands(graph, (stay, partial(leiden, graph, resolution, seed, start)), fresh, resolution)


def divided(graph: Graph, start: Ints, resolution: float, seed: int) -> Ints | str:
    """Do what `divide` does, given the parts that the nodes were in before (-1: it was not there).

    The parts stay, and a new node joins the one it has the most weight to. Where that is not good enough, it goes on
    as in `continued`.
    """
    fresh = divide(graph, resolution, seed)
    if isinstance(fresh, str) or (start == start[0]).all():
        return fresh
    move = partial(divide, graph, resolution, seed, partial(leiden, start=start))
    return _first_that_stands(graph, (partial(_joined, graph, start), move), fresh, resolution)


def _first_that_stands(graph: Graph, ways: Sequence[Way], fresh: Ints, resolution: float) -> Ints:
    """Return the first partition that is as good as a new one but for the tolerance, or else the new one."""
    wanted = _modularity(graph, fresh, resolution)
    least = wanted - TOLERANCE * abs(wanted)
    for way in ways:
        labels = way()
        if not isinstance(labels, str) and _modularity(graph, labels, resolution) >= least:
            return labels
    return fresh


def _joined(graph: Graph, start: Ints) -> Ints | str:
    labels = connected(graph, singletons(start))
    if labels.max() == graph.n - 1:
        return "no two nodes are left of any part"
    labels = merge_singletons(graph, labels)
    return labels if labels.any() else "one part is left"


def _grown(graph: Graph, start: Ints, resolution: float, seed: int) -> Ints:
    """Run Leiden on the graph whose nodes are the earlier communities and the new nodes.

    Such a community is two nodes, tied by all the weight inside it: the native function ignores the diagonal.
    """
    whole = connected(graph, singletons(start))
    count = int(whole.max()) + 1
    rows, columns = whole[graph.rows], whole[graph.indices]
    upper, within = graph.rows < graph.indices, rows == columns
    inner = np.bincount(rows[upper & within], graph.data[upper & within], count)
    held = np.flatnonzero(inner)
    across = upper & ~within
    source = np.concatenate((rows[across], held))
    target = np.concatenate((columns[across], count + np.arange(held.size)))
    weight = np.concatenate((graph.data[across], inner[held]))
    return leiden(adjacency(source, target, weight, count + held.size), resolution, seed)[whole]


def _modularity(graph: Graph, labels: Ints, resolution: float) -> float:
    labels, total = dense(labels), float(graph.data.sum())
    if not total:
        return 0.0
    within = graph.data[labels[graph.rows] == labels[graph.indices]].sum()
    return float(within / total - resolution * np.square(np.bincount(labels, graph.strengths) / total).sum())
