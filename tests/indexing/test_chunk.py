"""Tests of cutting documents into chunks."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from work import grows_linearly

from conspectus.indexing.chunks import chunk
from conspectus.indexing.read import read, read_texts
from conspectus.rows import Chunk, Document
from conspectus.settings import ChunkSettings, ReadSettings
from conspectus.tokens import encoding

FARTHEST = 8
"""Most tokens by which the edge of a chunk moves, except in texts that are made to exceed it."""


def a_document(text: str) -> Document:
    return Document(id="d", number=0, title="", text=text, path="d.txt")


def cut(text: str, **settings: object) -> list[Chunk]:
    return chunk([a_document(text)], ChunkSettings.model_validate(settings))


def words(n: int) -> str:
    """Return a text of n tokens."""
    return "a" + " a" * (n - 1)


@st.composite
def some_settings(draw: st.DrawFn) -> ChunkSettings:
    tokens = draw(st.integers(10, 30))
    return ChunkSettings(
        tokens=tokens,
        overlap=draw(st.integers(0, tokens - 1)),
    )


prose = st.lists(
    st.one_of(
        st.text(max_size=30),
        st.text(alphabet="ab .!?\n", max_size=60),
        st.text(alphabet="你好世界。！ 1", max_size=30),
        st.text(alphabet="👩‍👧é\u0e01\u0e33\u10e3ঙ্", max_size=12),
        st.just(" \n\n" * 20),
    ),
    max_size=12,
).map("".join)


@given(prose, some_settings())
def test_every_chunk_is_the_characters_of_its_span_in_order(text: str, settings: ChunkSettings):
    chunks = chunk([a_document(text)], settings)

    assert all(c.text == text[c.start : c.end] and c.text.strip() for c in chunks)
    assert all(a.start < b.start and a.end < b.end for a, b in pairwise(chunks))
    assert [c.number for c in chunks] == list(range(len(chunks)))
    assert len({c.id for c in chunks}) == len(chunks)


@given(prose, some_settings())
def test_chunks_cover_their_document_but_for_white_space(text: str, settings: ChunkSettings):
    covered = {i for c in chunk([a_document(text)], settings) for i in range(c.start, c.end)}

    assert all(i in covered or character.isspace() for i, character in enumerate(text))


@given(prose, some_settings())
def test_no_chunk_is_larger_than_a_window_and_the_tail_it_takes_in(text: str, settings: ChunkSettings):
    chunks = chunk([a_document(text)], settings)
    tail = settings.overlap

    assert all(c.n_tokens <= settings.tokens + FARTHEST for c in chunks[:-1])
    assert all(0 < c.n_tokens <= settings.tokens + FARTHEST + tail for c in chunks)


def edges_of(text: str, settings: ChunkSettings) -> dict[int, int]:
    """Return the token boundaries that are not inside a character: the number of tokens before, by character offset."""
    vocabulary = encoding()
    ids = vocabulary.encode(text)
    return {len(p): n for n in range(len(ids) + 1) if (p := vocabulary.decode(ids[:n])) is not None}


@given(prose, some_settings())
def test_chunks_begin_and_end_between_tokens_of_the_whole_document(text: str, settings: ChunkSettings):
    edges = edges_of(text, settings)

    for c in chunk([a_document(text)], settings):
        assert edges[c.end] - edges[c.start] == c.n_tokens


@given(prose.map(lambda text: "".join("-" if c.isspace() else c for c in text)), some_settings())
def test_neighbours_share_the_overlap_as_far_as_characters_let_them(text: str, settings: ChunkSettings):
    edges = edges_of(text, settings)

    for a, b in pairwise(chunk([a_document(text)], settings)):
        shared, exact = edges[a.end] - edges[b.start], edges[a.end] - settings.overlap
        assert 0 <= shared <= settings.overlap
        assert a.n_tokens >= settings.tokens
        between = range(exact, edges[b.start])
        assert not set(between) & set(edges.values()), "it moved over an edge"


@given(st.text(alphabet="abc ,.\n", max_size=300), some_settings())
def test_where_no_token_ends_inside_a_character_neighbours_share_exactly_the_overlap(
    text: str, settings: ChunkSettings
):
    spaceless = text.replace(" ", "-").replace("\n", "-")
    ids = encoding().encode(spaceless)
    size, step = settings.tokens, settings.tokens - settings.overlap
    tail = settings.overlap

    expected = 0 if not ids else 1 + max(0, -(-(len(ids) - size - tail) // step))
    chunks = chunk([a_document(spaceless)], settings)

    assert len(chunks) == expected
    assert sum(c.n_tokens for c in chunks) == len(ids) + settings.overlap * max(0, expected - 1)


@given(prose, some_settings())
def test_chunking_is_deterministic(text: str, settings: ChunkSettings):
    assert chunk([a_document(text)], settings) == chunk([a_document(text)], settings)


def test_a_document_that_fits_is_one_chunk_with_its_exact_count():
    (only,) = cut("Bees dance. They swarm.", tokens=600)

    assert (only.start, only.end, only.n_tokens) == (0, 23, encoding().count("Bees dance. They swarm."))


def test_a_tail_that_adds_no_more_than_the_overlap_joins_the_window_before_it():
    assert [c.n_tokens for c in cut(words(130), tokens=100, overlap=30)] == [130]
    assert [c.n_tokens for c in cut(words(131), tokens=100, overlap=30)] == [100, 61]
    assert [c.n_tokens for c in cut(words(200), tokens=100, overlap=30)] == [100, 130]


def test_a_window_never_ends_inside_a_character():
    chunks = cut("👩🏽‍🚀" * 50, tokens=10, overlap=3)

    assert len(chunks) > 10
    assert all("\ufffd" not in c.text for c in chunks)
    assert chunks[-1].end == 200


def test_a_document_of_white_space_has_no_chunks():
    assert cut("") == cut(" \n\t" * 5000) == []


def test_a_lone_surrogate_does_not_shift_spans():
    text = "\ud800 bees " * 100
    chunks = cut(text, tokens=20, overlap=5)

    assert all(c.text == text[c.start : c.end] for c in chunks)
    assert chunks[-1].end == len(text)


def test_chunks_of_several_documents_are_numbered_through_and_have_different_ids():
    documents, *_ = read_texts(["same text", "same text", "another"], ReadSettings())
    chunks = chunk(documents, ChunkSettings())

    assert [c.number for c in chunks] == [0, 1, 2]
    assert [c.document_id for c in chunks] == [d.id for d in documents]
    assert len({c.id for c in chunks}) == 3


@pytest.mark.parametrize("unit", ["Bees dance. ", "蜜蜂跳舞。", "\n.", " \n", "ঙ্", "უ", "."])
def test_the_work_grows_with_the_length_of_a_document_only(unit: str):
    assert grows_linearly(lambda length: cut(unit * (length // len(unit))), 50_000, times=4)


def test_the_podcast_corpus_has_the_units_and_tokens_of_the_paper(shared: Path):
    """The last column of GraphRAG's table 2: TS is 1,669 units of 1,014,611 tokens."""
    documents, failures, skipped, _ = read([shared / "podcast" / "input"], ReadSettings())
    chunks = chunk(documents, ChunkSettings(tokens=1200, overlap=100))

    assert (len(documents), failures, skipped) == (1669, [], [])
    assert len(chunks) == 1669
    assert sum(c.n_tokens for c in chunks) == 1_014_611
