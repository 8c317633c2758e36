"""What a question asks for, unit by unit."""

from __future__ import annotations

import pytest
from making import an_index

from conspectus.index import Index
from conspectus.models.extractive.search import Searcher, is_acronym, segment_query

FILLER = " ".join(
    f"The {a} of the {b} was sold." for a in ("roof", "gate", "yard") for b in ("mill", "inn", "farm")
)
REMOTE = "Remote work suits half of the office. They agreed on remote work in May."
SURPRISED = "Nobody was remotely surprised. The remote island has no harbour. The work was dull."
LEARNING = "Machine learning reads the charts. ML will take jobs from the clerks. Machine learning is slow."


def an_index_with(*texts: str, **given: object) -> Index:
    return an_index(FILLER, *texts, **given)  # pyright: ignore[reportArgumentType]


def units(question: str, index: Index) -> list[tuple[str, ...]]:
    searcher = Searcher(index)
    return [unit.terms for unit in segment_query(searcher.read(question), searcher)]


def found(question: str, index: Index) -> list[str]:
    searcher = Searcher(index)
    return [searcher.passages.text(f.sentence) for f in searcher.find(searcher.read(question))]


def test_words_that_often_stand_together_are_one_unit():
    index = an_index_with(REMOTE, SURPRISED)

    assert units("How do people feel about remote work?", index) == [("remot", "work")]
    assert units("How do people feel about work, remote islands?", index) == [
        ("work",),
        ("remot",),
        ("island",),
    ]


def test_a_part_of_a_unit_says_little_of_it():
    told = found("How do people feel about remote work?", an_index_with(REMOTE, SURPRISED))

    assert set(told) == {"Remote work suits half of the office.", "They agreed on remote work in May."}


def test_the_acronym_that_the_graph_joins_with_a_phrase_stands_for_it():
    index = an_index_with(LEARNING, entities=["machine learning", "ML"], edges=[("machine learning", "ML")])
    question = "What do they say about machine learning and jobs?"

    assert found(question, index)[0] == "ML will take jobs from the clerks."


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        ("AI", "artificial intelligence", True),
        ("CRT", "cathode-ray tube", True),
        ("AI", "AI ish", False),
        ("AI", "Ann Inman", True),
        ("A", "Atlas", False),
        ("ai", "artificial intelligence", False),
    ],
)
def test_an_acronym_is_made_of_the_first_letters_of_words(short: str, long: str, expected: bool):
    assert is_acronym(short, long) is expected
