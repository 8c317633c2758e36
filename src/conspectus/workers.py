"""Work that other processes do: files whose parsers may hang, and stages of a build that go shard by shard.

A process is a fresh interpreter that calls functions, given by name, until its input ends. (Those of `multiprocessing`
would run a script that has no `if __name__ == "__main__"` once more in each of them.) What a map returns does not
depend on who did it: not on the number of workers, and not on the size of shards.
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

fcntl, resource = lazy_module("fcntl"), lazy_module("resource")  # there are none on Windows
distributed = lazy_module("distributed", "conspectus[distributed]")  # Dask's

P = ParamSpec("P")
R = TypeVar("R")
GARBAGE = 200_000
"""Objects that a process makes before it looks for cycles, of which a shard makes few; Python's own limit is 700. The
process that builds does not look at all, and a file's parser may take too much memory otherwise."""
PIPE = 1 << 20
"""Bytes that go to a process or come from it at once, as many as a pipe of Linux may hold; it begins with 64 kB. After
each part the thread that sends or receives waits for its turn, while the process that builds computes."""
SWITCH_SECONDS = 0.0005
"""Seconds for which a thread may hold the interpreter while others talk to processes and servers, a tenth of Python's
default: a message takes several turns, and a call beside a thread that computes 2.2 ms where it took 6.5 or more."""
_START = "import sys; sys.path[:] = {!r}; from conspectus.workers import main; main()"


class Processes(Executor):
    """Calls functions in processes, which start when there is work for them and end when the context is left."""

    def __init__(self, count: int, *, memory: int | None = None, seconds: float | None = None) -> None:
        """Start at most `count` processes; each may take `memory` bytes, and `seconds` for one call."""
        self._limits = memory, seconds
        self._threads = ThreadPoolExecutor(count, "worker")  # each waits for one process
        self._idle: SimpleQueue[_Process | None] = SimpleQueue()
        for _ in range(count):
            self._idle.put(None)
        self._started: list[_Process] = []
        self._closed = Event()

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Promise the result of a call; it raises WorkerEnded where the process ends before."""
        return self._threads.submit(self._call, [(fn, args, kwargs)])

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """Drop what was not begun, and end all processes."""
        self._closed.set()
        self._threads.shutdown(wait=False, cancel_futures=cancel_futures)
        for process in self._started:
            process.kill()
        self._threads.shutdown(wait=wait)

    def _call(self, call: list[Any]) -> Any:
        """Have a call done; it is taken out of its list when it is sent, for its arguments may take much memory."""
        process = self._idle.get()
        try:
            if process is None:
                process = _Process(*self._limits)
                self._started.append(process)
            if self._closed.is_set():  # perhaps since it was started
                process.kill()
            return process.call(call)
        finally:  # or those who wait for a process would wait for ever
            self._idle.put(process if process and process.alive else None)


class _Process:
    """One process; it serves no more once it was killed or has died."""

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
        # it died, before its reply or in it
        with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            reply = pickle.load(self._process.stdout)  # noqa: S301  # of our own program
        timer.cancel()
        if late.is_set() or reply is None:
            with suppress(subprocess.TimeoutExpired):  # its missing reply foretells its end
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
        with suppress(OSError, ValueError):  # it has died: there is no reply
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
    os.dup2(2, 1)  # what a library prints is no reply
    _limit_memory(pickle.load(sys.stdin.buffer))  # noqa: S301  # of its parent
    gc.set_threshold(GARBAGE)
    return_large_blocks()
    with suppress(EOFError):
        while True:
            function, arguments, named = pickle.load(sys.stdin.buffer)  # noqa: S301
            try:
                reply = True, function(*arguments, **named)
            except Exception as error:  # the process that asked for the call raises it
                error.add_note(f"in a worker process:\n{traceback.format_exc()}")
                reply = False, error
            pickle.dump(reply, replies, pickle.HIGHEST_PROTOCOL)
            replies.flush()
            del function, arguments, named, reply


LARGE_BLOCK = 1 << 17
"""Bytes of memory from which on a block goes back to the system when it is freed: what the C library of Linux begins
with. By itself it raises that to 32 MB: 4 million tokens then take 605 MB for 544, in no less time."""


def return_large_blocks() -> None:
    """Have the C library of Linux return what is free, and every large block that is freed; others do so, or cannot be
    told.
    """
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).mallopt(-3, LARGE_BLOCK)  # M_MMAP_THRESHOLD
        ctypes.CDLL(None).malloc_trim(0)


def _limit_memory(limit: int | None) -> None:
    """Let this process take no more memory than this, where the system can see to it."""
    with suppress(ImportError):
        if limit:
            _, hard = resource.getrlimit(resource.RLIMIT_AS)
            soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


# Maps over shards

SHARD = 4_000_000
"""Characters of a shard at most, about a million tokens: the podcast corpus is one. A process that works on it takes
some 150 MB."""
LEAST = 2_000_000
"""Characters of a corpus from which on other processes help. It takes some 4 CPU s; a process takes 0.5 to start."""
LARGE = 4
"""Texts of a corpus of this many times `LEAST` characters are in a file, and freed memory goes back to the system. That
would take 0.25 of 7 CPU s of a build of the podcast corpus, and of 3.5 of an update, to save 30 of 272 MB."""
RELEASED = 16
"""Shards after which memory that is free goes back to the system: it is up to a third of all."""
PIECES = 8
"""Shards for each worker where a corpus is smaller: no worker waits for long for the last one to finish."""

STORED, MOST_STORED = 1 << 17, 1 << 20
"""Characters of a shard whose result is stored, on average, in a small corpus and in a large one: the podcast corpus
has some 33, of which an edited file changes one; 100 million tokens have 500. It doubles with the corpus between."""

_Call = tuple[Future[Any], tuple[Any, ...]]
CONNECT_SECONDS = 10
"""Seconds in which the scheduler of a cluster has to answer: as long as Dask itself waits for one, less a retry."""


@dataclass
class Workers:
    """Maps functions over shards: here and in `count - 1` other processes, or wherever an executor has calls done.

    count: the processes that work, this one among them.
    executor: does all calls in their place, as `distributed.Client.get_executor(pure=False)` does on a cluster.
    shard: characters of a shard at most.
    least: characters of a corpus from which on there is more than one shard.
    files: where results of `map_stored` are stored, if they are.
    texts: where those of a large corpus are; elsewhere they are alive with their documents and chunks.
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
        """Return the workers that an argument names; None stands for one on each core. Raises UsageError."""
        if isinstance(workers, str):
            return cls.on_cluster(workers)
        if isinstance(workers, Executor):
            return cls(_cores(), workers)
        if workers is not None and workers < 1:
            raise UsageError(f"workers is {workers}, and at least 1 has to work")
        return cls(workers or _cores())

    @classmethod
    def on_cluster(cls, address: str) -> Workers:
        """Return the workers of a Dask cluster, by the address of its scheduler.

        Raises UsageError where Dask is not installed, no scheduler answers, or no worker has this version of
        Conspectus.
        """
        try:
            client = distributed.Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(
                f"no Dask scheduler answers at {address} ({error}); dask scheduler starts one"
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
                    f"the worker {worker} has Conspectus {version}, and this is {own}: install the same"
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
        """Put documents whose texts are in a temporary file in their place, if they are many (not on Windows)."""
        if sum(len(document.text) for document in documents) < LARGE * self.least:
            return
        if hasattr(os, "pread"):
            self.texts = TextFile(folder)
            for i in range(len(documents)):
                documents[i] = self.texts.store(documents[i])
        return_large_blocks()

    def release(self) -> None:
        """Return memory that is free to the system where the corpus is large."""
        if self.texts:
            return_large_blocks()

    @property
    def several(self) -> bool:
        """Whether others are at work, too."""
        return bool(self.executor or self._own)

    def shards(self, sizes: Sequence[int]) -> list[range]:
        """Cut things of the given sizes, in characters, into consecutive shards.
        There is one where they are not worth the start of a process, unless some have been started.
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
        """Return what a function returns for the arguments of each shard, in their order.

        Other processes begin at once, and the caller may do something else before it asks for the first result. Shards
        are taken one after the other, a few ahead of those that are done, or `ahead` if these are more and no executor
        sends them elsewhere. The function is one of a module, and what it takes and returns can be pickled. Raises what
        it raises, and WorkerEnded where a process died.
        """
        rest = iter(shards)
        least = 1 if self._own else 2  # a process that runs need not wait for the second
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
        """Return what waits for the result of a call that begins at once in another process, and keeps none; where
        nobody else is at work, the call is done when it is asked for.
        """
        executor, call = self.executor or self._own, partial(function, *arguments)
        calls = [partial(self._result, executor.submit(call)) if executor else call]
        return lambda: calls.pop()()

    def _result(self, future: Future[R]) -> R:
        try:
            return future.result()
        except self._lost as error:
            raise WorkerEnded(f"the cluster gave a shard up ({error}); index again") from error

    def _results(
        self, function: Callable[..., R], ahead: deque[_Call], calls: Iterator[_Call], most: int
    ) -> Iterator[R]:
        """Yield the results of the calls that are ahead, while others begin, so that `most` are to be done."""
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
        """Map a function over shards of things, and do not do again what is stored of an earlier build.

        sizes: of the things, in characters.
        keys: one for each, of all that the result depends on; shards end where they say so.
        arguments: returns those of the function for a shard.
        load: returns the result for a shard from what `save` made of it, with lists in the place of tuples; what it
            raises says that it is none, so that the shard is done again.
        save: makes of a result what can be stored (see `ShardFiles.write`).
        more: returns what else the result for a shard depends on.
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
                new = missing.pop(name, None)  # of equal things there may be two
                result = next(made) if new else files.read(name, lambda stored, s=shard: load(stored, s))
                if result is None:
                    new, result = shard, function(*arguments(shard))
                if new:
                    files.write(name, save(result, shard))
                yield result

        return results()

    def _next(self, function: Callable[..., R], ahead: deque[_Call]) -> Iterator[R]:
        """Yield the next result if it is there; if not, do the last call that nobody has begun, or wait."""
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
        """What a cluster raises where workers died over a shard again and again, or its scheduler is gone."""
        if not self._cluster:
            return ()
        return distributed.KilledWorker, CancelledError, distributed.comm.CommClosedError


def _version() -> str:
    return conspectus.__version__


def _cores() -> int:
    """Return on how many cores this process may run."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ShardFiles:
    """The results of shards in files, by which a build goes on that was killed, and an update does what changed.

    A file is named by the function and by all that its result depends on. It has a checksum, the length of a JSON text,
    that text, and the numbers of its arrays. What cannot be read is made again, what cannot be written is not stored.
    """

    def __init__(self, folder: Path, *, size: int = STORED, fresh: bool = False) -> None:
        """Store them in a folder, for shards of `size` characters on average; `fresh` reads none that is there."""
        self._folder, self.size, self._fresh = folder, size, fresh
        self._used: set[str] = set()

    def shards(self, sizes: Sequence[int], keys: Sequence[str]) -> Iterator[range]:
        """Cut things where their keys say so, at least half of `size` apart, so that an edit changes few shards."""
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
        """Return the name of the file of a shard; by another Conspectus or Python it is another one."""
        parts = (conspectus.__version__, sys.version, *keys)
        return f"{function.__name__}-{sha256(chr(0).join(parts).encode()).hexdigest()[:32]}.shard"

    def __contains__(self, name: str) -> bool:
        return not self._fresh and (self._folder / name).is_file()

    def read(self, name: str, load: Callable[[Any], R]) -> R | None:
        """Return a result, None where the file is not what was written or not of this shard."""

        def array(value: dict[str, Any]) -> Any:
            return np.frombuffer(numbers, *value["array"]) if "array" in value else value

        try:
            content = (self._folder / name).read_bytes()
            checksum, end = np.frombuffer(content, np.int64, 2).tolist()
            numbers = content[end:]
            if crc32(memoryview(content)[8:]) != checksum:
                return None
            result = load(json.loads(content[16:end], object_hook=array))
        except Exception:  # an index from elsewhere may hold anything
            return None
        self._used.add(name)
        return result

    def write(self, name: str, value: Any) -> None:
        """Store a result of lists, tuples, texts, numbers, dictionaries, and arrays of one dimension."""
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
        """Remove what this build did not use."""
        for path in self._folder.glob("*-*.shard*"):
            if path.name not in self._used:
                with suppress(OSError):
                    path.unlink()


# Texts in a temporary file


class TextFile:
    """Texts of documents and chunks, most of what these take, in a file that is gone when this process ends."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  # `close` does
        self._end = 0
        self.read = lru_cache(8)(self.text)  # many sentences of one are read

    def close(self) -> None:
        """Remove the file, after which none of its texts can be read."""
        self._file.close()
        self.read.cache_clear()

    def store(self, row: Any) -> Any:
        """Return a document or a chunk whose text is in the file; where the disk is full, return it as it is."""
        if not (ends := self.append([row.text])):
            return row
        text: Any = partial(self.read, ends[0], ends[1] - ends[0])
        values = {f.name: getattr(row, f.name) for f in fields(row)} | {"text": text}
        return (_Document if isinstance(row, Document) else _Chunk)(**values)

    def append(self, texts: Sequence[str]) -> list[int]:
        """Write texts, and return where each begins and the last ends; nothing where the disk is full."""
        contents = [text.encode("utf-8", "surrogatepass") for text in texts]
        ends = list(accumulate(map(len, contents), initial=self._end))
        return ends if self._write(b"".join(contents), self._end) else []

    def array(self, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """Return an array that is in the file; where the disk is full, return it as it is."""
        start = self._end + -self._end % 8  # numbers stand at multiples of their size
        if array.nbytes and self._write(array.data, start):
            return np.memmap(self._file, array.dtype, "r", start, array.shape)
        return array

    def _write(self, content: bytes | memoryview, start: int) -> bool:
        """Tell whether there was room for all of it."""
        size = memoryview(content).nbytes
        with suppress(OSError):
            if os.pwrite(self._file.fileno(), content, start) == size:
                self._end = start + size
                return True
        return False

    def text(self, start: int, length: int) -> str:
        """Return the text that some bytes of the file are."""
        return os.pread(self._file.fileno(), length, start).decode("utf-8", "surrogatepass")


class Texts(Sequence[str]):
    """Texts that are added part by part and read one by one; they are in a file if there is one with room."""

    def __init__(self, file: TextFile | None = None) -> None:
        self._file, self._memory = file, dict[int, str]()
        self._starts: array[int] = array("q")
        self.codes: array[int] = array("Q")
        """64 bits for each, as of `mentions.hash_of`."""

    def extend(self, texts: Sequence[str]) -> None:
        """Add some, which take the numbers from the length on, and one number more."""
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
    """A row whose text is read when it is asked for, and goes to another process with it."""

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
