"""Leiden against Louvain: the recursion, and what is counted of what a method returns."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus import evaluation
from conspectus.algorithms.division import leiden
from conspectus.algorithms.graph import Graph, Ints, adjacency
from conspectus.algorithms.leiden import hierarchical_leiden
from conspectus.errors import UsageError
from conspectus.evaluation.communities import hierarchy, louvain
from conspectus.index import Index


def ring_of_cliques(cliques: int, size: int) -> tuple[list[int], list[int], list[float], int]:
    source, target = [], []
    for c in range(cliques):
        nodes = range(c * size, (c + 1) * size)
        pairs = [(a, b) for a in nodes for b in nodes if a < b] + [(c * size, (c + 1) % cliques * size)]
        source += [a for a, _ in pairs]
        target += [b for _, b in pairs]
    return source, target, [1.0] * len(source), cliques * size


edges = st.lists(st.tuples(st.integers(0, 19), st.integers(0, 19), st.integers(1, 5)), min_size=1, max_size=60)


@given(edges)
def test_the_recursion_with_leiden_finds_what_an_index_finds(drawn: list[tuple[int, int, int]]):
    source, target, weight = (list(column) for column in zip(*drawn, strict=True))
    graph = adjacency(source, target, [float(w) for w in weight], 20)

    found = hierarchy(graph, leiden, max_size=4, resolution=1.0, seed=1)
    known = hierarchical_leiden(graph, max_size=4, seed=1)

    told = [(p.level, p.parent, p.members.tolist(), p.children, p.unsplit) for p in found.parts]
    assert told == [(p.level, p.parent, p.members.tolist(), p.children, p.unsplit) for p in known]
    assert all(whole == n for n, whole in found.returned)  # what Leiden returns hangs together
    assert len(found.returned) == 1 + max(p.level for p in found.parts)


def test_communities_that_do_not_hang_together_are_counted_and_parted():
    graph = adjacency([0, 2, 4], [1, 3, 5], [1.0] * 3, 6)

    def two(given: Graph, resolution: float, seed: int) -> Ints:
        return np.array([0, 0, 1, 1, 0, 0])[: given.n]  # 0, 1 and 4, 5 are no neighbours

    found = hierarchy(graph, two, max_size=10, resolution=1.0, seed=0)

    assert found.returned == [(2, 1)]
    assert [p.members.tolist() for p in found.parts] == [[0, 1], [2, 3], [4, 5]]


def test_louvain_needs_its_extra_or_finds_cliques():
    graph = adjacency(*ring_of_cliques(4, 5))
    if importlib.util.find_spec("networkx") is None:
        with pytest.raises(UsageError, match=r"conspectus\[eval\]"):
            louvain(graph, 1.0, 0)
        return
    labels = louvain(graph, 1.0, 0).reshape(4, 5)
    assert all(len(set(row)) == 1 for row in labels.tolist())
    assert louvain(graph, 1.0, 0).tolist() == labels.ravel().tolist()


def test_an_index_without_a_graph_cannot_be_divided():
    with pytest.raises(UsageError, match="no graph"):
        evaluation.compare_communities(Index())
