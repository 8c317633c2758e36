"""The scripts of `reproduce/` for GraphRAG's tables and figures: without a model, with a simulated one, and with
recorded answers, judgements and claims of a strong one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import using
from simulated_server import SimulatedServer

from conspectus.evaluation import comparison, judge
from conspectus.evaluation.comparison import Judgement

REPRODUCE = Path(__file__).parents[2] / "reproduce"
Tables = list[dict[str, Any]]
Script = Callable[..., Tables]


def ours(table: dict[str, Any]) -> dict[str, list[str]]:
    return {label: cells for label, whose, cells in table["rows"] if whose == "ours"}


def paper(table: dict[str, Any]) -> dict[str, list[str]]:
    return {label: cells for label, whose, cells in table["rows"] if whose == "paper"}


def test_what_a_level_reads_and_communities_need_no_model(script: Script):
    (table,) = script("p1_table2", "--sample-corpus")
    assert paper(table)["units"] == ["34", "367", "969", "1,310", "1,669"]
    assert ours(table)["units"][-1] == "43"
    assert any("not the paper's" in line for line in table["differs"])

    (figure,) = script("p1_figure4", "--sample-corpus")
    assert [cells[3] for cells in ours(figure).values()] == ["100", "100"]


@pytest.mark.parametrize(
    "name",
    [
        "p1_table1", "p1_table3", "p1_table4", "p1_table5",
        pytest.param("p1_figure3", marks=pytest.mark.long),
    ],
)  # fmt: skip
def test_what_needs_no_model_runs_on_the_sample_corpus(script: Script, name: str):
    tables = script(name, "--sample-corpus", "--sample", "2")

    assert tables
    for table in tables:
        assert ours(table)
        assert any("our sample corpus" in line for line in table["differs"]) or name == "p1_table1"


def test_judging_without_a_model_or_a_study_is_refused(script: Script):
    with pytest.raises(SystemExit, match="--model"):
        script("p1_table6", "--sample-corpus")


def test_a_study_without_answers_is_refused(script: Script, tmp_path: Path):
    with pytest.raises(SystemExit, match="no comparison"):
        script("p1_table3", "--study", str(tmp_path))


def test_missing_data_is_named_with_where_to_get_it(script: Script, tmp_path: Path):
    with pytest.raises(SystemExit, match="graphrag-benchmarking-datasets"):
        script("p1_table2", "--data", str(tmp_path))


def test_a_dry_run_says_the_cost_and_asks_nothing(
    script: Script, server: SimulatedServer, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as ended:
        script("p1_table2", "--sample-corpus", "--dry-run", *using(server))

    assert ended.value.code == 0
    assert "Task (simulated)" in capsys.readouterr().err
    assert not server.counts["ExtractGraph"]


def test_the_news_are_extracted_without_gleaning_as_in_the_paper(
    script: Script, server: SimulatedServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "news").mkdir()
    article = {"title": "Rook", "body": "Ada Byrne bought the barge Rook at Kell."}
    (tmp_path / "news" / "corpus.json").write_text(json.dumps([article]), "utf-8")
    with pytest.raises(SystemExit):
        script("p1_table2", "--dataset", "news", "--data", str(tmp_path), "--dry-run", *using(server))

    cost = capsys.readouterr().err
    assert "extract entities" in cost
    assert "check for missed entities" not in cost


@pytest.mark.long
def test_a_model_builds_asks_judges_and_counts_as_the_paper_does(script: Script, server: SimulatedServer):
    options = ("--sample-corpus", "--sample", "2", *using(server), "--embedder", "simulated")

    (questions,) = script("p1_table1", *options)
    assert len(questions["rows"]) == 5
    (units,) = script("p1_table2", *options)
    assert "-" not in ours(units)["units"][:2]
    tables = script("p1_table6", *options)
    assert [len(cells) for cells in ours(tables[0]).values()][:1] == [4]
    claims, clusters, _ = script("p1_table3", *options)
    assert ours(claims)["claims"][0] != "-"
    assert ours(clusters)["at 0.5"][0] != "-"


@pytest.mark.long
def test_windows_of_vector_search_are_judged_against_each_other(script: Script, server: SimulatedServer):
    tables = script(
        "p1_appendix_c", "--sample-corpus", "--sample", "2", *using(server), "--embedder", "simulated"
    )

    assert [table["columns"] for table in tables] == [["16k", "32k", "64k", "mean"]] * 4


@pytest.fixture
def study(shared: Path, tmp_path: Path) -> Path:
    """The recorded comparison of a strong model, whose judges did not see the cited sources."""
    folder = tmp_path / "study"
    folder.mkdir()
    for file in (shared / "strong-model" / "study").iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    recorded = comparison.study_in(folder)
    plan = judge.plan_of(recorded, comparison.judgements_in(folder))
    assert plan
    now = {one.key("openai/strong"): one.made_with("openai/strong") for one in plan.comparisons}
    table = comparison.judgements_in(folder)
    for row in [*table.rows.values()]:
        table.add(replace(row, made_with=now[key_of(row)]))
    return folder


def key_of(row: Judgement) -> tuple[str, str, str, str, int, str]:
    return (*sorted((row.first, row.second)), row.criterion, row.question, row.replicate, "openai/strong")  # type: ignore[return-value]


def test_recorded_answers_of_a_strong_model_are_measured_without_a_model(script: Script, study: Path):
    claims, clusters, agreement = script("p1_table3", "--study", str(study))
    assert ours(claims)["claims"][0].startswith("92.75 (")
    assert ours(claims)["claims"][1] == "-"
    assert paper(clusters)["at 0.5"][0] == "23.16"
    assert ours(agreement)["pairs"]

    tables = script("p1_table6", "--study", str(study))
    assert ours(tables[0])["C0 - TS"][3] == "4"
    assert paper(tables[0])["C0 - TS"] == ["50.24", "-0.06", "1", "125"]
    assert len(script("p1_figure2", "--study", str(study))) == 4
    (example,) = script("p1_table5", "--study", str(study))
    assert {"C0", "TS"} <= ours(example).keys()
    assert "(Answer 1 is " in ours(example)["comprehensiveness"][0]
