"""BM25 over chunks: the words of a question, and nothing else."""

from __future__ import annotations

import numpy as np

from conspectus.algorithms.ranking import Postings, bm25
from conspectus.index import Index
from conspectus.retrieval import ranking
from conspectus.retrieval.base import hits_of
from conspectus.rows import Hit
from conspectus.settings import Settings
from conspectus.text.words import search_terms


@ranking("bm25", help="chunks that contain the words of the question")
def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that score highest, none that holds no word of the question."""
    return hits_of(scores_of(question, index), index, settings.search.k)


def scores_of(question: str, index: Index) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    """Return the score of every chunk, in the order of the table."""
    number = index.number_of_word
    query = [(number[term], 1.0) for term in search_terms(question, index) if term in number]
    return bm25(Postings.of(index.arrays, "chunk_terms"), query)
