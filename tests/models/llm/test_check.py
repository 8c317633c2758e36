"""`models check`: reports what a server supports, or what to fix, by one small request of each kind."""

from __future__ import annotations

from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer

from conspectus import api
from conspectus.models.llm.model import Checked


def checked(behaviour: Behaviour, monkeypatch: pytest.MonkeyPatch, **more: Any) -> dict[str, Checked]:
    monkeypatch.setenv("CONSPECTUS_API_KEY", "sk-secret-0123456789")
    with SimulatedServer(behaviour) as server:
        chosen = {"model": "openai/gpt-4.1-mini", "llm.base_url": server.url, **more}
        return {check.kind: check for check in api.check_models(chosen)}


def test_what_a_server_takes_is_told(monkeypatch: pytest.MonkeyPatch):
    found = checked(Behaviour(), monkeypatch, **{"vectors.embedder": "openai/text-embedding-3-small"})
    assert [kind for kind, check in found.items() if check.ok] == [
        "chat", "json_schema", "json_object", "logit_bias", "streaming", "embeddings",
    ]  # fmt: skip
    assert found["embeddings"].detail == "vectors of 64 numbers"
    assert "cut off" not in found["logit_bias"].detail


def test_what_a_server_refuses_is_told(monkeypatch: pytest.MonkeyPatch):
    found = checked(Behaviour(refuses=("json_schema", "logit_bias", "stream")), monkeypatch)
    assert found["chat"].ok
    assert not any(found[kind].ok for kind in ("json_schema", "logit_bias", "streaming"))
    assert "does not support json_schema" in found["json_schema"].detail
    assert "does not support streaming" in found["streaming"].detail


def test_a_server_that_is_pressed_tells_nothing_of_what_it_takes(monkeypatch: pytest.MonkeyPatch):
    found = checked(
        Behaviour(limit=1, window=60.0), monkeypatch, **{"vectors.embedder": "openai/text-embedding-3-small"}
    )
    assert found["chat"].ok
    assert {found[kind].ok for kind in ("json_schema", "json_object", "logit_bias", "streaming")} == {None}
    assert "too many calls" in found["json_schema"].detail
    assert found["embeddings"].ok is False


def test_a_wrong_key_is_one_line_that_does_not_show_it(monkeypatch: pytest.MonkeyPatch):
    found = checked(Behaviour(key="right"), monkeypatch)
    assert list(found) == ["chat"]
    assert found["chat"].ok is False
    assert "CONSPECTUS_API_KEY" in found["chat"].detail
    assert "secret" not in found["chat"].detail
