"""Claims of answers: the tasks of each step, which results are stored or computed again, and the counts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from scripted import ScriptedModel

from conspectus.errors import BadReply, BudgetReached, UsageError
from conspectus.evaluation import extract_claims
from conspectus.evaluation.claims import CLAIMS, ClaimCheck, ClaimCounts, claims_of
from conspectus.evaluation.comparison import (
    CitedText,
    ConditionAnswer,
    Judgement,
    Question,
    answers_in,
    judgements_in,
    study_in,
    write_list,
)
from conspectus.evaluation.grounding import sentences_of
from conspectus.evaluation.pairs import criteria_of, plan
from conspectus.evaluation.run import model_names
from conspectus.settings import ModelSettings, Settings
from conspectus.tasks import ClearSentences, FactualClaims, Numbered, SelectFactual

TOPICS = (
    "Mills grind corn",
    "Owls hunt by night",
    "Trams cross town",
    "Kelp dries on racks",
    "Bells call sailors home",
)


def a_folder(folder: Path, answers: Mapping[str, Sequence[str]]) -> Path:
    """Write a comparison: the answers of each condition to questions q0, q1, …."""
    most = max(map(len, answers.values()))
    write_list([Question(f"q{n}", f"What of {n}?") for n in range(most)], folder)
    kept = answers_in(folder)
    for condition, texts in answers.items():
        for n, text in enumerate(texts):
            kept.add(ConditionAnswer(condition, f"q{n}", text, (CitedText(1, "T", "Bees swarm."),)))
    return folder


def numbers(n: int) -> str:
    """Return an answer of `n` sentences about different things."""
    return " ".join(f"{TOPICS[i % 5]} number{i}. [1]" for i in range(n))


def every_step(**instead: Any) -> ScriptedModel:
    """Return a model that treats every sentence as factual, clear and one claim."""
    script: dict[Any, Any] = {
        SelectFactual: lambda task: tuple(range(1, len(task.sentences) + 1)),
        ClearSentences: lambda task: tuple(Numbered(n, task.sentences[n - 1]) for n in task.chosen),
        FactualClaims: lambda task: tuple(Numbered(n, text) for n, text in enumerate(task.sentences, 1)),
    }
    names = {kind.__name__: kind for kind in script}
    return ScriptedModel(script | {names[name]: said for name, said in instead.items()})


def counted(folder: Path, model: ScriptedModel | None = None, **more: Any) -> ClaimCounts:
    return extract_claims(folder, model=model, **more).value


# One answer


async def test_each_step_is_given_what_the_one_before_it_left() -> None:
    text = "## Mills\n\nMany mills stand. Ada built two in 1840. They were sold. Vale, who bought it, paid."
    model = ScriptedModel(
        {
            SelectFactual: [(1, 3, 4, 5, 9)],  # among them a heading, and a number without a sentence
            ClearSentences: [(Numbered(3, "Ada Brook built two mills in 1840."), Numbered(7, "Nobody."))],
            FactualClaims: [
                (
                    Numbered(1, "Ada Brook built two mills."),
                    Numbered(1, "Ada Brook built mills in 1840."),
                    Numbered(1, "ada brook built two mills"),
                    Numbered(2, "Of no sentence."),
                )
            ],
        }
    )

    claims = await claims_of("Who built?", sentences_of(text), model)

    assert claims == ("Ada Brook built two mills.", "Ada Brook built mills in 1840.")
    context = (
        "# Mills",
        "Many mills stand.",
        "Ada built two in 1840.",
        "They were sold.",
        "Vale, who bought it, paid.",
    )
    assert model.seen(SelectFactual) == SelectFactual("Who built?", context)
    assert model.seen(ClearSentences) == ClearSentences("Who built?", context, (3, 4, 5))
    assert model.seen(FactualClaims) == FactualClaims("Who built?", ("Ada Brook built two mills in 1840.",))


async def test_a_step_that_leaves_nothing_ends_it() -> None:
    nothing = ScriptedModel({})
    assert await claims_of("Who?", sentences_of("## Only a heading"), nothing) == ()
    assert await claims_of("Who?", sentences_of("Opinions vary."), ScriptedModel({SelectFactual: [()]})) == ()
    unclear = ScriptedModel({SelectFactual: [(1,)], ClearSentences: [()]})
    assert await claims_of("Who?", sentences_of("He sold it to them."), unclear) == ()


async def test_chinese_answers_are_read_with_chinese_prompts() -> None:
    model = every_step()
    assert await claims_of("谁？", sentences_of("周秀兰买下了货船白鹭号。"), model) == (
        "周秀兰买下了货船白鹭号。",
    )
    assert {task.language for task in model.tasks} == {"zh"}


# A folder


def test_claims_and_clusters_are_averaged_over_the_answers_of_a_condition(tmp_path: Path) -> None:
    folder = a_folder(
        tmp_path, {"SS": [numbers(1), numbers(2)], "C0": [numbers(3), numbers(3) + " " + numbers(3)]}
    )

    found = counted(folder, every_step())

    assert [one.condition for one in found.conditions] == ["C0", "SS"]  # in the order of the paper
    assert [one.averages[CLAIMS].mean for one in found.conditions] == [
        3,
        1.5,
    ]  # duplicates count once
    assert found.conditions[0].averages["clusters at 0.5"].mean == 3
    assert found.unique == 3
    assert found.checked_by == ("scripted",)


def test_differences_are_tested_over_the_questions_and_corrected_for_all_pairs(tmp_path: Path) -> None:
    more = {"A": [numbers(4)] * 9, "B": [numbers(2)] * 8 + [numbers(5)], "C": [numbers(2)] * 8 + [numbers(5)]}
    found = counted(a_folder(tmp_path, more), every_step())

    claims = {(one.first, one.second): one for one in found.differences if one.measure == CLAIMS}
    assert claims["A", "B"].mean == pytest.approx((8 * 2 - 1) / 9)
    assert claims["A", "B"].p_holm == pytest.approx(3 * (claims["A", "B"].p or 0))
    assert claims["B", "C"].note == "all tied"
    assert len(found.differences) == 3 * 5


def test_an_answer_that_states_nothing_counts_with_no_claims(tmp_path: Path) -> None:
    found = counted(a_folder(tmp_path, {"A": ["", numbers(2)]}), every_step())

    assert found.conditions[0].answers == 2
    assert found.conditions[0].averages[CLAIMS].mean == 1


def test_without_a_model_the_sentences_that_state_something_are_the_claims(tmp_path: Path) -> None:
    text = "Ada Brook bought the Orran Mill in 1901. Mills are fine things to look at. It was Ruben Vale who paid."

    found = counted(a_folder(tmp_path, {"A": [text]}))

    assert found.checked_by == ("extractive",)
    assert ClaimCheck.rows_in(tmp_path).rows["A", "q0"].claims == (
        "Ada Brook bought the Orran Mill in 1901.",
    )


def test_the_same_call_looks_for_nothing_again_and_another_text_is_read_anew(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {"A": [numbers(1), numbers(2)]})
    counted(folder, every_step())

    again = ScriptedModel({})
    assert counted(folder, again).conditions[0].averages[CLAIMS].mean == 1.5
    assert again.tasks == []

    answers_in(folder).add(ConditionAnswer("A", "q0", numbers(4)))
    model = every_step()
    assert counted(folder, model).conditions[0].averages[CLAIMS].mean == 3
    assert len(model.all_seen(SelectFactual)) == 1


def test_what_failed_is_counted_has_no_figures_and_is_looked_for_again(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {"A": [numbers(1), numbers(2)]})
    broken = every_step(
        FactualClaims=lambda task: BadReply("no JSON") if len(task.sentences) == 2 else (Numbered(1, "A"),)
    )

    result = extract_claims(folder, model=broken)

    assert result.errors == {"no JSON": 1}
    assert result.value.conditions[0].averages[CLAIMS].mean == 1
    model = every_step()
    assert not extract_claims(folder, model=model).errors
    assert len(model.all_seen(SelectFactual)) == 1


def test_a_run_that_is_stopped_keeps_what_was_found_and_goes_on_from_there(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {"A": [numbers(n) for n in range(1, 6)]})
    left = [3]

    def until(task: FactualClaims) -> Any:
        left[0] -= 1
        return (
            BudgetReached("no more") if left[0] < 0 else tuple(Numbered(1, text) for text in task.sentences)
        )

    with pytest.raises(BudgetReached):
        counted(folder, every_step(FactualClaims=until))
    assert len(ClaimCheck.rows_in(folder).rows) == 3
    with (folder / "claims.jsonl").open("ab") as file:
        file.write(b'{"condition": "A", "ques')  # as a killed run leaves it

    model = every_step()
    assert counted(folder, model).conditions[0].answers == 5
    assert len(model.all_seen(SelectFactual)) == 2
    assert all(json.loads(line) for line in (folder / "claims.jsonl").read_text().splitlines())


def test_the_judges_majority_is_held_against_claims_and_clusters(tmp_path: Path) -> None:
    folder = a_folder(
        tmp_path, {"A": [numbers(3), numbers(1), numbers(2), numbers(3)], "B": [numbers(2)] * 4}
    )
    kept = judgements_in(folder)
    planned = plan(study_in(folder), criteria_of(["comprehensiveness"]), replicates=3).comparisons
    compared = {(one.question.id, one.replicate): one for one in planned}
    preferred = {"q0": "AAA", "q1": "AAB", "q2": "BBB", "q3": "AB-"}  # agrees, does not, equal, a tie
    for question, winners in preferred.items():
        for n, winner in enumerate(winners):
            one = compared[question, n + 1]
            kept.add(one.judged(("-", one.first.condition, one.second.condition).index(winner), by="judge"))

    (claims,) = counted(folder, every_step()).agreement

    assert (claims.measure, claims.criterion) == (CLAIMS, "comprehensiveness")
    assert (claims.pairs, claims.compared, claims.agreeing) == (4, 2, 1)
    assert claims.rate == 50


def test_judgements_of_answers_that_changed_since_are_not_held_against_claims(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {"A": [numbers(3), numbers(1)], "B": [numbers(2)] * 2})
    for question in ("q0", "q1"):
        judgements_in(folder).add(
            Judgement("A", "B", "comprehensiveness", question, 1, 1, "", "judge 0123456789abcdef")
        )

    assert counted(folder, every_step()).agreement == ()


def test_conditions_and_questions_may_be_chosen(tmp_path: Path) -> None:
    folder = a_folder(tmp_path, {"A": [numbers(1)] * 4, "B": [numbers(2)] * 4})

    found = counted(folder, every_step(), conditions=["B"], sample=2)

    assert [(one.condition, one.answers) for one in found.conditions] == [("B", 2)]
    with pytest.raises(UsageError, match=r"no condition 'Z'.*A, B"):
        counted(folder, every_step(), conditions=["Z"])
    with pytest.raises(UsageError, match="eval answers"):
        counted(tmp_path / "elsewhere", every_step())


def test_figures_go_into_json(tmp_path: Path) -> None:
    found = counted(a_folder(tmp_path, {"A": [numbers(1)], "B": [numbers(2)]}), every_step())

    told = json.loads(json.dumps(found.as_json()))

    assert told["conditions"][1]["averages"]["claims"] == {"mean": 2, "low": 2, "high": 2}
    assert told["differences"][0]["mean"] == -1


def test_claims_are_those_of_a_model_and_of_the_users_own_prompts(tmp_path: Path) -> None:
    of = Settings(model="a", llm=ModelSettings(tasks={"FactualClaims": "b"}, prompts=str(tmp_path)))
    assert model_names(of, "SelectFactual", "FactualClaims") == "a, b"

    (tmp_path / "SelectFactual.md").write_text("<!-- user -->\n{{question}} {{data}}", encoding="utf-8")
    assert re.fullmatch(r"a, b#\w{8}", model_names(of, "SelectFactual", "FactualClaims"))
    assert model_names(of, "Entails") == "a"
