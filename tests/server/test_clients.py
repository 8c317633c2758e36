"""The unmodified official clients of OpenAI and MCP work with the server."""

from __future__ import annotations

from pathlib import Path

import pytest

import conspectus
from tests.server.conftest import Running

openai = pytest.importorskip("openai")
mcp = pytest.importorskip("mcp")

QUESTION = "Who is the harbour master of Port Sallow?"


def test_indexes_and_methods_are_models(server: Running) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
    names = [model.id for model in client.models.list()]
    assert names[0] == "sample"
    assert {"sample:walk", "sample:global", "sample:local"} <= set(names)
    assert client.models.retrieve("sample:walk").id == "sample:walk"


def test_a_completion_is_the_answer_with_citations_as_annotations(
    server: Running, sample_index: Path
) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": QUESTION}]
    reply = client.chat.completions.create(model="sample:bm25", messages=messages)
    message, answer = reply.choices[0].message, conspectus.ask(QUESTION, sample_index, method="bm25")
    assert message.content.startswith(answer.text)
    assert len(message.annotations) == len({c.marker for c in answer.citations})
    first = message.annotations[0].url_citation
    assert message.content[first.start_index : first.end_index] == f"[{answer.citations[0].marker}]"
    assert first.url.startswith(f"{server.url}/documents/")


def test_a_streamed_completion_is_the_same(server: Running) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
    messages = [{"role": "user", "content": QUESTION}]
    whole = client.chat.completions.create(model="sample:bm25", messages=messages).choices[0].message.content
    options = {"include_usage": True}
    chunks = list(
        client.chat.completions.create(
            model="sample:bm25", messages=messages, stream=True, stream_options=options
        )
    )
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == whole
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices][-1] == "stop"
    assert chunks[-1].usage.total_tokens == 0  # no language model was called


def test_an_unknown_model_is_not_found(server: Running) -> None:
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="none")
    for name in ("gpt-4", "sample:nothing"):
        with pytest.raises(openai.NotFoundError):
            client.chat.completions.create(model=name, messages=[{"role": "user", "content": QUESTION}])


async def test_agents_have_read_only_tools_with_schemas(server: Running) -> None:
    async with mcp.Client(f"{server.url}/mcp") as client:
        tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == {
        "ask", "search", "fetch", "overview", "report", "entity", "path", "status",
    }  # fmt: skip
    assert all(tool.annotations and tool.annotations.read_only_hint for tool in tools)
    assert all(tool.output_schema for tool in tools)


async def test_an_agent_asks_searches_and_reads_on(server: Running, sample_index: Path) -> None:
    async with mcp.Client(f"{server.url}/mcp") as client:
        answer = (await client.call_tool("ask", {"question": QUESTION, "method": "bm25"})).structured_content
        citation = answer["citations"][0]
        read = (await client.call_tool("fetch", {"document": citation["document"]})).structured_content
        assert read["text"][citation["start"] : citation["end"]] == citation["text"]
        hits = (await client.call_tool("search", {"query": QUESTION, "limit": 3})).structured_content
        assert len(hits["result"]) == 3
        overview = (await client.call_tool("overview", {})).structured_content
        assert overview["documents"] == len(conspectus.open_index(sample_index).documents)


async def test_an_agent_reads_what_was_wrong_with_a_call(server: Running) -> None:
    async with mcp.Client(f"{server.url}/mcp") as client:
        wrong = await client.call_tool("entity", {"name": "Wilf Garick"})
        with pytest.raises(mcp.MCPError, match="did you mean Wilf Garrick"):
            await client.read_resource("conspectus://entities/Wilf%20Garick")
    assert wrong.is_error
    assert "did you mean Wilf Garrick" in wrong.content[0].text


async def test_resources_are_read(server: Running) -> None:
    async with mcp.Client(f"{server.url}/mcp") as client:
        read = await client.read_resource("conspectus://reports/0")
    assert read.contents[0].text.startswith("# ")
