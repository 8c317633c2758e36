"""Properties of the walk over the sentence–entity graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from conspectus.algorithms.sentence_walk import (
    WHOLE,
    Incidence,
    spread,
    totals,
    walk,
)

seeds = st.integers(0, 2**32 - 1)


def an_incidence(random: np.random.Generator, sentences: int, names: int, density: float = 0.3) -> Incidence:
    holds = random.random((sentences, names)) < density
    outward = holds / np.maximum(holds.sum(axis=1, keepdims=True), 1)
    inward = holds.T * random.uniform(0.5, 30, (names, sentences))
    return between(outward, inward)


def between(outward: NDArray[Any], inward: NDArray[Any]) -> Incidence:
    to_names, to_sentences = (sparse.csr_array(weights.astype(np.float32)) for weights in (outward, inward))
    return Incidence(to_names.__getitem__, to_sentences.__getitem__, np.diff(to_sentences.indptr))


def a_walk(
    random: np.random.Generator, sentences: int = 8, names: int = 5, density: float = 0.3, steps: int = 9
):
    incidence = an_incidence(random, sentences, names, density)
    pull = random.uniform(0.1, 1.1, sentences).astype(np.float32)
    return incidence, walk(incidence, pull, random.random(sentences), random.random(names), 0.85, steps)


@given(seeds)
def test_no_sentence_gets_less_than_nothing_and_all_together_at_most_everything(seed: int):
    _, mass = a_walk(np.random.default_rng(seed))

    assert (mass >= 0).all()
    assert mass.sum() <= 1 + 1e-5


def test_where_every_sentence_and_name_leads_on_nothing_is_lost():
    random = np.random.default_rng(0)
    incidence = an_incidence(random, 6, 6, density=1.0)
    pull = np.ones(6, np.float32)

    on_sentences = walk(incidence, pull, np.ones(6), np.ones(6), 0.85, 40)
    assert on_sentences.sum() == pytest.approx(0.5, abs=1e-4)


@given(seeds)
def test_the_walk_depends_on_nothing_but_what_it_is_given(seed: int):
    first, second = (a_walk(np.random.default_rng(seed))[1] for _ in range(2))

    assert np.array_equal(first, second)


@given(seeds, st.floats(0.1, 100))
def test_only_the_proportions_of_the_resets_count(seed: int, factor: float):
    random = np.random.default_rng(seed)
    incidence = an_incidence(random, 8, 5)
    pull, sentences, names = random.uniform(0.1, 1, 8).astype(np.float32), random.random(8), random.random(5)

    once = walk(incidence, pull, sentences, names, 0.85, 9)
    again = walk(incidence, pull, factor * sentences, factor * names, 0.85, 9)
    assert again == pytest.approx(once, abs=1e-5)


def test_without_a_start_there_is_no_walk():
    incidence = an_incidence(np.random.default_rng(1), 4, 3)

    assert not walk(incidence, np.ones(4, np.float32), np.zeros(4), np.zeros(3), 0.85, 9).any()


def test_a_name_leads_to_the_sentence_that_is_like_the_question():
    holds = np.ones((2, 1))

    mass = walk(between(holds, holds.T), np.array([1.0, 0.1], np.float32), np.zeros(2), np.ones(1), 0.85, 9)

    assert mass[0] == pytest.approx(10 * mass[1], rel=1e-4)


def test_a_walk_over_many_sentences_reads_those_that_it_reaches_alone_and_finds_the_same():
    random, names = np.random.default_rng(2), 20_000
    holds = np.zeros(WHOLE + 1, np.int64)
    holds[:1000] = random.integers(0, 500, 1000)
    holds[1000:] = random.integers(500, names, WHOLE - 999)  # unreachable: no walk starts from these names
    outward = sparse.csr_array((np.ones(len(holds), np.float32), holds, np.arange(len(holds) + 1)))
    inward = outward.T.tocsr()
    pull = random.uniform(0.1, 1.1, len(holds)).astype(np.float32)
    starts, read = np.zeros(names), list[int]()
    starts[:5] = 1

    def reading(rows: NDArray[np.integer[Any]]) -> Any:
        read.extend(rows.tolist())
        return outward[rows]

    mass = walk(Incidence(reading, inward.__getitem__, np.diff(inward.indptr)), pull, 0 * pull, starts)

    assert 0 < len(read) < 1000
    few = between(outward[:1000, :500].toarray(), inward[:500, :1000].toarray())
    assert mass[:1000] == pytest.approx(walk(few, pull[:1000], 0 * pull[:1000], starts[:500]), abs=1e-6)


@st.composite
def ranges(draw: st.DrawFn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ranges in order, which may overlap or be empty."""
    first = np.sort(draw(st.lists(st.integers(0, 12), min_size=1, max_size=6)))
    sizes = draw(st.lists(st.integers(0, 4), min_size=len(first), max_size=len(first)))
    return first, np.maximum.accumulate(first + np.array(sizes))


@given(ranges(), seeds)
def test_totals_are_sums_over_ranges(edges: tuple[NDArray[np.int64], NDArray[np.int64]], seed: int):
    values = np.random.default_rng(seed).random(20)

    expected = [values[a:b].sum() for a, b in zip(*edges, strict=True)]
    assert totals(values, *edges) == pytest.approx(expected)


@given(ranges(), seeds)
def test_what_passages_spread_arrives_whole_where_they_hold_sentences(
    edges: tuple[NDArray[np.int64], NDArray[np.int64]], seed: int
):
    random = np.random.default_rng(seed)
    shares, pull = random.random(len(edges[0])), random.uniform(0.1, 1, 20)

    arrived = spread(shares, pull, *edges)
    assert arrived.sum() == pytest.approx(shares[edges[1] > edges[0]].sum(), abs=1e-6)
