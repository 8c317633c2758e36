"""The served indexes: opened once, and replaced when a build, correction or rollback commits a new snapshot."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from starlette.concurrency import run_in_threadpool

import conspectus
from conspectus import Index
from conspectus.errors import ConspectusError, NotFound, UsageError

MANIFEST = "manifest.json"
"""The file of an index folder that a commit replaces last."""


def name_of(folder: Path) -> str:
    """Return the name of an index in addresses: that of its folder, or of the parent of a folder `.conspectus`."""
    folder = folder.absolute()
    name = folder.parent.name if folder.name == ".conspectus" else folder.name
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "index"


@dataclass
class ServedIndex:
    """One index folder, and the snapshot from which questions are answered."""

    name: str
    folder: Path
    _index: Index | None = None
    _stamp: tuple[int, int] = (0, 0)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def current(self) -> Index:
        """Return the index as it was last committed.

        Callers that have an earlier snapshot can go on using it. While a new snapshot cannot be opened, as in the
        middle of a rollback, the previous one is returned.

        Raises IndexMissing and IndexDamaged like `open_index`, if no snapshot was opened before.
        """
        with self._lock:
            stamp = self._now()
            if self._index is None or stamp != self._stamp:
                try:
                    self._index, self._stamp = conspectus.open_index(self.folder), stamp
                except ConspectusError:
                    if self._index is None:
                        raise
            return self._index

    async def latest(self) -> Index:
        """Return the same as `current`; a new snapshot is opened in a thread, an open one is returned at once."""
        index = self._index
        if index is not None and self._now() == self._stamp:
            return index
        return await run_in_threadpool(self.current)

    def exists(self) -> bool:
        """Return whether the folder contains an index; the first one may still have to be built."""
        return self._now() != (0, 0)

    def _now(self) -> tuple[int, int]:
        try:
            status = os.stat(self.folder / MANIFEST)
        except OSError:
            return (0, 0)
        return (status.st_mtime_ns, status.st_ino)


class Indexes(dict[str, ServedIndex]):
    """The served indexes by name, in the order in which their folders were given; the first is the default."""

    def __init__(self, folders: Sequence[str | Path]) -> None:
        """Name the indexes; raise UsageError if there are none, or if a folder is given twice."""
        super().__init__()
        paths = [Path(folder) for folder in folders]
        if not paths:
            raise UsageError("name the folder of an index to serve")
        if len({path.resolve() for path in paths}) < len(paths):
            raise UsageError("an index is named twice; each folder is served once")
        for path in paths:
            name, number = name_of(path), 1
            while name in self:
                number += 1
                name = f"{name_of(path)}-{number}"
            self[name] = ServedIndex(name, path)

    def __missing__(self, name: str) -> ServedIndex:
        """Return the default index for ""; raise NotFound for an unknown name."""
        if name:
            raise NotFound(f"there is no index {name!r} here; served are {', '.join(self)}")
        return next(iter(self.values()))
