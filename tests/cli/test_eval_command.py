"""`conspectus eval retrieval`, and the models that eval commands use if none is named."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import using
from simulated_server import Behaviour, SimulatedServer
from typer.testing import CliRunner, Result

from conspectus.cli.evaluate import app


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").mkdir()
    passages = [
        {"_id": "1", "title": "Bees", "text": "Bees swarm."},
        {"_id": "2", "title": "", "text": "Cows graze."},
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, passages)))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "Who swarms?"}')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t1\t1\n")
    return tmp_path


def ranked(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["retrieval", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_json_has_the_measures_of_each_method(folder: Path):
    found = json.loads(ranked(folder, "--methods", "bm25,walk", "-k", "3", "-k", "20", "--json"))

    assert list(found) == ["bm25", "walk"]
    assert found["bm25"]["R@2"] == found["walk"]["R@3"] == found["walk"]["nDCG@10"] == 1
    assert found["bm25"]["queries"] == 1
    assert found["bm25"]["ms"] >= 0


def test_the_table_shows_intervals_and_differences_to_the_first_method(folder: Path, tmp_path: Path):
    shown = ranked(folder, "--index", tmp_path / "elsewhere")

    assert "nDCG@10" in shown
    assert "bm25: 100.0 (100.0 to 100.0)" in shown
    assert "+0.0 (+0.0 to +0.0) over bm25" in shown
    assert (tmp_path / "elsewhere" / "manifest.json").exists()


@pytest.fixture
def failing(folder: Path) -> Iterator[list[str]]:
    """Arguments with which the server fails on one of two questions, and on nothing else."""
    (folder / "queries.jsonl").write_text(
        '{"_id": "q", "text": "Who swarms?"}\n{"_id": "r", "text": "Who grazes in Kell?"}'
    )
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write("r\t2\t1\n")
    with SimulatedServer(Behaviour(never=("Who grazes in Kell?",))) as server:
        yield [str(folder), *using(server), "--yes", "--set", "llm.attempts=1"]


def test_questions_that_failed_are_named_and_their_method_is_not_compared(failing: list[str]):
    arguments = ["retrieval", *failing, "--methods", "bm25,ircot"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)

    assert result.exit_code == 3
    assert "ircot, question r" in result.stderr
    assert "bm25: the model was not called" in result.stderr
    assert "over bm25" not in result.stdout
    shown = CliRunner().invoke(app, [*arguments, "--json", "--quiet"], catch_exceptions=False)
    assert list(json.loads(shown.stdout)["ircot"]["failures"]) == ["r"]


def test_a_dry_run_says_what_would_be_asked_and_asks_nothing(folder: Path):
    with SimulatedServer(Behaviour()) as server:
        shown = ranked(folder, "--methods", "hipporag", "--dry-run", *using(server))

        assert "hipporag" in shown
        assert not server.counts["ExtractTriples"]
    keyless = ("--model", "openai/gpt-4.1-mini", "--dry-run")
    assert "openai/gpt-4.1-mini" in ranked(folder, "--methods", "hipporag", *keyless)


def test_a_dry_run_of_short_answers_says_what_would_be_asked_and_asks_nothing(
    run: Callable[..., Result], papers: Path, server: SimulatedServer
):
    Path("asked.jsonl").write_text('{"question": "What did Ada Byrne buy?", "answer": "Lune Mills"}')
    qa = ("eval", "qa", "asked.jsonl", "--index", papers, "--methods", "bm25,direct")
    before = server.counts["requests"]

    shown = run(*qa, "--dry-run").stdout

    assert "bm25: simulated" in shown
    assert "direct: simulated" in shown
    refused = run(*qa, "--dry-run", "--model", "extractive", code=2).stderr
    assert "name one with --model" in refused
    dear = ("--set", "prices={ simulated = { input = 1e4, output = 1e4 } }")
    assert "--yes" in run(*qa, *dear, code=2).stderr
    keyed = ("--model", "openai/gpt-4.1-mini")
    assert "bm25: openai/gpt-4.1-mini" in run(*qa, *keyed, "--dry-run").stdout  # without a key
    assert "needs a key" in run(*qa, *keyed, code=1).stderr
    assert server.counts["requests"] == before


def test_an_index_remembers_the_model_for_eval_commands(
    run: Callable[..., Result],
    told: Callable[..., Any],
    papers: Path,
    tmp_path: Path,
    server: SimulatedServer,
):
    (tmp_path / "asked.jsonl").write_text(
        '{"_id": "q", "text": "What did Ada Byrne buy?", "answers": ["Lune Mills"]}'
    )
    before = server.counts["requests"]

    shown = run("eval", "qa", "asked.jsonl", "--index", papers, "--methods", "bm25")

    assert server.counts["requests"] > before
    assert "Spent: " in shown.stderr
    assert "simulated" in shown.stderr  # which model is used, and why
    asked = server.counts["requests"]
    run("eval", "qa", "asked.jsonl", "--index", papers, "--methods", "bm25", "--model", "extractive")
    cut = ("--set", "chunk.tokens=100,200", "--set", "chunk.overlap=20")
    seen = told("eval", "ablate", "--index", papers, *cut, "--dry-run")
    assert server.counts["requests"] == asked
    assert [task["model"] for task in seen["estimate"]["tasks"]][:1] == ["100: simulated"]
