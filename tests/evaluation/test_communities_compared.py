"""Leiden compared with Louvain: statistics of the partitions that each returns."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from conspectus import evaluation
from conspectus.algorithms.leiden import adjacency, leiden
from conspectus.errors import UsageError
from conspectus.evaluation.ablation import louvain, partition_figures
from conspectus.index import Index


def ring_of_cliques(cliques: int, size: int) -> tuple[list[int], list[int], list[float], int]:
    source, target = [], []
    for c in range(cliques):
        nodes = range(c * size, (c + 1) * size)
        pairs = [(a, b) for a in nodes for b in nodes if a < b] + [(c * size, (c + 1) % cliques * size)]
        source += [a for a, _ in pairs]
        target += [b for _, b in pairs]
    return source, target, [1.0] * len(source), cliques * size


def test_leiden_finds_cliques_that_hang_together():
    graph = adjacency(*ring_of_cliques(4, 5))

    figures = partition_figures(graph, leiden(graph, 1.0, 0))

    assert (figures["communities"], figures["median_size"], figures["largest"]) == (4, 5, 5)
    assert figures["connected_%"] == 100
    assert figures["modularity"] > 0.6


def test_communities_that_do_not_hang_together_are_counted_and_parted():
    graph = adjacency([0, 2, 4], [1, 3, 5], [1.0] * 3, 6)

    figures = partition_figures(graph, np.array([0, 0, 1, 1, 0, 0]))  # 0, 1 and 4, 5 are not connected

    assert figures["connected_%"] == 50
    assert (figures["communities"], figures["largest"], figures["singletons"]) == (3, 2, 0)


def test_louvain_needs_its_extra_or_finds_cliques():
    graph = adjacency(*ring_of_cliques(4, 5))
    if importlib.util.find_spec("networkx") is None:
        with pytest.raises(ImportError):
            louvain(graph, 1.0, 0)
        return
    labels = louvain(graph, 1.0, 0).reshape(4, 5)
    assert all(len(set(row)) == 1 for row in labels.tolist())
    assert louvain(graph, 1.0, 0).tolist() == labels.ravel().tolist()


def test_an_index_without_a_graph_cannot_be_divided():
    with pytest.raises(UsageError, match="no graph"):
        evaluation.ablate(Index(), preset="communities")
