"""The sentence-entity walk: chunks by a random walk from what a question names, through sentences like the
question.

It finds passages that share no word with the question. The question names a film, a sentence about the film
names its director, and a passage about the director says where she was born. A passage that holds about all
that the question says needs no walk, and is ranked by its words beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from conspectus.algorithms.bm25 import gains, idf
from conspectus.algorithms.fusion import highest, scaled
from conspectus.algorithms.sentence_walk import (
    around,
    ascending,
    columns,
    passages_of,
    sentences_of,
    spread,
    totals,
    walk,
)
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.bm25 import answer_from, hits_of
from conspectus.retrieval.hybrid import likeness
from conspectus.retrieval.vector import has_vectors, question_vectors, reads_texts
from conspectus.retrieval.walk_graph import Seeds, SentenceEntityGraph, seeds_of
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings

Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

LARGE = 2000
"""Passages from which on the local form is the faster one.

CPU ms a question, full and local: 2 and 2 at 1,890 passages, 7 and 2 at 6,119, 80 and 6 at 61,190.
"""
PASSAGES, SENTENCES = 20, 100
"""Best passages, and best sentences that hold a seed, that the local form starts around."""
FIRST_STEPS = 5
"""Steps of the local form's first round, which finds the passages that the second starts around too."""
COVERED = 0.9
"""A passage is ranked by its words as well from this share of the question's weight on that it holds."""
SENTENCE_B = 0.5
"""BM25's b for sentences."""
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


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that the walk is on most, or that hold all that the question says."""
    return hits_of(scores_of(question, index, settings), index, settings.search.k)


async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the best chunks alone."""
    return await answer_from(rank(question, index, settings), question, index, model, method="walk")


def scores_of(question: str, index: Index, settings: Settings) -> Floats:
    """Return the score of every chunk, in the order of the table."""
    graph = SentenceEntityGraph.of(index)
    seeds = seeds_of(question, graph)
    words, coverage = _by_words(question, index, graph, settings)
    vectors = question_vectors([question, seeds.rest], index, settings) if _by_meaning(index, settings) else None
    like = _Likeness(_sentences_by_words(question, seeds.rest, index, graph), vectors, index)
    base = scaled(words) if vectors is None else likeness(vectors[0], words, index)
    weights = BY_WORDS if vectors is None else BY_MEANING
    base = base**weights.passage
    base *= weights.reset / max(float(base.sum()), 1e-9)
    form = settings.walk.form
    if form == "full" or (form == "auto" and len(graph.first) < LARGE):
        walked = _full(graph, seeds, like, base, weights, settings)
    else:
        walked = _local(graph, seeds, like, base, weights, settings)
    whole = np.clip((coverage - COVERED) / (1 - COVERED), 0, 1)
    return scaled(walked) + whole * scaled(words)


def _by_meaning(index: Index, settings: Settings) -> bool:
    return settings.walk.vectors and has_vectors(index) and reads_texts(index)


# How like the question something is


def _by_words(question: str, index: Index, graph: SentenceEntityGraph, settings: Settings) -> tuple[Floats, Floats]:
    """Return the BM25 score of each chunk, and how much of the question's weight it holds."""
    number = index.number_of_word
    query = [number[term] for term in index.terms(question) if term in number]
    scores = np.zeros(len(graph.first), np.float32)
    held = np.zeros(len(graph.first), np.float32)
    total = 0.0
    for term in dict.fromkeys(query):
        where, gain = gains(graph.chunks, term, settings.search.k1, settings.search.b)
        weight = idf(len(scores), len(where))
        scores[where] += query.count(term) * gain
        held[where] += weight
        total += weight
    return scores, held / max(total, 1e-9)


def _sentences_by_words(question: str, rest: str, index: Index, graph: SentenceEntityGraph) -> Floats:
    """Return how like the question, or the rest of it, each sentence is by its words (BM25), 0 to 1."""
    number = index.number_of_word
    whole, part = ([number[t] for t in index.terms(text) if t in number] for text in (question, rest))
    both = np.zeros((2, len(graph.sentences.lengths)), np.float32)
    for term in dict.fromkeys(whole + part):
        where, gain = gains(graph.sentences, term, b=SENTENCE_B)
        for scores, query in zip(both, (whole, part), strict=True):
            if times := query.count(term):
                scores[where] += times * gain
    return np.maximum(scaled(both[0]), scaled(both[1]))


@dataclass(frozen=True)
class _Likeness:
    """How like the question sentences are, by words alone or by words and meaning."""

    words: Floats
    vectors: Floats | None
    """Of the question and of the rest of it."""
    index: Index

    def of(self, sentences: Ints | slice) -> Floats:
        """Return it for some sentences, at most 1."""
        words = self.words[sentences]
        if self.vectors is None:
            return words
        meaning = self.index.arrays["vectors.sentences"][sentences].astype(np.float32) @ self.vectors.T
        return (1 - MEANING) * words + MEANING * np.maximum(scaled(meaning[:, 0]), scaled(meaning[:, 1]))

    def pull(self, sentences: Ints | slice, weights: Weights) -> Floats:
        """Return how much some sentences draw the walk."""
        return (self.of(sentences) ** weights.sentence + weights.floor).astype(np.float32)


# The two forms


def _full(
    graph: SentenceEntityGraph, seeds: Seeds, like: _Likeness, base: Floats, weights: Weights, settings: Settings
) -> Floats:
    """Return how much of the walk is on each passage, walking over all sentences."""
    pull = like.pull(slice(None), weights)
    sentence_reset = spread(base, pull, graph.first, graph.last)
    name_reset = np.zeros(len(graph.names))
    name_reset[seeds.names] = seeds.weights
    mass = walk(graph.incidence, pull, sentence_reset, name_reset, settings.walk.damping, settings.walk.steps)
    return totals(mass, graph.first, graph.last)


def _local(
    graph: SentenceEntityGraph, seeds: Seeds, like: _Likeness, base: Floats, weights: Weights, settings: Settings
) -> Floats:
    """Return the same, walking around the seeds and the best passages only.

    Twice: the passages that the first round finds are what the second goes around too, for questions of many
    hops.
    """
    best = highest(base, PASSAGES)
    best = best[base[best] > 0]
    reset = np.zeros_like(base)
    reset[best] = base[best]
    of_seeds = columns(graph.incidence.inward, seeds.names)
    of_seeds = of_seeds[highest(like.of(of_seeds), SENTENCES)]
    near = ascending(len(like.words), sentences_of(best, graph.first, graph.last), of_seeds)
    result = np.zeros(len(base))
    for steps in (min(FIRST_STEPS, settings.walk.steps), settings.walk.steps):
        sentences, names, part = around(graph.incidence, near, seeds.names, graph.common)
        passages = passages_of(sentences, graph.first, graph.last)
        first, last = (np.searchsorted(sentences, edge[passages]) for edge in (graph.first, graph.last))
        pull = like.pull(sentences, weights)
        name_reset = np.zeros(len(names))
        name_reset[np.searchsorted(names, seeds.names)] = seeds.weights
        mass = walk(part, pull, spread(reset[passages], pull, first, last), name_reset, settings.walk.damping, steps)
        result[passages] = totals(mass, first, last)
        found = highest(result, PASSAGES)
        near = ascending(len(like.words), near, sentences_of(found, graph.first, graph.last))
    return result
