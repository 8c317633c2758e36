"""Finding the span of a quotation in a text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conspectus.content import span_of


def test_words_are_found_whatever_the_white_space_and_case():
    text = "So the Weir\n  was lost (again)."

    assert span_of("the weir was  LOST (again)", text) == (3, len(text) - 1)


def test_words_that_are_not_there_are_not_found():
    assert span_of("the mill", "So the weir was lost.") is None
    assert span_of("  ", "So the weir was lost.") is None


def test_only_the_given_part_is_searched():
    assert span_of("the", "the weir, the mill", 1) == (10, 13)
    assert span_of("mill", "the weir, the mill", 0, 12) is None


@given(st.text(max_size=20), st.text(alphabet="aé.(+ ", max_size=20), st.text(max_size=20))
def test_what_stands_in_a_text_is_found_there(before: str, words: str, after: str):
    found = span_of(words, before + words + after)

    assert (found is not None) == bool(words.split())
