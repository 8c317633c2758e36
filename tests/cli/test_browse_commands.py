"""Tests of `conspectus status`, `report`, `entity` and `path`."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from conspectus.index import Index
from conspectus.retrieval.global_ import level_of
from conspectus.settings import GlobalSettings

Run = Callable[..., Result]
Told = Callable[..., Any]


def text_of(source: dict[str, Any]) -> str:
    return Path(source["document"]).read_text(encoding="utf-8-sig")[source["start"] : source["end"]]


# Status


def test_status_counts_what_the_tables_hold(told: Told, sampled: Path, opened: Index):
    said = told("status", "--index", sampled)

    for table in ("documents", "chunks", "entities", "relationships", "claims"):
        assert said[table] == len(getattr(opened, table)), table
    assert said["tokens"] == sum(c.n_tokens for c in opened.chunks)
    assert said["snapshot"] == opened.snapshot
    assert said["failures"] == []
    assert said["usage"] == {
        "calls": 0,
        "cached_calls": 0,
        "prompt_tokens": 0,
        "completion_tokens": 0,
        "cost": 0.0,
    }


def test_status_gives_the_figures_of_each_level_as_the_papers_table_2(
    told: Told, sampled: Path, opened: Index
):
    said = told("status", "--index", sampled)

    assert [row["level"] for row in said["levels"]] == list(opened.levels)
    for row in said["levels"]:
        view = opened.reports_at(row["level"])
        assert row["communities"] == len(view)
        assert row["own"] == sum(r.level == row["level"] for r in opened.reports)
        assert row["tokens"] == sum(r.n_tokens for r in view)
        assert row["share"] == pytest.approx(row["tokens"] / said["tokens"])


def test_a_person_sees_the_levels_as_columns(run: Run, sampled: Path, opened: Index):
    lines = run("status", "--index", sampled).stdout.splitlines()

    (units,) = (line.split() for line in lines if line.startswith("Units"))
    assert units[1:] == [*(str(len(opened.reports_at(n))) for n in opened.levels), str(len(opened.chunks))]
    assert any(line.split()[:2] == ["level", "0"] and line.endswith("texts") for line in lines)


def test_no_share_of_the_texts_is_above_all_of_them(run: Run, told: Told, tmp_path: Path):
    (tmp_path / "a.txt").write_text(
        "Ada Brook met Ruben Vale at Orran Mill. Ruben Vale left Orran Mill to Ada Brook."
    )
    run("index", tmp_path)

    assert told("status")["levels"][0]["share"] > 1
    assert "%" not in run("status").stdout


# Reports


def test_the_tree_cut_at_a_level_holds_every_report_above_it_once_but_brief_ones(
    told: Told, sampled: Path, opened: Index
):
    def numbers(branches: list[dict[str, Any]]) -> list[int]:
        return [n for b in branches for n in (b["number"], *numbers(b["children"]))]

    full = [report for report in opened.reports if not report.brief]
    for level in opened.levels:
        shown = numbers(told("report", "--index", sampled, "--level", level)["reports"])
        assert sorted(shown) == [r.number for r in full if r.level <= level]
    assert sorted(numbers(told("report", "--index", sampled)["reports"])) == [r.number for r in full]


def test_a_person_sees_the_tree_down_to_the_usual_level_and_how_to_see_more(
    run: Run, sampled: Path, opened: Index
):
    result = run("report", "--index", sampled)

    usual = level_of(opened, GlobalSettings())
    full = [report for report in opened.reports if not report.brief]
    assert len(result.stdout.splitlines()) == sum(r.level <= usual for r in full)
    deeper = sum(r.level > usual for r in full)
    assert f"{len(opened.reports) - len(full)} brief reports" in result.stderr
    assert f"{deeper} more reports below: --level {len(opened.levels) - 1} shows all" in result.stderr
    assert "├─ " in run("report", "--index", sampled, "--level", "1").stdout


def test_one_report_leads_up_and_down_and_to_its_sources(told: Told, sampled: Path, opened: Index):
    parent = next(r for r in opened.reports if opened.communities[r.community].children)
    below = [r for r in opened.reports if r.parent == parent.community]

    said = told("report", parent.number, "--index", sampled)

    assert said["id"] == parent.id
    assert said["title"] == parent.title
    assert said["above"] is None
    assert [b["number"] for b in said["below"]] == [r.number for r in below]
    assert told("report", below[0].number, "--index", sampled)["above"]["number"] == parent.number
    assert said["citations"]
    assert said["removed_references"] == 0
    for source in (s for c in said["citations"] for s in c["sources"]):
        assert source["text"] == text_of(source)


def test_a_report_is_found_by_its_number_its_community_and_the_start_of_its_id(
    told: Told, sampled: Path, opened: Index
):
    report = opened.reports[3]

    for name in (report.number, f"c{report.community}", report.id, f"{report.id[:12]}"):
        assert told("report", name, "--index", sampled)["id"] == report.id


def test_one_report_is_markdown_with_its_ways(run: Run, sampled: Path, opened: Index):
    child = next(r for r in opened.reports if r.parent >= 0)
    parent = opened.report_of_community[child.parent]

    out = run("report", child.number, "--index", sampled).stdout

    assert out.startswith(f"# {child.title}\n")
    assert f"Part of: {parent.number}  {parent.title}" in out
    assert "[1]" in out.partition("\nSources\n")[0]
    assert "[Data:" not in out


@pytest.mark.parametrize("name", ["9999", "zzz", "c9999", "abc"])
def test_a_report_that_is_not_there_is_an_error_that_says_how_to_name_one(run: Run, sampled: Path, name: str):
    result = run("report", name, "--index", sampled, code=1)

    assert f"there is no report '{name}'" in result.stderr
    assert "the first 6 characters of its id" in result.stderr


@pytest.mark.parametrize("args", [["--level", "40"], ["0", "--level", "1"]])
def test_a_level_that_makes_no_sense_is_a_mistake_of_usage(run: Run, sampled: Path, args: list[str]):
    assert "level" in run("report", *args, "--index", sampled, code=2).stderr


# Entities and paths


def test_an_entity_is_shown_with_all_that_the_graph_knows(told: Told, sampled: Path, opened: Index):
    said = told("entity", "  ishbel CORRAN ", "--index", sampled)

    entity = opened.entities[said["number"]]
    assert (said["name"], said["type"], said["description"]) == (entity.name, entity.type, entity.description)
    assert said["name"] == "Ishbel Corran"
    assert said["type"] == "person"
    assert said["degree"] == len(opened.edges_of(entity.number)) >= len(said["relationships"]) == 10
    weights = [edge["weight"] for edge in said["relationships"]]
    assert weights == sorted(weights, reverse=True)
    for edge in said["relationships"]:
        assert edge["source"] == entity.name
        assert edge["sources"]
        assert all(s["text"] == text_of(s) for s in edge["sources"])
    assert [c["community"] for c in said["communities"]] == list(opened.communities_of(entity.number))
    assert sum(d["chunks"] for d in said["documents"]) == entity.frequency


def test_a_person_sees_an_entity_with_sentences(run: Run, sampled: Path):
    out = run("entity", "Ishbel Corran", "--index", sampled).stdout

    assert out.startswith("Ishbel Corran  (person)\n")
    for heading in ("Relationships (the 10 strongest of ", "Communities", "Documents ("):
        assert heading in out
    assert "    “" in out


def test_an_unknown_name_is_an_error_with_what_is_near(run: Run, sampled: Path):
    said = run("entity", "Ishbel Coran", "--index", sampled, code=1).stderr

    assert said.startswith("error: there is no 'Ishbel Coran' in the graph; did you mean Ishbel Corran")


def test_a_path_is_shown_step_by_step_with_its_sentences(told: Told, run: Run, sampled: Path):
    said = told("path", "dorothea quill", "lapwing", "--index", sampled)

    assert said["connected"]
    assert (said["source"], said["target"]) == ("Dorothea Quill", "Lapwing")
    ends = [said["source"], *(step["target"] for step in said["steps"])]
    assert ends[-1] == "Lapwing"
    assert [step["source"] for step in said["steps"]] == ends[:-1]
    for step in said["steps"]:
        assert step["sources"]
        assert all(s["text"] == text_of(s) for s in step["sources"])
    assert run("path", "dorothea quill", "lapwing", "--index", sampled).stdout.startswith(
        " - ".join(ends) + "\n"
    )


def test_a_path_to_an_unknown_name_and_to_itself_are_errors(run: Run, sampled: Path):
    assert "did you mean" in run("path", "Dorothea Quill", "Lapwng", "--index", sampled, code=1).stderr
    assert "are one entity" in run("path", "Lapwing", "lapwing", "--index", sampled, code=2).stderr


def test_a_report_cites_a_passage_by_one_number(told: Told, sampled: Path, opened: Index):
    for report in opened.reports[:6]:
        shown = told("report", report.number, "--index", sampled)

        passages = [json.dumps(citation["sources"]) for citation in shown["citations"]]
        assert len(passages) == len(set(passages))
        assert set(re.findall(r"\[(\d+)\]", shown["text"])) == {str(c["marker"]) for c in shown["citations"]}


def test_status_counts_the_files_that_were_not_read_by_reason(
    run: Run, told: Told, corpus: Path, tmp_path: Path
):
    shutil.copytree(corpus, tmp_path / "mixed")
    for name in ("a.xyz", "b.xyz", "c.png"):
        (tmp_path / "mixed" / name).write_bytes(b"x")
    run("index", "mixed")

    assert sorted(told("status")["skipped"].values()) == [1, 2]
    shown = run("status").stdout
    assert "2 files: .xyz files are not read" in shown
