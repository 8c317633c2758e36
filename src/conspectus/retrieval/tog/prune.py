"""Entity prune: which of the names that can be reached are worth going on from, by their chunks (ToG-2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from conspectus.index import Index
from conspectus.retrieval.bm25 import scores_of
from conspectus.retrieval.vector import has_vectors, question_vectors
from conspectus.rows import ReasoningPath
from conspectus.settings import Settings, TogSettings
from conspectus.text.relation_words import likeness, root, roots_of_label
from conspectus.text.words import WORD, fold, is_content
from conspectus.triple_graph import TripleGraph

MOST = 2000
"""Candidates that are looked at in one round, those of the fewest triples first."""
RERANKED = 4
"""Chunks that are ranked again, as a multiple of K."""


@dataclass(frozen=True)
class Candidate:
    """A name that can be reached: from which topic, by which path, and by which triple last."""

    topic: int
    trail: ReasoningPath
    triple: int
    name: int


class Scorer:
    """F: how much a text says to a question, its clues and the triple that led to it.

    In two stages: BM25 over all chunks, then, of the best, the cosine of vectors where the index has them,
    else the share of the question's words that the chunk holds. A graph without text is scored by its
    triples.
    """

    def __init__(self, question: str, index: Index, graph: TripleGraph, settings: Settings, texts: bool) -> None:
        self.question = question
        self.graph = graph
        self.texts = texts and len(index.chunks) > 0
        self._index = index
        self._settings = settings
        self._words = [root(w) for w in WORD.findall(fold(question)) if is_content(w)]

    def chunks(self, candidates: Sequence[Candidate], clues: Sequence[str], most: int) -> list[tuple[int, int, float]]:
        """Return candidate, chunk and score from 0 to 1 of the best chunks of all candidates together."""
        query = " ".join((self.question, *clues[-1:]))
        base = scores_of(query, self._index, self._settings.search)
        pairs: list[tuple[float, int, int]] = []
        for place, candidate in enumerate(candidates):
            extra = scores_of(self.graph.names[candidate.name], self._index, self._settings.search)
            for chunk in self._of(candidate):
                pairs.append((float(base[chunk] + extra[chunk]), place, chunk))
        return self._best(pairs, query, most)

    def beginning(self, names: Sequence[str], most: int) -> list[tuple[int, float]]:
        """Return the best chunks of the documents linked to names, for a given graph: none of its triples leads
        to them.
        """
        if not self.texts or not self.graph.given:
            return []
        base = scores_of(self.question, self._index, self._settings.search)
        linked = sorted({chunk for name in names for chunk in self._linked(name)})
        best = self._best([(float(base[chunk]), 0, chunk) for chunk in linked], self.question, most)
        return [(chunk, score) for _, chunk, score in best]

    def _best(self, pairs: list[tuple[float, int, int]], query: str, most: int) -> list[tuple[int, int, float]]:
        """Return candidate, chunk and score from 0 to 1 of the best of chunks that are scored by BM25."""
        pairs.sort(key=lambda p: (-p[0], p[1], p[2]))
        top = pairs[: RERANKED * most]
        highest = top[0][0] if top else 1.0
        again = self._again(query, [chunk for _, _, chunk in top])
        scored = [(place, chunk, (score / (highest or 1.0) + again[chunk]) / 2) for score, place, chunk in top]
        return sorted(scored, key=lambda s: (-s[2], s[0], s[1]))[:most]

    def _of(self, candidate: Candidate) -> set[int]:
        """Return the chunks of a candidate: those that say its triple, and those that say any other of its
        triples; in a given graph, whose triples no text says, those of the documents linked to it.
        """
        said = set(self.graph.chunks[candidate.triple])
        for step in self.graph.steps(candidate.name):
            said.update(self.graph.chunks[step.triple])
        return said or self._linked(self.graph.names[candidate.name])

    def _linked(self, name: str) -> set[int]:
        number = self._index.entity_of_name.get(name)
        ids = self._index.entities[number].chunk_ids if number is not None else ()
        return {self._index.chunk_of[c].number for c in ids}

    def _again(self, query: str, chunks: Iterable[int]) -> dict[int, float]:
        places = sorted(set(chunks))
        if has_vectors(self._index):
            vector = question_vectors([query], self._index, self._settings)[0]
            cosines: np.ndarray[Any, Any] = self._index.arrays["vectors.chunks"][places] @ vector
            return dict(zip(places, np.maximum(cosines, 0).tolist(), strict=True))
        asked = set(self._index.terms(query))
        return {c: len(asked & set(self._index.terms(self._index.chunks[c].text))) / (len(asked) or 1) for c in places}

    def triple(self, candidate: Candidate, clues: Sequence[str]) -> float:
        """Return how much of the question a triple and the relations that lead on from its end say, 0 to 1."""
        if not self._words:
            return 0.0
        labels = {self.graph.kinds[candidate.triple]} | {s.relation for s in self.graph.steps(candidate.name)}
        parts = {r for label in labels for r in roots_of_label(self.graph.relations[label])}
        parts |= {root(w) for w in WORD.findall(fold(self.graph.names[candidate.name]))}
        return sum(max((likeness(w, p) for p in parts), default=0.0) for w in self._words) / len(self._words)


def kept(
    candidates: Sequence[Candidate], scorer: Scorer, clues: Sequence[str], tog: TogSettings
) -> tuple[list[Candidate], list[tuple[int, float]]]:
    """Return the W best candidates, one for each name, and the best chunks of all, the best first.

    A candidate scores the sum over its chunks among the top K of s * exp(-alpha * rank), or with no text s of
    its triple; both, where the graph was given, and may have no text of most candidates.
    """
    if len(candidates) > MOST:
        candidates = sorted(candidates, key=lambda c: (scorer.graph.degree(c.name), c.triple))[:MOST]
    if scorer.texts:
        ranked = scorer.chunks(candidates, clues, tog.chunks)
        scores = [0.0] * len(candidates)
        for rank, (place, _, score) in enumerate(ranked):
            scores[place] += score * exp(-tog.decay * rank)
        if scorer.graph.given:
            scores = [score + scorer.triple(c, clues) for score, c in zip(scores, candidates, strict=True)]
    else:
        ranked = []
        scores = [scorer.triple(candidate, clues) for candidate in candidates]
    order = sorted(range(len(candidates)), key=lambda i: (-scores[i], i))
    best: dict[int, Candidate] = {}
    for i in order:
        best.setdefault(candidates[i].name, candidates[i])
        if len(best) == tog.width:
            break
    chunks: dict[int, float] = {}
    for _, chunk, score in ranked:
        chunks[chunk] = max(score, chunks.get(chunk, 0.0))
    return list(best.values()), sorted(chunks.items(), key=lambda c: (-c[1], c[0]))
