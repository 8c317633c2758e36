"""Every surface of the server refuses foreign hosts, foreign pages, missing tokens and bodies that are too large."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from conspectus.server.security import COOKIE, MAX_BODY_BYTES, Access
from tests.server.conftest import Running

TOKEN = "a-token-of-enough-characters"  # noqa: S105
SURFACES = [
    ("GET", "/"),
    ("GET", "/api/status"),
    ("GET", "/api/openapi.json"),
    ("POST", "/api/ask"),
    ("PUT", "/api/uploads/a.txt"),
    ("GET", "/v1/models"),
    ("POST", "/v1/chat/completions"),
    ("POST", "/mcp"),
    ("GET", "/metrics"),
    ("GET", "/documents/1"),
]


@pytest.fixture
def guarded(serve: Callable[..., Running], sample_index: Path) -> Running:
    return serve(sample_index, access=Access(("conspectus.example",), TOKEN), read_only=True)


@pytest.mark.parametrize(("method", "path"), SURFACES)
def test_a_foreign_host_is_refused(server: Running, method: str, path: str) -> None:
    response = httpx.request(method, server.url + path, headers={"host": "evil.example"})
    assert response.status_code == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost:1", "file://"])
@pytest.mark.parametrize(("method", "path"), SURFACES)
def test_a_page_of_another_origin_is_refused(server: Running, method: str, path: str, origin: str) -> None:
    assert httpx.request(method, server.url + path, headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize(("method", "path"), SURFACES)
@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}, {"cookie": f"{COOKIE}=wrong"}])
def test_without_the_token_nothing_is_served(
    guarded: Running, method: str, path: str, headers: dict[str, str]
) -> None:
    response = httpx.request(method, guarded.url + path, headers=headers)
    assert response.status_code == 401
    assert TOKEN not in response.text


def test_the_token_as_a_bearer_opens_the_api(guarded: Running) -> None:
    headers = {"authorization": f"Bearer {TOKEN}", "host": "conspectus.example"}
    assert httpx.get(guarded.url + "/api/status", headers=headers).status_code == 200


def test_the_health_of_a_guarded_server_is_open(guarded: Running) -> None:
    assert httpx.get(guarded.url + "/health").json()["status"] == "ok"


def test_a_login_link_works_once_and_sets_a_cookie_that_scripts_cannot_read(guarded: Running) -> None:
    path = guarded.access.login_path()
    assert TOKEN not in path
    first = httpx.get(guarded.url + path)
    cookie = first.headers["set-cookie"]
    assert (first.status_code, first.headers["location"]) == (303, "/")
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    session = {COOKIE: first.cookies[COOKIE]}
    assert httpx.get(guarded.url + "/api/status", cookies=session).status_code == 200
    assert httpx.get(guarded.url + path).status_code == 401


@pytest.mark.parametrize("path", ["/api/ask", "/v1/chat/completions", "/mcp"])
@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_a_body_that_is_too_large_is_refused(server: Running, path: str, chunked: bool) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(MAX_BODY_BYTES // 50_000 + 2):
            yield b" " * 50_000

    body = pieces() if chunked else b" " * (MAX_BODY_BYTES + 1)
    headers = {"content-type": "application/json"}
    assert httpx.post(server.url + path, content=body, headers=headers).status_code == 413


def test_a_client_above_the_rate_limit_waits(serve: Callable[..., Running], sample_index: Path) -> None:
    limited = serve(sample_index, access=Access(requests_per_minute=3), read_only=True)
    responses = [httpx.get(limited.url + "/api/indexes") for _ in range(5)]
    assert [r.status_code for r in responses] == [200, 200, 200, 429, 429]
    assert int(responses[-1].headers["retry-after"]) > 0


@pytest.mark.parametrize(
    "path",
    [
        "/../../pyproject.toml",
        "/assets/../../app.py",
        "/%2e%2e/%2e%2e/app.py",
        "/..%2f..%2fapp.py",
        "/assets/%00",
    ],
)
def test_no_path_leaves_the_folder_of_the_app(server: Running, path: str) -> None:
    parts = urlsplit(server.url)
    with socket.create_connection((parts.hostname, parts.port)) as raw:  # clients resolve the dots themselves
        raw.sendall(f"GET {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65536), b""))
    assert b"import" not in answer
    assert answer.split()[1] in (b"200", b"404")


def test_every_response_has_a_strict_policy(server: Running) -> None:
    for path in ("/", "/api/status", "/api/nothing", "/v1/models"):
        headers = httpx.get(server.url + path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_read_only_server_writes_nothing(server: Running, sample_index: Path) -> None:
    before = sorted(path.name for path in sample_index.iterdir())
    writes = [
        httpx.put(server.url + "/api/uploads/a.txt", content=b"text"),
        httpx.post(server.url + "/api/builds", json={}),
        httpx.post(server.url + "/api/corrections", json={"kind": "delete", "name": "Maren"}),
        httpx.post(server.url + "/api/corrections/apply"),
        httpx.post(server.url + "/api/snapshots/abcdef/rollback"),
        httpx.delete(server.url + "/api/corrections/1"),
    ]
    assert {response.status_code for response in writes} == {403}
    assert sorted(path.name for path in sample_index.iterdir()) == before
