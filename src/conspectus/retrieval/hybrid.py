"""Chunks by words and by meaning at once: BM25, the vector of the chunk, and the vector of its best
sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

from conspectus.algorithms.fusion import fused, highest
from conspectus.algorithms.sentence_walk import sentences_of
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.bm25 import answer_from, hits_of, scores_of
from conspectus.retrieval.vector import cosines, question_vectors
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

CANDIDATES = 300
"""Chunks, by words and as many by meaning, whose sentences are compared."""
SENTENCE, WORDS = 0.5, 0.4
"""The weights of the best sentence and of BM25, where the chunk's vector has 1."""


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the highest fused score."""
    query = question_vectors([question], index, settings)[0]
    words = scores_of(question, index, settings.search)
    return hits_of(likeness(query, words, index), index, settings.search.k)


def likeness(query: Floats, words: Floats, index: Index) -> Floats:
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


async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the best chunks alone."""
    return await answer_from(rank(question, index, settings), question, index, model, method="hybrid")
