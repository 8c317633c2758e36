"""A model behind a server, by the name under which it is asked for chat too: `openai/text-embedding-3-small`."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from conspectus.errors import ServerFailed
from conspectus.models.base import Tick, no_tick
from conspectus.models.llm.budget import open_budget
from conspectus.models.llm.sender import open_sender
from conspectus.rows import Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from conspectus.models.llm.budget import Budget
    from conspectus.settings import Settings

T = TypeVar("T")


class ServedEmbedder:
    """Asks a server for vectors; they are kept in a folder, where one is given, and bought once.

    It keeps to the budget of the settings, of which the run had `spent` a part before.

    Raises what `CachingSender.embed` does, and ServerFailed where vectors of another dimension come than before.
    """

    def __init__(self, name: str, settings: Settings, folder: Path | None = None, spent: Usage | None = None) -> None:
        self.name = name
        self._done = Usage()
        self._ledger: Budget | None = None
        self._spent = spent or Usage()
        self._settings = settings
        self._folder = folder
        self._dimension = 0

    @property
    def usage(self) -> Usage:
        """What it took of its server so far, calls that just ended included."""
        return _sum(self._done, self._ledger.total()) if self._ledger else self._done

    @property
    def dimension(self) -> int:
        """Numbers in a vector, which only the server can tell."""
        if not self._dimension:
            self._dimension = int(self._vectors(["dimension"], no_tick).shape[1])
        return self._dimension

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text; see `Embedder.embed`."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        vectors = self._vectors(texts, tick)
        known, self._dimension = self._dimension, int(vectors.shape[1])
        if known and known != self._dimension:
            raise ServerFailed(f"{self.name} gave vectors of {known} numbers before, and of {self._dimension} now")
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def unread(self, texts: Sequence[str]) -> float:
        """Return 0: its server does not tell."""
        return 0.0

    def _vectors(self, texts: Sequence[str], tick: Tick) -> NDArray[np.float32]:
        return _apart(self._asked(texts, tick))

    async def _asked(self, texts: Sequence[str], tick: Tick) -> NDArray[np.float32]:
        ledger = open_budget(self._settings, before=_sum(self._spent, self.usage), embedding=True)
        ledger.check(self.name)
        self._ledger = ledger
        async with open_sender(self._settings.llm, self._folder, ledger, embedder=self.name) as sender:
            try:
                return await sender.embed(texts, self.name, tick=tick)
            finally:
                self._done, self._ledger = self.usage, None


def _apart(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end in an event loop of another thread: whoever asks may be inside one already.

    An interrupt ends the work.
    """
    loop = asyncio.new_event_loop()
    doing = loop.create_task(work)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="embedder") as thread:
            done = thread.submit(loop.run_until_complete, doing)
            try:
                return done.result()
            except BaseException:
                loop.call_soon_threadsafe(doing.cancel)
                raise
    finally:
        loop.close()


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(*(getattr(one, f.name) + getattr(other, f.name) for f in fields(Usage)))
