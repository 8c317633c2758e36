"""Dense retrieval (`vector`), and its fusion with BM25 and the best sentence of each chunk (`hybrid`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from conspectus.algorithms.neighbours import NeighbourGraph, nearest, products
from conspectus.algorithms.ranking import fused, highest
from conspectus.algorithms.sentence_walk import sentences_of
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.index_models import IndexModels, checked_address
from conspectus.models.base import Model
from conspectus.models.embedders import MOST_UNREAD, NONE, Embedder, embed_call, open_embedder, same_model
from conspectus.retrieval import method, ranking
from conspectus.retrieval.base import answer_from, hit, hits_of
from conspectus.retrieval.bm25 import scores_of
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings

Floats = np.ndarray[Any, np.dtype[np.float32]]
Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]

NEAR = 400
"""Chunks whose cosine with a question is told where a graph of neighbours finds them; the others have 0."""


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
        address = IndexModels.of(index.settings).embedder_base_url
        without = "method='bm25' to search by words"
        checked_address(name, address, f"settings={{'llm.embedder_base_url': {address!r}}}", without)
    by_name = index.derive(open_embedders)
    if name not in by_name:
        by_name[name] = open_embedder(name, settings, index.folder)
    embedder = by_name[name]
    if embedder is None or not same_model(embedder.name, made.get("model", "")):
        raise _differ(index, embedder.name if embedder else "none", name)
    return embedder


def _differ(index: Index, other: str, name: str) -> UsageError:
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    dimension = int(index.arrays["vectors.chunks"].shape[1])
    return UsageError(
        f"the index has vectors of {made.get('model')} ({dimension} numbers), the question would have one of {other};"
        f" name that embedder, or make the vectors anew: {embed_call(index.folder, name)}"
    )


def question_vectors(texts: Sequence[str], index: Index, settings: Settings) -> Floats:
    """Return the vectors of a question, or of several forms of it, in the space of the index.

    Raises UsageError as `embedder_of` does, and what the embedder does.
    """
    embedder = embedder_of(index, settings)
    own: str = index.settings["vectors"].get("query_prefix", "")
    prefix = own if settings.vectors.query_prefix is None else settings.vectors.query_prefix
    vectors = embedder.embed([prefix + text for text in texts]).astype(np.float32)
    if vectors.shape[1] != index.arrays["vectors.chunks"].shape[1]:
        raise _differ(index, f"{vectors.shape[1]} numbers", index.settings["vectors"]["embedder"])
    return vectors


def nearest_chunks(query: Floats, index: Index, k: int) -> tuple[Ints, Floats]:
    """Return the numbers of the `k` chunks nearest to the vector of a question, and their cosines, the best first.

    Where the index has a graph of neighbours, and usearch is there to read it, some of the nearest may be missed.
    """
    vectors = index.arrays["vectors.chunks"]
    graph = index.derive(_graph)
    chunks, cosines = graph.nearest(vectors, query[None], k) if graph else nearest(vectors, query[None], k)
    return chunks[0], cosines[0]


def cosines(query: Floats, index: Index) -> Floats:
    """Return the cosine of the vector of a question with every chunk; of many chunks, with the nearest, and 0 else."""
    if index.derive(_graph) is None:
        return products(index.arrays["vectors.chunks"], query)
    result = np.zeros(len(index.chunks), np.float32)
    chunks, near = nearest_chunks(query, index, NEAR)
    result[chunks] = near
    return result


def _graph(index: Index) -> NeighbourGraph | None:
    """Return the graph of neighbours of the chunks; None where there is none, or nothing to read it."""
    if "vectors.graph" not in index.arrays:
        return None
    made: Mapping[str, Any] = index.settings["vectors"]
    graph = NeighbourGraph(index.arrays["vectors.graph"], made["breadth"], made["recall"])
    return graph if graph.readable else None


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks whose vectors have the highest cosine with the question's."""
    query = question_vectors([question], index, settings)[0]
    chunks, near = nearest_chunks(query, index, settings.search.k)
    return [hit(c, s, index) for c, s in zip(chunks.tolist(), near.tolist(), strict=True)]


@method("vector", help="chunks with the nearest vectors", needs={"vectors"}, rank=rank)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from one window filled with the nearest chunks alone (GraphRAG §4.1.2: SS)."""
    query = question_vectors([question], index, settings)[0]
    room, k = settings.answer.context_tokens, settings.search.k
    while True:
        chunks, near = nearest_chunks(query, index, k)
        numbers: list[int] = chunks.tolist()
        sizes = np.cumsum([index.chunks[c].n_tokens + 4 for c in numbers])
        if k >= len(index.chunks) or (len(sizes) and sizes[-1] > room):
            break
        k *= 4
    fitting = max(1, int(np.searchsorted(sizes, room, side="right")))
    hits = [hit(c, s, index) for c, s in zip(chunks[:fitting].tolist(), near[:fitting].tolist(), strict=True)]
    return await answer_from(hits, question, index, model, method="vector")


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
    if not chunk[near].all():  # some were not among the nearest
        chunk[near] = index.arrays["vectors.chunks"][near].astype(np.float32) @ query
    best = np.zeros(len(chunk), np.float32)
    first, last = index.arrays["walk.first"], index.arrays["walk.last"]
    near = near[last[near] > first[near]]
    sentences = sentences_of(near, first, last)
    like = index.arrays["vectors.sentences"][sentences].astype(np.float32) @ query
    starts = np.searchsorted(sentences, first[near])
    # each chunk's own sentences are neighbours there; where chunks overlap, a range ends past the start of
    # the next
    ends = np.searchsorted(sentences, last[near])
    best[near] = [like[a:b].max() for a, b in zip(starts, ends, strict=True)]
    return fused([(1.0, chunk), (SENTENCE, best), (WORDS, words)])
