"""Evidence recall: how often the context of an answer contains every document that is needed to answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from making import an_index
from typer.testing import CliRunner

import conspectus
from conspectus.cli.app import app
from conspectus.errors import UsageError
from conspectus.evaluation import evaluate_context
from conspectus.index import Index

ROOT = Path(__file__).parents[3]
INDEX = an_index("Bees swarm in June. Bees sting.", "Ants march in June.", "Cows graze.")


def a_file(folder: Path, *rows: dict[str, object]) -> Path:
    file = folder / "questions.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    return file


def test_a_question_counts_where_all_its_documents_are_in_the_context(tmp_path: Path):
    file = a_file(
        tmp_path,
        {"question": "What do bees do?", "documents": ["0.txt"], "kind": "one"},
        {"question": "What do bees do?", "documents": ["0.txt", "2.txt"], "kind": "two", "id": "b"},
        {"question": "What swarms in June?", "documents": "1.txt"},
        {"question": "Who has no documents?"},
    )
    by_kind = evaluate_context(file, ["bm25"], INDEX)["bm25"]

    evidence = {kind: measured.means["evidence"] for kind, measured in by_kind.items()}
    assert evidence == {"all": pytest.approx(2 / 3), "one": 1, "two": 0, "1 document": 1}
    assert by_kind["two"].means["documents"] == 0.5
    assert by_kind["all"].queries == 3


def test_documents_are_known_by_the_end_of_their_paths_and_must_exist(tmp_path: Path):
    with pytest.raises(UsageError, match=r"other\.txt"):
        evaluate_context(a_file(tmp_path, {"question": "Bees?", "document": "other.txt"}), index=INDEX)
    with pytest.raises(UsageError, match="documents"):
        evaluate_context(a_file(tmp_path, {"question": "Bees?"}), index=INDEX)


def test_a_beir_folder_is_read_as_eval_retrieval_reads_it(tmp_path: Path):
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text(
        '{"_id": "p", "text": "Bees swarm."}\n{"_id": "r", "text": "Ants."}'
    )
    (tmp_path / "queries.jsonl").write_text('{"_id": "q", "text": "What do bees do?", "type": "bridge"}')
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp\t1\n")

    result = CliRunner().invoke(app, ["eval", "context", str(tmp_path), "--methods", "auto,walk", "--json"])

    measured = json.loads(result.stdout)
    assert measured["auto"]["bridge"]["evidence"] == measured["walk"]["all"]["evidence"] == 1
    assert measured["auto"]["all"]["evidence_95"] == [1, 1]


@pytest.fixture(scope="module")
def sample(sample_index: Path) -> Index:
    return conspectus.open_index(sample_index)


def test_auto_reads_the_documents_behind_the_facts_of_the_sample_corpus(sample: Index, tmp_path: Path):
    world = json.loads((ROOT / "tests" / "data" / "sample_world.json").read_text("utf-8"))
    rows = [
        {"question": row["question"], "documents": row.get("documents") or [row["document"]], "kind": kind}
        for kind in ("lookups", "multi_hop")
        for row in world[kind]
    ]
    measured = evaluate_context(a_file(tmp_path, *rows), index=sample)["auto"]

    assert sum(measured["lookups"].values["evidence"]) == 17
    assert sum(measured["multi_hop"].values["evidence"]) >= 16
