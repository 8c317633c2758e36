"""A few processes that parse files, and may be killed: what hangs or crashes or swells them is a reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from queue import SimpleQueue
from threading import Event, Timer
from types import TracebackType

from conspectus.readers.base import MEGABYTE, Options, Outcome
from conspectus.readers.worker import deserialize, memory_of
from conspectus.rows import Failure

MAX_WORKERS = 4
_START = "import sys; sys.path[:] = {!r}; from conspectus.readers.worker import main; main()"


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
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
            return [Failure("read", f"was not read: no process to parse it in could be started ({error})", name)]
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
        self._send(json.dumps(asdict(options)))

    def parse(self, file: str, name: str) -> list[Outcome]:
        late = Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        timer = Timer(self._options.seconds, give_up)
        timer.start()
        self._send(json.dumps([file, name]))
        assert self._process.stdout
        reply = self._process.stdout.readline()
        timer.cancel()
        if late.is_set() or not reply.endswith(b"\n"):
            self._end()
        if reply.endswith(b"\n"):
            return deserialize(reply)
        return [Failure("read", self._timeout_reason() if late.is_set() else self._exit_reason(), name)]

    def _send(self, line: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:  # it has died, which the missing reply tells
            self.alive = False

    def _end(self) -> None:
        """Let the process come to its end, which its missing reply foretells."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(5)
        self.kill()

    def kill(self) -> None:
        """Kill the process and wait until it is gone."""
        self.alive = False
        self._process.kill()
        self._process.communicate()

    def _timeout_reason(self) -> str:
        return (
            f"took more than {self._options.seconds:g} s to parse and was given up; split it, or save it as text or in "
            "another format"
        )

    def _exit_reason(self) -> str:
        limit = f"{memory_of(self._options) / MEGABYTE:,.0f} MB"
        return (
            f"ended its parser (exit status {self._process.returncode}): it is damaged, or needs more than "
            f"the {limit} of memory that one file may take; open it and save it again, or raise "
            "read.max_megabytes"
        )
