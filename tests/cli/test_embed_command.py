"""`conspectus embed`, and vectors in `index`, `ask` and `status`, with the embedder of a simulated server."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer
from typer.testing import Result

from conspectus.indexing import embed

Run = Callable[..., Result]
Told = Callable[..., Any]
NAME = "openai/text-embedding-3-small"


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with SimulatedServer(Behaviour(dimension=24)) as running:
        yield running


@pytest.fixture
def made(server: SimulatedServer, run: Run, corpus: Path) -> Path:
    """An index of the small corpus with vectors, in the folder `made`; conspectus.toml names its server."""
    Path("conspectus.toml").write_text(f'[llm]\nembedder_base_url = "{server.url}"\n')
    run("index", corpus, "--index", "made", "--embedder", NAME, "--config", "conspectus.toml")
    return Path("made")


def test_an_index_built_with_an_embedder_is_asked_without_naming_it(made: Path, run: Run, told: Told):
    hits = told("search", "--index", made, "--method", "vector", "Ada Brook called Ruben Vale a coward")
    answer = told("ask", "--index", made, "--method", "vector", "Who was a coward?")

    assert hits["hits"][0]["document"].endswith("council.md")
    assert answer["method"] == "vector"
    assert answer["citations"]


def test_a_question_that_is_asked_again_is_paid_for_once(made: Path, run: Run, server: SimulatedServer):
    run("ask", "--index", made, "--method", "vector", "Who was a coward?")
    asked = server.counts["requests"]
    run("ask", "--index", made, "--method", "vector", "Who was a coward?")

    assert server.counts["requests"] == asked


def test_status_shows_model_dimension_and_what_was_spent(
    made: Path, run: Run, told: Told, server: SimulatedServer
):
    shown = run("status", "--index", made).stdout
    figures = told("status", "--index", made)

    assert f"Vectors: 6 chunks and 18 sentences by {NAME}, 24 numbers each." in shown
    assert figures["vectors"]["model"] == NAME
    assert figures["vectors"]["dimension"] == 24
    assert (
        figures["usage"]["prompt_tokens"] == server.prompt_tokens - 1
    )  # except the word of the trial request
    (spent,) = figures["spent"]
    assert (spent["task"], spent["calls"], spent["prompt_tokens"]) == ("Embed", 4, server.prompt_tokens)


def test_status_says_where_vectors_are_so_many_that_not_all_are_compared(
    monkeypatch: pytest.MonkeyPatch, made: Path, run: Run, told: Told
):
    assert told("status", "--index", made)["vectors"]["in_lists"] == []
    monkeypatch.setattr(embed, "MANY", 1)
    run("embed", "--index", made, "--config", "conspectus.toml")

    assert told("status", "--index", made)["vectors"]["in_lists"] == ["chunks", "sentences", "entities"]
    assert "likely chunks and sentences and entities alone" in run("status", "--index", made).stdout
    hits = told("search", "--index", made, "--method", "vector", "Ada Brook called Ruben Vale a coward")
    assert hits["hits"][0]["document"].endswith("council.md")


def test_asking_with_another_embedder_names_the_command_that_makes_its_vectors(made: Path, run: Run):
    other = "openai/text-embedding-3-large"
    told = run("ask", "--index", made, "--method", "vector", "--embedder", other, "Why?", code=2).stderr

    assert f"the index has vectors of {NAME} (24 dimensions)" in told
    assert f"conspectus embed --index made --embedder {other}" in told


def test_a_server_that_now_gives_other_vectors_is_told(made: Path, run: Run, server: SimulatedServer):
    server.behaviour = Behaviour(dimension=30)
    told = run("ask", "--index", made, "--method", "vector", "Why?", code=2).stderr

    assert "(24 dimensions), but the question would have one of 30 numbers" in told


def test_an_index_that_stands_is_given_vectors_and_loses_them(
    indexed: Path, run: Run, told: Told, server: SimulatedServer
):
    address = ("--base-url", server.url)
    given = told("embed", "--index", indexed, "--embedder", NAME, *address)
    calls = server.counts["requests"]
    again = told("embed", "--index", indexed, *address)
    gone = run("embed", "--index", indexed, "--embedder", "none")

    assert given["vectors"]["chunks"] == 6
    assert given["usage"]["calls"] > 0
    assert again["snapshot"] == given["snapshot"]
    assert server.counts["requests"] == calls
    assert gone.stdout.startswith("No vectors; conspectus embed computes them.")
    run("ask", "--index", indexed, "--method", "vector", "Why?", code=2)


def test_embed_asks_the_server_that_the_index_remembers(
    corpus: Path, run: Run, told: Told, server: SimulatedServer
):
    run("index", corpus, "--index", "made", "--embedder", "emb1", "--base-url", server.url)
    for named in ((), ("--embedder", "emb1")):
        assert told("embed", "--index", "made", *named)["vectors"]["chunks"] == 6
        assert (
            told("embed", "--index", "made", "--dry-run", *named)["estimate"]["tasks"][0]["task"] == "Embed"
        )
    run("embed", "--index", "made", "--embedder", "emb2", code=2)


def test_a_dry_run_says_what_it_would_cost_and_asks_nothing(
    corpus: Path, run: Run, told: Told, server: SimulatedServer
):
    Path("conspectus.toml").write_text(f'[prices."{NAME}"]\ninput = 20\n')
    more = ("--embedder", NAME, "--base-url", server.url, "--config", "conspectus.toml")
    (task,) = told("index", corpus, "--index", "one", "--dry-run", *more)["estimate"]["tasks"]
    assert server.counts["requests"] == 0
    run("index", corpus, "--index", "one", *more)

    assert task["task"] == "Embed"
    low, high = task["prompt_tokens"]  # descriptions of entities exist only once there is a graph
    assert low <= server.prompt_tokens - 1 <= high  # as above
    assert task["cost"][0] == pytest.approx(task["prompt_tokens"][0] * 20 / 1e6, rel=0.01)
    shown = run("embed", "--index", "one", "--dry-run", *more).stdout
    assert NAME in shown.splitlines()[0]
    assert shown.splitlines()[1].split() == ["compute", "embeddings", "0", "0", "0", "0"]
    assert told("embed", "--index", "one", "--dry-run", "--embedder", "local") == {"estimate": None}


def test_an_embedder_that_cannot_be_had_stops_the_build_before_it_begins(corpus: Path, run: Run):
    told = run("index", corpus, "--index", "none", "--embedder", NAME, code=1).stderr

    assert "needs a key: set OPENAI_API_KEY" in told
    assert not (Path("none") / "manifest.json").exists()


def test_a_server_that_fails_on_the_way_leaves_an_index_without_vectors_and_a_failure(
    corpus: Path, run: Run, told: Told, server: SimulatedServer
):
    server.behaviour = Behaviour(never=("coward",))
    more = ("--embedder", NAME, "--base-url", server.url, "--set", "llm.attempts=2")
    failed = run("index", corpus, "--index", "half", *more, code=3).stderr

    assert re.search(r"None of \d+ texts has a vector", failed)
    assert f"conspectus embed --index half --embedder {NAME} computes them" in failed
    assert told("status", "--index", "half")["vectors"] is None
    server.behaviour = Behaviour()
    assert told("embed", "--index", "half", *more)["vectors"]["chunks"] == 6


def test_an_update_that_is_to_make_no_vectors_says_that_they_are_gone(
    made: Path, run: Run, corpus: Path, tmp_path: Path
):
    more = tmp_path / "more"
    shutil.copytree(corpus, more)
    (more / "epilogue.txt").write_text("Nobody in Hollin ever forgave Ruben Vale.")

    assert f"Embedder {NAME}" in run("index", more, "--index", made).stderr
    assert json.loads((made / "manifest.json").read_text())["settings"]["vectors"]["embedder"] == NAME
    (more / "epilogue.txt").unlink()
    told = run("index", more, "--index", made, "--embedder", "none")

    assert f"The previous index had vectors of {NAME}" in told.stderr
    assert json.loads((made / "manifest.json").read_text())["settings"]["vectors"]["embedder"] == "none"


def test_a_build_that_finds_nothing_changed_keeps_the_vectors(made: Path, run: Run, corpus: Path):
    assert "Nothing has changed" in run("index", corpus, "--index", made).stdout
    assert json.loads((made / "manifest.json").read_text())["settings"]["vectors"]["embedder"] == NAME


def test_only_what_is_new_is_embedded_when_files_are_added(
    made: Path, run: Run, corpus: Path, tmp_path: Path, server: SimulatedServer
):
    more = tmp_path / "more"
    more.mkdir()
    for file in corpus.iterdir():
        (more / file.name).write_bytes(file.read_bytes())
    (more / "epilogue.txt").write_text("Nobody in Hollin ever forgave Ruben Vale.")
    before = server.prompt_tokens
    run("index", more, "--index", made, "--embedder", NAME, "--config", "conspectus.toml")

    assert 0 < server.prompt_tokens - before < before / 4
