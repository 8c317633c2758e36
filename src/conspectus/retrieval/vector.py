"""Dense retrieval (`vector`, and by the prompts of global answers `semantic-search`), and its fusion with BM25 and the
best sentence of each chunk (`hybrid`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conspectus.algorithms.ranking import highest, products, scaled
from conspectus.algorithms.sentence_walk import sentences_of
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.index_models import checked_address, checked_embedder, embedder_address, stored_settings
from conspectus.models.base import Model
from conspectus.models.embedders import MOST_UNREAD, NONE, Embedder, embed_call, open_embedder, same_model
from conspectus.retrieval import method, ranking
from conspectus.retrieval.base import hit, hits_of, map_reduce, pack
from conspectus.retrieval.bm25 import scores_of
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks.base import Context

Floats = np.ndarray[Any, np.dtype[np.float32]]


def has_vectors(index: Index) -> bool:
    """Tell whether an index has vectors of its chunks."""
    return "vectors.chunks" in index.arrays


def reads_texts(index: Index) -> bool:
    """Tell whether the model of an index's vectors is made for its script: a model of another says little of it."""
    return index.settings.get("vectors", {}).get("unread", 0.0) < MOST_UNREAD


def open_embedders(_: Index) -> dict[str, Embedder | None]:
    """Return the embedders that were opened for questions of an index, by name."""
    return {}


def embedder_of(index: Index, settings: Settings) -> Embedder:
    """Return the embedder that made the vectors of an index, opened once for each name.

    Raises UsageError where there are no vectors, or the settings ask for another embedder than theirs.
    """
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    requested = settings.vectors.embedder
    if not has_vectors(index):
        advice = embed_call(index.folder, requested if requested != NONE else "local")
        raise UsageError(f"the index has no vectors; make them: {advice}")
    name = made.get("embedder", NONE) if requested == NONE else requested
    if requested == NONE and not (settings.llm.embedder_base_url or settings.llm.base_url):
        address = embedder_address(stored_settings(index.settings))
        without = "method='bm25' to search by words"
        checked_address(name, address, f"settings={{'llm.embedder_base_url': {address!r}}}", without)
    name = checked_embedder(name) if requested == NONE else name
    by_name = index.derive(open_embedders)
    if name not in by_name:
        by_name[name] = open_embedder(name, settings, index.folder)
    embedder = by_name[name]
    if embedder is None or not same_model(embedder.name, made.get("model", "")):
        raise _differ(index, embedder.name if embedder else "none", name)
    return embedder


def _differ(index: Index, other: str, name: str) -> UsageError:
    model: str | None = index.settings.get("vectors", {}).get("model")
    dimension: int = index.arrays["vectors.chunks"].shape[1]
    return UsageError(
        f"the index has vectors of {model} ({dimension} numbers), the question would have one of {other};"
        f" name that embedder, or make the vectors anew: {embed_call(index.folder, name)}"
    )


def question_vectors(texts: Sequence[str], index: Index, settings: Settings) -> Floats:
    """Return the vectors of a question, or of several forms of it, in the space of the index.

    Raises UsageError as `embedder_of` does, and what the embedder does.
    """
    embedder = embedder_of(index, settings)
    prefix: str = index.settings["vectors"].get("query_prefix", "")
    vectors = embedder.embed([prefix + text for text in texts]).astype(np.float32)
    if vectors.shape[1] != index.arrays["vectors.chunks"].shape[1]:
        raise _differ(index, f"{vectors.shape[1]} numbers", index.settings["vectors"]["embedder"])
    return vectors


def cosines(query: Floats, index: Index) -> Floats:
    """Return the cosine of the vector of a question with every chunk."""
    return products(index.arrays["vectors.chunks"], query)


@ranking("vector", help="chunks with the nearest vectors", needs={"vectors"})
def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks whose vectors have the highest cosine with the question's (GraphRAG §4.1.2: SS)."""
    scores = cosines(question_vectors([question], index, settings)[0], index)
    return [hit(c, float(scores[c]), index) for c in highest(scores, settings.search.k).tolist()]


@method("semantic-search", help="map-reduce over one window of the nearest chunks", needs={"vectors"})
async def semantic_search(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the nearest chunks by the prompts of global answers, as GraphRAG's baseline SS (§4.1.2) is asked."""
    chunks = tuple(index.chunk_of[hit.chunk] for hit in rank(question, index, settings))
    window = pack(
        Context(sources=chunks, available={"sources": len(index.chunks)}), settings.answer.context_tokens
    )
    used = sum(chunk.n_tokens for chunk in window.sources)
    draft = Answer(question, "", "semantic-search", context_tokens=used, read=window.read)
    return await map_reduce(draft, [window], index, model, settings.answer)


CANDIDATES = 300
"""Chunks, by words and as many by meaning, whose sentences are compared."""
SENTENCE, WORDS = 0.5, 0.4
"""The weights of the best sentence and of BM25, where the chunk's vector has 1."""


@ranking("hybrid", help="BM25 and vectors together", needs={"vectors"})
def rank_hybrid(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the highest fused score."""
    query = question_vectors([question], index, settings)[0]
    words = scores_of(question, index)
    return hits_of(hybrid_scores(query, words, index), index, settings.search.k)


def hybrid_scores(query: Floats, words: Floats, index: Index) -> Floats:
    """Return how like the question each chunk is, 0 to 1, by its vector, its best sentence, and its words."""
    chunk = cosines(query, index)
    near = np.union1d(highest(chunk, CANDIDATES), highest(words, CANDIDATES))
    best = np.zeros(len(chunk), np.float32)
    first, last = index.arrays["walk.first"], index.arrays["walk.last"]
    near = near[last[near] > first[near]]
    sentences = sentences_of(near, first, last)
    like = index.arrays["vectors.sentences"][sentences].astype(np.float32) @ query
    # each chunk's own sentences are neighbours there; where chunks overlap, a range ends past the start of the next
    starts = np.searchsorted(sentences, first[near])
    ends = np.searchsorted(sentences, last[near])
    best[near] = [like[a:b].max() for a, b in zip(starts, ends, strict=True)]
    return scaled(scaled(chunk).astype(np.float64) + SENTENCE * scaled(best) + WORDS * scaled(words))
