"""Names in a question that do not occur in the corpus."""

from __future__ import annotations

from making import an_index

from conspectus.retrieval.base import unknown_name_notice, unknown_names

INDEX = an_index("Mara Tolan rebuilt the weir of Quenda.", entities=["Mara Tolan", "Quenda"])


def test_a_name_that_no_document_has_is_absent():
    assert unknown_names("Did Mara Tolan meet Ruben Vale in Quenda?", INDEX) == ["Ruben", "Vale"]
    assert unknown_names("Who rebuilt the weir of Quenda?", INDEX) == []
    assert unknown_names("What did Per say of Mara Tolan?", INDEX) == []  # a stopword is in no index
    assert unknown_names("Who rebuilt the cathedral?", INDEX) == []  # not a name: it may have a synonym


def test_whoever_misspells_a_name_is_told_the_one_it_is_like():
    assert list(unknown_name_notice("Who rebuilt the weir of Quendo?", INDEX)) == [
        "In no sentence of these documents: Quendo (Quenda?)."
    ]
    assert list(unknown_name_notice("Who rebuilt the weir of Quenda?", INDEX)) == []


def test_an_unknown_name_is_shown_without_its_possessive():
    assert list(unknown_name_notice("What does Morven’s law say of Quenda?", INDEX)) == [
        "In no sentence of these documents: Morven."
    ]


def test_a_name_without_its_accents_is_known():
    index = an_index("The ring came from Kovač Gummi.", entities=["Kovač Gummi"])
    assert unknown_names("What does Kovac sell?", index) == []
