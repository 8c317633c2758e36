"""The vocabulary: properties of words derived from their use in the corpus."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from conspectus.algorithms.statistics import first_indices
from conspectus.text.vocabulary import Vocabulary, read_vocabulary


def read(*sentences: str) -> Vocabulary:
    return read_vocabulary(sentences)


def of(vocabulary: Vocabulary, word: str) -> int:
    return vocabulary.words.index(word)


def test_tokens_keep_their_order_and_their_sentence():
    vocabulary = read("The weir held.", "", "The mill fell.")

    assert [vocabulary.forms[f] for f in vocabulary.form] == [
        "The",
        "weir",
        "held",
        ".",
        "The",
        "mill",
        "fell",
        ".",
    ]
    assert vocabulary.sentence.tolist() == [0, 0, 0, 0, 2, 2, 2, 2]


def test_forms_of_a_word_that_differ_in_case_or_possessive_are_one_word():
    vocabulary = read("Mill and mill and the mill's and MILLER'S")

    assert vocabulary.words == ("mill", "and", "the", "miller")


def test_an_acronym_is_a_word_of_its_own():
    vocabulary = read("We took a step towards STEP, step by step.")

    assert vocabulary.count[of(vocabulary, "STEP")] == 1
    assert vocabulary.count[of(vocabulary, "step")] == 3
    assert vocabulary.mostly_capitalised[of(vocabulary, "STEP")]
    assert not vocabulary.mostly_capitalised[of(vocabulary, "step")]


def test_a_capital_counts_only_where_its_place_does_not_ask_for_it():
    vocabulary = read("Weir keepers met.", 'They said: "Keepers met at Orrin."')

    assert vocabulary.capitalised[of(vocabulary, "weir")] == 0
    assert vocabulary.capitalised[of(vocabulary, "keepers")] == 0
    assert vocabulary.capitalised[of(vocabulary, "orrin")] == 1


def test_a_word_is_nominal_where_determiners_stand_before_it_and_not_pronouns():
    vocabulary = read(
        "They gauge it.", "You can gauge it.", "We will gauge it.", "The weir, a weir, that weir, my weir."
    )

    assert vocabulary.nominal[of(vocabulary, "weir")] > 0.9
    assert vocabulary.nominal[of(vocabulary, "gauge")] < 0


def test_an_empty_vocabulary_has_nothing_to_tell():
    assert read().starts.tolist() == [0]
    assert len(read("", "").count) == 0


@given(st.lists(st.integers(0, 9)))
def test_numbers_are_led_to_where_they_stand_first(numbers: list[int]):
    expected = [numbers.index(number) for number in sorted(set(numbers))]

    assert first_indices(np.array(numbers, np.int32)).tolist() == expected
