"""Search terms of scripts without spaces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conspectus.text.words import terms


def test_chinese_gives_words_and_pairs_of_characters():
    assert set(terms("泡泡战士的开发")) >= {"泡泡", "战士", "开发", "泡战", "士的"}
    assert "的" not in terms("泡泡战士的开发")


def test_latin_words_among_chinese_are_terms_too():
    assert "nexon" in terms("由韩国Nexon开发")
    assert "1961" in terms("1961年上映")


@given(
    st.text(alphabet="牛在草地上吃草，。马", max_size=20),
    st.text(alphabet="牛在草地上吃草，。马", max_size=5),
)
def test_what_a_text_holds_in_one_piece_shares_a_term_with_it(text: str, piece: str):
    shared = [p for p in piece.replace("。", "，").split("，") if len(p) > 1]

    assert all(set(terms(p)) & set(terms(text + p + text)) for p in shared)


def test_english_is_as_it_was():
    assert terms("The bees were swarming.") == ["bee", "swarm"]
