"""The command line with a language model, over real HTTP: options, exit codes, and `models` commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents
from simulated_server import Behaviour, SimulatedServer
from typer.testing import Result

from conspectus import api

Run = Callable[..., Result]
Told = Callable[..., Any]


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers")
    for document in documents():
        (folder / f"{document['id']}.txt").write_text(document["text"], encoding="utf-8")
    return folder


def using(server: SimulatedServer) -> tuple[str, ...]:
    return ("--model", "simulated", "--base-url", server.url)


def test_index_status_ask_and_cache_with_a_model(run: Run, server: SimulatedServer, papers: Path):
    run("index", papers, "--claims", "--trace", "calls.jsonl", *using(server))
    calls = [json.loads(line) for line in Path("calls.jsonl").read_text().splitlines()]
    assert {"ExtractGraph", "ExtractClaims", "WriteReport"} <= {call["task"] for call in calls}
    assert all(call["status"] == "ok" and "request" not in call and "reply" not in call for call in calls)

    status = run("status").stdout
    assert "extract entities" in status
    assert "claims" in status
    assert json.loads(run("status", "--json").stdout)["spent"]

    for options in (
        ("--level", "auto"),
        ("--method", "source-summary"),
        ("--level", "0"),
        ("--method", "local"),
    ):
        answer = run("ask", "Who met Ada Byrne?", *options, *using(server), "--response", "one sentence")
        assert "Ada Byrne" in answer.stdout
        assert "Sources" in answer.stdout
        assert "An AI wrote this answer" in answer.stdout
    assert "Ada Byrne" in run("ask", "Who met Ada Byrne?", "--level", "auto").stdout

    assert "Attempts" in run("cache").stdout
    assert "Invalid value" in run("cache", "--prune-older", "-1", code=2).stderr
    assert json.loads(run("cache", "--prune-older", "0", "--json").stdout)["removed"] > 0


def test_a_dry_run_tells_the_cost_and_asks_nothing(run: Run, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        prices = ("--set", "prices={ simulated = { input = 1.0, output = 2.0 } }")
        told = run("index", papers, "--dry-run", *using(server), *prices)
        assert "extract entities" in told.stdout
        assert "unknown" not in told.stdout
        plain = json.loads(run("index", papers, "--dry-run", "--json", *using(server)).stdout)
        assert server.counts["requests"] == 0
    assert plain["estimate"]["tasks"][0]["task"] == "ExtractGraph"
    assert not Path(".conspectus").exists()


def test_a_dry_run_knows_extraction_and_gives_a_range_for_what_depends_on_it(
    run: Run, told: Told, server: SimulatedServer, papers: Path
):
    prices = ("--set", "prices={ simulated = { input = 1.0, output = 4.0 } }")
    estimate = told("index", papers, "--dry-run", *using(server), *prices)["estimate"]
    run("index", papers, *using(server), *prices)
    spent = {row["task"]: row for row in told("status")["spent"]}
    known = {row["task"]: row for row in estimate["tasks"]}
    assert known["ExtractGraph"]["calls"] == [spent["ExtractGraph"]["calls"]] * 2
    assert known["ExtractGraph"]["prompt_tokens"][0] == known["ExtractGraph"]["prompt_tokens"][1]
    assert known["ExtractGraph"]["prompt_tokens"][0] == pytest.approx(
        spent["ExtractGraph"]["prompt_tokens"], rel=0.02
    )
    assert known["AnyMissed"]["calls"] == [spent["AnyMissed"]["calls"]] * 2
    for task, row in spent.items():
        for figure in ("calls", "prompt_tokens", "completion_tokens", "cost"):
            low, high = known[task][figure]
            assert low <= row[figure] <= high, (task, figure, low, row[figure], high)
    low, high = known["AnyMissed"]["prompt_tokens"]
    assert low < high


def test_a_dry_run_sums_what_is_asked_and_what_is_written_and_says_what_is_free(
    run: Run, server: SimulatedServer, papers: Path
):
    prices = "prices={ simulated = { input = 1.0, output = 4.0 } }"
    several = ("--set", 'llm.tasks={ WriteReport = "strong" }', "--set", prices)
    shown = run("index", papers, "--dry-run", *using(server), *several).stdout
    assert max(map(len, shown.splitlines())) <= 100
    shown = re.sub(
        r"^(describe.*?relationships)(.*)\n(\(simulated\))$", r"\1 \3\2", shown, flags=re.MULTILINE
    )
    lines = shown.partition("(model) ")[2].splitlines()[1:]  # the header and task names may be wrapped
    rows = [re.split(r"\s{2,}", line) for line in lines if line]
    assert {row[0]: row[-1] == "unknown" for row in rows[:-1]} == {
        "extract entities (simulated)": False,
        "check for missed entities (simulated)": False,
        "extract missed entities (simulated)": False,
        "describe entities and relationships (simulated)": False,
        "write reports (strong)": False,
    }
    assert rows[-2][-1] == "0"
    assert rows[-1][0] == "All"
    for column in (-3, -2):
        lows = [int(row[column].split("–")[0].replace(",", "")) for row in rows]
        assert lows[-1] == pytest.approx(sum(lows[:-1]), abs=len(rows))


def test_a_larger_budget_goes_on_where_a_smaller_one_stopped_and_asks_for_nothing_twice(
    run: Run, papers: Path
):
    with SimulatedServer(Behaviour()) as whole:
        run("index", papers, "--index", "whole", *using(whole))
    with SimulatedServer(Behaviour()) as server:
        for budget in (6_000, 20_000):
            before = server.prompt_tokens + server.completion_tokens
            stopped = run("index", papers, "--quiet", "--budget-tokens", budget, *using(server), code=1)
            assert f"of {budget:,} tokens" in stopped.stderr
            assert "the same command continues" in stopped.stderr
            assert 0 < server.prompt_tokens + server.completion_tokens - before <= budget
        run("index", papers, "--budget-tokens", 10**6, *using(server))
        assert server.counts["asked again"] == 0
        assert server.counts["requests"] == whole.counts["requests"]


def test_a_build_that_stopped_goes_on_with_its_model_where_none_is_named(run: Run, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        run("index", papers, "--budget-tokens", 6_000, *using(server), code=1)
        missing = run("ask", "Who met Ada Byrne?", "--index", ".conspectus", code=1).stderr
        assert "conspectus index FOLDER" in missing
        assert "simulated" in run("status").stderr

        said = run("index", papers, "--budget-tokens", 10**6).stderr

        assert "simulated" in said
        assert server.url in said
        assert server.counts["asked again"] == 0
    assert api.open_index(".conspectus").settings["model"] == "simulated"


def test_a_mistyped_extractive_is_named(run: Run, indexed: Path):
    assert (
        "did you mean extractive"
        in run("ask", "Who?", "--model", "extractiv", "--index", indexed, code=2).stderr
    )


def test_an_address_that_is_given_is_said_to_be_and_what_an_answer_took(run: Run, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        run("index", papers, *using(server))
        https = server.url.replace("http:", "https:")
        assert (
            "http, not https"
            in run("models", "check", "--model", "simulated", "--base-url", https, code=3).stdout
        )
        assert "call" in run("ask", "Who met Ada Byrne?").stderr.splitlines()[-1]
        assert "from the cache" in run("ask", "Who met Ada Byrne?").stderr.splitlines()[-1]
    gone = run("ask", "Who met Ada Byrne now?", "--base-url", "http://127.0.0.1:1/v1", code=1).stderr

    assert "http://127.0.0.1:1/v1 (--base-url)" in gone
    assert "cached" not in gone.splitlines()[-1]


def test_a_key_shows_nowhere(run: Run, papers: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CONSPECTUS_API_KEY", "hollin-4711/xyz=")
    kept = ("--trace", "calls.jsonl", "--set", "llm.trace_texts=true", "--log", "run.log")
    said = run("config").stdout
    with SimulatedServer(Behaviour(key="another")) as server:  # the error message repeats the key
        said += run("index", papers, *kept, *using(server), code=1).stderr
        said += run("models", "check", *using(server), code=3).stdout
    assert "does not accept the key in CONSPECTUS_API_KEY" in said
    with SimulatedServer(Behaviour(key="hollin-4711/xyz=")) as server:
        said += run("index", papers, *kept, *using(server)).stdout
    assert "hollin-4711" not in said
    files = [path for path in Path().rglob("*") if path.is_file()]
    assert {"calls.jsonl", "run.log", "manifest.json", "replies.sqlite"} <= {path.name for path in files}
    assert not [path for path in files if b"hollin-4711" in path.read_bytes()]


def test_failures_end_with_code_3_and_the_next_run_mends_them(run: Run, papers: Path):
    with SimulatedServer(Behaviour(never=("matter 503",))) as server:
        told = run("index", papers, *using(server), "--set", "llm.attempts=2", code=3)
    assert "chunk " in told.stderr
    assert "HTTP 500" in told.stderr
    with SimulatedServer(Behaviour()) as server:
        run("index", papers, *using(server))
        assert server.counts["ExtractGraph"] == 1


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        (Behaviour(key="other"), "requires a key: set CONSPECTUS_API_KEY"),
        (Behaviour(models=("m",)), "has no model"),
    ],
)
def test_what_cannot_work_is_one_line(behaviour: Behaviour, says: str, run: Run, papers: Path):
    with SimulatedServer(behaviour) as server:
        told = run("index", papers, "--quiet", *using(server), code=1)
    assert says in told.stderr
    assert told.stderr.count("\n") == 1


def test_a_budget_ends_with_one_line_and_the_command_goes_on(run: Run, server: SimulatedServer, papers: Path):
    told = run("index", papers, "--quiet", "--budget-tokens", "8000", *using(server), code=1)
    assert "budget" in told.stderr
    assert "extract entities" in run("status").stdout
    elsewhere = ("--model", "simulated", "--base-url", "https://models.example.org/v1")
    told = run("index", papers, "--quiet", "--budget", "1", *elsewhere, code=2)
    assert "price of simulated" in told.stderr
    run("index", papers, *using(server))


def test_an_answer_that_is_cut_off_while_it_is_told_ends_with_a_line_that_says_so(
    run: Run, server: SimulatedServer, papers: Path
):
    run("index", papers, "--quiet", *using(server))
    with SimulatedServer(Behaviour(cuts=1.0)) as other:
        told = run("ask", "Who met Ada Byrne?", "--method", "local", *using(other), code=1)
    assert "Ada Byrne" in told.stdout
    assert told.stdout.endswith("\n")
    assert "Sources" not in told.stdout
    assert told.stderr.startswith("error: simulated cut its reply off")
    assert told.stderr.count("\n") == 1


def test_models_check_and_tune(run: Run, server: SimulatedServer, papers: Path):
    told: list[dict[str, Any]] = json.loads(run("models", "check", "--json", *using(server)).stdout)["checks"]
    assert {check["kind"]: check["ok"] for check in told}["chat"] is True
    assert "simulated" in run("models", "check", *using(server)).stdout
    run("tune", papers, "--out", "mine", *using(server))
    assert (Path("mine") / "en" / "ExtractGraph.md").is_file()
    run("index", papers, "--config", "mine/conspectus.toml", *using(server))


def test_a_level_is_a_number_or_auto(run: Run, indexed: Path):
    assert "--level takes" in run("ask", "Who?", "--index", indexed, "--level", "deep", code=2).stderr


def test_a_dry_run_says_what_its_figures_stand_on_and_a_sample_narrows_them(
    run: Run, server: SimulatedServer, papers: Path
):
    cut = ("--chunk-tokens", 60, "--chunk-overlap", 10)
    before = server.counts["requests"]
    dry = run("index", papers, *cut, "--dry-run", *using(server))
    assert server.counts["requests"] == before
    assert not Path(".conspectus").exists()
    assert "--sample" in dry.stderr
    sampled = run("index", papers, *cut, "--dry-run", "--sample", 12, *using(server))
    assert "responses on 12 chunks" in sampled.stderr
    run("index", papers, *cut, *using(server))
    assert "No calls are needed" in run("index", papers, *cut, "--dry-run", *using(server)).stdout
    assert "--sample goes with --dry-run" in run("index", papers, "--sample", 3, code=2).stderr


def test_a_prompts_folder_made_by_tune_is_used_from_anywhere(
    run: Run, server: SimulatedServer, papers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    made = run("tune", papers, "--out", tmp_path / "tuned", *using(server))
    assert "a historian of" in made.stdout
    assert "Spent: " in made.stderr
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    told = ("--trace", "calls.jsonl", "--set", "llm.trace_texts=true")
    run("index", papers, "--config", tmp_path / "tuned" / "conspectus.toml", *told, *using(server))
    calls = [json.loads(line) for line in Path("calls.jsonl").read_text().splitlines()]
    asked = [call["request"] for call in calls if call["task"] == "ExtractGraph"]
    assert asked
    assert all("a historian of" in request for request in asked)


def test_open_triples_can_be_taken_in_place_of_typed_entities(
    run: Run, server: SimulatedServer, papers: Path
):
    run("index", papers, "--index", "triples", "--set", "extract.style=triples", *using(server))
    status = json.loads(run("status", "--index", "triples", "--json").stdout)
    assert {"NameEntities", "ExtractTriples"} <= {row["task"] for row in status["spent"]}
    assert status["relationships"]
    assert status["reports"]
    answer = run("ask", "Who met Ada Byrne?", "--index", "triples", "--method", "local", *using(server))
    assert "Ada Byrne" in answer.stdout


def test_what_tasks_cost_is_told_by_the_prices_that_the_index_was_built_with(
    run: Run, server: SimulatedServer, papers: Path
):
    prices = "prices={simulated={input=1.0,output=4.0},cheap={input=0.1,output=0.4}}"
    several = ("--set", "llm.tasks={ExtractGraph='cheap'}", "--set", prices)
    run("index", papers, "--index", "priced", *several, *using(server))
    rows = {
        row["task"]: row for row in json.loads(run("status", "--index", "priced", "--json").stdout)["spent"]
    }
    assert rows["ExtractGraph"]["model"] == "cheap"
    assert rows["WriteReport"]["model"] == "simulated"
    for row, rate in ((rows["ExtractGraph"], 0.1), (rows["WriteReport"], 1.0)):
        assert row["cost"] == pytest.approx(
            rate * (row["prompt_tokens"] + 4 * row["completion_tokens"]) / 1e6
        )
    assert "All" in run("status", "--index", "priced").stdout
