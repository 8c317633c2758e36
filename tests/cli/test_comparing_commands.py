"""`eval questions`, `eval answers` and `eval table2`: over real HTTP, without a model, interrupted, and killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import ASKED, using
from simulated_server import Behaviour, SimulatedServer
from typer.testing import Result

from conspectus import api

Run = Callable[..., Result]
Told = Callable[..., Any]
ABOUT = "Letters and accounts of people of a river valley, their mills, boats and quarrels over land."


NAMES = ("C0", "TS", "bm25")


def rows(folder: Path) -> list[dict[str, Any]]:
    lines = (folder / "answers.jsonl").read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in lines]


# Questions


def test_questions_are_made_from_a_description_and_paid_for_once(run: Run, told: Told, tmp_path: Path):
    (tmp_path / "about.txt").write_text(ABOUT, encoding="utf-8")
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        shown = run("eval", "questions", "--description", "about.txt", "--out", "c", *using(server)).stdout
        first = dict(server.counts)
        made = told("eval", "questions", "--description", ABOUT, "--out", "c", *using(server))["questions"]
        assert server.counts["requests"] == first["requests"] == len(server.bodies)
        assert (first["Personas"], first["UserTasks"]) == (1, 5)
        assert first["GlobalQuestions"] > 25  # duplicates were requested again
        assert all(ABOUT in body["messages"][-1]["content"] for body in server.bodies)

    assert "125 questions in c/questions.json" in shown
    assert len({question["text"] for question in made}) == len({question["id"] for question in made}) == 125
    assert len({question["persona"] for question in made}) == 5
    assert json.loads(Path("c/questions.json").read_text(encoding="utf-8")) == made
    table = Path("c/questions.csv").read_text(encoding="utf-8").splitlines()
    assert (table[0], len(table)) == ("question_id,question_text,persona,task", 126)


def test_a_dry_run_says_how_many_calls_there_will_be(told: Told, run: Run, server: SimulatedServer):
    before = server.counts["requests"]
    sizes = ("--users", 2, "--tasks", 3, "--questions", 4)

    seen = told("eval", "questions", "--description", ABOUT, *sizes, "--dry-run", *using(server))

    assert [(task["task"], task["calls"]) for task in seen["estimate"]["tasks"]] == [
        ("Personas", [1, 1]),
        ("UserTasks", [2, 2]),
        ("GlobalQuestions", [6, 6]),
    ]
    assert (
        "global questions"
        in run("eval", "questions", "--description", ABOUT, "--dry-run", *using(server)).stdout
    )
    assert server.counts["requests"] == before
    assert not Path("comparison").exists()


def test_questions_of_ones_own_need_no_model(run: Run, told: Told, asked: Path):
    assert "needs" not in run("eval", "questions", "--from", asked).stdout
    assert [question["text"] for question in told("eval", "questions", "--from", asked)["questions"]] == ASKED

    said = run("eval", "questions", "--description", ABOUT, code=2).stderr
    assert "written by a language model" in said
    assert "--model" in said
    assert "--description TEXT or a file" in run("eval", "questions", code=2).stderr


def test_questions_that_have_answers_are_not_replaced(run: Run, asked: Path, papers: Path):
    run("eval", "answers", asked, "--conditions", "bm25", "--index", papers)
    Path("others.txt").write_text("Why?", encoding="utf-8")

    assert (
        "has answers to 3 other questions" in run("eval", "questions", "--from", "others.txt", code=2).stderr
    )


# Answers


def test_conditions_are_answered_with_a_model_and_not_twice(
    run: Run, told: Told, asked: Path, papers: Path, server: SimulatedServer
):
    options = ("--index", papers, "--conditions", "C0,TS,local,cot", *using(server))

    shown = run("eval", "answers", asked, *options)
    before = server.counts["requests"]
    found = told("eval", "answers", "comparison", *options)

    assert "% of TS" in shown.stdout
    assert "Tokens asked" in shown.stderr  # the estimate, before anything is spent
    assert server.counts["requests"] == before
    assert [(one["condition"], one["answers"], one["failed"]) for one in found["conditions"]] == [
        (name, 3, 0) for name in ("C0", "TS", "local", "cot")
    ]
    answers = rows(Path("comparison"))
    assert len(answers) == 12
    assert sum(one["calls"] for one in found["conditions"]) == sum(row["calls"] for row in answers)
    assert all(row["prompt_tokens"] > 0 and row["completion_tokens"] > 0 for row in answers if row["calls"])
    assert {row["units"] for row in answers if row["condition"] == "TS"} == {24}
    assert all(cited["text"] for row in answers for cited in row["cited"])
    assert Path("comparison/replies.sqlite").exists()


def test_what_each_answer_took_adds_up_to_what_the_server_counted(told: Told, asked: Path, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        told("eval", "answers", asked, "--index", papers, "--conditions", "C0,TS,bm25,tog", *using(server))

        answers = rows(Path("comparison"))
        assert sum(row["calls"] for row in answers) == server.counts["requests"]
        assert sum(row["prompt_tokens"] for row in answers) == server.prompt_tokens
        assert sum(row["completion_tokens"] for row in answers) == server.completion_tokens


def test_a_dry_run_tells_the_calls_of_each_condition_and_asks_nothing(
    told: Told, run: Run, asked: Path, papers: Path
):
    with SimulatedServer(Behaviour()) as server:
        options = ("--index", papers, "--conditions", "C0,TS,bm25", *using(server))
        seen = told(
            "eval", "answers", asked, *options, "--dry-run", "--set", "prices={simulated={input=1.0}}"
        )
        assert server.counts["requests"] == 0
        assert not Path("comparison").exists()
        rows_of = {
            name: [t for t in seen["estimate"]["tasks"] if t["model"] == f"{name}: simulated"]
            for name in NAMES
        }
        calls = {name: sum(task["calls"][0] for task in tasks) for name, tasks in rows_of.items()}
        run("eval", "answers", asked, *options)
        assert server.counts["requests"] <= sum(calls.values())

    assert calls == {"C0": 6, "TS": 6, "bm25": 3}
    assert (seen["total"], seen["remaining"]) == (9, 9)
    windows = next(task for task in rows_of["TS"] if task["task"] == "MapAnswer")
    asked_tokens = sum(row["prompt_tokens"] for row in rows(Path("comparison")) if row["condition"] == "TS")
    assert windows["prompt_tokens"][0] == windows["prompt_tokens"][1] <= asked_tokens
    assert windows["cost"][0] > 0


def test_a_budget_is_checked_before_the_first_call(run: Run, asked: Path, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        options = ("--index", papers, "--conditions", "TS", *using(server), "--budget-tokens", 500)
        assert "is not enough" in run("eval", "answers", asked, *options, code=1).stderr
        assert server.counts["requests"] == 0


def test_failures_end_with_code_3_and_the_next_run_mends_them(
    run: Run, told: Told, asked: Path, papers: Path
):
    with SimulatedServer(Behaviour(never=("Bo Quill?",))) as ill:
        options = ("--conditions", "C0", "--index", papers, "--set", "llm.attempts=2")
        run("eval", "answers", asked, *options, *using(ill), code=3)
        failed = [row for row in rows(Path("comparison")) if row["error"]]
        assert [row["text"] for row in failed] == [""]
    with SimulatedServer(Behaviour()) as well:
        found = told("eval", "answers", "comparison", *options, *using(well))
        assert well.counts["requests"] == 2

    assert (found["conditions"][0]["answers"], found["conditions"][0]["failed"]) == (3, 0)


def test_what_cannot_be_asked_is_told(run: Run, asked: Path, papers: Path):
    options = ("eval", "answers", asked, "--index", papers, "--conditions")
    assert "no condition 'X'" in run(*options, "X", code=2).stderr
    assert "C5: this index has levels 0 to 0, and no level 5" in run(*options, "C0,C5", code=2).stderr
    assert "SS: the index has no vectors; make them: conspectus embed" in run(*options, "SS", code=2).stderr
    assert (
        "cot asks for what a language model knows"
        in run(*options, "cot", "--model", "extractive", code=2).stderr
    )
    assert not Path("comparison").exists()


def test_nearest_chunks_fill_the_window_of_an_index_that_has_vectors(
    told: Told, asked: Path, papers: Path, server: SimulatedServer, tmp_path: Path
):
    shutil.copytree(papers, tmp_path / "vectors")
    api.embed(tmp_path / "vectors", "openai/simulated", settings={"llm.base_url": server.url})

    options = ("--index", "vectors", "--conditions", "SS", "--window", 600, *using(server))
    found = told("eval", "answers", asked, *options)["conditions"][0]

    assert (found["answers"], found["units"]) == (3, 4)
    assert 400 < found["context_tokens"] <= 600


def test_table_2_stands_alone_too(run: Run, told: Told, papers: Path):
    assert [row["condition"] for row in told("eval", "table2", "--index", papers)] == ["C0", "TS"]
    assert "100.0" in run("eval", "table2", "--index", papers).stdout


# Interruptions


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals as Unix has them")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_run_that_is_ended_at_any_moment_goes_on_from_there(
    how: signal.Signals, run: Run, told: Told, papers: Path, tmp_path: Path
):
    questions = [f"What did Ada Byrne do in {year}?" for year in range(1900, 1920)]
    (tmp_path / "many.txt").write_text("\n".join(questions), encoding="utf-8")
    options = ["eval", "answers", "many.txt", "--index", str(papers), "--conditions", "C0,bm25", "--quiet"]
    options += ["--set", "llm.concurrency=4"]
    with SimulatedServer(Behaviour(latencies=(0.05,))) as server:
        command = [sys.executable, "-m", "conspectus", *options, *using(server)]
        with subprocess.Popen(command, cwd=tmp_path, env=os.environ, stderr=subprocess.PIPE) as process:
            wait_for(lambda: server.counts["requests"] >= 25, process)
            process.send_signal(how)
            said = process.stderr.read().decode() if process.stderr else ""
        there = len(rows(tmp_path / "comparison"))
        assert 0 < there < 40
        if how == signal.SIGINT:
            assert (process.returncode, "results so far" in said) == (130, True)
        found = told(*options, *using(server))
        assert server.counts["asked again"] <= 4  # at most the requests that were running

    assert [one["answers"] for one in found["conditions"]] == [20, 20]
    keys = [(row["condition"], row["question"]) for row in rows(tmp_path / "comparison")]
    assert len(keys) == len(set(keys)) == 40


def wait_for(done: Callable[[], bool], process: subprocess.Popen[bytes], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not done():
        assert process.poll() is None, process.stderr and process.stderr.read()
        assert time.monotonic() < until
        time.sleep(0.01)


def test_the_model_that_the_index_remembers_answers(
    run: Run, papers: Path, asked: Path, server: SimulatedServer
):
    before = server.counts["requests"]

    run("eval", "answers", asked, "--index", papers, "--conditions", "local", "--out", "c", "--yes")

    assert server.counts["requests"] > before
