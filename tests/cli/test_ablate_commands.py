"""`eval ablate`: over real HTTP, without a model, with failures, and with existing variants."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llm_corpus import using
from simulated_server import Behaviour, SimulatedServer
from typer.testing import Result

Run = Callable[..., Result]
Told = Callable[..., Any]
CUT = ("--set", "chunk.overlap=20", "--set", "chunk.tokens=100,200", "--set", "reports.write=false")


def test_more_gleaning_finds_more_and_nothing_is_asked_twice(run: Run, told: Told, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        gleanings = ("--set", "extract.max_gleanings=0,1,2")
        options = ("eval", "ablate", "--index", papers, *CUT, *gleanings, *using(server))
        shown = run(*options)
        before = dict(server.counts)
        table = told(*options)
        assert server.counts["requests"] == before["requests"]
        assert before.get("asked again", 0) == 0  # runs with more rounds reuse cached replies

    rows = {(row["chunk.tokens"], row["extract.max_gleanings"]): row for row in table["rows"]}
    assert list(rows) == [(size, n) for size in ("100", "200") for n in ("0", "1", "2")]
    assert rows["100", "1"]["references"] > rows["100", "0"]["references"] > rows["200", "0"]["references"]
    assert "references per chunk" in shown.stdout
    assert Path("ablation/ablation.csv").exists()


def test_a_dry_run_tells_what_each_variant_asks_and_asks_nothing(told: Told, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        options = ("eval", "ablate", "--index", papers, *CUT, *using(server))
        seen = told(*options, "--dry-run")
        assert server.counts["requests"] == 0
        assert not Path("ablation").exists()
        told(*options)
        assert told(*options, "--dry-run")["remaining"] == 0
        asked = server.counts["ExtractGraph"]

    tasks = seen["estimate"]["tasks"]
    assert (seen["total"], seen["remaining"]) == (2, 2)
    assert {task["model"] for task in tasks} == {"100: simulated", "200: simulated"}
    assert sum(task["calls"][0] for task in tasks if task["task"] == "ExtractGraph") == asked


def test_a_budget_holds_for_all_variants_together(run: Run, papers: Path):
    with SimulatedServer(Behaviour()) as server:
        options = ("eval", "ablate", "--index", papers, *CUT, *using(server))
        run(*options, "--budget-tokens", 500, code=1)
        assert server.counts["requests"] == 0


def test_failures_end_with_code_3_and_the_next_run_mends_them(run: Run, told: Told, papers: Path):
    options = ("eval", "ablate", "--index", papers, *CUT, "--set", "llm.attempts=1")
    with SimulatedServer(Behaviour(never=("matter 105",))) as ill:
        assert "the same command tries again" in run(*options, *using(ill), code=3).stderr
        failed = sum(
            json.loads(Path("ablation/ablation.json").read_text(encoding="utf-8"))["errors"].values()
        )
    with SimulatedServer(Behaviour()) as well:
        assert not told(*options, *using(well))["errors"]
        assert well.counts["ExtractGraph"] == failed > 0


def test_windows_are_answered_and_can_be_judged_and_reported(
    run: Run, told: Told, papers: Path, asked: Path, server: SimulatedServer
):
    options = (
        "eval", "ablate", "window", "--index", papers, "--questions", asked, "--conditions", "C0,TS",
        "--set", "answer.context_tokens=500,2000", *using(server),
    )  # fmt: skip
    shown = run(*options)
    judge = ("--judge-model", "simulated", "--base-url", server.url, "--criteria", "directness")

    judged = told("eval", "judge", "ablation", "--pairs", "TS@2k:TS@500", "--replicates", 2, *judge)
    table = told(*options)

    assert "Tokens asked" in shown.stderr
    assert judged["judgements"] > 0
    rows = {(row["condition"], row["answer.context_tokens"]): row for row in table["rows"]}
    assert rows["TS", "500"]["units"] == rows["TS", "2000"]["units"] == 24
    run("eval", "report", "ablation")
    assert "TS@2k" in Path("ablation/report.md").read_text(encoding="utf-8")


def test_communities_need_no_model(run: Run, told: Told, sampled: Path):
    try:
        import networkx  # noqa: F401  # pyright: ignore[reportMissingImports, reportMissingModuleSource, reportUnusedImport]
    except ImportError:
        message = run("eval", "ablate", "communities", "--index", sampled, "--seeds", 1, code=2).stderr
        assert "pip install 'conspectus[eval]'" in message
        return
    table = told("eval", "ablate", "communities", "--index", sampled, "--seeds", 2)
    assert {row["method"] for row in table["rows"]} == {"Leiden", "Louvain"}


def test_what_cannot_be_varied_is_refused(run: Run, sampled: Path):
    for varied in ("chunk.tokens=600,big", "chunk.nothing=1,2"):
        assert (
            varied.partition("=")[0]
            in run("eval", "ablate", "--index", sampled, "--set", varied, code=2).stderr
        )
    assert "--set KEY=V1,V2" in run("eval", "ablate", "nothing", "--index", sampled, code=2).stderr
    assert "--questions" in run("eval", "ablate", "--index", sampled, "--set", "search.k=1,2", code=2).stderr
