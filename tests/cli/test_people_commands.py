"""`eval people` and `eval report`: from blinded pairs to agreement, and the report page."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from simulated_server import SimulatedServer
from typer.testing import Result

Run = Callable[..., Result]
Told = Callable[..., Any]
ASKED = [f"What did Ada Byrne do in {year}?" for year in range(1900, 1908)]


@pytest.fixture
def study(run: Run, papers: Path, tmp_path: Path) -> Path:
    """A comparison of three conditions without a model."""
    (tmp_path / "asked.txt").write_text("\n".join(ASKED), encoding="utf-8")
    run("eval", "answers", "asked.txt", "--index", papers, "--conditions", "C0,TS,bm25", "--out", "study")
    return tmp_path / "study"


def rate(table: Path, rater: str, choice: Callable[[dict[str, str]], str]) -> Path:
    """Fill in a table for raters."""
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    file = table.with_name(f"{rater}.csv")
    with file.open("w", encoding="utf-8", newline="") as told:
        writer = csv.DictWriter(told, rows[0])
        writer.writeheader()
        writer.writerows({**row, "choice": choice(row), "rater": rater} for row in rows)
    return file


def longer(row: dict[str, str]) -> str:
    first, second = len(row["answer_1"]), len(row["answer_2"])
    return "1" if first > second else "2"


def test_from_pairs_to_agreement(run: Run, told: Told, study: Path, server: SimulatedServer):
    options = ("--sample", 4, "--criteria", "comprehensiveness,directness", "--pairs", "C0:TS,C0:bm25")
    Path("raters").mkdir()
    Path("out").mkdir()
    shown = run("eval", "people", "export", "study", "--out", "raters/pilot", *options)
    assert "pairs by comprehensiveness, directness in raters/pilot.html and raters/pilot.csv" in shown.stdout
    files = [rate(Path("raters/pilot.csv"), name, longer) for name in ("ada", "bo", "cy")]

    before = run("eval", "people", "import", "study", *files)
    assert "ada, bo, cy" in before.stdout
    judge = (
        "--judge-model",
        "simulated",
        "--base-url",
        server.url,
        "--criteria",
        "comprehensiveness,directness",
    )
    run("eval", "judge", "study", *judge, "--replicates", 1)
    found = told("eval", "people", "agreement", "study")

    with_judge = {row["raters"][0] for row in found if "simulated" in row["raters"]}
    assert with_judge == {"ada", "bo", "cy", "majority of raters"}
    assert {row["kappa"] for row in found if "simulated" not in row["raters"]} == {1.0}
    run("eval", "report", "study", "--out", "out/told.html")
    page = Path("out/told.html").read_text(encoding="utf-8")
    assert "Fleiss" in page
    assert Path("out/told.md").exists()


def test_an_export_tells_where_its_files_are(told: Told, study: Path):
    made = told("eval", "people", "export", "study", "--out", "pilot.csv", "--sample", 2)

    assert (made["page"], made["table"]) == ("pilot.html", "pilot.csv")
    with Path("pilot.csv").open(encoding="utf-8") as table:
        rows = list(csv.DictReader(table))
    assert len({row["item"] for row in rows}) == made["pairs"]
    assert {row["criterion"] for row in rows} == set(made["criteria"])


def test_what_cannot_be_imported_is_told(run: Run, study: Path):
    assert "has no column" in run("eval", "people", "import", "study", "asked.txt", code=2).stderr
    assert "cannot be read" in run("eval", "people", "import", "study", "none.csv", code=1).stderr
    assert "no ratings" in run("eval", "people", "agreement", "study", code=2).stderr


def test_a_report_says_what_is_missing(run: Run, told: Told, study: Path):
    shown = run("eval", "report", "study")

    assert "study/report.html" in shown.stdout
    assert "Missing, as the report says:" in shown.stderr
    assert "No answers were judged." in told("eval", "report", "study")["missing"]
    assert run("eval", "report", "study", "--quiet").stderr == ""


def test_a_report_of_nothing_is_refused(run: Run):
    assert "there are no answers in nowhere" in run("eval", "report", "nowhere", code=2).stderr
