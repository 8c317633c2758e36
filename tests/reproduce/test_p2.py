"""The scripts of `reproduce/` for the tables of Graph RAG: without a model, and with a simulated one."""

from __future__ import annotations

import gzip
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import using
from simulated_server import SimulatedServer

from conspectus import interchange
from conspectus.rows import Usage

REPRODUCE = Path(__file__).parents[2] / "reproduce"
Tables = list[dict[str, Any]]
Script = Callable[..., Tables]


def ours(table: dict[str, Any]) -> dict[str, list[str]]:
    return {label: cells for label, whose, cells in table["rows"] if whose == "ours"}


def test_passages_are_ranked_without_a_model(script: Script):
    (table,) = script("p2_table4", "--sample-corpus")

    assert set(ours(table)) == {"`bm25`", "`raptor`", "`propositions`", "`hipporag`"}
    assert all(cell.startswith("100.0") for cell in ours(table)["`hipporag`"])


def test_questions_are_answered_without_a_model_but_for_closed_books(script: Script):
    (table,) = script("p2_table5", "--sample-corpus")

    assert ours(table)["`direct`"] == ["- / -"] * 3
    assert "-" not in ours(table)["`ircot` around `hipporag`"][0].split()


def test_a_model_takes_the_triples_and_says_what_questions_name(script: Script, server: SimulatedServer):
    (answered,) = script("p2_table5", "--sample-corpus", *using(server))
    (ranked,) = script("p2_table4", "--sample-corpus", *using(server))

    assert server.counts["ExtractTriples"] == 9  # once for each passage of each set, whatever the method
    assert server.counts["NameEntities"] > 9
    assert server.counts["NextThought"]
    assert all(
        "-" not in cell.split()
        for table in (ranked, answered)
        for row in ours(table).values()
        for cell in row
    )


def test_settings_are_compared_without_a_model(script: Script):
    searches, dampings = script("p2_settings", "--sample-corpus")

    assert list(ours(searches)) == ["D = 1", "D = 2", "D = 3"]
    assert ours(searches)["D = 2"][2].startswith("100.0")  # two steps to the answer
    assert ours(searches)["D = 1"][2].startswith("0.0")
    assert len(ours(dampings)) == 5
    assert all(cell.startswith("100.0") for cell in ours(dampings)["0.5"])
    assert not any("passages" in line for line in searches["differs"])  # only the second table has these
    assert any("1 questions (the paper: 1,000) among 3 passages" in line for line in dampings["differs"])


def test_tables_over_a_graph_take_the_sets_that_are_there(
    script: Script, server: SimulatedServer, tmp_path: Path
):
    (tmp_path / "kgqa").mkdir()
    rows = [{"question": "Rook was built for Ada Byrne.", "answer": "SUPPORTS"}]
    (tmp_path / "kgqa" / "fever.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "graph.tsv.gz").write_bytes(gzip.compress(b"Rook\tbuilt for\tAda Byrne\n"))
    interchange.import_triples(tmp_path / "graph.tsv.gz", tmp_path / "kgqa" / "wikidata")

    for name in ("p2_table2", "p2_table3", "p2_settings"):
        table, *_ = script(name, "--data", str(tmp_path), *using(server))
        assert any(cell != "-" for row in ours(table).values() for cell in row)
        assert any("WebQSP is not in" in line for line in table["differs"])


@pytest.mark.parametrize("name", ["p2_table5", "p2_settings"])
def test_a_dry_run_of_answers_says_the_cost_and_asks_nothing(
    script: Script, server: SimulatedServer, capsys: pytest.CaptureFixture[str], name: str
):
    with pytest.raises(SystemExit) as ended:
        script(name, "--sample-corpus", "--dry-run", *using(server))

    assert ended.value.code == 0
    assert ": simulated)" in capsys.readouterr().err
    assert not server.counts["requests"]


def test_what_a_step_spent_is_missing_from_the_budget_of_the_next(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(REPRODUCE))
    common = importlib.import_module("common")
    run = common.Run(common.parser("A table").parse_args(["--budget", "1"]))
    settings = run.settings("hipporag-paper")
    run.spent += Usage(cost=0.4)

    assert run.within_budget(settings).settings.llm.budget == 0.6
