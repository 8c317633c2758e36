"""BM25 over chunks: the words of a question, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from conspectus.algorithms.ranking import Floats, Postings, bm25, postings
from conspectus.index import Index
from conspectus.retrieval import ranking
from conspectus.retrieval.base import hits_of
from conspectus.rows import Hit
from conspectus.settings import Settings
from conspectus.text.words import search_terms, terms


@ranking("bm25", help="chunks that contain the words of the question")
def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that score highest, none that holds no word of the question."""
    return hits_of(scores_of(question, index), index, settings.search.k)


def scores_of(question: str, index: Index) -> Floats:
    """Return the score of every chunk, in the order of the table."""
    number = index.number_of_word
    query = [(number[term], 1.0) for term in search_terms(question, index) if term in number]
    return bm25(Postings.of(index.slices, "chunk_terms"), query)


@dataclass(frozen=True)
class TextWords:
    """The words of texts that the index has no inverted index of, and which texts hold each."""

    numbers: dict[str, int]
    postings: Postings

    @classmethod
    def of(cls, texts: Sequence[str]) -> TextWords:
        """Read the words of texts."""
        numbers: dict[str, int] = {}
        flat: list[int] = []
        sizes: list[int] = []
        for text in texts:
            words = [numbers.setdefault(term, len(numbers)) for term in terms(text)]
            flat += words
            sizes.append(len(words))
        return cls(numbers, postings(np.array(flat, np.int32), np.array(sizes, np.int32), size=len(numbers)))

    def scores(self, question: str) -> Floats:
        """Return the score of every text for a question."""
        known = [term for term in terms(question) if term in self.numbers]
        return bm25(self.postings, [(self.numbers[term], 1.0) for term in known])
