"""Measures of a ranking: general properties, and values computed by hand."""

from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.evaluation.retrieval import all_retrieved, ndcg, recall, reciprocal_rank

RANKING = ["a", "b", "c", "d", "e"]


def test_recall_is_the_share_of_relevant_passages_among_the_first_k():
    relevant = {"b": 1.0, "d": 1.0, "z": 1.0}

    assert [recall(RANKING, relevant, k) for k in (1, 2, 4, 5)] == [0, 1 / 3, 2 / 3, 2 / 3]


def test_all_found_asks_for_every_relevant_passage():
    assert all_retrieved(RANKING, {"a": 1.0, "c": 1.0}, 3) == 1
    assert all_retrieved(RANKING, {"a": 1.0, "c": 1.0}, 2) == 0


def test_the_reciprocal_rank_is_that_of_the_first_relevant_passage():
    assert reciprocal_rank(RANKING, {"c": 1.0, "d": 1.0}) == 1 / 3
    assert reciprocal_rank(RANKING, {"z": 1.0}) == 0


def test_ndcg_discounts_by_place_and_is_relative_to_the_best_order():
    relevant = {"b": 2.0, "e": 1.0}

    gained = 2 / log2(3) + 1 / log2(6)
    assert ndcg(RANKING, relevant, 5) == pytest.approx(gained / (2 / log2(2) + 1 / log2(3)))


passages = st.sampled_from([*"abcdefgh"])
rankings = st.lists(passages, unique=True)
relevants = st.dictionaries(passages, st.floats(0.5, 3), min_size=1)


@given(rankings, relevants, st.integers(1, 9))
def test_every_measure_lies_between_0_and_1(ranking: list[str], relevant: dict[str, float], k: int):
    values = [
        recall(ranking, relevant, k),
        all_retrieved(ranking, relevant, k),
        reciprocal_rank(ranking, relevant),
    ]

    assert all(0 <= value <= 1 for value in values)
    assert 0 <= ndcg(ranking, relevant, k) <= 1 + 1e-9


@given(rankings, relevants, st.integers(1, 8))
def test_recall_does_not_fall_with_k_and_is_1_where_all_are_found(
    ranking: list[str], relevant: dict[str, float], k: int
):
    assert recall(ranking, relevant, k) <= recall(ranking, relevant, k + 1)
    assert (recall(ranking, relevant, k) == 1) == (all_retrieved(ranking, relevant, k) == 1)


@given(relevants)
def test_the_best_order_has_an_ndcg_of_1(relevant: dict[str, float]):
    best = sorted(relevant, key=relevant.__getitem__, reverse=True)

    assert ndcg(best, relevant, len(best)) == pytest.approx(1)
