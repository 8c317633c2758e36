"""A stand-in for the hub of models, for tests: files of one model over HTTP on this machine, with their hashes.

    with SimulatedHub({"tokenizer.json": b"{}", "onnx/model.onnx": b"..."}) as hub:
        ... HF_ENDPOINT=hub.url ...
        assert hub.asked == ["tokenizer.json", "onnx/model.onnx", "/bytes/onnx/model.onnx"]

Small files come at once; for large ones it sends elsewhere, having told their size and hash.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from hashlib import sha1, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LARGE = 100
"""Bytes from which on a file is in large-file storage, and its tag its SHA-256; Git's SHA-1 below."""


class SimulatedHub:
    """Serves `files` by their paths; `sent` are bytes that go out in place of a file's own, `status` other codes."""

    def __init__(
        self,
        files: Mapping[str, bytes],
        sent: Mapping[str, bytes] | None = None,
        status: Mapping[str, int] | None = None,
    ) -> None:
        self.files = files
        self.sent = dict(sent or {})
        self.status = dict(status or {})
        self.asked: list[str] = []
        self.tokens: dict[str, str] = {}

    def __enter__(self) -> SimulatedHub:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                place = self.path.partition("/resolve/main/")[2] or self.path
                path = place.removeprefix("/bytes/")
                hub.asked.append(place)
                hub.tokens[place] = self.headers.get("Authorization", "")
                code = hub.status.get(path, 200 if path in hub.files else 404)
                elsewhere = code == 200 and len(hub.files[path]) >= LARGE and place == path
                content = hub.sent.get(path, hub.files[path]) if code == 200 and not elsewhere else b""
                self.send_response(302 if elsewhere else code)
                if elsewhere:
                    self.send_header("Location", f"{hub.url}/bytes/{path}")
                    self.send_header("X-Linked-ETag", f'"{tag(hub.files[path])}"')
                    self.send_header("X-Linked-Size", str(len(hub.files[path])))
                elif code == 200:
                    self.send_header("ETag", f'"{tag(hub.files[path])}"' if place == path else '"of the store"')
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler


def tag(content: bytes) -> str:
    """Return the tag of a file as the hub gives it."""
    if len(content) >= LARGE:
        return sha256(content).hexdigest()
    return sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
