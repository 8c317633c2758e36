"""BM25 over chunks: the words of a question, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from conspectus.algorithms.bm25 import Postings, bm25
from conspectus.algorithms.fusion import highest
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.base import finish, nothing_found
from conspectus.rows import Answer, Hit
from conspectus.settings import SearchSettings
from conspectus.tasks import AnswerFromContext
from conspectus.tasks.context import Context


def rank(question: str, index: Index, settings: SearchSettings) -> list[Hit]:
    """Return the `k` chunks that score highest, none that holds no word of the question."""
    scores = scores_of(question, index, settings)
    return hits_of(scores, index, settings.k)


def scores_of(question: str, index: Index, settings: SearchSettings) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return the score of every chunk, in the order of the table."""
    number = index.number_of_word
    query = [(number[term], 1.0) for term in index.terms(question) if term in number]
    return bm25(Postings.of(index.arrays, "chunk_terms"), query, settings.k1, settings.b)


def hits_of(scores: np.ndarray[Any, Any], index: Index, k: int) -> list[Hit]:
    """Return the `k` chunks of the highest scores above 0."""
    return [hit(int(i), float(scores[i]), index) for i in highest(scores, k) if scores[i] > 0]


def hit(chunk: int, score: float, index: Index) -> Hit:
    """Return a chunk as a hit of a ranking."""
    row = index.chunks[chunk]
    document = index.document_of[row.document_id]
    where = document.place(row.start, row.end)
    return Hit(document.path, document.title, row.id, row.start, row.end, score, row.text, where)


async def answer(question: str, index: Index, model: Model, settings: SearchSettings) -> Answer:
    """Answer from the best chunks alone."""
    return await answer_from(rank(question, index, settings), question, index, model, method="bm25")


async def answer_from(hits: Sequence[Hit], question: str, index: Index, model: Model, *, method: str) -> Answer:
    """Answer from the chunks of a ranking, whatever method made it."""
    if not hits:
        return nothing_found(question, index, method=method)
    chunks = tuple(index.chunk_of[h.chunk] for h in hits)
    task = AnswerFromContext(question, Context(sources=chunks))
    used = sum(chunk.n_tokens for chunk in chunks)
    return await finish(task, question, index, model, method=method, context_tokens=used)
