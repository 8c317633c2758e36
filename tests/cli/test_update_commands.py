"""Tests of the output of `conspectus index` for an existing index, of `status --history` and of `rollback`."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from conspectus import api

Run = Callable[..., Result]
Told = Callable[..., Any]


@pytest.fixture
def changing(corpus: Path, run: Run, tmp_path: Path) -> Path:
    """A copy of the corpus, indexed in `.conspectus`, that tests may change."""
    shutil.copytree(corpus, tmp_path / "papers")
    run("index", "papers")
    return tmp_path / "papers"


def change(papers: Path) -> None:
    (papers / "new.txt").write_text("Nobody in Hollin ever forgave Ruben Vale.")
    (papers / "flood.txt").write_text("In March 1903 the river Tarn flooded Hollin.")
    (papers / "school.txt").rename(papers / "pupils.txt")
    (papers / "letter.txt").unlink()


def test_where_nothing_changed_that_is_said(changing: Path, run: Run, told: Told):
    snapshot = api.open_index(".conspectus").snapshot

    assert run("index", "papers").stdout == f"Nothing has changed: 6 documents, snapshot {snapshot}.\n"
    said = told("index", "papers")
    assert said["unchanged"]
    assert said["changes"] == {"added": [], "edited": [], "renamed": [], "deleted": [], "unchanged": 6}
    assert said["snapshot"] == snapshot


def test_an_update_says_what_changed(changing: Path, run: Run, told: Told):
    change(changing)
    result = run("index", "papers")

    assert "Documents: 1 added, 1 edited, 1 renamed, 1 deleted, 3 unchanged." in result.stdout
    (changing / "new.txt").unlink()
    assert told("index", "papers")["changes"]["deleted"] == ["papers/new.txt"]


def test_other_settings_say_why_all_is_made_anew(changing: Path, run: Run, told: Told):
    assert (
        "Rebuilt from scratch: chunk.tokens was 600 and is now 300."
        in run("index", "papers", "--chunk-tokens", 300).stdout
    )
    assert told("index", "papers", "--fresh", "--chunk-tokens", 300)["rebuild_reasons"] == ["as requested"]


def test_a_preview_says_what_would_be_done_again_and_does_nothing(changing: Path, run: Run, told: Told):
    assert "Nothing has changed since snapshot" in run("index", "papers", "--dry-run").stdout
    change(changing)
    before = api.open_index(".conspectus").snapshot

    said = run("index", "papers", "--dry-run").stdout

    assert f"Since snapshot {before}: 1 added, 1 edited, 1 renamed, 1 deleted, 3 unchanged." in said
    assert "Chunks to read: 2 of 6." in said
    assert api.open_index(".conspectus").snapshot == before
    seen = told("index", "papers", "--dry-run")
    assert seen["changes"]["renamed"] == [["papers/school.txt", "papers/pupils.txt"]]
    assert (seen["new_chunks"], seen["chunks"]) == (2, 6)


def test_a_preview_says_why_all_would_be_made_anew(changing: Path, run: Run):
    assert (
        "Would rebuild from scratch: as requested." in run("index", "papers", "--dry-run", "--fresh").stdout
    )


# Snapshots


def test_the_history_lists_the_snapshots_the_newest_first(changing: Path, run: Run, told: Told):
    first = api.open_index(".conspectus").snapshot
    change(changing)
    run("index", "papers")
    second = api.open_index(".conspectus").snapshot

    snapshots = told("status", "--history")["snapshots"]
    assert [(s["snapshot"], s["current"], s["before"], s["documents"]) for s in snapshots] == [
        (second, True, first, 6),
        (first, False, "", 6),
    ]
    lines = run("status", "--history").stdout.splitlines()
    assert lines[1].split()[:2] == ["*", second]
    assert lines[2].split()[0] == first


def test_rolling_back_returns_to_the_snapshot_before_and_forward_by_its_id(
    changing: Path, run: Run, told: Told
):
    first = api.open_index(".conspectus").snapshot
    change(changing)
    run("index", "papers")
    second = api.open_index(".conspectus").snapshot

    result = run("rollback")
    assert result.stdout == f"Snapshot {first} is current again (6 documents).\n"
    assert f"conspectus rollback {second}" in result.stderr
    assert any("school.txt" in d.path for d in api.open_index(".conspectus").documents)
    assert told("rollback", second[:7]) == {"index": ".conspectus", "snapshot": second, "was": first}
    assert "is already the current one" in run("rollback", second).stdout


def test_after_rolling_back_the_same_sources_are_indexed_as_an_update(changing: Path, run: Run):
    change(changing)
    run("index", "papers")
    second = api.open_index(".conspectus").snapshot
    run("rollback")

    assert "1 added" in run("index", "papers").stdout
    assert api.open_index(".conspectus").snapshot == second


def test_what_cannot_be_rolled_back_is_one_line(changing: Path, run: Run):
    assert "has no snapshot before the current one" in run("rollback", code=1).stderr
    assert "has no snapshot whose id begins with 'abc'" in run("rollback", "abc", code=1).stderr
    assert "there is no index in nowhere" in run("rollback", "--index", "nowhere", code=1).stderr
    assert not Path("nowhere").exists()


def test_as_many_snapshots_are_kept_as_are_asked_for(changing: Path, run: Run, told: Told):
    for n in range(4):
        (changing / "new.txt").write_text(f"Ruben Vale came back on day {n}.")
        run("index", "papers", "--set", "store.snapshots=3")

    assert len(told("status", "--history")["snapshots"]) == 3
    run("index", "papers", "--set", "store.snapshots=1")  # even if nothing changed
    assert len(told("status", "--history")["snapshots"]) == 1
    assert api.open_index(".conspectus").documents


def test_documents_that_take_the_place_of_all_others_are_announced(changing: Path, run: Run, tmp_path: Path):
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "a.txt").write_text("Vera Stone sued the Kell Council over the quay.")

    notice = run("index", "others").stderr
    assert "6 documents of papers" in notice
    assert "conspectus rollback" in notice
    assert run("index", "others", "papers").stderr == ""
    assert run("index", "papers", "--quiet").stderr == ""
