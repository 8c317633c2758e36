"""Set phrases: runs of words that many sources share."""

from __future__ import annotations

import numpy as np

from conspectus.text.phrases import MIN_SHARING_SOURCES, MIN_SOURCES, boilerplate_weights
from conspectus.text.vocabulary import read_vocabulary

ADDRESS = "zorba mills bids every miller welcome"
OWN = [f"day{i} saw wind{i} blow boats{i} ashore{i}" for i in range(MIN_SOURCES)]


def shares(sharing: int, sources: int = MIN_SOURCES) -> list[float]:
    """The share of set phrases of the address, said in so many of the sources, and of each other sentence."""
    sentences = [*[ADDRESS] * sharing, *OWN[:sources]]
    source = np.array([*range(sharing), *range(sources)], np.int32)
    return boilerplate_weights(read_vocabulary(sentences), source).tolist()


def test_what_enough_sources_share_is_a_set_phrase_to_the_last_word():
    found = shares(MIN_SHARING_SOURCES)

    assert found[:MIN_SHARING_SOURCES] == [1.0] * MIN_SHARING_SOURCES
    assert not any(found[MIN_SHARING_SOURCES:])


def test_what_fewer_share_is_none():
    assert not any(shares(MIN_SHARING_SOURCES - 1))


def test_one_source_that_repeats_itself_has_none():
    sentences = [*[ADDRESS] * MIN_SHARING_SOURCES, *OWN]
    source = np.array([*[0] * MIN_SHARING_SOURCES, *range(MIN_SOURCES)], np.int32)

    assert not boilerplate_weights(read_vocabulary(sentences), source).any()


def test_from_few_sources_nothing_is_told():
    assert not any(shares(MIN_SHARING_SOURCES, sources=MIN_SOURCES - 1))


def test_a_run_of_words_without_content_is_idiom_and_counts_for_nothing():
    sentences = [*["and so it was that the"] * MIN_SHARING_SOURCES, *OWN]
    source = np.array([*range(MIN_SHARING_SOURCES), *range(MIN_SOURCES)], np.int32)

    assert not boilerplate_weights(read_vocabulary(sentences), source).any()


def test_a_sentence_counts_by_the_share_of_its_words():
    sentences = [*[f"{ADDRESS} today{i} and here{i} again too" for i in range(MIN_SHARING_SOURCES)], *OWN]
    source = np.array([*range(MIN_SHARING_SOURCES), *range(MIN_SOURCES)], np.int32)

    found = boilerplate_weights(read_vocabulary(sentences), source)[:MIN_SHARING_SOURCES]

    assert np.allclose(found, 6 / 11)
