"""`conspectus eval retrieval`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

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


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["retrieval", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


def test_json_has_the_measures_of_each_method(folder: Path):
    found = json.loads(run(folder, "--methods", "bm25,walk", "-k", "3", "--json"))

    assert list(found) == ["bm25", "walk"]
    assert found["bm25"]["R@2"] == found["walk"]["R@3"] == found["walk"]["nDCG@10"] == 1
    assert found["bm25"]["queries"] == 1
    assert found["bm25"]["ms"] >= 0


def test_the_table_shows_intervals_and_differences_to_the_first_method(folder: Path, tmp_path: Path):
    shown = run(folder, "--index", tmp_path / "elsewhere")

    assert "nDCG@10" in shown
    assert "bm25: 100.0 (100.0 to 100.0)" in shown
    assert "+0.0 (+0.0 to +0.0) over bm25" in shown
    assert (tmp_path / "elsewhere" / "manifest.json").exists()
