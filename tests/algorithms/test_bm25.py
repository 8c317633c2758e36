"""BM25 scores equal those of the formula, computed text by text."""

from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.algorithms.ranking import Postings, bm25, idf, postings

SIZE = 5
some_texts = st.lists(st.lists(st.integers(0, SIZE - 1), max_size=8), max_size=6)
a_query = st.lists(st.tuples(st.integers(0, SIZE - 1), st.floats(0, 3)), max_size=4)


def counted(texts: Sequence[Sequence[int]]) -> Postings:
    flat = np.array([t for text in texts for t in text], np.int32)
    sizes = np.array([len(text) for text in texts], np.int32)
    return postings(flat, sizes, size=SIZE)


def directly(
    texts: Sequence[Sequence[int]], query: Sequence[tuple[int, float]], k1: float, b: float
) -> list[float]:
    mean = sum(map(len, texts)) / max(len(texts), 1)
    scores: list[float] = []
    for text in texts:
        score = 0.0
        for term, weight in query:
            holding = sum(term in other for other in texts)
            rarity = log(1 + (len(texts) - holding + 0.5) / (holding + 0.5))
            count = text.count(term)
            if count:
                score += weight * rarity * count * (k1 + 1) / (count + k1 * (1 - b + b * len(text) / mean))
        scores.append(score)
    return scores


@given(some_texts, a_query, st.floats(0, 3), st.floats(0, 1))
def test_scores_are_those_of_the_formula(
    texts: list[list[int]], query: list[tuple[int, float]], k1: float, b: float
):
    found = bm25(counted(texts), query, k1, b)

    assert found.tolist() == pytest.approx(directly(texts, query, k1, b), rel=1e-4, abs=1e-5)


@given(some_texts)
def test_postings_hold_every_term_of_every_text_with_its_count(texts: list[list[int]]):
    found = counted(texts)
    held = {
        (int(found.texts[i]), term): int(found.counts[i])
        for term in range(SIZE)
        for i in range(found.starts[term], found.starts[term + 1])
    }

    assert held == {(i, t): text.count(t) for i, text in enumerate(texts) for t in text}
    assert found.lengths.tolist() == [len(text) for text in texts]
    assert [found.frequency(t) for t in range(SIZE)] == [
        sum(t in text for text in texts) for t in range(SIZE)
    ]


@given(some_texts)
def test_postings_come_back_from_the_arrays_of_an_index(texts: list[list[int]]):
    found = counted(texts)
    again = Postings.of({**found.arrays("words"), "other": np.zeros(1)}, "words")

    assert all(
        (getattr(again, part) == getattr(found, part)).all()
        for part in ("starts", "texts", "counts", "lengths")
    )


@given(st.integers(1, 1000), st.integers(0, 1000))
def test_rarity_falls_with_frequency_and_is_never_negative(texts: int, frequency: int):
    assert idf(texts, min(frequency, texts)) >= 0
    assert idf(texts, min(frequency, texts)) <= idf(texts, 0)


def test_a_repeated_term_counts_again():
    texts = counted([[0, 1], [1, 2]])

    assert bm25(texts, [(0, 1.0), (0, 1.0)]).tolist() == pytest.approx(bm25(texts, [(0, 2.0)]).tolist())
