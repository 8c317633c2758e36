"""The sentence-entity walk: rank chunks by a random walk that starts from the names in the question.

It reaches passages that share no word with the question: the question names a film, a sentence about the film names its
director, and a passage about the director says where she was born. The walk prefers sentences that resemble the
question. A passage that covers nearly all of the question on its own is also ranked by its words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.ranking import Postings, gains, idf, products, scaled
from conspectus.algorithms.sentence_walk import Incidence, spread, totals, walk
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.retrieval import ranking
from conspectus.retrieval.base import hits_of
from conspectus.retrieval.vector import has_vectors, hybrid_scores, question_vectors, reads_texts
from conspectus.rows import Hit
from conspectus.settings import Settings
from conspectus.text.mentions import KNOWN, LONGEST, OPENING, find_mentions, hash_of, units
from conspectus.text.vocabulary import read_vocabulary
from conspectus.text.words import name_key, search_terms

Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

PART = 0.3
"""The weight of a seed inside a longer seed."""
FEW, SHARE = 3, 0.01
"""A name that no more passages hold, or no larger share of them, is left out of the rest of a question."""


@dataclass(frozen=True)
class SentenceEntityGraph:
    """The arrays of the walk, as `index.incidence` says what they hold."""

    first: Ints
    last: Ints
    names: np.ndarray[Any, np.dtype[np.uint64]]
    frequency: Ints
    kinds: Ints
    incidence: Incidence
    sentences: Postings
    chunks: Postings

    @classmethod
    def of(cls, index: Index) -> SentenceEntityGraph:
        """Return the graph of an index, made once for each open index; UsageError if it has none."""
        if "walk.names" not in index.arrays:
            raise UsageError("the index has no sentences to walk over; index its documents anew")
        return index.derive(cls._made)

    @classmethod
    def _made(cls, index: Index) -> SentenceEntityGraph:
        arrays = index.arrays
        parts = ("first", "last", "names", "frequency", "kinds")
        first, last, names, frequency, kinds = (arrays[f"walk.{part}"] for part in parts)
        sentences, chunks = Postings.of(arrays, "walk_terms"), Postings.of(arrays, "chunk_terms")
        sizes = len(sentences.lengths), len(names)
        outward = _matrix(arrays, "walk.out", "names", sizes)
        inward = _matrix(arrays, "walk.in", "sentences", (len(names), len(sentences.lengths)))
        return cls(first, last, names, frequency, kinds, Incidence(outward, inward), sentences, chunks)

    def find(self, keys: Sequence[Sequence[str]]) -> Ints:
        """Return the numbers of names, given in pieces (`mentions.units`), -1 for one that is not known."""
        hashes = np.array([hash_of(pieces) for pieces in keys], np.uint64)
        if not len(self.names):
            return np.full(len(hashes), -1)
        places = np.minimum(np.searchsorted(self.names, hashes), len(self.names) - 1)
        return np.where(self.names[places] == hashes, places, -1)


def _matrix(
    arrays: Mapping[str, np.ndarray[Any, Any]], name: str, columns: str, shape: tuple[int, int]
) -> sparse.csr_array[Any, Any]:
    parts = (arrays[f"{name}_{part}"] for part in ("weights", columns, "starts"))
    return sparse.csr_array(tuple(parts), shape=shape)


@dataclass(frozen=True)
class Seeds:
    """What a question names: names, ascending, with weights that sum to 1; and the question without them."""

    names: Ints
    weights: Floats
    rest: str


def seeds_of(question: str, graph: SentenceEntityGraph) -> Seeds:
    """Find the names of a question, rare ones heavier, ones inside others lighter.

    The rest of the question leaves out the names that few passages hold: it is what is asked of them. Where
    that leaves hardly anything, it is the question.
    """
    words = units(name_key(question))
    named = _named(question, words, graph)
    weights: dict[int, float] = {}
    dropped: set[int] = set()
    for key, name in named.items():
        weight = PART if any(_inside(key, other) for other in named) else 1.0
        weights[name] = weight / int(graph.frequency[name])
        if graph.frequency[name] <= max(FEW, SHARE * len(graph.first)):
            for start in range(len(words) - len(key) + 1):
                if tuple(words[start : start + len(key)]) == key:
                    dropped.update(range(start, start + len(key)))
    total = sum(weights.values())
    names = np.array(sorted(weights), np.int64)
    rest = [word for i, word in enumerate(words) if i not in dropped]
    shares = np.array([weights[name] / total for name in names.tolist()], np.float32)
    return Seeds(names, shares, " ".join(rest) if len(rest) > 2 else question)


def _named(question: str, words: Sequence[str], graph: SentenceEntityGraph) -> dict[tuple[str, ...], int]:
    """Return what the question names. What it writes small is no name in one that has names with capitals: the place
    of birth of somebody is not about the passage "Place of birth".
    """

    def is_small(text: str) -> bool:
        return text.islower() and re.search(rf"\b{re.escape(text)}\b", question) is not None

    written = _written(question, words, graph)
    named = written | _known_names(words, graph)
    others = {key: name for key, name in named.items() if key in written or not is_small(" ".join(key))}
    return others if any(key[0][0].isalpha() for key in others) else named


def _written(question: str, words: Sequence[str], graph: SentenceEntityGraph) -> dict[tuple[str, ...], int]:
    """Return what is written as a name; a first word alone only if the corpus takes it for one anywhere."""
    vocabulary = read_vocabulary([question])
    opening = np.ones(len(vocabulary.form), bool)
    keys = [tuple(units(key)) for _, key in find_mentions([question], vocabulary, opening)]
    named = {key: name for key, name in zip(keys, graph.find(keys).tolist(), strict=True) if name >= 0}
    first = tuple(words[:1])
    if first in named and not graph.kinds[named[first]] & OPENING:
        del named[first]
    return named


def _known_names(words: Sequence[str], graph: SentenceEntityGraph) -> dict[tuple[str, ...], int]:
    """Return what the corpus has passages about, however written here: from each word on the longest."""
    spans = [(a, b) for a in range(len(words)) for b in range(a + 1, min(len(words), a + LONGEST) + 1)]
    longest: dict[int, tuple[tuple[str, ...], int]] = {}
    names: list[int] = graph.find([words[a:b] for a, b in spans]).tolist()
    for (start, end), name in zip(spans, names, strict=True):
        if name >= 0 and graph.kinds[name] & KNOWN:
            longest[start] = tuple(words[start:end]), name
    return dict(longest.values())


def _inside(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return len(part) < len(whole) and f" {' '.join(part)} " in f" {' '.join(whole)} "


DAMPING = 0.87
"""Damping factor of the walk: probability of going on at each step."""
STEPS = 9
"""Number of steps of the walk."""
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
    like = _sentences_by_words(question, seeds.rest, index, graph)
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
    mass = walk(graph.incidence, pull, sentence_reset, name_reset, DAMPING, STEPS)
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


def _sentences_by_words(question: str, rest: str, index: Index, graph: SentenceEntityGraph) -> Floats:
    """Return how like the question, or the rest of it, each sentence is by its words (BM25), 0 to 1."""
    number = index.number_of_word
    whole = [number[term] for term in search_terms(question, index) if term in number]
    part = [number[term] for term in search_terms(rest, index) if term in number]
    both = np.zeros((2, len(graph.sentences.lengths)), np.float32)
    for term in dict.fromkeys(whole + part):
        where, gain = gains(graph.sentences, term, b=SENTENCE_B)
        for scores, query in zip(both, (whole, part), strict=True):
            if times := query.count(term):
                scores[where] += times * gain
    return np.maximum(scaled(both[0]), scaled(both[1]))


def _sentences_by_meaning(vectors: Floats, index: Index) -> Floats:
    """Return how like the question, or the rest of it, each sentence is by its vector, 0 to 1."""
    whole, part = products(index.arrays["vectors.sentences"], vectors.T).T
    return np.maximum(scaled(whole), scaled(part))
