"""A stand-in for the model hub in tests: it serves the files of one model over HTTP on this machine.

with SimulatedHub({"tokenizer.json": b"{}", "onnx/model.onnx": b"..."}) as hub:
    ... HF_ENDPOINT=hub.url ...
    assert hub.fetched == ["tokenizer.json", "onnx/model.onnx"]
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from hashlib import sha1
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class SimulatedHub:
    """Serves `files` by their paths; `status` is the HTTP status of all replies."""

    def __init__(self, files: Mapping[str, bytes], status: int = 200) -> None:
        self.files = files
        self.status = status
        self.fetched: list[str] = []
        self.requests = 0
        self.tokens: set[str] = set()

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
            def do_HEAD(self) -> None:
                self._reply(with_content=False)

            def do_GET(self) -> None:
                self._reply(with_content=True)

            def _reply(self, with_content: bool) -> None:
                hub.requests += 1
                hub.tokens.add(self.headers.get("Authorization", ""))
                path = self.path.partition("/resolve/")[2].partition("/")[2]
                content = hub.listing() if "/api/models/" in self.path else hub.files.get(path)
                code = 404 if content is None else hub.status
                content = content if code == 200 else None
                self.send_response(code)
                self.send_header("ETag", f'"{sha1(content or b"", usedforsecurity=False).hexdigest()}"')
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("Content-Length", str(len(content or b"")))
                self.end_headers()
                if with_content:
                    self.wfile.write(content or b"")
                    if path:
                        hub.fetched.append(path)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        return Handler

    def listing(self) -> bytes:
        """Return the hub's description of the model."""
        return json.dumps(
            {"id": "some/model", "siblings": [{"rfilename": path} for path in self.files]}
        ).encode()
