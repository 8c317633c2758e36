"""BM25 over chunks: the words of a question, and nothing else."""

from __future__ import annotations

import numpy as np

from conspectus.algorithms.bm25 import Postings, bm25
from conspectus.evidence import Evidence
from conspectus.models.base import Model
from conspectus.query.finish import finish, nothing_found
from conspectus.rows import Answer, Hit
from conspectus.settings import SearchSettings
from conspectus.tables import Index
from conspectus.tasks import AnswerFromContext
from conspectus.text.words import terms


def rank(question: str, index: Index, settings: SearchSettings) -> list[Hit]:
    """Return the `k` chunks that score highest, none that holds no word of the question."""
    scores = scores_of(question, index, settings)
    order = np.argsort(-scores, kind="stable")[: settings.k]
    return [hit(int(i), float(scores[i]), index) for i in order if scores[i] > 0]


def scores_of(question: str, index: Index, settings: SearchSettings) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return the score of every chunk, in the order of the table."""
    number = index.number_of_word
    query = [(number[term], 1.0) for term in terms(question) if term in number]
    return bm25(Postings.of(index.arrays, "chunk_terms"), query, settings.k1, settings.b)


def hit(chunk: int, score: float, index: Index) -> Hit:
    """Return a chunk as a hit of a ranking."""
    row = index.chunks[chunk]
    document = index.document_of[row.document_id]
    return Hit(document.path, document.title, row.id, row.start, row.end, score, row.text)


async def answer(question: str, index: Index, model: Model, settings: SearchSettings) -> Answer:
    """Answer from the best chunks alone."""
    hits = rank(question, index, settings)
    if not hits:
        return nothing_found(question, method="bm25")
    chunks = tuple(index.chunk_of[h.chunk] for h in hits)
    task = AnswerFromContext(question, Evidence(sources=chunks))
    used = sum(chunk.n_tokens for chunk in chunks)
    return await finish(task, question, index, model, method="bm25", context_tokens=used)
