"""Requests to each kind of server, over real HTTP: addresses, headers with the key, and parameters."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer

from conspectus.models.llm.sender import CachingSender
from conspectus.models.llm.wire import Completion, Message, Request
from conspectus.settings import ModelSettings

HELLO = (Message("user", "Hello there"),)


def sent(
    server: SimulatedServer,
    name: str,
    environ: dict[str, str],
    settings: dict[str, Any] | None = None,
    **more: Any,
) -> Completion:
    async def run() -> Completion:
        async with CachingSender(ModelSettings(**(settings or {})), None, environ=environ) as sender:
            return await sender.send(Request(HELLO, name, **more))

    return asyncio.run(run())


def test_azure_is_asked_at_the_address_of_the_resource_with_its_key_in_a_header_of_its_own():
    with SimulatedServer(Behaviour(key="secret", keep_bodies=True)) as server:
        root = server.url.removesuffix("/v1")
        environ = {
            "AZURE_OPENAI_ENDPOINT": f"{root}/",
            "AZURE_OPENAI_API_KEY": "secret",
            "OPENAI_API_KEY": "other",
        }
        reply = sent(server, "azure/my-deployment", environ, temperature=0.0, max_tokens=50)
        path, headers = server.heads[0]

    assert reply.text == "Of Hello there"
    assert path == "/openai/v1/chat/completions"
    assert headers["api-key"] == "secret"
    assert "Authorization" not in headers
    assert server.bodies[0]["model"] == "my-deployment"


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("vllm/Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
        ("openrouter/openai/gpt-4.1-mini", "openai/gpt-4.1-mini"),
        ("openai/gpt-4.1-mini", "gpt-4.1-mini"),
        ("Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
    ],
)
def test_a_server_that_is_named_by_its_address_gets_its_own_key_and_no_others(name: str, model: str):
    environ = {
        "CONSPECTUS_API_KEY": "mine",
        "OPENAI_API_KEY": "o",
        "OPENROUTER_API_KEY": "r",
        "VLLM_API_KEY": "v",
    }
    with SimulatedServer(Behaviour(key="mine", keep_bodies=True)) as server:
        sent(server, name, environ, {"base_url": server.url}, seed=3)

    assert server.heads[0][0] == "/v1/chat/completions"
    assert server.bodies == [
        {"model": model, "messages": [{"role": "user", "content": "Hello there"}], "seed": 3}
    ]


@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "openai/o4-mini", "azure/o3"])
def test_reasoning_models_are_told_their_effort_and_spared_what_they_refuse(name: str):
    refuses = ("max_tokens", "temperature")
    with SimulatedServer(Behaviour(refuses=refuses, keep_bodies=True)) as server:
        more: dict[str, Any] = {"temperature": 0.0, "max_tokens": 900, "reasoning_effort": "low"}
        sent(server, name, {}, {"base_url": server.url}, **more)

    assert server.counts["400"] == 0
    assert server.bodies[0]["reasoning_effort"] == "low"
    assert server.bodies[0]["max_completion_tokens"] == 900


def test_ollama_is_found_where_its_variable_says_and_told_its_context():
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        environ = {"OLLAMA_HOST": server.url.removesuffix("/v1").removeprefix("http://")}
        schema: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "string"}}}
        more: dict[str, Any] = {
            "response_format": "json_schema",
            "schema": schema,
            "reasoning_effort": "high",
        }
        sent(server, "ollama/qwen3:8b", environ, {"context_window": 4096}, max_tokens=70, **more)

    assert server.heads[0][0] == "/api/chat"
    body = server.bodies[0]
    assert body["options"] == {"num_ctx": 4096, "num_predict": 70}
    assert body["format"] == schema
    assert body["think"] == "high"
    assert body["truncate"] is False
