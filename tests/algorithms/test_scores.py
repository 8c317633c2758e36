"""Products of vectors, and scores made one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.algorithms import ranking
from conspectus.algorithms.ranking import highest, products, scaled

scores = st.lists(st.sampled_from([0.0, -1.0, 0.25, 0.5, 1.0, 2.0]), max_size=30).map(
    lambda s: np.array(s, np.float32)
)


@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_products_are_those_of_all_vectors_block_by_block(kind: type, monkeypatch: pytest.MonkeyPatch):
    random = np.random.default_rng(1)
    vectors, query = (
        random.standard_normal((50, 4)).astype(kind),
        random.standard_normal(4).astype(np.float32),
    )
    monkeypatch.setattr(ranking, "BLOCK", 28)

    assert np.allclose(products(vectors, query), vectors.astype(np.float32) @ query)
    assert products(vectors[:0], query).shape == (0,)


@given(scores, st.integers(1, 35))
def test_the_highest_are_what_a_stable_sort_begins_with(values: np.ndarray, k: int):
    assert highest(values, k).tolist() == np.argsort(-values, kind="stable")[:k].tolist()


@given(scores)
def test_scaled_scores_lie_between_0_and_1_in_the_same_order(values: np.ndarray):
    result = scaled(values)

    assert ((result >= 0) & (result <= 1)).all()
    assert (np.diff(result[np.argsort(values, kind="stable")]) >= 0).all()
