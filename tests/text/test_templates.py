"""Set phrases: runs of words that many sources share."""

from __future__ import annotations

import numpy as np

from conspectus.text.boilerplate import FEW, SOURCES, boilerplate_weights
from conspectus.text.vocabulary import read_vocabulary

ADDRESS = "zorba mills bids every miller welcome"
OWN = [f"day{i} saw wind{i} blow boats{i} ashore{i}" for i in range(FEW)]


def shares(sharing: int, sources: int = FEW) -> list[float]:
    """The share of set phrases of the address, said in so many of the sources, and of each other sentence."""
    sentences = [*[ADDRESS] * sharing, *OWN[:sources]]
    source = np.array([*range(sharing), *range(sources)], np.int32)
    return boilerplate_weights(read_vocabulary(sentences), source).tolist()


def test_what_enough_sources_share_is_a_set_phrase_to_the_last_word():
    found = shares(SOURCES)

    assert found[:SOURCES] == [1.0] * SOURCES
    assert not any(found[SOURCES:])


def test_what_fewer_share_is_none():
    assert not any(shares(SOURCES - 1))


def test_one_source_that_repeats_itself_has_none():
    sentences = [*[ADDRESS] * SOURCES, *OWN]
    source = np.array([*[0] * SOURCES, *range(FEW)], np.int32)

    assert not boilerplate_weights(read_vocabulary(sentences), source).any()


def test_from_few_sources_nothing_is_told():
    assert not any(shares(SOURCES, sources=FEW - 1))


def test_a_run_of_words_without_content_is_idiom_and_counts_for_nothing():
    sentences = [*["and so it was that the"] * SOURCES, *OWN]
    source = np.array([*range(SOURCES), *range(FEW)], np.int32)

    assert not boilerplate_weights(read_vocabulary(sentences), source).any()


def test_a_sentence_counts_by_the_share_of_its_words():
    sentences = [*[f"{ADDRESS} today{i} and here{i} again too" for i in range(SOURCES)], *OWN]
    source = np.array([*range(SOURCES), *range(FEW)], np.int32)

    found = boilerplate_weights(read_vocabulary(sentences), source)[:SOURCES]

    assert np.allclose(found, 6 / 11)
