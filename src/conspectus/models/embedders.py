"""Embedders, which make vectors of texts: none, a model that runs in this process, or a model behind a server.

none                          no vectors
local                         `DEFAULT_MODEL`, downloaded once and run in this process
local:FOLDER                  a model in a folder (`onnx.LocalEmbedder` documents the files it needs)
local:OWNER/MODEL             a model of the Hugging Face hub, downloaded once
openai/text-embedding-3-small a model behind a server, named as chat models are; with a server address in the
                              settings, any name
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from conspectus.errors import ServerFailed, UsageError
from conspectus.models import llm
from conspectus.models.base import Tick, no_tick, run_sync
from conspectus.models.onnx import EMBEDDER, LocalEmbedder, find_folder
from conspectus.rows import Usage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from conspectus.models.llm.budget import Budget
    from conspectus.settings import Settings

NONE, LOCAL = "none", "local"
DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
"""The model that the name `local` refers to."""
MOST_UNREAD = 0.3
"""Share of unread letters from which a model counts as not made for the texts: their vectors mean little."""


class Embedder(Protocol):
    """Makes vectors of `dimension` numbers; `usage` is what it has used of a server so far.

    Two embedders with the same `name` make the same vectors; see also `same_model`.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def usage(self) -> Usage: ...

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text, as an array of shape (texts, dimension).

        A text that is too long for the model is read in parts, whose vectors are averaged. `tick` is called once for
        each text.
        """
        ...

    def unread(self, texts: Sequence[str]) -> float:
        """Return the share, from 0 to 1, of the letters of texts that the model does not know; 0 if that is unknown.

        A model made for another script knows none of the words: it has no token for a letter, or one for each letter.
        """
        ...


def open_embedder(
    name: str, settings: Settings, folder: Path | None = None, spent: Usage | None = None
) -> Embedder | None:
    """Return the embedder of a name, None for `none`.

    The settings give the address and limits of a server. Its vectors are cached in `folder`, and `spent`, the usage of
    the run so far, counts towards the budget.

    Raises UsageError for an unknown name or a missing package; BadKey if a server's key is missing.
    """
    kind, _, model = name.partition(":")
    if name == NONE:
        return None
    if kind == LOCAL:
        return _local(model or DEFAULT_MODEL)
    if "/" in name or settings.llm.embedder_base_url or settings.llm.base_url:
        return ServedEmbedder(name, settings, folder, spent or Usage())
    raise UsageError(
        f"there is no embedder {name!r}; there are {NONE}, {LOCAL}, {LOCAL}:FOLDER, provider/model, and any model at"
        " base_url=..."
    )


def embed_call(folder: Path | None, embedder: str) -> str:
    """Return the call that makes the vectors of the index in a folder."""
    named = "" if folder is None or folder == Path(".conspectus") else f"folder={str(folder)!r}, "
    return f"conspectus.embed({named}embedder={embedder!r})"


def same_model(one: str, other: str) -> bool:
    """Return whether two embedder names refer to one model; local models are compared by the hash after `@`."""
    if one.startswith(f"{LOCAL}:") and other.startswith(f"{LOCAL}:"):
        return one.rpartition("@")[2] == other.rpartition("@")[2]
    return one == other


def is_served(name: str) -> bool:
    """Return whether the embedder of a name is behind a server."""
    return name.partition(":")[0] not in (NONE, LOCAL)


@cache
def _local(model: str) -> LocalEmbedder:
    return LocalEmbedder(find_folder(model, EMBEDDER))


class ServedEmbedder:
    """A model behind a server, named like a chat model: `openai/text-embedding-3-small`.

    Its vectors are cached in `folder`, if one is given, so that each is paid for once. It observes the budget of the
    settings, towards which `spent`, the earlier usage of the run, counts.

    Raises what `CachingSender.embed` raises, and ServerFailed if the dimension of the vectors changes.
    """

    def __init__(self, name: str, settings: Settings, folder: Path | None, spent: Usage) -> None:
        self.name = name
        self._settings = settings
        self._folder = folder
        self._spent = spent
        self._usage = Usage()
        self._budget: Budget | None = None
        self._dimension = 0

    @property
    def usage(self) -> Usage:
        """Usage of the server so far, including that of a call of `embed` in progress."""
        return self._usage + self._budget.total() if self._budget else self._usage

    @property
    def dimension(self) -> int:
        """Numbers in a vector; if not yet known, the server is asked for a vector."""
        if not self._dimension:
            self.embed(["dimension"])
        return self._dimension

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text; see `Embedder.embed`."""
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        vectors = run_sync(self._request(texts, tick))
        before, self._dimension = self._dimension, int(vectors.shape[1])
        if before and before != self._dimension:
            raise ServerFailed(
                f"{self.name} returned vectors of {before} numbers before, and of {self._dimension} now"
            )
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def unread(self, texts: Sequence[str]) -> float:
        """Return 0: servers do not report it."""
        return 0.0

    async def _request(self, texts: Sequence[str], tick: Tick) -> NDArray[np.float32]:
        budget = llm.open_budget(self._settings, before=self._spent + self.usage, embedding=True)
        budget.check(self.name)
        self._budget = budget
        async with llm.open_sender(self._settings.llm, self._folder, budget, embedder=self.name) as sender:
            try:
                return await sender.embed(texts, self.name, tick=tick)
            finally:
                self._usage, self._budget = self.usage, None


class Prefixes(NamedTuple):
    """Texts that a model expects before a question and before a passage."""

    query: str = ""
    passage: str = ""


_SEARCH = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "
_FAMILIES = (
    (r"e5-.*instruct|e5-mistral|qwen3-embedding|linq-embed", Prefixes(_INSTRUCT)),
    (r"\be5-|arctic-embed-[lm]-v2", Prefixes("query: ", "passage: ")),
    (r"bge-\w+-zh", Prefixes("为这个句子生成表示以用于检索相关文章：")),
    (r"bge-(?:small|base|large)|mxbai-embed|arctic-embed", Prefixes(_SEARCH)),
    (r"nomic-embed-text|modernbert-embed", Prefixes("search_query: ", "search_document: ")),
    (r"embedding-?gemma", Prefixes("task: search result | query: ", "title: none | text: ")),
)
"""Prefixes for retrieval, from the models' publishers, by patterns of model names; the first match counts."""


def known_prefixes(model: str) -> Prefixes:
    """Return the prefixes of a model by its name; empty ones if its family is not known to need any."""
    name = model.lower().replace("_", "-")
    return next((prefixes for pattern, prefixes in _FAMILIES if re.search(pattern, name)), Prefixes())


BLOCK = 256
"""Texts in a block. The texts after the last whole block are not stored."""


class StoredBlocks:
    """Wraps a local embedder: it stores each block of vectors in a folder, and reads the blocks stored there before.

    A block's file name is a hash of the embedder's name and the texts, so that blocks of other models are not used.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._folder = folder
        self.name, self.dimension, self.usage = embedder.name, embedder.dimension, embedder.usage
        self.unread = embedder.unread

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text; see `Embedder.embed`."""
        starts = range(0, len(texts), BLOCK)
        blocks = [self._block(texts[start : start + BLOCK], tick) for start in starts]
        return np.concatenate(blocks) if blocks else self._embedder.embed(texts, tick)

    def _block(self, texts: Sequence[str], tick: Tick) -> NDArray[np.float32]:
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
