"""Replies to the tasks of reasoning: what is dumped is parsed back, and what cannot be used is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import BadReply
from conspectus.models.chat.model import SAMPLING
from conspectus.models.chat.parsing import dump, parse
from conspectus.rows import Chunk, Trail
from conspectus.tasks import (
    ChooseRelations,
    Draft,
    DraftAnswer,
    Edge,
    Examined,
    ExamineEvidence,
    ExtractTriples,
    FoundTriple,
    NameEntities,
    Topic,
)

CHUNK = Chunk("c", 0, "d", 0, 1, "x", 1)
NAME = st.text("abc é中", min_size=1, max_size=8).map(lambda s: " ".join(s.split())).filter(bool)
NAMES = st.lists(NAME, max_size=4, unique=True).map(tuple)
TOPICS = (Topic(Trail("Ada"), (Edge("owns"), Edge("met"))), Topic(Trail("Bo"), (Edge("owns"),)))


@given(NAMES, st.lists(st.builds(FoundTriple, NAME, NAME, NAME), max_size=4).map(tuple), NAME)
def test_what_is_dumped_is_parsed_back(names: tuple[str, ...], triples: tuple[FoundTriple, ...], one: str):
    for task, reply in (
        (NameEntities("x"), names),
        (ExtractTriples(CHUNK, ()), triples),
        (ExamineEvidence("Q", ()), Examined(names) if names else Examined((), one)),
        (DraftAnswer("Q"), Draft(one, one)),
        (ChooseRelations("Q", TOPICS, 2), ((1, 0), (0,))),
    ):
        assert parse(task, dump(task, reply)).reply == reply  # type: ignore[arg-type]


def test_choices_of_an_entity_that_is_left_out_are_none():
    task = ChooseRelations("Q", TOPICS, 2)
    reply = {"choices": [{"entity": 2, "relations": [1, "x", 1]}, {"entity": "Ada", "relations": [1]}]}

    parsed = parse(task, json.dumps(reply))

    assert parsed.reply == ((), (0,))
    assert len(parsed.dropped) == 1


def test_complete_facts_without_an_answer_and_an_empty_draft_are_no_replies():
    for task, reply in (
        (ExamineEvidence("Q", ()), {"reasoning": "", "complete": True, "answers": [], "clue": ""}),
        (DraftAnswer("Q"), {"reasoning": "Hm.", "answer": " "}),
    ):
        with pytest.raises(BadReply):
            parse(task, json.dumps(reply))  # type: ignore[arg-type]


def test_samples_are_drawn_at_a_temperature_above_zero():
    assert SAMPLING > 0
