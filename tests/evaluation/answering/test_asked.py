"""Reading questions and their answers from the formats in which data sets are published."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conspectus.errors import DocumentError, UsageError
from conspectus.evaluation.comparison import Question, id_of
from conspectus.evaluation.qa import read_questions

PUBLISHED: dict[str, tuple[Any, Question]] = {
    "MetaQA": (
        {
            "id": "m1",
            "hops": 1,
            "qtype": "x",
            "topic_entity": "Rook",
            "question": "who owned Rook",
            "answers": ["Ada", "Tom"],
        },
        Question("m1", "who owned Rook", answers=("Ada", "Tom")),
    ),
    "AdvHotpotQA": (
        [
            {
                "_id": "h1",
                "question": "Whose was Rook?",
                "answer": "Ada",
                "type": "bridge",
                "supporting_facts": [],
            }
        ],
        Question("h1", "Whose was Rook?", answers=("Ada",), kind="bridge"),
    ),
    "BEIR": ({"_id": "b1", "text": "Whose?", "answers": ["Ada"]}, Question("b1", "Whose?", answers=("Ada",))),
    "a number": ({"id": 7, "question": "When?", "answer": 1911}, Question("7", "When?", answers=("1911",))),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_is_read_by_its_shape(tmp_path: Path, name: str):
    content, asked = PUBLISHED[name]
    (tmp_path / "file.json").write_text(json.dumps(content))

    assert read_questions(tmp_path / "file.json") == [asked]


def test_lines_of_json_are_read_like_a_list(tmp_path: Path):
    record, asked = PUBLISHED["BEIR"]
    (tmp_path / "queries.jsonl").write_text(f"{json.dumps(record)}\n\n{json.dumps(record)}\n")

    assert read_questions(tmp_path / "queries.jsonl") == read_questions(tmp_path) == [asked, asked]


@pytest.mark.parametrize(
    "text", ["", "no json", '{"a": 1}', "[]", '[{"question": "Whose?"}]', '{"_id": "1", "text": "Whose?"}']
)
def test_what_is_of_no_known_form_is_refused(tmp_path: Path, text: str):
    (tmp_path / "file.json").write_text(text)

    with pytest.raises((DocumentError, UsageError)):
        read_questions(tmp_path / "file.json")


def test_the_questions_of_the_film_graph_are_read(shared: Path):
    asked = read_questions(shared / "kgqa/metaqa/questions-2hop.jsonl")

    assert len(asked) == 300
    assert all(question.answers for question in asked)


def test_a_table_has_columns_for_questions_and_answers(tmp_path: Path):
    (tmp_path / "asked.csv").write_text(
        'question,answer\n"Who paid, and when?",Ada Brook\n', encoding="utf-8"
    )

    assert read_questions(tmp_path / "asked.csv") == [
        Question(id_of("Who paid, and when?"), "Who paid, and when?", answers=("Ada Brook",))
    ]
