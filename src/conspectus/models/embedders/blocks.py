"""Vectors of a long run kept block by block, so that one that is interrupted goes on where it was."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.models.base import Tick, no_tick
from conspectus.rows import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from conspectus.models.embedders import Embedder

BLOCK = 256
"""Texts in a block; what is left over after the last whole one is not kept."""


class StoredBlocks:
    """An embedder around another one, that writes each block of vectors into a folder and reads those that are there.

    A block is known by the name of the embedder and its texts, so that another model or corpus finds none.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._folder = folder

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimension(self) -> int:
        return self._embedder.dimension

    @property
    def usage(self) -> Usage:
        return self._embedder.usage

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text; see `Embedder.embed`."""
        import numpy as np

        starts = range(0, len(texts), BLOCK)
        blocks = [self._block(texts[start : start + BLOCK], tick) for start in starts]
        return np.concatenate(blocks) if blocks else self._embedder.embed(texts, tick)

    def unread(self, texts: Sequence[str]) -> float:
        """Return what the embedder does."""
        return self._embedder.unread(texts)

    def clear(self) -> None:
        """Remove the blocks: their vectors are in an index."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _block(self, texts: Sequence[str], tick: Tick) -> NDArray[np.float32]:
        import numpy as np

        path = self._folder / f"{sha256(chr(0).join((self.name, *texts)).encode()).hexdigest()[:32]}.npy"
        if path.is_file():
            for _ in texts:
                tick()
            return np.load(path)
        vectors = self._embedder.embed(texts, tick)
        if len(texts) == BLOCK:
            self._folder.mkdir(parents=True, exist_ok=True)
            part = path.with_suffix(f".{os.getpid()}.part")
            with part.open("wb") as file:
                np.save(file, vectors)
            part.replace(path)
        return vectors
