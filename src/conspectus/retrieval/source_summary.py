"""TS, a baseline of the paper: map-reduce over the source texts themselves, without any graph (GraphRAG §4.1.2)."""

from __future__ import annotations

import random
from dataclasses import replace

from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.finish import nothing_found
from conspectus.retrieval.map_reduce import map_reduce, packed
from conspectus.rows import Answer, Chunk
from conspectus.settings import GlobalSettings
from conspectus.tasks.context import Context

METHOD = "source-summary"


async def answer(question: str, index: Index, model: Model, settings: GlobalSettings) -> Answer:
    """Answer from windows of all chunks, shuffled by the seed, with the prompts of global answers."""
    windows = windows_of(index, settings)
    if not windows:
        return nothing_found(question, index, method=METHOD)
    used = sum(chunk.n_tokens for window in windows for chunk in window.sources)
    result = await map_reduce(question, windows, index, model, settings, method=METHOD, used=used)
    return replace(result, why=f"{len(windows)} windows of source text")


def windows_of(index: Index, settings: GlobalSettings) -> list[Context]:
    """Return the chunks, shuffled by the seed and packed into windows."""
    chunks = list(index.chunks)
    random.Random(settings.seed).shuffle(chunks)
    windows = packed(chunks, settings.context_tokens)
    return [Context(sources=tuple(row for row in window if isinstance(row, Chunk))) for window in windows]
