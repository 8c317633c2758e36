"""Which sentences are relevant to a question."""

from __future__ import annotations

import numpy as np
from making import BROKE, BUILT, NEXT, a_built_index, an_index_of_quenda

from conspectus.index import Index
from conspectus.models.extractive.search import Searcher
from conspectus.rows import Span
from conspectus.text.question import read_question

INDEX = an_index_of_quenda(f"{BROKE} {BUILT} {NEXT}")


def found(question: str, index: Index = INDEX) -> list[str]:
    searcher = Searcher(index)
    return [searcher.passages.text(f.sentence) for f in searcher.find(read_question(question))]


def test_sentences_that_hold_the_words_of_a_question_are_found():
    assert found("Which weir broke?") == [BROKE, BUILT]
    assert found("Which boats were lost?") == [BROKE]


def test_what_holds_too_little_of_a_question_is_not_found():
    assert found("Which zeppelins sank near the weir in the harbour of Orrin?") == []
    assert found("Which zeppelins?") == []


def test_the_share_of_a_sentence_is_the_same_among_all_that_hold_a_word_and_among_a_few():
    searcher = Searcher(INDEX)
    weights = {"weir": 2.0, "quenda": 1.0, "boat": 1.0}
    sentences, shares = searcher.holding(weights)

    assert shares.tolist() == [1.0, 0.75]
    every = np.arange(len(searcher.passages))
    assert np.flatnonzero(searcher.shares(weights, every)).tolist() == sentences.tolist()
    assert searcher.shares(weights, sentences).tolist() == shares.tolist()
    assert searcher.shares_around(weights, sentences + 1).tolist() == [1.0, 0.75]


def test_a_sentence_with_an_acronym_contains_the_name_that_a_question_has():
    built = a_built_index(
        "The Orrin Valley Rail Association (OVRA) met in Quenda. OVRA has nine members.",
        "OVRA rebuilt the tower gate. Masons drew it for OVRA.",
    )
    question = read_question("What did the Orrin Valley Rail Association rebuild?")
    searcher = Searcher(built)
    weights = dict.fromkeys(searcher.terms_of("Orrin Valley Rail Association", question), 1.0)
    every = np.arange(len(searcher.passages))

    assert searcher.shares(weights, every).tolist() == [1, 0, 0, 0]
    named = searcher.with_other_names(question, built.entities, every.tolist())
    assert named.shares(weights, every).tolist() == [1, 1, 1, 1]
    assert searcher.shares(weights, every).tolist() == [1, 0, 0, 0], "other questions are read as before"


def test_a_name_with_accents_is_found_without_them():
    proved = "Szemeredi proved it in Orrin."

    assert found("What did Szemerédi prove?", an_index_of_quenda(f"{BUILT} {proved}"))[0] == proved
    assert found("Which Szemerédi?", an_index_of_quenda(f"{BUILT} {proved}")) == [proved]


def test_a_question_of_scaffolding_alone_finds_nothing():
    assert found("What is described here?") == []


def test_a_rare_word_weighs_more_than_a_common_one():
    searcher = Searcher(INDEX)

    assert (
        searcher.weight("zeppelin")
        > searcher.weight("flood")
        > searcher.weight("weir")
        > searcher.weight("mill")
    )


def test_the_chunk_of_a_span_is_the_first_that_holds_it_whole():
    searcher = Searcher(INDEX)
    document = INDEX.documents[1]

    assert searcher.chunk_at(Span(document.id, 0, len(BROKE))) == 1
    assert searcher.chunk_at(Span(document.id, 0, len(document.text) + 1)) is None
    assert searcher.chunk_at(Span("elsewhere", 0, 1)) is None
