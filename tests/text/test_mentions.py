"""Mentions: all word sequences that may be names, with high recall."""

from __future__ import annotations

import numpy as np

from conspectus.text.mentions import find_dates, find_runs
from conspectus.text.vocabulary import read_vocabulary


def mentioned(text: str, opening: bool = False) -> list[str]:
    vocabulary = read_vocabulary([text])
    runs = find_runs(vocabulary, np.full(len(vocabulary.form), opening))
    return [key for _, keys in runs for key in keys]


def test_runs_of_capitalised_words_are_mentioned_whole_and_by_their_parts():
    assert set(mentioned("He saw the Duke of Quenda and Weir.")) >= {
        "duke of quenda and weir",
        "duke of quenda",
        "weir",
    }


def test_a_word_that_opens_its_text_alone_is_mentioned_only_if_it_may_be():
    assert mentioned("Boats came in.") == []
    assert mentioned("Boats came in.", opening=True) == ["boats"]
    assert mentioned("Mara Tolan came in.") == ["mara tolan"]


def test_dates_are_found_and_are_no_mentions():
    assert list(find_dates("on 4 March 1811 they sang")) == ["4 March 1811"]
    assert mentioned("on 4 March 1811 they sang") == ["march 1811"]


def test_runs_say_in_which_text_they_stand():
    vocabulary = read_vocabulary(["He saw Quenda.", "nothing", "She saw Orrin."])
    found = list(find_runs(vocabulary, np.zeros(len(vocabulary.form), bool)))

    assert found == [(0, ("quenda",)), (2, ("orrin",))]
