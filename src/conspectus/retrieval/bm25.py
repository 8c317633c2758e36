"""BM25 over chunks: the words of a question alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conspectus.algorithms.ranking import Floats, Postings, bm25, postings
from conspectus.index import Index
from conspectus.name_lookup import search_terms
from conspectus.retrieval import ranking
from conspectus.retrieval.base import hits_of
from conspectus.rows import Hit
from conspectus.settings import Settings
from conspectus.text.words import terms


@ranking("bm25", help="chunks that contain the words of the question")
def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks with the highest scores, only those that contain a word of the question."""
    return hits_of(scores_of(question, index), index, settings.search.k)


def scores_of(question: str, index: Index) -> Floats:
    """Return the BM25 score of every chunk, in the order of the table."""
    number = index.number_of_word
    query = [(number[term], 1.0) for term in search_terms(question, index) if term in number]
    return bm25(Postings.of(index.slices, "chunk_terms"), query)


@dataclass(frozen=True)
class TextWords:
    """An inverted index of texts that the index has none for: their words, and which texts contain each."""

    numbers: dict[str, int]
    postings: Postings

    @classmethod
    def of(cls, texts: Sequence[str]) -> TextWords:
        """Build the inverted index of texts."""
        numbers: dict[str, int] = {}
        flat: list[int] = []
        sizes: list[int] = []
        for text in texts:
            words = [numbers.setdefault(term, len(numbers)) for term in terms(text)]
            flat += words
            sizes.append(len(words))
        return cls(numbers, postings(np.array(flat, np.int32), np.array(sizes, np.int32), size=len(numbers)))

    def scores(self, question: str) -> Floats:
        """Return the BM25 score of every text for a question."""
        known = [term for term in terms(question) if term in self.numbers]
        return bm25(self.postings, [(self.numbers[term], 1.0) for term in known])
