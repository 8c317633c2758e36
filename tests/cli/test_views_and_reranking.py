"""`--where`, several `--index` and `--rerank` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer
from typer.testing import Result

from conspectus import api
from conspectus.settings import Settings

Run = Callable[..., Result]
Told = Callable[..., Any]


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of two records with authors and dates."""
    folder = tmp_path_factory.mktemp("letters")
    rows = [
        {"title": "One", "text": "Ada Brook wrote to Ruben Vale.", "author": "Brook", "date": "1901-03-02"},
        {"title": "Two", "text": "Ruben Vale wrote to Ada Brook.", "author": "Vale", "date": "1905"},
    ]
    (folder / "letters.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return api.build(folder / "letters.jsonl", folder / "index", settings=Settings()).folder


def documents(told: Any) -> set[str]:
    return {source["document"] for citation in told["citations"] for source in citation["sources"]}


@pytest.mark.parametrize("method", ["auto", "bm25", "local", "global", "walk"])
def test_an_answer_cites_the_documents_alone_that_meet_the_conditions(told: Told, indexed: Path, method: str):
    where = ("--where", "path~*.txt", "--where", "path!=flood.txt")

    said = told("ask", "What did Ada Brook do?", "--index", indexed, "--method", method, *where)

    assert documents(said)
    assert all(name.endswith(".txt") and "flood" not in name for name in documents(said))
    assert said["notices"][0] == "Only 4 of 6 documents are read: those where path~*.txt and path!=flood.txt."


def test_metadata_and_dates_choose_documents(told: Told, letters: Path):
    def hits(*where: str) -> list[str]:
        conditions = [part for one in where for part in ("--where", one)]
        return [hit["title"] for hit in told("search", "Ada Brook", "--index", letters, *conditions)["hits"]]

    assert hits("author=vale") == ["Two"]
    assert hits("date<1905") == ["One"]
    assert sorted(hits("date>=1901", "path=letters.jsonl")) == ["One", "Two"]


def test_a_search_tells_apart_from_its_hits_what_it_read(run: Run, letters: Path):
    result = run("search", "Ada Brook", "--index", letters, "--where", "author=Vale")

    assert "Only 1 of 2 documents is read: those where author=Vale." in result.stderr
    assert "documents is read" not in result.stdout


@pytest.mark.parametrize(
    ("where", "code", "said"),
    [
        ("autor=Vale", 2, "there are path, folder, title, date, author"),
        ("author=Val", 1, "no document meets author=Val; there are Vale"),
        ("author", 2, "(--where) is FIELD=VALUE"),
        ("date>soon", 2, "dates are written as 2023-01-31"),
    ],
)
def test_conditions_that_make_no_sense_are_errors_of_one_line(
    run: Run, letters: Path, where: str, code: int, said: str
):
    result = run("ask", "Who?", "--index", letters, "--where", where, code=code)

    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_several_indexes_are_asked_as_one_and_paths_say_which(told: Told, indexed: Path, letters: Path):
    both = ("--index", indexed, "--index", letters)

    said = told("ask", "What did Ruben Vale write to Ada Brook?", *both, "--method", "bm25")
    hits = told("search", "Ruben Vale", *both, "-k", 10)["hits"]

    assert {path.partition(":")[0] for path in documents(said)} <= {"small", "index"}
    assert {hit["document"].partition(":")[0] for hit in hits} == {"small", "index"}


def test_conditions_hold_for_all_indexes(told: Told, indexed: Path, letters: Path):
    said = told("search", "Ada Brook", "--index", indexed, "--index", letters, "--where", "author=Brook")

    assert [hit["title"] for hit in said["hits"]] == ["One"]
    assert said["notices"] == ["Only 1 of 8 documents is read: those where author=Brook."]


def test_what_answers_measure_up_to_is_of_the_documents_that_are_read(
    told: Told, letters: Path, tmp_path: Path
):
    questions = tmp_path / "qa.json"
    questions.write_text(json.dumps([{"_id": "q", "question": "Who wrote to Ada Brook?", "answer": "Vale"}]))

    measured = told(
        "eval", "qa", questions, "--index", letters, "--methods", "bm25", "--where", "author=Vale"
    )

    assert measured["bm25"]["queries"] == 1
    assert measured["bm25"]["failed"] == 0


@pytest.mark.parametrize("by", ["server", "model"])
def test_hits_are_ranked_again(told: Told, indexed: Path, by: str):
    with SimulatedServer(Behaviour()) as server:
        rerank = server.url if by == "server" else "model"
        model = ("--model", "vllm/m", "--set", f"llm.base_url={server.url}") if by == "model" else ()
        said = told("search", "who refused to pay", "--index", indexed, "-k", 1, "--rerank", rerank, *model)

        assert server.counts["rerank" if by == "server" else "RatePassages"] == 1
    assert [Path(hit["document"]).name for hit in said["hits"]] == ["council.md"]


def test_answers_say_how_their_chunks_were_chosen(told: Told, indexed: Path):
    with SimulatedServer(Behaviour()) as server:
        question = "Who refused to pay, the chairman?"
        said = told("ask", question, "--index", indexed, "--method", "bm25", "--rerank", server.url)

    assert f"chunks reranked by {server.url}" in said["why"]
    assert said["usage"]["calls"] == 1


def test_what_a_language_model_rates_is_on_the_books_of_the_answer(told: Told, indexed: Path):
    with SimulatedServer(Behaviour()) as server:
        model = ("--model", "vllm/m", "--set", f"llm.base_url={server.url}")
        said = told(
            "ask", "Who ran the sluice?", "--index", indexed, "--method", "bm25", "--rerank", "model", *model
        )

        assert said["usage"]["calls"] == server.counts["requests"] == 2


def test_a_reranker_that_there_is_not_is_an_error_of_one_line(run: Run, indexed: Path):
    result = run("search", "Ada", "--index", indexed, "--rerank", "colbert", code=2)

    assert "there is no reranker 'colbert'" in result.stderr
    assert (
        "name one with --model"
        in run("search", "Ada", "--index", indexed, "--rerank", "model", code=2).stderr
    )
