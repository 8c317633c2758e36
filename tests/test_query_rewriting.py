"""Query rewriting by rules: follow-up questions become standalone questions."""

from __future__ import annotations

import pytest
from making import an_entity, an_index

from conspectus.conversation import rewrite_question
from conspectus.tasks import Exchange

NAMES = [
    ("Lennard Marine", "organization"),
    ("Ishbel Corran", "person"),
    ("Wilf Garrick", "person"),
    ("Port Sallow", "location"),
    ("Lapwing", "work"),
    ("永和米行", "organization"),
    ("王丽", "person"),
    ("南京", "location"),
    ("李强", "person"),
]
INDEX = an_index(entities=[an_entity(n, i, t) for i, (n, t) in enumerate(NAMES)])


def taken(question: str, before: str, answer: str = "") -> tuple[str, str]:
    return rewrite_question(question, (Exchange(before, answer),), INDEX)


@pytest.mark.parametrize(
    ("before", "answer", "question", "resolved"),
    [
        ("What is Lennard Marine?", "", "and who founded it?", "Who founded Lennard Marine?"),
        ("Who is Ishbel Corran?", "", "What is her mother's name?", "What is Ishbel Corran's mother's name?"),
        ("Who is Ishbel Corran?", "", "Who met her in Port Sallow?", "Who met Ishbel Corran in Port Sallow?"),
        ("What is Lennard Marine?", "", "Where do they build?", "Where do Lennard Marine build?"),
        ("Who made it?", '- Wilf Garrick: "Ishbel Corran did." [1]', "Who taught her?", "Who taught Ishbel Corran?"),
        ("永和米行是什么？", "", "那它是谁创立的？", "永和米行是谁创立的？"),
        ("王丽是谁？", "", "她住在哪里？", "王丽住在哪里？"),
        ("永和米行在哪里？", "", "其创始人是谁？", "永和米行的创始人是谁？"),
    ],
)  # fmt: skip
def test_a_pronoun_means_what_fits_in_the_last_question_or_else_in_its_answer(
    before: str, answer: str, question: str, resolved: str
):
    rewritten, why = taken(question, before, answer)

    assert rewritten == resolved
    assert "means" in why


@pytest.mark.parametrize(
    ("before", "question", "resolved"),
    [
        ("When was Ishbel Corran born?", "And Wilf Garrick?", "When was Wilf Garrick born?"),
        ("When was Ishbel Corran born?", "What about Wilf Garrick?", "When was Wilf Garrick born?"),
        ("Did the council meet in 2020?", "And in 2021?", "Did the council meet in 2020? In 2021?"),
        ("Did the council meet?", "And in spring?", "Did the council meet? In spring?"),
        ("Did the council agree?", "and the cable?", "Did the council agree? The cable?"),
        ("Did the council agree?", "Why?", "Did the council agree? Why?"),
        ("Who opposed the cable?", "Why?", "Who opposed the cable? Why?"),
        ("王丽是哪一年出生的？", "那李强呢？", "李强是哪一年出生的？"),
        ("王丽去了南京吗？", "为什么？", "王丽去了南京吗？为什么？"),
    ],
)
def test_what_a_short_question_leaves_out_is_in_the_last_one(before: str, question: str, resolved: str):
    assert taken(question, before)[0] == resolved


@pytest.mark.parametrize(
    ("before", "question"),
    [
        ("Who is Ishbel Corran?", "What are the main themes?"),
        ("Who is Ishbel Corran?", "Did Wilf Garrick sell his boat?"),
        ("Where is Port Sallow?", "Are there any boats?"),
        ("Where is Port Sallow?", "Is it true that the ferry sank?"),
        ("When was Ishbel Corran born?", "What about the Lapwing?"),
    ],
)
def test_what_can_stand_alone_stays_as_it_is(before: str, question: str):
    assert taken(question, before) == (question, "")


def test_a_pronoun_for_which_nothing_is_found_is_told():
    made = taken("Where do they live?", "What of zebras?")

    assert made == ("Where do they live?", "nothing found that “they” may refer to")


def test_the_first_question_is_as_it_is():
    assert rewrite_question("and who founded it?", (), INDEX) == ("and who founded it?", "")


def test_what_was_no_question_is_not_continued():
    thanks = Exchange("thanks", "")
    assert rewrite_question("What about the budget?", (thanks,), INDEX)[0] == "What about the budget?"
    asked = Exchange("When was Ishbel Corran born?", "")
    rewritten, _ = rewrite_question("And Wilf Garrick?", (asked, thanks), INDEX)
    assert rewritten == "When was Wilf Garrick born?"


def test_what_goes_on_in_a_sentence_has_no_capital():
    assert "in 2021" in taken("And in 2021?", "Tell me what happened in 2020")[0]
