"""Personalized PageRank equals the solution of its definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.sparse import csr_array

from conspectus.algorithms.ranking import personalized_pagerank

Floats = NDArray[np.float64]


@st.composite
def walks(draw: st.DrawFn) -> tuple[Floats, Floats]:
    """A directed, weighted adjacency matrix, often with nodes without outgoing edges, and a restart vector."""
    n = draw(st.integers(1, 12))
    weight = st.one_of(st.just(0.0), st.floats(0.1, 10))
    dense = draw(arrays(np.float64, (n, n), elements=weight))
    reset = draw(arrays(np.float64, n, elements=weight).filter(np.any))
    return dense, reset


def solved(dense: Floats, reset: Floats, damping: float) -> Floats:
    """The fixed point, by solving for it."""
    jump = reset / reset.sum()
    out = dense.sum(axis=1)
    step = np.where(out[:, None] > 0, dense / np.where(out > 0, out, 1)[:, None], jump)
    missing = np.asarray(np.eye(len(reset)) - damping * step.T, np.float64)
    return np.asarray(np.linalg.solve(missing, (1 - damping) * jump), np.float64)


@given(walks(), st.sampled_from([0.0, 0.5, 0.85, 0.95]))
def test_it_is_the_solution_of_its_equation(walk: tuple[Floats, Floats], damping: float):
    dense, reset = walk

    rank = personalized_pagerank(csr_array(dense), reset, damping, tolerance=1e-9)

    assert np.abs(rank - solved(dense, reset, damping)).sum() <= 1.1e-9
    assert rank.sum() == pytest.approx(1)
    assert (rank >= 0).all()


@given(walks(), st.floats(0.01, 100))
def test_the_scale_of_weights_does_not_matter(walk: tuple[Floats, Floats], scale: float):
    dense, reset = walk

    rank = personalized_pagerank(csr_array(dense), reset)

    assert personalized_pagerank(csr_array(dense * scale), reset * scale) == pytest.approx(rank)


def test_a_walk_that_mixes_slowly_is_followed_until_it_is_within_the_tolerance():
    dense, reset = np.array([[1000.0, 1.0], [1.0, 1000.0]]), np.array([1.0, 0.0])

    rank = personalized_pagerank(csr_array(dense), reset, 0.98, tolerance=1e-4)

    assert np.abs(rank - solved(dense, reset, 0.98)).sum() <= 1e-4


def test_what_cannot_be_reached_from_the_reset_has_no_rank():
    two_pairs = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]], float)

    rank = personalized_pagerank(csr_array(two_pairs), [1, 0, 0, 0])

    assert rank[2:].tolist() == [0, 0]
    assert rank[0] > rank[1] > 0


def test_a_walker_on_a_node_without_edges_jumps_to_the_reset():
    rank = personalized_pagerank(csr_array(np.array([[0.0, 1.0], [0.0, 0.0]])), [1, 0], damping=0.5)

    assert rank == pytest.approx([2 / 3, 1 / 3], abs=1e-6)


@pytest.mark.parametrize("reset", [[0, 0], [1], [1, -1], [1, float("nan")]])
def test_a_reset_that_makes_no_sense_is_refused(reset: Any):
    with pytest.raises(ValueError, match="reset must hold"):
        personalized_pagerank(csr_array(np.ones((2, 2))), reset)


def test_a_damping_of_1_is_refused():
    with pytest.raises(ValueError, match="damping must be"):
        personalized_pagerank(csr_array(np.ones((2, 2))), [1, 0], damping=1)


def test_a_rank_that_has_not_settled_is_not_returned():
    with pytest.raises(ArithmeticError, match="in 3 iterations"):
        personalized_pagerank(csr_array(np.array([[0.0, 1.0], [1.0, 0.0]])), [1, 0], max_iterations=3)
