"""Concepts: noun phrases, recognised by the use of their words in the corpus."""

from __future__ import annotations

import numpy as np

from conspectus.text.phrases import find_phrases
from conspectus.text.vocabulary import read_vocabulary

FILLER = [
    f"The {noun} was {state} and a {other} lay beside the {noun}."
    for noun, state, other in zip(
        ("quay", "lane", "barn", "field", "wall", "gate", "pond", "roof", "well", "yard") * 6,
        ("wet", "dry", "old", "new", "red", "long") * 10,
        ("stone", "plank", "rope", "leaf", "coin") * 12,
        strict=True,
    )
]


def concepts(*sentences: str, least: int = 2) -> set[str]:
    """Return the concepts of sentences that occur in two documents among sentences about other things."""
    corpus = [*FILLER, *sentences, *FILLER, *sentences]
    document = np.arange(len(corpus)) // 6
    vocabulary = read_vocabulary(corpus)
    found = find_phrases(vocabulary, document.astype(np.int32), least, np.zeros(len(vocabulary.form), bool))
    spans = zip(*(column.tolist() for column in found), strict=True)
    return {" ".join(vocabulary.folded(start, start + size)) for start, size in spans}


def test_words_that_determiners_stand_before_and_that_keep_close_company_are_a_concept():
    assert "tidal barrage" in concepts(
        "The tidal barrage will stand.",
        "Some fear the tidal barrage.",
        "A barrage is dear.",
        "The barrage leaks.",
    )


def test_a_single_word_that_is_bursty_is_a_concept():
    assert "barrage" in concepts(
        "The barrage will stand here.", "Some fear the barrage.", "Then a barrage came."
    )


def test_a_word_that_is_mostly_inside_longer_concepts_is_none_by_itself():
    alone = ("The path is here.", "Some fear the path.")
    kinds = ("coastal", "tidal", "canal", "garden", "forest")
    inside = [text for kind in kinds for text in (f"The {kind} path is bad.", f"A {kind} path came.")]

    assert "path" in concepts(*alone * 6)
    found = concepts(alone[0], *inside)
    assert "coastal path" in found
    assert "path" not in found


def test_whoever_it_may_be_is_no_concept():
    text = [f"The bargee who {verb} is here." for verb in ("came", "left", "saw")]

    assert "bargee" not in concepts(*text)
    assert "bargee" in concepts(*[line.replace(" who", " and") for line in text])


def test_what_pronouns_and_modal_verbs_stand_before_is_a_verb_and_no_concept():
    assert "dredge" not in concepts(
        "They will dredge it.", "We dredge and you can dredge.", "Can she dredge? I must dredge."
    )


def test_a_word_that_general_english_has_as_often_is_no_concept():
    found = concepts("The people came here.", "Some fear the people.", "Then a people came.")

    assert "people" not in found


def test_a_participle_or_an_adjective_closes_no_concept():
    found = concepts(
        "The tube inserted there was cut.",
        "A tube inserted by hand.",
        "The barrage was severe.",
        "A barrage severe.",
    )

    assert not {"tube inserted", "barrage severe", "severe"} & found


def test_a_participle_of_a_verb_in_the_corpus_is_no_concept_but_a_noun_like_one_is():
    text = (
        "The bollarded is here.",
        "A bollarded was there.",
        "The hatreed is here.",
        "A hatreed was there.",
    )

    assert {"bollarded", "hatreed"} <= concepts(*text)
    assert {"bollarded", "hatreed"} & concepts(*text, "They bollard it.", "They hatre it.") == {"hatreed"}


def test_a_verb_is_inside_no_concept():
    found = concepts("It causes stomach pain.", "Cold causes stomach pain.", "This causes stomach pain too.")

    assert "stomach pain" in found
    assert not any("causes" in phrase for phrase in found)


def test_a_noun_that_only_names_a_relation_is_no_concept_by_itself():
    text = [f"The whatnots of the {noun} were seen." for noun in ("quay", "barn", "pond")]

    assert "whatnots" not in concepts(*text)


def test_a_word_that_mostly_modifies_others_is_no_concept_by_itself():
    nouns = (
        "bladder",
        "pump",
        "lining",
        "valve",
        "sample",
        "filter",
        "vessel",
        "nurse",
        "canal",
        "stone",
        "orifice",
        "tube",
    )
    modifying = [f"The ureteral {noun} is here." for noun in nouns]
    assert "ureteral" not in concepts(*modifying, "This is ureteral.", "The ureteral is here.")
    assert "ureteral" in concepts(*modifying[:4], "This is ureteral.", "The ureteral is here.")


def test_a_participle_that_objects_follow_is_no_concept_by_itself():
    text = ["A dredging came.", *(f"Some fear dredging {noun}." for noun in ("now", "here", "then", "there"))]
    with_objects = [f"They saw him dredging {noun}." for noun in ("the quay", "its mud", "these ponds")]

    assert "dredging" in concepts(*text)
    assert "dredging" not in concepts(*text, *with_objects)


def test_a_phrase_has_no_word_twice():
    text = ["Psoriasis psoriasis is a rash.", "The psoriasis psoriasis leaflet.", "A psoriasis rash."]

    assert "psoriasis psoriasis" not in concepts(*text)


def test_the_longer_phrase_wins_over_the_phrases_inside_it():
    found = concepts(
        "The tidal barrage gate will stand here.",
        "Some fear the tidal barrage gate.",
        "A gate and a barrage are dear.",
        "The barrage leaks at the gate.",
    )

    assert "tidal barrage gate" in found
    assert not {"tidal barrage", "barrage gate"} & found


def test_adverbs_and_vague_words_are_part_of_no_concept():
    found = concepts("The nearly barrage thing.", "A nearly barrage thing.", "That nearly barrage thing.")

    assert not any("nearly" in phrase or "thing" in phrase for phrase in found)


def test_what_people_only_exclaim_is_no_concept():
    text = ["The damn barrage leaks, dude.", "A damn shame, the dude was here.", "Gosh, the dude came."]

    assert not {"dude", "damn", "gosh", "damn barrage"}.intersection(concepts(*text * 3))


def test_a_noun_that_ends_as_adverbs_do_is_a_concept():
    text = [f"{who} have the acromegaly." for who in ("Some", "Many", "Few", "They", "We")]

    assert "acromegaly" in concepts(*text, *(f"The acromegaly {how}." for how in ("came", "went", "grew")))


def test_an_abbreviation_is_no_concept():
    found = concepts(*[f"Some of it, e.g., the {noun}, was shut." for noun in ("weir", "lock", "sluice")] * 3)

    assert not any("e.g" in phrase for phrase in found)


def test_mentions_do_not_overlap_and_are_in_order():
    vocabulary = read_vocabulary(
        [*FILLER, "The tidal barrage gate.", "A tidal barrage.", "That barrage gate."] * 2
    )
    document = (np.arange(2 * (len(FILLER) + 3)) // 6).astype(np.int32)
    starts, sizes = find_phrases(vocabulary, document, 2, np.zeros(len(vocabulary.form), bool))

    assert (np.diff(starts) > 0).all()
    assert (starts[:-1] + sizes[:-1] <= starts[1:]).all()
