"""Nearest neighbours and scores made one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.algorithms import neighbours
from conspectus.algorithms.fusion import fused, highest, scaled
from conspectus.algorithms.neighbours import nearest

scores = st.lists(st.sampled_from([0.0, -1.0, 0.25, 0.5, 1.0, 2.0]), max_size=30).map(lambda s: np.array(s, np.float32))


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
