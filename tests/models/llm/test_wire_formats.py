"""Tests without a server: presets, the meaning of refusals, thinking, and the light import."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus import errors
from conspectus.models.llm.client import Clients
from conspectus.models.llm.providers import (
    error_of_response,
    find_endpoint,
    message_of,
    one_line,
    redact,
    retry_after,
    unreachable,
)
from conspectus.models.llm.wire import (
    Message,
    Part,
    Request,
    ollama_body,
    openai_body,
    vocabulary,
    without_thinking,
    without_thinking_streamed,
)
from conspectus.settings import ModelSettings

ENVIRON = {
    "OPENAI_API_KEY": "o",
    "CONSPECTUS_API_KEY": "c",
    "AZURE_OPENAI_ENDPOINT": "https://me.openai.azure.com/",
}


@pytest.mark.parametrize(
    ("name", "base_url", "model", "address", "key"),
    [
        ("openai/gpt-4.1-mini", "", "gpt-4.1-mini", "https://api.openai.com/v1", "o"),
        ("openai/gpt-4.1-mini", "http://host:8000/v1/", "gpt-4.1-mini", "http://host:8000/v1", "c"),
        ("Qwen/Qwen3-8B", "host:8000/v1", "Qwen/Qwen3-8B", "http://host:8000/v1", "c"),
        ("vllm/Qwen/Qwen3-8B", "", "Qwen/Qwen3-8B", "http://localhost:8000/v1", None),
        ("ollama/qwen3", "", "qwen3", "http://localhost:11434", None),
        ("ollama/qwen3", "http://host:11434/v1", "qwen3", "http://host:11434", "c"),
        ("azure/my-deployment", "", "my-deployment", "https://me.openai.azure.com/openai/v1", None),
        ("openrouter/openai/gpt-4.1", "", "openai/gpt-4.1", "https://openrouter.ai/api/v1", None),
        ("anthropic/claude-sonnet-4-5", "", "claude-sonnet-4-5", "", None),
    ],
)
def test_a_name_leads_to_a_model_an_address_and_a_key(
    name: str, base_url: str, model: str, address: str, key: str
):
    found = find_endpoint(name, base_url, ENVIRON)
    assert (found.model, found.base_url, found.key) == (model, address, key)
    assert "'c'" not in repr(found)
    assert "'o'" not in repr(found)


@pytest.mark.parametrize(
    ("name", "base_url", "says"),
    [
        ("gpt-4.1", "", "no server is known for the model 'gpt-4.1'.*base_url="),
        ("gpt-4o", "", "did you mean openai/gpt-4o"),
        ("gpt-oss:20b", "", "did you mean ollama/gpt-oss:20b"),
        ("claude-sonnet-4-5", "", "did you mean anthropic/claude-sonnet-4-5"),
        ("nobody/x", "", "no server is known"),
        ("azure/x", "", "set AZURE_OPENAI_ENDPOINT"),
        ("openai/x", "ftp://host", "not the address of a server"),
    ],
)
def test_a_name_that_leads_nowhere_is_told(name: str, base_url: str, says: str):
    with pytest.raises(errors.UsageError, match=says):
        find_endpoint(name, base_url, {})


def test_an_address_with_a_password_takes_no_key_beside_it():
    environ = {"OLLAMA_HOST": "http://me:secret@host"}
    assert find_endpoint("ollama/x", "", environ).base_url == "http://me:secret@host"
    with pytest.raises(errors.UsageError, match="OLLAMA_API_KEY a key: remove one of them") as refused:
        find_endpoint("ollama/x", "", {**environ, "OLLAMA_API_KEY": "k"})
    assert "secret" not in str(refused.value)


def test_azure_takes_its_key_in_a_header_of_its_own():
    assert find_endpoint("azure/x", "", {**ENVIRON, "AZURE_OPENAI_API_KEY": "a"}).headers == {"api-key": "a"}
    assert find_endpoint("openai/x", "", ENVIRON).headers == {"Authorization": "Bearer o"}


def test_tokens_are_counted_by_the_vocabulary_of_the_model():
    names = ("openai/gpt-4.1-mini", "openai/gpt-4o", "openai/o3", "openai/gpt-4-turbo", "ollama/qwen3")
    assert [vocabulary(name)[:5] for name in names] == ["o200k", "o200k", "o200k", "cl100", "cl100"]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        ("0.5", 0.5),
        ("Fri, 21 Nov 2025 10:00:30 GMT", 30.0),
        ("Fri, 21 Nov 2025 09:00:00 GMT", 0.0),
        ("soon", None),
        ("", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(value: str, seconds: float | None):
    assert retry_after({"Retry-After": value}, datetime(2025, 11, 21, 10, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (
            400,
            '{"error":{"message":"This model\'s maximum context length is 8192 tokens."}}',
            errors.ContextTooLong,
        ),
        (400, '{"object":"error","message":"prompt is too long: 9 > 8"}', errors.ContextTooLong),
        (413, "Request Entity Too Large", errors.ContextTooLong),
        (400, '{"error":{"message":"bad model","code":"model_not_found"}}', errors.UnknownModel),
        (404, '{"error":"model \\"qwen3\\" not found, try pulling it first"}', errors.UnknownModel),
        (404, "<html>404 page not found</html>", errors.ServerDown),
        (
            429,
            '{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}',
            errors.BadKey,
        ),
        (429, '{"error":{"message":"slow down"}}', errors.RateLimited),
        (402, '{"error":{"message":"Insufficient credits"}}', errors.BadKey),
        (403, '{"error":{"message":"not allowed"}}', errors.BadKey),
        (400, '{"error":{"message":"filtered","code":"content_filter"}}', errors.Refused),
        (422, '{"detail":[{"msg":"extra fields"}]}', errors.Refused),
        (503, "", errors.ServerFailed),
        (302, "", errors.ServerDown),
        (408, "", errors.TimedOut),
    ],
)
def test_a_refusal_is_told_by_what_it_means(status: int, body: str, error: type[errors.ModelError]):
    found = error_of_response(status, {}, body, find_endpoint("openai/x", "", ENVIRON), None)
    assert type(found) is error
    assert "\n" not in str(found)


def test_a_servers_message_is_one_line_of_bearable_length():
    message = one_line(message_of('{"error":{"message":"' + "long\\n" * 500 + '"}}')[0], None)
    assert len(message) == 300
    assert "\n" not in message


def test_what_a_server_repeats_of_a_request_is_not_told():
    body = (
        '{"detail":[{"loc":["body","seed"],"msg":"extra fields","input":"The secret of Hollin"},"and so on"]}'
    )
    assert message_of(body) == ("body.seed: extra fields; and so on", "")


@pytest.mark.parametrize(
    "text",
    [
        "Bearer abcdef",
        "Basic bWU6eA==",
        "key sk-proj-abcdefgh12",
        "http://me:secret@host/v1",
        "the KEY itself",
    ],
)
def test_what_looks_like_a_key_is_redacted(text: str):
    assert "[key]" in redact(text, "KEY itself")


THOUGHTS = [
    ("<think>\nhm </think>\n\nyes", "yes"),
    ("<thinking>a</thinking>b <think>c</think>", "b <think>c</think>"),
    ("<think>never ends", ""),
    ("thoughts without opening\n</think>\n{}", "{}"),
    ('{"a": "say </think> here"}', '{"a": "say </think> here"}'),
    ('{"a": "x\n</think>\ny"}', '{"a": "x\n</think>\ny"}'),
    ("a < b", "a < b"),
    ("<thin air>", "<thin air>"),
    ("", ""),
]


@pytest.mark.parametrize(("text", "rest"), THOUGHTS)
def test_thinking_at_the_start_is_stripped_and_nothing_else(text: str, rest: str):
    assert without_thinking(text) == rest


@given(
    text=st.sampled_from([text for text, _ in THOUGHTS if "without opening" not in text]),
    size=st.integers(1, 9),
)
def test_a_streams_thinking_is_stripped_wherever_it_is_cut(text: str, size: int):
    async def parts() -> AsyncIterator[Part]:
        for n in range(0, len(text), size):
            yield Part(text[n : n + size])

    async def pieces() -> list[str | Part]:
        return [piece async for piece in without_thinking_streamed(parts())]

    *shown, whole = asyncio.run(pieces())
    assert isinstance(whole, Part)
    assert "".join(map(str, shown)) == whole.text
    assert whole.text.strip() == without_thinking(text).strip()


def test_a_body_has_only_what_was_asked_for():
    request = Request((Message("user", "x"),), "openai/m")
    assert openai_body(request, "m") == {
        "model": "m",
        "messages": [{"role": "user", "content": "x"}],
    }
    schema = {"type": "object"}
    request = Request(
        (Message("user", "x"),), "ollama/m", response_format="json_schema", schema=schema, max_tokens=7
    )
    body = ollama_body(request, "m", 4096, stream=True)
    assert body["options"] == {"num_ctx": 4096, "num_predict": 7}
    assert body["format"] == schema
    assert body["stream"]


def test_importing_conspectus_does_not_import_the_client():
    code = "import sys, conspectus, conspectus.models.llm.wire; print('aiohttp' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        == "False\n"
    )


def test_a_native_model_without_its_extra_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    from conspectus.models.llm.adapters import NativeClient

    monkeypatch.setitem(sys.modules, "any_llm", None)
    with pytest.raises(errors.UsageError, match=r"pip install 'conspectus\[native\]'"):
        NativeClient(find_endpoint("anthropic/claude", "", {"ANTHROPIC_API_KEY": "x"}), 10)


def test_a_native_model_without_extra_and_key_names_both(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "any_llm", None)
    with pytest.raises(errors.UsageError, match=r"conspectus\[native\]'.*ANTHROPIC_API_KEY"):
        Clients(ModelSettings(), None, {}).of("anthropic/claude")


def test_openai_is_asked_where_its_own_variable_leads():
    at = find_endpoint("openai/x", "", {"OPENAI_BASE_URL": "http://proxy.example/v1/", "OPENAI_API_KEY": "k"})
    assert (at.base_url, at.key) == ("http://proxy.example/v1", "k")


@pytest.mark.parametrize(
    ("name", "base_url", "advice"),
    [
        ("openai/x", "", "check the network connection"),
        ("ollama/x", "", "ollama serve"),
        ("x", "http://127.0.0.1:9/v1", "start it"),
        ("x", "https://llm.example/v1", "check its address"),
    ],
)
def test_an_address_where_nothing_answers_says_what_would_help(name: str, base_url: str, advice: str):
    assert advice in str(unreachable(find_endpoint(name, base_url, {}), "Connection refused"))


@pytest.mark.parametrize(
    ("base_url", "advice"),
    [("http://host:8123", "try base_url='http://host:8123/v1'"), ("http://host:8123/v1", "check base_url=")],
)
def test_an_address_that_lacks_its_version_is_completed(base_url: str, advice: str):
    assert advice in str(error_of_response(404, {}, "404: Not Found", find_endpoint("x", base_url, {}), None))


def test_who_is_refused_at_an_address_of_their_own_is_told_which_variables_are_read():
    told = str(
        error_of_response(401, {}, "no", find_endpoint("x", "http://host/v1", {"OPENAI_API_KEY": "k"}), None)
    )
    assert "set CONSPECTUS_API_KEY" in told
    assert "OPENAI_API_KEY goes to" in told


async def all_of(pieces: AsyncIterator[object]) -> list[object]:
    return [piece async for piece in pieces]


def test_bedrock_is_asked_in_the_region_of_its_variable_and_repeats_nothing_by_itself(
    monkeypatch: pytest.MonkeyPatch,
):
    from conspectus.models.llm.adapters import NativeClient

    created: dict[str, object] = {}

    def create(name: str, **options: object) -> SimpleNamespace:
        assert "max_retries" not in options, f"any-llm does not take it for {name}"
        created.update(options)
        return SimpleNamespace()

    any_llm, botocore = SimpleNamespace(AnyLLM=SimpleNamespace(create=create)), SimpleNamespace(Config=dict)
    monkeypatch.setitem(sys.modules, "any_llm", cast("ModuleType", any_llm))
    monkeypatch.setitem(sys.modules, "botocore.config", cast("ModuleType", botocore))
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    NativeClient(find_endpoint("bedrock/claude", "", {"AWS_BEARER_TOKEN_BEDROCK": "k"}), 10)

    assert created["config"] == {"region_name": "eu-central-1", "retries": {"total_max_attempts": 1}}


def test_an_error_of_a_native_provider_is_told_by_what_its_server_said(monkeypatch: pytest.MonkeyPatch):
    from conspectus.models.llm.adapters import NativeClient

    body = {
        "type": "error",
        "error": {"type": "authentication_error", "message": "invalid x-api-key KEY-4711"},
    }

    class Upset(Exception):
        status_code = 401
        original_exception = SimpleNamespace(body=body)

    async def upset(**_: object) -> None:
        raise Upset(f"Error code: 401 - {body}")

    provider = SimpleNamespace(
        AnyLLM=SimpleNamespace(create=lambda *_, **__: SimpleNamespace(acompletion=upset))
    )
    monkeypatch.setitem(sys.modules, "any_llm", cast("ModuleType", provider))
    client = NativeClient(find_endpoint("anthropic/claude", "", {"ANTHROPIC_API_KEY": "KEY-4711"}), 10)
    request = Request((Message("user", "x"),), "anthropic/claude")
    with pytest.raises(errors.BadKey, match=r"ANTHROPIC_API_KEY \(HTTP 401: invalid x-api-key \[key\]\)$"):
        asyncio.run(all_of(client.reply(request, stream=False)))
