"""Answers of conditions: all are stored, none is made twice, failures are reported and retried."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents
from making import a_built_index, an_index
from scripted import ScriptedModel

from conspectus import evaluation
from conspectus.errors import BadReply, BudgetReached, CallFailed, UsageError
from conspectus.evaluation.comparison import ConditionAnswer, Question, answers_in
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.base import NOTHING
from conspectus.tasks import AnswerFromContext, MapAnswer, PartialAnswer, ReduceAnswer

QUESTIONS = [Question(str(n), f"Who met {name}?") for n, name in enumerate(("Ada", "Bo", "Cy"))]


def small() -> Index:
    return an_index(
        "Ada met Bo.", "Bo met Cy.", "Cy met Ada.", entities=["Ada", "Bo", "Cy"], reports=["Meetings"]
    )


def a_model(said: Any = None) -> ScriptedModel:
    """Return a model that repeats the question; `said` replaces its replies to AnswerFromContext."""
    return ScriptedModel(
        {
            MapAnswer: lambda task: PartialAnswer(f"{task.question} [Data: Reports (0)]", 50),
            ReduceAnswer: lambda task: task.answers[0].text,
            AnswerFromContext: said or (lambda task: f"{task.question} [Data: Sources (0)]"),
        }
    )


def run(folder: Path, conditions: Sequence[str], model: Model | None = None, **more: Any) -> Any:
    return evaluation.answer_questions(
        more.pop("questions", QUESTIONS), more.pop("index", small()), folder,
        conditions=conditions, model=model, settings=more.pop("settings", {}), **more,
    )  # fmt: skip


def kept(folder: Path) -> dict[tuple[str, str], ConditionAnswer]:
    return {(row.condition, row.question): row for row in answers_in(folder).rows.values()}


def test_every_question_is_answered_by_every_condition(tmp_path: Path):
    answered = run(tmp_path, ["C0", "TS", "bm25"], a_model())

    rows = kept(tmp_path)
    assert len(rows) == 9
    assert rows["C0", "1"].text.startswith("Who met Bo?")
    assert (rows["C0", "1"].units, rows["TS", "1"].units, rows["bm25", "1"].units) == (1, 3, 3)
    assert rows["TS", "1"].context_tokens == sum(chunk.n_tokens for chunk in small().chunks)
    assert (rows["C0", "1"].calls, rows["bm25", "1"].calls) == (2, 1)
    (cited,) = rows["bm25", "0"].cited
    assert (cited.marker, cited.title, cited.text) == (1, "0.txt", "Ada met Bo.")
    assert [one.condition for one in answered.value.conditions] == ["C0", "TS", "bm25"]
    assert [(one.answers, one.failed, one.calls) for one in answered.value.conditions] == [
        (3, 0, 6),
        (3, 0, 6),
        (3, 0, 3),
    ]
    assert [row.condition for row in answered.value.table2] == ["C0", "TS"]
    assert [q.text for q in evaluation.list_questions(tmp_path, tmp_path).questions] == [
        q.text for q in QUESTIONS
    ]


def test_a_run_goes_on_from_what_is_kept(tmp_path: Path):
    run(tmp_path, ["bm25"], a_model(), questions=QUESTIONS[:2])
    file = tmp_path / "answers.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(lines[0] + lines[1][:40])  # as if killed while writing
    model = a_model()

    run(tmp_path, ["bm25", "C0"], model)

    assert [task.question for task in model.all_seen(AnswerFromContext)] == ["Who met Bo?", "Who met Cy?"]
    assert len(model.all_seen(MapAnswer)) == 3
    again = ScriptedModel({})
    assert run(tmp_path, ["bm25", "C0"], again).value.conditions[0].answers == 3
    assert not again.tasks


def test_failures_are_kept_as_failures_and_asked_again(tmp_path: Path):
    def said(task: AnswerFromContext) -> str:
        if "Bo" in task.question:
            raise BadReply("no JSON")
        return "Ada."

    answered = run(tmp_path, ["bm25"], a_model(said))

    assert kept(tmp_path)["bm25", "1"].error == "no JSON"
    assert (answered.value.conditions[0].answers, answered.value.conditions[0].failed) == (2, 1)
    model = a_model()
    answered = run(tmp_path, ["bm25"], model)
    assert [task.question for task in model.all_seen(AnswerFromContext)] == ["Who met Bo?"]
    assert (answered.value.conditions[0].answers, answered.value.conditions[0].failed) == (3, 0)


def test_where_a_model_is_of_no_more_use_the_run_ends_and_what_there_is_stays(tmp_path: Path):
    replies = iter(["Ada.", BudgetReached("enough")])
    model = a_model(lambda _: next(replies))

    with pytest.raises(BudgetReached):
        run(tmp_path, ["bm25"], model, settings={"llm.concurrency": 1})

    assert [row.text for row in kept(tmp_path).values()] == ["Ada."]
    assert len(model.tasks) == 2


def test_answers_of_another_model_or_other_settings_are_made_anew(tmp_path: Path):
    run(tmp_path, ["bm25"], a_model())
    model = a_model()

    run(tmp_path, ["bm25"], model, settings={"answer.response": "one line"})

    assert len(model.tasks) == 3
    assert len(kept(tmp_path)) == 3


def test_answers_to_other_questions_that_were_made_with_something_else_are_told(tmp_path: Path):
    run(tmp_path, ["bm25"], a_model())

    answered = run(
        tmp_path, ["bm25"], a_model(), questions=QUESTIONS[:1], settings={"answer.response": "one line"}
    )

    assert answered.notices[0].startswith("2 answers of bm25 to other questions were made with another")


def test_a_sample_is_drawn_by_a_seed_and_a_larger_one_goes_on_from_it(tmp_path: Path):
    questions = [Question(str(n), f"Who met Ada at {n}?") for n in range(20)]
    run(tmp_path, ["bm25"], a_model(), questions=questions, sample=5)
    first = {question for _, question in kept(tmp_path)}
    model = a_model()

    run(tmp_path, ["bm25"], model, questions=questions, sample=8)

    assert len(first) == 5
    assert len(model.tasks) == 3
    assert len(evaluation.list_questions(tmp_path, tmp_path).questions) == 20


def test_without_a_language_model_everything_is_answered_too_and_the_same_each_time(tmp_path: Path):
    index = a_built_index(*(document["text"] for document in documents()))
    questions = [Question("1", "What did Ada Byrne do?"), Question("2", "Which matters are there in all?")]
    files: list[list[tuple[str, str, str]]] = []
    for name in ("one", "two"):
        answered = run(
            tmp_path / name, ["C0", "TS", "bm25", "local", "walk", "auto"], index=index, questions=questions
        )
        files.append([(row.condition, row.question, row.text) for row in kept(tmp_path / name).values()])
        assert all(one.calls == one.failed == 0 for one in answered.value.conditions)
    assert files[0] == files[1]
    assert any(text != NOTHING for _, _, text in files[0])


def test_conditions_that_are_not_named_are_the_papers_as_far_as_can_be(tmp_path: Path):
    answered = run(tmp_path, [], a_model())

    assert [one.condition for one in answered.value.conditions] == ["C0", "TS"]
    assert [line.split(":")[0] for line in answered.notices] == [
        f"left out {name}" for name in ("C1", "C2", "C3", "SS")
    ]


def test_nothing_is_asked_where_one_of_the_conditions_cannot_be(tmp_path: Path):
    model = a_model()

    with pytest.raises(UsageError, match="C7"):
        run(tmp_path, ["C0", "C7"], model)

    assert not model.tasks
    assert not (tmp_path / "answers.jsonl").exists()


def test_a_failure_of_every_window_is_a_failure_of_the_answer(tmp_path: Path):
    model = ScriptedModel({MapAnswer: lambda task: CallFailed("the server is ill")})

    answered = run(tmp_path, ["C0"], model)

    assert answered.value.conditions[0].failed == 3
