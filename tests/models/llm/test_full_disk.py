"""No request is paid for if its reply cannot be stored."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from simulated_server import Behaviour, SimulatedServer

from conspectus.errors import CacheFailed, IndexDamaged
from conspectus.models.llm import cache
from conspectus.models.llm.cache import FILE_NAME, CachedReply, ResponseCache
from conspectus.models.llm.sender import CachingSender
from conspectus.models.llm.wire import Completion, Message, Request
from conspectus.settings import ModelSettings

CONCURRENCY = 5


def request(n: int) -> Request:
    return Request((Message("user", f"Ada number {n} met Bob."),), "simulated", task="ExtractGraph")


def send(server: SimulatedServer, path: Path, number: int) -> list[Completion | BaseException]:
    """Send requests in parallel with a sender whose replies are stored in a file; return the result of each."""

    async def run() -> list[Completion | BaseException]:
        settings = ModelSettings(base_url=server.url, concurrency=CONCURRENCY)
        async with CachingSender(settings, ResponseCache(path), environ={}) as sender:
            return await asyncio.gather(
                *(sender.send(request(n)) for n in range(number)), return_exceptions=True
            )

    return asyncio.run(run())


def test_where_the_cache_cannot_be_written_nothing_is_asked(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).mkdir()
    with SimulatedServer(Behaviour()) as server:
        with pytest.raises(IndexDamaged, match=FILE_NAME):
            send(server, tmp_path / FILE_NAME, 1)
        assert server.counts["requests"] == 0


def test_where_there_is_no_room_for_replies_nothing_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / FILE_NAME
    monkeypatch.setattr(cache, "disk_usage", lambda _: SimpleNamespace(free=1000))
    with SimulatedServer(Behaviour()) as server:
        replies = send(server, path, 3)
        assert server.counts["requests"] == 0
    assert all(isinstance(reply, CacheFailed) for reply in replies)


def test_an_error_at_which_sqlite_rolls_back_itself_is_the_one_that_is_told(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    replies = ResponseCache(path)
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON replies BEGIN SELECT RAISE(ROLLBACK, 'database or disk is full'); END"
        )
    connection.close()
    with pytest.raises(CacheFailed, match="database or disk is full"):
        asyncio.run(replies.add([CachedReply("key", "simulated", "ExtractGraph", "ok", "a reply")]))
    replies.close()


def test_the_first_reply_that_cannot_be_stored_stops_the_run(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    replies = ResponseCache(path)
    asyncio.run(replies.add([CachedReply("key", "simulated", "ExtractGraph", "ok", "a reply")]))
    replies.close()
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON replies WHEN (SELECT count(*) FROM replies) >= 10 "
            "BEGIN SELECT RAISE(ABORT, 'database or disk is full'); END"
        )
    connection.close()
    with SimulatedServer(Behaviour(latencies=(0.02,))) as server:
        replies = send(server, path, 200)
        assert server.counts["requests"] <= 10 + 3 * CONCURRENCY
    failed = [reply for reply in replies if isinstance(reply, CacheFailed)]
    assert len(failed) >= 200 - 10 - 3 * CONCURRENCY
    assert "delete" not in str(failed[0])
