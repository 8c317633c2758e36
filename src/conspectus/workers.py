"""Work in other processes: parsing files whose parsers may hang, and stages of a build that run shard by shard.

A process is a fresh interpreter that calls functions, given by name, until its input ends. (A process of
`multiprocessing` would run a script without `if __name__ == "__main__"` again.) The results of a map depend neither on
the number of workers nor on the size of shards.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import pickle
import subprocess
import sys
import tempfile
import traceback
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import lru_cache, partial
from hashlib import blake2b, sha256
from itertools import accumulate, chain, islice, starmap
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Timer
from typing import Any, ParamSpec, TypeVar
from zlib import crc32

import numpy as np

import conspectus
from conspectus.errors import UsageError, WorkerEnded
from conspectus.lazy import lazy_module
from conspectus.rows import Chunk, Document

fcntl, resource = lazy_module("fcntl"), lazy_module("resource")  # not available on Windows
distributed = lazy_module("distributed", "conspectus[distributed]")  # Dask's

P = ParamSpec("P")
R = TypeVar("R")
GARBAGE = 200_000
"""Objects that a worker allocates before it collects cycles, of which a shard makes few; Python's default is 700. The
main process does not collect at all, but without collection a file's parser may take too much memory."""
PIPE = 1 << 20
"""Bytes that are sent to or received from a process at once: the most that a pipe of Linux may hold (default 64 kB).
After each part the thread that sends or receives waits for the interpreter while the main process computes."""
SWITCH_SECONDS = 0.0005
"""Python's thread switch interval, in seconds, while threads talk to processes and servers: a tenth of the default. A
message takes several switches, and a call beside a thread that computes takes 2.2 ms instead of 6.5 or more."""
_START = "import sys; sys.path[:] = {!r}; from conspectus.workers import main; main()"


class Processes(Executor):
    """An executor that calls functions in processes, which start when there is work and end with the context."""

    def __init__(self, count: int, *, memory: int | None = None, seconds: float | None = None) -> None:
        """Use at most `count` processes, each limited to `memory` bytes and to `seconds` for one call."""
        self._limits = memory, seconds
        self._threads = ThreadPoolExecutor(count, "worker")  # each waits for one process
        self._idle: SimpleQueue[_Process | None] = SimpleQueue()
        for _ in range(count):
            self._idle.put(None)
        self._started: list[_Process] = []
        self._closed = Event()

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Return a future for the result of a call; it raises WorkerEnded if the process ends first."""
        return self._threads.submit(self._call, [(fn, args, kwargs)])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Cancel calls that have not started, and end all processes."""
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=cancel_futures)
        for process in self._started:
            process.kill()
        self._threads.shutdown(wait=wait)

    def _call(self, call: list[Any]) -> Any:
        """Run a call in a process. It is removed from its list when sent, since its arguments may take much memory."""
        process = self._idle.get()
        try:
            if process is None:
                process = _Process(*self._limits)
                self._started.append(process)
            if self._closed.is_set():  # possibly after the process was started
                process.kill()
            return process.call(call)
        finally:  # otherwise threads that wait for a process would wait forever
            self._idle.put(process if process and process.alive else None)


class _Process:
    """One process; it cannot be used once it was killed or has died."""

    def __init__(self, memory: int | None, seconds: float | None) -> None:
        self._seconds = seconds
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START.format(sys.path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                bufsize=PIPE,
            )
        except OSError as error:
            raise WorkerEnded(f"no worker process could be started ({error})") from error
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(ImportError, AttributeError, OSError):  # not on Linux, or there is no room
                fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE)
        self.alive = True
        self._send(memory)

    def call(self, call: list[Any]) -> Any:
        late = Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        timer = Timer(self._seconds or 0, give_up)
        if self._seconds:
            timer.start()
        self._send(call.pop())
        assert self._process.stdout
        reply: tuple[bool, Any] | None = None
        # the process died before or during its reply
        with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            reply = pickle.load(self._process.stdout)  # noqa: S301  # of our own program
        timer.cancel()
        if late.is_set() or reply is None:
            with suppress(subprocess.TimeoutExpired):  # without a reply it is about to end
                self._process.wait(5)
            self.kill()
        if reply is None:
            status = self._process.returncode
            raise WorkerEnded(f"a worker process ended (exit status {status})", status, late=late.is_set())
        succeeded, result = reply
        if succeeded:
            return result
        raise result

    def _send(self, value: Any) -> None:
        assert self._process.stdin
        with suppress(OSError, ValueError):  # it has died, so there will be no reply
            pickle.dump(value, self._process.stdin, pickle.HIGHEST_PROTOCOL)
            self._process.stdin.flush()

    def kill(self) -> None:
        """Kill the process and wait until it is gone."""
        self.alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                if pipe:
                    pipe.close()


def main() -> None:
    """Call functions until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of libraries must not mix with replies
    _limit_memory(pickle.load(sys.stdin.buffer))  # noqa: S301  # of its parent
    gc.set_threshold(GARBAGE)
    return_large_blocks()
    with suppress(EOFError):
        while True:
            function, arguments, named = pickle.load(sys.stdin.buffer)  # noqa: S301
            try:
                reply = True, function(*arguments, **named)
            except Exception as error:  # raised again in the process that requested the call
                error.add_note(f"in a worker process:\n{traceback.format_exc()}")
                reply = False, error
            pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
            replies.flush()
            del function, arguments, named, reply


LARGE_BLOCK = 1 << 17
"""Minimum size of a block, in bytes, that is returned to the system when freed: the initial value of the C library of
Linux, which raises it to 32 MB by itself. 4 million tokens then take 605 MB instead of 544, in no less time."""


def return_large_blocks() -> None:
    """Make the C library of Linux return free memory now, and large blocks as soon as they are freed. Other systems do
    so anyway, or cannot be configured.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(-3, LARGE_BLOCK)  # M_MMAP_THRESHOLD
        ctypes.CDLL(None).malloc_trim(0)


def _limit_memory(limit: int | None) -> None:
    """Limit the memory of this process, in bytes, if the system supports it."""
    with suppress(ImportError):
        if limit:
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# Maps over shards

SHARD = 4_000_000
"""Maximum characters of a shard, a million tokens: the podcast corpus is one, and a process takes 150 MB for it."""
LEAST = 2_000_000
"""Minimum characters of a corpus for using other processes: it takes some 4 CPU s, and a process takes 0.5 to start."""
LARGE = 4
"""Minimum size of a corpus, in multiples of `LEAST`, for storing texts in a file and returning freed memory to the
system. For the podcast corpus that would take 0.25 of 7 CPU s of a build (3.5 of an update), to save 30 of 272 MB."""
RELEASED = 16
"""Number of shards after which free memory is returned to the system: it is up to a third of all memory."""
PIECES = 8
"""Shards per worker if the corpus is too small for full shards: then no worker waits long for the last to finish."""

STORED, MOST_STORED = 1 << 17, 1 << 20
"""Average characters of a shard whose result is stored, in a small and in a large corpus; between, it doubles with the
corpus. The podcast corpus has some 33 shards, of which an edited file changes one; 100 million tokens have 500."""

_Call = tuple[Future[Any], tuple[Any, ...]]
CONNECT_SECONDS = 10
"""Timeout, in seconds, for the scheduler of a cluster to answer: as long as Dask itself waits, without a retry."""


@dataclass
class Workers:
    """Maps functions over shards: in this and in `count - 1` other processes, or by an executor.

    count: the number of processes that work, including this one.
    executor: runs all calls instead, for example `distributed.Client.get_executor(pure=False)` on a cluster.
    shard: maximum characters of a shard.
    least: minimum characters of a corpus that is cut into more than one shard.
    files: stores the results of `map_stored`, if given.
    texts: the file with the texts of a large corpus; None if the texts are in memory.
    """

    count: int = 1
    executor: Executor | None = None
    shard: int = SHARD
    least: int = LEAST
    files: ShardFiles | None = None
    texts: TextFile | None = field(default=None, init=False)
    _own: Processes | None = field(default=None, init=False, repr=False)
    _cluster: Any = field(default=None, init=False, repr=False)
    _interval: float = field(default_factory=sys.getswitchinterval, init=False, repr=False)

    @classmethod
    def of(cls, workers: int | str | Executor | None) -> Workers:
        """Return the workers for a number, an executor, a Dask address, or None (one per core). Raises UsageError."""
        if isinstance(workers, str):
            return cls.on_cluster(workers)
        if isinstance(workers, Executor):
            return cls(_cores(), workers)
        if workers is not None and workers < 1:
            raise UsageError(f"workers must be at least 1, not {workers}")
        return cls(workers or _cores())

    @classmethod
    def on_cluster(cls, address: str) -> Workers:
        """Return the workers of a Dask cluster, given the address of its scheduler.

        Raises UsageError if Dask is not installed, no scheduler answers, there are no workers, or one of them has
        another version of Conspectus.
        """
        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"no Dask scheduler answers at {address} ({error}); start one with `dask scheduler`"
            ) from None
        try:
            cls._check(client, address)
            workers = cls(sum(client.nthreads().values()), client.get_executor(pure=False))
        except BaseException:
            client.close()
            raise
        workers._cluster = client
        return workers

    @staticmethod
    def _check(client: Any, address: str) -> None:
        try:
            versions: dict[str, str] = client.run(_version)
        except ImportError as error:
            raise UsageError(
                f"a worker of {address} cannot import Conspectus ({error}): install it there"
            ) from None
        if not versions:
            raise UsageError(f"the cluster at {address} has no workers: dask worker {address} starts one")
        own = _version()
        for worker, version in versions.items():
            if version != own:
                raise UsageError(
                    f"the worker {worker} has Conspectus {version}, and this is {own}: install the same version"
                )

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.texts:
            self.texts.close()
        if self._cluster:
            self._cluster.close()
            self._cluster = None
        if self._own:
            self._own.shutdown()
            self._own = None
            sys.setswitchinterval(self._interval)

    def move_texts_to_file(self, documents: list[Document], folder: Path) -> None:
        """Move the texts of the documents of a large corpus to a temporary file, replacing the items of the list."""
        if sum(len(document.text) for document in documents) < LARGE * self.least:
            return
        if hasattr(os, "pread"):
            self.texts = TextFile(folder)
            for i in range(len(documents)):
                documents[i] = self.texts.store(documents[i])
        return_large_blocks()

    def release(self) -> None:
        """Return free memory to the system if the corpus is large."""
        if self.texts:
            return_large_blocks()

    @property
    def several(self) -> bool:
        """Whether other processes are in use."""
        return bool(self.executor or self._own)

    def shards(self, sizes: Sequence[int]) -> list[range]:
        """Cut items of the given sizes, in characters, into consecutive shards, as ranges of item numbers.
        There is a single shard if they are too small to start a process for, unless processes are already running.
        """
        total = sum(sizes)
        if total < self.least and not self._own:
            return [range(len(sizes))] if sizes else []
        limit = self.shard if self.count == 1 else min(self.shard, total // (PIECES * self.count) + 1)
        starts, size = [0], 0
        for i, own in enumerate(sizes):
            if size and size + own > limit:
                starts.append(i)
                size = 0
            size += own
        return [range(a, b) for a, b in zip(starts, [*starts[1:], len(sizes)], strict=True)]

    def map(
        self, function: Callable[..., R], shards: Iterable[tuple[Any, ...]], ahead: int = 0
    ) -> Iterator[R]:
        """Return an iterator over the results of a function for the arguments of each shard, in their order.

        Other processes begin at once, so the caller may do something else before it asks for the first result. Shards
        are taken one by one, a few ahead of the results, or `ahead` if that is more and there is no executor. The
        function must be defined in a module, and its arguments and results must be picklable. Raises what the function
        raises, and WorkerEnded if a process died.
        """
        rest = iter(shards)
        least = 1 if self._own else 2  # a running process can begin with the first shard
        first = list(islice(rest, least))
        if len(first) < least or (self.executor is None and self.count == 1):
            return starmap(function, chain(first, rest))
        executor = self.executor
        if executor is None:
            executor = self._own = self._own or Processes(self.count - 1)
            sys.setswitchinterval(SWITCH_SECONDS)
        calls = ((executor.submit(function, *arguments), arguments) for arguments in chain(first, rest))
        most = max(2 * self.count, ahead if self.executor is None else 0)
        return self._results(function, deque(islice(calls, most)), calls, most)

    def beside(self, function: Callable[..., R], *arguments: Any) -> Callable[[], R]:
        """Start a call in another process and return a function that waits for its result, to be called once. If no
        other process is in use, that function runs the call itself.
        """
        executor, call = self.executor or self._own, partial(function, *arguments)
        calls = [partial(self._result, executor.submit(call)) if executor else call]
        return lambda: calls.pop()()

    def _result(self, future: Future[R]) -> R:
        try:
            return future.result()
        except self._lost as error:
            raise WorkerEnded(f"the cluster gave up on a shard ({error}); index again") from error

    def _results(
        self, function: Callable[..., R], ahead: deque[_Call], calls: Iterator[_Call], most: int
    ) -> Iterator[R]:
        """Yield the results of the calls in `ahead` in order, submitting more calls so that `most` are pending."""
        while ahead:
            yield from self._next(function, ahead)
            ahead.extend(islice(calls, min(most + sum(f.done() for f, _ in ahead), 2 * most) - len(ahead)))

    def map_stored(
        self,
        function: Callable[..., R],
        sizes: Sequence[int],
        keys: Iterable[str],
        arguments: Callable[[range], tuple[Any, ...]],
        load: Callable[[Any, range], R],
        save: Callable[[R, range], Any] = lambda result, _: result,
        more: Callable[[range], str] = lambda _: "",
    ) -> Iterator[R]:
        """Map a function over shards of items, reusing the results that are stored from an earlier build.

        sizes: the sizes of the items, in characters.
        keys: a key for each item, made from all that its result depends on; hashes of keys decide where shards end.
        arguments: returns the arguments of the function for a shard.
        load: converts a stored value, in which tuples have become lists, back to the result for a shard; it raises any
            exception if the value is invalid, and the shard is computed again.
        save: converts a result to a value that can be stored (see `ShardFiles.write`).
        more: returns a text with anything else that the result for a shard depends on.
        """
        files = self.files
        if files is None or sum(sizes) < 2 * files.size:
            shards = self.shards(sizes)
            return self.map(function, map(arguments, shards), len(shards))
        shards = list(files.shards(sizes, named := list(keys)))
        names = [files.name(function, [*(named[i] for i in shard), more(shard)]) for shard in shards]
        missing = {name: shard for name, shard in zip(names, shards, strict=True) if name not in files}
        calls = map(arguments, list(missing.values()))
        work = sum(sizes[i] for shard in missing.values() for i in shard)
        made = starmap(function, calls)
        if work >= self.least:
            made = self.map(function, calls, len(missing))

        def results() -> Iterator[R]:
            for number, (name, shard) in enumerate(zip(names, shards, strict=True)):
                if number % RELEASED == 0:
                    self.release()
                new = missing.pop(name, None)  # two shards with equal items have one name
                result = next(made) if new else files.read(name, lambda stored, s=shard: load(stored, s))
                if result is None:
                    new, result = shard, function(*arguments(shard))
                if new:
                    files.write(name, save(result, shard))
                yield result

        return results()

    def _next(self, function: Callable[..., R], ahead: deque[_Call]) -> Iterator[R]:
        """Yield the first result if it is ready; otherwise run the last call that has not started here, or wait."""
        first, _ = ahead[0]
        if not first.done() and self.executor is None:
            for i in reversed(range(len(ahead))):
                future, arguments = ahead[i]
                if future.cancel():
                    mine: Future[R] = Future()
                    mine.set_result(function(*arguments))
                    ahead[i] = mine, ()
                    return
        yield self._result(first)
        ahead.popleft()

    @property
    def _lost(self) -> tuple[type[Exception], ...]:
        """The exceptions of a cluster whose workers died repeatedly over a shard, or whose scheduler is gone."""
        if not self._cluster:
            return ()
        return distributed.KilledWorker, CancelledError, distributed.comm.CommClosedError


def _version() -> str:
    return conspectus.__version__


def _cores() -> int:
    """Return the number of cores on which this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ShardFiles:
    """Stores the results of shards in files, so that a killed build can resume, and an update computes only changes.

    A file is named by the function and by all that its result depends on. It contains a checksum, the end of its JSON
    text, that text, and the data of its arrays. Unreadable results are computed again; write errors are ignored.
    """

    def __init__(self, folder: Path, *, size: int = STORED, fresh: bool = False) -> None:
        """Use a folder, and shards of `size` characters on average; with `fresh`, existing files are not read."""
        self._folder, self.size, self._fresh = folder, size, fresh
        self._used: set[str] = set()

    def shards(self, sizes: Sequence[int], keys: Sequence[str]) -> Iterator[range]:
        """Cut items where hashes of their keys say so, at least half of `size` apart, so that an edit affects few."""
        mean = self.size
        while mean < MOST_STORED and 64 * mean < sum(sizes):
            mean *= 2
        start = size = 0
        for i, key in enumerate(keys):
            size += sizes[i]
            last = i + 1 == len(keys) or size > 4 * mean
            if last or (2 * size > mean and crc32(key.encode()) * mean < sizes[i] << 33):
                yield range(start, i + 1)
                start, size = i + 1, 0

    def name(self, function: Callable[..., Any], keys: Iterable[str]) -> str:
        """Return the file name of a shard; it also depends on the versions of Conspectus and Python."""
        parts = (conspectus.__version__, sys.version, *keys)
        return f"{function.__name__}-{sha256(chr(0).join(parts).encode()).hexdigest()[:32]}.shard"

    def __contains__(self, name: str) -> bool:
        return not self._fresh and (self._folder / name).is_file()

    def read(self, name: str, load: Callable[[Any], R]) -> R | None:
        """Return a result, or None if the file is missing, damaged, or invalid for this shard."""

        def array(value: dict[str, Any]) -> Any:
            return np.frombuffer(numbers, *value["array"]) if "array" in value else value

        try:
            content = (self._folder / name).read_bytes()
            checksum, end = np.frombuffer(content, np.int64, 2).tolist()
            numbers = content[end:]
            if crc32(memoryview(content)[8:]) != checksum:
                return None
            result = load(json.loads(content[16:end], object_hook=array))
        except Exception:  # an index from elsewhere may contain anything
            return None
        self._used.add(name)
        return result

    def write(self, name: str, value: Any) -> None:
        """Store a result that consists of lists, tuples, texts, numbers, dictionaries and one-dimensional arrays."""
        arrays, size = list[bytes](), 0

        def plain(value: Any) -> dict[str, Any]:
            nonlocal size
            arrays.append(value.tobytes())
            size += len(arrays[-1])
            return {"array": (value.dtype.str, len(value), size - len(arrays[-1]))}

        text = json.dumps(value, default=plain, ensure_ascii=False).encode("utf-8", "surrogatepass")
        rest = b"".join([np.int64(16 + len(text)).tobytes(), text, *arrays])
        temporary = self._folder / f"{name}.{os.getpid()}.tmp"
        self._used.add(name)
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(np.int64(crc32(rest)).tobytes() + rest)
            temporary.replace(self._folder / name)
        with suppress(OSError):
            temporary.unlink()

    def trim(self) -> None:
        """Remove the files that this build did not use."""
        for path in self._folder.glob("*-*.shard*"):
            if path.name not in self._used:
                with suppress(OSError):
                    path.unlink()


# Texts in a temporary file


class TextFile:
    """Texts of documents and chunks, which take most of their memory, in a file that is deleted with this process."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # `close` does
        self._end = 0
        self.read = lru_cache(8)(self.text)  # many sentences of one document are read in turn

    def close(self) -> None:
        """Remove the file; its texts can no longer be read."""
        self._file.close()
        self.read.cache_clear()

    def store(self, row: Any) -> Any:
        """Return a document or chunk with its text moved to the file; if the disk is full, return it unchanged."""
        if not (ends := self.append([row.text])):
            return row
        text: Any = partial(self.read, ends[0], ends[1] - ends[0])
        values = {f.name: getattr(row, f.name) for f in fields(row)} | {"text": text}
        return (_Document if isinstance(row, Document) else _Chunk)(**values)

    def append(self, texts: Sequence[str]) -> list[int]:
        """Write texts, and return where each begins and the last one ends; an empty list if the disk is full."""
        contents = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = list(accumulate(map(len, contents), initial=self._end))
        return ends if self._write(b"".join(contents), self._end) else []

    def array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return an array moved to the file; if the disk is full, return it unchanged."""
        start = self._end + -self._end % 8  # aligned to the size of the numbers
        if array.nbytes and self._write(array.data, start):
            return np.memmap(self._file, array.dtype, "r", start, array.shape)
        return array

    def _write(self, content: bytes | memoryview, start: int) -> bool:
        """Write at an offset, and return whether there was room for all of the content."""
        size = memoryview(content).nbytes
        with suppress(OSError):
            if os.pwrite(self._file.fileno(), content, start) == size:
                self._end = start + size
                return True
        return False

    def text(self, start: int, length: int) -> str:
        """Return the text in some bytes of the file."""
        return os.pread(self._file.fileno(), length, start).decode("utf-8", "surrogatepass")


class Texts(Sequence[str]):
    """A sequence of texts that is extended part by part; they are stored in a file if it is given and has room."""

    def __init__(self, file: TextFile | None = None) -> None:
        self._file, self._memory = file, dict[int, str]()
        self._starts: array[int] = array("q")
        self.codes: array[int] = array("Q")
        """A 64-bit hash of each text, the same as that of `mentions.hash_of`."""

    def extend(self, texts: Sequence[str]) -> None:
        """Append texts, and an empty one whose start marks the end of the last."""
        if not (ends := self._file.append(texts) if self._file else []):
            self._memory.update(enumerate(texts, len(self)))
        self._starts.extend(ends or [0] * (len(texts) + 1))
        contents = (text.encode("utf-8", "surrogatepass") for text in (*texts, ""))
        self.codes.frombytes(b"".join(blake2b(content, digest_size=8).digest() for content in contents))

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, at: Any) -> Any:
        if self._file is None or at in self._memory:
            return self._memory[at]
        start, end = self._starts[at : at + 2]
        return self._file.text(start, end - start)


class _TextInFile:
    """A row whose text is read from the file when accessed, and is included when the row is pickled."""

    __slots__ = ()
    _text: Any

    @property
    def text(self) -> str:
        return self._text if isinstance(self._text, str) else self._text()

    @text.setter
    def text(self, text: Any) -> None:  # by the constructor of the row, which is frozen
        object.__setattr__(self, "_text", text)

    def __reduce__(self) -> tuple[Any, ...]:
        row: Any = self
        return type(self).__bases__[1], tuple(getattr(row, f.name) for f in fields(row))


class _Document(_TextInFile, Document):  # pyright: ignore[reportIncompatibleVariableOverride]
    __slots__ = ("_text",)


class _Chunk(_TextInFile, Chunk):  # pyright: ignore[reportIncompatibleVariableOverride]
    __slots__ = ("_text",)
