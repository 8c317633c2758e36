"""Chunks by meaning: those whose vectors are nearest to the question's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conspectus.algorithms.neighbours import nearest
from conspectus.errors import UsageError
from conspectus.models.base import Model
from conspectus.models.embedders import NONE, Embedder, open_embedder
from conspectus.query.bm25 import answer_from, hit
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tables import Index

Floats = np.ndarray[Any, np.dtype[np.float32]]


def has_vectors(index: Index) -> bool:
    """Tell whether an index has vectors of its chunks."""
    return "vectors.chunks" in index.arrays


def embedder_of(index: Index, settings: Settings) -> Embedder:
    """Return the embedder that made the vectors of an index.

    Raises UsageError where there are no vectors, or the settings ask for another embedder than theirs.
    """
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    asked = settings.vectors.embedder
    advice = f"conspectus embed --embedder {asked if asked != NONE else 'local'}"
    if not has_vectors(index):
        raise UsageError(f"the index has no vectors; make them: {advice}")
    embedder = open_embedder(made.get("embedder", NONE) if asked == NONE else asked, settings.llm)
    dimension = int(index.arrays["vectors.chunks"].shape[1])
    if embedder is None or (embedder.name, embedder.dimension) != (made.get("model"), dimension):
        other = f"{embedder.name} ({embedder.dimension} numbers)" if embedder else "none"
        raise UsageError(
            f"the index has vectors of {made.get('model')} ({dimension} numbers), the question would have "
            f"one of {other}; make those of the index anew: {advice}"
        )
    return embedder


def question_vectors(texts: Sequence[str], index: Index, settings: Settings) -> Floats:
    """Return the vectors of a question, or of several forms of it, in the space of the index."""
    return embedder_of(index, settings).embed(texts).astype(np.float32)


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks whose vectors have the highest cosine with the question's."""
    query = question_vectors([question], index, settings)
    chunks, cosines = nearest(index.arrays["vectors.chunks"], query, settings.search.k)
    return [hit(int(c), float(s), index) for c, s in zip(chunks[0], cosines[0], strict=True)]


async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from one window filled with the nearest chunks alone (P1 4.1.2: SS)."""
    wide = settings.search.model_copy(update={"k": max(1, len(index.chunks))})
    hits = rank(question, index, settings.model_copy(update={"search": wide}))
    sizes = np.cumsum([index.chunk_of[hit.chunk].n_tokens + 4 for hit in hits])
    fitting = max(1, int(np.searchsorted(sizes, settings.global_.context_tokens, side="right")))
    return await answer_from(hits[:fitting], question, index, model, method="vector")
