"""Every method over real HTTP with a language model, and either kind of model over either kind of index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents, settings
from scripted import ScriptedModel
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api
from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.retrieval import base, model_wrappers
from conspectus.retrieval.global_ import select_communities
from conspectus.rows import Answer, Community, Finding, Report
from conspectus.tasks import RateReport

QUESTION = "Who bought land from Ada Byrne?"


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedServer]:
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        yield server


@pytest.fixture(scope="module")
def index(server: SimulatedServer, tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("written")
    return conspectus.build(documents=documents(), folder=folder, settings=settings(server.url)).index


def ask(server: SimulatedServer, index: Index, question: str = QUESTION, **more: Any) -> Answer:
    known = {name: more.pop(name) for name in ("method", "level", "on_text") if name in more}
    return conspectus.ask(question, index, settings=settings(server.url, **more), **known)


@pytest.mark.parametrize("method", ["global", "local", "source-summary", "bm25"])
def test_every_method_answers_with_citations_that_lead_to_the_sources(
    method: str, server: SimulatedServer, index: Index
):
    answer = ask(server, index, method=method)
    assert "bought land" in answer.text
    assert answer.citations
    texts = {document.path: document.text for document in index.documents}
    for citation in answer.citations:
        assert citation.sources
        for source in citation.sources:
            assert texts[source.document][source.start : source.end] == source.text
    assert any("An AI wrote" in notice for notice in answer.notices)
    assert answer.usage.calls > 0
    assert "[Data:" not in answer.text


def test_a_question_that_was_answered_is_answered_again_without_a_call(server: SimulatedServer, index: Index):
    assert index.folder
    first = ask(server, index, "What did Rosa Field do?", method="local")
    again = ask(server, api.open_index(index.folder), "What did Rosa Field do?", method="local")
    assert again.text == first.text
    assert first.usage.calls == 1
    assert (again.usage.calls, again.usage.cached_calls) == (0, 1)


@pytest.mark.parametrize("written_by_model", [True, False])
def test_extractive_answers_stand_on_an_index_that_a_model_wrote_and_the_other_way_round(
    written_by_model: bool, server: SimulatedServer, index: Index, tmp_path: Path
):
    if written_by_model:
        answer = conspectus.ask(QUESTION, index, method="local")
        assert answer.usage.calls == 0
    else:
        plain = conspectus.build(documents=documents(), folder=tmp_path)
        answer = ask(server, plain.index, method="local")
        assert answer.usage.calls == 1
    assert "Ada Byrne" in answer.text
    assert answer.citations


def test_length_format_knowledge_and_language_reach_the_prompts(server: SimulatedServer, index: Index):
    server.bodies.clear()
    more = {"answer__response": "a list of 3 points", "answer__general_knowledge": True}
    ask(server, index, "谁从 Ada Byrne 那里买了土地？这些文件的主题是什么？", method="global", **more)
    prompts = [body["messages"][0]["content"] for body in server.bodies]
    assert prompts
    assert all("a list of 3 points" in prompt for prompt in prompts)
    assert all("常识" in prompt for prompt in prompts)


def test_an_answer_is_told_while_it_is_written_with_its_references_whole(
    server: SimulatedServer, index: Index
):
    pieces: list[str] = []
    answer = ask(server, index, "What did Bo Quill do?", method="local", on_text=pieces.append)
    assert len(pieces) > 3
    assert "".join(pieces).strip() == answer.text
    assert all("Data" not in piece for piece in pieces)
    whole = "".join(pieces)
    markers = [match.group() for match in re.finditer(r"\[\d+\]", whole)]
    assert all(any(marker in piece for piece in pieces) for marker in markers)


def test_what_is_cited_is_looked_up_only_where_a_reference_ends(
    server: SimulatedServer, index: Index, monkeypatch: pytest.MonkeyPatch
):
    looked_up: list[str] = []

    def cite(text: str, index: Index) -> Any:
        looked_up.append(text)
        return base.cite(text, index)

    monkeypatch.setattr(model_wrappers, "cite", cite)
    pieces: list[str] = []
    answer = ask(server, index, "What did Nell Dray do?", method="local", on_text=pieces.append)
    assert "".join(pieces).strip() == answer.text
    assert 0 < len(looked_up) < len(pieces) / 2


async def test_a_streamed_answer_ends_with_the_whole_of_it(server: SimulatedServer, index: Index):
    told = [
        piece
        async for piece in conspectus.astream(
            "What did Vera Stone do?", index, method="local", settings=settings(server.url)
        )
    ]
    *pieces, answer = told
    assert isinstance(answer, Answer)
    assert "".join(str(piece) for piece in pieces).strip() == answer.text


# Dynamic community selection from the root


def tree() -> Index:
    """Two communities at the root, the first with two children; each has a report."""
    shape = {0: (-1, (2, 3), 0), 1: (-1, (), 0), 2: (0, (), 1), 3: (0, (), 1)}
    communities = [
        Community(f"c{n}", n, level, parent, children, (n,)) for n, (parent, children, level) in shape.items()
    ]
    reports = [
        Report(
            f"r{n}", n, n, level, parent, children, f"Report {n}", "s", 5.0, "", (Finding("f", "x"),), 3, 10
        )
        for n, (parent, children, level) in shape.items()
    ]
    return Index(communities=communities, reports=reports)


async def test_only_what_is_relevant_is_descended_into_and_parts_stand_for_their_whole():
    ratings = {0: 3, 1: 0, 2: 4, 3: 0}
    model = ScriptedModel({RateReport: lambda task: ratings[task.report.number]})
    descent = await select_communities("?", tree(), model)
    assert [rated.report.number for rated in descent.chosen] == [2]
    assert descent.rated == 4
    assert "1 of level 1" in descent.description


async def test_what_is_not_relevant_at_the_root_is_never_rated_further_down():
    ratings = {0: 0, 1: 5}
    model = ScriptedModel({RateReport: lambda task: ratings[task.report.number]})
    descent = await select_communities("?", tree(), model)
    assert [rated.report.number for rated in descent.chosen] == [1]
    assert descent.rated == 2


async def test_a_report_that_cannot_be_rated_counts_as_relevant():
    said: dict[int, Any] = {0: ModelError("no"), 1: 0, 2: 0, 3: 0}
    model = ScriptedModel({RateReport: lambda task: said[task.report.number]})
    descent = await select_communities("?", tree(), model)
    assert [rated.report.number for rated in descent.chosen] == [0]
    assert len(descent.failed) == 1


async def test_parts_that_cannot_be_rated_count_as_relevant_too_where_their_whole_could_be():
    said: dict[int, Any] = {0: 3, 1: 0, 2: ModelError("no"), 3: ModelError("no")}
    model = ScriptedModel({RateReport: lambda task: said[task.report.number]})
    descent = await select_communities("?", tree(), model)
    assert [rated.report.number for rated in descent.chosen] == [2, 3]
    assert len(descent.failed) == 2


async def test_where_no_report_can_be_rated_that_is_an_error():
    model = ScriptedModel({RateReport: lambda _: ModelError("no")})
    with pytest.raises(ModelError, match="no"):
        await select_communities("?", tree(), model)


async def test_the_parts_of_a_report_that_is_missing_are_rated_in_its_place():
    ratings = {1: 0, 2: 4, 3: 0}
    model = ScriptedModel({RateReport: lambda task: ratings[task.report.number]})
    index = tree()
    lacking = replace(index, reports=index.reports[1:])
    descent = await select_communities("?", lacking, model)
    assert [rated.report.number for rated in descent.chosen] == [2]
    assert descent.rated == 3


def test_an_answer_from_the_root_down_says_what_it_used(server: SimulatedServer, index: Index):
    answer = ask(server, index, level="auto")
    assert "rated from the root down" in answer.why
    assert answer.level is None
    assert "communities" in answer.why
    assert conspectus.ask(QUESTION, index, level="auto").text


@pytest.mark.parametrize("method", ["rollup", "drilldown", "drift"])
def test_methods_along_the_hierarchy_cite_the_sources(method: str, server: SimulatedServer, index: Index):
    answer = ask(server, index, method=method)
    assert answer.citations
    texts = {document.path: document.text for document in index.documents}
    sources = [source for citation in answer.citations for source in citation.sources]
    assert all(texts[s.document][s.start : s.end] == s.text for s in sources)
    assert "[Data:" not in answer.text
    assert answer.why


def test_a_short_answer_is_asked_for_in_so_many_words(server: SimulatedServer, index: Index):
    server.bodies.clear()
    ask(server, index, "Who bought the land?", method="local", answer__response="short answer")
    assert "in as few words as it takes" in server.bodies[-1]["messages"][0]["content"]


def test_reports_written_for_a_question_are_bought_once(server: SimulatedServer, tmp_path: Path):
    plain = settings(server.url, reports__write=False)
    conspectus.build(documents=documents(), folder=tmp_path, settings=plain)

    first = conspectus.ask(QUESTION, tmp_path, method="rollup", settings=plain)
    again = conspectus.ask(QUESTION, tmp_path, method="rollup", settings=plain)

    assert "written for it" in first.why
    assert first.usage.calls > 1
    assert again.usage.calls == 0
    assert again.text == first.text


def test_reports_written_for_a_question_are_those_that_indexing_buys(server: SimulatedServer, tmp_path: Path):
    conspectus.build(
        documents=documents(), folder=tmp_path, settings=settings(server.url, reports__write=False)
    )
    asked = conspectus.ask(QUESTION, tmp_path, method="rollup", settings=settings(server.url))
    server.bodies.clear()
    built = conspectus.build(documents=documents(), folder=tmp_path, settings=settings(server.url))

    assert "written for it" in asked.why
    written = sum("# Task: WriteReport" in body["messages"][0]["content"] for body in server.bodies)
    assert written < len(built.index.reports)
