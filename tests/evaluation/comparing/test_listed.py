"""Lists of questions from files and other sources, and those of a comparison."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import DocumentError, UsageError
from conspectus.evaluation.comparison import Question, id_of, joined, once, read_list, write_list


def written(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_table_keeps_ids_personas_and_tasks(tmp_path: Path):
    text = (
        "question_id,question_text,persona,task\n7,Which  themes recur?,A critic,Compare.\n,Who says so?,,\n"
    )

    assert read_list(written(tmp_path, "q.csv", text)) == [
        Question("7", "Which themes recur?", "A critic", "Compare."),
        Question(id_of("Who says so?"), "Who says so?"),
    ]


def test_json_holds_texts_or_objects_and_a_file_without_suffix_lines(tmp_path: Path):
    listed = json.dumps(["Why?", {"question": "How?"}, {"text": "What?", "id": "w"}])

    assert [q.text for q in read_list(written(tmp_path, "q.json", listed))] == ["Why?", "How?", "What?"]
    assert [q.text for q in read_list(written(tmp_path, "q", "Why?\n\nHow?\n"))] == ["Why?", "How?"]


@pytest.mark.parametrize(
    ("name", "text"), [("q.csv", "words\nWhy?\n"), ("q.json", "[3]"), ("q", " \n"), ("q.json", "{")]
)
def test_what_holds_no_questions_is_told(name: str, text: str, tmp_path: Path):
    with pytest.raises(DocumentError):
        read_list(written(tmp_path, name, text))


def test_questions_that_differ_in_case_and_marks_alone_are_one():
    questions = [
        Question("1", "Which themes recur?"),
        Question("2", "which themes recur"),
        Question("3", "谁说的？"),
    ]

    assert [q.id for q in once(questions)] == ["1", "3"]


def test_one_id_is_not_given_to_two_questions():
    with pytest.raises(UsageError, match="two questions have the id 1"):
        once([Question("1", "Why?"), Question("1", "How?")])


TEXT = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=20)


@given(
    st.lists(st.builds(Question, TEXT, TEXT, TEXT, TEXT), min_size=1, max_size=5, unique_by=lambda q: q.id)
)
def test_a_comparison_gives_back_what_was_written_as_json_and_as_a_table(
    tmp_path_factory: pytest.TempPathFactory, questions: list[Question]
):
    folder = tmp_path_factory.mktemp("comparison")
    write_list(questions, folder)

    assert read_list(folder) == read_list(folder / "questions.csv") == questions


def test_a_comparison_takes_more_questions_and_no_others_of_the_same_ids(tmp_path: Path):
    write_list([Question("1", "Why?")], tmp_path)

    assert [q.id for q in joined([Question("2", "How?"), Question("1", "Why?")], tmp_path)] == ["1", "2"]
    with pytest.raises(UsageError, match="a comparison of other questions"):
        joined([Question("1", "Who?")], tmp_path)
