"""`conspectus eval judge` and `eval stats`; the judge of the simulated server counts distinct words."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer

from conspectus.evaluation.comparison import ConditionAnswer, Question, answers_in, write_list

QUESTIONS = 12
WORDS = {"C0": [9] * 12, "TS": [12] * 10 + [6] * 2, "SS": [3] * 12}
"""Distinct words in each answer, by condition and question: TS beats C0 on ten of twelve, SS always loses."""
ALL = 3 * 4 * 5 * QUESTIONS
ONCE = ("--replicates", 1)


def text(n: int, condition: str) -> str:
    return " ".join(f"{condition}{'abcdefghijklm'[i]}x" for i in range(n))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    target = tmp_path / "comparison"
    write_list([Question(f"q{i}", f"What of matter {i}?") for i in range(QUESTIONS)], target)
    kept = answers_in(target)
    for condition, counts in WORDS.items():
        for i, n in enumerate(counts):
            kept.add(ConditionAnswer(condition, f"q{i}", text(n, condition)))
    return target


def asking(server: SimulatedServer, *more: object) -> Sequence[object]:
    return ("--judge-model", "simulated", "--base-url", server.url, *more)


def test_known_verdicts_give_known_matrices_and_p_values(folder: Path, told: Callable[..., Any]) -> None:
    with SimulatedServer(Behaviour()) as server:
        found = told("eval", "judge", folder, *asking(server))
        assert server.counts["Judge"] == ALL
        assert server.counts["asked again"] == 0

    rates = json.loads((folder / "win_rates.json").read_text())
    ts = round(100 * 10 / 12, 4)
    expected = {
        "C0": {"C0": 50, "TS": round(100 - 100 * 10 / 12, 4), "SS": 100},
        "TS": {"C0": ts, "TS": 50, "SS": 100},
        "SS": {"C0": 0, "TS": 0, "SS": 50},
    }
    assert rates["comprehensiveness"] == rates["diversity"] == expected
    assert rates["directness"]["SS"] == {"C0": 100, "TS": 100, "SS": 50}
    results = {(one["criterion"], one["first"], one["second"]): one for one in found["results"]}
    one = results["comprehensiveness", "C0", "TS"]
    assert one["z"] == pytest.approx(-2.309401)  # 52 / sqrt(12 * 6.5^2): all ranks are tied
    assert one["p"] == pytest.approx(0.0209213, abs=1e-6)
    assert one["p_holm"] == pytest.approx(0.0209213, abs=1e-6)  # the largest of three
    assert results["comprehensiveness", "C0", "SS"]["z"] == pytest.approx(-(12**0.5), abs=1e-6)
    assert results["comprehensiveness", "C0", "SS"]["p_holm"] == pytest.approx(3 * 0.00053201, abs=1e-6)
    assert one["rank_biserial"] == pytest.approx(-2 / 3, abs=1e-6)
    assert found["first_wins"] == pytest.approx(50, abs=0.5)


def test_faults_of_the_server_do_not_show(folder: Path, told: Callable[..., Any], tmp_path: Path) -> None:
    with SimulatedServer(Behaviour(errors=0.1, malformed=0.1, cuts=0.05)) as server:
        found = told("eval", "judge", folder, *asking(server, "--sample", 4, "--criteria", "diversity"))

    assert (found["failed"], found["judgements"]) == (0, 60)


def test_what_failed_is_told_and_asked_again_by_the_same_command(
    folder: Path, run: Callable[..., Any]
) -> None:
    more = ("--criteria", "diversity", "--set", "llm.attempts=1")
    with SimulatedServer(Behaviour(never=("What of matter 3?",))) as server:
        result = run("eval", "judge", folder, *asking(server, *more), code=3)
        assert "15 failed; the same command tries them again" in result.stderr
    with SimulatedServer(Behaviour()) as server:
        result = run("eval", "judge", folder, *asking(server, *more))
        assert server.counts["Judge"] == 15
        assert "165 are done, 15 are left" in result.stderr


def test_the_cost_is_said_before_it_is_spent(folder: Path, run: Callable[..., Any]) -> None:
    prices = ("--set", "prices={ simulated = { input = 2.0, output = 8.0 } }")
    with SimulatedServer(Behaviour()) as server:
        dry = run("eval", "judge", folder, *asking(server, "--dry-run", *prices, *ONCE))
        estimated = json.loads(
            run("eval", "judge", folder, *asking(server, "--dry-run", "--json", *prices, *ONCE)).stdout
        )
        assert server.counts["requests"] == 0
        result = run("eval", "judge", folder, *asking(server, *prices, *ONCE, "-q"))
        used = server.prompt_tokens
        plan = json.loads(run("eval", "judge", folder, *asking(server, "--dry-run", "--json", *ONCE)).stdout)

    assert "144 judgements." in dry.stdout
    (task,) = estimated["estimate"]["tasks"]
    assert task["prompt_tokens"][0] == pytest.approx(used, rel=0.02)
    assert task["cost"][0] > 0
    assert "Comprehensiveness" in result.stdout
    assert result.stderr == ""
    assert (plan["remaining"], plan["total"]) == (0, 144)


def test_a_budget_that_is_too_small_stops_it_before_the_first_judgement(
    folder: Path, run: Callable[..., Any]
) -> None:
    with SimulatedServer(Behaviour()) as server:
        result = run("eval", "judge", folder, *asking(server, *ONCE, "--budget-tokens", 20_000), code=1)
        assert "is not enough" in result.stderr
        assert server.counts["requests"] == 0


def test_what_a_pilot_judged_is_not_asked_again(folder: Path, run: Callable[..., Any]) -> None:
    with SimulatedServer(Behaviour()) as server:
        run("eval", "judge", folder, *asking(server, *ONCE, "--sample", 3))
        assert server.counts["Judge"] == 36
        assert "108 not made yet" in run("eval", "stats", folder).stderr
        run("eval", "judge", folder, *asking(server, *ONCE))
        assert server.counts["Judge"] == 144
        assert server.counts["asked again"] == 0


def test_p_values_are_corrected_for_all_pairs_that_were_judged_whatever_is_asked_last(
    folder: Path, told: Callable[..., Any], run: Callable[..., Any]
) -> None:
    def p_of(pair: tuple[str, str], found: Any) -> tuple[float, float]:
        one = next(one for one in found["results"] if (one["first"], one["second"]) == pair)
        return one["p"], one["p_holm"]

    only = ("--criteria", "diversity")
    with SimulatedServer(Behaviour()) as server:
        p, corrected = p_of(
            ("C0", "SS"), told("eval", "judge", folder, *asking(server, *only, "--pairs", "C0:SS"))
        )
        assert corrected == p
        last = told("eval", "judge", folder, *asking(server, *only, "--pairs", "TS:SS"))

    assert len(last["results"]) == 2
    assert p_of(("C0", "SS"), last) == (p, pytest.approx(2 * p))
    assert told("eval", "stats", folder) == last
    run("eval", "report", folder)
    assert "for the 2 pairs that were judged" in (folder / "report.md").read_text()


def test_stats_say_the_same_without_a_model(
    folder: Path, told: Callable[..., Any], run: Callable[..., Any]
) -> None:
    with SimulatedServer(Behaviour()) as server:
        found = told("eval", "judge", folder, *asking(server, "--replicates", 2))
    assert told("eval", "stats", folder) == found

    shown = run("eval", "stats", folder)
    lines = shown.stdout.splitlines()
    assert "Comprehensiveness" in lines
    row = next(line for line in lines if line.startswith("C0 - TS"))
    assert row.split()[3:5] == ["16.67", "83.33"]
    assert row.split()[-6:] == ["-2.31", "0.021", "0.021", "-0.67", "-0.86", "12"]
    assert "The answer shown first won 50.0 %" in shown.stdout


def test_another_pair_or_criterion_of_no_sense_is_a_usage_error(
    folder: Path, run: Callable[..., Any]
) -> None:
    with SimulatedServer(Behaviour()) as server:
        assert (
            "of C0, TS, SS"
            in run("eval", "judge", folder, *asking(server, "--pairs", "C0:C9"), code=2).stderr
        )
        assert (
            "candour" in run("eval", "judge", folder, *asking(server, "--criteria", "candour"), code=2).stderr
        )
        assert server.counts["requests"] == 0


def test_without_a_model_one_line_says_what_to_do(folder: Path, run: Callable[..., Any]) -> None:
    stderr = run("eval", "judge", folder, code=2).stderr

    assert "judging needs a language model" in stderr
    assert "--judge-model openai/" in stderr
    assert stderr.count("\n") == 1
