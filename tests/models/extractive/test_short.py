"""Short answers by selection: a date, a number, a name; else a sentence."""

from __future__ import annotations

import pytest
from making import a_built_index

from conspectus import api
from conspectus.messages import wording
from conspectus.retrieval.base import NOTHING
from conspectus.settings import AnswerSettings, Settings
from conspectus.tasks import SHORT
from conspectus.text.question import is_short

TEXTS = (
    "Lennard Marine was founded in Brackwater in 1849 by Josiah Lennard. Josiah Lennard came from Port Sallow.",
    "The Fishermen's Association has 23 boats. Its chairman, Wilf Garrick, called it on 4 March 2021 in Port Sallow.",
    "灯塔建于1887年，用了三年。灯塔的光源是鲸油，后来改用电灯。",
)
INDEX = a_built_index(*TEXTS)
SHORTLY = Settings(answer=AnswerSettings(response=SHORT))


@pytest.mark.parametrize("method", ["bm25", "walk", "local"])
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("When was Lennard Marine founded?", "1849"),
        ("How many boats has the Fishermen's Association?", "23 boats"),
        ("On what date did Wilf Garrick call the Association?", "4 March 2021"),
        ("Who founded Lennard Marine?", "Josiah Lennard"),
        ("灯塔建于何时？", "1887年"),
        ("灯塔的光源是什么？", "灯塔的光源是鲸油，后来改用电灯。"),
    ],
)
def test_the_answer_alone_is_cited_by_the_sentence_that_holds_it(method: str, question: str, answer: str):
    said = api.ask(question, INDEX, method=method, settings=SHORTLY)

    assert said.text == f"{answer} [1]"
    (source,) = said.citations[0].sources
    assert answer in source.text
    assert source.text in TEXTS[0] + TEXTS[1] + TEXTS[2]
    assert len(source.text) < 100


def test_what_nothing_speaks_to_has_no_short_answer():
    assert api.ask("Which zebras yodel?", INDEX, method="bm25", settings=SHORTLY).text == NOTHING


def test_a_question_about_the_whole_has_no_short_answer_and_gets_a_long_one():
    assert "### " in api.ask("What are the main themes?", INDEX, method="global", settings=SHORTLY).text


@pytest.mark.parametrize("response", ["short answer", "A short answer", "at most three words", "简短回答"])
def test_many_ways_to_ask_for_it_are_understood(response: str):
    assert is_short(response)


@pytest.mark.parametrize("response", ["multiple paragraphs", "a list of 5 points", "a short report"])
def test_other_lengths_are_not(response: str):
    assert not is_short(response)


def test_who_somebody_is_is_answered_by_a_sentence_about_them_and_never_by_another_name():
    built = a_built_index(
        "Rosamund Pellow met Dorothea Quill in Hollin. Dorothea Quill was the keeper of the Hollin Light.",
        "Wilf Garrick, a clerk of Hollin, wrote to Rosamund Pellow.",
    )
    for name in ("Dorothea Quill", "Wilf Garrick"):
        answer = built.ask(f"Who is {name}?", settings={"answer.response": SHORT})
        assert name in answer.text
        assert wording("en").assembled in answer.notices
    assert built.ask("Who met Dorothea Quill?", settings={"answer.response": SHORT}).text.startswith(
        "Rosamund Pellow"
    )


@pytest.mark.parametrize(
    ("question", "wrong", "right"),
    [
        ("What is the limit of Hollin?", "Wilf Garrick", "The limit of Hollin is €140"),
        ("Who is the owner of the Hollin Light?", "Wilf Garrick", "The owner, Sallow Trust"),
        (
            "What does a lantern of Pellow Works cost?",
            "Sallow Trust",
            "A lantern of Pellow Works costs €17",
        ),
        ("How much does Brack Glass ask for the lens?", "for", "€84,000"),
        ("How many lamps broke?", "7 old", "14"),
    ],
)
def test_a_name_or_number_that_merely_stands_near_is_no_answer(question: str, wrong: str, right: str):
    built = a_built_index(
        "Wilf Garrick spoke of the Hollin Light. The owner, Sallow Trust, sold the Hollin Light.",
        "Wilf Garrick approves. The limit of Hollin is €140 and Wilf Garrick set it.",
        "A lantern of Pellow Works costs €17 and came from Sallow Trust. Brack Glass asks €84,000 for the lens.",
        "Of the Q7 old lamps 14 broke within six weeks.",
    )
    text = built.ask(question, method="walk", settings={"answer.response": SHORT}).text
    assert text.startswith(right)
    assert not text.removesuffix(" [1]").endswith(wrong)
