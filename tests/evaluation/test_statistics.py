"""General properties of the bootstrap."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.evaluation.statistics import bootstrap, paired_difference

values = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(values)
def test_the_interval_holds_the_mean_and_stays_within_the_values(scores: list[float]):
    mean, low, high = bootstrap(scores, samples=200)

    assert min(scores) - 1e-9 <= low <= high <= max(scores) + 1e-9
    assert mean == pytest.approx(sum(scores) / len(scores))


def test_more_questions_make_the_interval_narrower():
    few, many = bootstrap([0, 1] * 10), bootstrap([0, 1] * 1000)

    assert many.high - many.low < (few.high - few.low) / 5


def test_the_interval_covers_what_the_normal_distribution_says():
    interval = bootstrap([0, 1] * 200, samples=4000)

    assert interval.low == pytest.approx(0.5 - 1.96 * 0.5 / 20, abs=0.006)
    assert interval.high == pytest.approx(0.5 + 1.96 * 0.5 / 20, abs=0.006)


@given(values)
def test_a_method_does_not_differ_from_itself(scores: list[float]):
    assert paired_difference(scores, scores) == (0, 0, 0)


def test_a_constant_lead_is_certain_however_scores_vary():
    assert paired_difference([0.5, 1.0, 0.75], [0.25, 0.75, 0.5]) == pytest.approx((0.25, 0.25, 0.25))


def test_methods_with_different_questions_cannot_be_compared():
    with pytest.raises(ValueError, match="same questions"):
        paired_difference([1.0], [1.0, 0.0])


@given(values)
def test_the_same_seed_gives_the_same_interval(scores: list[float]):
    assert bootstrap(scores, samples=50, seed=3) == bootstrap(scores, samples=50, seed=3)
