"""Tokens by language."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from conspectus.text.language_rules import joined, tokenize
from conspectus.text.words import tokens_in


def test_chinese_is_cut_into_the_words_of_a_dictionary_and_latin_words_stay_whole():
    assert tokenize("他毕业于复旦大学，在NBA打球。", "zh") == [
        "他",
        "毕业",
        "于",
        "复旦大学",
        "，",
        "在",
        "NBA",
        "打球",
        "。",
    ]


def test_what_turkish_writes_behind_an_apostrophe_is_no_part_of_a_name():
    assert tokenize("İzmir'de Ege Bankası", "tr") == ["İzmir", "'de", "Ege", "Bankası"]


def test_japanese_is_cut_into_runs_of_one_kind_prefectures_and_titles():
    assert tokenize("長野県松本市の高橋教授がカメラを買う", "ja") == [
        "長野県", "松本市", "の", "高橋", "教授", "が", "カメラ", "を", "買", "う",
    ]  # fmt: skip
    assert tokenize("田中和子さんは", "ja") == ["田中和子", "さん", "は"]


def test_what_french_and_italian_elide_is_a_token_of_its_own():
    assert tokenize("l'île d'Anna", "fr") == ["l'", "île", "d'", "Anna"]
    assert tokenize("dell'Università", "it") == ["dell'", "Università"]
    assert tokenize("She'd see Anna's", "en") == ["She'd", "see", "Anna's"]


def test_particles_of_korean_and_arabic_are_parted_from_their_words():
    assert tokenize("서울에서는 회사를", "ko") == ["서울", "에서", "는", "회사", "를"]
    assert tokenize("سالم والمهندسة ليلى", "ar") == ["سالم", "و", "المهندسة", "ليلى"]


def test_tokens_are_joined_as_they_stand_in_a_text_without_spaces():
    assert joined(["Dairy", "Queen", "餐厅", "2"]) == "Dairy Queen餐厅2"


@given(st.text(max_size=40), st.sampled_from(["zh", "ja", "ko", "th", "ar", "fr", "de", "xx"]))
def test_nothing_but_white_space_is_lost(text: str, language: str):
    composed = unicodedata.normalize("NFC", text)

    assert "".join(tokenize(text, language)) == "".join("".join(tokens_in(composed)).split())
