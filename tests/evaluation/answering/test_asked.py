"""Questions from the files in which data sets are published, each by a record made up after its shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conspectus.errors import UsageError
from conspectus.evaluation.qa import QaQuestion, read_questions

PARSE = {"AnnotatorComment": {"ParseQuality": "Complete"}, "TopicEntityName": "Rook"}
PUBLISHED: dict[str, tuple[Any, QaQuestion]] = {
    "MetaQA": (
        {
            "id": "m1",
            "hops": 1,
            "qtype": "x",
            "topic_entity": "Rook",
            "question": "who owned Rook",
            "answers": ["Ada"],
        },
        QaQuestion("m1", "who owned Rook", ("Ada",), ("Rook",)),
    ),
    "WebQSP": (
        {
            "Version": "1.0",
            "Questions": [
                {
                    "QuestionId": "WebQTest-1",
                    "RawQuestion": "who owned rook?",
                    "Parses": [
                        PARSE
                        | {
                            "Answers": [
                                {"AnswerType": "Entity", "AnswerArgument": "m.1", "EntityName": "Ada"},
                                {"AnswerType": "Value", "AnswerArgument": "1911", "EntityName": None},
                            ]
                        },
                        PARSE
                        | {
                            "AnnotatorComment": {"ParseQuality": "Partial"},
                            "Answers": [{"AnswerArgument": "m.2", "EntityName": "Tom"}],
                        },
                    ],
                }
            ],
        },
        QaQuestion("WebQTest-1", "who owned rook?", ("Ada", "1911"), ("Rook",)),
    ),
    "QALD-10": (
        {
            "questions": [
                {
                    "id": "1",
                    "question": [
                        {"language": "de", "string": "Wem?"},
                        {"language": "en", "string": "Whose is Rook?"},
                    ],
                    "query": {"sparql": "SELECT"},
                    "answers": [
                        {
                            "head": {"vars": ["r"]},
                            "results": {
                                "bindings": [{"r": {"type": "uri", "value": "http://a.org/entity/Ada_Byrne"}}]
                            },
                        }
                    ],
                }
            ]
        },
        QaQuestion("1", "Whose is Rook?", ("Ada Byrne",)),
    ),
    "QALD-10, yes or no": (
        {
            "questions": [
                {
                    "id": 2,
                    "question": [{"language": "en", "string": "Is it?"}],
                    "answers": [{"boolean": False}],
                }
            ]
        },
        QaQuestion("2", "Is it?", ("no",)),
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
        QaQuestion("h1", "Whose was Rook?", ("Ada",)),
    ),
    "Zero-Shot RE": (
        {
            "id": "z1",
            "input": "Rook [SEP] owner",
            "output": [{"answer": "Ada"}],
            "meta": {"template_questions": ["Who owned Rook?"]},
        },
        QaQuestion("z1", "Who owned Rook?", ("Ada",), ("Rook",)),
    ),
    "FEVER": (
        {"id": 7, "verifiable": "VERIFIABLE", "label": "REFUTES", "claim": "Rook flew.", "evidence": []},
        QaQuestion("7", "Is it true that Rook flew?", ("no",)),
    ),
    "Creak": (
        {"ex_id": "c1", "sentence": "Rook sank.", "explanation": "", "label": "true", "entity": "Rook"},
        QaQuestion("c1", "Is it true that Rook sank?", ("yes",), ("Rook",)),
    ),
    "BEIR": ({"_id": "b1", "text": "Whose?", "answers": ["Ada"]}, QaQuestion("b1", "Whose?", ("Ada",))),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_file_is_read_by_its_shape(tmp_path: Path, name: str):
    content, asked = PUBLISHED[name]
    (tmp_path / "file.json").write_text(json.dumps(content))

    assert read_questions(tmp_path / "file.json") == [asked]


def test_answers_by_their_ids_are_read_as_names(tmp_path: Path):
    record = {
        "question": "Whose was Rook?",
        "answer": {"Q1": "Ada", "Q2": "Tom"},
        "qid_topic_entity": {"Q3": "Rook"},
    }
    (tmp_path / "qald.json").write_text(json.dumps([record]))

    assert read_questions(tmp_path / "qald.json")[0].answers == ("Ada", "Tom")


def test_a_part_without_labels_is_refused_by_what_it_lacks(tmp_path: Path):
    (tmp_path / "test.jsonl").write_text(json.dumps({"id": 1, "claim": "Rook flew."}))

    with pytest.raises(UsageError, match=r"without 'label'.*kept back"):
        read_questions(tmp_path / "test.jsonl")


def test_lines_of_json_are_read_like_a_list(tmp_path: Path):
    record, asked = PUBLISHED["FEVER"]
    (tmp_path / "fever.jsonl").write_text(f"{json.dumps(record)}\n{json.dumps(record)}\n")

    assert read_questions(tmp_path / "fever.jsonl") == [asked, asked]


@pytest.mark.parametrize("text", ["", "no json", '{"a": 1}', "[]", '[{"question": "Whose?"}]'])
def test_what_is_of_no_known_form_is_refused(tmp_path: Path, text: str):
    (tmp_path / "file.json").write_text(text)

    with pytest.raises(UsageError):
        read_questions(tmp_path / "file.json")


def test_the_questions_of_the_film_graph_are_read(shared: Path):
    asked = read_questions(shared / "kgqa/metaqa/questions-2hop.jsonl")

    assert len(asked) == 300
    assert asked[0].topics == ("John Krasinski",)


def test_a_table_has_columns_for_questions_and_answers(tmp_path: Path):
    (tmp_path / "asked.csv").write_text('question,answer\n"Who paid, and when?",Ada Brook\n', encoding="utf-8")

    assert read_questions(tmp_path / "asked.csv") == [QaQuestion("0", "Who paid, and when?", ("Ada Brook",))]
