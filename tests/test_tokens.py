"""Tests of counting tokens."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus import tokens

names = st.sampled_from(tokens.NAMES)
any_text = st.text(st.characters(exclude_categories=()))  # lone surrogates too


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("", "cl100k_base", 0),
        ("hello world", "cl100k_base", 2),
        ("antidisestablishmentarianism", "cl100k_base", 6),
        ("2 + 2 = 4", "cl100k_base", 7),
        ("お誕生日おめでとう", "cl100k_base", 9),
        ("お誕生日おめでとう", "o200k_base", 8),
    ],
)
def test_known_texts_have_their_known_counts(text: str, name: str, expected: int):
    assert tokens.count(text, name) == expected


@given(any_text, names)
def test_a_count_is_the_length_of_the_encoding_and_decoding_gives_the_text_back(text: str, name: str):
    vocabulary = tokens.encoding(name)
    ids = vocabulary.encode(text)

    assert len(ids) == vocabulary.count(text) == tokens.count(text, name)
    assert vocabulary.decode(ids) == tokens.well_formed(text)


@given(st.text("aB1.,'-/ \n\r\t\u3000\x1c中"), names)
def test_lines_are_counted_one_by_one(text: str, name: str):
    assert tokens.count(text, name) == len(tokens.encoding(name).encode(text))


@given(any_text, st.integers(-1, 40), names)
def test_at_most_says_what_counting_says(text: str, limit: int, name: str):
    counted = tokens.count(text, name)

    assert tokens.at_most(text, limit, name) == (counted <= limit)
    if limit >= 0:
        assert tokens.encoding(name).count_up_to(text, limit) == (counted if counted <= limit else None)


def test_a_text_with_no_more_bytes_than_the_limit_is_not_counted(monkeypatch: pytest.MonkeyPatch):
    def refuse(name: str) -> tokens.Encoding:
        raise AssertionError("it was counted")

    monkeypatch.setattr(tokens, "encoding", refuse)

    assert tokens.at_most("é" * 5, 10)
    with pytest.raises(AssertionError, match="counted"):
        tokens.at_most("é" * 5, 9)


@given(any_text)
def test_a_well_formed_text_has_as_many_characters_and_can_be_stored(text: str):
    assert len(tokens.well_formed(text)) == len(text)
    tokens.well_formed(text).encode()


def test_a_reference_has_as_many_tokens_by_another_number_that_has_as_many_groups_of_digits():
    counted = {n: tokens.count(f"Ada met Bo [Data: Entities (7, {n}, 12345)].") for n in range(10_000)}

    assert len({count for n, count in counted.items() if n < 1000}) == 1
    assert len({count for n, count in counted.items() if n >= 1000}) == 1


def test_special_tokens_are_ordinary_text():
    assert tokens.count("<|endoftext|>") > 1


def test_what_begins_inside_a_character_decodes_to_nothing():
    ids = tokens.encoding().encode("👩")

    assert len(ids) > 1
    assert tokens.encoding().decode(ids[1:]) is None


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("rs_bpe", "bpe_openai")),
    reason="comparing the two packages of the vocabularies needs both",
)
@pytest.mark.parametrize("name", tokens.NAMES)
def test_the_two_packages_agree(name: str, monkeypatch: pytest.MonkeyPatch):
    preferred = tokens.encoding(name)
    monkeypatch.setitem(sys.modules, "rs_bpe.bpe", None)  # simulates that it is not installed
    other = tokens.encoding.__wrapped__(name)
    assert type(preferred.tokenizer) is not type(other.tokenizer)  # pyright: ignore

    @given(any_text, st.integers(0, 3))
    def agree(text: str, cut: int) -> None:
        ids = preferred.encode(text)
        assert other.encode(text) == ids
        assert other.count(text) == len(ids)
        assert other.count_up_to(text, 5) == preferred.count_up_to(text, 5)
        assert other.decode(ids[cut:]) == preferred.decode(ids[cut:])

    agree()


@given(
    st.lists(st.sampled_from(["word", " ", "  ", "\n", "/", "It's", "12 345", "é", "蜜蜂", "\t", "…", ". "])),
    names,
)
def test_a_text_in_pieces_has_the_tokens_of_the_whole(parts: list[str], name: str):
    text, vocabulary = "".join(parts), tokens.encoding(name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "PIECE", 3)

        assert vocabulary.encode_long(text).tolist() == vocabulary.encode(text)


@pytest.mark.parametrize("text", ["one two " * 1000, "one, two.\n" * 1000], ids=["one line", "lines"])
def test_a_long_text_is_not_encoded_at_once(text: str, monkeypatch: pytest.MonkeyPatch):
    lengths: list[int] = []
    encode = tokens.Encoding.encode

    def recorded(self: tokens.Encoding, text: str) -> list[int]:
        lengths.append(len(text))
        return encode(self, text)

    monkeypatch.setattr(tokens.Encoding, "encode", recorded)
    monkeypatch.setattr(tokens, "PIECE", 100)
    tokens.encoding().encode_long(text)

    assert sum(lengths) == len(text)
    assert max(lengths) < 120
