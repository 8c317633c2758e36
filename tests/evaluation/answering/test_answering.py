"""Runs over questions: they go on where they were, and a failure has no score."""

from __future__ import annotations

from pathlib import Path

import pytest

from conspectus.errors import BadReply, UsageError
from conspectus.evaluation.qa import answer_all, answers_kgqa, answers_qa
from conspectus.evaluation.qa_files import Asked
from conspectus.index import Index
from conspectus.models.scripted import ScriptedModel
from conspectus.settings import Settings
from conspectus.tasks import Draft, DraftAnswer

ASKED = [
    Asked("1", "Whose?", ("Ada Byrne",)),
    Asked("2", "Where?", ("Kell",)),
    Asked("3", "When?", ("1911",)),
]


async def test_failures_are_counted_and_never_scored(tmp_path: Path):
    model = ScriptedModel({DraftAnswer: [Draft("ada byrne"), BadReply("no JSON"), Draft("1912")]})

    (scored,) = await answer_all(ASKED, ["direct"], Index(), model, Settings(), answers_qa, tmp_path / "answers.jsonl")

    assert scored.failures == {"2": "no JSON"}
    assert scored.as_row() | {"ms": 0} == {"EM": 0.5, "F1": 0.5, "queries": 3, "failed": 1, "ms": 0}


async def test_a_run_goes_on_from_the_answers_that_are_kept_and_asks_failures_again(tmp_path: Path):
    kept = tmp_path / "answers.jsonl"
    first = ScriptedModel({DraftAnswer: [Draft("Ada Byrne"), BadReply("no JSON"), Draft("1911")]})
    await answer_all(ASKED, ["direct"], Index(), first, Settings(), answers_qa, kept)
    kept.write_bytes(kept.read_bytes() + b'{"method": "direct", "id"')  # a run that was killed
    second = ScriptedModel({DraftAnswer: [Draft("Kell")]})

    (scored,) = await answer_all(ASKED, ["direct"], Index(), second, Settings(), answers_qa, kept)

    assert [task.question for task in second.all_seen(DraftAnswer)] == ["Where?"]
    assert (scored.means["EM"], scored.failed) == (1.0, 0)
    third = ScriptedModel({})
    (again,) = await answer_all(ASKED, ["direct"], Index(), third, Settings(), answers_qa, kept)
    assert again.means == scored.means


async def test_answers_of_other_settings_are_not_taken_for_these(tmp_path: Path):
    kept = tmp_path / "answers.jsonl"
    for settings in (Settings(), Settings(model="openai/gpt-4.1-mini")):
        model = ScriptedModel({DraftAnswer: lambda _: Draft("x")})
        await answer_all(ASKED, ["direct"], Index(), model, settings, answers_qa, kept)
        assert len(model.tasks) == 3


async def test_a_method_that_is_not_known_is_refused():
    with pytest.raises(UsageError, match="no method x"):
        await answer_all(ASKED, ["x"], Index(), ScriptedModel({}), Settings(), answers_qa)


def test_answers_over_a_graph_are_held_against_all_that_are_right():
    asked = Asked("1", "who starred", ("Ann Lee", "Bob"))

    assert answers_kgqa(("Bob",), asked) == {"Hits@1": 1, "EM": 1, "all": 0}
    assert answers_kgqa(("bob", "Ann Lee"), asked) == {"Hits@1": 0, "EM": 1, "all": 1}
    assert answers_kgqa((), asked) == {"Hits@1": 0, "EM": 0, "all": 0}
    assert answers_qa(("yes",), Asked("2", "Is it?", ("yes",))) == {"accuracy": 1}
