"""Uploads, builds, corrections and snapshots over HTTP."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

import conspectus
from conspectus.errors import IndexBusy
from conspectus.server import jobs
from conspectus.server.indexes import ServedIndex
from tests.server.conftest import Running
from tests.simulated_server import Behaviour, SimulatedServer

TEXT = "Ada Brook founded Orran Mill in 1901. Orran Mill stands in Tarn Works. Ada Brook lived in Carr Head."


@pytest.fixture
def new(serve: Callable[..., Running], tmp_path: Path) -> Running:
    """A server for a folder without an index."""
    return serve(tmp_path / "new")


def follow(running: Running, job: Any) -> Any:
    """Wait for the end of a job; return it with the stages that it reported."""
    seen: list[Any] = []
    with httpx.stream("GET", f"{running.url}/api/jobs/{job['id']}/events", timeout=120) as response:
        for line in response.iter_lines():
            if line.startswith("data: "):
                seen.append(json.loads(line.removeprefix("data: ")))
    return {**seen[-1], "seen": seen}


def upload(running: Running, name: str, content: Any) -> httpx.Response:
    return httpx.put(f"{running.url}/api/uploads/{name}", content=content, timeout=60)


def test_files_are_uploaded_indexed_and_asked(new: Running, tmp_path: Path) -> None:
    assert httpx.get(new.url + "/api/indexes").json()[0]["exists"] is False
    assert upload(new, "mill.txt", TEXT).json() == {"name": "mill.txt", "bytes": len(TEXT)}
    preview = httpx.post(new.url + "/api/builds/estimate", json={}).json()
    assert (preview["preview"]["documents"], preview["estimate"]) == (1, None)
    job = follow(new, httpx.post(new.url + "/api/builds", json={}).json())
    assert (job["state"], job["error"]) == ("done", "")
    assert all(stage["done"] <= stage["total"] or not stage["total"] for stage in job["stages"])
    assert all(
        stage["remaining_seconds"] in (0, None) for stage in job["stages"] if stage["done"] == stage["total"]
    )
    assert httpx.get(new.url + "/api/jobs").json()[0]["id"] == job["id"]
    answer = httpx.post(new.url + "/api/ask", json={"question": "Who founded Orran Mill?", "method": "bm25"})
    assert "Ada Brook" in answer.json()["text"]
    assert httpx.get(new.url + "/api/snapshots").json()[0]["snapshot"] == job["result"]["snapshot"]


def test_a_correction_is_applied_undone_and_rolled_back(new: Running) -> None:
    upload(new, "mill.txt", TEXT)
    first = follow(new, httpx.post(new.url + "/api/builds", json={}).json())["result"]["snapshot"]
    body = {"kind": "rename", "name": "Ada Brook", "to": "Ada Brooke"}
    added = httpx.post(new.url + "/api/corrections", json=body)
    assert (added.status_code, added.json()["state"]) == (201, "waiting")
    job = follow(new, httpx.post(new.url + "/api/corrections/apply").json())
    assert job["state"] == "done"
    names = {row["name"] for row in httpx.get(new.url + "/api/entities").json()}
    assert "Ada Brooke" in names
    number = httpx.get(new.url + "/api/corrections").json()[0]["number"]
    assert httpx.delete(f"{new.url}/api/corrections/{number}").status_code == 204
    assert httpx.post(f"{new.url}/api/snapshots/{first}/rollback").json()["snapshot"] == first
    names = {row["name"] for row in httpx.get(new.url + "/api/entities").json()}
    assert "Ada Brook" in names


def test_an_alias_is_split_off_and_what_was_undone_is_listed(new: Running) -> None:
    upload(new, "mill.txt", TEXT)
    upload(new, "letter.txt", "Brook wrote to Edith Hale. Ada Brook paid for the lamp of Edith Hale.")
    follow(new, httpx.post(new.url + "/api/builds", json={}).json())
    assert httpx.get(new.url + "/api/uploads").json()["folders"] == []  # the folder of uploads is not listed
    corrections = new.url + "/api/corrections"
    body = {"kind": "split", "name": "Ada Brook", "into": "Brook", "note": "her father"}
    assert httpx.post(corrections, json={**body, "into": "Hale"}).status_code == 400
    httpx.post(corrections, json=body)
    httpx.post(corrections, json={"kind": "retype", "name": "Orran Mill", "type": "mill"})
    follow(new, httpx.post(corrections + "/apply").json())
    types = {row["name"]: row["type"] for row in httpx.get(new.url + "/api/entities").json()}
    assert {"Brook", "Ada Brook"} <= types.keys()
    assert types["Orran Mill"] == "mill"
    assert httpx.get(new.url + "/api/snapshots").json()[0]["changed"] == ["corrections"]
    httpx.delete(corrections + "/1")
    rows = httpx.get(corrections).json()
    assert [(row["kind"], row["state"], row["note"]) for row in rows] == [
        ("retype", "applied", ""),
        ("split", "undone", "her father"),
    ]


@pytest.mark.parametrize(
    "name", ["..%2Fa.txt", ".hidden.txt", "a%00.txt", "a%5Cb.txt", "program.exe", "page.zip", "no-suffix"]
)
def test_names_and_types_of_uploads_are_limited(new: Running, tmp_path: Path, name: str) -> None:
    assert upload(new, name, b"text").status_code in (400, 404, 405)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("chunked", [False, True], ids=["announced", "chunked"])
def test_an_upload_that_is_too_large_is_refused_and_leaves_nothing(
    new: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunked: bool
) -> None:
    monkeypatch.setattr(jobs, "MAX_UPLOAD_BYTES", 100_000)

    def pieces() -> Iterator[bytes]:
        for _ in range(20):
            yield b" " * 10_000

    response = upload(new, "a.txt", pieces() if chunked else b" " * 200_000)
    assert response.status_code == 413
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_number_of_uploads_is_limited(new: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_UPLOADED_FILES", 2)
    assert [upload(new, f"{n}.txt", TEXT).status_code for n in range(3)] == [201, 201, 400]
    assert upload(new, "1.txt", TEXT + "!").status_code == 201  # it replaces an earlier upload


def test_a_file_that_cannot_be_parsed_does_not_end_the_server_or_the_build(new: Running) -> None:
    upload(new, "mill.txt", TEXT)
    upload(new, "broken.pdf", b"%PDF-1.7 broken")
    job = follow(new, httpx.post(new.url + "/api/builds", json={}).json())
    assert job["state"] == "done"
    assert any(
        "broken.pdf" in json.dumps(row) for row in job["result"]["failures"] + job["result"]["skipped"]
    )


def test_a_build_that_fails_says_why(new: Running) -> None:
    assert httpx.post(new.url + "/api/builds", json={}).status_code == 400
    upload(new, "empty.txt", b"")
    job = follow(new, httpx.post(new.url + "/api/builds", json={}).json())
    assert job["state"] == "failed"
    assert job["error"]


def test_a_build_is_cancelled_and_another_is_refused_meanwhile(
    serve: Callable[..., Running], tmp_path: Path
) -> None:
    with SimulatedServer(Behaviour(latencies=(3600.0,))) as model:
        settings = {"model": "openai/simulated", "llm.base_url": model.url}
        running = serve(tmp_path / "new", settings=settings)
        upload(running, "mill.txt", TEXT)
        job = httpx.post(running.url + "/api/builds", json={}).json()
        assert httpx.post(running.url + "/api/builds", json={}).status_code == 409
        assert httpx.delete(f"{running.url}/api/jobs/{job['id']}").status_code == 204
        ended = follow(running, job)
    assert ended["state"] == "cancelled"
    assert not (tmp_path / "new" / "manifest.json").exists()
    assert httpx.get(running.url + "/api/jobs/0000000000000000").status_code == 404


def test_an_index_of_a_job_is_that_of_the_library(new: Running, tmp_path: Path) -> None:
    upload(new, "mill.txt", TEXT)
    job = follow(new, httpx.post(new.url + "/api/builds", json={}).json())
    assert conspectus.open_index(tmp_path / "new").snapshot == job["result"]["snapshot"]


async def ended(job: jobs.Job) -> None:
    for _ in range(3_000):
        if job.state != "running":
            return
        await asyncio.sleep(0.01)


def test_a_running_job_is_not_forgotten_for_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_FINISHED_JOBS", 1)
    release = threading.Event()

    async def run() -> tuple[str, str, int]:
        started = jobs.Jobs()
        slow, quick = (ServedIndex(name, tmp_path / name) for name in ("slow", "quick"))
        running = started.start("build", slow, lambda _: {"released": release.wait(60)})
        for _ in range(3):
            job = started.start("build", quick, lambda _: {})
            await ended(job)
        with pytest.raises(IndexBusy):
            started.start("build", slow, lambda _: {})
        before = started[running.id].state
        release.set()
        await ended(running)
        return before, running.state, len(started.of("quick"))

    assert asyncio.run(run()) == ("running", "done", 2)
