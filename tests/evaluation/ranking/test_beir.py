"""Reading the BEIR layout."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from conspectus.errors import UsageError
from conspectus.evaluation.retrieval import read_beir


def write(folder: Path, judgements: Sequence[str] = ("q1\tp2\t1", "q1\tp1\t0")) -> Path:
    (folder / "qrels").mkdir(parents=True)
    passages = [{"_id": "p1", "title": "Bees", "text": "Bees swarm."}, {"_id": "p2", "text": "Ants march."}]
    queries = [
        {"_id": "q1", "text": "Who marches?", "answers": ["ants"]},
        {"_id": "q2", "text": "Who swarms?"},
    ]
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, passages)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)) + "\n\n")
    (folder / "qrels" / "test.tsv").write_text("\n".join(("query-id\tcorpus-id\tscore", *judgements)))
    return folder


def test_questions_are_those_with_a_relevant_passage(tmp_path: Path):
    data = read_beir(write(tmp_path / "insects"))

    assert data.name == "insects"
    assert [(q.id, q.relevant) for q in data.queries] == [("q1", {"p2": 1.0})]
    assert data.passages[1] == {"id": "p2", "title": "", "text": "Ants march."}


def test_titles_can_be_withheld(tmp_path: Path):
    assert {p["title"] for p in read_beir(write(tmp_path / "insects"), titles=False).passages} == {""}


def test_a_missing_file_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"no .*test\.tsv"):
        read_beir(tmp_path)


@pytest.mark.parametrize("line", ["q1 p2 1", "q1\tp2\tyes", "q1"])
def test_a_wrong_judgement_is_named_by_its_line(tmp_path: Path, line: str):
    with pytest.raises(UsageError, match=r"line 2 of .*test\.tsv"):
        read_beir(write(tmp_path / "insects", [line]))


def test_a_wrong_passage_is_named_by_its_line(tmp_path: Path):
    folder = write(tmp_path / "insects")
    (folder / "corpus.jsonl").write_text('{"_id": "p1", "text": "a"}\n{"_id": 2}\n')

    with pytest.raises(UsageError, match=r"line 2 of .*corpus\.jsonl"):
        read_beir(folder)


def test_no_judged_question_is_an_error(tmp_path: Path):
    with pytest.raises(UsageError, match="no question"):
        read_beir(write(tmp_path / "insects", ["q1\tp1\t0"]))
