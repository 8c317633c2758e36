"""The server as a separate process, under load: a rebuild by another process, and its log."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx2 as httpx
import pytest
from typer.testing import CliRunner

import conspectus
from conspectus.cli.app import app
from tests.server.conftest import SAMPLE

TOKEN = "a-token-of-enough-characters"  # noqa: S105
ASKERS = 4


@contextmanager
def process(index: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, list[str]]]:
    """Run `conspectus serve` with a token; yield its address, and the lines of its log, complete at the end."""
    monkeypatch.setenv("CONSPECTUS_TOKEN", TOKEN)
    command = [sys.executable, "-m", "conspectus", "serve", "-i", str(index), "--port", "0", "--no-browser"]
    with subprocess.Popen(
        [*command, "--read-only", "--requests-per-minute", "0"], stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stderr
        lines = [server.stderr.readline(), server.stderr.readline()]
        reader = Thread(target=lambda: lines.extend(server.stderr or ()))
        reader.start()
        try:
            yield re.findall(r"http://localhost:\d+", lines[0])[0], lines
        finally:
            server.terminate()
            reader.join(60)


@pytest.mark.long
async def test_an_index_is_rebuilt_by_another_process_under_load(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, documents = tmp_path / "index", tmp_path / "documents"
    documents.mkdir()
    for file in sorted(path for path in SAMPLE.rglob("*") if path.is_file())[:6]:
        (documents / file.name).write_bytes(file.read_bytes())
    conspectus.build(documents, folder)
    (documents / "new.txt").write_text("Ada Brook founded Orran Mill in 1901.", encoding="utf-8")
    statuses: list[int] = []
    snapshots: set[str] = set()
    with process(folder, monkeypatch) as (url, log):
        limits = httpx.Limits(max_connections=ASKERS)
        headers = {"authorization": f"Bearer {TOKEN}"}
        transport = httpx.AsyncHTTPTransport(retries=3, limits=limits)  # it may not accept connections yet
        async with httpx.AsyncClient(headers=headers, timeout=120, transport=transport) as client:
            await client.get(url + "/health")
            command = [sys.executable, "-m", "conspectus", "index", str(documents), "--index", str(folder)]
            build = await asyncio.create_subprocess_exec(*command, stderr=subprocess.DEVNULL)
            built = asyncio.ensure_future(build.wait())

            async def asker(number: int) -> None:
                count = 0
                while not built.done() or count < 5:
                    count += 1
                    body = {"question": f"Who founded it? ({number}, {count})", "method": "bm25"}
                    answer = await client.post(url + "/api/ask", json=body)
                    others = [await client.get(url + path) for path in ("/api/reports", "/api/map/names")]
                    statuses.extend(response.status_code for response in (answer, *others))
                    snapshots.add(answer.json().get("snapshot", answer.text))

            await asyncio.gather(*map(asker, range(ASKERS)))
            assert await built == 0
            last = (await client.post(url + "/api/ask", json={"question": "Who founded Orran Mill?"})).json()
    assert set(statuses) == {200}
    assert last["snapshot"] == conspectus.open_index(folder).snapshot
    assert len({*snapshots, last["snapshot"]}) == 2
    requests = [json.loads(line) for line in log[2:]]
    assert len(requests) > len(statuses)
    assert not [line for line in log if TOKEN in line or "Orran" in line]


def test_neither_token_nor_login_code_is_in_the_log(
    sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with process(sample_index, monkeypatch) as (url, log):
        link = re.findall(r"http://\S+", log[1])[0]
        transport = httpx.HTTPTransport(retries=3)
        with httpx.Client(transport=transport, timeout=60) as client:
            assert client.get(link).status_code == 303
            assert client.get(link).status_code == 401  # it works once
            assert client.get(url + "/api/status").status_code == 200  # with the cookie
            session = client.cookies["conspectus_session"]
            client.get(url + "/api/nothing", params={"token": TOKEN, "code": session})
        httpx.get(url + "/api/status", headers={"authorization": f"Bearer {TOKEN}x"})
    secrets = (TOKEN, session, link.rpartition("=")[2])
    statuses = [row["status"] for row in map(json.loads, log[2:]) if "status" in row]
    assert sorted(statuses) == [200, 303, 401, 401, 404]  # it includes refused requests
    assert not [line for line in log[2:] for secret in secrets if secret in line]


def test_a_folder_without_an_index_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("uvicorn.Server.run", lambda *_args, **_named: None)  # it would wait for ever
    missing = tmp_path / "mistyped"

    result = CliRunner().invoke(app, ["serve", "--index", str(missing), "--port", "0", "--no-browser"])

    assert result.exit_code == 0
    assert result.stderr.count(str(missing)) == 2  # once as served, once as missing
