"""The files of an index: commit a snapshot, open one, go back to one. Nothing else touches them.

    FOLDER/
      manifest.json                      names the files of the current snapshot, with their hashes
      objects/entities-<hash>.parquet    the tables; see `tables`
      arrays/<name>-<hash>.npy           numbers that go with them, mapped into memory when used
      history/<snapshot>.json            the manifests of earlier snapshots, which one can go back to
      derived/raptor-<snapshot>-….npz    what questions made of a snapshot; it goes with it
      shards/<stage>-<hash>.shard        what stages made of parts of the documents, for the next build; see `workers`
      triples-<hash>.sqlite              a graph too large for the tables (`triple_graph`)
      tables/entities.parquet            the tables of the current snapshot under names that stay, for other tools
      corrections.toml                   what people corrected, and no snapshot holds; see `corrections`
      lock                               locked by a process that writes, whose id it holds

Files are named by their content and never change, so that snapshots share what is the same in both. A commit writes new
files and then replaces the manifest: a reader sees the old snapshot or the new one, whenever the writer is killed. A
reader maps all files of its snapshot when it opens it, so that no later commit can take them away from it.

The names in `tables` are hard links to the stored files (copies where the file system has none). Each is replaced
atomically after the manifest; those that a killed writer left behind are brought up to date by the next open. They are
for pandas, DuckDB and the like: Conspectus itself never reads them.
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
"""The folders of the stored tables, of the names under which other tools find them, of the arrays, and of what was made
of a snapshot for questions, whose id is in the names."""
WRITERS = 8
"""Files that are written at once: many are small, and each waits for the disk."""
SMALL = 1 << 16
"""Bytes up to which a file is read when its index is opened: each that is mapped holds a file open."""
_OURS = re.compile(
    r"[\w.-]+-[0-9a-f]{12}\.(parquet|npy)(\.tmp)?|\w+\.parquet\.\d+-\d+\.tmp|[0-9a-f]{16}\.json(\.tmp)?"
    r"|[a-z]+(-[0-9a-f]{16}){1,2}\.(npz|\d+)|triples-[0-9a-f]{12}\.sqlite",
    re.ASCII,
)
_MEND = "restore it, or delete manifest.json and index again"


# Writing


def commit(folder: Path, index: Index, *, settings: Mapping[str, Any], usage: Mapping[str, Usage]) -> str:
    """Make an index the current snapshot of its folder, and return the snapshot's id. Files that `put_early` wrote
    (`Index.stored`) are not written again.

    Equal tables, arrays and graphs on disk have equal ids; settings, usage and other origins are kept beside them.
    As many earlier snapshots are kept as the settings say (`store.snapshots`), others are removed. Call it inside
    `with writing(folder)`.

    Raises `UsageError` where it is not, where a row names another that is not there, or where a text or an
    array cannot be stored; `IndexDamaged` where the folder has a manifest that is not ours; `StoreError` where the file
    system refuses to write, because it is full for instance. The current snapshot then stays what it was, and what
    was written of the new one is removed.
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
        if before and before.snapshot == snapshot:  # the same again, perhaps by other settings
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
"""The tables that hold nothing of descriptions and reports; to write them takes half of the time of all (podcasts)."""


def put_early(folder: Path, index: Index) -> dict[str, StoredFile]:
    """Write the tables of an index that hold nothing of descriptions and reports, and return their files for its field
    `stored`. Call it inside `with writing(folder)`; it raises what `commit` does. The next commit removes unused files.
    """
    with _whole(folder := locked(folder)):
        return _put_all(folder, index, EARLY)


def rollback(folder: Path, snapshot: str = "") -> Manifest:
    """Make a kept snapshot the current one again, and return its manifest; the one that was stays kept.

    It is named by the first characters of its id; "" is the one before the current one. Call it inside
    `with writing(folder)`.

    Raises `UsageError` where it is not, `NotFound` where no such snapshot is kept, `IndexDamaged` where a file of it
    is not what it was, and what `read` does. The current snapshot then stays what it was.
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
    """Remove what was written if the work within does not come to its end; raise `StoreError` for an `OSError`."""
    try:
        yield
    except BaseException as error:
        with suppress(OSError, StoreError):
            _remove_all_but(folder, *(_retained(folder) if (folder / NAME).exists() else ()))
        if not isinstance(error, OSError):
            raise
        advice = "what it held before is unchanged; see that there is room and run the same again"
        raise StoreError(
            f"the index {folder} cannot be written ({error.strerror or error}); {advice}"
        ) from error


def trim(folder: Path, settings: Mapping[str, Any]) -> None:
    """Remove all snapshots but the current one and as many of the newest as the settings keep (`store.snapshots`).
    The one before the current one goes last. Call it inside `with writing(folder)`.
    """
    folder = locked(folder)
    number = int(settings.get("store", {}).get("snapshots", StoreSettings().snapshots))
    _remove_all_but(folder, *_retained(folder)[:number])


def _retained(folder: Path) -> list[Manifest]:
    """Return the manifests of a folder: the current one, the one before it, then the others, the newest first."""
    now = current(folder)
    return sorted(snapshots(folder), key=lambda m: (m.snapshot != now.snapshot, m.snapshot != now.before))


def _remove_all_but(folder: Path, *retained: Manifest) -> None:
    """Remove the files of all snapshots but these, the first of which is the current one."""
    needed = {path for manifest in retained for path in manifest.files}
    needed |= {f"{HISTORY}/{manifest.snapshot}.json" for manifest in retained[1:]}
    needed |= {manifest.origin.get("triples", "") for manifest in retained}
    for manifest in retained:
        needed |= {f"{DERIVED}/{path.name}" for path in (folder / DERIVED).glob(f"*-{manifest.snapshot}-*")}
    folders = (OBJECTS, ARRAYS, HISTORY, DERIVED, PUBLISHED)  # the last one has files of format 2
    for path in chain(folder.glob("triples-*.sqlite"), *((folder / name).glob("*") for name in folders)):
        # what others have put in the folder stays
        if _OURS.fullmatch(path.name) and path.relative_to(folder).as_posix() not in needed:
            with suppress(OSError):  # Windows keeps a mapped file: a later commit removes it
                path.unlink()


def _make_current(folder: Path, manifest: Manifest, before: Manifest | None) -> None:
    """Put a manifest in the place of the one before, which is kept among the earlier ones if it is another snapshot."""
    text = manifest.to_json()  # first: settings may hold what JSON cannot
    if before and before.snapshot != manifest.snapshot:
        _write(folder / HISTORY / f"{before.snapshot}.json", before.to_json())
        _sync(folder / HISTORY)
    _write(folder / NAME, text)
    _sync(folder)
    _publish(folder, manifest)


def _put_all(folder: Path, index: Index, names: Collection[str]) -> dict[str, StoredFile]:
    """Store some tables, by the names of their files, and all arrays, and return what each file is by its path."""
    waiting: list[Future[tuple[str, StoredFile]]] = []
    tables = ((OBJECTS, name, ".parquet", write) for name, write in writers(index) if name in names)
    arrays = (
        (ARRAYS, name, ".npy", partial(write_array, name, index.arrays[name]))
        for name in sorted(index.arrays)
    )
    with ThreadPoolExecutor(WRITERS) as pool:
        for kind, name, suffix, write in chain(tables, arrays):
            # written at once, since the next one takes memory, too; a temporary file that `trim` knows
            temporary = folder / kind / f"{name}-{'0' * 12}{suffix}.tmp"
            with _created(temporary) as file:
                write(file)
            waiting.append(pool.submit(_put, folder, f"{kind}/{name}", suffix, temporary))
    return dict(done.result() for done in waiting)


def _put(folder: Path, stem: str, suffix: str, temporary: Path) -> tuple[str, StoredFile]:
    """Store a file that was written under the name of its content, and return its path and what it is."""
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
    """Write a file so that under its name it is there as a whole or not at all."""
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
    """Open a new temporary file."""
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)  # of a writer that was killed, or a symbolic link
    return path.open("xb")


def _sync(*folders: Path) -> None:
    """Make the names in folders durable (Windows does so by itself)."""
    if sys.platform != "win32":
        for folder in filter(Path.exists, folders):
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _publish(folder: Path, manifest: Manifest) -> None:
    """Let the names in `tables` lead to the tables of a snapshot, or of the one that has come in its place meanwhile.
    It needs no lock, so that a reader who brings them up to date is in no writer's way. The commit is done by now, so
    that what the file system refuses is only logged; the next open tries again.
    """
    while True:
        for stored in _tables_in(folder, manifest).values():
            path = folder / PUBLISHED / f"{_name(stored.name)}.parquet"
            temporary = path.with_name(f"{path.name}.{os.getpid()}-{get_ident()}.tmp")
            try:
                if not _is_published(path, stored):
                    path.parent.mkdir(exist_ok=True)
                    temporary.unlink(missing_ok=True)  # else a copy is written to where it leads
                    try:
                        temporary.hardlink_to(stored)
                    except OSError:  # a file system without hard links
                        shutil.copy2(stored, temporary)
                    temporary.replace(path)
            except OSError as error:  # on Windows, while another program has the table open
                log.info("%s is still that of an earlier snapshot: %s", path, error)
            with suppress(OSError):  # replacing a name by another of the same file leaves both
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

    What was opened stays as it is, whatever is committed later. `verify` compares the hash of every file.

    Raises `IndexMissing` where there is no index, `IndexOutdated` where an earlier format is read no more,
    `IndexDamaged` where a file is missing or is not what the manifest says: by its size, or with `verify` by its hash.
    """
    while True:
        manifest = current(folder)
        try:
            index = read_snapshot(folder, manifest, verify)
            break
        except IndexDamaged:
            if current(folder).snapshot == manifest.snapshot:
                raise
            # commits have replaced the snapshot between reading its manifest and its files: take the new one
    _publish(folder, manifest)  # where a writer was killed before it did
    return index


def read_snapshot(folder: Path, manifest: Manifest, verify: bool = False) -> Index:
    """Open a snapshot that a folder keeps, by its manifest; raise `IndexDamaged` where a file of it is missing."""
    files = _map_all(folder, manifest, verify)
    tables_at = _table_paths(folder, manifest)
    arrays_at = {_name(path): path for path in files if path.endswith(".npy")}

    @cache
    def content(path: str) -> mmap.mmap | bytes:
        facts = manifest.files[path]
        if facts.footer_crc32 is not None:  # its pages are compared when they are read
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
    """Return the path of each table by its name; raise IndexDamaged where one is missing, or has too many rows."""
    tables_at = {_name(path): path for path in manifest.files if path.endswith(".parquet")}
    for name, table in TABLES.items():
        size = manifest.files[tables_at[table.file]].size if table.file in tables_at else 0
        if not 0 <= manifest.counts.get(name, -1) <= size * MOST_ROWS:
            raise IndexDamaged(f"{folder / NAME} does not say what is in the table {table.file}; {_MEND}")
    return tables_at


def table_files(folder: Path) -> dict[str, Path]:
    """Return the Parquet files of the current snapshot by the name that other tools have for their table.

    Raises as `read` does.
    """
    read(folder)
    return _tables_in(folder, current(folder))


def _tables_in(folder: Path, manifest: Manifest) -> dict[str, Path]:
    return {_name(path): folder / path for path in manifest.files if path.endswith(".parquet")}


def _name(path: str) -> str:
    """Return the name of the table or array that a stored file holds."""
    return path.rpartition("/")[2].rpartition("-")[0]


def _map_all(folder: Path, manifest: Manifest, verify: bool) -> dict[str, mmap.mmap | bytes]:
    return {path: _map(folder / path, facts, verify) for path, facts in manifest.files.items()}


def _map(path: Path, facts: StoredFile, verify: bool) -> mmap.mmap | bytes:
    """Map a file into memory, or read it where it is small; it can be used even when it is removed later."""
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
    """Compare a file with its checksum, or with its SHA-256 (an earlier version wrote no checksum)."""
    if known != (sha256(content).hexdigest() if isinstance(known, str) else crc32(content)):
        raise IndexDamaged(f"{path} is not what was written, by its hash; {_MEND}")


__all__ = ["Manifest", "commit", "read", "read_snapshot", "rollback", "table_files", "trim", "writing"]
