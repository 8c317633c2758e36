"""Quotations for a multi-hop question follow the chain of passages from the entity that it names."""

from __future__ import annotations

import numpy as np
import pytest
from making import a_document

import conspectus
from conspectus import sentence_graph
from conspectus.indexing.pipeline import index_passages
from conspectus.settings import Settings

FILMS = {
    "The Glass Orchard": "The Glass Orchard is a 1961 drama film directed by Edla Marrow. It was brief.",
    "Edla Marrow": "Edla Marrow painted. She left school early. She fell ill in Tarn on 3 May 1980.",
    "Stone Harvest": "Stone Harvest is a 1958 comedy film directed by Paul Ender.",
    "Paul Ender": "Paul Ender was a director and actor. He died in Quenda.",
    "The birthday film": "The birthday film is a film about where a director of a film died and was born.",
    "Cows": "Cows graze on meadows. Cows give milk.",
}
INDEX = index_passages(
    [a_document(text, number, path=title, title=title) for number, (title, text) in enumerate(FILMS.items())],
    Settings(),
)


def test_the_end_of_a_chain_is_quoted_though_it_shares_no_word_with_the_question():
    text = conspectus.ask("Where did the director of The Glass Orchard pass away?", INDEX, method="walk").text

    assert "fell ill in Tarn" in text
    assert text.index("directed by Edla Marrow") < text.index("fell ill in Tarn")


def test_a_name_that_no_passage_has_is_followed_nowhere():
    text = conspectus.ask("Where did the director of Zorblatt Vrine die?", INDEX, method="walk").text

    assert "Quenda" not in text


TOWNS = ("Tarn", "Quenda", "Orrin", "Hollin", "Skarne", "Lowmoor")


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "Which drink is the standard remedy for Gatefever?",
            "The standard remedy for Gatefever is a drink of lime.",
        ),
        # the wording is typical of an answer: "triggered by"
        (
            "What is the usual cause of Gatefever?",
            "Gatefever comes from wet hay, since its spores are triggered by warmth.",
        ),
    ],
)
def test_a_sentence_that_answers_is_quoted_without_a_chain(
    question: str, answer: str, monkeypatch: pytest.MonkeyPatch
):
    others = [f"Gatefever was seen in {town}. Gatefever left {town} in May." for town in TOWNS]
    index = index_passages([a_document(text, n) for n, text in enumerate([*others, answer])], Settings())

    # the walk gives the answering sentence the lowest score
    monkeypatch.setattr(sentence_graph, "walk_among", lambda _, sentences, index: np.arange(len(sentences)))
    text = conspectus.ask(question, index, method="bm25").text

    assert answer in next(line for line in text.splitlines() if line.startswith("- "))
