"""Conversations: follow-up questions are understood from the earlier questions and answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from llm_corpus import documents, settings
from making import a_built_index
from scripted import ScriptedModel
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus.conversation import REMEMBERED, Conversation
from conspectus.errors import UsageError
from conspectus.tasks import AnswerFromContext, Exchange, StandaloneQuestion

TEXTS = (
    "Orran Mill was founded by Ada Brook in 1901. Orran Mill stands in Hollin.",
    "Tarn Works was founded by Ruben Vale in 1850. Ruben Vale kept Tarn Works until the flood.",
)
INDEX = a_built_index(*TEXTS)


def test_an_answer_shows_the_question_as_it_was_taken_and_says_why():
    talk = Conversation(INDEX)
    talk.ask("What is Tarn Works?")
    answer = talk.ask("and who founded it?")

    assert answer.question == "Who founded Tarn Works?"
    assert answer.why.startswith("taken as “Who founded Tarn Works?” (“it” means Tarn Works); ")
    assert "Ruben Vale" in answer.text
    assert [said.question for said in talk.turns] == ["What is Tarn Works?", "and who founded it?"]


def test_a_follow_up_goes_on_from_the_question_as_it_was_taken():
    talk = Conversation(INDEX)
    for question in ("What is Tarn Works?", "Who founded it?"):
        talk.ask(question)

    assert talk.ask("And when was it founded?").question == "When was Tarn Works founded?"


def test_a_conversation_that_begins_anew_knows_nothing_of_before():
    talk = Conversation(INDEX)
    talk.ask("What is Tarn Works?")
    talk.forget()

    assert talk.ask("Who founded it?").question == "Who founded it?"


async def test_a_language_model_rewrites_what_is_not_the_first_question():
    model = ScriptedModel(
        {
            AnswerFromContext: lambda _: "Ruben Vale [Data: Sources (1)].",
            StandaloneQuestion: ["Who founded Tarn Works?"],
        }
    )
    talk = Conversation(INDEX, method="bm25", model=model)
    await talk.aask("Tarn Works?")
    answer = await talk.aask("and who founded it?")

    task = model.seen(StandaloneQuestion)
    assert task.exchanges == (Exchange("Tarn Works?", "Ruben Vale."),)
    assert task.question == "and who founded it?"
    assert answer.question == "Who founded Tarn Works?"
    assert answer.why == "taken as “Who founded Tarn Works?”"


async def test_only_the_latest_exchanges_are_read():
    model = ScriptedModel({AnswerFromContext: lambda _: "A.", StandaloneQuestion: lambda task: task.question})
    talk = Conversation(INDEX, method="bm25", model=model)
    for n in range(REMEMBERED + 3):
        await talk.aask(f"Tarn Works {n}?")

    exchanges = model.all_seen(StandaloneQuestion)[-1].exchanges
    assert [e.question for e in exchanges] == [f"Tarn Works {n}?" for n in range(2, REMEMBERED + 2)]


def test_a_conversation_is_kept_in_a_file_and_gone_on_with(tmp_path: Path):
    file = tmp_path / "talk.jsonl"
    Conversation(INDEX, file=file).ask("What is Tarn Works?")
    answer = Conversation(INDEX, file=file).ask("Who founded it?")

    assert answer.question == "Who founded Tarn Works?"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert [row["resolved"] for row in rows] == ["What is Tarn Works?", "Who founded Tarn Works?"]
    again = Conversation(INDEX, file=file)
    again.forget()
    assert file.read_text() == ""


@pytest.mark.parametrize("content", ["hello\n", '{"question": 1}\n', "[1]\n"])
def test_a_file_that_is_no_conversation_is_left_alone_and_named(tmp_path: Path, content: str):
    file = tmp_path / "talk.jsonl"
    file.write_text(content)

    with pytest.raises(UsageError, match=r"talk\.jsonl, line 1"):
        Conversation(INDEX, file=file)
    assert file.read_text() == content


def test_an_empty_question_is_refused_and_not_kept():
    talk = Conversation(INDEX)
    with pytest.raises(UsageError):
        talk.ask("  ")
    assert talk.turns == []


# Over real HTTP


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedServer]:
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        yield server


def test_both_calls_of_a_follow_up_are_in_its_usage(server: SimulatedServer, tmp_path: Path):
    index = conspectus.build(documents=documents(), folder=tmp_path, settings=settings(server.url)).index
    talk = conspectus.Conversation(index, method="local", settings=settings(server.url))

    first = talk.ask("Who is Ada Byrne?")
    second = talk.ask("Who bought land from her? Did she sell it?")

    assert (first.usage.calls, second.usage.calls) == (1, 2)
    assert "Ada Byrne" in second.question
    assert second.citations
