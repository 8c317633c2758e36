"""Grounding: which sentences of answers are supported by the sources that they cite."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel

from conspectus.errors import BadReply, ServerDown
from conspectus.evaluation import check_grounding
from conspectus.evaluation.comparison import CitedText, ConditionAnswer, Question, answers_in, write_list
from conspectus.evaluation.grounding import Grounding, GroundingCheck
from conspectus.tasks import Entails

CITED = (CitedText(1, "Mill", "Ada bought the mill."), CitedText(2, "Flood", "The Tarn flooded Hollin."))
ANSWER = (
    "## Of Hollin\n\n- Ada bought the mill. [1]\n- The Tarn burned. "
    "[2]\n- Both are so. [1][2]\n- Nobody knows why."
)


def a_folder(folder: Path, *texts: str) -> Path:
    write_list([Question(f"q{n}", f"What of {n}?") for n in range(len(texts))], folder)
    kept = answers_in(folder)
    for n, text in enumerate(texts):
        kept.add(ConditionAnswer("A", f"q{n}", text, CITED))
    return folder


def inside(task: Entails) -> bool:
    return task.statement in task.text


def checked(
    folder: Path, said: Callable[[Entails], Any] = inside, **more: Any
) -> tuple[Grounding, ScriptedModel]:
    model = ScriptedModel({Entails: said})
    return check_grounding(folder, model=model, **more).value, model


def test_a_sentence_is_held_against_all_that_it_cites_together(tmp_path: Path) -> None:
    found, model = checked(a_folder(tmp_path, ANSWER))

    asked = {task.statement: task.text for task in model.all_seen(Entails)}
    assert asked == {
        "Ada bought the mill.": "Ada bought the mill.",
        "The Tarn burned.": "The Tarn flooded Hollin.",
        "Both are so.": "Ada bought the mill.\n\nThe Tarn flooded Hollin.",
    }
    (one,) = found.conditions
    assert (one.sentences, one.uncited, one.answers) == (4, 1, 1)
    assert one.supported is not None
    assert one.of_cited is not None
    assert (one.supported.mean, one.of_cited.mean) == (pytest.approx(1 / 4), pytest.approx(1 / 3))
    assert [s.supported for s in GroundingCheck.rows_in(tmp_path).rows["A", "q0"].sentences] == [
        True,
        False,
        False,
        False,
    ]


def test_shares_are_means_over_answers_and_one_that_states_nothing_has_none(tmp_path: Path) -> None:
    found, _ = checked(a_folder(tmp_path, "Ada bought the mill. [1]", "So. [1] And so. [2]", "## Nothing"))

    (one,) = found.conditions
    assert (one.answers, one.empty) == (3, 1)
    assert one.supported is not None
    assert one.supported.mean == 0.5


def test_what_failed_is_counted_and_checked_again_and_the_rest_is_not(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, "Ada bought the mill. [1]", "Bees swarm. [1]")

    failing = ScriptedModel({Entails: lambda task: BadReply("perhaps") if "Bees" in task.statement else True})

    assert check_grounding(folder, model=failing).errors == {"perhaps": 1}
    again, model = checked(folder)
    assert again.conditions[0].failed == 0
    assert [task.statement for task in model.all_seen(Entails)] == ["Bees swarm."]
    assert checked(folder)[1].tasks == []


def test_answers_are_checked_again_when_they_change(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, "Bees swarm. [1]")
    checked(folder)
    answers_in(folder).add(ConditionAnswer("A", "q0", "Bees hum. [1]", CITED))

    assert [task.statement for task in checked(folder)[1].all_seen(Entails)] == ["Bees hum."]


def test_a_server_that_is_gone_ends_it_and_keeps_what_is_there(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, *(f"Bees swarm {n}. [1]" for n in range(4)))
    with pytest.raises(ServerDown):
        checked(folder, lambda task: ServerDown("gone") if "2" in task.statement else True)

    assert len(GroundingCheck.rows_in(folder).rows) == 2


def test_without_a_model_words_decide(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, "Ada bought the mill. [1] Ruben Vale opened the bridge. [2]")

    (one,) = check_grounding(folder).value.conditions

    assert one.supported is not None
    assert one.supported.mean == 0.5


def test_figures_go_into_json(tmp_path: Path) -> None:
    told = json.loads(json.dumps(checked(a_folder(tmp_path, ANSWER))[0].as_json()))

    assert told["conditions"][0]["supported"] == {"mean": 0.25, "low": 0.25, "high": 0.25}
