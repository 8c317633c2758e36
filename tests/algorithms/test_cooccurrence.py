"""Which entities occur together more often than by chance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.algorithms.statistics import MAX_MEMBERS, MAX_PARTNERS, rounded_size, significant_pairs

Pairs = set[tuple[int, int]]
THINGS = 40


def related(contexts: Sequence[Sequence[int]], things: int = THINGS) -> Pairs:
    """Return the pairs of related entities, the lower number first."""
    numbers = np.array([i for i, named in enumerate(contexts) for _ in named], np.int32)
    members = np.array([thing for named in contexts for thing in named], np.int32)
    codes = significant_pairs(numbers, members, things, len(contexts)).tolist()
    assert codes == sorted(set(codes))
    return {divmod(code, things) for code in codes}


def meetings(contexts: Sequence[Sequence[int]]) -> Pairs:
    short = [set(named) for named in contexts if len(set(named)) <= MAX_MEMBERS]
    return {(a, b) for named in short for a in named for b in named if a < b}


things = st.integers(0, THINGS - 1)
corpora = st.lists(st.lists(things, max_size=MAX_MEMBERS + 2), max_size=60)


def test_things_that_always_meet_are_related_and_those_that_meet_by_chance_are_not():
    rng = np.random.default_rng(7)
    common = [[int(thing) for thing in rng.choice(20, 6, replace=False)] for _ in range(300)]
    together = [[20, 21, int(rng.integers(20))] for _ in range(30)]

    pairs = related(common + together)

    assert (20, 21) in pairs
    assert len({pair for pair in pairs if max(pair) < 20}) < 20 * 19 / 4, "of 190 pairs that all meet"


def test_a_list_of_many_things_relates_none_of_them():
    assert related([list(range(MAX_MEMBERS + 1))] * 5) == set()
    assert related([list(range(MAX_MEMBERS))] * 5) != set()


def test_nothing_is_related_where_nothing_is_named():
    assert related([]) == related([[], []]) == related([[1], [2]]) == set()


@given(corpora)
def test_only_things_that_meet_are_related(contexts: list[list[int]]):
    assert related(contexts) <= meetings(contexts)


@given(corpora)
def test_nothing_that_meets_others_is_alone(contexts: list[list[int]]):
    assert {thing for pair in related(contexts) for thing in pair} == {
        thing for pair in meetings(contexts) for thing in pair
    }


@given(corpora)
def test_there_are_at_most_ten_partners_for_each_thing(contexts: list[list[int]]):
    pairs = related(contexts)
    partners: defaultdict[int, set[int]] = defaultdict(set)
    for low, high in pairs:
        partners[low].add(high)
        partners[high].add(low)

    assert len(pairs) <= MAX_PARTNERS * len(partners)


@given(corpora, st.randoms(use_true_random=False))
def test_the_order_in_which_a_context_names_things_does_not_matter(contexts: list[list[int]], random: Random):
    shuffled = [random.sample(named, len(named)) for named in contexts]

    assert related(shuffled) == related(contexts)


@given(corpora, st.randoms(use_true_random=False))
def test_the_order_of_contexts_does_not_matter(contexts: list[list[int]], random: Random):
    assert related(random.sample(contexts, len(contexts))) == related(contexts)


# Sizes that do not change with one document more or less


@given(st.integers(0, 10**9))
def test_a_rounded_size_is_at_least_the_size_and_less_than_a_fifth_above_it(n: int):
    assert max(n, 1) <= rounded_size(n) <= 2**0.25 * max(n, 1) + 1


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_larger_size_is_rounded_to_no_less(one: int, other: int):
    low, high = sorted((one, other))

    assert rounded_size(low) <= rounded_size(high)


@given(st.integers(1, 10**9), st.floats(0, 1))
def test_all_sizes_within_a_step_are_rounded_alike(n: int, share: float):
    top = rounded_size(n)
    above = max(top - 1 - n, 0)  # the top itself is the first of the next step where no power of two is whole

    assert rounded_size(n + int(share * above)) == top


@pytest.mark.parametrize("size", [100, 1_000, 10_000, 100_000])
def test_few_of_the_sizes_that_grow_by_one_are_rounded_otherwise(size: int):
    steps = Counter(rounded_size(n) for n in range(size, 2 * size))

    assert len(steps) <= 5
