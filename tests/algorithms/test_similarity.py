"""Similar pairs: the blocked search returns the same pairs as comparing all with all."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from conspectus.algorithms.similarity import Grams, pairs_of_texts, pairs_of_vectors

TEXTS = st.lists(st.text("abc ", max_size=8), max_size=14)


@given(TEXTS, st.sampled_from([0.5, 0.8, 0.95]), st.integers(1, 5))
def test_pairs_of_texts_are_those_of_all_against_all(texts: list[str], threshold: float, block: int):
    grams = Grams.of(texts).matrix
    cosine = (grams @ grams.T).toarray()
    sure = {
        (i, j) for i in range(len(texts)) for j in range(i + 1, len(texts)) if cosine[i, j] > threshold + 1e-5
    }
    possible = {
        (i, j) for i in range(len(texts)) for j in range(i + 1, len(texts)) if cosine[i, j] > threshold - 1e-5
    }

    first, second, likeness = pairs_of_texts(texts, threshold, block=block)
    found = list(zip(first.tolist(), second.tolist(), strict=True))

    assert sure <= set(found) <= possible
    assert found == sorted(set(found))
    assert np.allclose([cosine[pair] for pair in found], likeness, atol=1e-5)


@given(st.integers(0, 12), st.integers(1, 5), st.integers(0, 99))
def test_pairs_of_vectors_are_those_of_all_against_all(n: int, block: int, seed: int):
    vectors = np.random.default_rng(seed).normal(size=(n, 3)).astype(np.float32)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    expected = {(i, j) for i in range(n) for j in range(i + 1, n) if float(vectors[i] @ vectors[j]) > 0.5}

    first, second, _ = pairs_of_vectors(vectors, 0.5, block)

    assert set(zip(first.tolist(), second.tolist(), strict=True)) == expected


def test_of_many_vectors_nearly_all_pairs_are_found_and_no_others():
    random = np.random.default_rng(3)
    centres = random.standard_normal((300, 24))
    vectors = (centres[random.integers(0, 300, 2000)] + 0.35 * random.standard_normal((2000, 24))).astype(
        np.float32
    )
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    true = set(zip(*(part.tolist() for part in pairs_of_vectors(vectors, 0.8)[:2]), strict=True))

    first, second, likeness = pairs_of_vectors(vectors, 0.8, many=100)
    found = list(zip(first.tolist(), second.tolist(), strict=True))

    assert len(true) > 1000
    assert len(true & set(found)) >= 0.98 * len(true)
    assert set(found) <= true
    assert found == sorted(found)
    assert np.allclose(likeness, np.einsum("nd,nd->n", vectors[first], vectors[second]), atol=1e-5)


def test_a_text_is_most_like_itself_and_not_at_all_like_one_of_other_letters():
    grams = Grams.of(["lune mills", "kell council"])

    likeness = grams.likeness(["lune mills", "xyz"])

    assert likeness[0].argmax() == 0
    assert likeness[0, 0] > 0.99
    assert likeness[1].max() == 0
