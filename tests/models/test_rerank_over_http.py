"""Servers that score passages, over real HTTP: requests, cached scores, and the meaning of refusals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from simulated_server import Behaviour, Service, SimulatedServer, listen

from conspectus.errors import BadKey, ServerDown, ServerFailed, UnknownModel, UsageError
from conspectus.models.llm.budget import Budget
from conspectus.models.llm.cache import FILE_NAME, ResponseCache
from conspectus.models.llm.providers import find_reranker
from conspectus.models.llm.sender import CachingSender
from conspectus.settings import ModelSettings

PASSAGES = ("Bees swarm.", "Owls hoot at night.", "Owls sleep by day.")
QUESTION = "When do owls hoot?"
SCORES = [0.0, 0.5, 0.25]


async def scored(
    name: str,
    passages: Sequence[str] = PASSAGES,
    *,
    folder: Path | None = None,
    environ: dict[str, str] | None = None,
    budget: Budget | None = None,
    **settings: Any,
) -> list[float]:
    replies = ResponseCache(folder / FILE_NAME) if folder else None
    llm = ModelSettings(**settings)
    async with CachingSender(llm, replies, budget, environ=environ or {}) as sender:
        return await sender.rerank(QUESTION, passages, name)


@pytest.mark.parametrize(("end", "model"), [("", ""), ("/rerank", ""), ("#bge-reranker", "bge-reranker")])
async def test_a_server_is_named_by_its_address_and_its_model_behind_it(end: str, model: str):
    with SimulatedServer(Behaviour(key="mine", keep_bodies=True)) as server:
        scores = await scored(
            server.url + end, environ={"CONSPECTUS_API_KEY": "mine", "COHERE_API_KEY": "other"}
        )

    assert scores == SCORES
    assert server.heads[0][0] == "/v1/rerank"
    named = {"model": model} if model else {}
    assert server.bodies == [{**named, "query": QUESTION, "documents": list(PASSAGES), "top_n": 3}]


async def test_a_passage_is_scored_once_for_a_question(tmp_path: Path):
    budget = Budget()
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        assert await scored(server.url, folder=tmp_path) == SCORES
        assert await scored(server.url, (*PASSAGES, "Owls hoot."), folder=tmp_path, budget=budget) == [
            *SCORES,
            0.5,
        ]

    assert [body["documents"] for body in server.bodies] == [list(PASSAGES), ["Owls hoot."]]
    assert budget.usage()["Rerank"].cached_calls == 3
    assert budget.usage()["Rerank"].calls == 1
    assert budget.usage()["Rerank"].prompt_tokens > 0


async def test_many_passages_go_in_several_requests_and_equal_ones_once():
    passages = [f"Owls hoot {n % 40} times." for n in range(80)]
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        scores = await scored(server.url, passages)

    assert scores == [0.5] * 80
    assert sorted(len(body["documents"]) for body in server.bodies) == [8, 32]


async def test_what_passes_is_tried_again():
    with SimulatedServer(Behaviour(errors=0.5, seed=3)) as server:
        assert [await scored(server.url, (f"Owls {n}",)) for n in range(8)] == [[0.25]] * 8
        assert server.counts["500"] > 0


async def test_a_wrong_key_is_told_and_never_shown():
    with SimulatedServer(Behaviour(key="right")) as server, pytest.raises(BadKey) as error:
        await scored(server.url, environ={"CONSPECTUS_API_KEY": "sk-wrong-12345678"})

    assert "CONSPECTUS_API_KEY" in str(error.value)
    assert "sk-wrong" not in str(error.value)


async def test_errors_name_the_flag_that_leads_to_the_server():
    with pytest.raises(ServerDown, match=r"or check .*rerank\.by"):
        await scored("http://127.0.0.1:1/v1", attempts=1)
    with (
        SimulatedServer(Behaviour(models=("a",))) as server,
        pytest.raises(UnknownModel, match=r"'b' .*rerank\.by"),
    ):
        await scored(f"{server.url}#b")


@pytest.mark.parametrize(
    "body",
    ['{"results": []}', '{"results": [{"index": 0, "relevance_score": 1}]}', "[1]", "{}", "no JSON", "null"],
)
async def test_a_reply_without_a_score_for_each_passage_is_a_failure(body: str):
    service = Service(Behaviour())
    service.rerank = lambda *_: _answer(body)  # pyright: ignore[reportAttributeAccessIssue]
    runner, port = await listen(service)
    try:
        with pytest.raises(ServerFailed):
            await scored(f"http://127.0.0.1:{port}/v1", attempts=1)
    finally:
        await runner.cleanup()


async def _answer(body: str) -> web.Response:
    return web.Response(text=body, content_type="application/json")


@pytest.mark.parametrize(
    ("name", "address", "model", "key"),
    [
        ("cohere/rerank-v3.5", "https://api.cohere.com/v2", "rerank-v3.5", "COHERE_API_KEY"),
        ("jina/jina-reranker-m0", "https://api.jina.ai/v1", "jina-reranker-m0", "JINA_API_KEY"),
        (
            "vllm/BAAI/bge-reranker-v2-m3",
            "http://localhost:8000/v1",
            "BAAI/bge-reranker-v2-m3",
            "VLLM_API_KEY",
        ),
        ("https://host/x/rerank#BAAI/bge", "https://host/x", "BAAI/bge", "CONSPECTUS_API_KEY"),
    ],
)
def test_names_lead_to_addresses(name: str, address: str, model: str, key: str):
    found = find_reranker(name, {})

    assert (found.base_url, found.model, found.key_variable) == (address, model, key)


@pytest.mark.parametrize("name", ["openai/gpt-4.1", "cohere", "http://"])
def test_other_names_lead_nowhere(name: str):
    with pytest.raises(UsageError):
        find_reranker(name, {})
