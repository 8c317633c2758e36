"""Properties of finding known names, and of the hashes under which an index stores them."""

from __future__ import annotations

from unittest.mock import patch

from hypothesis import given
from hypothesis import strategies as st

from conspectus.text.mentions import LONGEST, find_known, hash_of, units
from conspectus.text.vocabulary import read_vocabulary

words = st.sampled_from(["ash", "bay", "cod", "dun"])
sentences = st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=4)


def known(texts: list[str], names: list[str]) -> list[tuple[str, str]]:
    rows, places = find_known(read_vocabulary(texts), names)
    return [(texts[r], names[p]) for r, p in zip(rows.tolist(), places.tolist(), strict=True)]


@given(sentences, st.lists(words, min_size=1, max_size=4), st.integers(1, 9))
def test_a_known_name_is_found_exactly_where_its_words_stand(
    texts: list[list[str]], name: list[str], sentences_read_at_once: int
):
    vocabulary = read_vocabulary([" ".join(text) for text in texts])

    with patch("conspectus.text.vocabulary.LISTS", sentences_read_at_once):
        rows, _ = find_known(vocabulary, [" ".join(name)])

    size = len(name)
    stands = [i for i, text in enumerate(texts) for a in range(len(text)) if text[a : a + size] == name]
    assert rows.tolist() == stands


def test_from_each_word_on_the_longest_name_is_taken():
    texts = ["the Glass Orchard burnt"]

    assert known(texts, ["glass orchard", "glass", "orchard"]) == [
        (texts[0], "glass orchard"),
        (texts[0], "orchard"),
    ]


def test_chinese_names_are_found_inside_a_run_of_characters():
    assert known(["他在玻璃果园里"], ["玻璃果园"]) == [("他在玻璃果园里", "玻璃果园")]


def test_of_no_text_or_no_names_nothing_is_found():
    assert (
        known([], ["ash"]) == known(["ash"], []) == known(["ash"], [" ".join(["ash"] * (LONGEST + 1))]) == []
    )


def test_the_hash_of_a_name_depends_on_its_pieces_alone():
    assert hash_of(units("玻璃 果园")) == hash_of(units("玻璃果园")) != hash_of(units("玻璃"))
    assert units("glass 果园") == ["glass", "果", "园"]
