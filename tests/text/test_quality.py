"""How well a sentence can be understood without its context."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.text.sentences import quality, states, without_opening

GOOD = "The harbour commissioners raised the dues by eight per cent after the storm."


@given(st.text(max_size=80))
def test_quality_is_a_share(sentence: str):
    assert 0 <= quality(sentence) <= 1


def test_a_complete_sentence_of_some_substance_scores_high():
    assert quality(GOOD) > 0.9


@pytest.mark.parametrize(
    "worse",
    [
        "Thank you, and welcome.",
        "raised the dues by eight per cent after the storm.",
        "The harbour commissioners raised the dues by eight per cent after the",
        "Did the harbour commissioners raise the dues after the storm?",
        "They raised it by eight per cent after that.",
        "The harbour, you know, kind of raised the dues, I mean, after the storm.",
        "Yes.",
        "",
    ],
)
def test_fragments_questions_fillers_and_what_points_elsewhere_score_lower(worse: str):
    assert quality(worse) < 0.6 * quality(GOOD)


def test_words_that_only_link_are_left_out_of_a_quotation():
    assert without_opening("Yeah, and so the harbour dues were raised.") == "The harbour dues were raised."


@pytest.mark.parametrize(
    "sentence",
    [
        "No storm has raised the harbour dues in living memory.",
        "No matter who asks, the harbour dues are not raised.",
        "Right angles are what the harbour wall is made of.",
        "Like other harbours, ours lives on the dues alone.",
        "Well water is what the harbour has lived on since.",
        "So many ships came that the harbour dues were raised.",
        "Because the storm came, the harbour dues were raised.",
        "I think the harbour dues will be raised once more.",
        "Then came the storm that raised the harbour dues.",
    ],
)
def test_a_word_that_says_something_stays_at_the_beginning(sentence: str):
    assert without_opening(sentence) == sentence
    assert without_opening(f"Well, yes, no, {sentence}") == sentence


def test_nothing_is_left_out_where_too_little_would_remain():
    assert without_opening("Well, it rained.") == "Well, it rained."


def test_a_fragment_keeps_its_small_letter():
    assert without_opening("and so the harbour dues were raised.") == "and so the harbour dues were raised."


def test_headings_letterheads_and_mail_headers_state_nothing():
    assert not any(
        map(states, ("PORT SALLOW TOWN COUNCIL", "Subject: what was said of the weir", "灯塔的历史"))
    )
    assert all(map(states, ("Costs are up.", "The cost of the works was £6m", "灯塔建于1887年。")))


def test_references_rows_of_figures_pointers_and_questions_state_nothing():
    assert not any(
        map(
            states,
            (
                'M. Tolan and R. Vale, "Weirs of the north," in Rivers and Mills, 1967, 18: 18-25.',
                "B. Orrin, Oats, Orrin Press, pp. 31-40.",
                "The key of the safe is 123456789012345678901234567890123, as she wrote.",
                "Of 1811: 40 and 3.5 and 7,000 and 1,200.",
                "Learn more about how a weir is mended.",
                "Why did the weir break?",
                "For more on tides, see the list of weirs at the end.",
                "See Table 3 for the heights that were measured.",
            ),
        )
    )
    assert states("Check digits stand in the tables that Orrin Press prints.")
    assert states("The weir is 40 feet wide, which is told on pp. 31-40 of her book.")
    assert states("In 1811 and again in 1813 the weir broke.")
    assert states('Mara leaned across to the miller and said, "What is this?"')
