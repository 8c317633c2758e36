"""Replies to reasoning tasks: valid ones are parsed, unusable ones are refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import BadReply
from conspectus.models.llm.model import SAMPLING
from conspectus.models.llm.replies import parse
from conspectus.rows import Chunk, ReasoningPath
from conspectus.tasks import (
    ChooseRelations,
    Draft,
    DraftAnswer,
    Edge,
    Examined,
    ExamineEvidence,
    ExtractTriples,
    FollowUp,
    FoundTriple,
    NameEntities,
    PrimeAnswer,
    Probe,
    PursueFollowUp,
    StandaloneQuestion,
    Task,
    Topic,
)
from conspectus.tasks.base import Context

CHUNK = Chunk("c", 0, "d", 0, 1, "x", 1)
NAME = st.text("abc é中", min_size=1, max_size=8).map(lambda s: " ".join(s.split())).filter(bool)
NAMES = st.lists(NAME, max_size=4, unique=True).map(tuple)
TOPICS = (
    Topic(ReasoningPath("Ada"), (Edge("owns"), Edge("met"))),
    Topic(ReasoningPath("Bo"), (Edge("owns"),)),
)


@given(NAMES, st.lists(st.builds(FoundTriple, NAME, NAME, NAME), max_size=4).map(tuple), NAME)
def test_what_is_written_is_read(names: tuple[str, ...], triples: tuple[FoundTriple, ...], one: str):
    choices = [{"entity": 1, "relations": [2, 1]}, {"entity": 2, "relations": [1]}]
    cases: list[tuple[Task[Any], Any, Any]] = [
        (NameEntities("x"), {"entities": names}, names),
        (ExtractTriples(CHUNK, ()), {"triples": [asdict(triple) for triple in triples]}, triples),
        (
            ExamineEvidence("Q", ()),
            {"reasoning": "", "complete": bool(names), "answers": names, "clues": [{"path": 2, "clue": one}]},
            Examined(names) if names else Examined((), ("", one)),
        ),
        (DraftAnswer("Q"), {"reasoning": one, "answer": one}, Draft(one, one)),
        (ChooseRelations("Q", TOPICS, 2), {"choices": choices}, ((1, 0), (0,))),
    ]
    for task, written, reply in cases:
        assert parse(task, json.dumps(written)).reply == reply


def test_choices_of_an_entity_that_is_left_out_are_none():
    task = ChooseRelations("Q", TOPICS, 2)
    reply = {"choices": [{"entity": 2, "relations": [1, "x", 1]}, {"entity": "Ada", "relations": [1]}]}

    parsed = parse(task, json.dumps(reply))

    assert parsed.reply == ((), (0,))
    assert len(parsed.notes) == 2  # a relation of the first, and the second


def test_complete_facts_without_an_answer_and_an_empty_draft_are_no_replies():
    for task, reply in (
        (ExamineEvidence("Q", ()), {"reasoning": "", "complete": True, "answers": [], "clue": ""}),
        (DraftAnswer("Q"), {"reasoning": "Hm.", "answer": " "}),
    ):
        with pytest.raises(BadReply):
            parse(task, json.dumps(reply))  # type: ignore[arg-type]


def test_samples_are_drawn_at_a_temperature_above_zero():
    assert SAMPLING > 0


SCORE = st.integers(0, 100)
FOLLOW_UPS = st.lists(st.builds(FollowUp, NAME, SCORE), max_size=3).map(tuple)


@given(NAME, SCORE, FOLLOW_UPS)
def test_a_step_of_drift_is_parsed_back(text: str, score: int, follow_ups: tuple[FollowUp, ...]):
    written = json.dumps({"answer": text, "score": score, "follow_ups": [asdict(f) for f in follow_ups]})

    for task in (PrimeAnswer("Q", Context(), 3), PursueFollowUp("Q", "F", Context(), 3)):
        assert parse(task, written).reply == Probe(text, score, follow_ups)


def test_an_empty_answer_helps_nothing_and_a_follow_up_without_a_question_is_left_out():
    said = {
        "answer": " ",
        "score": 80,
        "follow_ups": [{"question": "", "score": 5}, {"question": "Who?", "score": 5}],
    }

    parsed = parse(PrimeAnswer("Q", Context(), 3), json.dumps(said))

    assert parsed.reply == Probe("", 0, (FollowUp("Who?", 5),))
    assert len(parsed.notes) == 1


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        ("Who founded it?", "Who founded it?"),
        ('Standalone question: "Who founded\nit?"', "Who founded it?"),
        ("问题：谁创立了它？", "谁创立了它？"),
    ],
)
def test_a_rewritten_question_is_one_line_without_label_and_marks(reply: str, question: str):
    assert parse(StandaloneQuestion("Q", ()), reply).reply == question
