"""Tests of `conspectus ask` and `conspectus search`."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from conspectus import api
from conspectus.content import without
from conspectus.errors import BadKey, BadReply
from conspectus.index import Index
from conspectus.messages import is_empty_answer
from conspectus.rows import Answer
from conspectus.storage import store

Run = Callable[..., Result]
Told = Callable[..., Any]

QUESTION = "Who paid for the roof of the museum?"
WHOLE = "What are the main themes of these documents?"
METHODS = ("global", "local", "mixed", "bm25")


def text_of(path: str) -> str:
    """Return the text of a document as spans count it: from its file, with newlines as stored in the index."""
    return Path(path).read_text(encoding="utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")


@pytest.mark.parametrize(
    ("method", "question"),
    [*((method, QUESTION) for method in (*METHODS, "auto")), ("global", WHOLE), ("auto", WHOLE)],
)
def test_json_carries_the_answer_and_its_chain_to_the_characters(
    told: Told, sampled: Path, method: str, question: str
):
    said = told("ask", question, "--index", sampled, "--method", method)

    assert said["question"] == question
    assert said["answer"]
    assert said["method"] in METHODS if method == "auto" else said["method"] == method
    assert (said["level"] is None) == (said["method"] != "global")
    assert said["context_tokens"] > 0
    assert set(said["usage"]) == {"calls", "cached_calls", "prompt_tokens", "completion_tokens", "cost"}
    assert said["usage"]["calls"] == 0
    assert said["seconds"] > 0
    assert said["removed_references"] == 0
    assert said["notices"] == []
    assert isinstance(said["why"], str)
    for citation in said["citations"]:
        assert f"[{citation['marker']}]" in said["answer"]
        assert citation["kind"] in ("report", "source", "entity", "relationship", "claim")
        assert citation["sources"]
        for source in citation["sources"]:
            assert source["text"] == text_of(source["document"])[source["start"] : source["end"]]
            assert source["text"].strip()
    assert [c["marker"] for c in said["citations"]] == [n + 1 for n in range(len(said["citations"]))]


@pytest.mark.parametrize("method", METHODS)
def test_every_citation_names_a_row_of_the_index(told: Told, sampled: Path, opened: Index, method: str):
    rows = {"report": opened.reports, "source": opened.chunks, "entity": opened.entities}

    said = told("ask", WHOLE if method == "global" else QUESTION, "--index", sampled, "--method", method)

    assert said["citations"]
    for citation in said["citations"]:
        assert citation["id"] in {row.id for row in rows[citation["kind"]]}


def test_a_source_with_other_newlines_is_cited_by_the_characters_that_are_stored(told: Told, indexed: Path):
    said = told("ask", "What did the sluice of the Orran Mill cost?", "--index", indexed, "--method", "bm25")

    cited = [s for c in said["citations"] for s in c["sources"] if s["document"].endswith("letter.txt")]
    assert cited
    for source in cited:
        assert source["text"] == text_of(source["document"])[source["start"] : source["end"]]


def test_a_person_reads_the_answer_its_sources_and_apart_from_them_how_it_came_about(run: Run, sampled: Path):
    result = run("ask", QUESTION, "--index", sampled, "--method", "local")

    answer, _, sources = result.stdout.partition("\nSources\n")
    assert "without a language model" in answer
    assert "[1]" in answer
    assert "[1] " in sources
    assert ".txt, characters " in sources
    assert "“" in sources
    assert "local: " in result.stderr
    assert "tokens read" not in result.stderr


def test_auto_says_which_method_it_took_and_why(run: Run, told: Told, sampled: Path):
    assert ": it asks about the corpus as a whole" in run("ask", WHOLE, "--index", sampled).stderr
    assert told("ask", WHOLE, "--index", sampled)["why"].startswith("it asks about the corpus as a whole")


@pytest.mark.parametrize("method", METHODS)
def test_a_question_the_corpus_does_not_speak_to_is_told_so_and_nothing_is_cited(
    told: Told, indexed: Path, method: str
):
    said = told("ask", "Quarks, gluons, hadrons?", "--index", indexed, "--method", method)

    assert said["citations"] == []
    assert "Nothing in this corpus" in said["answer"]


def test_a_level_can_be_asked_for(told: Told, sampled: Path, opened: Index):
    for level in opened.levels:
        said = told("ask", WHOLE, "--index", sampled, "--level", level)
        assert (said["method"], said["level"]) == ("global", level)
        assert said["context_tokens"] == sum(r.n_tokens for r in opened.reports_at(level))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["Why?", "--level", 40], "and no level 40"),
        (["Why?", "--method", "local", "--level", 1], "a level can be used only with the method global"),
        (["Why?", "--method", "globl"], "there is no method 'globl'"),
        ([" "], "the question is empty"),
        ([], "ask one question"),
        (["Why?", "--questions", "some.txt"], "ask one question"),
        (["Why?", "--set", "chunk.tokns=3"], "did you mean `chunk.tokens`?"),
    ],
)
def test_mistakes_of_usage_end_with_2_and_one_line(run: Run, sampled: Path, args: list[object], said: str):
    result = run("ask", *args, "--index", sampled, code=2)

    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_folder_without_an_index_ends_with_1_and_the_command_that_makes_one(run: Run):
    result = run("ask", "Why?", code=1)

    assert result.stderr == ("error: there is no index in .conspectus; make one: conspectus index FOLDER\n")


# Contexts without an answer


@pytest.mark.parametrize("method", METHODS)
def test_the_context_is_what_the_answer_says_it_has_read(told: Told, sampled: Path, method: str):
    seen = told("ask", QUESTION, "--index", sampled, "--method", method, "--context-only")
    answer = told("ask", QUESTION, "--index", sampled, "--method", method)

    assert seen["context_tokens"] == answer["context_tokens"]
    assert (seen["method"], seen["level"]) == (answer["method"], answer["level"])
    assert all(window["text"] for window in seen["windows"])
    assert "answer" not in seen


def test_the_windows_of_a_level_hold_each_of_its_reports_once(told: Told, sampled: Path, opened: Index):
    seen = told(
        "ask",
        WHOLE,
        "--index",
        sampled,
        "--level",
        1,
        "--context-only",
        "--set",
        "answer.context_tokens=2000",
    )

    assert len(seen["windows"]) > 1
    shown = [report for window in seen["windows"] for report in window["reports"]]
    assert sorted(shown) == sorted(r.id for r in opened.reports_at(1))


def test_a_person_reads_the_context_as_a_model_would(run: Run, sampled: Path):
    result = run("ask", QUESTION, "--index", sampled, "--method", "bm25", "--context-only")

    assert result.stdout.startswith("-----Sources-----\nid,text\n1,\n")
    assert "bm25" in result.stderr


# Many questions


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.txt", "Who is Ada Brook?\n\n  Who paid for the wheel?  \n"),
        ("q.csv", "id,question_text\n1,Who is Ada Brook?\n2,Who paid for the wheel?\n3,\n"),
        ("q.csv", "\ufeffquestion\nWho is Ada Brook?\nWho paid for the wheel?\n"),
        ("q.json", '["Who is Ada Brook?", {"question": "Who paid for the wheel?"}]'),
    ],
)
def test_questions_of_a_file_are_answered_on_one_line_each(
    run: Run, indexed: Path, tmp_path: Path, name: str, content: str
):
    (tmp_path / name).write_text(content, encoding="utf-8")

    result = run("ask", "--questions", name, "--index", indexed, "--json")

    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [a["question"] for a in answers] == ["Who is Ada Brook?", "Who paid for the wheel?"]
    assert all(a["answer"] and a["method"] for a in answers)


def test_a_dash_in_place_of_a_question_reads_it_from_standard_input(run: Run, indexed: Path):
    piped = run("ask", "-", "--index", indexed, input="Who is Ada Brook?\n")

    assert piped.stdout == run("ask", "Who is Ada Brook?", "--index", indexed).stdout
    assert "the question is empty" in run("ask", "-", "--index", indexed, input="", code=2).stderr


def test_questions_come_from_standard_input_too_and_a_person_sees_each_before_its_answer(
    run: Run, indexed: Path
):
    result = run(
        "ask", "--questions", "-", "--index", indexed, input="Who is Ada Brook?\nWho is Ruben Vale?\n"
    )

    first, second = result.stdout.index("# Who is Ada Brook?"), result.stdout.index("# Who is Ruben Vale?")
    assert first < result.stdout.index("Assembled from quotations") < second


def test_the_index_is_opened_once_for_all_questions(
    run: Run, indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "q.txt").write_text("Who is Ada Brook?\n" * 3)
    opened: list[object] = []
    read = store.read
    monkeypatch.setattr(store, "read", lambda folder: opened.append(folder) or read(folder))

    run("ask", "--questions", "q.txt", "--index", indexed)

    assert opened == [indexed]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("q.txt", "\n \n", "there is no question in q.txt"),
        ("q.csv", "id,words\n1,Why?\n", "question_text or question"),
        ("q.json", '{"words": "Why?"}', "JSON list"),
        ("q.json", "[1]", "JSON list"),
        ("q.json", "[", "JSON"),
        ("q.txt", None, "No such file"),
    ],
)
def test_a_file_without_questions_is_an_error_that_says_why(
    run: Run, indexed: Path, tmp_path: Path, name: str, content: str | None, said: str
):
    if content is not None:
        (tmp_path / name).write_text(content, encoding="utf-8")

    result = run("ask", "--questions", name, "--index", indexed, code=1)

    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_question_that_fails_leaves_the_others_answered_and_ends_with_3(
    run: Run, indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "q.txt").write_text("one?\ntwo?\nthree?\n")

    def answering(question: str, *_: object, **__: object) -> Answer:
        if question == "two?":
            raise BadReply("the reply was cut off")
        return Answer(question, "An answer.", "local")

    monkeypatch.setattr(api, "ask", answering)
    result = run("ask", "--questions", "q.txt", "--index", indexed, "--json", code=3)

    said = [json.loads(line) for line in result.stdout.splitlines()]
    assert [s.get("answer") for s in said] == ["An answer.", None, "An answer."]
    assert said[1] == {"question": "two?", "error": "the reply was cut off"}
    assert result.stderr == "error: two?: the reply was cut off\n"


def test_what_makes_all_questions_fail_ends_at_the_first(
    run: Run, indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "q.txt").write_text("one?\ntwo?\n")
    asked: list[str] = []

    def answering(question: str, *_: object, **__: object) -> Answer:
        asked.append(question)
        raise BadKey("there is no key")

    monkeypatch.setattr(api, "ask", answering)

    assert run("ask", "--questions", "q.txt", "--index", indexed, code=1).stderr == "error: there is no key\n"
    assert asked == ["one?"]


# Search


def test_search_returns_chunks_with_their_places_the_best_first(told: Told, sampled: Path, opened: Index):
    said = told("search", "harbour dues", "--index", sampled, "-k", 3)

    assert len(said["hits"]) == 3
    for hit in said["hits"]:
        chunk = opened.chunk_of[hit["chunk"]]
        document = opened.document_of[chunk.document_id]
        assert (hit["document"], hit["title"]) == (document.path, document.title)
        assert (hit["start"], hit["end"]) == (chunk.start, chunk.end)
        assert hit["text"] == without(text_of(hit["document"]), document.omitted, hit["start"], hit["end"])
    scores = [hit["score"] for hit in said["hits"]]
    assert scores == sorted(scores, reverse=True)
    assert "harbour dues" in said["hits"][0]["text"]


def test_search_returns_five_by_default_and_as_many_as_are_set(told: Told, sampled: Path):
    assert len(told("search", "Port Sallow", "--index", sampled)["hits"]) == 5
    assert len(told("search", "Port Sallow", "--index", sampled, "--set", "search.k=7")["hits"]) == 7


def test_a_person_sees_path_place_and_snippet_of_each_hit(run: Run, sampled: Path):
    out = run("search", "harbour dues", "--index", sampled, "-k", 1).stdout

    assert out.startswith(" 1. 2020-02-27-minutes-harbour-commissioners")
    assert "2020-02-27-minutes-harbour-commissioners.txt, characters 0-" in out


def test_a_search_without_a_hit_says_so_and_is_no_error(run: Run, told: Told, indexed: Path):
    result = run("search", "quarks", "--index", indexed)

    assert result.stdout == ""
    assert "Nothing in this corpus" in result.stderr
    assert told("search", "quarks", "--index", indexed)["hits"] == []


@pytest.mark.parametrize("flags", [["-k", "0"], ["--method", "dense-ish"]])
def test_a_search_that_makes_no_sense_is_a_mistake_of_usage(run: Run, indexed: Path, flags: list[str]):
    assert run("search", "mill", "--index", indexed, *flags, code=2).stdout == ""


def test_a_misspelt_name_comes_before_anything_else(run: Run, told: Told, sampled: Path):
    question = "Who is Dorothea Quil?"

    assert is_empty_answer(told("ask", question, "--index", sampled)["answer"])
    lines = run("ask", question, "--index", sampled).stdout.splitlines()
    assert "Quill" in lines[0]
    assert not any(map(is_empty_answer, lines))


def test_the_sources_of_a_report_take_a_few_lines(run: Run, sampled: Path):
    shown = run("ask", WHOLE, "--index", sampled).stdout.partition("\nSources\n")[2]

    reports = [part for part in shown.split("\n[") if "] report: " in part]
    assert reports
    assert max(part.strip().count("\n") for part in reports) == 2


@pytest.mark.parametrize("place", ["conspectus-demo/.conspectus", "sub/.conspectus", "idx", "../.conspectus"])
def test_a_missing_index_names_the_nearest_that_there_is(
    run: Run, indexed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    shutil.copytree(indexed, place)

    assert run("ask", "Why?", code=1).stderr.count(f"--index {place}") == 1


def test_sources_are_shown_without_their_markup(run: Run, tmp_path: Path):
    text = "The [quay](/quay) of **Orrin** was built in 1204 by Mara Tolan."
    api.build(documents=[{"id": "quay", "text": text}], folder=tmp_path)

    result = run("ask", "Who built the quay of Orrin?", "--index", tmp_path)

    assert "The quay of Orrin was built" in result.stdout.partition("\nSources\n")[2]
    assert "](" not in result.stdout
