"""The size of replies is limited for every kind of request, and the key is not sent to a redirect."""

from __future__ import annotations

import json
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import conspectus
from conspectus.errors import ModelError
from conspectus.models.llm import client

TEXT = "Ada Byrne met Bo Quill at the mill in 1901. Bo Quill owns the mill."
ask: Any = conspectus.ask
KEY = "canary-5f1e"


class Handler(BaseHTTPRequestHandler):
    """Handles each request in the way that its server is configured for, and records it."""

    server: Any

    def do_POST(self) -> None:
        self.server.came.append(self.headers.get("Authorization"))
        self.rfile.read(int(self.headers["Content-Length"]))
        with suppress(OSError):  # the client disconnects at its limit
            self.server.answer(self)

    def log_message(self, *_: Any) -> None:
        pass

    def begin(self, status: int = 200, **headers: Any) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


def long_reply(handler: Handler) -> None:
    message = {"role": "assistant", "content": "mill " * 200_000}
    handler.begin()
    handler.wfile.write(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())


def large_body(handler: Handler) -> None:
    handler.begin()
    while True:
        handler.wfile.write(b" " * (1 << 20))


def endless_stream(handler: Handler) -> None:
    handler.begin(200, **{"Content-Type": "text/event-stream"})
    event = {"choices": [{"delta": {"content": "mill " * 2000}}]}
    while True:
        handler.wfile.write(b"data: " + json.dumps(event).encode() + b"\n\n")


def endless_line(handler: Handler) -> None:
    handler.begin(200, **{"Content-Type": "text/event-stream"})
    while True:
        handler.wfile.write(b"data: " + b"x" * (1 << 20))


def endless_error(handler: Handler) -> None:
    handler.begin(500)
    while True:
        handler.wfile.write(b"x" * (1 << 20))


@contextmanager
def serving(answer: Any) -> Iterator[Any]:
    server: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.answer, server.came = answer, []
    server.url = f"http://127.0.0.1:{server.server_port}/v1"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("asked") / "index"
    conspectus.build(documents=[TEXT], folder=folder, model="extractive")
    return folder


def asking(server: Any, **more: Any) -> dict[str, Any]:
    llm = {"llm.base_url": server.url, "llm.attempts": 1, **more}
    return {"model": "simulated", "settings": llm}


@pytest.mark.parametrize("answer", [long_reply, large_body, endless_stream, endless_line, endless_error])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_reply_without_end_is_one_failed_call_in_bounded_memory(
    answer: Any, streamed: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "LARGEST_BODY", 4 << 20)
    given: dict[str, Any] = {"on_text": lambda _: None} if streamed else {}
    with serving(answer) as server:
        given |= asking(server, **{"llm.max_tokens": 50})
        tracemalloc.start()
        with pytest.raises(ModelError):
            ask("Who owns the mill?", folder, method="bm25", **given)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert peak < 50 << 20
    assert len(server.came) < 5


def test_a_redirect_to_another_server_is_not_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def elsewhere(handler: Handler) -> None:
        handler.begin(307, Location=f"{other.url}/chat/completions")

    with serving(long_reply) as other, serving(elsewhere) as server:
        given = asking(server) | {"model": "openai/gpt-4.1-mini"}
        with pytest.raises(ModelError) as raised:
            ask("Who owns the mill?", folder, method="bm25", **given)

    assert server.came
    assert not other.came
    assert KEY not in str(raised.value)
