"""The sentence-entity walk: rank chunks by a random walk that starts from the names in the question.

It reaches passages that share no word with the question: the question names a film, a sentence about the film names its
director, and a passage about the director says where she was born. The walk prefers sentences that resemble the
question. A passage that covers nearly all of the question on its own is also ranked by its words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from conspectus.algorithms.ranking import gains, idf, products, scaled
from conspectus.algorithms.sentence_walk import spread, totals, walk
from conspectus.index import Index
from conspectus.retrieval import ranking
from conspectus.retrieval.base import hits_of
from conspectus.retrieval.vector import has_vectors, hybrid_scores, question_vectors, reads_texts
from conspectus.rows import Hit
from conspectus.sentence_graph import SentenceEntityGraph, seeds_of, sentences_by_words
from conspectus.settings import Settings
from conspectus.text.words import search_terms

Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

COVERED = 0.9
"""A passage is ranked by its words as well from this share of the question's weight on that it holds."""
MEANING = 0.7
"""The part of meaning, where there are vectors, in how like a sentence is; words have the rest."""


@dataclass(frozen=True)
class Weights:
    """How sharply likeness is taken: of sentences, of passages; and the passages' part of the reset."""

    sentence: float
    passage: float
    reset: float
    floor: float
    """How much a sentence pulls that is not like the question at all, where the most like one pulls 1."""


BY_WORDS = Weights(sentence=2, passage=5, reset=0.12, floor=0.1)
BY_MEANING = Weights(sentence=4, passage=5, reset=0.2, floor=0.05)


@ranking("walk", help="random walk over sentences and entities, from what the question names")
def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that the walk is on most, or that hold all that the question says."""
    return hits_of(scores_of(question, index, settings), index, settings.search.k)


def scores_of(question: str, index: Index, settings: Settings) -> Floats:
    """Return the score of every chunk, in the order of the table.

    CPU ms a question: 3 at 1,890 chunks, 11 at 6,119, 80 at 61,190.
    """
    graph = SentenceEntityGraph.of(index)
    seeds = seeds_of(question, graph)
    words, coverage = _by_words(question, index, graph)
    vectors: Floats | None = None
    if has_vectors(index) and reads_texts(index):
        vectors = question_vectors([question, seeds.rest], index, settings)
    like = sentences_by_words((question, seeds.rest), index, graph)
    if vectors is not None:
        like = (1 - MEANING) * like + MEANING * _sentences_by_meaning(vectors, index)
    base = scaled(words) if vectors is None else hybrid_scores(vectors[0], words, index)
    weights = BY_WORDS if vectors is None else BY_MEANING
    base = base**weights.passage
    base *= weights.reset / max(float(base.sum()), 1e-9)
    pull = (like**weights.sentence + weights.floor).astype(np.float32)
    name_reset = np.zeros(len(graph.names))
    name_reset[seeds.names] = seeds.weights
    sentence_reset = spread(base, pull, graph.first, graph.last)
    mass = walk(graph.incidence, pull, sentence_reset, name_reset)
    walked = totals(mass, graph.first, graph.last)
    whole = np.clip((coverage - COVERED) / (1 - COVERED), 0, 1)
    return scaled(walked) + whole * scaled(words)


# How like the question something is


def _by_words(question: str, index: Index, graph: SentenceEntityGraph) -> tuple[Floats, Floats]:
    """Return the BM25 score of each chunk, and how much of the question's weight it holds."""
    number = index.number_of_word
    query = [number[term] for term in search_terms(question, index) if term in number]
    scores = np.zeros(len(graph.first), np.float32)
    covered = np.zeros(len(graph.first), np.float32)
    total = 0.0
    for term in dict.fromkeys(query):
        where, gain = gains(graph.chunks, term)
        weight = idf(len(scores), len(where))
        scores[where] += query.count(term) * gain
        covered[where] += weight
        total += weight
    return scores, covered / max(total, 1e-9)


def _sentences_by_meaning(vectors: Floats, index: Index) -> Floats:
    """Return how like the question, or the rest of it, each sentence is by its vector, 0 to 1."""
    whole, part = products(index.arrays["vectors.sentences"], vectors.T).T
    return np.maximum(scaled(whole), scaled(part))
