"""If the file system refuses any call of a commit, the previous or the new snapshot is complete.

Calls are refused one at a time, as by a full disk, or all from one call on: every call in the long run, otherwise every
third (a different third in either case). Of the hundreds of writes to one file, the first, second, fourth and so on
are refused.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from making import SEED
from test_store import an_index, files, put

from conspectus.errors import StoreError
from conspectus.storage import store
from conspectus.storage.store import commit, read, rollback, writing

CALLS: tuple[tuple[Any, str], ...] = (
    (os, "fsync"), (os, "unlink"), (os, "link"), (os, "replace"), (os, "mkdir"), (shutil, "copy2"),
)  # fmt: skip
"""File system calls of a commit, besides opening and writing files."""


class FullDisk:
    """Counts the calls that change the file system, and refuses those with numbers in `refused`.

    Calls of other threads that run already, as those of another test that has ended, are left alone.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = 0
        self.others = {thread.ident for thread in threading.enumerate()} - {threading.get_ident()}
        self.refused = range(0)
        for owner, name in CALLS:
            monkeypatch.setattr(owner, name, self.limited(getattr(owner, name)))
        opened = io.open

        def open_limited(file: Any, mode: str = "r", *args: Any, **kwargs: Any) -> Any:
            if not set(mode) & set("wax+"):
                return opened(file, mode, *args, **kwargs)
            stream = self.limited(opened)(file, mode, *args, **kwargs)
            return LimitedFile(stream, self)

        monkeypatch.setattr(io, "open", open_limited)
        monkeypatch.setattr(builtins, "open", open_limited)
        monkeypatch.setattr(store, "WRITERS", 1)  # so that the order of the calls is fixed

    def limited(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def maybe(*args: Any, **kwargs: Any) -> Any:
            self.check()
            return call(*args, **kwargs)

        return maybe

    def check(self) -> None:
        if threading.get_ident() in self.others:
            return
        self.calls += 1
        if self.calls in self.refused:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class LimitedFile:
    def __init__(self, file: Any, disk: FullDisk) -> None:
        self.file, self.disk, self.writes = file, disk, 0

    def __enter__(self) -> LimitedFile:
        return self

    def __exit__(self, *args: object) -> None:
        self.file.close()

    def write(self, data: Any) -> int:
        self.writes += 1
        if self.writes.bit_count() > 1:
            return int(self.file.write(data))
        if self.disk.calls + 1 in self.disk.refused:
            self.file.write(bytes(data)[: len(data) // 2])  # the part that fits
        self.disk.check()
        return int(self.file.write(data))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def arrays(seed: int) -> dict[str, Any]:
    return {"vectors": np.full((3, 4), seed, np.float32), "numbers.first": np.arange(seed + 2)}


def write_new(folder: Path) -> None:
    with writing(folder):
        commit(folder, an_index("new", arrays=arrays(2)), settings={"store": {"snapshots": 2}}, usage={})


def go_back(folder: Path) -> None:
    with writing(folder):
        rollback(folder)


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("full") / "before"
    put(folder, an_index("oldest", arrays=arrays(0)))
    put(folder, an_index("old", arrays=arrays(1)))
    return folder


def contents(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in files(folder)}


def state(folder: Path) -> str:
    """Return which of the test indexes a folder contains, after checking every file against its hash."""
    index = read(folder, verify=True)
    assert dict(index.arrays).keys() == {"vectors", "numbers.first"}
    (title,) = {report.title for report in index.reports}
    return title


@pytest.mark.skipif(sys.platform == "win32", reason="folders are not synchronized there")
@pytest.mark.parametrize("lasting", [False, True], ids=["one call", "all calls from one on"])
@pytest.mark.parametrize(("work", "after"), [(write_new, "new"), (go_back, "oldest")])
def test_an_index_is_whole_whichever_call_is_refused(
    work: Callable[[Path], None], after: str, lasting: bool, before: Path, tmp_path: Path
) -> None:
    sound = contents(before)
    step = 1 if settings().max_examples > 100 or work is go_back else 6
    number, done, folder = (SEED + lasting) % step, False, tmp_path / "0"
    shutil.copytree(before, folder)
    while not done:
        number += step
        error = None
        with pytest.MonkeyPatch.context() as patch:
            disk = FullDisk(patch)
            disk.refused = range(number, 10**6 if lasting else number + 1)
            try:
                work(folder)
            except StoreError as refused:
                error = refused
            done = disk.calls < number
        left, now = contents(folder), state(folder)

        assert error is None or "No space left" in str(error)
        assert now in (("old", after) if error else (after,)), f"call {number}"
        if not lasting:
            assert not [name for name in left if name.endswith(".tmp")], f"call {number}"
        if error and now == "old" and not lasting:
            assert left == sound, f"call {number}"
        if left == sound:  # unchanged, so the folder is used again for the next call
            continue
        if now == "old":
            work(folder)
            assert state(folder) == after
        shutil.rmtree(folder)
        folder = tmp_path / str(number)
        shutil.copytree(before, folder)
    assert number > (150 if work is write_new else 5)


def test_a_first_index_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = FullDisk(monkeypatch)
    disk.refused = range(6, 7)
    with pytest.raises(StoreError):
        write_new(tmp_path / "index")

    assert not [path for path in files(tmp_path) if not path.endswith("lock")]
