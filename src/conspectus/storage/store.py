"""The files of an index: commit a snapshot, open one, return to one. No other module touches these files.

    FOLDER/
      manifest.json                      lists the files of the current snapshot, with their hashes
      objects/entities-<hash>.parquet    the tables; see `tables`
      arrays/<name>-<hash>.npy           the arrays, mapped into memory when used
      history/<snapshot>.json            the manifests of earlier snapshots to return to
      derived/raptor-<snapshot>-….npz    data that questions derived from a snapshot; removed together with it
      shards/<stage>-<hash>.shard        results of stages for parts of the documents, for the next build; see `workers`
      triples-<hash>.sqlite              a graph too large for the tables (`triple_graph`)
      tables/entities.parquet            the tables of the current snapshot under fixed names, for other tools
      corrections.toml                   the corrections of people, part of no snapshot; see `corrections`
      lock                               locked by a process that writes; contains its id

Files are named by their content and never change, so snapshots share the files that are equal. A commit writes new
files and then replaces the manifest: readers see the old snapshot or the new one, even if the writer is killed. A
reader maps all files of its snapshot when it opens it, so that no later commit can remove them.

The names in `tables` are hard links to the stored files (copies if the file system does not support links). Each is
replaced atomically after the manifest; the next open updates those that a killed writer did not. They are for pandas,
DuckDB and similar tools: Conspectus itself never reads them.
"""

from __future__ import annotations

import logging
import mmap
import os
import re
import shutil
import sys
from collections.abc import Collection, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import file_digest, sha256
from itertools import chain
from pathlib import Path
from threading import get_ident
from typing import IO, Any
from zlib import crc32

from conspectus.errors import IndexDamaged, IndexMissing, IndexOutdated, StoreError
from conspectus.index import Index, LazyMapping, Rows
from conspectus.rows import Usage
from conspectus.settings import StoreSettings
from conspectus.storage.arrays import BLOCK, StoredArray, write_array
from conspectus.storage.manifests import (
    HISTORY,
    MOST_ROWS,
    NAME,
    Manifest,
    StoredFile,
    chosen,
    current,
    locked,
    open_file,
    snapshots,
    writing,
)
from conspectus.storage.tables import TABLES, Stored, writers

log = logging.getLogger("conspectus")

OBJECTS, PUBLISHED, ARRAYS, DERIVED = "objects", "tables", "arrays", "derived"
"""The folders of the stored tables, of their fixed names for other tools, of the arrays, and of data that questions
derived from a snapshot, whose id is in the file names."""
WRITERS = 8
"""Number of files that are written concurrently: many are small, and each waits for the disk."""
SMALL = 1 << 16
"""Maximum size of a file, in bytes, that is read when its index is opened; a mapped file would stay open."""
_OURS = re.compile(
    r"[\w.-]+-[0-9a-f]{12}\.(parquet|npy)(\.tmp)?|\w+\.parquet\.\d+-\d+\.tmp|[0-9a-f]{16}\.json(\.tmp)?"
    r"|[a-z]+(-[0-9a-f]{16}){1,2}\.(npz|\d+)|triples-[0-9a-f]{12}\.sqlite",
    re.ASCII,
)
_MEND = "restore it, or delete manifest.json and index again"


# Writing


def commit(folder: Path, index: Index, *, settings: Mapping[str, Any], usage: Mapping[str, Usage]) -> str:
    """Store an index as the current snapshot of its folder, and return the snapshot's id. Files that `put_early` wrote
    (`Index.stored`) are not written again.

    The id depends only on tables, arrays and graphs on disk, not on settings, usage and other origins. As many
    snapshots are retained as the settings say (`store.snapshots`); others are removed. Must be called inside
    `with writing(folder)`.

    Raises `UsageError` if it is not, if a row refers to a missing row, or if a text or an array cannot be stored;
    `IndexDamaged` if the folder has a manifest that is not ours; `StoreError` if the file system refuses to write, for
    example because it is full. After an error the current snapshot is unchanged, and the files of the new one are
    removed.
    """
    with _whole(folder := locked(folder)):
        try:
            before, others = current(folder), snapshots(folder)
        except (IndexMissing, IndexOutdated):
            before, others = None, []
        rest = {table.file for table in TABLES.values()}
        rest -= set(map(_name, index.stored))
        files = {**index.stored, **_put_all(folder, index, rest)}
        _sync(folder / OBJECTS, folder / ARRAYS)
        names = [f"{path} {files[path].sha256}" for path in sorted(files)]
        names += filter(None, [index.origin.get("triples")])
        snapshot = sha256("\n".join(names).encode()).hexdigest()[:16]
        previous = before.snapshot if before else ""
        generation = 1 + max((m.generation for m in others), default=0)
        if before and before.snapshot == snapshot:  # equal tables and arrays, perhaps other settings
            previous, generation = before.before, before.generation
        manifest = Manifest(
            snapshot=snapshot,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            counts={name: len(getattr(index, name)) for name in TABLES},
            files=files,
            settings=dict(settings),
            usage=dict(usage),
            origin=dict(index.origin),
            before=previous,
            generation=generation,
        )
        _make_current(folder, manifest, before)
        trim(folder, settings)
        return snapshot


EARLY = "documents", "text_units", "communities"
"""The tables that do not depend on descriptions and reports; writing them takes half of the total time (podcasts)."""


def put_early(folder: Path, index: Index) -> dict[str, StoredFile]:
    """Write the tables of an index that do not depend on descriptions and reports, and return them for `Index.stored`.
    Must be called inside `with writing(folder)`; raises the errors of `commit`. The next commit removes unused files.
    """
    with _whole(folder := locked(folder)):
        return _put_all(folder, index, EARLY)


def rollback(folder: Path, snapshot: str = "") -> Manifest:
    """Make an earlier snapshot the current one again, and return its manifest; the replaced one is retained.

    `snapshot` is the beginning of its id; "" means the snapshot before the current one. Must be called inside
    `with writing(folder)`.

    Raises `UsageError` if it is not, `NotFound` if there is no such snapshot, `IndexDamaged` if one of its files has
    changed, and the errors of `read`. After an error the current snapshot is unchanged.
    """
    folder = locked(folder)
    now, wanted = current(folder), chosen(folder, snapshot)
    _map_all(folder, wanted, verify=True)
    if wanted.snapshot != now.snapshot:
        with _whole(folder):
            _make_current(folder, wanted, now)
    return wanted


@contextmanager
def _whole(folder: Path) -> Generator[None]:
    """Remove the files written in this context if it raises; convert an `OSError` to `StoreError`."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError, StoreError):
            _remove_all_but(folder, *(_retained(folder) if (folder / NAME).exists() else ()))
        if not isinstance(error, OSError):
            raise
        advice = "its earlier content is unchanged; free some space and run the same again"
        raise StoreError(
            f"the index {folder} cannot be written ({error.strerror or error}); {advice}"
        ) from error


def trim(folder: Path, settings: Mapping[str, Any]) -> None:
    """Retain `store.snapshots` snapshots, first the current one, then the one before it and the newest others; remove
    the rest. Must be called inside `with writing(folder)`.
    """
    folder = locked(folder)
    number = int(settings.get("store", {}).get("snapshots", StoreSettings().snapshots))
    _remove_all_but(folder, *_retained(folder)[:number])


def _retained(folder: Path) -> list[Manifest]:
    """Return the manifests of a folder: the current one, the one before it, then the others, the newest first."""
    now = current(folder)
    return sorted(snapshots(folder), key=lambda m: (m.snapshot != now.snapshot, m.snapshot != now.before))


def _remove_all_but(folder: Path, *retained: Manifest) -> None:
    """Remove the files of all snapshots except the retained ones, the first of which is the current one."""
    needed = {path for manifest in retained for path in manifest.files}
    needed |= {f"{HISTORY}/{manifest.snapshot}.json" for manifest in retained[1:]}
    needed |= {manifest.origin.get("triples", "") for manifest in retained}
    for manifest in retained:
        needed |= {f"{DERIVED}/{path.name}" for path in (folder / DERIVED).glob(f"*-{manifest.snapshot}-*")}
    folders = (OBJECTS, ARRAYS, HISTORY, DERIVED, PUBLISHED)  # PUBLISHED has stored files in format 2
    for path in chain(folder.glob("triples-*.sqlite"), *((folder / name).glob("*") for name in folders)):
        # files of others in the folder stay
        if _OURS.fullmatch(path.name) and path.relative_to(folder).as_posix() not in needed:
            with suppress(OSError):  # not a mapped file on Windows: a later commit removes it
                path.unlink()


def _make_current(folder: Path, manifest: Manifest, before: Manifest | None) -> None:
    """Replace the current manifest; the previous one moves to the history if it is another snapshot."""
    text = manifest.to_json()  # first, because it fails if settings cannot be represented in JSON
    if before and before.snapshot != manifest.snapshot:
        _write(folder / HISTORY / f"{before.snapshot}.json", before.to_json())
        _sync(folder / HISTORY)
    _write(folder / NAME, text)
    _sync(folder)
    _publish(folder, manifest)


def _put_all(folder: Path, index: Index, names: Collection[str]) -> dict[str, StoredFile]:
    """Store some tables, given by file name, and all arrays, and return the manifest entry of each file by path."""
    waiting: list[Future[tuple[str, StoredFile]]] = []
    tables = ((OBJECTS, name, ".parquet", write) for name, write in writers(index) if name in names)
    arrays = (
        (ARRAYS, name, ".npy", partial(write_array, name, index.arrays[name]))
        for name in sorted(index.arrays)
    )
    with ThreadPoolExecutor(WRITERS) as pool:
        for kind, name, suffix, write in chain(tables, arrays):
            # written one by one, since each takes memory, to a temporary file that `trim` would remove
            temporary = folder / kind / f"{name}-{'0' * 12}{suffix}.tmp"
            with _created(temporary) as file:
                write(file)
            waiting.append(pool.submit(_put, folder, f"{kind}/{name}", suffix, temporary))
    return dict(done.result() for done in waiting)


def _put(folder: Path, stem: str, suffix: str, temporary: Path) -> tuple[str, StoredFile]:
    """Move a written file to a name made from its content, and return its path and manifest entry."""
    footer, blocks = None, tuple[int, ...]()
    with temporary.open("rb+") as file:
        digest, size = file_digest(file, "sha256").hexdigest(), file.tell()
        if suffix == ".parquet":
            file.seek(size - 8)
            file.seek(size - 8 - int.from_bytes(file.read(4), "little"))
            footer = crc32(file.read())
        else:
            file.seek(0)
            head = file.read(10)
            head += file.read(int.from_bytes(head[8:], "little"))
            blocks = tuple(map(crc32, chain([head], iter(partial(file.read, BLOCK), b""))))
        os.fsync(file.fileno())
    path = f"{stem}-{digest[:12]}{suffix}"
    facts = StoredFile(digest, size, footer_crc32=footer, blocks=blocks)
    try:
        _map(folder / path, facts, verify=True)
        temporary.unlink()
    except IndexDamaged:
        temporary.replace(folder / path)
    return path, facts


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with _created(temporary) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _created(path: Path) -> IO[bytes]:
    """Open a new temporary file for writing."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)  # left by a killed writer, or a symbolic link
    return path.open("xb")


def _sync(*folders: Path) -> None:
    """Flush the directory entries of folders to disk (Windows does so by itself)."""
    if sys.platform != "win32":
        for folder in filter(Path.exists, folders):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _publish(folder: Path, manifest: Manifest) -> None:
    """Make the names in `tables` lead to the tables of a snapshot, or of the snapshot that has replaced it meanwhile.
    This needs no lock, so that a reader that updates them does not block a writer. The commit is already complete, so
    errors of the file system are only logged; the next open tries again.
    """
    while True:
        for stored in _tables_in(folder, manifest).values():
            path = folder / PUBLISHED / f"{_name(stored.name)}.parquet"
            temporary = path.with_name(f"{path.name}.{os.getpid()}-{get_ident()}.tmp")
            try:
                if not _is_published(path, stored):
                    path.parent.mkdir(exist_ok=True)
                    temporary.unlink(missing_ok=True)  # or a copy would be written through a link
                    try:
                        temporary.hardlink_to(stored)
                    except OSError:  # a file system without hard links
                        shutil.copy2(stored, temporary)
                    temporary.replace(path)
            except OSError as error:  # on Windows, while another program has the table open
                log.info("%s is still that of an earlier snapshot: %s", path, error)
            with suppress(OSError):  # replacing a hard link by another link to the same file keeps both
                temporary.unlink(missing_ok=True)
        if (now := current(folder)).snapshot == manifest.snapshot:
            return
        manifest = now


def _is_published(path: Path, stored: Path) -> bool:
    try:
        here, there = path.stat(), stored.stat()
    except OSError:
        return False
    return (here.st_size, here.st_mtime_ns) == (there.st_size, there.st_mtime_ns)


# Reading


def read(folder: Path, verify: bool = False) -> Index:
    """Open the current snapshot of an index; tables and arrays are read when they are used.

    Later commits do not affect an open index. `verify` compares the hash of every file.

    Raises `IndexMissing` if there is no index, `IndexOutdated` if its format is too old to be read, `IndexDamaged` if
    a file is missing or differs from the manifest: in its size or, with `verify`, in its hash.
    """
    while True:
        manifest = current(folder)
        try:
            index = read_snapshot(folder, manifest, verify)
            break
        except IndexDamaged:
            if current(folder).snapshot == manifest.snapshot:
                raise
            # a commit has replaced the snapshot after its manifest was read: open the new one
    _publish(folder, manifest)  # in case a writer was killed before it did
    return index


def read_snapshot(folder: Path, manifest: Manifest, verify: bool = False) -> Index:
    """Open a snapshot in a folder by its manifest; raise `IndexDamaged` if one of its files is missing."""
    files = _map_all(folder, manifest, verify)
    tables_at = _table_paths(folder, manifest)
    arrays_at = {_name(path): path for path in files if path.endswith(".npy")}

    @cache
    def content(path: str) -> mmap.mmap | bytes:
        facts = manifest.files[path]
        if facts.footer_crc32 is not None:  # its pages are verified when they are read
            size = int.from_bytes(files[path][-8:-4], "little")
            _check(folder / path, files[path][-8 - size :], facts.footer_crc32)
        elif not facts.blocks:
            _check(folder / path, files[path], facts.crc32 or facts.sha256)
        return files[path]

    document_ids = cache(lambda: tables["documents"].column("id"))
    stored = {
        name: Stored(t, partial(content, tables_at[t.file]), document_ids, manifest.counts)
        for name, t in TABLES.items()
    }
    tables: dict[str, Any] = {
        name: Rows(partial(manifest.counts.__getitem__, name), table.rows, table)
        for name, table in stored.items()
    }
    blocks = {name: manifest.files[path].blocks for name, path in arrays_at.items()}
    slices: LazyMapping[str, StoredArray] = LazyMapping(
        arrays_at,
        lambda name: StoredArray(name, content(arrays_at[name]), blocks[name], slices, manifest.counts),
    )
    arrays: LazyMapping[str, Any] = LazyMapping(arrays_at, lambda name: slices[name][...])
    arrays.slices = slices
    return Index(
        **tables,
        arrays=arrays,
        settings=manifest.settings,
        usage=manifest.usage,
        origin=manifest.origin,
        snapshot=manifest.snapshot,
        folder=folder,
    )


def _table_paths(folder: Path, manifest: Manifest) -> dict[str, str]:
    """Return the path of each table by file name; raise IndexDamaged if one is missing, or has too many rows."""
    tables_at = {_name(path): path for path in manifest.files if path.endswith(".parquet")}
    for name, table in TABLES.items():
        size = manifest.files[tables_at[table.file]].size if table.file in tables_at else 0
        if not 0 <= manifest.counts.get(name, -1) <= size * MOST_ROWS:
            raise IndexDamaged(f"{folder / NAME} does not say what is in the table {table.file}; {_MEND}")
    return tables_at


def table_files(folder: Path) -> dict[str, Path]:
    """Return the Parquet files of the current snapshot, by the table names that other tools use.

    Raises the errors of `read`.
    """
    read(folder)
    return _tables_in(folder, current(folder))


def _tables_in(folder: Path, manifest: Manifest) -> dict[str, Path]:
    return {_name(path): folder / path for path in manifest.files if path.endswith(".parquet")}


def _name(path: str) -> str:
    """Return the name of the table or array in a stored file."""
    return path.rpartition("/")[2].rpartition("-")[0]


def _map_all(folder: Path, manifest: Manifest, verify: bool) -> dict[str, mmap.mmap | bytes]:
    return {path: _map(folder / path, facts, verify) for path, facts in manifest.files.items()}


def _map(path: Path, facts: StoredFile, verify: bool) -> mmap.mmap | bytes:
    """Map a file into memory, or read it if it is small; its content stays available if the file is removed later."""
    try:
        with open_file(path) as file:
            if (size := os.fstat(file.fileno()).st_size) != facts.size:
                raise IndexDamaged(f"{path} has {size} bytes, its manifest says {facts.size}; {_MEND}")
            small = size <= SMALL
            content = file.read() if small else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except FileNotFoundError:
        raise IndexDamaged(f"{path} is missing; {_MEND}") from None
    if verify:
        _check(path, content, facts.sha256)
    return content


def _check(path: Path, content: mmap.mmap | bytes | memoryview, known: int | str) -> None:
    """Raise IndexDamaged if a content does not match its checksum (`int`) or SHA-256 (`str`, of earlier versions)."""
    if known != (sha256(content).hexdigest() if isinstance(known, str) else crc32(content)):
        raise IndexDamaged(f"{path} has changed since it was written, by its hash; {_MEND}")


__all__ = ["Manifest", "commit", "read", "read_snapshot", "rollback", "table_files", "trim", "writing"]
