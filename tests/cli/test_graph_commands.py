"""`conspectus import triples` and `openie`, and `conspectus eval kgqa` and `qa`."""

from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from conspectus.cli.app import app

RUN = CliRunner()


def test_a_graph_is_imported_asked_and_measured(tmp_path: Path):
    kb, asked, folder = tmp_path / "kb.txt", tmp_path / "questions.jsonl", str(tmp_path / "index")
    kb.write_text("Rook|built_at|Kell\nRook|owner|Ada Byrne\nnonsense\n")
    question = {"id": "1", "topic_entity": "Rook", "question": "who owned Rook", "answers": ["Ada Byrne"]}
    asked.write_text(json.dumps(question) + "\n")

    imported = RUN.invoke(app, ["import", "triples", str(kb), "--index", folder])
    answers = ["--answers", str(tmp_path / "answers.jsonl"), "--json"]
    measured = RUN.invoke(app, ["eval", "kgqa", str(asked), "--index", folder, "--methods", "tog,tog1", *answers])

    assert imported.exit_code == 3  # a line of the file is no triple
    assert "2 triples, 3 entities, 2 relationships" in imported.output
    assert measured.exit_code == 0, measured.output
    assert json.loads(measured.stdout)["tog"]["Hits@1"] == 1
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 2


def test_triples_of_passages_are_imported_into_their_index(tmp_path: Path):
    corpus, openie = tmp_path / "corpus.jsonl", tmp_path / "openie.jsonl"
    corpus.write_text(json.dumps({"_id": "7", "title": "Rook", "text": "Rook was built at Kell for Ada Byrne."}) + "\n")
    openie.write_text(json.dumps({"_id": "7", "entities": ["Rook"], "triples": [["Rook", "built at", "Kell"]]}) + "\n")
    folder = str(tmp_path / "index")
    assert RUN.invoke(app, ["index", str(corpus), "--index", folder]).exit_code == 0

    imported = RUN.invoke(app, ["import", "openie", str(openie), "--index", folder, "--json"])
    found = RUN.invoke(app, ["search", "where was Rook built", "--index", folder, "--method", "hippo", "--json"])

    assert imported.exit_code == 0, imported.output
    assert json.loads(imported.stdout)["rows"]["triples"] == 1
    assert json.loads(found.stdout)["hits"][0]["title"] == "Rook"


def test_questions_without_a_known_form_are_a_usage_error(tmp_path: Path):
    kb = tmp_path / "kb.txt"
    kb.write_text("Rook|owner|Ada\n")
    RUN.invoke(app, ["import", "triples", str(kb), "--index", str(tmp_path / "index")])

    assert RUN.invoke(app, ["eval", "qa", str(kb), "--index", str(tmp_path / "index")]).exit_code == 2
