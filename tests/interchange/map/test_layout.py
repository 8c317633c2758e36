"""Tests of where the things of a graph are laid."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from work import grows_linearly

from conspectus.interchange.map import Edges, lay_out

Array = np.ndarray[Any, Any]


def groups_of_cliques(groups: int, size: int) -> tuple[Array, Edges, Array]:
    """Cliques joined in a ring by single edges."""
    group = np.repeat(np.arange(groups), size)
    pairs = [(a, b) for a in range(groups * size) for b in range(a) if group[a] == group[b]]
    pairs += [(g * size, (g + 1) % groups * size) for g in range(groups)]
    source, target = np.array(pairs).T
    return np.full(groups * size, 20.0), Edges(source, target, np.ones(len(pairs))), group


@given(st.integers(0, 40), st.integers(0, 120), st.integers(0, 5))
@settings(max_examples=8)
def test_every_node_gets_a_finite_place_of_its_own(n: int, m: int, seed: int):
    random = np.random.default_rng(seed)
    edges = Edges(
        random.integers(0, max(n, 1), m * bool(n)),
        random.integers(0, max(n, 1), m * bool(n)),
        np.ones(m * bool(n)),
    )
    level = random.integers(-1, 3, n)

    places = lay_out(np.full(n, 10.0), edges, [level], seed)

    assert places.shape == (n, 2)
    assert np.isfinite(places).all()
    assert len({tuple(row) for row in places.round(6).tolist()}) == n


def test_the_same_graph_and_seed_give_the_same_places_and_another_seed_others():
    area, edges, group = groups_of_cliques(5, 12)

    one, two, other = (lay_out(area, edges, [group], seed) for seed in (1, 1, 2))

    assert np.array_equal(one, two)
    assert not np.allclose(one, other)


def test_a_community_lies_together_and_apart_from_the_others():
    area, edges, group = groups_of_cliques(6, 20)

    places = lay_out(area, edges, [group])

    middles = np.stack([places[group == g].mean(0) for g in range(6)])
    own = np.hypot(*(places - middles[group]).T)
    nearest = np.array(
        [min(np.hypot(*(middles[g] - middles[o])) for o in range(6) if o != g) for g in range(6)]
    )
    assert own.max() < nearest.min() / 1.5


def test_nodes_hardly_overlap():
    area, edges, group = groups_of_cliques(6, 40)
    radius = np.sqrt(area / np.pi)

    places = lay_out(area, edges, [group])

    distance = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
    together = (distance < 0.9 * (radius[:, None] + radius)) & ~np.eye(len(area), dtype=bool)
    assert together.mean() < 0.001


def test_neighbours_lie_nearer_than_strangers_without_any_communities():
    area, edges, _ = groups_of_cliques(6, 20)

    places = lay_out(area, edges, [])

    near = np.hypot(*(places[edges.source] - places[edges.target]).T).mean()
    far = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1)).mean()
    assert near < far / 2


def test_the_work_grows_in_proportion_to_the_graph():
    def laid_out(n: int) -> None:
        random = np.random.default_rng(0)
        group = random.integers(0, n // 60, n)
        source, target = random.integers(0, n, (2, 4 * n))
        lay_out(np.full(n, 10.0), Edges(source, target, np.ones(4 * n)), [group // 20, group])

    assert grows_linearly(laid_out, 1000)
