"""Which method answers which question."""

from __future__ import annotations

import pytest
from making import an_entity, an_index

from conspectus.query.auto import choose
from conspectus.tables import Index

TEXTS = [f"Text {i} of the town." for i in range(12)]


def an_index_with(*reports: str) -> Index:
    chunk = an_index(*TEXTS).chunks[0].id
    return an_index(
        *TEXTS,
        entities=[
            an_entity("Mara Tolan", 0, "person", chunk_ids=(chunk,)),
            an_entity("weir", 1, "concept", chunk_ids=(chunk,)),
            an_entity("Quenda", 2, "location", chunk_ids=tuple(c.id for c in an_index(*TEXTS).chunks)),
        ],
        reports=reports,
    )


WITH_REPORTS = an_index_with("On the weir", "On the town")
WITHOUT = an_index_with()


@pytest.mark.parametrize(
    ("question", "method", "why"),
    [
        ("What are the main themes of these documents?", "global", "as a whole"),
        ("Summarise the corpus.", "global", "as a whole"),
        ("What recurring patterns are there in the talk of Mara Tolan?", "global", "as a whole"),
        ("Who is Mara Tolan?", "local", "names Mara Tolan"),
        ("What do residents say about Mara Tolan?", "local", "names Mara Tolan"),
        ("What do residents say about the weir?", "global", "several sources"),
        ("How do people speak of loss?", "global", "several sources"),
        ("Who built the weir?", "local", "a fact"),
        ("When was the weir of Quenda built?", "local", "a fact"),
        ("Why did the weir break?", "local", "about weir"),
        ("Tell me of zebras", "global", "names nothing"),
    ],
)
def test_a_question_is_answered_by_what_it_asks_for(question: str, method: str, why: str):
    chosen, reason = choose(question, WITH_REPORTS)

    assert (chosen, why in reason) == (method, True), reason


@pytest.mark.parametrize(
    ("question", "method"),
    [
        ("What are the main themes of these documents?", "bm25"),
        ("What do residents say about the weir?", "local"),
        ("Who is Mara Tolan?", "local"),
        ("Tell me of zebras", "bm25"),
    ],
)
def test_without_reports_nothing_is_global(question: str, method: str):
    assert choose(question, WITHOUT)[0] == method


def test_what_the_whole_corpus_names_tells_no_question_from_another():
    assert choose("What do people do in Quenda?", WITH_REPORTS)[0] == "global"
