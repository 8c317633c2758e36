"""A few processes that parse files, and may be killed: what hangs or crashes or swells them is a reason."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Timer
from typing import Any

from conspectus.readers import MEGABYTE, Options, Outcome, parse_file
from conspectus.rows import Failure

MAX_WORKERS = 4
"""Processes at once: each takes 22 MB when it starts, and as much as a file needs."""
_START = "import sys; sys.path[:] = {!r}; from conspectus.readers.pool import main; main()"


class Pool:
    """Parses files in processes, which start when there is work for them and end when the context is left."""

    def __init__(self, options: Options) -> None:
        n = min(MAX_WORKERS, os.cpu_count() or 1)
        self._options = options
        self._threads = ThreadPoolExecutor(n, "parse")  # each waits for one process
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()
        for _ in range(n):
            self._idle.put(None)
        self._closed = Event()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *exception: object) -> None:
        self._closed.set()
        self._threads.shutdown(cancel_futures=True)
        while not self._idle.empty():
            if worker := self._idle.get():
                worker.kill()

    def parse(self, file: str, name: str) -> Future[list[Outcome]]:
        """Promise what comes of a file; `name` is what its documents are called."""
        return self._threads.submit(self._parse, file, name)

    def _parse(self, file: str, name: str) -> list[Outcome]:
        if self._closed.is_set():
            return []
        worker = self._idle.get()
        try:
            worker = worker or _Worker(self._options)
            return worker.parse(file, name)
        except OSError as error:
            reason = f"was not read: no process to parse it in could be started ({error})"
            return [Failure("read", reason, name)]
        finally:  # whatever happens: those who wait for a place would wait for ever
            self._idle.put(worker if worker and worker.alive else None)


class _Worker:
    """One process; it serves no more once it was killed or has died."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._process = subprocess.Popen(
            [sys.executable, "-c", _START.format(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.alive = True
        self._send(options)

    def parse(self, file: str, name: str) -> list[Outcome]:
        late = Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        timer = Timer(self._options.seconds, give_up)
        timer.start()
        self._send((file, name))
        assert self._process.stdout
        outcomes: list[Outcome] | None = None
        with suppress(EOFError, OSError, pickle.UnpicklingError):  # it has died, before its reply or in it
            outcomes = pickle.load(self._process.stdout)  # noqa: S301  # of our own program, not of the file
        timer.cancel()
        if late.is_set() or outcomes is None:
            with suppress(subprocess.TimeoutExpired):  # its missing reply foretells its end
                self._process.wait(5)
            self.kill()
        return [Failure("read", self._reason(late.is_set()), name)] if outcomes is None else outcomes

    def _reason(self, late: bool) -> str:
        if late:
            given_up = f"took more than {self._options.seconds:g} s to parse and was given up"
            return f"{given_up}; split it, or save it as text or in another format"
        limit = f"{self._options.memory / MEGABYTE:,.0f} MB of memory that one file may take"
        return (
            f"ended its parser (exit status {self._process.returncode}): it is damaged, or needs over the {limit};"
            " open it and save it again, or raise read.max_megabytes"
        )

    def _send(self, value: Any) -> None:
        assert self._process.stdin
        with suppress(OSError):  # it has died, which the missing reply tells
            pickle.dump(value, self._process.stdin)
            self._process.stdin.flush()

    def kill(self) -> None:
        """Kill the process and wait until it is gone."""
        self.alive = False
        self._process.kill()
        self._process.communicate()


def main() -> None:
    """Serve until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no reply
    options: Options = pickle.load(sys.stdin.buffer)  # noqa: S301  # of the process that started this one
    _limit_memory(options.memory)
    with suppress(EOFError):
        while True:
            file, name = pickle.load(sys.stdin.buffer)  # noqa: S301
            outcomes = parse_file(file, name, options)
            pickle.dump(outcomes, replies)
            replies.flush()


def _limit_memory(limit: int) -> None:
    """Let this process take no more memory than this, where the system can see to it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
