"""Dense retrieval (`vector`, or `semantic-search` with the prompts of global answers), and its fusion with BM25 and the
best sentence of each chunk (`hybrid`).
"""

from __future__ import annotations

import numpy as np

from conspectus.algorithms.ranking import Floats, highest, ranges, scaled
from conspectus.index import Index
from conspectus.index_models import cosines, question_vectors
from conspectus.models.base import Model
from conspectus.retrieval import method, ranking
from conspectus.retrieval.base import hit, hits_of, map_reduce, pack
from conspectus.retrieval.bm25 import scores_of
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks.base import Context


@ranking("vector", help="chunks with the nearest vectors", needs={"vectors"})
def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks whose vectors have the highest cosine with the question's (GraphRAG §4.1.2: SS)."""
    query = question_vectors([question], index, settings)[0]
    scores = cosines("chunks", query, index)
    return [hit(c, float(scores[c]), index) for c in highest(scores, settings.search.k).tolist()]


@method("semantic-search", help="map-reduce over one window of the nearest chunks", needs={"vectors"})
async def semantic_search(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the nearest chunks with the prompts of global answers: GraphRAG's baseline SS (§4.1.2)."""
    chunks = tuple(index.chunk_of[hit.chunk] for hit in rank(question, index, settings))
    rows = Context(sources=chunks, available={"sources": len(index.chunks)})
    window = pack(rows, settings.answer.context_tokens)
    used = sum(chunk.n_tokens for chunk in window.sources)
    draft = Answer(question, "", "semantic-search", context_tokens=used, read=window.read)
    return await map_reduce(draft, [window], index, model, settings.answer)


CANDIDATES = 300
"""Number of chunks by vectors, and again by words, whose sentences are compared with the question."""
SENTENCE, WORDS = 0.5, 0.4
"""Weights of the best sentence and of BM25, relative to 1 for the chunk's vector."""


@ranking("hybrid", help="BM25 and vectors together", needs={"vectors"})
def rank_hybrid(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks with the highest fused scores."""
    query, words = question_vectors([question], index, settings)[0], scores_of(question, index)
    return hits_of(hybrid_scores(query, words, index), index, settings.search.k)


def hybrid_scores(query: Floats, words: Floats, index: Index) -> Floats:
    """Return the similarity of each chunk to the question, 0 to 1, by its vector, its best sentence, and its words."""
    chunk = cosines("chunks", query, index, words)
    near = np.union1d(highest(chunk, CANDIDATES), highest(words, CANDIDATES))
    best = np.zeros(len(chunk), np.float32)
    first, last = index.arrays["walk.first"], index.arrays["walk.last"]
    near = near[last[near] > first[near]]
    at, sizes = ranges(first[near], last[near])
    sentences, group = np.unique(at, return_inverse=True)
    like = index.slices["vectors.sentences"][sentences].astype(np.float32) @ query
    best[near] = np.maximum.reduceat(like[group], np.cumsum(sizes) - sizes)
    return scaled(scaled(chunk).astype(np.float64) + SENTENCE * scaled(best) + WORDS * scaled(words))
