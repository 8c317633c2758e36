"""Tests of finding the entities of a given graph in sentences."""

from __future__ import annotations

import pytest
from making import an_entity

from conspectus.indexing.given_graph import Names
from conspectus.interchange.graphrag import find_quotation, find_unit
from conspectus.rows import Entity, Span


def people(*names: str) -> list[Entity]:
    return [an_entity(name, i, "person") for i, name in enumerate(names)]


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Then tiny Tim spoke of the Mill.", [0, 1]),
        ("The mill stood still, and so did TINY TIM.", [1, 0]),
        ("Nobody came.", []),
        ("Tiny Tim's mill; Tiny Tim again.", [0, 1]),
    ],
)
def test_a_name_is_found_however_it_is_cased_and_once(sentence: str, found: list[int]):
    names = Names([an_entity("TINY TIM", 0, "person"), an_entity("THE MILL", 1)])

    assert names.find(sentence) == found


def test_a_chinese_name_is_found_in_the_run_of_a_sentence():
    names = Names([an_entity("南京", 0), an_entity("南京大学", 1), an_entity("京大", 2)])

    assert names.find("王丽毕业于南京大学，家在南京。") == [1, 0]


def test_the_longest_name_is_taken():
    names = Names([an_entity("Ghost", 0), an_entity("Ghost of Christmas Past", 1)])

    assert names.find("The Ghost of Christmas Past met a ghost.") == [1, 0]


def test_a_last_name_that_only_one_has_stands_for_the_person():
    sentences = ["Marley was dead.", "Cratchit wrote.", "He would marvel at a vale."]
    names = Names(people("JACOB MARLEY", "BOB CRATCHIT", "MARTHA CRATCHIT", "RUBEN VALE"), sentences)

    assert [names.find(s) for s in sentences] == [[0], [], []]
    assert names.last_names == {0: "Marley"}


def test_a_unit_is_looked_for_behind_the_one_before_it():
    text = "Again and again. Again and again."

    assert find_unit("Again and again.", text) == (0, 16)
    assert find_unit("Again and again.", text, after=1) == (17, 33)


def test_a_unit_is_found_without_its_metadata_and_whatever_the_white_space():
    assert find_unit("title: a.txt.\nauthor: B.\nOne  two", "Zero. One  two three") == (6, 14)
    assert find_unit("One\ntwo", "Zero. One  two three") == (6, 14)
    assert find_unit("Four", "Zero. One  two three") is None


def test_a_quotation_of_several_parts_is_found_part_by_part():
    text = "It was cold that night. Nobody came. The river Tarn was frozen over."

    found = list(
        find_quotation("It was cold that night; the river  Tarn was frozen", text, Span("d", 0, len(text)))
    )

    assert [text[s.start : s.end] for s in found] == ["It was cold that night", "The river Tarn was frozen"]
