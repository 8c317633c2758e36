"""The fixed wordings of answers and reports, in every supported language."""

from __future__ import annotations

import pytest

from conspectus.messages import LANGUAGES, is_empty_answer, wording


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_the_same_places_for_names_and_numbers(language: str):
    english, texts = wording("en").texts, wording(language).texts
    assert texts.keys() == english.keys()
    for key, own in texts.items():
        assert own
        assert len(own) == len(english[key]) if key == "kinds" else own.count("{") == english[key].count("{")


@pytest.mark.parametrize("language", LANGUAGES)
def test_names_are_listed_as_the_language_does(language: str):
    words = wording(language)

    assert words.listed(["A"]) == "A"
    assert words.listed([]) == ""
    assert words.listed(["A", "B", "C"]) == f"A{words.comma}B{words.pair}C"


def test_what_has_no_words_of_its_own_is_told_in_english():
    assert wording("sv").nothing == wording("en").nothing
    assert wording("sv").rating == wording("en").rating
    assert wording("de-AT").texts == wording("de").texts


def test_lines_with_words_of_the_sources_have_signs_alone_where_a_language_has_no_words_of_its_own():
    words = wording("sv")

    assert (
        words.links.format(words.listed(["Åsa", "Örjan"]) + words.others.format(3)) == "(Åsa, Örjan, … (+3).)"
    )
    assert words.on.format("Åsa", words.this) == "Åsa: …"


def test_an_answer_that_found_nothing_is_known_in_any_language():
    assert is_empty_answer(wording("zh").nothing)
    assert is_empty_answer(wording("fr").nothing)
    assert not is_empty_answer("Bees swarm.")
