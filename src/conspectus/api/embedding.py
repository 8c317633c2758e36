"""Vectors of an index, made with it or later; triples of its passages; what the configured servers support."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus import tokens
from conspectus.errors import ModelError, StoreError, UsageError
from conspectus.index import Index
from conspectus.index_models import FUNCTION
from conspectus.indexing import embed as vectors
from conspectus.indexing.given_graph import read_openie, with_openie
from conspectus.indexing.update import own_embedder
from conspectus.lazy import lazy_module
from conspectus.models import llm
from conspectus.models.embedders import (
    LOCAL,
    NONE,
    Embedder,
    Prefixes,
    StoredBlocks,
    embed_call,
    is_served,
    open_embedder,
    prefixes_of,
)
from conspectus.models.llm import wire
from conspectus.models.llm.budget import Budget
from conspectus.models.llm.cache import FILE_NAME, ResponseCache
from conspectus.rows import Failure, Usage
from conspectus.runtime import (
    DEFAULT_FOLDER,
    Given,
    named_model,
    path_of,
    public,
    resolved,
    run_of,
    run_sync,
    shown,
)
from conspectus.settings import Settings
from conspectus.storage import store

if TYPE_CHECKING:
    from conspectus.indexing import estimate as estimates
    from conspectus.indexing.estimate import TaskEstimate
    from conspectus.indexing.pipeline import Progress
    from conspectus.models.llm import sender
    from conspectus.models.llm.adapters import EmbedFunction
    from conspectus.models.llm.model import Checked
else:  # with aiohttp, which takes long to import
    estimates = lazy_module("conspectus.indexing.estimate")
    sender = lazy_module("conspectus.models.llm.sender")

BLOCKS = "embedding"
"""The folder in that of an index where vectors are while they are made."""
TASK = "Embed"
"""What the usage of a server for vectors is recorded under."""


@dataclass(frozen=True)
class OpenEmbedder:
    """An embedder with the name it was opened by; the vectors of a local one are stored while they are made."""

    name: str
    embedder: Embedder
    stored: StoredBlocks | None

    @classmethod
    def of(
        cls, name: str, settings: Settings, folder: Path, spent: Usage | None = None
    ) -> OpenEmbedder | None:
        """Open an embedder; None for `none`. `spent` is what the run took before."""
        embedder = open_embedder(name, settings, folder, spent)
        if embedder is None:
            return None
        return cls(name, embedder, None if is_served(name) else StoredBlocks(embedder, folder / BLOCKS))

    def vectors(
        self, index: Index, before: Index | None, settings: Settings, progress: Progress | None
    ) -> Index:
        """Return an index with vectors; those of `before` by the same embedder are taken over for the same texts."""
        prefixes = prefixes_of(self.embedder.name, settings.vectors)
        made = vectors.with_vectors(index, self.stored or self.embedder, self.name, before, progress, prefixes)
        others = {task: used for task, used in index.usage.items() if task != TASK}
        used = self.embedder.usage
        return replace(made, usage={**others, TASK: used} if used != Usage() else others)

    def clear(self) -> None:
        """Delete what was stored while the vectors were made."""
        if self.stored:
            self.stored.clear()


@public
def embed(
    folder: str | Path = DEFAULT_FOLDER,
    embedder: str | EmbedFunction = "",
    *,
    settings: Given = None,
    progress: Progress | bool | None = None,
) -> Index:
    """Give the index in a folder vectors by an embedder, in place of those it has, and return it.

    embedder: a name, or a function from texts to vectors, as `build` takes it.

    Without one it is that of the settings, or the index's own, or `local`; `none` takes its vectors away. Texts
    that it has vectors of by the same embedder keep them.

    Raises UsageError where there is no such embedder or what it needs is missing, ModelError where its server fails:
    the index then stays what it was.
    """
    target, embedder = path_of(folder), named_model(embedder) or ""
    now = store.read(target)  # first: no folder is made where there is none
    built = [] if embedder else [now.settings]
    chosen = run_of({"settings": settings}, built, language_model=False).settings
    opened = OpenEmbedder.of(embedder or usual_embedder(now, chosen), chosen, target)
    with shown(progress) as bars, store.writing(target):
        existing = store.read(target)
        if opened is None:
            index = vectors.without_vectors(existing)
        else:
            if bars:
                bars.watch(lambda: opened.embedder.usage)
            index = opened.vectors(existing, existing, chosen, bars)
            address = chosen.llm.embedder_base_url or chosen.llm.base_url
            llm = {**index.settings.get("llm", {}), "embedder_base_url": address}
            index = replace(index, settings={**index.settings, "llm": llm})
        store.commit(target, index, settings=index.settings, usage=index.usage)
        if opened:
            opened.clear()
    return store.read(target)


def check_embedder(settings: Settings, folder: Path) -> None:
    """Open the embedder of the settings, if they name one, and have it embed a word.

    Raises what it does, UsageError, BadKey or ServerDown, before anything else is asked of models.
    """
    if opened := OpenEmbedder.of(settings.vectors.embedder, settings, folder):
        assert opened.embedder.dimension > 0
        if opened.name.startswith(FUNCTION):
            opened.embedder.embed(["one text", "another"])  # a function may be made for one text only


def with_vectors(
    index: Index, settings: Settings, folder: Path, spent: Usage, progress: Progress | None = None
) -> tuple[Index, tuple[str, ...]]:
    """Return an index that was built with the vectors that the settings ask for, and notices.

    Those of the existing index of the folder are taken over for the same texts. `spent` is what the run took before.
    Where a server fails, the index has no vectors and says so as a failure.
    """
    before: Index | None = None
    with suppress(StoreError):  # there is none, or one that is to be replaced anyway
        before = store.read(folder)
    opened = OpenEmbedder.of(settings.vectors.embedder, settings, folder, spent)
    if opened is None:
        lost = own_embedder(before) if before else ""
        advice = f"The index before had vectors of {lost}; {embed_call(folder, lost)} makes those of this one."
        return index, (advice,) if lost else ()
    if progress:
        progress.watch(lambda: spent + opened.embedder.usage)
    try:
        index = opened.vectors(index, before, settings, progress)
    except ModelError as error:
        failure = Failure("embed", str(error))
        usage = (
            {**index.usage, TASK: opened.embedder.usage} if opened.embedder.usage != Usage() else index.usage
        )
        index = replace(index, failures=[*index.failures, failure], usage=usage)
        texts = sum(map(len, vectors.texts_of(index).values()))
        again = embed_call(folder, opened.name)
        if opened.name.startswith(FUNCTION):
            again = again.replace(repr(opened.name), "...")
        notice = (
            f"None of {texts:,} texts has a vector, since the embedder failed ({error})."
            f" {again} makes them, and pays for none twice."
        )
        if not progress:
            warnings.warn(notice, UserWarning, stacklevel=2)
            return index, (notice,)
        progress.note(notice)
    else:
        opened.clear()
    return index, ()


def usual_embedder(index: Index, settings: Settings) -> str:
    """Return the embedder of the settings, of an index, or the usual one."""
    return settings.vectors.embedder if settings.vectors.embedder != NONE else own_embedder(index) or LOCAL


@public
def import_openie(file: str | Path, folder: str | Path = DEFAULT_FOLDER, *, settings: Given = None) -> Index:
    """Give the index in a folder the triples of its passages that a file holds, and return it.

    Where the index has vectors, the triples get them too. Its graph and reports stay what they are.
    """
    from conspectus.retrieval.vector import embedder_of, has_vectors

    passages = read_openie(Path(file))
    target = path_of(folder)
    store.read(target)  # or else a folder would be made where there is none
    with store.writing(target):
        existing = store.read(target)
        index = with_openie(existing, passages, str(file))
        if has_vectors(existing):
            made = existing.settings["vectors"]
            prefixes = Prefixes(made.get("query_prefix", ""), made.get("passage_prefix", ""))
            run = run_of({"settings": settings}, [existing.settings], language_model=False)
            by = embedder_of(existing, run.settings)
            index = vectors.with_vectors(index, by, made["embedder"], existing, prefixes=prefixes)
        store.commit(target, index, settings=index.settings, usage=index.usage)
    return store.read(target)


@public
def check_models(settings: Given = None) -> list[Checked]:
    """Send one small request of each kind to what is configured, and return what the servers support."""
    chosen = resolved(settings)
    if chosen.model == "extractive":
        raise UsageError("the extractive model needs no server: name a language model with model=NAME")
    embedder = chosen.vectors.embedder
    served = "" if embedder.partition(":")[0] in ("none", "local") else embedder

    async def work() -> list[Checked]:
        async with llm.open_session(chosen, None) as session:
            return await llm.check(session, chosen, served)

    return run_sync(work())


@public
def estimate_embedding(
    folder: str | Path = DEFAULT_FOLDER, embedder: str = "", *, settings: Given = None
) -> TaskEstimate | None:
    """Return what `embed` would take of a server, and ask nothing; None where it would not ask one."""
    chosen, target = resolved(settings), path_of(folder)
    index = store.read(target)
    name = embedder or usual_embedder(index, chosen)
    return estimate_texts(name, vectors.texts_of(index), chosen, target) if is_served(name) else None


def estimate_texts(
    name: str, texts: Mapping[str, Sequence[str]], settings: Settings, folder: Path, extracted: int = 0
) -> TaskEstimate:
    """Estimate vectors of texts, without cached ones of a folder, and of the triples of `extracted` tokens."""
    prefix = prefixes_of(name, settings.vectors).passage
    arrays = [
        {sender.embedding_key(name, prefix + text): prefix + text for text in array}
        for array in texts.values()
    ]
    new = {key: text for array in arrays for key, text in array.items()}
    if (folder / FILE_NAME).exists():
        replies = ResponseCache(folder / FILE_NAME)
        try:
            new = {key: text for key, text in new.items() if replies.get_bytes(key, used=False) is None}
        finally:
            replies.close()
    count = float(sum(tokens.count(text, wire.vocabulary(name)) for text in new.values()))
    counts = estimates.Range(count, count).plus(estimates.Range(extracted, extracted).times(estimates.TRIPLES))
    calls = sum(
        len(sender.batches([(key, text) for key, text in array.items() if key in new])) for array in arrays
    )
    budget = Budget(settings.prices, base_url=settings.llm.embedder_base_url or settings.llm.base_url)
    cost = estimates.Range(*(budget.cost(name, round(n), 0) for n in counts)) if budget.price(name) else None
    return estimates.TaskEstimate(
        TASK, name, estimates.Range(calls, calls), counts, estimates.Range(0, 0), cost
    )
