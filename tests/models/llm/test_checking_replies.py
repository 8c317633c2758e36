"""Replies to checking tasks: valid ones are parsed; unusable parts are left out, or the reply is refused."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import BadReply
from conspectus.models.llm.prompts import Prompts
from conspectus.models.llm.replies import parse
from conspectus.tasks import ClearSentences, Entails, FactualClaims, Numbered, SelectFactual, Task

TEXT = st.text("abc é中", min_size=1, max_size=8).map(lambda s: " ".join(s.split())).filter(bool)
NUMBERED = st.lists(st.builds(Numbered, st.integers(1, 9), TEXT), max_size=4).map(tuple)


@given(st.lists(st.integers(1, 9), max_size=4, unique=True).map(tuple), NUMBERED, st.booleans())
def test_what_is_written_is_read(numbers: tuple[int, ...], texts: tuple[Numbered, ...], follows: bool):
    rows = [asdict(text) for text in texts]
    cases: list[tuple[Task[Any], str, Any]] = [
        (SelectFactual("Q", ()), json.dumps({"sentences": numbers}), numbers),
        (ClearSentences("Q", (), ()), json.dumps({"sentences": rows}), texts),
        (FactualClaims("Q", ()), json.dumps({"claims": rows}), texts),
        (Entails("A.", "B."), "yes" if follows else "no", follows),
    ]
    for task, written, reply in cases:
        assert parse(task, written).reply == reply


def test_what_is_no_number_of_a_sentence_is_left_out_and_told():
    chosen = parse(SelectFactual("Q", ()), '{"sentences": [2, "x", 0, true, 2, 1]}')
    claims = parse(
        FactualClaims("Q", ()), json.dumps({"claims": [{"number": "one", "text": "A."}, {"number": 2}]})
    )

    assert chosen.reply == (2, 1)
    assert len(chosen.notes) == 3
    assert claims.reply == ()
    assert len(claims.notes) == 2


@pytest.mark.parametrize(
    ("said", "follows"), [("Yes.", True), ("no", False), ("是", True), ("否，文本没有提到。", False)]
)
def test_a_statement_follows_or_does_not(said: str, follows: bool):
    assert parse(Entails("A.", "B."), said).reply is follows


def test_neither_yes_nor_no_is_no_reply():
    with pytest.raises(BadReply, match="neither yes nor no"):
        parse(Entails("A.", "B."), "Partly.")


def test_statements_of_one_text_share_the_beginning_of_their_prompt():
    one, other = (
        Prompts().render(Entails("Bees swarm.", statement)) for statement in ("Owls hoot.", "Trams run.")
    )

    assert one[0] == other[0]
    assert one[1].content.partition("Owls")[0] == other[1].content.partition("Trams")[0]
    assert "Bees swarm." in one[1].content.partition("Owls")[0]
