"""A few processes that parse files, and may be killed: what hangs or crashes or swells them is a reason."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Timer
from types import TracebackType
from typing import Any

from conspectus.errors import DocumentError
from conspectus.readers import MEGABYTE, Options, Outcome, ParsedDocument, parse
from conspectus.rows import EncodingWarning, Failure, Place, Skipped

MAX_WORKERS = 4
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
            return [
                Failure("read", f"was not read: no process to parse it in could be started ({error})", name)
            ]
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
            with suppress(subprocess.TimeoutExpired):  # its missing reply foretells its end
                self._process.wait(5)
            self.kill()
        if reply.endswith(b"\n"):
            return [_outcome(kind, fields) for kind, fields in json.loads(reply)]
        if late.is_set():
            reason = f"took more than {self._options.seconds:g} s to parse and was given up; "
            reason += "split it, or save it as text or in another format"
        else:
            limit = f"{memory_of(self._options) / MEGABYTE:,.0f} MB of memory that one file may take"
            reason = (
                f"ended its parser (exit status {self._process.returncode}): it is damaged, or needs over the "
            )
            reason += f"{limit}; open it and save it again, or raise read.max_megabytes"
        return [Failure("read", reason, name)]

    def _send(self, line: str) -> None:
        assert self._process.stdin
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
        except OSError:  # it has died, which the missing reply tells
            self.alive = False

    def kill(self) -> None:
        """Kill the process and wait until it is gone."""
        self.alive = False
        self._process.kill()
        self._process.communicate()


_KINDS: dict[str, type[Any]] = {
    kind.__name__: kind for kind in (ParsedDocument, Failure, Skipped, EncodingWarning)
}


def main() -> None:
    """Serve until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no reply
    options = Options(**json.loads(sys.stdin.buffer.readline()))
    limit_memory(memory_of(options))
    for request in sys.stdin.buffer:
        file, name = json.loads(request)
        outcomes = [[type(outcome).__name__, asdict(outcome)] for outcome in parse_file(file, name, options)]
        replies.write(json.dumps(outcomes).encode() + b"\n")
        replies.flush()


def _outcome(kind: str, fields: dict[str, Any]) -> Outcome:
    if "places" in fields:
        fields["places"] = tuple(Place(start, name) for start, name in fields["places"])
    return _KINDS[kind](**fields)


def memory_of(options: Options) -> int:
    """Return the bytes of memory that a worker may take."""
    return 500 * MEGABYTE + 3 * options.max_bytes


def limit_memory(limit: int) -> None:
    """Let this process take no more memory than this, where the system can see to it."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(
        resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard)
    )
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def parse_file(file: str, name: str, options: Options) -> list[Outcome]:
    """Return what comes of one file; whatever its parser raises is a failure of this file alone."""
    outcomes: list[Outcome] = []
    try:
        outcomes += parse(name, Path(file).read_bytes(), options)
        return outcomes
    except DocumentError as error:
        reason = str(error)
    except OSError as error:
        reason = f"cannot be read: {error.strerror or error}; change that, then run again"
    except MemoryError:
        limit = f"the {memory_of(options) / MEGABYTE:,.0f} MB of memory that one file may take"
        reason = f"needs more than {limit}; split it, or raise read.max_megabytes"
    except RecursionError:
        reason = "is nested too deeply; open it and save it again"
    except (
        Exception
    ) as error:  # parsers of damaged files raise anything; here, and only here, it ends as a reason
        unknown = f"is damaged, or of a variant that is not known ({type(error).__name__}: {error})"
        reason = f"{unknown}; open it in its program and save it again"
    return [*outcomes, Failure("read", reason, name)]
