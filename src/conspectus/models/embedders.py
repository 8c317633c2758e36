"""Who makes vectors of texts: nobody, a model in a folder run here, or a server.

none                          no vectors
local                         `DEFAULT_MODEL`, fetched once and then run here
local:FOLDER                  a model in a folder (`local.LocalEmbedder` says what it needs)
local:OWNER/MODEL             a model of the hub, fetched once
openai/text-embedding-3-small a model behind a server, by the name that it would be asked for chat under; where an
                              address is given, any name
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
"""What `local` alone stands for."""
MOST_UNREAD = 0.3
"""The share of unread letters from which on a model is not made for the texts: vectors of these say little."""


class Embedder(Protocol):
    """Makes vectors of `dimension` numbers; `usage` is what it took of a server so far.

    Two embedders of one `name` make the same vectors; see also `same_model`.
    """

    @property
    def name(self) -> str: ...
    @property
    def dimension(self) -> int: ...
    @property
    def usage(self) -> Usage: ...

    def embed(self, texts: Sequence[str], tick: Tick = no_tick) -> NDArray[np.float32]:
        """Return one vector of length 1 for each text, as an array of shape (texts, dimension).

        A text longer than the model reads is read in parts, whose vectors are averaged. The tick is called for each
        text.
        """
        ...

    def unread(self, texts: Sequence[str]) -> float:
        """Return the share of the letters of texts that the model does not know, as far as that can be told.

        A model made for another script knows none of the words: it has no token for a letter, or one for each.
        """
        ...


def open_embedder(
    name: str, settings: Settings, folder: Path | None = None, spent: Usage | None = None
) -> Embedder | None:
    """Return the embedder of a name, None for `none`.

    For one on a server: its address and limits come from the settings, its vectors are cached in `folder`, and what the
    run has `spent` before counts towards the budget.

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
    """Tell whether two names of embedders are of one model: a local one is known by the hash behind its `@`."""
    if one.startswith(f"{LOCAL}:") and other.startswith(f"{LOCAL}:"):
        return one.rpartition("@")[2] == other.rpartition("@")[2]
    return one == other


def is_served(name: str) -> bool:
    """Tell whether the embedder of a name is behind a server."""
    return name.partition(":")[0] not in (NONE, LOCAL)


@cache
def _local(model: str) -> LocalEmbedder:
    return LocalEmbedder(find_folder(model, EMBEDDER))


class ServedEmbedder:
    """A model behind a server, by the name under which it is asked for chat too: `openai/text-embedding-3-small`.

    Its vectors are kept in a folder, where one is given, and bought once. It keeps to the budget of the settings, of
    which the run had `spent` a part before.

    Raises what `CachingSender.embed` does, and ServerFailed where vectors of another dimension come than before.
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
        """What it took of its server so far, calls that just ended included."""
        return self._usage + self._budget.total() if self._budget else self._usage

    @property
    def dimension(self) -> int:
        """Numbers in a vector, which only the server can tell."""
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
                f"{self.name} gave vectors of {before} numbers before, and of {self._dimension} now"
            )
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def unread(self, texts: Sequence[str]) -> float:
        """Return 0: its server does not tell."""
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
    """What stands before a question, and before a passage."""

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
"""By what is in a model's name, the first that fits; what their publishers say of retrieval."""


def known_prefixes(model: str) -> Prefixes:
    """Return the prefixes of a model by its name, none where its family is not known to need any."""
    name = model.lower().replace("_", "-")
    return next((prefixes for pattern, prefixes in _FAMILIES if re.search(pattern, name)), Prefixes())


BLOCK = 256
"""Texts in a block; what is left over after the last whole one is not kept."""


class StoredBlocks:
    """An embedder around one that runs here: it writes each block of vectors into a folder and reads those it finds.

    A block is known by the name of the embedder and its texts, so that another model or corpus finds none.
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
