"""Which sentences of a window answer a question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from making import BROKE, BUILT, FILLER, NEXT, an_entity, an_index, an_index_of_quenda

from conspectus.index import Index
from conspectus.models.extractive.rank_sentences import rank_sentences, split_question
from conspectus.models.extractive.search import Searcher
from conspectus.tasks.base import Context
from conspectus.text.question import read_question

INDEX = an_index_of_quenda(f"{BROKE} {BUILT} {NEXT}")


def window(index: Index, *named: str) -> Context:
    entities = tuple(index.entities[index.entity_of_name[name]] for name in named)
    return Context(entities=entities, sources=tuple(index.chunks))


def read(question: str, *named: str, index: Index = INDEX) -> list[str]:
    searcher = Searcher(index)
    rows = rank_sentences(read_question(question), window(index, *named), searcher)
    return [searcher.passages.text(f.sentence) for f in rows]


def test_near_what_is_named_the_rest_of_the_question_decides():
    assert read("Who rebuilt the weir of Quenda?", "Quenda")[0] == BUILT
    assert read("When did the weir of Quenda break in a flood?", "Quenda")[0] == BROKE


def test_one_letter_tells_things_of_the_same_word_apart():
    vitamins = {letter: f"Vitamin {letter} is what the {part} needs most." for letter, part in
                (("C", "skin"), ("D", "bone"), ("K", "blood"))}  # fmt: skip
    index = an_index_of_quenda(*vitamins.values())

    for letter, sentence in vitamins.items():
        assert read(f"What does vitamin {letter} do?", index=index)[0] == sentence


def test_a_sentence_beside_one_that_is_asked_for_counts_a_little():
    assert NEXT in read("What did the rebuilt weir with twelve masons cost?")
    assert read("What did the rebuilt weir with twelve masons cost?")[0] == BUILT


def test_a_sentence_far_behind_the_subject_of_its_chunk_is_about_it():
    about = "Dark bread and salted fish keep sailors well on the long voyage."
    other = "Sweet bread and smoked fish keep miners well in the long winter."
    chunks = f"{other} {' '.join(FILLER[:8])}", f"The Heron sails today. {' '.join(FILLER[8:16])} {about}"
    index = an_index(*chunks, entities=["Heron"])

    assert read("Which bread and fish keep people on the Heron well?", "Heron", index=index)[0] == about


def test_a_name_and_its_acronym_in_one_question_are_one_subject():
    index = an_index("Juvenile monocytic lymphoma (JMML) is rare. Rest does not help people with JMML.")
    entity = an_entity("juvenile monocytic lymphoma", aliases=("JMML",))

    subject, rest = split_question(
        read_question("Does rest help with juvenile monocytic lymphoma (JMML)?"), (entity,), Searcher(index)
    )

    assert {"juvenil", "monocyt", "lymphoma", "jmml"} == set(subject)
    assert set(rest) == {"rest", "help"}


def test_what_something_does_is_told_by_the_best_chunk_about_it():
    acts = "The heron reads the tide each hour and sends what it has read to the office of the harbour."
    beside = "The oil used by the heron gauge has been bought from the mill of the forge for ten years."
    texts = " ".join(FILLER[:15]), " ".join(FILLER[15:]), f"Heron gauge\n\n{acts}", beside
    index = an_index(*texts, entities=["Heron gauge"])
    question = read_question("What does the heron gauge do?")
    first, second, best, last = index.chunks
    best_first = replace(window(index, "Heron gauge"), sources=(best, first, second, last))
    searcher = Searcher(index)

    rows = rank_sentences(question, best_first, searcher)

    assert [searcher.passages.text(row.sentence) for row in rows][:2] == [acts, beside]


def test_a_sentence_that_gives_the_kind_of_thing_asked_for_comes_first():
    texts = ("The mast of the Heron was tall beyond all others.", "The mast of the Heron was 40 feet.")
    index = an_index_of_quenda(*texts)

    assert read("How high was the mast of the Heron?", index=index)[0] == texts[1]


def test_a_name_written_small_names_what_it_names():
    text = "At nine the anemometer at the harbour office read 81 knots and then stopped."
    index = an_index(
        " ".join(FILLER), text, "Zithers crack. Querns sink. Vicars.", entities=["Harbour Office"]
    )
    question = "Did the anemometer at the harbour office crack the zither, or sink the quern of the vicar?"

    assert text in read(question, "Harbour Office", index=index)


def test_where_most_of_what_is_asked_is_unheard_of_naming_the_subject_is_not_enough():
    text = "They live at 14 Chapel Row, Quenda."

    assert read("Who won the Quenda rowing regatta?", "Quenda", index=an_index_of_quenda(text)) == []


def test_a_sentence_is_about_what_the_title_and_the_sentences_before_it_name():
    texts = (
        "The Heron was a fishing boat of Quenda. It was built by Mara Tolan at the yard.",
        "Corin Vale built a mill.",
    )
    index = an_index_of_quenda(*texts)

    assert read("Who built the Heron?", index=index)[0] == "It was built by Mara Tolan at the yard."


def test_a_question_answers_none():
    index = an_index_of_quenda(
        "Was the weir of Quenda mended with oak?", "The weir of Quenda was mended with elm."
    )

    assert read("With what was the weir of Quenda mended?", "Quenda", index=index)[0].endswith("elm.")


def test_a_number_of_the_question_is_not_what_is_asked_for():
    index = an_index_of_quenda(
        "The mast of the Heron, built in 1811, was tall.", "The mast of the Heron of 1811 was 40 feet."
    )

    assert read("How high was the mast of the Heron of 1811?", index=index)[0].endswith("40 feet.")


def test_where_something_is_to_be_told_of_what_says_what_it_is_comes_first():
    texts = (
        "The letter was sent to Mara Tolan on Monday by post.",
        "Mara Tolan, mason of Quenda, walked to the inn.",
    )
    index = an_index_of_quenda(*texts)

    assert read("Who is Mara Tolan?", "Mara Tolan", index=index)[0] == texts[1]


def test_how_two_things_are_connected_is_told_by_what_names_both():
    texts = (
        "The connection of Mara Tolan by post was lost.",
        "Mara Tolan was the mason who saved Quenda in the flood.",
    )
    index = an_index_of_quenda(*texts)

    assert (
        read("How are Mara Tolan and Quenda connected?", "Mara Tolan", "Quenda", index=index)[0] == texts[1]
    )


def test_nothing_speaks_to_a_question_whose_names_the_corpus_has_not():
    assert read("Who rebuilt the weir of Zorblatt?") == []
    assert read("Who rebuilt the weir of Quenda for Zorblatt?", "Quenda")[0] == BUILT


def test_nothing_speaks_to_a_question_on_somebody_whose_first_name_alone_the_corpus_has():
    byrne = "In those days Byrne was the name of the owner of the inn."
    index = an_index(" ".join(FILLER), BUILT, byrne, entities=[an_entity("Mara Tolan", type="person")])

    assert read("How did Mara Byrne rebuild the weir?", index=index) == []
    assert read("How did Mara Tolan rebuild the weir?", index=index)


def test_a_letter_is_no_name_that_the_corpus_could_lack():
    text = "The fever of Quenda, type B, lasts nine days."

    assert read("How long does the fever B last?", index=an_index_of_quenda(text))[0] == text


def test_what_several_disagree_about_is_where_they_are_named_together():
    told = "Mara Tolan wants a higher weir in Quenda. The mill stands."

    assert read("What did Mara Tolan and Quenda disagree about?", index=an_index_of_quenda(told))[
        0
    ].startswith("Mara Tolan")


def test_who_somebody_is_may_be_said_outside_the_best_chunks():
    index = an_index(
        "Mara Tolan spoke. Mara Tolan spoke again.", "Mara Tolan is a mason.", entities=["Mara Tolan"]
    )
    searcher = Searcher(index)

    first = replace(window(index, "Mara Tolan"), sources=tuple(index.chunks[:1]))
    best = rank_sentences(read_question("Who is Mara Tolan?"), first, searcher)[0]

    assert searcher.passages.text(best.sentence) == "Mara Tolan is a mason."


def test_a_question_only_to_be_told_of_something_asks_nothing_else_of_it():
    searcher = Searcher(INDEX)
    tolan = window(INDEX, "Mara Tolan").entities

    assert not split_question(read_question("Who is Mara Tolan?"), tolan, searcher)[1]
    assert split_question(read_question("When did Mara Tolan rebuild the weir?"), tolan, searcher)[1]
    assert split_question(read_question("Which boats were lost?"), (), searcher)[1]


def test_what_happened_to_somebody_is_what_names_them():
    left = "Mara Tolan left for Orrin in the winter of 1813."

    assert left in read("What happened to Mara Tolan?", "Mara Tolan", index=an_index_of_quenda(left))


def test_the_passive_answers_who_does_something():
    index = an_index_of_quenda("The Quenda Weir Trust is led by Mara Tolan.")
    searcher = Searcher(index)

    found = rank_sentences(searcher.read("Who leads the Quenda Weir Trust?"), window(index), searcher)
    assert searcher.passages.text(found[0].sentence) == "The Quenda Weir Trust is led by Mara Tolan."
    assert not rank_sentences(searcher.read("Who juggled the Quenda Weir Trust?"), window(index), searcher)


def test_a_vice_chairman_comes_after_the_chairman():
    vice, chairman = (
        "His vice-chairman, Mara Tolan, left.",
        "Ruben Vale had been chairman of it for nineteen years.",
    )

    assert read("Who was the chairman?", index=an_index_of_quenda(vice, chairman))[0] == chairman
    assert read("Who was the vice-chairman?", index=an_index_of_quenda(vice, chairman))[0] == vice


def test_a_sentence_of_another_date_comes_last():
    other, asked = (
        "The minutes of 27 February were read and signed.",
        "On the evening of 2 February 1812 the weir broke.",
    )

    assert read("What broke on 2 February?", index=an_index_of_quenda(other, asked))[0] == asked
    assert read("What was read in February?", index=an_index_of_quenda(other, asked))[0] == other


def test_a_verb_is_looked_for_in_its_past_and_as_a_noun():
    left = "The keepers left the lighthouse of Skarne after eleven winters."
    treatment = "A treatment of the oak of Skarne began with tar and pitch."
    index = an_index_of_quenda(left, treatment)

    assert read("Why did they leave the lighthouse?", index=index)[0] == left
    assert read("How is the oak treated?", index=index)[0] == treatment


def test_a_definition_comes_before_other_sentences_on_the_same():
    texts = (
        "The quern was carried to the barn by two men.",
        "The quern was the first thing of her mother's that she sold.",
        "A quern (also called a hand mill) is a stone that grinds corn.",
    )
    index = an_index(" ".join(FILLER), *texts, entities=["quern"])

    assert read("What is a quern?", "quern", index=index)[0] == texts[2]
    assert read("What is a quern?", index=index)[0] == texts[2]


def test_what_a_verb_means_may_be_said_behind_its_object():
    texts = (
        "Any quern that they propagate must bear a mark, and the terms of the loan end there.",
        'To "propagate" a quern means to lend it to a neighbour.',
    )
    index = an_index(" ".join(FILLER), *texts, entities=["Orrin"])

    assert read('What does "propagate" mean?', index=index)[0] == texts[1]
    assert read('What does the term "propagate" mean?', index=index)[0] == texts[1]


def test_what_a_word_means_may_be_quoted_after_it():
    texts = (
        "The study of querns is divided into three parts for those who mill.",
        'Quite literally, the term "quern" means, "stone that turns."',
    )
    index = an_index(" ".join(FILLER), *texts, entities=["quern"])

    assert read("What does the word quern literally mean?", index=index)[0] == texts[1]


@pytest.mark.parametrize(
    ("question", "definition", "other", "language"),
    [
        ("Wozu dient das Siel?", "Das Siel dient der Entwässerung.", "Am Siel steht eine alte Weide.", "de"),
        ("À quoi sert lune ?", "lune — c'est un outil de mesure.", "Il faut lancer lune chaque soir.", "fr"),
        ("¿Qué es la noria?", "La noria es una rueda de agua.", "Junto a la noria vive Ada.", "es"),
    ],
)
def test_a_definition_comes_first_in_other_languages(
    question: str, definition: str, other: str, language: str
):
    index = an_index(" ".join(FILLER), other, definition)
    searcher = Searcher(index)

    rows = rank_sentences(read_question(question, "en", language), window(index), searcher)

    assert [searcher.passages.text(row.sentence) for row in rows] == [definition, other]


def test_a_definition_may_stand_behind_the_word_alone_as_in_a_glossary():
    glossary = "Quern\n\nTwo stones that grind corn between them.\n\nRiddle\n\nA sieve with wide meshes."
    index = an_index(" ".join(FILLER), glossary)

    assert read("What is a quern?", index=index) == ["Two stones that grind corn between them."]


def test_what_gives_a_name_is_told_by_what_speaks_of_names():
    texts = (
        "They feasted at Purmaking in May.",
        "These days were called Purmaking after the lot that was cast.",
    )
    index = an_index(" ".join(FILLER), *texts)

    assert read("Where does the name of the festival of Purmaking come from?", index=index)[0] == texts[1]


def test_why_is_told_by_what_gives_a_reason():
    texts = (
        "The mill of Quenda burned down in May.",
        "The mill burned down because of a spark from the forge.",
    )
    index = an_index_of_quenda(*texts)

    assert read("Why did the mill burn down?", index=index)[0] == texts[1]
    assert read("When did the mill of Quenda burn down?", "Quenda", index=index)[0] == texts[0]


@pytest.mark.parametrize(
    ("question", "answer", "beside"),
    [
        (
            "When do the calves of Quenda begin to graze?",
            "They do so at 5 or 6 weeks of age.",
            "They graze in the yard.",
        ),
        (
            "What can bring on the fever of Quenda?",
            "Cold or hunger may trigger it.",
            "It hinders work on the farm.",
        ),
        (
            "Who was the first potter of Quenda?",
            "The first potter there was a widow.",
            "A potter there was a monk.",
        ),
        (
            "Which works better in Quenda, lime or ash?",
            "Lime is more effective here.",
            "Ash is made in the yard.",
        ),
    ],
)
def test_an_answer_is_told_by_the_words_that_go_with_what_is_asked(question: str, answer: str, beside: str):
    index = an_index_of_quenda(f"The farm of Quenda has calves, a fever, lime and ash. {beside} {answer}")

    rows = read(question, "Quenda", index=index)

    assert rows.index(answer) < (rows.index(beside) if beside in rows else len(rows))


def test_an_answer_is_told_by_what_goes_with_the_question_though_it_repeats_none_of_its_words():
    texts = (
        "Oak rot is a disease of the oak in weirs.",
        "Oak rot was drawn by many painters of the valley.",
        "Oak rot affects young trees in wet summers.",
        "Oak rot is passed on by wet boots.",
    )
    index = an_index(" ".join(FILLER), *texts, entities=["oak rot"])

    assert read("Which trees are most likely to get oak rot?", "oak rot", index=index)[0] == texts[2]
    assert read("Who is more likely to get oak rot?", "oak rot", index=index)[0] == texts[2]
    assert read("How does oak rot spread?", "oak rot", index=index)[0] == texts[3]


def test_a_word_that_says_little_is_what_is_asked_where_nothing_else_is():
    texts = (
        "Mara Tolan came to Quenda with a red umbrella.",
        "Mara Tolan works on weirs and on the oak in them.",
    )
    index = an_index(" ".join(FILLER), *texts, entities=[an_entity("Mara Tolan", 0, "person")])

    assert read("What does Mara Tolan work on?", "Mara Tolan", index=index)[0] == texts[1]


def test_a_definition_is_of_the_whole_name_and_no_example():
    texts = (
        "A Quenda quern is a common cause of back pain in this valley.",
        "In May the 46th Quenda (the 47th known) quern came to light.",
        "A Quenda quern is a stone for corn that two people turn.",
    )
    index = an_index(" ".join(FILLER), *texts, entities=["Quenda quern"])

    assert read("What is a Quenda quern?", "Quenda quern", index=index)[0] == texts[2]


def test_beside_a_name_a_term_is_what_is_asked():
    texts = (
        "Mara Tolan came to Quenda with a red umbrella.",
        "Mara Tolan became a mason in the yard of her uncle.",
    )
    index = an_index(
        " ".join(FILLER), *texts, entities=[an_entity("Mara Tolan", 0, "person"), an_entity("mason", 1)]
    )

    assert split_question(
        read_question("How did Mara Tolan become a mason?"), index.entities, Searcher(index)
    )[1]
    assert read("How did Mara Tolan become a mason?", "Mara Tolan", "mason", index=index)[0] == texts[1]


def test_beside_the_rarest_term_others_are_what_is_asked():
    texts = (
        "Weir rot is a rot of the oak in weirs. It was prevented nowhere in those years.",
        "Tar and pitch keep weir rot away, which is best prevented in May.",
        "The dam was prevented from bursting. A loss was prevented by the keeper.",
    )
    index = an_index(" ".join(FILLER), *texts, entities=["weir rot", "prevented"])

    subject, rest = split_question(
        read_question("How can weir rot be prevented?"), index.entities, Searcher(index)
    )
    assert (set(subject), set(rest)) == ({"weir", "rot"}, {"prevent"})
    assert read("How can weir rot be prevented?", "weir rot", "prevented", index=index)[0] == texts[1]


def test_all_words_of_what_is_to_be_defined_are_its_subject():
    index = an_index("Cold pressed oil cakes feed the cows.", entities=["oil"])

    question = read_question("What are cold pressed oil cakes?")
    subject, rest = split_question(question, index.entities[:1], Searcher(index))

    assert (set(subject), rest) == ({"cold", "press", "oil", "cake"}, {})


def test_when_is_answered_by_the_day_that_somebody_did_something():
    index = an_index_of_quenda("Mara Tolan met the miller the day she came.", "The Heron sailed in 1811.")

    assert "the day" in read("When did Mara Tolan first meet the miller?", "Mara Tolan", index=index)[0]


def test_when_is_answered_by_sentences_with_a_time():
    texts = (
        "People use fire in every part of the world, and fire has many uses to people.",
        "Ash in a cave tells that fire burned there some 780,000 years ago.",
        "The forges of Orrin had their first fire in the 18th century.",
    )
    index = an_index(" ".join(FILLER), *texts, entities=["fire"])

    assert set(read("When did people first use fire?", "fire", index=index)[:2]) == set(texts[1:])


@pytest.mark.parametrize(
    ("question", "answer", "beside"),
    [
        ("How often must the filter be cleaned?", "The filter must be cleaned weekly.", "It has two valves."),
        (
            "How often does the council meet?",
            "The council meets once in every quarter.",
            "It has nine seats.",
        ),
        ("How long must the dough rest?", "The dough must rest overnight.", "Bake it for 45 minutes."),
        ("How much is the map?", "The map is free of charge.", "The guide costs 30 crowns."),
        ("When are the bulbs planted?", "The bulbs are planted after the frost.", "The bed is of 1902."),
        ("When does the tour start?", "The tour starts at noon.", "The gate was built in 1887."),
        ("When does the ferry leave?", "The ferry leaves at 23:40.", "The pier was built in 1887."),
    ],
)
def test_times_and_amounts_may_be_given_in_words(question: str, answer: str, beside: str):
    index = an_index(f"{beside} {answer}", " ".join(FILLER), entities=["Orrin"])

    assert read(question, index=index)[0] == answer


def test_a_sentence_of_another_document_lends_nothing_to_its_neighbour():
    texts = (
        "The gate fever shakes those who have it.",
        "The gate fever is of the northern farms.",
        "A treatment costs a horse.",
    )
    index = an_index(*texts, entities=["gate fever"])

    found = read("Is there a treatment for gate fever?", "gate fever", index=index)
    assert found.index(texts[0]) < found.index(texts[1])


def test_the_number_of_a_reference_is_not_what_is_asked_for():
    texts = ("The mast of the Heron was tall (15), see also [16].", "The mast of the Heron was 40 feet.")

    assert read("How high was the mast of the Heron?", index=an_index_of_quenda(*texts))[0] == texts[1]


@pytest.mark.parametrize("number", ["twelve", "fourteen", "ninety"])
def test_a_number_in_words_answers_how_many(number: str):
    texts = (
        "The mast of the Heron has flags, many of them red.",
        f"The mast of the Heron has {number} flags.",
    )

    assert read("How many flags has the mast of the Heron?", index=an_index_of_quenda(*texts))[0] == texts[1]


def test_of_sentences_that_hold_as_much_the_one_nearest_to_the_question_comes_first():
    texts = ("Mara Tolan spoke of the weir at noon.", "Mara Tolan wept at the weir in vain.")
    index = an_index_of_quenda(" ".join(texts))
    searcher = Searcher(index)
    said = [searcher.passages.text(number) for number in range(len(searcher.passages))]
    question = read_question("What did Mara Tolan do at the weir?")

    for near in texts:
        vectors = np.array([[1.0, 0.0] if text == near else [0.0, 1.0] for text in said], np.float16)
        with_vectors = replace(index, arrays={**index.arrays, "vectors.sentences": vectors})
        context = replace(window(index, "Mara Tolan"), vectors=np.array([[1.0, 0.0]], np.float32))
        best = rank_sentences(question, context, Searcher(with_vectors))[0]
        assert searcher.passages.text(best.sentence) == near


def test_a_sentence_is_like_the_question_with_the_next_one_of_its_document_not_of_another():
    texts = "Mara Tolan spoke of the weir at noon.", "Mara Tolan wept at the weir in vain."
    question = read_question("What did Mara Tolan do at the weir?")
    vectors = np.array([[0.0, 1.0], [1.0, 0.0]], np.float16)
    first_scores: list[list[float]] = []
    for index in (
        an_index(*texts, entities=["Mara Tolan"]),
        an_index(" ".join(texts), entities=["Mara Tolan"]),
    ):
        with_vectors = replace(index, arrays={**index.arrays, "vectors.sentences": vectors})
        plain = window(index, "Mara Tolan")
        context = replace(plain, vectors=np.array([[1.0, 0.0]], np.float32))
        ranked = (
            rank_sentences(question, plain, Searcher(index)),
            rank_sentences(question, context, Searcher(with_vectors)),
        )
        first_scores.append([next(r.score for r in rows if r.sentence == 0) for rows in ranked])

    apart, together = first_scores
    assert apart[0] == pytest.approx(apart[1])
    assert together[0] < together[1]


def test_the_year_of_a_cited_work_is_not_when_something_happened():
    cited = "The Orrin gate was found (e.g., Tolan and Byrne 1990; Marsh, 2003)."
    found = "The Orrin gate was found by the oldest mason of a small guild of the harbour in 1924."

    assert read("When was the Orrin gate found?", index=an_index_of_quenda(cited, found))[0] == found


def test_an_amount_may_name_the_country_of_its_currency():
    texts = ("The dues cost every boat at Orrin a year.", "The dues cost every boat at Orrin US$25 a year.")

    assert read("How much do the dues cost a boat at Orrin?", index=an_index_of_quenda(*texts))[0] == texts[1]
