"""Properties of every hierarchy of communities, and results for graphs that cannot be divided."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from conspectus.algorithms.leiden import (
    TOLERANCE,
    Ints,
    Part,
    adjacency,
    hierarchical_leiden,
    memberships,
    modularity,
)


def divided(source: ArrayLike, target: ArrayLike, weight: ArrayLike, n: int, **options: Any) -> list[Part]:
    """Return the hierarchy of communities of a graph given by its edges."""
    return hierarchical_leiden(adjacency(source, target, weight, n), **options)


class Edges(NamedTuple):
    source: list[int]
    target: list[int]
    weight: list[float]
    n: int


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 40) -> Edges:
    """Sparse and dense graphs with parallel edges, loops, isolated nodes and weights of any size."""
    n = draw(st.integers(1, max_nodes))
    node = st.integers(0, n - 1)
    weight = st.one_of(st.integers(1, 5).map(float), st.floats(0.01, 1000))
    edges = draw(st.lists(st.tuples(node, node, weight), max_size=5 * n))
    return Edges([a for a, _, _ in edges], [b for _, b, _ in edges], [w for _, _, w in edges], n)


def graph(pairs: list[tuple[int, int]], n: int) -> Edges:
    return Edges([a for a, _ in pairs], [b for _, b in pairs], [1.0] * len(pairs), n)


def planted(groups: int, size: int, inside: float, across: float, seed: int) -> tuple[Edges, Ints]:
    """Groups of equal size whose nodes are linked with one probability inside and another across."""
    n = groups * size
    group = np.repeat(np.arange(groups), size)
    chance = np.where(group[:, None] == group[None, :], inside, across)
    linked = np.triu(np.random.default_rng(seed).random((n, n)) < chance, 1)
    source, target = np.nonzero(linked)
    return Edges(source.tolist(), target.tolist(), [1.0] * source.size, n), group


def with_other_edges(earlier: Edges, edges: Edges) -> NDArray[np.bool_]:
    """Return which nodes of a graph have other edges, or edges of other weights, than in an earlier graph."""
    n = max(earlier.n, edges.n)
    one, other = (
        csr_array((g.data, g.indices, g.indptr), shape=(n, n)).toarray()
        for g in (adjacency(*graph[:3], n) for graph in (earlier, edges))
    )
    return (one != other).any(axis=1)[: edges.n]


def is_connected(edges: Edges, members: Ints) -> bool:
    matrix = csr_array((edges.weight, (edges.source, edges.target)), shape=(edges.n, edges.n))
    return connected_components(matrix[members][:, members], directed=False)[0] == 1


def same(one: list[Part], other: list[Part]) -> bool:
    def plain(parts: list[Part]) -> list[tuple[object, ...]]:
        return [(p.level, p.parent, p.members.tolist(), p.children, p.unsplit) for p in parts]

    return plain(one) == plain(other)


@given(graphs())
def test_every_level_is_a_partition_of_all_nodes(edges: Edges):
    parts = divided(*edges, max_size=4)

    for level, row in enumerate(memberships(parts, edges.n)):
        view = [
            number
            for number, part in enumerate(parts)
            if part.level == level or (part.level < level and not part.children)
        ]
        held = np.concatenate([parts[number].members for number in view])
        assert sorted(held.tolist()) == list(range(edges.n))
        assert set(row.tolist()) == set(view)


@given(graphs())
def test_children_divide_their_parent_one_level_down(edges: Edges):
    parts = divided(*edges, max_size=4)

    for number, part in enumerate(parts):
        assert all(parts[child].parent == number for child in part.children)
        assert all(parts[child].level == part.level + 1 for child in part.children)
        assert len(part.children) != 1
        if part.children:
            together = np.concatenate([parts[child].members for child in part.children])
            assert sorted(together.tolist()) == part.members.tolist()
        assert (part.parent == -1) == (part.level == 0)
        assert part.parent == -1 or number in parts[part.parent].children


@given(graphs(), st.integers(2, 12))
def test_a_leaf_is_small_or_says_why_not(edges: Edges, max_size: int):
    for part in divided(*edges, max_size=max_size):
        large_leaf = part.members.size > max_size and not part.children
        assert bool(part.unsplit) == large_leaf
        assert part.members.size > max_size or not part.children


@given(graphs())
def test_every_part_is_connected(edges: Edges):
    assert all(is_connected(edges, part.members) for part in divided(*edges, max_size=3))


@given(graphs())
def test_parts_come_by_level_then_size_then_smallest_node(edges: Edges):
    parts = divided(*edges, max_size=4)

    keys = [(part.level, -part.members.size, int(part.members[0])) for part in parts]
    assert keys == sorted(keys)


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_and_direction_of_edges_do_not_matter(edges: Edges, shuffler: random.Random):
    rows = list(zip(edges.source, edges.target, edges.weight, strict=True))
    shuffler.shuffle(rows)
    turned = [(b, a, w) if shuffler.random() < 0.5 else (a, b, w) for a, b, w in rows]
    shuffled = Edges([a for a, _, _ in turned], [b for _, b, _ in turned], [w for _, _, w in turned], edges.n)

    assert same(divided(*edges, max_size=4), divided(*shuffled, max_size=4))


@given(graphs())
def test_loops_do_not_matter_and_parallel_edges_add_up(edges: Edges):
    whole = {tuple(sorted(pair)): 4.0 for pair in zip(edges.source, edges.target, strict=True)}
    source, target = [a for a, _ in whole], [b for _, b in whole]
    halves = Edges([*source, *target, 0], [*target, *source, 0], [2.0] * (2 * len(whole)) + [9.0], edges.n)

    once = divided(source, target, [4.0] * len(whole), edges.n)
    assert same(divided(*halves), once)


def test_weights_add_up_to_the_last_bit_alike_in_any_order():
    weight = [0.1, 0.2, 0.3, 0.7, 1e-9, 1e9]

    one = adjacency([0] * 6, [1] * 6, weight, 2)
    other = adjacency([0, 1] * 3, [1, 0] * 3, weight[::-1], 2)

    assert one.data.tolist() == other.data.tolist() == [sum(sorted(weight))] * 2


@given(graphs(), st.integers(0, 2**32))
def test_the_same_seed_gives_the_same_hierarchy(edges: Edges, seed: int):
    assert same(divided(*edges, seed=seed), divided(*edges, seed=seed))


def test_the_hierarchy_does_not_depend_on_the_hash_seed():
    script = (
        "import numpy as np; from conspectus.algorithms.leiden import *;"
        "ends = np.random.default_rng(3).integers(0, 400, (2, 1500));"
        "parts = hierarchical_leiden(adjacency(*ends, np.ones(1500), 400));"
        "again = hierarchical_leiden(adjacency(*ends[:, 9:], np.ones(1491), 400), start=memberships(parts, 400));"
        "print([(p.level, p.parent, p.members.tolist()) for p in parts + again])"
    )
    path = os.pathsep.join(sys.path)
    printed = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": path},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }

    assert len(printed) == 1


@given(graphs())
def test_level_0_has_no_less_modularity_than_nodes_by_themselves(edges: Edges):
    parts = divided(*edges)
    linked = np.array(edges.source, int) != np.array(edges.target, int)
    source, target, weight = (np.array(column, float)[linked] for column in edges[:3])

    found = modularity(source, target, weight, memberships(parts, edges.n)[0])
    assert found >= modularity(source, target, weight, np.arange(edges.n)) - 1e-9


@given(graphs(), st.data())
def test_modularity_does_not_depend_on_the_names_of_communities_or_nodes(edges: Edges, data: st.DataObject):
    membership = np.array(data.draw(st.lists(st.integers(0, 5), min_size=edges.n, max_size=edges.n)))
    renamed = np.array(data.draw(st.permutations([7, -3, 90, 2, 11, 5])))[membership]
    place = np.array(data.draw(st.permutations(range(edges.n))))
    moved = np.empty_like(membership)
    moved[place] = membership
    before = modularity(*edges[:3], membership)

    assert modularity(*edges[:3], renamed) == pytest.approx(before)
    source, target = place[np.array(edges.source, int)], place[np.array(edges.target, int)]
    assert modularity(source, target, edges.weight, moved) == pytest.approx(before)


def test_modularity_of_two_triangles_joined_by_an_edge():
    source, target = [0, 0, 1, 3, 3, 4, 2], [1, 2, 2, 4, 5, 5, 3]

    assert modularity(source, target, [1] * 7, [0, 0, 0, 1, 1, 1]) == pytest.approx(6 / 7 - 1 / 2)
    assert modularity(source, target, [1] * 7, [4] * 6) == pytest.approx(0)
    assert modularity(source, target, [1] * 7, [0, 0, 0, 1, 1, 1], resolution=2) == pytest.approx(6 / 7 - 1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_planted_groups_are_found_at_level_0(seed: int):
    edges, group = planted(groups=8, size=30, inside=0.4, across=0.01, seed=seed)

    found = memberships(divided(*edges), edges.n)[0]

    assert len(set(zip(found.tolist(), group.tolist(), strict=True))) == len(set(found.tolist())) == 8


def test_groups_within_groups_are_found_one_below_the_other():
    cliques = [list(range(8 * k, 8 * k + 8)) for k in range(32)]
    pairs = [pair for clique in cliques for pair in combinations(clique, 2)]
    for four in range(0, 32, 4):  # four edges between two cliques of a group, one edge to the next group
        for a, b in combinations(range(four, four + 4), 2):
            pairs += [(cliques[a][i], cliques[b][i]) for i in range(4)]
        pairs.append((cliques[four][0], cliques[(four + 4) % 32][1]))

    parts = divided(*graph(pairs, 256))

    groups = [list(range(start, start + 32)) for start in range(0, 256, 32)]
    assert [p.members.tolist() for p in parts if p.level == 0] == groups
    assert [p.members.tolist() for p in parts if p.level == 1] == cliques


def test_nodes_without_edges_are_communities_of_their_own():
    parts = divided([1], [3], [2.0], 5)

    assert [p.members.tolist() for p in parts] == [[1, 3], [0], [2], [4]]
    assert [p.members.tolist() for p in divided([], [], [], 3)] == [[0], [1], [2]]
    assert divided([], [], [], 0) == []


def test_a_star_stays_whole_and_says_so():
    parts = divided(*graph([(0, i) for i in range(1, 30)], 30))

    assert [(p.members.size, p.unsplit) for p in parts] == [(30, "a star around one node")]


def test_a_clique_stays_whole_and_says_so():
    parts = divided(*graph(list(combinations(range(14), 2)), 14))

    assert [(p.members.size, p.unsplit) for p in parts] == [(14, "a clique")]


def test_what_is_neither_and_does_not_divide_says_how_far_it_was_tried():
    parts = divided(*graph(list(combinations(range(14), 2))[1:], 14), resolution=0.5)

    assert [(p.members.size, p.unsplit) for p in parts] == [(14, "no division found at resolution 2")]


@pytest.mark.parametrize(("size", "lone"), [(3, 6), (4, 0)])
def test_groups_around_a_heavy_hub_part_and_the_nodes_that_only_it_knows_stay_with_it(size: int, lone: int):
    groups = [range(start, start + size) for start in range(1, 25, size)]
    inside = [pair for group in groups for pair in combinations(group, 2)]
    edges = graph(inside + [(0, node) for node in range(1, 25 + lone)], 25 + lone)
    weight = [1.0] * len(inside) + [20.0] * (24 + lone)

    parts = divided(edges.source, edges.target, weight, edges.n)

    leaves = [set(part.members.tolist()) for part in parts if not part.children]
    assert max(map(len, leaves)) <= 10
    assert all(any(leaf.issuperset(group) for leaf in leaves) for group in groups)
    assert any(leaf.issuperset([0, *range(25, 25 + lone)]) for leaf in leaves)


def test_what_comes_back_whole_is_divided_at_a_higher_resolution():
    edges, group = planted(groups=4, size=20, inside=0.5, across=0.02, seed=1)

    parts = divided(*edges, resolution=0.05, max_size=20)

    assert parts[0].members.size == 80
    assert all(len(set(group[part.members])) == 1 for part in parts if not part.children)


@given(graphs(), graphs(), st.integers(2, 6), st.data())
def test_the_laws_hold_whatever_it_starts_from(
    earlier: Edges, edges: Edges, max_size: int, data: st.DataObject
):
    before = memberships(divided(*earlier, max_size=max_size), earlier.n)
    kept = min(earlier.n, edges.n)
    start = [np.concatenate((row[:kept], np.full(edges.n - kept, -1))) for row in before]
    changed = data.draw(st.none() | st.just(with_other_edges(earlier, edges)))

    parts = divided(*edges, max_size=max_size, start=start, changed=changed)

    for row in memberships(parts, edges.n):
        assert (row >= 0).all()
    for part in parts:
        assert is_connected(edges, part.members)
        assert part.members.size <= max_size or part.children or part.unsplit
        assert sum(parts[child].members.size for child in part.children) in (0, part.members.size)


@given(graphs(), st.integers(2, 6))
def test_a_graph_that_did_not_change_keeps_its_hierarchy(edges: Edges, max_size: int):
    parts = divided(*edges, max_size=max_size)
    start = memberships(parts, edges.n)

    assert same(divided(*edges, max_size=max_size, start=start), parts)
    assert same(divided(*edges, max_size=max_size, start=start, changed=np.zeros(edges.n, bool)), parts)


@given(graphs(), graphs(), st.integers(2, 6))
def test_no_division_lacks_more_than_the_tolerance_of_a_new_one(earlier: Edges, edges: Edges, max_size: int):
    before = memberships(divided(*earlier, max_size=max_size), earlier.n)
    kept = min(earlier.n, edges.n)
    start = [np.concatenate((row[:kept], np.full(edges.n - kept, -1))) for row in before]
    plain = {(min(a, b), max(a, b)) for a, b in zip(edges.source, edges.target, strict=True) if a != b}

    carried = divided(*edges, max_size=max_size, start=start)
    fresh = divided(*edges, max_size=max_size)

    if plain:
        linked = np.array(edges.source) != np.array(edges.target)
        source, target, weight = (np.array(column, float)[linked] for column in edges[:3])
        found, wanted = (
            modularity(source, target, weight, memberships(parts, edges.n)[0]) for parts in (carried, fresh)
        )
        assert found >= wanted - TOLERANCE * abs(wanted) - 1e-9


def test_what_a_new_group_of_nodes_does_not_touch_stays_as_it_was():
    edges, _ = planted(groups=6, size=24, inside=0.4, across=0.01, seed=2)
    n = edges.n
    clique = [(a, b) for a, b in combinations(range(n, n + 8), 2)]
    grown = Edges(
        [*edges.source, *(a for a, _ in clique), 0],
        [*edges.target, *(b for _, b in clique), n],
        [1.0] * (len(edges.source) + len(clique) + 1),
        n + 8,
    )
    before = divided(*edges)
    start = [np.concatenate((row, np.full(8, -1))) for row in memberships(before, n)]

    after = divided(*grown, start=start, changed=with_other_edges(edges, grown))

    def members(parts: list[Part]) -> set[tuple[int, ...]]:
        return {(part.level, *part.members.tolist()) for part in parts}

    assert members(after) - members(before) == {(0, *range(n, n + 8))}
    assert members(before) <= members(after)


def test_what_has_the_edges_that_it_had_is_divided_as_it_was():
    ring = Edges(list(range(40)), [*range(1, 40), 0], [1.0] * 40, 40)
    start = [row.copy() for row in memberships(divided(*ring, resolution=0.05), 40)]
    start[1] = np.arange(40) % 2  # no algorithm would divide the ring into odd and even nodes
    start[0][:] = 0

    parts = divided(*ring, resolution=0.05, start=start[:2], changed=np.zeros(40, bool), max_size=39)

    assert [part.members.size for part in parts if part.level == 1] == [1] * 40


def test_of_divisions_that_are_as_good_the_one_it_starts_from_is_kept_at_every_level():
    ring = Edges(list(range(40)), [*range(1, 40), 0], [1.0] * 40, 40)
    turned = [np.roll(row, 3) for row in memberships(divided(*ring, resolution=0.05), 40)]

    parts = divided(*ring, resolution=0.05, start=turned)

    assert len(turned) == 3
    for row, before in zip(memberships(parts, 40), turned, strict=True):
        pairs = set(zip(row.tolist(), before.tolist(), strict=True))
        assert len(pairs) == len(set(row.tolist())) == len(set(before.tolist()))


@pytest.mark.parametrize(
    ("source", "target", "weight"),
    [([0], [3], [1.0]), ([-1], [0], [1.0]), ([0], [1], [0.0]), ([0], [1], [float("nan")])],
)
def test_edges_that_make_no_sense_are_refused(source: list[int], target: list[int], weight: list[float]):
    with pytest.raises(ValueError, match=r"an edge ends outside|every weight must be"):
        divided(source, target, weight, 3)
