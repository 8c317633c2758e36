"""The only code that touches an index's files.

    FOLDER/
      manifest.json                      names the files of the current snapshot, with their hashes
      tables/entities-<hash>.parquet     the tables; see `columns`
      arrays/<name>-<hash>.npy           numbers that go with them, mapped into memory when used
      history/<snapshot>.json            the manifest of the snapshot before
      lock                               held, and holds the process id, while a process writes

Files are named by their content and never change, so that snapshots share what is the same in both. A commit
writes new files and then replaces the manifest: a reader sees the old snapshot or the new one, whenever the
writer is killed. A reader maps all files of its snapshot when it opens it, so that no later commit can take
them away from it.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from conspectus.errors import IndexDamaged, IndexMissing, StoreError, UsageError
from conspectus.lazy import Arrays, Rows
from conspectus.locks import held, writing
from conspectus.rows import Usage
from conspectus.tables import Index

if TYPE_CHECKING:
    import numpy as np


T = TypeVar("T")

FORMAT, VERSION = "conspectus-index", 1

_OURS = re.compile(r"[\w.-]+-[0-9a-f]{12}\.(parquet|npy)(\.tmp)?|[0-9a-f]{16}\.json(\.tmp)?", re.ASCII)


# The manifest


@dataclass(frozen=True)
class Manifest:
    """One snapshot: its files and what is known of it as a whole."""

    snapshot: str
    created: str
    counts: dict[str, int]
    """The number of rows of each table, by the names of the fields of `Index`."""
    files: dict[str, dict[str, Any]]
    """The `sha256` and `size` of each file, by its path in the folder."""
    settings: dict[str, Any]
    usage: dict[str, dict[str, Any]]

    def to_json(self) -> bytes:
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1).encode()


def _manifest(folder: Path) -> Manifest:
    path = folder / "manifest.json"
    try:
        content: dict[str, Any] = json.loads(path.read_bytes())
        kind, version = content.pop("format"), content.pop("version")
        if kind == FORMAT and version == VERSION:
            return Manifest(**content)
    except (FileNotFoundError, NotADirectoryError):
        make = f"conspectus index FOLDER --index {folder}"
        raise IndexMissing(f"there is no index in {folder}; make one: {make}") from None
    except (ValueError, KeyError, TypeError, AttributeError):  # not JSON, or not JSON of ours
        kind, version = None, None
    if kind == FORMAT:
        raise StoreError(f"{folder} has index format {version}, this Conspectus reads {VERSION}; upgrade it")
    advice = "name another folder, or, if it was an index, delete the file and index again"
    raise IndexDamaged(f"{path} is not the manifest of an index; {advice}")


# Writing


def commit(folder: Path, index: Index, *, settings: Mapping[str, Any], usage: Mapping[str, Usage]) -> str:
    """Make an index the current snapshot of its folder, and return the snapshot's id.

    Equal tables and arrays have equal ids; settings and usage are kept beside them and do not change the id.
    The snapshot before is kept, older ones are removed. Must stand inside `with writing(folder)`.

    Raises `UsageError` where it does not, where a row names another that is not there, or where a text or an
    array cannot be stored; `IndexDamaged` where the folder has a manifest that is not ours. The current
    snapshot then stays what it was.
    """
    from conspectus.columns import TABLES

    folder = folder.resolve()
    if not held(folder):
        raise UsageError(f"commit to {folder} must stand inside `with writing(folder)`, which keeps other writers out")
    try:
        before = _manifest(folder)
    except IndexMissing:
        before = None
    files = dict(_put(folder, *content) for content in _contents(index))
    _sync(folder / "tables", folder / "arrays")
    names = "\n".join(f"{path} {files[path]['sha256']}" for path in sorted(files))
    manifest = Manifest(
        snapshot=sha256(names.encode()).hexdigest()[:16],
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        counts={name: len(getattr(index, name)) for name in TABLES},
        files=files,
        settings=dict(settings),
        usage={task: asdict(used) for task, used in usage.items()},
    )
    text = manifest.to_json()  # before anything is replaced: settings may hold what JSON cannot
    changed = before is None or before.snapshot != manifest.snapshot
    if before and changed:
        _write(folder / "history" / f"{before.snapshot}.json", [before.to_json()])
        _sync(folder / "history")
    _write(folder / "manifest.json", [text])
    _sync(folder)
    if changed:
        kept = {*files, *before.files, f"history/{before.snapshot}.json"} if before else {*files}
        _sweep(folder, kept)
    return manifest.snapshot


def _contents(index: Index) -> Iterator[tuple[str, str, list[bytes | memoryview]]]:
    """Yield path without hash, suffix and content (in parts) of every file of a snapshot."""
    from conspectus.columns import encode

    for name, content in encode(index):
        yield f"tables/{name}", ".parquet", [content]
    for name in sorted(index.arrays):
        yield f"arrays/{name}", ".npy", _npy(name, index.arrays[name])


def _npy(name: str, array: np.ndarray[Any, Any]) -> list[bytes | memoryview]:
    import numpy as np
    from numpy.lib import format as npy

    if not re.fullmatch(r"[\w.-]+", name, re.ASCII):
        raise UsageError(f"an array is named {name!r}; letters, digits, '.', '_' and '-' can be stored")
    if array.dtype.hasobject:
        raise UsageError(f"the array {name} holds Python objects; numbers and fixed-width text can be stored")
    array = np.asarray(array, order="C")
    head = BytesIO()
    npy.write_array_header_1_0(head, npy.header_data_from_array_1_0(array))
    return [head.getvalue(), array.reshape(-1).view(np.uint8).data if array.nbytes else b""]


def _put(folder: Path, stem: str, suffix: str, parts: list[bytes | memoryview]) -> tuple[str, dict[str, Any]]:
    """Store a file under the name of its content, unless it is there, and return its path and what it is."""
    digest = sha256()
    for part in parts:
        digest.update(part)
    path = f"{stem}-{digest.hexdigest()[:12]}{suffix}"
    facts = {"sha256": digest.hexdigest(), "size": sum(map(len, parts))}
    try:
        _map(folder / path, facts, verify=True)
    except IndexDamaged:
        _write(folder / path, parts)
    return path, facts


def _write(path: Path, parts: list[bytes | memoryview]) -> None:
    """Write a file so that under its name it is there as a whole or not at all."""
    path.parent.mkdir(exist_ok=True)
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _sync(*folders: Path) -> None:
    """Make the names in folders durable (Windows does so by itself)."""
    if sys.platform != "win32":
        for folder in filter(Path.exists, folders):
            descriptor = os.open(folder, os.O_RDONLY)
            os.fsync(descriptor)
            os.close(descriptor)


def _sweep(folder: Path, kept: set[str]) -> None:
    """Remove our files that no kept snapshot names; what others have put in the folder stays."""
    for path in (p for name in ("tables", "arrays", "history") for p in (folder / name).glob("*")):
        if _OURS.fullmatch(path.name) and path.relative_to(folder).as_posix() not in kept:
            # Windows does not remove a file that a reader has mapped: a later commit will
            with suppress(PermissionError):
                path.unlink()


# Reading


def read(folder: Path, verify: bool = False) -> Index:
    """Open the current snapshot of an index; tables and arrays are read when they are used.

    What was opened stays as it is, whatever is committed later. `verify` compares the hash of every file.

    Raises `IndexMissing` where there is no index, `IndexDamaged` where a file is missing or is not what the
    manifest says: by its size, or with `verify` by its hash.
    """
    from conspectus.columns import TABLES, Stored

    manifest, files = _open(folder, verify)
    contents = {path.rpartition("-")[0]: content for path, content in files.items()}

    @cache
    def document_ids() -> list[str]:
        return stored["documents"].ids()

    stored = {name: Stored(t, contents[f"tables/{t.file}"], document_ids) for name, t in TABLES.items()}
    tables: dict[str, Any] = {name: Rows(manifest.counts[name], table) for name, table in stored.items()}
    return Index(
        **tables,
        arrays=Arrays({k.removeprefix("arrays/"): v for k, v in contents.items() if k.startswith("arrays/")}),
        settings=manifest.settings,
        usage={task: Usage(**used) for task, used in manifest.usage.items()},
        snapshot=manifest.snapshot,
        folder=folder,
    )


def table_files(folder: Path) -> dict[str, Path]:
    """Return the Parquet files of the current snapshot by the name that other tools have for their table.

    Raises as `read` does.
    """
    manifest, _ = _open(folder, verify=False)
    paths = [Path(path) for path in manifest.files if path.startswith("tables/")]
    return {path.name.rpartition("-")[0]: folder / path for path in paths}


def _open(folder: Path, verify: bool) -> tuple[Manifest, dict[str, mmap.mmap]]:
    while True:
        manifest = _manifest(folder)
        try:
            return manifest, {path: _map(folder / path, f, verify) for path, f in manifest.files.items()}
        except IndexDamaged:
            if _manifest(folder).snapshot == manifest.snapshot:
                raise
            # commits have replaced the snapshot between reading its manifest and its files: take the new one


def _map(path: Path, facts: Mapping[str, Any], verify: bool) -> mmap.mmap:
    """Map a file into memory; it can be read even when it is removed later."""
    advice = "restore it, or delete manifest.json and index again"
    try:
        with path.open("rb") as file:
            if (size := os.fstat(file.fileno()).st_size) != facts["size"]:
                raise IndexDamaged(f"{path} has {size} bytes, its manifest says {facts['size']}; {advice}")
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise IndexDamaged(f"{path} is missing; {advice}") from None
    if verify and sha256(content).hexdigest() != facts["sha256"]:
        raise IndexDamaged(f"{path} is not what was written, by its hash; {advice}")
    return content


__all__ = ["Arrays", "Manifest", "Rows", "commit", "read", "table_files", "writing"]
