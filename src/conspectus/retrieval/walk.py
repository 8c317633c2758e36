"""The sentence-entity walk: rank chunks by a random walk that starts from the names in the question.

It reaches passages that share no word with the question: the question names a film, a sentence about the film names its
director, and a passage about the director says where she was born. The walk prefers sentences that resemble the
question. A passage that covers nearly all of the question on its own is also ranked by its words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from conspectus.algorithms.ranking import Floats, gains, idf, scaled
from conspectus.algorithms.sentence_walk import spread, totals, walk
from conspectus.index import Index
from conspectus.index_models import cosines, vectors_if_read
from conspectus.name_lookup import search_terms
from conspectus.retrieval import bm25, ranking
from conspectus.retrieval.base import hits_of
from conspectus.retrieval.vector import hybrid_scores
from conspectus.rows import Hit
from conspectus.sentence_graph import Seeds, SentenceEntityGraph, seeds_of, sentences_by_words
from conspectus.settings import Settings

COVERED = 0.9
"""Share of the question's weight in a passage above which the passage is also ranked by its words."""
MEANING = 0.7
"""Weight of vectors, if there are any, in the similarity of a sentence; words have the rest."""


@dataclass(frozen=True)
class Weights:
    """Exponents of the similarity of sentences and of passages, and the passages' share of the restart vector."""

    sentence: float
    passage: float
    reset: float
    floor: float
    """Pull of a sentence without any similarity to the question, relative to 1 for the most similar one."""
    answered: float
    """Weight of similarity in `mixed` if the chunks with a rare name also cover the rest of the question. By words, 0.2
    to 0.45 is best. With vectors, 0.5 is 1.6 points below vectors on medquad, 0.8 1.5 below the walk on hotpotqa."""


BY_WORDS = Weights(sentence=2, passage=5, reset=0.12, floor=0.1, answered=0.25)
BY_MEANING = Weights(sentence=4, passage=5, reset=0.2, floor=0.05, answered=0.7)


@ranking("walk", help="random walk over sentences and entities, from what the question names")
def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks with the highest scores, by the walk and, if they cover the question, by words."""
    return hits_of(scores_of(question, index, settings), index, settings.search.k)


def scores_of(question: str, index: Index, settings: Settings) -> Floats:
    """Return the score of every chunk, in the order of the table."""
    return walked(question, seeds_of(question, SentenceEntityGraph.of(index)), index, settings)[0]


def walked(question: str, seeds: Seeds, index: Index, settings: Settings) -> tuple[Floats, Floats, Weights]:
    """Return the score of every chunk, its similarity to the question to the passage exponent, and the weights."""
    graph = SentenceEntityGraph.of(index)
    words = bm25.scores_of(question, index)
    like, likeness, weights = sentences_by_words((question, seeds.rest), index), scaled(words), BY_WORDS
    if (vectors := vectors_if_read([question, seeds.rest], index, settings)) is not None:
        near = cosines("sentences", vectors.T, index, like).T
        like = (1 - MEANING) * like + MEANING * np.max([scaled(each) for each in near], axis=0)
        likeness, weights = hybrid_scores(vectors[0], words, index), BY_MEANING
    likeness = likeness**weights.passage
    base = likeness * (weights.reset / max(float(likeness.sum()), 1e-9))
    pull = (like**weights.sentence + weights.floor).astype(np.float32)
    name_reset = np.zeros(len(graph.names))
    name_reset[seeds.names] = seeds.weights
    sentence_reset = spread(base, pull, graph.first, graph.last)
    mass = walk(graph.incidence, pull, sentence_reset, name_reset)
    whole = np.clip((coverage(question, index, graph) - COVERED) / (1 - COVERED), 0, 1)
    return scaled(totals(mass, graph.first, graph.last)) + whole * scaled(words), likeness, weights


def coverage(question: str, index: Index, graph: SentenceEntityGraph) -> Floats:
    """Return the share of the question's weight (sum of its words' IDF) that each chunk contains, 0 to 1."""
    number = index.number_of_word
    weights, total = np.zeros(len(graph.first), np.float32), 0.0
    for term in dict.fromkeys(number[term] for term in search_terms(question, index) if term in number):
        where = gains(graph.chunks, term)[0]
        weight = idf(len(weights), len(where))
        weights[where] += weight
        total += weight
    return weights / max(total, 1e-9)
