"""Tests of `conspectus export`, `map`, `check` and `import graphrag`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from conspectus import api
from conspectus.index import Index
from conspectus.interchange.exporting import FORMATS

Run = Callable[..., Result]
Told = Callable[..., Any]


@pytest.mark.parametrize("format", FORMATS)
def test_each_format_is_written_under_its_usual_name_and_under_another(run: Run, indexed: Path, format: str):
    run("export", format, "--index", indexed)
    run("export", format, "--index", indexed, "--out", "elsewhere")

    assert Path(FORMATS[format][0]).exists()
    assert Path("elsewhere").exists()


@pytest.mark.parametrize("command", [("export", "json"), ("export", "csv"), ("map",), ("tune", "papers")])
def test_an_output_in_a_folder_that_does_not_exist_is_refused_and_no_folder_is_made(
    run: Run, indexed: Path, command: tuple[str, ...]
):
    assert "no folder new/one;" in run(*command, "--out", "new/one/map.html", code=2).stderr
    assert not Path("new").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_an_output_that_cannot_be_written_is_a_mistake_of_usage(run: Run, indexed: Path, format: str):
    Path("taken").write_text("x")
    out = "taken" if "." not in FORMATS[format][0] else "taken/graph"

    assert (
        f"{out} cannot be written" in run("export", format, "--index", indexed, "--out", out, code=2).stderr
    )
    assert Path("taken").read_text() == "x"


def test_an_unknown_format_lists_those_there_are(run: Run, indexed: Path):
    assert "obsidian" in run("export", "gexf", "--index", indexed, code=2).stderr


def test_a_level_that_is_not_there_is_an_error_before_anything_is_written(run: Run, indexed: Path):
    assert "levels 0 to" in run("map", "--index", indexed, "--level", 99, code=2).stderr
    assert not Path("map.html").exists()


def test_a_map_is_one_page(run: Run, indexed: Path):
    said = run("map", "--index", indexed, "--out", "graph.html").stdout

    assert said.startswith("graph.html: ")
    assert Path("graph.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_map_of_another_kind_is_refused(run: Run, indexed: Path):
    assert ".html" in run("map", "--index", indexed, "--out", "map.gif", code=2).stderr


def test_check_finds_our_index_whole_and_as_graphrag_reads_it(run: Run, told: Told, indexed: Path):
    assert "match the schema of GraphRAG 3.x" in run("check", "--index", indexed).stdout
    assert told("check", "--index", indexed) == {"mismatches": []}


def test_what_was_exported_for_graphrag_is_imported_and_answers(run: Run, told: Told, indexed: Path):
    run("export", "graphrag", "--index", indexed)
    run("check", "output")

    said = told("import", "graphrag", "output", "--index", "imported")

    before: Index = api.open_index(indexed)
    assert said["rows"]["entities"] == len(before.entities)
    assert said["rows"]["reports"] == len(before.reports)
    shown = run("status", "--index", "imported").stdout
    assert "Imported" in shown
    assert "No language model was asked" not in shown  # unknown for an index of another tool
    answer = told("ask", "Who bought the Orran Mill?", "--index", "imported", "--method", "local")
    assert "Ada Brook bought the Orran Mill" in answer["answer"]


def test_import_of_a_folder_without_tables_leaves_no_index(run: Run, tmp_path: Path):
    assert "output folder" in run("import", "graphrag", tmp_path, "--index", "imported", code=1).stderr
    assert not Path("imported").exists()
