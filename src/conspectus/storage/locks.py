"""One writer at a time: a lock on an index's folder that dies with the process that holds it."""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from conspectus.errors import IndexBusy, UsageError

_locks: dict[Path, int] = {}
"""The locks of this process: file descriptors by folder."""


def _release_all() -> None:
    while _locks:
        os.close(_locks.popitem()[1])


if hasattr(os, "register_at_fork"):
    # a forked child shares the lock, and would keep it past the end of its parent
    os.register_at_fork(after_in_child=_release_all)


def _lock(descriptor: int) -> bool:
    """Take the lock if it is free; the system frees it when this process ends, however it ends."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far behind the process id, which others must read
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextmanager
def writing(folder: Path, what: str = "index") -> Generator[None]:
    """Be the only writer of the index (or what else there is) in a folder, which is made where it is missing.

    Raises `IndexBusy` at once where another process (or another thread of this one) is, UsageError where the folder
    cannot be made or written to.
    """
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
        raise UsageError(f"no {what} can be written to {folder}: {reason}; name another folder") from None
    folder = folder.resolve()
    if not _lock(descriptor):
        process = os.read(descriptor, 20).decode("ascii", "replace") or "unknown"
        os.close(descriptor)
        advice = "wait until it is done, or stop it, then run the same command again"
        raise IndexBusy(f"the {what} {folder} is being written by process {process}; {advice}")
    _locks[folder] = descriptor
    try:
        os.ftruncate(descriptor, 0)
        os.write(descriptor, str(os.getpid()).encode())
        yield
    finally:
        if folder in _locks:  # and not in a forked child
            with suppress(OSError):  # nothing was written, or a system does not remove open files
                if made and os.listdir(folder) == ["lock"]:
                    os.unlink(folder / "lock")
                    os.rmdir(folder)
            os.close(_locks.pop(folder))


def is_locked_here(folder: Path) -> bool:
    """Tell whether this process is the writer of a folder."""
    return folder.resolve() in _locks
