"""The arrays of the walk, and the index of passages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import a_document, some_documents

from conspectus.index import Index
from conspectus.indexing.arrays import SUBJECT, SUBJECT_UNTITLED, TITLE, sentence_ranges
from conspectus.indexing.chunks import chunk
from conspectus.indexing.pipeline import index_passages
from conspectus.rows import Document
from conspectus.sentence_graph import SentenceEntityGraph
from conspectus.settings import ChunkSettings, Settings
from conspectus.text.sentence_table import find_sentences

TEXTS = (
    "Edla Marrow was a director. She died in Tarn.",
    "Tarn is a town. Edla Marrow lived in Tarn.",
    "Cows graze.",
)


def an_index(*documents: Document) -> Index:
    return index_passages(documents or some_documents(*TEXTS), Settings())


def number(graph: SentenceEntityGraph, name: str) -> int:
    return int(graph.find([name.split()])[0])


def test_the_weights_of_a_sentence_sum_to_1_or_it_has_no_names():
    graph = SentenceEntityGraph.of(an_index())
    sums = graph.matrix("out", np.arange(len(graph.sentences.lengths))).sum(axis=1)

    assert all(s == pytest.approx(1) or s == 0 for s in sums)


def test_a_name_counts_once_for_each_passage_that_holds_it():
    graph = SentenceEntityGraph.of(an_index())

    assert graph.frequency[number(graph, "edla marrow")] == 2
    assert graph.frequency[number(graph, "tarn")] == 2
    assert number(graph, "zebra") == -1


def test_what_a_passage_is_about_leads_to_all_its_sentences():
    titled = replace(a_document(TEXTS[0], 0), title="Edla Marrow")
    untitled = replace(a_document(TEXTS[1], 1), title="")
    graph = SentenceEntityGraph.of(an_index(titled, untitled))
    to = graph.matrix("in", np.arange(len(graph.names))).toarray()

    assert to[number(graph, "edla marrow")].tolist() == [TITLE, TITLE, 0, 1]
    assert to[number(graph, "tarn")].tolist() == [0, 1, SUBJECT_UNTITLED, SUBJECT_UNTITLED]
    assert SUBJECT < SUBJECT_UNTITLED < TITLE


def test_an_untitled_subject_is_met_by_a_shorter_name_too():
    documents = [
        replace(a_document(text, i), title="")
        for i, text in enumerate(("Edla Quill Marrow was a director.", "He met Edla Marrow in May."))
    ]
    graph = SentenceEntityGraph.of(an_index(*documents))

    to = graph.matrix("in", np.array([number(graph, "edla marrow")])).toarray()
    assert 0 < to[0, 0] < SUBJECT_UNTITLED


def test_equal_documents_give_equal_arrays():
    first, second = an_index(), an_index()

    assert first.words == second.words
    assert first.arrays.keys() == second.arrays.keys()
    assert all(np.array_equal(first.arrays[name], second.arrays[name]) for name in first.arrays)


@pytest.mark.parametrize("text", ["...", "no name stands here", "牛"])
def test_a_corpus_without_names_or_sentences_is_indexed_all_the_same(text: str):
    index = an_index(replace(a_document(text), title=""))

    assert len(index.arrays["walk.first"]) == 1


@given(st.lists(st.integers(1, 60), min_size=1, max_size=4), st.integers(10, 40))
def test_every_sentence_starts_in_a_passage(lengths: list[int], tokens: int):
    documents = [
        a_document(" ".join(f"Word {n} of text {i} stands here." for n in range(size)), i)
        for i, size in enumerate(lengths)
    ]
    chunks = chunk(documents, ChunkSettings(tokens=tokens, overlap=5))
    table, *_ = find_sentences(documents)
    first, last = sentence_ranges(documents, chunks, table)

    assert (np.diff(first) >= 0).all()
    assert (np.diff(last) >= 0).all()
    held = {s for a, b in zip(first.tolist(), last.tolist(), strict=True) for s in range(a, b)}
    assert held == set(range(len(table)))
    for row, a, b in zip(chunks, first.tolist(), last.tolist(), strict=True):
        assert all(row.start <= start < row.end for start in table.start[a:b])
