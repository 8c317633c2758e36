"""The type of the entity that a name denotes."""

from __future__ import annotations

import pytest

from conspectus.text.types import (
    ALL,
    CONCEPT,
    EVENT,
    GIVEN_NAMES,
    LOCATION,
    ORGANIZATION,
    PERSON,
    WORK,
    Candidate,
    type_of,
)


def typed(name: str, candidate: Candidate | None = None, foreign: bool = False) -> str:
    return type_of(tuple(name.split()), candidate or Candidate(), GIVEN_NAMES, foreign)


def before(word: str, times: int = 3) -> Candidate:
    candidate = Candidate()
    for _ in range(times):
        candidate.note_before(word)
    return candidate


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Orrin Guild", ORGANIZATION),
        ("Quenda Friends", ORGANIZATION),
        ("Quenda Oy", ORGANIZATION),
        ("Bank of Quenda", ORGANIZATION),
        ("Guild of Millers", ORGANIZATION),
        ("Zorba Lighthouse", LOCATION),
        ("Lake Zorba", LOCATION),
        ("North Quenda", LOCATION),
        ("Norway", LOCATION),
        ("New York", LOCATION),
        ("Quenda Regatta", EVENT),
        ("Battle of Quenda", EVENT),
        ("Songs of Quenda", WORK),
        ("Zorba Doctrine", CONCEPT),
    ],
)
def test_the_last_word_tells_or_the_one_before_of(name: str, kind: str):
    assert typed(name) == kind


def test_who_speaks_or_bears_a_title_is_a_person_whatever_the_name():
    assert typed("Zorba Guild", Candidate(speaks=True)) == PERSON
    assert typed("Zorba", Candidate(titled=2)) == PERSON


def test_what_begins_with_a_country_or_an_adjective_of_one_is_no_person():
    assert typed("Quenda Swans", foreign=True) == PERSON
    assert typed("Norway Swans", foreign=True) == typed("Norwegian Swans", foreign=True) == CONCEPT


def test_what_ends_with_a_country_is_no_person():
    assert typed("Quenda Guinea", foreign=True) == CONCEPT
    assert typed("Equatorial Guinea", foreign=True) == LOCATION


def test_a_first_name_makes_a_person():
    assert typed("Helen Zorba") == PERSON
    assert typed("Helen") == PERSON


def test_words_that_the_corpus_never_writes_small_make_a_person():
    assert typed("Quorl Zorba", foreign=True) == PERSON
    assert typed("Quorl Zorba", foreign=False) == CONCEPT


def test_what_mostly_stands_after_words_for_places_is_one():
    assert typed("Quorl Zorba", before("near"), foreign=True) == LOCATION
    assert typed("Quorl", before("in")) == LOCATION


def test_what_is_quoted_is_a_work():
    assert typed("QUORL", Candidate(quoted=2)) == WORK


def test_one_word_around_a_name_is_not_enough():
    assert typed("Quorl", before("in", 1)) == CONCEPT


def test_what_nothing_speaks_for_is_a_concept():
    assert typed("Quorl") == CONCEPT
    assert CONCEPT in ALL
