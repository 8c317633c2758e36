"""Nearest neighbours and scores made one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.algorithms import neighbours
from conspectus.algorithms.neighbours import NeighbourGraph, nearest, products
from conspectus.algorithms.ranking import fused, highest, scaled

scores = st.lists(st.sampled_from([0.0, -1.0, 0.25, 0.5, 1.0, 2.0]), max_size=30).map(
    lambda s: np.array(s, np.float32)
)


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(1, 40))
def test_nearest_is_what_sorting_all_products_gives(seed: int, k: int, block: int):
    random = np.random.default_rng(seed)
    vectors = random.integers(-2, 3, (17, 3)).astype(np.float32)  # small numbers: many ties
    queries = random.integers(-2, 3, (4, 3)).astype(np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "BLOCK", block)
        places, products = nearest(vectors, queries, k)

    expected = np.argsort(-(queries @ vectors.T), axis=1, kind="stable")[:, :k]
    assert np.array_equal(places, expected)
    assert np.array_equal(products, np.take_along_axis(queries @ vectors.T, expected, 1))


def test_of_no_vectors_none_is_near():
    places, products = nearest(np.zeros((0, 3), np.float32), np.ones((2, 3), np.float32), 5)

    assert places.shape == products.shape == (2, 0)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_products_are_those_of_all_vectors_block_by_block(kind: type, monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(1)
    vectors, query = random.standard_normal((50, 4)).astype(kind), random.standard_normal(4).astype(np.float32)
    monkeypatch.setattr(neighbours, "BLOCK", 28)

    assert np.allclose(products(vectors, query), vectors.astype(np.float32) @ query)
    assert products(vectors[:0], query).shape == (0,)


# A graph of neighbours


def around_centres(count: int, seed: int = 0, size: int = 32) -> np.ndarray:
    """Vectors of length 1 around a hundred centres, as those of texts lie around what these are about."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((100, size))
    vectors = centres[random.integers(0, 100, count)] + 0.7 * random.standard_normal((count, size))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(scope="module")
def graph() -> NeighbourGraph:
    pytest.importorskip("usearch")
    return NeighbourGraph.of(around_centres(3000), around_centres(100, seed=1))


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_a_graph_finds_nearly_all_of_the_nearest(graph: NeighbourGraph, kind: type):
    vectors, queries = around_centres(3000).astype(kind), around_centres(50, seed=2)
    found, near = graph.nearest(vectors, queries, 10)
    true, _ = nearest(vectors, queries, 10)
    met = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found.tolist(), true.tolist(), strict=True)])

    assert graph.recall >= 0.98
    assert met >= 0.98
    assert (np.diff(near, axis=1) <= 0).all()
    assert near == pytest.approx(np.einsum("mnd,md->mn", vectors[found].astype(np.float32), queries), abs=1e-4)


def test_a_graph_of_the_same_vectors_has_the_same_bytes_and_is_read_from_them(graph: NeighbourGraph):
    again = NeighbourGraph.of(around_centres(3000), around_centres(100, seed=1))
    stored = NeighbourGraph(np.frombuffer(graph.content.tobytes(), np.uint8), graph.breadth, graph.recall)
    vectors, queries = around_centres(3000), around_centres(5, seed=3)

    assert np.array_equal(again.content, graph.content)
    assert np.array_equal(stored.nearest(vectors, queries, 7)[0], graph.nearest(vectors, queries, 7)[0])


@pytest.mark.parametrize("k", [1, 3000, 5000])
def test_a_graph_gives_as_many_as_are_asked_for_or_there_are(graph: NeighbourGraph, k: int):
    vectors, queries = around_centres(3000), around_centres(2, seed=4)
    places, near = graph.nearest(vectors, queries, k)

    assert places.shape == near.shape == (2, min(k, 3000))
    assert all(len(set(row)) == len(row) for row in places.tolist())


@given(scores, st.integers(1, 35))
def test_the_highest_are_what_a_stable_sort_begins_with(values: np.ndarray, k: int):
    assert highest(values, k).tolist() == np.argsort(-values, kind="stable")[:k].tolist()


@given(scores)
def test_scaled_scores_lie_between_0_and_1_in_the_same_order(values: np.ndarray):
    result = scaled(values)

    assert ((result >= 0) & (result <= 1)).all()
    assert (np.diff(result[np.argsort(values, kind="stable")]) >= 0).all()


def test_fusion_weighs_each_part_by_its_own_scale():
    assert fused([(1.0, np.array([10.0, 0.0, 5.0])), (0.5, np.array([0.0, 0.1, 0.1]))]).tolist() == [
        1.0,
        0.5,
        1.0,
    ]
