"""One graph divided by Leiden (Traag et al. 2019, arXiv 1810.08473), from nothing or from a partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from graspologic_native import leiden as native_leiden  # type: ignore[import-untyped]
from graspologic_native import leiden_csr as native_leiden_csr  # type: ignore[import-untyped]

from conspectus.algorithms.graph import Graph, Ints, connected, dense

FACTORS = (1, 2, 4, 8, 16, 32, 64)  # unexplained
"""What the resolution is multiplied by, one after the other, while a community comes back whole."""

Partition = Callable[[Graph, float, int], Ints]
"""Gives each node of a graph the label of a community, by a resolution and a seed."""

ITERATIONS = 3  # unexplained
"""Of Leiden where it starts from nothing: the second gains about .01 of modularity, and what has settled
moves less when a later run starts from it."""


def leiden(graph: Graph, resolution: float, seed: int, start: Ints | None = None) -> Ints:
    """Return the community of each node as Leiden finds it, from `start` (-1: alone) where given."""
    labels = np.arange(graph.n)
    if not graph.data.size:  # the native function does not take a graph without edges
        return labels
    if start is None or (start == start[0]).all():
        _, found = cast(
            "tuple[float, dict[int, int]]",
            native_leiden_csr(*graph, graph.n, resolution, iterations=ITERATIONS, seed=seed),
        )
        labels[list(found)] = list(found.values())
        return labels
    start = connected(graph, singletons(start))  # on one that is not connected the native function panics
    rows = graph.rows
    upper = rows < graph.indices
    ends = (map(str, end[upper].tolist()) for end in (rows, graph.indices))
    linked = np.flatnonzero(np.diff(graph.indptr))  # the native function knows only these
    before = dict(zip(map(str, linked.tolist()), dense(start[linked]).tolist(), strict=True))
    edges = list(zip(*ends, graph.data[upper].tolist(), strict=True))
    _, after = cast(
        "tuple[float, dict[str, int]]",
        native_leiden(edges, starting_communities=before, resolution=resolution, seed=seed),
    )
    labels[linked] = [after[node] for node in before]
    labels[np.diff(graph.indptr) == 0] += graph.n
    return labels


def divide(graph: Graph, resolution: float, seed: int, by: Partition = leiden) -> Ints | str:
    """Return the community of each node of a connected graph, from 0, or why there is but one."""
    degrees = np.diff(graph.indptr)
    if degrees.sum() == 2 * (graph.n - 1) and degrees.max() == graph.n - 1:
        return "a star around one node"
    for weighted in (graph, _balanced(graph)):
        for factor in FACTORS:
            labels = dense(by(weighted, factor * resolution, seed))
            if labels.max() == graph.n - 1:  # each node alone, as it will be at any higher resolution
                break
            labels = merge_singletons(weighted, labels)
            if (labels != labels[0]).any():
                return labels
    if degrees.min() == graph.n - 1:
        return "a clique"
    return f"no division found at resolution {FACTORS[-1] * resolution:g}"


def merge_singletons(graph: Graph, labels: Ints) -> Ints:
    """Move each node that is a community of its own into the community it has the most weight to.

    A node alone is nothing to report on, and what a high resolution parts from a hub is mostly such nodes. The graph
    is connected, and some community has two nodes.
    """
    while True:
        lone = np.bincount(labels)[labels] == 1
        if not lone.any():
            return dense(labels)
        rows = graph.rows
        ties = np.flatnonzero(lone[rows] & ~lone[graph.indices])
        pair, which = np.unique(rows[ties] * graph.n + labels[graph.indices[ties]], return_inverse=True)
        pair = pair[np.argsort(np.bincount(which, graph.data[ties]), kind="stable")]
        labels[pair // graph.n] = pair % graph.n  # the strongest, which is the last, stays


def singletons(labels: Ints) -> Ints:
    """Return labels in which each node that has none (-1) has one of its own."""
    return np.where(labels < 0, labels.max(initial=-1) + 1 + np.arange(labels.size), labels)


def _balanced(graph: Graph) -> Graph:
    """Return the graph with each weight divided by the geometric mean of the strengths of its two ends."""
    root = np.sqrt(graph.strengths)
    return graph._replace(data=graph.data / (root[graph.rows] * root[graph.indices]))
