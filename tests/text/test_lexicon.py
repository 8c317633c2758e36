"""The lexicon of a corpus: the mentions of its sentences, with names and types."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from making import a_document, some_documents

from conspectus.rows import Document
from conspectus.text.lexicon import Lexicon, read_lexicon
from conspectus.text.types import ALL

TEXTS = (
    "The Orrin Tidal Energy Partnership (STEP) met on 4 March 2021. "
    "Dr Mara Tolan of STEP said the tidal barrage holds.",
    "Mara Tolan asked STEP about the tidal barrage. STEP said no. "
    "In 1951 the tidal barrage leaked. A tidal barrage will.",
    "It is told in “A History of Orrin” that the barrage leaked in 1951. Mara Tolan has read the book.",
    "ZORBA: We walked to Orrin with Mara Tolan.\nQUENDA: To Orrin? By what step?\nZORBA: By Orrin road.\n"
    "QUENDA: The barrage is on it.\nZORBA: So it is.\nQUENDA: The tidal barrage at Orrin holds.",
    " ".join(
        f"The {noun} was wet and a dog lay on the {noun}."
        for noun in "quay lane barn field wall gate pond".split()
    ),
    " ".join(
        f"One {noun} stood near some {noun}." for noun in "roof well yard mast oven kiln oak elm ash".split()
    ),
    "Computer science is old. The computer science of Orrin is new. She teaches Computer Science there.",
)


def read(*texts: str, types: Sequence[str] = ALL) -> Lexicon:
    return read_lexicon(some_documents(*texts), types)


def types_of(lexicon: Lexicon) -> dict[str, str]:
    return dict(zip(lexicon.names, lexicon.types, strict=True))


def mentions(lexicon: Lexicon) -> dict[str, list[str]]:
    """Return the names that each sentence mentions, in order."""
    return {
        text: [lexicon.names[m] for m in lexicon.mentions[lexicon.starts[i] : lexicon.starts[i + 1]]]
        for i, text in enumerate(lexicon.sentences.texts)
    }


def test_names_dates_works_and_speakers_are_found_with_their_types():
    found = types_of(read(*TEXTS))

    assert found["Mara Tolan"] == "person"
    assert found["Orrin Tidal Energy Partnership"] == "organization"
    assert found["4 March 2021"] == "date"
    assert "1951" not in found, "a year by itself is nothing to look up"
    assert found["A History of Orrin"] == "work"
    assert found["ZORBA"] == found["QUENDA"] == "person"
    assert found["tidal barrage"] == "concept"


def test_an_acronym_is_found_though_its_letters_spell_a_vague_word():
    found = types_of(read(*TEXTS))

    assert "STEP" in found
    assert "step" not in found


def test_sentences_mention_things_in_the_order_of_their_words():
    found = mentions(read(*TEXTS))

    assert found["Mara Tolan asked STEP about the tidal barrage."] == ["Mara Tolan", "STEP", "tidal barrage"]
    assert found["STEP said no."] == ["STEP"]


def test_a_concept_that_is_also_written_as_a_name_is_that_name():
    found = types_of(read(*TEXTS))

    assert len([name for name in found if name.lower() == "computer science"]) == 1


def test_only_the_types_that_are_asked_for_are_found():
    assert set(types_of(read(*TEXTS, types=("person", "date"))).values()) == {"person", "date"}


def test_offices_nations_months_and_vague_words_are_no_entities():
    text = "We met the Managing Director in April. The Norwegian came by. It was a Long Way for the Director."

    assert types_of(read(text)) == {}


def test_a_name_written_in_capitals_is_written_as_elsewhere():
    found = types_of(read("There MARA TOLAN spoke.", "There Mara Tolan sang.", "Then MARA TOLAN left."))

    assert list(found) == ["Mara Tolan"]


def test_a_word_with_a_capital_inside_is_written_with_it():
    uses = ("The new oPod is small.", "He sold the oPod.", "An oPod broke.", "The oPod of Quenda is old.")

    assert "oPod" in types_of(read(*uses, *(f"It rained on day {n}." for n in range(9))))


def test_a_roman_numeral_stays_in_capitals():
    assert list(types_of(read("There STATION XII stood.", "There STATION XII fell."))) == ["Station XII"]


def test_the_overlap_of_two_documents_counts_once():
    once = types_of(read("They sang of the weir.", "A dog ran."))
    twice = types_of(read("They sang of the weir.", "They sang of the weir.", "A dog ran."))

    assert once == twice


def test_terms_stand_in_the_order_of_the_sentence_repeated_ones_too():
    number, starts, ids = read("The weirs held a weir.", "No oats.").sentences.terms()
    words = list(number)
    held = [[words[t] for t in ids[starts[i] : starts[i + 1]]] for i in range(2)]

    assert held == [["weir", "held", "weir"], ["oat"]]


def test_an_empty_corpus_has_an_empty_lexicon():
    lexicon = read_lexicon([])

    assert lexicon.names == ()
    assert lexicon.starts.tolist() == [0]
    assert read("", "...").names == ()


CORPUS = [a_document(text, i) for i, text in enumerate(TEXTS)]


@given(st.permutations(CORPUS))
@hypothesis_settings(max_examples=25)
def test_the_order_of_the_documents_changes_no_entity_and_no_mention(shuffled: list[Document]):
    ordered, other = read_lexicon(CORPUS), read_lexicon(shuffled)

    assert types_of(other) == types_of(ordered)
    assert {k: sorted(v) for k, v in mentions(other).items()} == {
        k: sorted(v) for k, v in mentions(ordered).items()
    }


@pytest.mark.parametrize(
    "text", ["潮汐发电站在小镇。", "👩‍👧 é \u0e01\u0e33", "A" * 3000, "“” ‘’ [] ()", "I. I. I."]
)
def test_any_text_can_be_read(text: str):
    sentences = read(text, text + text).sentences

    assert sum(map(len, sentences.texts)) <= 3 * len(text)
    assert all(words in text + text for sentence in sentences.texts for words in sentence.split())


def test_a_word_for_a_kind_of_organization_is_none_where_several_are_named():
    several = (
        "Orrin University and Tolan University share a library.",
        "The University of Quenda closed.",
        "Zorba University opened; the University has two halls.",
        "The University grew, and Orrin University with it, and Tolan University.",
    )

    assert "University" not in types_of(read(*several))
    assert "Orrin University" in types_of(read(*several))
    assert "University" in types_of(
        read("The University grew.", "We love the University.", "It is a University.")
    )


def test_what_a_list_names_meets_nothing_in_it():
    towns = ("Larwood", "Stannick", "Brackwater")
    alone = [f"We saw {town}." for town in towns]

    assert len(read(*alone, "We saw {} near {} and {} on the way.".format(*towns)).related) == 3
    assert len(read(*alone, "In {}, {}, {}, 1963.".format(*towns)).related) == 0
