"""Tests of `conspectus correct`, and of what other commands print about corrections."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from conspectus import api
from conspectus.corrections import Retype

Run = Callable[..., Result]
Told = Callable[..., Any]
WHEN = "This takes effect with the next conspectus index, or at once with conspectus correct apply."


@pytest.fixture
def own(indexed: Path, tmp_path: Path) -> Path:
    """The folder of a copy of the small corpus's index, which tests may change."""
    return Path(shutil.copytree(indexed, tmp_path / "index"))


def test_each_kind_of_correction_is_kept_and_said_back(run: Run, own: Path):
    said = [
        (
            ("merge", "tarn bridge", "hollin school", "--into", "The Works"),
            "merge Tarn Bridge, Hollin School into The Works",
        ),
        (("rename", "ada brook", "Dame Ada"), "rename Ada Brook to Dame Ada"),
        (("retype", "Ada Brook", "person"), "retype Ada Brook as person"),
        (("delete", "the hollin council"), "delete Hollin Council"),
        (
            ("split", "Orran Mill", "--into", "The Sluice", "--document", "letter*"),
            "split Orran Mill in letter* into The Sluice",
        ),
        (("add-fact", "Ada Brook", "Ruben Vale", "They wed."), "add fact Ada Brook - Ruben Vale: They wed"),
    ]
    for number, (command, told) in enumerate(said, 1):
        result = run("correct", *command, "--index", own)
        assert result.stdout == f"Correction {number}: {told}.\n"
        assert WHEN in result.stderr

    listed = run("correct", "list", "--index", own)
    assert listed.stdout.splitlines()[0].split() == ["State", "Correction"]
    assert [line.split()[:2] for line in listed.stdout.splitlines()[1:7]] == [
        [str(n), "waiting"] for n in range(1, 7)
    ]
    assert f"They are saved in {own / 'corrections.toml'}." in listed.stderr

    applied = run("correct", "apply", "--index", own)
    assert "Indexed 6 documents" in applied.stdout
    assert run("correct", "list", "--index", own).stdout.count("applied") == 6


def test_corrections_are_told_to_machines(told: Told, own: Path):
    made = told(
        "correct",
        "retype",
        "Ada Brook",
        "miller",
        "--author",
        "Anna",
        "--note",
        "see the deed",
        "--index",
        own,
    )
    listed = told("correct", "list", "--index", own)

    kept = {
        "number": 1,
        "kind": "retype",
        "name": "Ada Brook",
        "type": "miller",
        "author": "Anna",
        "note": "see the deed",
    }
    assert made.items() >= kept.items()
    assert listed["corrections"] == [made | {"state": "waiting", "reason": ""}]
    told("correct", "apply", "--index", own)
    assert told("correct", "list", "--index", own)["corrections"][0]["state"] == "applied"
    assert told("correct", "undo", "1", "--index", own) == made


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (
            ("rename", "Ada Brok", "Dame Ada"),
            1,
            "error: there is no 'Ada Brok' in the graph; did you mean Ada Brook",
        ),
        (("merge", "Ada Brook"), 2, "error: merge takes two names or more"),
        (("split", "Ada Brook", "--into", "Ada"), 2, "error: Ada is not an alias of"),
        (("undo", "3"), 1, "has no correction 3"),
    ],
)
def test_what_is_wrong_is_one_line_and_nothing_is_kept(
    run: Run, own: Path, command: tuple[str, ...], code: int, said: str
):
    assert said in run("correct", *command, "--index", own, code=code).stderr
    assert not (own / "corrections.toml").exists()


def test_a_correction_that_fails_is_listed_with_why_and_told_by_the_exit_code(
    run: Run, corpus: Path, tmp_path: Path
):
    files = Path(shutil.copytree(corpus, tmp_path / "corpus"))
    folder = tmp_path / "index"
    api.build(files, folder)
    api.correct(folder, Retype("Hollin School", "school"))
    (files / "school.txt").unlink()

    result = run("index", files, "--index", folder, code=3)
    again = run("index", files, "--index", folder, code=3)

    for said in (result, again):
        assert (
            "correction 1: retype Hollin School as school: nothing is called 'Hollin School'" in said.stderr
        )
    listed = run("correct", "list", "--index", folder)
    assert "nothing is called 'Hollin School'" in " ".join(listed.stdout.split())


def test_undoing_restores_the_graph_and_a_fresh_build_communities_and_reports_too(
    run: Run, corpus: Path, tmp_path: Path
):
    folder = tmp_path / "index"
    before = api.build(corpus, folder).index
    run("correct", "merge", "Ada Brook", "Ruben Vale", "--index", folder)
    run("correct", "apply", "--index", folder)
    run("correct", "undo", "1", "--index", folder)
    run("correct", "apply", "--index", folder)
    after = api.open_index(folder)
    run("index", corpus, "--index", folder, "--fresh")
    fresh = api.open_index(folder)

    assert [e.name for e in after.entities] == [e.name for e in before.entities]
    assert len(after.relationships) == len(before.relationships)
    assert list(fresh.communities) == list(before.communities)
    assert [r.text for r in fresh.reports] == [r.text for r in before.reports]


def test_a_reader_is_told_that_a_person_said_so(run: Run, own: Path):
    run(
        "correct",
        "add-fact",
        "Ada Brook",
        "Ruben Vale",
        "Ada Brook wed Ruben Vale in Venice.",
        "--index",
        own,
    )
    run("correct", "apply", "--index", own)

    result = run("ask", "Whom did Ada Brook wed in Venice?", "--index", own)

    assert 'A person: "Ada Brook wed Ruben Vale in Venice." [1]' in result.stdout
    assert "[1] said by people, correction 1, characters" in result.stdout
