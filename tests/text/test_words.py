"""Words: keys of names, search terms, Chinese and English."""

from __future__ import annotations

import unicodedata
from typing import Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conspectus.lazy import cached_by_hash
from conspectus.text.words import fold, is_content, name_key, stem, terms, tokens_in, unspaced_terms


@given(st.text(max_size=30))
def test_the_key_of_a_key_is_itself_unless_another_article_opens_it(name: str):
    key = name_key(name)
    assume(not key.startswith(("the ", "a ", "an ")))

    assert name_key(key) == key


@given(st.text(max_size=30))
def test_folding_twice_changes_nothing_more(text: str):
    assert fold(fold(text)) == fold(text)


LETTERS = st.text(
    st.characters(categories=("Lu", "Ll", "Lo", "Nd", "Zs"), exclude_characters="\u0345")
    | st.sampled_from("ÀéÑöŞşİıßçŁΣςñЙйЁёІїअीกाالنكتשלוםㄱ가각한漢字ｶﾞガＡａ１ﬁ①Ⅳ"),
    max_size=20,
)


@given(LETTERS, st.sampled_from(("NFC", "NFD", "NFKC", "NFKD")))
def test_unicode_forms_of_a_name_have_one_key(name: str, form: Literal["NFC", "NFD", "NFKC", "NFKD"]):
    assert name_key(unicodedata.normalize(form, name)) == name_key(name)


@given(LETTERS)
def test_widths_of_a_name_have_one_key(name: str):
    wide = "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in name)

    assert name_key(wide) == name_key(name)


@given(LETTERS)
def test_cases_of_a_name_have_one_key(name: str):
    assert name_key(name.upper()) == name_key(name)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("The Gut", "gut"),
        ("JOSIAH MADDERN", "Josiah Maddern"),
        ("Zoë Müller", "Zoe Muller"),
        ("Maddern's Ledge", "Maddern Ledge"),
        ("Maddern’s Ledge", "Maddern's Ledge"),
        ("U.S. Navy", "US Navy"),
        ("Teal-Estuary", "Teal Estuary"),
        ("Ｔｅａｌ", "teal"),
        (" a  Long   Walk ", "Long Walk"),
    ],
)
def test_case_width_accents_articles_and_marks_make_no_other_name(name: str, other: str):
    assert name_key(name) == name_key(other)


@pytest.mark.parametrize(("name", "other"), [("C++", "C#"), ("Lennard & Sons", "Lennard Sons"), ("A", "")])
def test_what_tells_names_apart_is_kept(name: str, other: str):
    assert name_key(name) != name_key(other)


def test_terms_are_stems_without_the_words_that_say_nothing():
    assert terms("The turbines were turning, and it’s not a turbine!") == ["turbin", "turn", "turbin"]


def test_a_possessive_does_not_make_another_term():
    assert terms("Maddern's chart") == terms("Maddern chart")


@pytest.mark.parametrize(
    ("word", "plain", "language"),
    [("Szemerédi", "Szemeredi", "en"), ("Zürich", "Zurich", "de"), ("création", "creation", "fr")],
)
def test_accents_do_not_make_another_term(word: str, plain: str, language: str):
    assert terms(word, language) == terms(plain, language)


def test_a_letter_or_a_character_carries_content_but_a_digit_or_a_stopword_does_not():
    assert is_content("k")
    assert is_content("潮")
    assert not is_content("7")
    assert not is_content("a")
    assert not is_content("the")


def test_a_stretch_of_chinese_gives_its_words_and_every_two_neighbouring_characters():
    found = unspaced_terms("潮汐发电")

    assert {"潮汐", "发电", "汐发"} <= set(found)


def test_chinese_words_are_found_however_the_text_around_them_is_cut():
    assert set(terms("潮汐")) <= set(terms("小镇的潮汐发电站"))


def test_mixed_text_gives_the_terms_of_both_scripts():
    assert {"turbin", "潮汐"} <= set(terms("turbines 潮汐"))


def test_forms_of_one_word_share_a_stem():
    assert stem("turbines") == stem("turbine")
    assert stem("harbour's") == stem("harbour")
    assert stem("潮汐") == "潮汐"
    assert stem("found") == stem("finds") != stem("founded") == stem("founding")
    assert stem("children") == stem("child")
    assert stem("teeth") == stem("tooth")
    assert stem("bacteria") == stem("bacterium")
    assert stem("men", "sv") != stem("man", "sv")


def test_an_address_is_one_token_and_a_long_run_of_signs_is_looked_at_once():
    assert tokens_in("Write to ada.b@brook.org, please.") == [
        "Write",
        "to",
        "ada.b@brook.org",
        ",",
        "please",
        ".",
    ]
    assert (
        len(tokens_in("See " + "." * 1_000_000)) == 1_000_001
    )  # takes an hour if each position is searched for an address


def test_what_is_cached_by_hash_is_computed_once_until_there_is_too_much():
    computed: list[str] = []

    @cached_by_hash(2)
    def read(text: str) -> str:
        computed.append(text)
        return text.upper()

    assert [read(text) for text in ("a", "b", "a", "b", "c", "c")] == ["A", "B", "A", "B", "C", "C"]
    assert computed == ["a", "b", "c"]
    assert (read("a"), computed) == ("A", ["a", "b", "c", "a"])
    assert (read(text="b"), read(text="c")) == ("B", "C")
