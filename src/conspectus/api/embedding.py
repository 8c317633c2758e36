"""Vectors of an index, computed during a build or later; triples of its passages; checks of the configured servers."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus import tokens
from conspectus.configuration import INDEX, Resolved
from conspectus.errors import ModelError, StoreError, UsageError
from conspectus.index import Index
from conspectus.index_models import FUNCTION, checked_embedder, own_embedder
from conspectus.indexing import embed as vectors
from conspectus.indexing.given_graph import read_openie, with_openie
from conspectus.lazy import lazy_module
from conspectus.models import llm
from conspectus.models.embedders import (
    LOCAL,
    NONE,
    Embedder,
    StoredBlocks,
    embed_call,
    is_served,
    known_prefixes,
    open_embedder,
)
from conspectus.models.llm import wire
from conspectus.models.llm.budget import Budget
from conspectus.models.llm.cache import FILE_NAME, ResponseCache
from conspectus.rows import Failure, Usage
from conspectus.runtime import (
    DEFAULT_FOLDER,
    Given,
    Options,
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
"""Subfolder of an index's folder that stores vectors while they are computed."""
TASK = "Embed"
"""Name of the task under which the usage of an embedding server is recorded."""


def _opened(name: str, settings: Settings, folder: Path, spent: Usage | None = None) -> Embedder | None:
    """Open an embedder; None for `none`. Vectors of a local embedder are stored while they are computed."""
    embedder = open_embedder(name, settings, folder, spent)
    return embedder if embedder is None or is_served(name) else StoredBlocks(embedder, folder / BLOCKS)


def _add_vectors(
    index: Index, embedder: Embedder, before: Index | None, settings: Settings, progress: Progress | None
) -> Index:
    """Return an index with vectors by the settings' embedder; vectors of the same texts in `before` are reused."""
    made = vectors.with_vectors(index, embedder, settings.vectors.embedder, before, progress)
    return _with_usage(made, embedder)


def _with_usage(index: Index, embedder: Embedder) -> Index:
    usage = {task: used for task, used in index.usage.items() if task != TASK}
    if embedder.usage != Usage():
        usage[TASK] = embedder.usage
    return replace(index, usage=usage)


def _chosen(index: Index, embedder: str | EmbedFunction, settings: Given) -> Settings:
    """Return settings to embed an index with: the given embedder, or the settings', the index's own, or `local`."""
    options: Options = {"settings": settings, "embedder": embedder or None}
    chosen = run_of(options, [index.settings], language_model=False).settings
    if embedder or chosen.vectors.embedder != NONE:
        return chosen
    usual = {"embedder": checked_embedder(own_embedder(index)) or LOCAL}
    return chosen.model_copy(update={"vectors": chosen.vectors.model_copy(update=usual)})


@public
def embed(
    folder: str | Path = DEFAULT_FOLDER,
    embedder: str | EmbedFunction = "",
    *,
    settings: Given = None,
    progress: Progress | bool | None = None,
) -> Index:
    """Give the index in a folder vectors by an embedder, in place of those it has, and return it.

    embedder: a name, or a function from texts to vectors, as in `build`.

    By default it is the embedder of the settings, or the index's own, or `local`; `none` removes the vectors. Existing
    vectors by the same embedder are reused for texts that did not change.

    Raises UsageError if there is no such embedder or its requirements are missing, ModelError if its server fails; the
    index then stays as it was.
    """
    target = path_of(folder)
    chosen = _chosen(store.read(target), embedder, settings)
    opened = _opened(chosen.vectors.embedder, chosen, target)
    with shown(progress) as bars, store.writing(target):
        existing = store.read(target)
        if opened is None:
            index = vectors.without_vectors(existing)
        else:
            if bars:
                bars.watch(lambda: opened.usage)
            index = _add_vectors(existing, opened, existing, chosen, bars)
            address = chosen.llm.embedder_base_url or chosen.llm.base_url
            llm = {**index.settings.get("llm", {}), "embedder_base_url": address}
            index = replace(index, settings={**index.settings, "llm": llm})
        return _committed(target, index)


def _committed(folder: Path, index: Index) -> Index:
    """Store an index, delete the files of vectors in progress, and return the index as read from the folder."""
    store.commit(folder, index, settings=index.settings, usage=index.usage)
    shutil.rmtree(folder / BLOCKS, ignore_errors=True)
    return store.read(folder)


def check_embedder(resolved: Resolved, folder: Path) -> None:
    """Open the embedder of the settings, if they name one, and try it, before anything else is asked of models.

    Raises what the embedder raises: UsageError, BadKey or ServerDown; if only the index names the embedder, the error
    says how to build without.
    """
    settings, name = resolved.settings, resolved.settings.vectors.embedder
    try:
        if opened := open_embedder(name, settings, folder):
            assert opened.dimension > 0
            if opened.name.startswith(FUNCTION):
                opened.embed(["one text", "another"])  # a function may support one text only
    except (UsageError, ModelError) as error:
        if resolved.origins.get("vectors.embedder") != INDEX:
            raise
        advice = f"this index has vectors of {name}: embedder='none' builds without vectors"
        raise type(error)(f"{error}; {advice}") from None


def with_vectors(
    index: Index, settings: Settings, folder: Path, spent: Usage, progress: Progress | None = None
) -> tuple[Index, tuple[str, ...]]:
    """Return a new index with the vectors that the settings ask for, and notices.

    Vectors of the same texts in the folder's existing index are reused. `spent` is the usage of the run so far. If a
    server fails, the index has no vectors and records a failure.
    """
    before: Index | None = None
    with suppress(StoreError):  # there is none, or a broken one that is replaced anyway
        before = store.read(folder)
    name = settings.vectors.embedder
    opened = _opened(name, settings, folder, spent)
    if opened is None:
        lost = own_embedder(before) if before else ""
        again = f"{embed_call(folder, lost)} computes those of this one"
        return index, (f"The previous index had vectors of {lost}; {again}.",) if lost else ()
    if progress:
        progress.watch(lambda: spent + opened.usage)
    try:
        index = _add_vectors(index, opened, before, settings, progress)
    except ModelError as error:
        index = replace(index, failures=[*index.failures, Failure("embed", str(error))])
        again = embed_call(folder, name)
        if name.startswith(FUNCTION):
            again = again.replace(repr(name), "...")
        texts = sum(map(len, vectors.texts_of(index).values()))
        notice = (
            f"None of {texts:,} texts has a vector, since the embedder failed ({error})."
            f" {again} computes them, and pays for none twice."
        )
        if progress:
            progress.note(notice)
        else:
            warnings.warn(notice, UserWarning, stacklevel=2)
        return _with_usage(index, opened), () if progress else (notice,)
    shutil.rmtree(folder / BLOCKS, ignore_errors=True)
    return index, ()


@public
def import_openie(file: str | Path, folder: str | Path = DEFAULT_FOLDER, *, settings: Given = None) -> Index:
    """Add the triples of passages in a file to the index in a folder, and return it.

    If the index has vectors, the triples get them too. Its graph and reports stay as they are.
    """
    from conspectus.index_models import embedder_of, has_vectors

    passages = read_openie(Path(file))
    target = path_of(folder)
    store.read(target)  # raises before a missing folder would be created
    with store.writing(target):
        existing = store.read(target)
        index = with_openie(existing, passages, str(file))
        if has_vectors(existing):
            run = run_of({"settings": settings}, [existing.settings], language_model=False)
            by = embedder_of(existing, run.settings)
            index = vectors.with_vectors(index, by, own_embedder(existing), existing)
        return _committed(target, index)


@public
def check_models(settings: Given = None) -> list[Checked]:
    """Send one small request of each kind to the configured servers, and return what they support."""
    chosen = resolved(settings)
    if not chosen.language_models:
        raise UsageError("the extractive model needs no server: name a language model with model=NAME")
    embedder = chosen.vectors.embedder

    async def work() -> list[Checked]:
        async with llm.open_session(chosen, None) as session:
            return await llm.check(session, chosen, embedder if is_served(embedder) else "")

    return run_sync(work())


@public
def estimate_embedding(
    folder: str | Path = DEFAULT_FOLDER, embedder: str = "", *, settings: Given = None
) -> TaskEstimate | None:
    """Return an estimate of the calls of `embed`, without making any; None if it would not ask a server."""
    target = path_of(folder)
    index = store.read(target)
    chosen = _chosen(index, embedder, settings)
    served = is_served(chosen.vectors.embedder)
    return estimate_texts(vectors.texts_of(index), chosen, target) if served else None


def estimate_texts(texts: Mapping[str, Sequence[str]], settings: Settings, folder: Path) -> TaskEstimate:
    """Estimate the calls for vectors of texts by the embedder of the settings, without those cached in a folder."""
    name = settings.vectors.embedder
    prefix = known_prefixes(name).passage
    prompts = [prefix + text for array in texts.values() for text in array]
    new = {sender.embedding_key(name, prompt): prompt for prompt in prompts}
    if (folder / FILE_NAME).exists():
        with closing(ResponseCache(folder / FILE_NAME)) as replies:
            new = {key: prompt for key, prompt in new.items() if replies.get_bytes(key) is None}
    count = sum(tokens.count(text, wire.vocabulary(name)) for text in new.values())
    budget = Budget(settings.prices, base_url=settings.llm.embedder_base_url or settings.llm.base_url)
    cost = estimates.exactly(budget.cost(name, count, 0)) if budget.price(name) else None
    calls = estimates.exactly(len(sender.batches(list(new.items()))))
    return estimates.TaskEstimate(TASK, name, calls, estimates.exactly(count), estimates.exactly(0), cost)
