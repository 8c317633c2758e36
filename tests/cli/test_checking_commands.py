"""`conspectus eval claims` and `eval grounding`, against a simulated server and without a model.

The server treats every sentence with a name as factual, drops sentences that begin with a pronoun, makes one claim of
the text on either side of a `;`, and decides that a text entails a claim if it has two thirds of the claim's words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer
from typer.testing import Result

from conspectus.evaluation.claims import ClaimCheck
from conspectus.evaluation.comparison import CitedText, ConditionAnswer, Question, answers_in, write_list
from conspectus.evaluation.grounding import GroundingCheck

Run = Callable[..., Result]
Told = Callable[..., Any]
CITED = (CitedText(1, "Mill", "Ada Byrne bought Lune Mills and sued Kell Council over the weir."),)
ANSWERS = {
    "C0": "## Of Mills\n\nAda Byrne bought Lune Mills; Ada Byrne sued Kell Council. [1] It rained. Vera Stone slept.",
    "SS": "Ada Byrne bought Lune Mills. [1]",
}
QUESTIONS = 6


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "comparison"
    write_list([Question(f"q{n}", f"What of matter {n}?") for n in range(QUESTIONS)], target)
    kept = answers_in(target)
    for condition, text in ANSWERS.items():
        for n in range(QUESTIONS):
            kept.add(ConditionAnswer(condition, f"q{n}", f"{text} Bo Quill has {n}.", CITED))
    return target


def using(server: SimulatedServer, *more: object) -> Sequence[object]:
    return ("--model", "simulated", "--base-url", server.url, *more)


def test_known_replies_give_known_claims_and_clusters(folder: Path, told: Told) -> None:
    with SimulatedServer(Behaviour(errors=0.1)) as server:
        found = told("eval", "claims", folder, *using(server))
        assert server.counts["asked again"] == 0

    means = {
        one["condition"]: [round(value["mean"], 6) for value in one["averages"].values()]
        for one in found["conditions"]
    }
    assert means == {"C0": [4, 4, 4, 3, 3], "SS": [2, 2, 2, 2, 2]}
    assert found["unique"] == 3 + QUESTIONS
    assert found["checked_by"] == ["simulated"]
    (claims,) = [one for one in found["differences"] if one["measure"] == "claims"]
    assert (claims["first"], claims["second"], claims["mean"]) == ("C0", "SS", 2)
    assert claims["z"] == pytest.approx(-2.4495)
    assert claims["p_holm"] == pytest.approx(0.0143059, abs=1e-6)
    assert len(ClaimCheck.rows_in(folder).rows) == 2 * QUESTIONS


def test_known_replies_give_known_grounding(folder: Path, told: Told) -> None:
    with SimulatedServer(Behaviour()) as server:
        found = told("eval", "grounding", folder, *using(server))
        assert server.counts["Entails"] == 2  # a statement is checked against the same text only once

    shown = {one["condition"]: one for one in found["conditions"]}
    assert shown["C0"]["sentences"] == 4 * QUESTIONS
    assert shown["C0"]["uncited"] == 3 * QUESTIONS
    assert shown["C0"]["supported"] == {"mean": 0.25, "low": 0.25, "high": 0.25}
    assert shown["SS"]["of_cited"] == {"mean": 1, "low": 1, "high": 1}
    assert shown["SS"]["supported"]["mean"] == 0.5


def test_an_estimate_asks_nothing_and_says_what_is_left(folder: Path, told: Told, run: Run) -> None:
    with SimulatedServer(Behaviour()) as server:
        for command, task in (("claims", "SelectFactual"), ("grounding", "Entails")):
            seen = told("eval", command, folder, *using(server), "--dry-run")
            assert (seen["total"], seen["remaining"]) == (2 * QUESTIONS, 2 * QUESTIONS)
            assert seen["estimate"]["tasks"][0]["task"] == task
        assert "clear sentences" in run("eval", "claims", folder, *using(server), "--dry-run").stdout
        assert server.counts["requests"] == 0
        assert not (folder / "claims.jsonl").exists()
        assert not (folder / "replies.sqlite").exists()

        run("eval", "claims", folder, *using(server))
        seen = told("eval", "claims", folder, *using(server), "--dry-run")
        assert (seen["remaining"], seen["estimate"]["tasks"]) == (0, [])


def test_the_estimate_of_what_is_known_is_what_is_asked(folder: Path, told: Told) -> None:
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        seen = told("eval", "claims", folder, *using(server), "--dry-run")
        estimated = {task["task"]: task for task in seen["estimate"]["tasks"]}
        run_ = told("eval", "claims", folder, *using(server))
        assert run_["unique"]
        assert server.counts["SelectFactual"] == estimated["SelectFactual"]["calls"][0] == 2 * QUESTIONS
        assert estimated["FactualClaims"]["calls"] == [2 * QUESTIONS, 2 * QUESTIONS]


def test_a_budget_that_is_too_small_stops_it_before_the_first_call(folder: Path, run: Run) -> None:
    with SimulatedServer(Behaviour()) as server:
        result = run("eval", "claims", folder, *using(server, "--budget-tokens", 100), code=1)
        assert server.counts["requests"] == 0
    assert "budget" in result.stderr


def test_failures_are_counted_and_asked_again_by_the_same_command(folder: Path, run: Run, told: Told) -> None:
    with SimulatedServer(Behaviour(never=("Bo Quill has 3.",))) as server:
        result = run("eval", "claims", folder, *using(server), "--set", "llm.attempts=1", code=3)
        assert "Failed 2; the same command tries again:" in result.stderr
        run(
            "eval", "grounding", folder, *using(server), "--set", "llm.attempts=1"
        )  # without citations, the model is not called
    assert {row.question for row in ClaimCheck.rows_in(folder).rows.values() if row.error} == {"q3"}

    with SimulatedServer(Behaviour()) as server:
        found = told("eval", "claims", folder, *using(server))
        assert server.counts["SelectFactual"] == 2
    assert [one["failed"] for one in found["conditions"]] == [0, 0]


def test_without_a_model_rules_find_claims_and_say_so(folder: Path, run: Run) -> None:
    result = run("eval", "claims", folder)

    assert result.stdout.splitlines()[0].split()[:3] == ["Condition", "Answers", "Claims"]
    assert "C0 - SS" in result.stdout
    assert "by rules: a claim is a sentence as it stands" in result.stderr
    assert "nobody" not in run("eval", "claims", folder, "--dry-run").stdout


def test_without_a_model_words_decide_what_is_supported(folder: Path, run: Run) -> None:
    result = run("eval", "grounding", folder)

    assert "floors" in result.stderr
    assert all(
        s.supported == bool(s.markers) for s in GroundingCheck.rows_in(folder).rows["SS", "q0"].sentences
    )


def test_a_folder_without_answers_is_told(tmp_path: Path, run: Run) -> None:
    result = run("eval", "claims", tmp_path, code=2)
    assert "make them with conspectus eval answers" in result.stderr
