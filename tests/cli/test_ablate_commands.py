"""`eval ablate`: over real HTTP, without a model, with failures, and from cells that are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llm_corpus import using
from simulated_server import Behaviour, SimulatedServer
from typer.testing import Result

from conspectus.evaluation.ablations.found import heading

Run = Callable[..., Result]
Told = Callable[..., Any]
CUT = ("--set", "chunk.overlap=20", "--sizes", "100,200")


def test_gleaning_finds_more_and_what_was_asked_is_not_asked_again(run: Run, told: Told, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        options = ("eval", "ablate", "chunks", "--index", papers, "--rounds", 2, *CUT, *using(server))
        shown = run(*options)
        before = dict(server.counts)
        found = told(*options)
        assert server.counts["requests"] == before["requests"]
        assert before.get("asked again", 0) == 0  # fewer rounds are a part of more

    rows = {(row["chunk_tokens"], row["rounds"]): row for row in found["rows"]}
    assert list(rows) == [(size, n) for size in (100, 200) for n in range(3)]
    assert rows[100, 1]["references"] > rows[100, 0]["references"] > rows[200, 0]["references"]
    assert rows[100, 0]["calls"] == rows[100, 0]["chunks"] < rows[100, 1]["calls"]
    assert "references per chunk" in shown.stdout
    assert "Written to ablation: ablation_chunks.json" in shown.stderr


def test_a_dry_run_tells_what_each_size_asks_and_asks_nothing(run: Run, told: Told, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        options = ("eval", "ablate", "chunks", "--index", papers, "--rounds", 1, *CUT, *using(server))
        seen = told(*options, "--dry-run", "--set", "prices={simulated={input=1.0}}")
        assert server.counts["requests"] == 0
        assert not Path("ablation").exists()
        assert "100 tokens" in run(*options, "--dry-run").stdout
        run(*options)
        asked = dict(server.counts)
        assert "nothing" not in run(*options, "--dry-run").stdout

    assert (seen["cells"], seen["left"], list(seen["estimates"])) == (4, 4, ["100 tokens", "200 tokens"])
    tasks = [task for one in seen["estimates"].values() for task in one["tasks"]]
    first = sum(task["calls"][0] for task in tasks if task["task"] == "ExtractGraph")
    assert first == asked["ExtractGraph"]
    assert sum(task["calls"][1] for task in tasks) >= asked["requests"]
    assert all(task["cost"] for task in tasks)


def test_a_budget_is_checked_before_the_first_call(run: Run, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        options = ("--index", papers, *CUT, *using(server), "--budget-tokens", 500)
        assert "does not reach" in run("eval", "ablate", "chunks", *options, code=1).stderr
        assert server.counts["requests"] == 0


def test_failures_end_with_code_3_and_the_next_run_mends_them(run: Run, told: Told, papers: Path):
    options = ("eval", "ablate", "chunks", "--index", papers, "--rounds", 0, *CUT, "--set", "llm.attempts=1")
    with SimulatedServer(Behaviour(never=("matter 105",))) as ill:
        shown = run(*options, *using(ill), code=3)
        assert "the same command tries again" in shown.stderr
        kept = json.loads(Path("ablation/ablation_chunks.json").read_text(encoding="utf-8"))
        assert all(row["failed"] for row in kept["rows"])
    with SimulatedServer(Behaviour()) as well:
        found = told(*options, *using(well))
        assert well.counts["requests"] == sum(row["failed"] for row in kept["rows"])

    assert not any(row["failed"] for row in found["rows"])


def test_sources_can_be_named_in_place_of_an_index(told: Told, corpus: Path):
    found = told("eval", "ablate", "chunks", corpus, "--sizes", "120,240", "--sample", 3)

    assert found["set_up"] == {"documents": 3, "model": "extractive"}
    assert [row["rounds"] for row in found["rows"]] == [0, 0]
    assert any("gleaning does nothing" in line for line in found["notices"])


def test_windows_are_answered_judged_and_told_with_win_rates(
    run: Run, told: Told, papers: Path, asked: Path, server: SimulatedServer
):
    options = (
        "eval", "ablate", "window", "--index", papers, "--questions", asked, "--conditions", "C0,TS", "--windows",
        "500,2000", *using(server),
    )  # fmt: skip
    shown = run(*options)
    pairs = shown.stderr.partition("--pairs ")[2].split(",")
    assert pairs[0] == "C0@2k:C0@500"
    judge = ("--judge-model", "simulated", "--base-url", server.url, "--criteria", "directness", "--no-reasons")

    run("eval", "judge", "ablation", "--pairs", "TS@2k:TS@500", "--replicates", 2, *judge)
    found = told(*options)

    assert "Tokens asked" in shown.stderr
    rows = {(row["condition"], row["window"]): row for row in found["rows"]}
    assert rows["TS", 500]["units_read"] == rows["TS", 2000]["units_read"] == 24
    assert 0 <= rows["TS", 2000]["wins_directness_%"] <= 100
    assert rows["TS", 500]["wins_directness_%"] is None
    assert rows["C0", 2000]["wins_directness_%"] is None  # that pair was not judged
    run("eval", "report", "ablation")
    assert "TS@2k" in Path("ablation/report.md").read_text(encoding="utf-8")


def test_levels_and_communities_need_no_model(run: Run, told: Told, sampled: Path, asked: Path):
    levels = told("eval", "ablate", "levels", "--index", sampled, "--questions", asked, "--out", "l")
    assert {row["level"] for row in levels["rows"]} >= {"C0", "C1"}
    assert Path("l/ablation_levels.svg").exists()

    try:
        import networkx  # noqa: F401  # pyright: ignore[reportMissingImports, reportMissingModuleSource, reportUnusedImport]
    except ImportError:
        told_ = run("eval", "ablate", "communities", "--index", sampled, "--seeds", 1, code=2).stderr
        assert "pip install 'conspectus[eval]'" in told_
        return
    found = told("eval", "ablate", "communities", "--index", sampled, "--seeds", 2)
    assert {row["method"] for row in found["rows"]} == {"Leiden", "Louvain"}


def test_reports_of_a_model_are_written_once_and_compared(run: Run, told: Told, papers: Path, asked: Path):
    with SimulatedServer(Behaviour()) as server:
        options = ("eval", "ablate", "reports", "--index", papers, "--checked", 2, "--questions", asked, *using(server))
        seen = told(*options, "--dry-run")
        assert server.counts["requests"] == 0
        run(*options)
        written, requests = server.counts["WriteReport"], server.counts["requests"]
        found = told(*options)
        assert server.counts["requests"] == requests

    assert {row["writer"] for row in found["rows"]} == {"extractive", "simulated"}
    assert seen["estimates"]["reports"]["tasks"][0]["calls"] == [written, written]
    assert all(row["answers"] == 3 for row in found["rows"] if row["level"] == "all")


def test_the_reports_of_an_index_of_a_model_need_none(told: Told, run: Run, papers: Path, sampled: Path):
    found = told("eval", "ablate", "reports", "--index", papers, "--checked", 1)

    assert {row["writer"] for row in found["rows"]} == {"extractive", "index"}
    assert "The reports of the index were written by simulated." in found["notices"]
    assert "--model" in run("eval", "ablate", "reports", "--index", sampled, code=2).stderr


def test_numbers_are_numbers(run: Run, sampled: Path):
    said = run("eval", "ablate", "chunks", "--index", sampled, "--sizes", "600,big", code=2).stderr

    assert "--sizes takes numbers with commas between" in said


def test_columns_are_shown_as_words():
    assert heading("entities_named_%") == "entities named, %"
    assert heading("chunk_tokens") == "chunk tokens"
