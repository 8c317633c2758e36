"""Search terms and keys of names in several languages and scripts."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.text.words import name_key, stem, terms, undeclined, words_in


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("de", "Die Imkereien", "der Imkerei"),
        ("fr", "les pêcheurs", "un pêcheur"),
        ("es", "las ovejas", "la oveja"),
        ("ru", "рыбаками", "рыбаки"),
        ("nl", "de vissers", "een visser"),
        ("fr", "l'université", "une université"),
        ("it", "dell'isola", "le isole"),
        ("ar", "المزارعون", "مزارعون"),
        ("ko", "사람들을", "사람들은"),
    ],
)
def test_forms_of_a_word_share_a_term_in_its_language(language: str, one: str, other: str):
    assert set(terms(one, language)) & set(terms(other, language))


def test_function_words_of_a_language_are_no_terms_of_it():
    assert terms("Die Bienen sind in dem Haus", "de") == [stem("bienen", "de"), "haus"]
    assert "die" in terms("They die there", "en")


def test_a_question_to_an_index_of_several_languages_meets_what_was_stemmed_in_any():
    found = terms("Who keeps Imkereien in the houses?", "en", "de")

    assert {stem("imkereien", "de"), stem("houses", "en")} <= set(found)
    assert "who" not in found


def test_thai_and_korean_are_searched_by_pairs_too():
    assert set(terms("ประเทศไทย", "th")) >= {"ปร", "ไท", "ทย"}
    assert set(terms("서울에서는", "ko")) >= {"서울"}


def test_vowel_signs_belong_to_their_words():
    assert words_in("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert len(words_in("مُدَرِّس جديد")) == 2


@given(st.text(alphabet="AaÉéÜüßñÅøçŁłЙйЁёΆάגשمحコガ漢字가나0 .-", max_size=12))
def test_names_equal_up_to_unicode_form_and_case_are_one(name: str):
    key = name_key(name)

    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert name_key(unicodedata.normalize(form, name)) == key  # type: ignore[arg-type]
    assert name_key(key) == key


def test_full_width_letters_are_those_of_half_the_width():
    assert name_key("ＮＨＫ　ホール") == name_key("nhk ﾎｰﾙ")


def test_accents_are_no_part_of_a_key_but_marks_that_make_another_letter_are():
    assert name_key("José") == name_key("Jose")
    assert name_key("ガス") != name_key("カス")
    assert name_key("Бой") != name_key("Бои")


def test_cases_of_a_name_have_their_stem_in_common():
    assert {undeclined(w, "ru") for w in ("анна", "анны", "анной", "анне")} == {"анн"}
    assert undeclined("иваном", "ru") == undeclined("иван", "ru")
    assert undeclined("maria", "es") == "maria"
