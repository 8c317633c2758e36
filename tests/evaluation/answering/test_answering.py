"""Runs over questions: they resume where they stopped, and a failure has no score."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from llm_corpus import documents
from llm_corpus import settings as by_model
from scripted import ScriptedModel
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus.errors import BadReply, UsageError
from conspectus.evaluation import evaluate_answers
from conspectus.evaluation.qa import measures
from conspectus.evaluation.statistics import Measured
from conspectus.index import Index
from conspectus.indexing.estimate import Estimate
from conspectus.settings import Settings
from conspectus.tasks import Draft, DraftAnswer

ASKED = {"Whose?": "Ada Byrne", "Where?": "Kell", "When?": "1911"}


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.jsonl"
    rows = [
        {"_id": str(n), "text": text, "answers": [answer]}
        for n, (text, answer) in enumerate(ASKED.items(), 1)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def scored(questions: Path, model: ScriptedModel, settings: Settings | None = None) -> Measured:
    answers = questions.with_name("answers.jsonl")
    (row,) = evaluate_answers(
        questions, Index(), ["direct"], answers=answers, settings=settings or Settings(), model=model
    )
    return row


def test_failures_are_counted_and_never_scored(questions: Path):
    model = ScriptedModel({DraftAnswer: [Draft("ada byrne"), BadReply("no JSON"), Draft("1912")]})

    row = scored(questions, model)

    assert row.failures == {"2": "no JSON"}
    assert row.means == {"EM": 0.5, "F1": 0.5, "Hits@1": 0, "all": 0.5}
    assert (row.as_row()["queries"], row.as_row()["failed"]) == (3, 1)


def test_a_run_goes_on_from_the_answers_that_are_saved_and_asks_failures_again(questions: Path):
    scored(questions, ScriptedModel({DraftAnswer: [Draft("Ada Byrne"), BadReply("no JSON"), Draft("1911")]}))
    saved = questions.with_name("answers.jsonl")
    saved.write_bytes(saved.read_bytes() + b'{"method": "direct", "id"')  # as a killed run leaves it
    second = ScriptedModel({DraftAnswer: [Draft("Kell")]})

    row = scored(questions, second)

    assert [task.question for task in second.all_seen(DraftAnswer)] == ["Where?"]
    assert (row.means["EM"], row.failures) == (1.0, {})
    assert scored(questions, ScriptedModel({})).means == row.means


def test_answers_of_other_settings_are_not_taken_for_these(questions: Path):
    for settings in (Settings(), Settings(model="openai/gpt-4.1-mini")):
        model = ScriptedModel({DraftAnswer: lambda _: Draft("x")})
        scored(questions, model, settings)
        assert len(model.tasks) == 3


@pytest.mark.parametrize("methods", [["x"], []])
def test_a_method_that_is_not_known_is_refused(questions: Path, methods: list[str]):
    with pytest.raises(UsageError, match="no method"):
        evaluate_answers(questions, Index(), methods)


def test_answers_over_a_graph_are_held_against_all_that_are_right():
    accepted = ("Ann Lee", "Bob")

    assert measures(("Bob",), accepted) == {"Hits@1": 1, "EM": 1, "F1": 1, "all": 0}
    assert measures(("bob", "Ann Lee"), accepted) == {"Hits@1": 0, "EM": 1, "F1": 1, "all": 1}
    assert measures((), accepted) == {"Hits@1": 0, "EM": 0, "F1": 0, "all": 0}
    assert measures(("yes",), ("yes",)) == {"accuracy": 1}


@pytest.mark.parametrize(
    ("gold", "offered"),
    [
        (["SUPPORTS", "REFUTES"], ["SUPPORTS", "REFUTES", "NOT ENOUGH INFO"]),
        (["true", "false"], ["false, true"]),
    ],
)
def test_a_set_of_claims_offers_its_labels_with_each_claim(
    tmp_path: Path, gold: list[str], offered: list[str]
):
    questions = tmp_path / "claims.jsonl"
    rows = [{"question": f"Claim {n}.", "answer": label} for n, label in enumerate(gold)]
    questions.write_text("\n".join(map(json.dumps, rows)))
    model = ScriptedModel({DraftAnswer: lambda task: Draft(gold[int(task.question[6])])})

    row = scored(questions, model)

    assert row.means == {"accuracy": 1}
    for task in model.all_seen(DraftAnswer):
        assert all(label in task.question for label in offered)


def test_questions_of_several_kinds_are_asked_as_they_are(questions: Path):
    with questions.open("a") as file:
        file.write('\n{"_id": "4", "text": "Is it?", "answers": ["yes"]}')
    model = ScriptedModel({DraftAnswer: lambda _: Draft("x")})

    scored(questions, model)

    assert [task.question for task in model.all_seen(DraftAnswer)] == [*ASKED, "Is it?"]


def test_a_model_is_asked_after_the_estimate_and_for_what_it_says(tmp_path: Path):
    questions = tmp_path / "questions.csv"
    questions.write_text(
        "question,answer\nWhat did Ada Byrne buy?,Lune Mills\nWho bought Lune Mills?,Ada Byrne\n"
    )
    index = conspectus.build(folder=tmp_path / "index", documents=documents(), settings={}).index
    asked = {"methods": ["bm25", "direct"], "answers": tmp_path / "saved.jsonl"}
    seen: list[Estimate] = []

    def stop(estimate: Estimate) -> None:
        raise UsageError(f"{estimate.calls.high:.0f} calls are too many")

    with SimulatedServer(Behaviour()) as server:
        settings = by_model(server.url)
        with pytest.raises(UsageError, match="4 calls are too many"):
            evaluate_answers(questions, index, settings=settings, agree=stop, **asked)
        assert not server.counts["requests"]

        results = evaluate_answers(questions, index, settings=settings, agree=seen.append, **asked)
        evaluate_answers(questions, index, settings=settings, agree=seen.append, **asked)

    assert [row.usage.calls for row in results] == [2, 2]
    assert [row.model for row in seen[0].tasks] == ["bm25: simulated", "direct: simulated"]
    assert [estimate.calls.high for estimate in seen] == [4, 0]  # the second time all is saved
