"""Products of vectors, and scaling and fusion of scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.algorithms import ranking
from conspectus.algorithms.ranking import VectorLists, highest, products, scaled

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


def some_vectors(number: int, seed: int = 1, size: int = 16) -> np.ndarray:
    """Return vectors of length 1 that form clusters around 20 random ones."""
    random = np.random.default_rng(seed)
    around = random.standard_normal((20, size))[random.integers(20, size=number)]
    vectors = around + 0.5 * random.standard_normal((number, size))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)


def test_each_vector_is_in_one_list_and_the_same_vectors_make_the_same_lists():
    vectors = some_vectors(3000)
    lists, again = VectorLists.made(vectors), VectorLists.made(vectors)

    assert sorted(lists.rows.tolist()) == list(range(3000))
    assert (lists.starts[0], lists.starts[-1]) == (0, 3000)
    for name, array in lists.arrays("near").items():
        assert array.tobytes() == again.arrays("near")[name].tobytes()


@pytest.mark.parametrize("shape", [(16,), (16, 3)])
def test_what_lists_score_is_the_product_and_what_they_leave_out_is_0(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
):
    vectors, query = (
        some_vectors(3000),
        some_vectors(48, seed=2).astype(np.float32)[: shape[-1] if shape[1:] else 1],
    )
    query = query.T.reshape(shape)
    monkeypatch.setattr(ranking, "PROBED", 8)

    found, all_of_them = VectorLists.made(vectors).products(query), products(vectors, query)

    assert found.shape == all_of_them.shape
    scored = found != 0
    assert 0 < scored.mean() < 0.5
    assert np.allclose(found[scored], all_of_them[scored], atol=0.01)


def test_the_nearest_vectors_are_mostly_in_the_lists_that_are_probed(monkeypatch: pytest.MonkeyPatch):
    vectors, queries = some_vectors(3000), some_vectors(50, seed=2).astype(np.float32)
    lists = VectorLists.made(vectors)
    monkeypatch.setattr(ranking, "PROBED", 16)

    pairs = [(highest(lists.products(q), 10), highest(products(vectors, q), 10)) for q in queries]

    assert np.mean([len(np.intersect1d(found, nearest)) for found, nearest in pairs]) > 9


def test_where_there_are_few_lists_all_vectors_are_scored():
    vectors = np.concatenate((some_vectors(100), np.zeros((1, 16), np.float16)))
    query = some_vectors(1, seed=2)[0].astype(np.float32)

    assert np.allclose(VectorLists.made(vectors).products(query), products(vectors, query), atol=0.01)
    assert VectorLists.made(vectors[:1]).products(query).shape == (1,)


@given(scores, st.integers(1, 35))
def test_the_highest_are_what_a_stable_sort_begins_with(values: np.ndarray, k: int):
    assert highest(values, k).tolist() == np.argsort(-values, kind="stable")[:k].tolist()


@given(scores)
def test_scaled_scores_lie_between_0_and_1_in_the_same_order(values: np.ndarray):
    result = scaled(values)

    assert ((result >= 0) & (result <= 1)).all()
    assert (np.diff(result[np.argsort(values, kind="stable")]) >= 0).all()
