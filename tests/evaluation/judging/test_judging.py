"""A model as judge: its tasks, which judgements are stored, and which are requested again."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel

from conspectus.errors import BadReply, BudgetReached, NotSupported, UsageError
from conspectus.evaluation import charts, judge_answers, judge_statistics
from conspectus.evaluation.comparison import (
    ConditionAnswer,
    Question,
    answers_in,
    judgements_in,
    write_list,
)
from conspectus.evaluation.judge import EQUAL
from conspectus.tasks import Judge, Verdict


def a_folder(folder: Path, n: int = 6, texts: Mapping[str, Callable[[int], str]] | None = None) -> Path:
    """Write a comparison of `n` questions; `texts` gives the answers of a condition by question number."""
    said = texts or {"A": lambda i: f"long and {i}", "B": lambda i: f"short {i}"}
    write_list([Question(f"q{i}", f"What of {i}?") for i in range(n)], folder)
    kept = answers_in(folder)
    for i in range(n):
        for condition, text in said.items():
            kept.add(ConditionAnswer(condition, f"q{i}", text(i)))
    return folder


def longest(task: Judge) -> Verdict:
    """Judge that the longer answer wins."""
    if len(task.first) == len(task.second):
        return Verdict(0, "Alike.")
    winner = 1 if len(task.first) > len(task.second) else 2
    return Verdict(winner, f"Answer {winner} is longer than Answer {3 - winner}.")


def a_judge(said: Callable[[Judge], Any] = longest) -> ScriptedModel:
    return ScriptedModel({Judge: said})


def judged(folder: Path, model: ScriptedModel, **more: Any) -> Any:
    more.setdefault("criteria", ["diversity"])
    return judge_answers(folder, model=model, **more).value


def test_the_answer_that_the_judge_prefers_wins_wherever_it_is_shown(tmp_path: Path):
    model = a_judge()
    found = judged(a_folder(tmp_path), model).results[0]

    assert (found.first, found.second, found.questions) == ("A", "B", 6)
    assert (found.mean_first, found.wins, found.losses) == (100, 30, 0)
    assert found.z == pytest.approx(-(6**0.5))
    asked = model.all_seen(Judge)
    assert sum(task.first.startswith("long") for task in asked) == 15
    assert {task.sample for task in asked} == {1, 2, 3, 4, 5}
    assert {task.criterion.name for task in asked} == {"diversity"}


def test_a_judge_that_always_prefers_the_first_answer_prefers_no_condition(tmp_path: Path):
    texts = {name: lambda i, name=name: f"{name} {i}" for name in "ABC"}
    found = judged(a_folder(tmp_path, 25, texts), a_judge(lambda _: Verdict(1, "")), criteria=())

    assert len(found.results) == 12
    for one in found.results:
        assert one.mean_first == pytest.approx(50, abs=1)
        assert one.p > 0.05
    assert found.first_wins == 100


def test_what_is_judged_is_not_asked_again(tmp_path: Path):
    first = judged(a_folder(tmp_path), a_judge())
    again = a_judge()

    assert judged(tmp_path, again) == first
    assert again.tasks == []


def test_a_run_that_was_broken_off_goes_on(tmp_path: Path):
    calls = 0

    def until(task: Judge) -> Verdict | BudgetReached:
        nonlocal calls
        calls += 1
        return longest(task) if calls <= 7 else BudgetReached("the budget is reached")

    with pytest.raises(BudgetReached):
        judged(a_folder(tmp_path), a_judge(until))
    assert len(judgements_in(tmp_path).rows) == 7

    rest = a_judge()
    assert judged(tmp_path, rest).judgements == 30
    assert len(rest.all_seen(Judge)) == 23


def test_a_failed_judgement_is_kept_counted_and_asked_again(tmp_path: Path):
    def failing(task: Judge) -> Verdict | BadReply:
        return (
            BadReply("it is no JSON") if task.question == "What of 3?" and task.sample == 2 else longest(task)
        )

    found = judged(a_folder(tmp_path), a_judge(failing))
    assert (found.failed, found.judgements, found.missing) == (1, 29, 0)
    assert [row.error for row in judgements_in(tmp_path).rows.values() if row.error] == ["it is no JSON"]

    again = a_judge()
    assert judged(tmp_path, again).failed == 0
    assert len(again.all_seen(Judge)) == 1


def test_a_model_that_cannot_judge_ends_the_run(tmp_path: Path):
    with pytest.raises(NotSupported):
        judged(a_folder(tmp_path), a_judge(lambda _: NotSupported("no")))


def test_equal_answers_are_a_tie_that_nobody_is_asked_about(tmp_path: Path):
    model = a_judge()
    texts = {
        "A": lambda i: "same" if i < 2 else f"long and {i}",
        "B": lambda i: "same " if i < 2 else f"short {i}",
    }
    found = judged(a_folder(tmp_path, 6, texts), model)

    assert len(model.all_seen(Judge)) == 20
    assert (found.equal, found.results[0].ties) == (10, 10)
    assert found.results[0].mean_first == pytest.approx(100 * (4 + 2 / 2) / 6)
    ties = [row for row in judgements_in(tmp_path).rows.values() if row.reasoning == EQUAL]
    assert {row.question for row in ties} == {"q0", "q1"}
    assert found.decided == 20


def test_an_answer_that_changed_is_judged_anew(tmp_path: Path):
    judged(a_folder(tmp_path), a_judge())
    answers_in(tmp_path).add(ConditionAnswer("B", "q1", "much longer than the other one"))
    assert judge_statistics(tmp_path).missing == 5

    again = a_judge()
    assert judged(tmp_path, again).results[0].mean_first == pytest.approx(100 * 5 / 6)
    assert {task.question for task in again.all_seen(Judge)} == {"What of 1?"}


def test_another_judge_judges_anew_beside_the_first_and_statistics_are_of_one_judge(tmp_path: Path):
    judged(a_folder(tmp_path), a_judge())
    other = a_judge(lambda _: Verdict(0, "Alike."))
    other.name = "other"
    assert judged(tmp_path, other, sample=2).results[0].mean_first == 50

    with pytest.raises(UsageError, match="several judges judged"):
        judge_statistics(tmp_path)
    found = judge_statistics(tmp_path, judge_model="other")
    assert (found.judges, found.judgements, found.missing) == (("other",), 10, 20)
    assert judge_statistics(tmp_path, judge_model="scripted").judgements == 30  # all still there


def test_a_criterion_that_is_described_otherwise_is_judged_anew(tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text('candour = "Does it say what it cannot tell?"')
    judged(a_folder(tmp_path / "c"), a_judge(), criteria=[str(own)])
    own.write_text('candour = "Is it open about its limits?"')
    again = a_judge()
    judged(tmp_path / "c", again, criteria=[str(own)])

    assert len(again.all_seen(Judge)) == 30
    assert judge_statistics(tmp_path / "c").judgements == 30


def test_judgements_by_a_criterion_of_ones_own_stay_when_others_follow(tmp_path: Path):
    own = tmp_path / "own.toml"
    own.write_text('candour = "Does it say what it cannot tell?"')
    judged(a_folder(tmp_path / "c"), a_judge(), criteria=[str(own)])
    found = judged(tmp_path / "c", a_judge())
    (tmp_path / "c/statistics.json").unlink()

    assert list(found.criteria) == ["diversity", "candour"]
    assert found.criteria["candour"] == "Does it say what it cannot tell?"
    assert [one.wins for one in found.results] == [30, 30]
    assert judge_statistics(tmp_path / "c") == found


def test_the_folder_gets_statistics_and_win_rates_as_json_and_picture(tmp_path: Path):
    found = judged(a_folder(tmp_path), a_judge())

    assert json.loads((tmp_path / "win_rates.json").read_text()) == {
        "diversity": {"A": {"A": 50, "B": 100}, "B": {"A": 0, "B": 50}}
    }
    written = json.loads((tmp_path / "statistics.json").read_text())
    assert written == json.loads(json.dumps(found.as_json()))
    assert written["judges"] == ["scripted"]
    assert (tmp_path / "win_rates.svg").exists() == charts.can_draw()


def test_without_a_model_the_first_line_says_what_is_missing(tmp_path: Path):
    with pytest.raises(UsageError, match="judge_model"):
        judge_answers(a_folder(tmp_path))
    with pytest.raises(UsageError, match="no judgements"):
        judge_statistics(tmp_path)
    assert not (tmp_path / "replies.sqlite").exists()


def test_judgements_of_answers_that_have_changed_are_none(tmp_path: Path):
    judged(a_folder(tmp_path), a_judge())
    a_folder(tmp_path, texts={"A": lambda i: f"now {i}", "B": lambda i: f"then {i}"})

    with pytest.raises(UsageError, match="no judgements of these answers"):
        judge_statistics(tmp_path)


def test_chinese_questions_are_judged_in_chinese(tmp_path: Path):
    write_list([Question("q", "这批文档的主要主题是什么？")], tmp_path)
    for condition in "AB":
        answers_in(tmp_path).add(ConditionAnswer(condition, "q", f"主题是{condition}。"))
    model = a_judge()
    judged(tmp_path, model, replicates=1)

    task = model.seen(Judge)
    assert task.language == "zh"
    assert "视角" in task.criterion.description
