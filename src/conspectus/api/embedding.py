"""Vectors for an index that is built, or stands in a folder: made, made anew, estimated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.errors import ModelError, StoreError
from conspectus.index import Index
from conspectus.rows import Chunk, Document, Failure, Usage
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, resolved, resolved_for
from conspectus.settings import Settings
from conspectus.storage import store

if TYPE_CHECKING:
    from conspectus.indexing.estimate import TaskEstimate
    from conspectus.indexing.pipeline import Progress
    from conspectus.models.embedders import Embedder, StoredBlocks

BLOCKS = "embedding"
"""The folder in that of an index where vectors are while they are made."""
TASK = "Embed"
"""What a server's part in it is booked under."""


def embed(
    folder: str | Path = DEFAULT_FOLDER,
    embedder: str = "",
    *,
    settings: Given = None,
    progress: Progress | None = None,
) -> Index:
    """Give the index in a folder vectors by an embedder, in place of those it has, and return it.

    Without a name it is that of the settings, or the index's own, or `local`; `none` takes its vectors away. Texts
    that it has vectors of by the same embedder keep them.

    Raises UsageError where there is no such embedder or what it needs is missing, ModelError where its server fails:
    the index then stays what it was.
    """
    from conspectus.indexing.embed import with_vectors, without_vectors
    from conspectus.models.embedders import open_embedder, prefixes_of

    target = path_of(folder)
    now = store.read(target)  # first: no folder is made where there is none
    chosen = resolved(settings) if embedder else resolved_for(settings, [now.settings], language_model=False).settings
    name = embedder or _usual(now, chosen)
    opened = open_embedder(name, chosen, target)
    keeping = _keeping(opened, name, target)
    if progress and opened:
        progress.watch(lambda: opened.usage)
    with store.writing(target):
        standing = store.read(target)
        if opened is None:
            index = without_vectors(standing)
        else:
            prefixes = prefixes_of(opened.name, chosen.vectors)
            index = with_vectors(standing, keeping or opened, name, standing, progress, prefixes)
            address = chosen.llm.embedder_base_url or chosen.llm.base_url
            llm = {**index.settings.get("llm", {}), "embedder_base_url": address}
            usage = _with_usage(standing.usage, opened)
            index = replace(index, usage=usage, settings={**index.settings, "llm": llm})
        store.commit(target, index, settings=index.settings, usage=index.usage)
        if keeping:
            keeping.clear()
    return store.read(target)


def check_embedder(settings: Settings, folder: Path) -> None:
    """Open the embedder of the settings, if they name one, and have it embed a word.

    Raises what it does, UsageError, BadKey or ServerDown, before anything else is asked of models.
    """
    if opened := _opened(settings, folder, Usage()):
        assert opened.dimension > 0


def with_vectors(
    index: Index, settings: Settings, folder: Path, spent: Usage, progress: Progress | None = None
) -> tuple[Index, tuple[str, ...]]:
    """Return an index that was built with the vectors that the settings ask for, and what is worth knowing of that.

    Those of the index that stands in the folder are taken over for the same texts. `spent` is what the run took
    before. Where a server fails, the index has no vectors and says so as a failure.
    """
    from conspectus.indexing.embed import with_vectors
    from conspectus.models.embedders import prefixes_of

    before: Index | None = None
    with suppress(StoreError):  # none, or one that is to be replaced anyway
        before = store.read(folder)
    opened = _opened(settings, folder, spent)
    if progress and opened:
        progress.watch(lambda: _sum(spent, opened.usage))
    if opened is None:
        lost = _own(before) if before else ""
        advice = f"The index before had vectors of {lost}; conspectus embed --embedder {lost} makes those of this one."
        return index, (advice,) if lost else ()
    name = settings.vectors.embedder
    keeping = _keeping(opened, name, folder)
    try:
        index = with_vectors(
            index, keeping or opened, name, before, progress, prefixes_of(opened.name, settings.vectors)
        )
    except ModelError as error:
        failure = Failure("embed", f"{error}; conspectus embed --embedder {name} goes on with it")
        index = replace(index, failures=[*index.failures, failure])
    if keeping:
        keeping.clear()
    return replace(index, usage=_with_usage(index.usage, opened)), ()


def estimate_vectors(
    documents: Sequence[Document], chunks: Sequence[Chunk], settings: Settings, folder: Path
) -> TaskEstimate | None:
    """Return what vectors of documents would take of a server, but for those kept in a folder; None without one.

    Where triples are to be found, theirs come on top, as far as that can be told.
    """
    from conspectus.indexing.embed import texts_of_sources
    from conspectus.models.embedders import is_served
    from conspectus.text.lexicon import read_lexicon

    if not is_served(settings.vectors.embedder):
        return None
    import numpy as np

    table = read_lexicon(documents, settings.extract.entity_types).sentences
    spans = np.stack([table.document, table.start, table.end], axis=1)
    texts = texts_of_sources(documents, chunks, spans)
    later = settings.model != "extractive" and settings.extract.style == "triples"
    extracted = sum(c.n_tokens for c in chunks) if later else 0
    return _estimated(settings.vectors.embedder, texts, settings, folder, extracted)


def estimate_embedding(
    folder: str | Path = DEFAULT_FOLDER, embedder: str = "", *, settings: Given = None
) -> TaskEstimate | None:
    """Return what `embed` would take of a server, and ask nothing; None where it would not ask one."""
    from conspectus.indexing.embed import texts_of
    from conspectus.models.embedders import is_served

    chosen, target = resolved(settings), path_of(folder)
    index = store.read(target)
    name = embedder or _usual(index, chosen)
    return _estimated(name, texts_of(index), chosen, target) if is_served(name) else None


def _usual(index: Index, settings: Settings) -> str:
    """Return the embedder of the settings, of an index, or the usual one."""
    from conspectus.models.embedders import LOCAL, NONE

    return settings.vectors.embedder if settings.vectors.embedder != NONE else _own(index) or LOCAL


def _estimated(
    name: str, texts: Mapping[str, Sequence[str]], settings: Settings, folder: Path, extracted: int = 0
) -> TaskEstimate:
    from conspectus import tokens
    from conspectus.indexing.estimate import GRAPH, Range, TaskEstimate
    from conspectus.models.embedders import prefixes_of
    from conspectus.models.llm.budget import Budget
    from conspectus.models.llm.cache import FILE_NAME, ResponseCache
    from conspectus.models.llm.providers import vocabulary
    from conspectus.models.llm.sender import batches, embedding_key

    prefix = prefixes_of(name, settings.vectors).passage
    keyed = [{embedding_key(name, text): text for text in (prefix + t for t in said)} for said in texts.values()]
    items = {key: text for said in keyed for key, text in said.items()}
    if (folder / FILE_NAME).exists():
        replies = ResponseCache(folder / FILE_NAME)
        try:
            items = {key: text for key, text in items.items() if not replies.has(key)}
        finally:
            replies.close()
    count = float(sum(tokens.count(text, vocabulary(name)) for text in items.values()))
    asked = Range(count, count).plus(Range(extracted * GRAPH.low, extracted * GRAPH.high))
    calls = sum(len(batches([(key, text) for key, text in said.items() if key in items])) for said in keyed)
    ledger = Budget(settings.prices, base_url=settings.llm.embedder_base_url or settings.llm.base_url)
    cost = Range(*(ledger.cost(name, round(n), 0) for n in asked)) if ledger.price(name) else None
    return TaskEstimate(TASK, name, Range(calls, calls), asked, Range(0, 0), cost)


def _keeping(embedder: Embedder | None, name: str, folder: Path) -> StoredBlocks | None:
    """Return an embedder that keeps its blocks beside an index; None for a served one, whose replies are kept."""
    from conspectus.models.embedders import StoredBlocks, is_served

    return StoredBlocks(embedder, folder / BLOCKS) if embedder and not is_served(name) else None


def _opened(settings: Settings, folder: Path, spent: Usage) -> Embedder | None:
    from conspectus.models.embedders import NONE, open_embedder

    name = settings.vectors.embedder
    return None if name == NONE else open_embedder(name, settings, folder, spent)


def _own(index: Index) -> str:
    """Return the embedder of the vectors of an index, "" where it has none."""
    made: Mapping[str, str] = index.settings.get("vectors", {})
    return made.get("embedder", "") if "vectors.chunks" in index.arrays else ""


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(*(getattr(one, f.name) + getattr(other, f.name) for f in fields(Usage)))


def _with_usage(usage: Mapping[str, Usage], embedder: Embedder) -> dict[str, Usage]:
    others = {task: used for task, used in usage.items() if task != TASK}
    return {**others, TASK: embedder.usage} if embedder.usage != Usage() else others
