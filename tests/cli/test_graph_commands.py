"""`conspectus import triples` and `openie`, and `conspectus eval qa`."""

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
    measured = RUN.invoke(
        app, ["eval", "qa", str(asked), "--index", folder, "--methods", "tog,tog1", *answers]
    )

    assert imported.exit_code == 3  # one line of the file is not a triple
    assert "2 triples, 3 entities, 2 relationships" in imported.output
    assert measured.exit_code == 0, measured.output
    assert json.loads(measured.stdout)["tog"]["Hits@1"] == 1
    assert len((tmp_path / "answers.jsonl").read_text().splitlines()) == 2


def test_a_graph_and_its_documents_are_imported_and_asked(tmp_path: Path):
    kb, documents, folder = tmp_path / "kb.csv", tmp_path / "docs.jsonl", str(tmp_path / "index")
    kb.write_text("head,relation,tail\nRook,built_at,Kell\nRook,owned_by,Ada Byrne\n")
    documents.write_text(
        json.dumps({"title": "Rook", "text": "The mast of Rook was cut from an Oslin pine."}) + "\n"
    )

    imported = RUN.invoke(
        app, ["import", "triples", str(kb), "--documents", str(documents), "--index", folder]
    )
    again = RUN.invoke(
        app, ["import", "triples", str(kb), "--documents", str(documents), "--index", folder, "--json"]
    )
    answered = RUN.invoke(
        app, ["ask", "From what was the mast of Rook cut?", "--method", "tog", "--index", folder]
    )

    assert imported.exit_code == 0, imported.output
    assert "Linked 1 of 1 document to 1 of 3 entities, by 1 link." in imported.output
    assert json.loads(again.stdout)["linked"] == {"documents": 1, "entities": 1, "links": 1}
    assert "Oslin pine" in answered.output


def test_documents_that_nothing_links_are_told_what_links_them(tmp_path: Path):
    (tmp_path / "kb.txt").write_text("Rook|owner|Ada\n")
    (tmp_path / "bread.txt").write_text("Bread rises.")
    given = [
        str(tmp_path / "kb.txt"),
        "--documents",
        str(tmp_path / "bread.txt"),
        "--index",
        str(tmp_path / "index"),
    ]

    told = RUN.invoke(app, ["import", "triples", *given])

    assert "Linked 0 of 1 document" in told.output
    assert "--links FILE" in told.output


def test_triples_of_passages_are_imported_into_their_index(tmp_path: Path):
    corpus, openie = tmp_path / "corpus.jsonl", tmp_path / "openie.jsonl"
    corpus.write_text(
        json.dumps({"_id": "7", "title": "Rook", "text": "Rook was built at Kell for Ada Byrne."}) + "\n"
    )
    openie.write_text(
        json.dumps({"_id": "7", "entities": ["Rook"], "triples": [["Rook", "built at", "Kell"]]}) + "\n"
    )
    folder = str(tmp_path / "index")
    assert RUN.invoke(app, ["index", str(corpus), "--index", folder]).exit_code == 0

    imported = RUN.invoke(app, ["import", "openie", str(openie), "--index", folder, "--json"])
    found = RUN.invoke(
        app, ["search", "where was Rook built", "--index", folder, "--method", "combined", "--json"]
    )

    assert imported.exit_code == 0, imported.output
    assert json.loads(imported.stdout)["rows"]["triples"] == 1
    assert json.loads(found.stdout)["hits"][0]["title"] == "Rook"


def test_questions_without_a_known_form_are_a_usage_error(tmp_path: Path):
    kb = tmp_path / "kb.txt"
    kb.write_text("Rook|owner|Ada\n")
    RUN.invoke(app, ["import", "triples", str(kb), "--index", str(tmp_path / "index")])

    assert RUN.invoke(app, ["eval", "qa", str(kb), "--index", str(tmp_path / "index")]).exit_code == 2
