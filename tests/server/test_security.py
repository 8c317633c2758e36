"""Every surface of the server refuses foreign hosts, foreign pages, missing tokens and bodies that are too large."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2 as httpx
import pytest

from conspectus.server import jobs, security
from conspectus.server.running import Address
from conspectus.server.security import COOKIE, MAX_BODY_BYTES, Access
from tests.server.conftest import Running, serving

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


@pytest.fixture(scope="module")
def guarded(sample_index: Path) -> Iterator[Running]:
    access = Access(("conspectus.example",), TOKEN)
    with serving(sample_index, access=access, read_only=True) as running:
        yield running


@pytest.mark.parametrize(("method", "path"), SURFACES)
def test_a_foreign_host_is_refused(server: Running, method: str, path: str) -> None:
    response = httpx.request(method, server.url + path, headers={"host": "evil.example"})
    assert response.status_code == 421


@pytest.mark.parametrize(
    "host",
    ["localhost.evil.example", "[::1].evil.example", "localhost:80@evil.example", "localhost:evil", "127.1"],
)
def test_a_host_that_only_looks_like_this_machine_is_refused(server: Running, host: str) -> None:
    forwarded = {"x-forwarded-host": "localhost", "x-forwarded-for": "127.0.0.1"}
    response = httpx.get(server.url + "/api/status", headers={"host": host, **forwarded})
    assert response.status_code == 421


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("embedded", ["image", "script", "iframe", "empty"])
def test_what_a_page_of_another_site_embeds_is_refused(server: Running, site: str, embedded: str) -> None:
    headers = {"sec-fetch-site": site, "sec-fetch-dest": embedded}  # without Origin, as browsers send it
    for path in ("/api/export?format=json", "/api/status", "/"):
        assert httpx.get(server.url + path, headers=headers).status_code == 403


def test_links_of_other_sites_and_pages_of_its_own_are_followed(server: Running) -> None:
    for site, place in (("cross-site", "document"), ("same-origin", "empty"), ("none", "document")):
        headers = {"sec-fetch-site": site, "sec-fetch-dest": place}
        assert httpx.get(server.url + "/api/status", headers=headers).status_code == 200


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


@pytest.mark.parametrize("path", ["/api/ask", "/api/uploads/a.txt"])
def test_a_body_that_does_not_arrive_is_given_up(
    serve: Callable[..., Running], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr(security, "BODY_SECONDS", 0.05)
    monkeypatch.setattr(jobs, "BODY_SECONDS", 0.05)
    running = serve(tmp_path / "new")
    method = "PUT" if "uploads" in path else "POST"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"
    assert sent(running, head.encode() + b"some of it").split()[1] == b"408"
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def sent(running: Running, request: bytes) -> bytes:
    """Send raw bytes, which clients would correct; return the reply until the server closes the connection."""
    parts = urlsplit(running.url)
    with socket.create_connection((parts.hostname, parts.port)) as raw:
        raw.sendall(request)
        return b"".join(iter(lambda: raw.recv(65536), b""))


@pytest.mark.parametrize(
    ("lines", "statuses"),
    [
        (
            [
                "Upgrade: websocket",
                "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ],
            "4",
        ),
        (["Range: bytes=" + ",".join(["0-1"] * 8_000)], "24"),
        (["Host: evil.example"], "4"),
    ],
    ids=["websocket", "ranges", "second host"],
)
def test_what_no_browser_sends_is_answered_and_ends(server: Running, lines: list[str], statuses: str) -> None:
    head = ["GET /no/file HTTP/1.1", "Host: localhost", "Connection: close", *lines]
    request = "\r\n".join([*head, "", ""]).encode()
    if "websocket" in lines[0]:
        request = request.replace(b"GET /no/file", b"GET /api/ask").replace(b"Connection: close\r\n", b"")
        request = request.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade, close\r\n\r\n")
    assert sent(server, request).split()[1][:1].decode() in statuses


def test_small_replies_do_not_wait_for_acknowledgements() -> None:
    with Address("127.0.0.1", 0).listener() as listener:
        assert (
            listener.proto == socket.IPPROTO_TCP
        )  # otherwise asyncio leaves Nagle's algorithm on: 40 ms per request


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
    # clients would resolve the dots themselves
    answer = sent(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
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
