"""Manifests, which list the files of a snapshot of an index, and locks that allow one writer of a folder at a time.

The current manifest is `manifest.json`; `history/<snapshot>.json` are those of earlier snapshots to return to.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, cast
from zlib import crc32

from pydantic import AfterValidator, NonNegativeInt, StringConstraints, TypeAdapter, ValidationError

from conspectus.errors import (
    IndexBusy,
    IndexDamaged,
    IndexMissing,
    IndexOutdated,
    NotFound,
    StoreError,
    UsageError,
)
from conspectus.rows import Usage
from conspectus.settings import Settings

log = logging.getLogger("conspectus")

USUAL = ".conspectus"
"""The default folder of an index."""
MOST_LISTED = 1000
"""Maximum entries of a folder that are searched for an index: a longer search would delay an error message."""
FORMAT, VERSION, OLDEST = "conspectus-index", 4, 2
"""The format, its version that is written, and the oldest that is read: version 2 had the stored tables in the folder
`tables`; in version 3 the pages of tables had no checksums."""
NAME, HISTORY = "manifest.json", "history"
STORED = r"^(objects|tables|arrays)/[A-Za-z0-9_.-]+-[0-9a-f]{12}\.(parquet|npy)$"
"""The pattern of paths of stored files, none of which leads out of the folder."""
MOST_BYTES = 1 << 24
"""Maximum size of a manifest, in bytes: one with 100,000 names in a schema has 5 MB, and in the worst case JSON values
take twenty times as much memory as their text."""
MOST_ROWS = 1000
"""Maximum rows of a table per byte of its file: repeated values are stored once, so the file size alone does not limit
the number of rows. The sample's tables have one row for 5 to 400 bytes."""

Counts = dict[str, NonNegativeInt]
SnapshotId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
"""The id of a snapshot, which also names its file in `history`."""


def _plain(origin: dict[str, str]) -> dict[str, str]:
    """Return an origin unchanged; raise ValueError if it names a file outside the folder, or has invalid counts."""
    if not re.fullmatch(r"(triples-[0-9a-f]{12}\.sqlite)?", origin.get("triples", ""), re.ASCII):
        raise ValueError("triples")
    for name in ("left_out", "skipped"):
        _adapter(Counts).validate_json(origin.get(name, "{}"))
    return origin


RECORDED: Mapping[tuple[str, str], Any] = {
    ("vectors", "model"): str, ("vectors", "query_prefix"): str, ("vectors", "passage_prefix"): str,
    ("vectors", "unread"): (int, float), ("imported", "format"): str, ("imported", "stored"): int,
    ("extract", "graph_schema"): (dict, type(None)),
}  # fmt: skip
"""The types of values that an index records in its settings but users cannot set; a schema is never given as a path."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The entry of a file in a manifest."""

    sha256: str
    size: int
    crc32: int | None = None
    """Verified when the file is first read; only earlier versions wrote it."""
    footer_crc32: int | None = None
    """The checksum of a table's footer, which alone is verified at first: the pages have their own checksums."""
    blocks: tuple[int, ...] = ()
    """The checksums of an array's header and of blocks of its numbers; empty if an earlier version wrote the file."""


@dataclass(frozen=True)
class Manifest:
    """One snapshot: its files, and metadata about it as a whole."""

    snapshot: SnapshotId
    created: str
    counts: Counts
    """The number of rows of each table, by the names of the fields of `Index`."""
    files: dict[Annotated[str, StringConstraints(pattern=STORED)], StoredFile]
    """The entry of each file, by its path in the folder."""
    settings: dict[str, Any]
    usage: dict[str, Usage]
    origin: Annotated[dict[str, str], AfterValidator(_plain)]
    """What else the snapshot depends on: see `Index.origin`."""
    before: SnapshotId | Literal[""]
    """The snapshot that this one replaced; empty for the first one."""
    generation: int
    """The number of its commit in the folder, from 1."""

    def to_json(self) -> bytes:
        content = _adapter(Manifest).dump_python(self)
        fields = {"format": FORMAT, "version": VERSION, "checksum": _checksum(content), **content}
        lines = (f'"{name}": {json.dumps(value)}' for name, value in fields.items())
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def current(folder: Path) -> Manifest:
    """Return the manifest of the current snapshot.

    Raises `IndexMissing` if there is none, `IndexOutdated` or `StoreError` if its format is too old or too new,
    `IndexDamaged` if it is not a manifest of ours.
    """
    try:
        return _read_manifest(folder / NAME)
    except (FileNotFoundError, NotADirectoryError):
        raise IndexMissing(_advice(folder)) from None


def _read_manifest(path: Path) -> Manifest:
    with open_file(path) as file:
        text = file.read(MOST_BYTES + 1)
    version: Any = None
    try:
        if len(text) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES:,} bytes")
        content: dict[str, Any] = json.loads(text)
        if content.pop("format") == FORMAT:
            version = content.pop("version")
        if isinstance(version, int) and OLDEST <= version <= VERSION:
            checksum = content.pop("checksum", None)
            manifest: Manifest = _adapter(Manifest).validate_python(content)
            if checksum in (None, _checksum(content)):  # of the given fields: earlier versions had fewer
                _leave_allowed(manifest.settings, path)
                return manifest
            raise IndexDamaged(f"{path} has changed since it was written; restore it")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # not JSON, or not our format
        version = None
    if version is None:
        advice = "name another folder, or, if it was an index, delete the file and index again"
        raise IndexDamaged(f"{path} is not the manifest of an index; {advice}")
    reads = f"{path.parent} has index format {version}, this Conspectus reads {VERSION}"
    if isinstance(version, int) and version < OLDEST:
        again = "index its sources again, which replaces it; cached model replies are kept"
        raise IndexOutdated(f"{reads}: {again}")
    raise StoreError(f"{reads}; upgrade Conspectus")


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _leave_allowed(settings: dict[str, Any], path: Path) -> None:
    """Remove the tables of settings that have a value which is not allowed, so that the defaults are used instead.
    Unknown keys stay: another version wrote them, and nothing reads them.
    """
    wrong: set[str] = set()
    for name, table in settings.items():
        for key, value in cast("dict[str, Any]", table).items() if isinstance(table, dict) else ():
            if not isinstance(value, RECORDED.get((name, key), object)):
                wrong.add(name)
    rest = {name: table for name, table in settings.items() if name not in wrong}
    try:
        Settings.model_validate_json(json.dumps(rest), strict=True)
    except ValidationError as error:
        wrong |= {str(each["loc"][0]) for each in error.errors() if each["type"] != "extra_forbidden"}
    for name in wrong:
        _warn(path, name)
        del settings[name]


@cache
def _warn(path: Path, name: str) -> None:
    log.warning("%s: its settings `%s` are not valid; the defaults are used", path, name)


def _checksum(content: Mapping[str, Any]) -> int:
    return crc32(json.dumps(content, sort_keys=True).encode())


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading; a named pipe reads as an empty file instead of blocking."""
    flags = getattr(os, "O_NONBLOCK", 0)
    try:
        return open(path, "rb", opener=lambda name, mode: os.open(name, mode | flags))
    except IsADirectoryError:
        raise IndexDamaged(f"{path} is a folder and should be a file; restore the index") from None


def is_index(folder: Path) -> bool:
    """Return whether a folder is an index of any version: it has a manifest whose format is ours."""
    try:
        with open_file(folder / NAME) as file:
            content: Any = json.loads(file.read(MOST_BYTES))
    except (OSError, ValueError, RecursionError, IndexDamaged):
        return False
    return isinstance(content, dict) and str(cast("Any", content).get("format", "")).startswith("conspectus")


def _advice(folder: Path) -> str:
    """Return an error message for a folder without an index, with advice that depends on its contents."""
    if is_index(folder.parent):
        return f"{folder} is part of the index in {folder.parent}: name that folder"
    for output in (folder, folder / "output"):
        if any((output / name).is_file() for name in ("entities.parquet", "create_final_entities.parquet")):
            return f"{folder} has an index of Microsoft GraphRAG; import it: conspectus.import_graphrag('{folder}')"
    option = "" if folder == Path(USUAL) else f", folder='{folder}'"
    if (folder / "replies.sqlite").is_file():
        return (
            f"there is no index in {folder} yet, but replies of a language model are cached there:"
            f" conspectus.build('FOLDER'{option}), with the folder of the documents, continues from them"
        )
    if near := _nearest(folder):
        return f"there is no index in {folder}; the nearest is in {near}: index='{near}'"
    return f"there is no index in {folder}; make one: conspectus.build('FOLDER'{option})"


def _nearest(folder: Path) -> str:
    """Return the folder of an index near a folder that is none (below or above it); "" if there is none."""
    if folder.is_absolute():  # with an absolute path, a wrong working directory is not the problem
        return str(folder / USUAL) if is_index(folder / USUAL) else ""
    start = folder.parent
    with suppress(OSError, ValueError):  # a folder that cannot be listed, or is on another drive
        below = sorted(path for path in islice(start.iterdir(), MOST_LISTED) if path.is_dir())
        above = start.resolve().parents
        for paths in ((folder, *below), above):  # an index comes before folders with one
            for index in (*paths, *(path / USUAL for path in paths)):
                if is_index(index):
                    return os.path.relpath(index)
    return ""


def snapshots(folder: Path) -> list[Manifest]:
    """Return the manifests in a folder, including the current one, the newest first; raise the errors of `current`."""
    now = current(folder)
    manifests = {now.snapshot: now}
    for path in sorted((folder / HISTORY).glob("*.json")):
        with suppress(FileNotFoundError, StoreError):  # removed meanwhile, or of an earlier format
            manifest = _read_manifest(path)
            manifests.setdefault(manifest.snapshot, manifest)
    return sorted(manifests.values(), key=lambda m: (-m.generation, m.snapshot))


def chosen(folder: Path, snapshot: str) -> Manifest:
    """Return the manifest whose id begins with `snapshot`, or, for "", the previous one; raise `NotFound`."""
    manifests = snapshots(folder)
    names = ", ".join(m.snapshot for m in manifests)
    before = current(folder).before
    matching = (
        [m for m in manifests if m.snapshot.startswith(snapshot or before)] if snapshot or before else []
    )
    if len(matching) == 1:
        return matching[0]
    if not snapshot:
        raise NotFound(f"{folder} has no snapshot before the current one; there are {names}")
    count = f"{len(matching)} snapshots" if matching else "no snapshot"
    raise NotFound(f"{folder} has {count} whose id begins with {snapshot!r}; there are {names}")


# One writer at a time

_locks: dict[Path, int] = {}
"""The locks that this process holds: file descriptors by folder."""


def _release_all() -> None:
    while _locks:
        os.close(_locks.popitem()[1])


if hasattr(os, "register_at_fork"):
    # a forked child shares the lock, and would hold it after its parent has ended
    os.register_at_fork(after_in_child=_release_all)


def _lock(descriptor: int, *, wait: bool = False) -> bool:
    """Try to take a lock and return whether it was free; the system releases it when this process ends in any way."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, 1 << 30, os.SEEK_SET)  # far beyond the process id, which must stay readable
            msvcrt.locking(descriptor, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
            os.lseek(descriptor, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except (BlockingIOError, PermissionError):
        return False
    return True


@contextmanager
def writing(folder: Path, what: str = "index") -> Generator[None]:
    """Hold the lock for writing the index (or another `what`) in a folder, which is created if it is missing.

    Raises `IndexBusy` at once if another process (or another thread of this one) holds it, UsageError if the folder
    cannot be created or written to.
    """
    made = not folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # not through a symbolic link, which might be planted in a folder from others: the file is truncated
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(folder / "lock", flags, 0o666)
        os.lseek(descriptor, 0, os.SEEK_SET)  # fails for a pipe
    except OSError as error:
        reason = "it is a file" if isinstance(error, FileExistsError) else error.strerror
        raise UsageError(f"no {what} can be written to {folder}: {reason}; name another folder") from None
    folder = folder.resolve()
    # a failed writer removes the folder that it created, with the lock file that others may have opened
    if not _lock(descriptor) or not os.fstat(descriptor).st_nlink:
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
        if folder in _locks:  # not in a forked child
            with suppress(OSError):  # on Windows, the lock file is still open
                if made and os.listdir(folder) == ["lock"]:
                    os.unlink(folder / "lock")
                    os.rmdir(folder)
            os.close(_locks.pop(folder))


@contextmanager
def editing(path: Path) -> Generator[None]:
    """Hold a lock for changing a file, waiting until it is free; raise UsageError if the lock cannot be created."""
    try:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path.with_name(path.name + ".lock"), flags, 0o666)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
    try:
        _lock(descriptor, wait=True)
        yield
    finally:
        os.close(descriptor)


def locked(folder: Path) -> Path:
    folder = folder.resolve()
    if folder not in _locks:
        raise UsageError(f"write to {folder} only inside `with writing(folder)`, which locks it")
    return folder
