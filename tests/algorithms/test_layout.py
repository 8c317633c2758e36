"""Tests of the layout: positions of communities and entities on the map."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from conspectus.algorithms.layout import Layout, nested_discs

Edges = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]


def edges_of(*pairs: tuple[int, int]) -> Edges:
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    return source, target, np.ones(len(pairs))


def flat(sizes: list[int], *pairs: tuple[int, int], loose: int = 0) -> Layout:
    """Lay out communities without children, with `sizes` entities each, and `loose` entities in no community."""
    ends = np.cumsum([0, *sizes])
    members = {i: range(ends[i], ends[i + 1]) for i in range(len(sizes))}
    return nested_discs([[] for _ in sizes], range(len(sizes)), members, edges_of(*pairs), sum(sizes) + loose)


def overlap(discs: np.ndarray[Any, Any]) -> float:
    """Return the largest overlap of two discs; negative if no discs overlap."""
    apart = np.hypot(*(discs[:, None, :2] - discs[None, :, :2]).transpose(2, 0, 1))
    depth = discs[:, 2] + discs[:, None, 2] - apart
    np.fill_diagonal(depth, -np.inf)
    return float(depth.max())


@given(st.lists(st.integers(1, 60), min_size=2, max_size=40), st.integers(0, 200), st.integers(0, 9))
@settings(max_examples=40, deadline=None)
def test_discs_do_not_overlap_and_all_fits_the_unit_disc(sizes: list[int], ties: int, seed: int):
    random = np.random.default_rng(seed)
    pairs = random.integers(0, sum(sizes), (ties, 2)).tolist()

    layout = flat(sizes, *map(tuple, pairs), loose=seed)

    assert overlap(layout.discs) < 1e-6
    assert (np.hypot(*layout.discs[:, :2].T) + layout.discs[:, 2]).max() < 1 + 1e-6
    assert np.hypot(*layout.points.T).max() < 1 + 1e-6
    assert np.isfinite(layout.points).all()


def test_parts_lie_within_the_whole_and_entities_within_their_community():
    members = {1: [0, 1, 2], 2: [3, 4], 3: [5]}
    layout = nested_discs([[1, 2], [], [], []], [0, 3], members, edges_of((0, 3), (3, 5)), 6)

    x, y, radius = layout.discs[0]
    for child in (1, 2):
        assert np.hypot(*(layout.discs[child, :2] - (x, y))) + layout.discs[child, 2] <= radius + 1e-9
    for community, entities in members.items():
        away = np.hypot(*(layout.points[list(entities)] - layout.discs[community, :2]).T)
        assert (away < layout.discs[community, 2]).all()


def test_the_same_graph_gives_the_same_bytes():
    one, two = (flat([9, 7, 7, 5, 1, 1, 1], (0, 10), (10, 20), (3, 24), loose=3) for _ in range(2))

    assert one.discs.tobytes() == two.discs.tobytes()
    assert one.points.tobytes() == two.points.tobytes()


def test_small_communities_without_connections_lie_around_the_others():
    layout = flat([400, 300, 200, *[1] * 30], (0, 500), (0, 800))

    centre = np.average(layout.discs[:3, :2], axis=0, weights=layout.discs[:3, 2])
    reach = (np.hypot(*(layout.discs[:3, :2] - centre).T) + layout.discs[:3, 2]).max()
    assert (np.hypot(*(layout.discs[3:, :2] - centre).T) > 0.9 * reach).all()
    assert np.ptp(layout.discs[3:, :2], axis=0).max() < 1.6  # together, in an arc


def test_entities_in_no_community_lie_around_all_communities():
    layout = flat([5, 5], (0, 5), loose=4)

    outside = np.hypot(*layout.points[10:].T)
    assert outside.min() > (np.hypot(*layout.discs[:, :2].T) + layout.discs[:, 2]).max()
    assert len({tuple(row) for row in layout.points.round(9).tolist()}) == 14
