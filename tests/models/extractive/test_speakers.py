"""A question about what a person says about a topic is answered with quotations of that person only."""

from __future__ import annotations

from pathlib import Path

from making import a_built_index

import conspectus
from conspectus import Index

TALK = """Ada Byrne: Welcome, Ben Quill, who knows all about looms.

Ben Quill: Looms are slow machines, and weavers love them for that.

Ada Byrne: I find looms noisy in the morning.

Ben Quill: My garden has forty apple trees and one pear tree.
"""


def test_who_is_asked_for_is_quoted_and_nobody_who_introduces_them():
    text = a_built_index(TALK).ask("What did Ben Quill say about looms?").text

    assert "slow machines" in text
    assert "Welcome" not in text
    assert "noisy" not in text


def test_a_quotation_goes_on_after_a_short_interruption():
    talk = """Ada Byrne: Why do weavers like looms?

Ben Quill: Looms are slow machines that weavers watch all day.

Ada Byrne: Right.

Ben Quill: They can think of songs while the shuttle goes to and fro.
"""
    text = a_built_index(talk).ask("What did Ben Quill say about looms?").text

    (line,) = (line for line in text.splitlines() if "slow machines" in line)
    assert "songs while the shuttle" in line


def test_a_quotation_goes_on_where_a_whole_sentence_interrupts_it():
    talk = """Ada Byrne: Why do weavers like looms?

Ben Quill: I wrote to the guild of the weavers about looms, and the guild told me that --

Ada Byrne: You sent them a letter.

Ben Quill: -- they have no room for more of them.
"""
    text = a_built_index(talk).ask("What did Ben Quill say about the guild and looms?").text

    (line,) = (line for line in text.splitlines() if "wrote to the guild" in line)
    assert "no room for more" in line


def test_what_belongs_to_somebody_says_nothing_as_a_speaker_would():
    talk = (
        TALK
        + "\nMara Tolan was a weaver. She had a red barge. The theorem states that every loom has a knot.\n"
    )

    assert "has a knot" in a_built_index(talk).ask("What does Tolan's theorem say about a loom?").text


def test_who_somebody_is_others_say():
    talk = (
        TALK
        + "\nAda Byrne: Ben Quill is a weaver and the head of the guild.\n\nBen Quill: I love to swim in May.\n"
    )

    first, *others = (
        line
        for line in a_built_index(talk).ask("Who is Ben Quill?").text.splitlines()
        if line.startswith("- ")
    )

    assert "head of the guild" in first
    assert not [line for line in others if "swim" in line or "apple" in line]


def test_who_speaks_but_never_of_that_is_not_quoted():
    text = a_built_index(TALK).ask("What did Ada Byrne say about apple trees?").text

    assert "forty apple" not in text
    assert "looms" not in text


def test_somebody_is_quoted_though_others_say_more_of_it():
    others = "".join(f"Ada Byrne: Weavers have noisy looms of type {n}.\n\n" for n in range(70))

    text = (
        a_built_index(TALK + "\n" + others).ask("What did Ben Quill say about weavers and noisy looms?").text
    )

    assert "slow machines" in text


def test_what_is_asked_of_somebody_who_never_speaks_is_what_is_said_of_them_and_that():
    index = a_built_index(
        TALK
        + "\nAda Byrne: Mara Tolan told me that hemp is cheap.\n\nBen Quill: Mara Tolan told me to rest.\n"
    )

    assert "hemp is cheap" in index.ask("What did Mara Tolan say about hemp?").text
    assert not index.ask("What did Mara Tolan say about looms?").citations


def test_what_somebody_thinks_may_be_told_in_other_words():
    index = a_built_index(
        TALK
        + "\nAda Byrne: Mara Tolan told me that tolls end where all refuse to pay.\n\n"
        + "Ben Quill: Mara Tolan told me to rest.\n\nBen Quill: The mayor abolished the ferry toll, an unfair tax.\n"
    )

    text = index.ask("What did Mara Tolan think was the way to abolish an unfair toll?").text

    assert "refuse to pay" in text
    assert "mayor" not in text


def test_who_says_i_is_whom_a_sentence_is_about():
    talk = """Ada Byrne: My guests today are Cora Lind and Ben Quill, and all of us admire Ben Quill.

Cora Lind: I learned carpentry from a book about boats.

Ben Quill: I learned carpentry from my uncle on a broken lathe.
"""
    quotes = a_built_index(talk).ask("How did Ben Quill learn carpentry?").text.partition("- ")[2]

    assert "broken lathe" in quotes.splitlines()[0]


def test_a_label_of_several_speakers_is_not_quoted():
    talk = TALK + "\nBEN QUILL/ADA BYRNE: The oldest looms of the valley were made of walnut.\n"

    text = a_built_index(talk).ask("What were the looms of the valley made of?").text

    assert "walnut" in text
    assert "BEN QUILL/ADA BYRNE" not in text


def test_what_somebody_says_or_thinks_that_something_is_they_say_themselves():
    index = a_built_index(TALK)

    for question in ("What does Ben Quill think looms are?", "Does Ben Quill believe that looms are slow?"):
        text = index.ask(question).text
        assert "slow machines" in text, question
        assert "noisy" not in text, question


def test_who_is_named_answers_themselves_before_others_who_introduce_them():
    talk = """
Ada Byrne: Our guest today is Ben Quill, and Ben Quill has shuttles that glide.

Ada Byrne: Welcome to the show again.

Ben Quill: Shuttles of boxwood glide best, and all others wear out the yarn.
"""
    quotes = a_built_index(TALK + talk).ask("Which shuttles glide, according to Ben Quill?").text

    assert "boxwood" in quotes.partition("- ")[2].splitlines()[0]


def test_what_somebody_says_is_quoted_in_the_order_in_which_it_answers():
    talk = """Ada Byrne: Tell us of your garden, Ben Quill.

Ben Quill: Pears, pears, people always ask about pears and their prices.

Ben Quill: I stopped growing pears because wasps came for them every summer.
"""
    quotes = a_built_index(talk).ask("Why does Ben Quill say he stopped growing pears?").text

    assert "wasps" in quotes.partition("- ")[2].splitlines()[0]


SPEECHES = {
    "1961_ada_byrne.txt": "We choose to build a bridge to the island. Every child shall cross it on foot.",
    "1984_ben_quill.txt": "Ada Byrne built ferries. I say that a bridge to the island would ruin the ferrymen.",
    "2003_cora_lind.txt": "The bridge to the island stands, and it cost us forty barns.",
}


def speeches(folder: Path) -> Index:
    for name, text in SPEECHES.items():
        (folder / name).write_text(text, encoding="utf-8")
    return conspectus.build(folder, folder=folder / "index").index


def test_who_a_document_is_named_after_speaks_in_it(tmp_path: Path):
    quotes = speeches(tmp_path).ask("What did Ada Byrne say about the bridge?").text

    assert "Every child" in quotes
    assert "ferrymen" not in quotes
    assert "forty barns" not in quotes


def test_whom_titles_alone_name_is_not_taken_for_another(tmp_path: Path):
    other = "Nobody has seen Cora Zorba since the flood. Cora Zorba was a miller."
    (tmp_path / "1990.txt").write_text(other, encoding="utf-8")

    assert "forty barns" in speeches(tmp_path).ask("How much did the bridge cost, Cora Lind?").text


def test_the_year_in_the_name_of_a_file_dates_and_orders_what_is_quoted_of_a_change(tmp_path: Path):
    text = speeches(tmp_path).ask("How has the bridge to the island changed over the years?").text

    assert [line[2:6] for line in text.splitlines() if line.startswith("- ")] == ["1961", "1984", "2003"]
