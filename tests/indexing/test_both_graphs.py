"""`extract.style = "both"`: one run makes the graph with its reports and the open triples; every method uses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import ASKED, documents, settings
from making import a_document
from scripted import ScriptedModel
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api
from conspectus.errors import BadReply, BudgetReached
from conspectus.indexing.chunks import chunk, extract
from conspectus.settings import ChunkSettings, ExtractSettings
from conspectus.tasks import (
    AnyMissed,
    ExtractGraph,
    Extraction,
    ExtractTriples,
    FoundEntity,
    FoundTriple,
    NameEntities,
)

TRIPLES = {"NameEntities", "ExtractTriples"}
GRAPH = {"ExtractGraph", "AnyMissed", "GleanMore", "DescribeElement", "WriteReport"}


@pytest.fixture(scope="module")
def server() -> Iterator[SimulatedServer]:
    with SimulatedServer(Behaviour()) as server:
        yield server


@pytest.fixture(scope="module")
def both(server: SimulatedServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("indexes") / "both"
    conspectus.build(documents=documents(), folder=folder, settings=chosen(server))
    return folder


def chosen(server: SimulatedServer, **more: Any) -> dict[str, Any]:
    return settings(server.url, extract__style="both", **more)


def test_the_graph_and_its_reports_are_those_of_a_graph_alone(
    server: SimulatedServer, both: Path, tmp_path: Path
) -> None:
    index = conspectus.open_index(both)
    alone = conspectus.build(documents=documents(), folder=tmp_path, settings=settings(server.url)).index

    assert list(index.entities) == list(alone.entities)
    assert list(index.relationships) == list(alone.relationships)
    assert list(index.reports) == list(alone.reports)
    assert len(index.triples)
    assert not len(alone.triples)


def test_the_triples_are_those_of_triples_alone(server: SimulatedServer, both: Path, tmp_path: Path) -> None:
    of_triples = settings(server.url, extract__style="triples")
    alone = conspectus.build(documents=documents(), folder=tmp_path, settings=of_triples).index

    assert list(conspectus.open_index(both).triples) == list(alone.triples)


@pytest.mark.parametrize(
    "method", ["hipporag", "hipporag2", "combined", "ircot", "local", "global", "tog", "drift", "walk"]
)
def test_every_method_answers_from_one_index(method: str, both: Path) -> None:
    index = conspectus.open_index(both)

    more = {"model": "extractive"} if method == "tog" else {}  # the simulated model chooses few relations
    answer = index.ask(ASKED[1], method=method, **more)

    assert answer.citations
    assert answer.method == method


def test_the_phrases_of_a_ranking_are_those_of_the_triples(both: Path) -> None:
    index = conspectus.open_index(both)
    hits = conspectus.search(ASKED[0], index, method="hipporag")

    assert hits
    assert any("Ada Byrne" in hit.text for hit in hits)


def test_who_has_a_graph_pays_for_the_triples_alone_as_estimated(
    server: SimulatedServer, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"documents": documents(), "folder": tmp_path}
    conspectus.build(**how, settings=settings(server.url))
    estimate = api.estimate(**how, settings=chosen(server))
    before = server.counts.copy()

    conspectus.build(**how, settings=chosen(server))

    new = Counter({task: n for task, n in (server.counts - before).items() if task in TRIPLES | GRAPH})
    assert set(new) == TRIPLES
    rows = {row.task: row for row in estimate.tasks}
    assert rows.keys() == TRIPLES
    assert all(row.calls == (new[name], new[name]) for name, row in rows.items())


def test_an_update_asks_for_what_is_new_and_a_stopped_build_goes_on(
    server: SimulatedServer, tmp_path: Path
) -> None:
    few = chosen(server, llm__budget_tokens=60_000, llm__concurrency=2, llm__max_tokens=900)
    with pytest.raises(BudgetReached):
        conspectus.build(documents=documents(), folder=tmp_path, settings=few)
    whole = chosen(server, llm__max_tokens=900)
    index = conspectus.build(documents=documents(), folder=tmp_path, settings=whole).index
    assert sum(usage.cached_calls for usage in index.usage.values())

    updated = conspectus.build(documents=documents(13), folder=tmp_path, settings=whole)

    assert updated.update.changes is not None
    assert len(updated.update.changes.added) == 1
    new = updated.index.usage
    assert 0 < new["ExtractTriples"].calls < index.usage["ExtractTriples"].calls
    assert len(updated.index.triples) > len(index.triples)


async def test_a_failure_of_triples_leaves_the_graph() -> None:
    model = ScriptedModel(
        {
            ExtractGraph: [Extraction((FoundEntity("Ada", "person", "An engineer."),))],
            AnyMissed: [False],
            NameEntities: [("Ada",)],
            ExtractTriples: [BadReply("cut off")],
        }
    )
    chunks = chunk([a_document("Ada owned Rook.")], ChunkSettings())

    found = await extract(chunks, model, ExtractSettings(style="both"))

    assert [entity.name for entity in found.graphs[0].entities] == ["Ada"]
    assert [failure.stage for failure in found.failures] == ["extract"]


async def test_phrases_of_triples_are_no_entities_of_the_graph() -> None:
    owned = FoundTriple("the barge", "was owned by", "Ada")
    model = ScriptedModel(
        {
            ExtractGraph: [Extraction((FoundEntity("Ada", "person", "An engineer."),))],
            AnyMissed: [False],
            NameEntities: [("Ada", "Rook")],
            ExtractTriples: [(owned,)],
        }
    )
    chunks = chunk([a_document("Ada owned Rook.")], ChunkSettings())

    (graph,) = (await extract(chunks, model, ExtractSettings(style="both"))).graphs

    assert [entity.name for entity in graph.entities] == ["Ada"]
    assert graph.relationships == ()
    assert graph.triples == (owned,)


def test_without_a_model_it_is_the_graph(tmp_path: Path) -> None:
    how: dict[str, Any] = {"documents": documents(3), "settings": {"extract.style": "both"}}
    index = conspectus.build(folder=tmp_path / "both", **how).index

    assert len(index.entities)
    assert not len(index.triples)
