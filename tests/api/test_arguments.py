"""Error messages of public functions for wrong arguments, and the display of results."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import simulated_replies
from making import a_built_index

import conspectus
from conspectus import evaluation
from conspectus.errors import IndexMissing, ModelError, NothingToIndex, SettingsError, UsageError
from conspectus.evaluation.comparison import Question
from conspectus.models.llm import adapters
from conspectus.models.llm.budget import Budget

TEXTS = ("Orran Mill was founded by Ada Brook in 1901.", "Tarn Works was founded by Ruben Vale in 1850.")
INDEX = a_built_index(*TEXTS)
call: Any = conspectus
"""The package as Any, so that the type checker accepts wrong arguments."""


@pytest.mark.parametrize(
    ("function", "unknown", "meant"),
    [
        ("ask", "metod", "method"),
        ("ask", "wher", "where"),
        ("ask", "query", "question"),
        ("ask", "folder", "index"),
        ("context", "methods", "method"),
        ("search", "top_k", "k"),
        ("search", "modle", "model"),
        ("build", "progres", "progress"),
        ("build", "document", "documents"),
        ("build", "index", "folder"),
        ("embed", "embeder", "embedder"),
        ("draw_map", "titel", "title"),
        ("Conversation", "fil", "file"),
        ("ask", "response", "answer.response"),
        ("build", "chunk.tokens", "chunk.tokens"),
    ],
)
def test_an_unknown_argument_leads_to_the_one_that_is_meant(function: str, unknown: str, meant: str):
    with pytest.raises(TypeError, match=rf"{function}\(\) has no argument '{unknown}'; .*\b{meant}\b"):
        getattr(call, function)(**{unknown: "x"})


async def test_the_asynchronous_forms_check_their_arguments_too():
    with pytest.raises(TypeError, match=r"aask\(\) .*method"):
        await call.aask("Who?", INDEX, metod="local")


@pytest.mark.parametrize(
    ("wrong", "order"),
    [
        (lambda: call.ask(INDEX, "Who?"), "ask(question, index)"),
        (lambda: call.search(INDEX, "Who?"), "search(question, index)"),
        (lambda: call.context(INDEX, "Who?"), "context(question, index)"),
        (lambda: call.entity_view(INDEX, "Ada Brook"), "entity_view(name, index)"),
        (lambda: call.report_view(INDEX, 0), "report_view(name, index)"),
        (lambda: call.path_between("Ada Brook", INDEX), "path_between(source, target, index)"),
        (lambda: call.draw_map("map.html", INDEX), "draw_map(index, path)"),
        (lambda: call.export("parquet", INDEX), "export(index, format, path)"),
        (lambda: call.build(INDEX), "build(sources, folder)"),
    ],
)
def test_arguments_in_the_wrong_order_are_refused_with_the_order_of_that_function(
    wrong: Callable[[], object], order: str
):
    with pytest.raises(UsageError) as error:
        wrong()
    assert order in str(error.value)


def test_a_folder_in_the_place_of_a_question_is_noticed(tmp_path: Path):
    conspectus.build(documents=TEXTS, folder=tmp_path)
    with pytest.raises(UsageError, match=r"search\(question, index\)"):
        conspectus.search(str(tmp_path), "Who founded Tarn Works?")


def test_a_report_is_named_by_its_number_too(tmp_path: Path):
    index = conspectus.build(documents=[f"{TEXTS[0]} Orran Mill stands in Hollin."], folder=tmp_path).index
    assert conspectus.report_view(0, index).report.number == 0


def test_functions_take_the_folder_of_an_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    conspectus.build(documents=TEXTS)
    assert conspectus.status_of().documents == conspectus.status_of(".conspectus").documents == 2
    assert conspectus.entity_view("tarn works").name == "Tarn Works"
    assert conspectus.report_tree() == []


def test_an_open_index_stands_for_its_folder(tmp_path: Path):
    index = conspectus.build(documents=TEXTS, folder=tmp_path).index
    assert len(call.history(index)) == 1
    with pytest.raises(UsageError, match="not stored"):
        call.history(INDEX)


def test_a_path_in_the_place_of_texts_is_refused(tmp_path: Path):
    file = tmp_path / "notes on the mill.txt"
    file.write_text(TEXTS[0], encoding="utf-8")
    for documents in (file, str(file), "notes.txt"):
        with pytest.raises(UsageError, match=r"build\('.*txt'\)"):
            call.preview(documents=documents)
    assert conspectus.preview(documents=TEXTS[0]).documents == 1


def test_replacing_all_documents_of_an_index_is_said(tmp_path: Path):
    first = conspectus.build(documents=TEXTS, folder=tmp_path)
    more = conspectus.build(documents=[*TEXTS, "Bo Quill sailed to Hollin."], folder=tmp_path)
    other = conspectus.build(
        documents=[{"text": "Bo Quill sailed to Hollin.", "path": "b.txt"}], folder=tmp_path
    )
    assert [built.replaced_documents for built in (first, more)] == [0, 0]
    assert not more.notices
    assert other.update.changes
    again = conspectus.build(documents=[{"text": "A new start.", "path": "c.txt"}], folder=tmp_path)
    assert again.replaced_documents == 1
    assert any("rollback" in notice for notice in again.notices)


def test_results_show_themselves_on_one_short_line(tmp_path: Path):
    built = conspectus.build(documents=[*TEXTS, "Orran Mill stands in Hollin. " * 50], folder=tmp_path)
    index = conspectus.open_index(tmp_path)
    answer = index.ask("Who founded Tarn Works?")
    things = [
        built,
        conspectus.preview(documents=TEXTS),
        conspectus.context("Who founded Tarn Works?", index),
    ]
    things += [index.entities, index.documents, *index.documents, *index.chunks, *index.entities]
    things += [*index.relationships, *answer.citations, *answer.citations[0].sources, *index.search("Tarn")]
    for thing in things:
        assert "\n" not in repr(thing)
        assert len(repr(thing)) < 300


def test_paths_are_shown_as_seen_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tarn.txt").write_text(TEXTS[1], encoding="utf-8")
    answer = conspectus.build(folder).index.ask("Who founded Tarn Works?")
    assert str(folder / "tarn.txt") in answer.citations[0].sources[0].document
    for shown in (str(answer), repr(answer.citations), repr(conspectus.search("Tarn"))):
        assert "notes/tarn.txt" in shown
        assert str(tmp_path) not in shown


def test_a_setting_without_its_table_leads_to_the_whole_key():
    with pytest.raises(SettingsError, match=r"chunk\.tokens"):
        conspectus.preview(documents=TEXTS, settings={"chunk": {"token": 800}})


def test_a_budget_of_money_is_refused_without_a_price_and_said_to_be_idle_for_a_free_model():
    remote = Budget(budget=1.0, base_url="https://models.example.org/v1")
    with pytest.raises(UsageError, match="price"):
        remote.check("someone/some-model")
    local = Budget(budget=1.0, base_url="http://localhost:8080/v1")
    local.check("someone/some-model")
    assert "budget_tokens" in local.notices["someone/some-model"]


class Column(list[str]):
    """A stand-in for a pandas Series, with the attributes that the package reads."""

    ndim = 1

    def to_dict(self) -> dict[int, str]:
        return dict(enumerate(self))


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (lambda: call.build(Column(TEXTS)), "documents="),
        (lambda: call.build({"text": TEXTS[0]}), "documents="),
        (lambda: call.build(), r"build\(documents="),
        (lambda: call.ask("Who?", INDEX, level="high"), "high"),
        (lambda: call.draw_map([INDEX, INDEX]), "list"),
        (lambda: INDEX.ask(question="Who?", index="x"), r"ask\(question, index\).*index"),
        (lambda: call.ask("Who?", INDEX, INDEX), "list"),
        (lambda: call.correct("ix", "rename"), "Rename"),
        (lambda: call.search("Who?", INDEX, method="local"), "hybrid"),
        (lambda: call.ask("Who?", INDEX, method="lokal"), "did you mean local"),
        (lambda: call.ask("Who?", INDEX, method="Local"), "did you mean local"),
    ],
)
def test_what_makes_no_sense_is_an_error_of_ours_that_says_what_to_do(
    wrong: Callable[[], object], expected: str
):
    with pytest.raises(UsageError, match=expected):
        wrong()


def test_no_documents_are_said_to_be_none():
    with pytest.raises(NothingToIndex) as error:
        call.preview(documents=[])
    assert "empty" in str(error.value)
    assert ".docx" not in str(error.value)


def test_a_column_of_a_table_is_a_list_of_texts(tmp_path: Path):
    assert call.preview(documents=Column(TEXTS)).documents == 2


def test_a_level_may_be_a_text_of_digits(tmp_path: Path):
    index = conspectus.build(documents=[f"{TEXTS[0]} Orran Mill stands in Hollin."], folder=tmp_path).index
    contexts = [call.context("Who?", index, method="global", level=level) for level in ("0", 0)]
    assert contexts[0] == contexts[1]


def test_vectors_are_made_by_a_function_later_too(tmp_path: Path):
    def vectors(texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    built = conspectus.build(documents=TEXTS, folder=tmp_path)
    assert call.embed(built.index, vectors).arrays["vectors.chunks"].shape == (2, 2)


def test_a_function_of_one_vector_is_refused_before_anything_is_built(tmp_path: Path):
    with pytest.raises(ModelError, match="for 2 texts"):
        conspectus.build(documents=TEXTS, folder=tmp_path, embedder=lambda texts: [[1.0, 2.0]])
    assert not (tmp_path / "manifest.json").exists()


def test_documents_of_one_id_are_told_apart_and_said_to_be(tmp_path: Path):
    with pytest.warns(UserWarning, match="'1'"):
        built = conspectus.build(documents=[{"id": 1, "text": text} for text in TEXTS], folder=tmp_path)
    assert [document.path for document in built.index.documents] == ["1", "1#2"]


def test_lists_and_objects_of_a_table_are_metadata(tmp_path: Path):
    rows = [{"text": TEXTS[0], "tags": ["mill", "Hollin"], "more": {"page": 3}, "none": []}]
    (document,) = conspectus.build(documents=rows, folder=tmp_path).index.documents
    assert document.metadata["tags"] == '["mill", "Hollin"]'
    assert document.metadata["more"] == '{"page": 3}'
    assert "none" not in document.metadata


def test_other_documents_in_the_place_of_all_are_warned_of(tmp_path: Path):
    conspectus.build(documents=[{"text": TEXTS[0], "path": "a"}], folder=tmp_path)
    with pytest.warns(UserWarning, match="folder="):
        conspectus.build(documents=[{"text": TEXTS[1], "path": "b"}], folder=tmp_path)


def test_a_citation_of_a_text_from_memory_shows_its_title(tmp_path: Path):
    rows = [{"text": text, "title": f"Title {number}"} for number, text in enumerate(TEXTS)]
    built = conspectus.build(documents=rows, folder=tmp_path)
    assert "Title 1" in str(built.ask("Who founded Tarn Works?"))


def test_an_index_of_functions_is_asked_where_they_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def vectors(texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 1.0] for text in texts]

    def reply(messages: list[dict[str, str]]) -> str:
        return simulated_replies.reply_to(messages)

    question = "Who founded Tarn Works?"
    conspectus.build(documents=TEXTS, folder=tmp_path, embedder=vectors, model=reply)
    monkeypatch.setattr(adapters, "_functions", {})  # as in another process
    answer = conspectus.ask(question, tmp_path, method="walk")
    assert "Ruben Vale" in answer.text
    assert any("embedder=" in notice for notice in answer.notices)
    assert any("reply" in notice and "model=" in notice for notice in answer.notices)
    with pytest.raises(UsageError, match="embedder="):
        conspectus.search(question, tmp_path, method="vector")
    assert conspectus.search(question, tmp_path, method="vector", embedder=vectors)


def test_the_traceback_of_an_error_of_ours_is_short(tmp_path: Path):
    with pytest.raises(IndexMissing) as caught:
        conspectus.ask("Who is Ada?", tmp_path / "nowhere")

    assert len(caught.traceback) <= 2


def test_what_build_returned_is_taken_wherever_an_index_is(tmp_path: Path):
    built = conspectus.build(documents=list(TEXTS), folder=tmp_path / "index")

    for given in (built, built.index, built.folder):
        assert "Ada Brook" in conspectus.ask("Who founded Orran Mill?", given).text
        assert conspectus.search("Orran Mill", given)
        assert conspectus.entity_view("Ada Brook", given).name == "Ada Brook"
        assert conspectus.status_of(given).documents == 2
        assert conspectus.Conversation(given).ask("Who founded Orran Mill?").text
        assert conspectus.export(given, "json", tmp_path / "out.json")
        assert call.history(given)
    assert conspectus.search("Orran Mill", [built, built])


@pytest.mark.parametrize(
    "wrong",
    [
        lambda folder: call.build(documents=TEXTS, folder=folder, settings="chunk.tokens=100"),
        lambda _: call.ask("Who?", 42),
        lambda _: call.Conversation(INDEX).ask(3),
        lambda _: call.Conversation(INDEX).ask(INDEX),
        lambda _: evaluation.evaluate_answers(cast("Any", ["Who?"]), INDEX),
        lambda folder: evaluation.answer_questions(
            cast("Any", ["Who?"]), INDEX, folder, conditions=["local"]
        ),
    ],
)
def test_what_is_of_the_wrong_type_is_an_error_of_ours(wrong: Callable[[Path], object], tmp_path: Path):
    with pytest.raises(UsageError, match=r"\w{3}"):
        wrong(tmp_path)


def test_an_unknown_name_leads_to_the_one_that_is_meant(tmp_path: Path):
    with pytest.raises(UsageError, match="did you mean graphml"):
        call.export(INDEX, "grapml")
    questions = [Question("1", "Who founded Tarn Works?")]
    with pytest.raises(UsageError, match="did you mean local"):
        evaluation.answer_questions(questions, INDEX, tmp_path, conditions=["locl"])


def test_an_evaluation_shows_its_progress(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    questions = [Question("1", "Who founded Tarn Works?")]
    evaluation.answer_questions(questions, INDEX, tmp_path, conditions=["local"], progress=True)
    assert capsys.readouterr().err.startswith("answers")


def test_a_build_that_is_interrupted_does_not_show_its_last_stage_as_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    def interrupted(messages: list[dict[str, str]]) -> str:
        raise KeyError("reply")

    with pytest.raises(ModelError):
        conspectus.build(documents=TEXTS, folder=tmp_path, model=interrupted, progress=True)
    assert "extract stopped" in capsys.readouterr().err


def test_documents_that_are_not_given_again_and_other_settings_are_said(tmp_path: Path):
    rows = [{"text": text, "path": f"{i}.txt"} for i, text in enumerate(TEXTS)]
    conspectus.build(documents=rows, folder=tmp_path, settings={"chunk.tokens": 300})
    fewer = conspectus.build(documents=rows[:1], folder=tmp_path, settings={"chunk.tokens": 300})
    other = conspectus.build(documents=rows[:1], folder=tmp_path)
    again = conspectus.build(documents=rows[:1], folder=tmp_path)

    assert any("1 document" in n and f"rollback(folder={str(tmp_path)!r})" in n for n in fewer.notices)
    assert any("chunk.tokens was 300" in notice for notice in other.notices)
    assert not again.notices
    assert "1 deleted" in fewer._repr_markdown_()  # pyright: ignore[reportPrivateUsage]


def test_a_notebook_shows_what_a_build_passed_over(tmp_path: Path):
    source = tmp_path / "docs"
    source.mkdir()
    (source / "a.txt").write_text(TEXTS[0], encoding="utf-8")
    (source / "b.xyz").write_bytes(b"\0\1")
    (source / "c.pdf").write_bytes(b"no page")
    built = conspectus.build(source, tmp_path / "index")
    shown = built._repr_markdown_()  # pyright: ignore[reportPrivateUsage]
    assert "b.xyz" in shown
    assert "c.pdf" in shown


def test_a_replacement_is_warned_of_each_time(tmp_path: Path):
    conspectus.build(documents=[{"text": TEXTS[0], "path": "a"}], folder=tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for path in "bab":
            conspectus.build(documents=[{"text": TEXTS["ab".index(path)], "path": path}], folder=tmp_path)
    assert len(caught) == 3
    assert all(str(tmp_path) in str(warning.message) for warning in caught)


def test_the_index_that_is_offered_is_one_of_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    for folder in ("a/.conspectus", "mine"):
        conspectus.build(documents=TEXTS, folder=folder)
    with pytest.raises(IndexMissing, match="index='mine'"):
        conspectus.open_index(".conspectus")


def test_what_an_answer_would_be_made_from_can_be_printed():
    gathered = conspectus.context("Who founded Tarn Works?", INDEX, method="bm25")
    assert TEXTS[1] in str(gathered)
    assert TEXTS[1] not in repr(gathered)


def test_an_index_is_not_put_among_its_documents(tmp_path: Path):
    (tmp_path / "a.txt").write_text("Ada Brook founded Orran Mill in 1901.", encoding="utf-8")

    for act in (conspectus.build, conspectus.preview):
        with pytest.raises(UsageError, match="name another folder"):
            act(tmp_path, f"{tmp_path}/.")

    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert conspectus.build(tmp_path, tmp_path / ".conspectus").index.documents
