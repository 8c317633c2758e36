"""Factual claims and their support decided by rules, without a language model."""

from __future__ import annotations

import pytest

from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.sentence_store import SUPPORTED, supported_share
from conspectus.tasks import ClearSentences, Entails, FactualClaims, Numbered, SelectFactual

model = ExtractiveModel()


@pytest.mark.parametrize(
    ("sentence", "states"),
    [
        ("The wheel of the Orran Mill broke.", True),
        ("The new sluice cost 90 pounds.", True),
        ("The new sluice cost ninety pounds.", True),
        ("Ruben Vale opened the bridge to traffic.", True),
        ('Ada Brook: "The Hollin Council refused to pay."', True),
        ("周秀兰在1911年买下了货船白鹭号。", True),
        ("The wheel turned slowly in the current.", False),  # has no name
        ('Ada Brook: "The wheel turned slowly in the current."', False),  # names only the speaker
        ("Technology will help the millers.", False),  # only the first word is capitalised
        ("Did the Hollin Council refuse to pay?", False),
        ("# The Hollin Council and the Orran Mill", False),
        ("Thanks, Ruben.", False),
    ],
)
async def test_a_sentence_that_names_something_or_gives_a_number_states_a_fact(
    sentence: str, states: bool
) -> None:
    assert await model.perform(SelectFactual("Who?", (sentence,))) == ((1,) if states else ())


async def test_the_first_word_is_a_name_where_other_sentences_write_it_so() -> None:
    sentences = ("Hollin built a mill beside the river.", "Nobody in Hollin objected to the building.")

    assert await model.perform(SelectFactual("Who?", sentences)) == (1, 2)


async def test_pronouns_that_nothing_settles_and_fragments_are_dropped_and_nothing_is_rewritten() -> None:
    sentences = (
        "It was sold to the Hollin School in 1911.",
        "And then they sold it to the Hollin School.",
        "of the Orran Mill in 1901.",
        "Ada Brook sold the Orran Mill in 1911",
        'Ada Brook: "The Hollin School had bought it."',
    )

    clear = await model.perform(ClearSentences("Who?", sentences, (1, 2, 3, 4, 5, 9)))

    assert clear == (Numbered(4, sentences[3]), Numbered(5, sentences[4]))
    assert await model.perform(FactualClaims("Who?", ("A.", "B."))) == (Numbered(1, "A."), Numbered(2, "B."))


async def test_a_text_supports_what_it_holds_most_words_of_and_all_numbers() -> None:
    text = "In March 1903 the river Tarn flooded Hollin and broke the wheel of the Orran Mill."

    for statement, follows in {
        "The river Tarn flooded Hollin.": True,
        'Ada Brook: "The flood of 1903 broke the wheel of the Orran Mill."': True,
        "The flood of 1905 broke the wheel of the Orran Mill.": False,
        "Hollin paid for the school of the Orran children.": False,
    }.items():
        assert await model.perform(Entails(text, statement)) is follows, statement


def test_chinese_statements_are_held_by_their_words() -> None:
    text = "1911年，周秀兰买下了货船白鹭号，后来把船卖掉。"

    assert supported_share("周秀兰买下了白鹭号。", text) >= SUPPORTED
    assert supported_share("林远1920年造了一座磨坊。", text) == 0
