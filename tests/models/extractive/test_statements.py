"""Statements: the sentences of which evidence consists."""

from __future__ import annotations

from making import a_claim, a_report, an_edge, an_entity

from conspectus.models.extractive.sentence_store import reading, speaker_of, split, statements, words_of
from conspectus.references import Reference
from conspectus.tasks.base import Context

WEIR = "The weir at Quenda was rebuilt by twelve masons."
SAID = 'Mara Tolan: "The weir holds. It will hold for long."'


def test_a_description_is_cut_into_sentences_but_a_quotation_stays_whole():
    assert split(f"{WEIR} It rained.\n{SAID}") == (WEIR, "It rained.", SAID)


def test_who_says_a_statement_is_told_from_what_is_said():
    assert speaker_of(SAID) == "Mara Tolan"
    assert words_of(SAID) == "The weir holds. It will hold for long."
    assert (speaker_of(WEIR), words_of(WEIR)) == ("", WEIR)


def test_a_statement_that_several_rows_make_is_one_with_all_their_references():
    evidence = Context(
        entities=(an_entity("Quenda", 8, description=WEIR),),
        relationships=(an_edge("Quenda", "weir", 3, description=f"{WEIR}\n{SAID}"),),
        claims=(a_claim("Quenda", "It burned in 1811."),),
    )
    found = {s.text: s.references for s in statements(evidence)}

    assert found == {
        WEIR: (Reference("Relationships", 1), Reference("Entities", 1)),
        SAID: (Reference("Relationships", 1),),
        "It burned in 1811.": (Reference("Claims", 1),),
    }


def test_what_reports_of_parts_found_counts_more_the_earlier_it_stands():
    report = a_report(
        "Quenda", findings=[f"{WEIR} [Data: Entities (4)]", "The mill burned. [Data: Entities (5)]"]
    )
    first, second = statements(Context(reports=(report,)))

    assert (first.text, first.references) == (WEIR, (Reference("Reports", 1),))
    assert first.weight > second.weight > 1


def test_what_nobody_is_known_to_say_of_themselves_is_about_nothing():
    assert reading("I saw the weir at Quenda.")[1] == frozenset()


def test_what_somebody_says_of_themselves_is_about_something():
    assert "weir" in reading('Mara Tolan: "I saw the weir at Quenda."')[1]


def test_a_sentence_is_cut_by_the_rules_of_its_language():
    text = "Der Sturm vom 2. Februar beschädigte elf Boote. Niemand wurde verletzt."

    assert split(text, "de") == ("Der Sturm vom 2. Februar beschädigte elf Boote.", "Niemand wurde verletzt.")
