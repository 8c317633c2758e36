"""The response cache, `replies.sqlite`: every attempt with its status, durable before its reply is used.

Only replies with the status `ok` are served, the first one if a key has several, so that a repeated run gives the same
result. Several processes may have the file open at once.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import disk_usage
from typing import Any, NamedTuple

from conspectus.errors import CacheFailed, IndexDamaged
from conspectus.models.llm.wire import BATCHED, CAPPED, Completion, Feature, Status

FILE_NAME = "replies.sqlite"
BUSY_SECONDS = 60.0  # to wait while another process locks the file
NEEDED_BYTES = 1 << 20
"""Bytes that must be free on the disk before the first call: four times 25 concurrent replies of 10 kB."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, model TEXT NOT NULL, task TEXT NOT NULL, status TEXT NOT NULL,
    reply BLOB NOT NULL, finish_reason TEXT NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, seconds REAL NOT NULL, made REAL NOT NULL, used REAL NOT NULL,
    hits INTEGER NOT NULL DEFAULT 0  -- this and `used` are of an earlier version
);
CREATE INDEX IF NOT EXISTS replies_key ON replies (key);
CREATE TABLE IF NOT EXISTS refused (
    server TEXT NOT NULL, model TEXT NOT NULL, feature TEXT NOT NULL, PRIMARY KEY (server, model, feature)
);
CREATE TABLE IF NOT EXISTS build (id INTEGER PRIMARY KEY, settings TEXT NOT NULL);
"""
_ADD = (
    "INSERT INTO replies (key, model, task, status, reply, finish_reason, prompt_tokens, completion_tokens,"
    " seconds, made, used) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_SERVED = "FROM replies WHERE key = ? AND status = 'ok' ORDER BY id LIMIT 1"


_this_process: Counter[Status] = Counter()
"""Number of attempts that this process has cached, by status."""


class CachedReply(NamedTuple):
    """One call and its outcome; `reply` is a text (the error message, if the call failed), or the bytes of a vector."""

    key: str
    model: str
    task: str
    status: Status
    reply: str | bytes
    finish_reason: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Spent:
    """Usage by one task and one model in all runs so far."""

    task: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    batched: bool = False
    """Whether the calls were made in batches, at half the price."""


@dataclass(frozen=True, slots=True)
class CacheStats:
    """The size of the cache: the number of attempts, in total and by status, and the bytes on disk."""

    rows: int
    bytes: int
    by_status: dict[str, int]


_Write = tuple[str, Sequence[Any], "asyncio.Future[None]"]


class ResponseCache:
    """The response cache in one file. Reads are immediate; a write is durable once it has been awaited."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.failure: CacheFailed | None = None
        """The error of a write that failed, if any did."""
        self._pending: list[_Write] = []
        self._flushing: asyncio.Task[None] | None = None
        self._checked = False
        path.parent.mkdir(parents=True, exist_ok=True)
        self._new = not path.exists()
        if not (self._new or path.is_file()):  # SQLite would wait for ever to open a pipe
            raise self._damaged("it is not a regular file")
        try:
            self._reader, self._writer = self._connect(), self._connect()
        except sqlite3.OperationalError as error:
            if self._new:
                raise self._unwritable(error) from None
            # The folder is read-only: cached replies are served, and nothing is requested.
            self.failure = self._unwritable(error)
            uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
            try:
                self._reader = self._writer = sqlite3.connect(uri, uri=True, check_same_thread=False)
            except sqlite3.OperationalError:
                raise self.failure from None
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="replies")

    def _damaged(self, error: object) -> IndexDamaged:
        return IndexDamaged(
            f"the response cache {self.path} cannot be read ({error}); restore it, or move it away"
        )

    def _rows(self, query: str, *values: object, of: Sequence[type[Any]] = ()) -> list[Any]:
        """Return the rows of a query; raise IndexDamaged if the file is damaged or a value lacks its type in `of`."""
        try:
            rows = self._reader.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from None
        if any(not isinstance(value, type_) for row in rows for value, type_ in zip(row, of, strict=False)):
            raise self._damaged("a value is of another type than was written")
        return rows

    def _connect(self) -> sqlite3.Connection:
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            connection = sqlite3.connect(
                self.path, timeout=BUSY_SECONDS, isolation_level="IMMEDIATE", check_same_thread=False
            )
            try:
                connection.execute("PRAGMA trusted_schema = OFF")  # the file may be untrusted
                connection.execute("PRAGMA journal_mode = WAL")
                connection.execute("PRAGMA synchronous = FULL")
                connection.executescript(SCHEMA)
                if self.path.exists():  # otherwise the process that created it has removed it
                    return connection
            except sqlite3.OperationalError as error:
                # Two processes create the file at once: SQLite does not wait for a change of the journal mode.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            connection.close()

    def get(self, key: str) -> Completion | None:
        """Return the cached completion for a key, None if there is none."""
        row = self._served(key, str)
        return row and Completion(*row, cached=True)

    def get_bytes(self, key: str) -> bytes | None:
        """Return the cached bytes (of a vector or a score) for a key, None if there are none."""
        row = self._served(key, bytes)
        return row and row[0]

    def _served(self, key: str, kind: type[Any]) -> Any:
        columns = "reply, finish_reason, prompt_tokens, completion_tokens"
        return next(iter(self._rows(f"SELECT {columns} {_SERVED}", key, of=(kind, str, int, int))), None)

    async def add(self, attempts: Sequence[CachedReply]) -> None:
        """Store attempts; they are durable on return."""
        now = time.time()
        for write in [self._write(_ADD, (*attempt, now, now)) for attempt in attempts]:
            await write
        _this_process.update(attempt.status for attempt in attempts)

    async def reject(self, key: str) -> None:
        """Mark the served reply of a key as unparsable, so that it is not served again."""
        served = f"(SELECT id {_SERVED})"
        await self._write(f"UPDATE replies SET status = 'unparsable' WHERE id = {served}", (key,))  # noqa: S608

    async def refuse(self, server: str, model: str, feature: Feature) -> None:
        """Record that a server does not accept a feature for a model."""
        await self._write("INSERT OR REPLACE INTO refused VALUES (?, ?, ?)", (server, model, feature))

    def refused(self) -> set[tuple[str, str, str]]:
        """Return the features that servers do not accept, as tuples of server, model and feature."""
        return set(self._rows("SELECT server, model, feature FROM refused", of=(str, str, str)))

    def record_build(self, settings: Mapping[str, Any]) -> None:
        """Store the settings of a build that begins, so that it can be resumed if it is interrupted."""
        try:
            with self._writer:
                self._writer.execute("INSERT OR REPLACE INTO build VALUES (1, ?)", (json.dumps(settings),))
        except sqlite3.OperationalError as error:
            raise self._unwritable(error) from None

    def begun_build(self) -> dict[str, Any] | None:
        """Return the settings of the last build that began; None if there is none, or if no reply is cached."""
        begun = "SELECT settings FROM build WHERE EXISTS (SELECT 1 FROM replies WHERE status = 'ok')"
        rows = self._rows(begun, of=(str,))
        try:
            return {**json.loads(rows[0][0])} if rows else None
        except (ValueError, TypeError, RecursionError) as error:
            raise self._damaged(error) from None

    def _write(self, sql: str, values: Sequence[Any]) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._pending.append((sql, values, done))
        if self._flushing is None or self._flushing.done():
            self._flushing = loop.create_task(self._flush())
        return done

    async def _flush(self) -> None:
        # Writes that arrive while a batch is written form the next batch, and share one sync of the disk.
        while self._pending:
            batch, self._pending = self._pending, []
            failure: CacheFailed | None = None
            try:
                await asyncio.get_running_loop().run_in_executor(self._thread, self._commit, batch)
            except sqlite3.Error as error:
                failure = self.failure = self._unwritable(error)
            for _, _, done in batch:
                if done.done():  # its waiter was cancelled
                    continue
                if failure:
                    done.set_exception(failure)
                else:
                    done.set_result(None)

    def _commit(self, batch: Sequence[_Write]) -> None:
        with self._writer:
            for sql, values, _ in batch:
                self._writer.execute(sql, values)

    def check_writable(self) -> None:
        """Raise CacheFailed if replies cannot be stored: before the first call is paid for, and after a failure."""
        if self.failure is not None:
            raise self.failure
        if self._checked:
            return
        try:
            self._reader.execute("BEGIN IMMEDIATE")
            self._reader.execute("ROLLBACK")
            if (free := disk_usage(self.path.parent).free) < NEEDED_BYTES:
                raise OSError(f"{free:,} bytes are free")
        except (sqlite3.OperationalError, OSError) as error:
            self.failure = self._unwritable(error)
            raise self.failure from None
        self._checked = True

    def _unwritable(self, error: Exception) -> CacheFailed:
        return CacheFailed(
            f"replies cannot be stored in {self.path} ({error}), so no more calls are made: free some space or make "
            "the folder writable, and run it again; keep the file: its replies are paid for"
        )

    def stats(self) -> CacheStats:
        """Return the size of the cache."""
        counts = "SELECT status, count(*) FROM replies GROUP BY status ORDER BY status"
        by_status = dict(self._rows(counts, of=(str, int)))
        size = sum(p.stat().st_size for end in ("", "-wal") if (p := Path(f"{self.path}{end}")).exists())
        return CacheStats(sum(by_status.values()), size, by_status)

    def spent(self) -> list[Spent]:
        """Return the usage of all runs by task and model; calls without a reply are not counted."""
        sums = (
            "SELECT task, model, sum(finish_reason != 'kept'), sum(prompt_tokens), sum(completion_tokens),"
            " finish_reason = ? AS batched"
            " FROM replies WHERE status != 'failed' GROUP BY task, model, batched ORDER BY task, model, batched"
        )
        rows = self._rows(sums, BATCHED, of=(str, str, int, int, int))
        return [Spent(*row[:-1], batched=bool(row[-1])) for row in rows]

    def longest(self) -> list[tuple[str, str, int]]:
        """Return each model and task with the tokens of its longest reply; one cut off by a budget counts double."""
        longest = "SELECT model, task, max(completion_tokens * (1 + (finish_reason = ?))) FROM replies GROUP BY 1, 2"
        return self._rows(longest, CAPPED, of=(str, str, int))

    def prune(self, *, made_before: float = 0.0, bad: bool = False) -> int:
        """Delete attempts, shrink the file, and return the number of deleted attempts.

        Deletes attempts made before `made_before` (seconds since 1970), and with `bad` all whose status is not `ok`.
        Raises CacheFailed if the file cannot be written.
        """
        if not (made_before or bad):
            return 0
        if self.failure is not None:
            raise self.failure
        rule = "DELETE FROM replies WHERE made < ? OR (? AND status != 'ok')"
        with self._writer:
            removed = self._writer.execute(rule, (made_before, bad)).rowcount
        if removed:
            self._writer.execute("VACUUM")
        return removed

    async def aclose(self) -> None:
        """Finish pending writes, and close."""
        while self._flushing is not None and not self._flushing.done():
            await asyncio.wait([self._flushing])
        self.close()

    def close(self) -> None:
        """Close; writes that were not awaited may be lost. A new file that contains only failures is removed."""
        self._thread.shutdown()
        anything = "SELECT 1 FROM replies WHERE status != 'failed' UNION SELECT 1 FROM refused"
        useless = self._new and not self._reader.execute(anything).fetchone()
        self._reader.close()
        with suppress(sqlite3.OperationalError, OSError):
            if useless:  # raises an error if another process has the file open
                self._writer.execute("PRAGMA busy_timeout = 0")
                self._writer.execute("PRAGMA journal_mode = DELETE")
                self.path.unlink()
        self._writer.close()


def cached_in(folder: Path) -> int:
    """Return the number of usable replies that are cached in an index folder."""
    if not (folder / FILE_NAME).exists():
        return 0
    with closing(ResponseCache(folder / FILE_NAME)) as replies:
        return replies.stats().by_status.get("ok", 0)


def begun_in(folder: Path) -> dict[str, Any] | None:
    """Return the settings of the last build that began in a folder; None if there is none, or if no reply is cached."""
    if not (folder / FILE_NAME).exists():
        return None
    with closing(ResponseCache(folder / FILE_NAME)) as replies:
        return replies.begun_build()


def cached_by_this_process() -> int:
    """Return the number of usable replies that this process has cached, in all folders."""
    return _this_process["ok"]
