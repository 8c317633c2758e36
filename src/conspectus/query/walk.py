"""The sentence-entity walk: chunks by a random walk from what a question names, through sentences like the question.

It finds passages that share no word with the question: the question names a film, a sentence of the film's passage
names its director, and the director's own passage says where she was born.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.bm25 import Postings, idf
from conspectus.algorithms.sentence_walk import Floats, Incidence, Ints, around, walk
from conspectus.query.bm25 import hit, scores_of
from conspectus.rows import Hit
from conspectus.settings import SearchSettings, WalkSettings
from conspectus.tables import Index
from conspectus.text.mentions import KNOWN, LONGEST, OPENING, find_mentions, hash_of, units
from conspectus.text.vocabulary import read_vocabulary
from conspectus.text.words import name_key, terms

PART = 0.3
"""The weight of a seed inside a longer seed."""


@dataclass(frozen=True)
class Graph:
    """The arrays of the walk (`index.incidence`), as the walk goes along them."""

    first: Ints
    last: Ints
    names: np.ndarray[Any, np.dtype[np.uint64]]
    frequency: Ints
    kinds: Ints
    incidence: Incidence
    postings: Postings

    @classmethod
    def of(cls, index: Index) -> Graph:
        """Return the graph of an index; it is made once for each index that is open."""
        if "walk" not in index.derived:
            index.derived["walk"] = cls._made(index.arrays)
        graph: Graph = index.derived["walk"]
        return graph

    @classmethod
    def _made(cls, arrays: Mapping[str, np.ndarray[Any, Any]]) -> Graph:
        first, last, names, frequency, kinds = (
            arrays[f"walk.{part}"] for part in ("first", "last", "names", "frequency", "kinds")
        )
        postings = Postings.of(arrays, "walk_terms")
        shape = len(postings.lengths), len(names)
        outward = sparse.csr_array(
            tuple(arrays[f"walk.out_{part}"] for part in ("weights", "names", "starts")), shape=shape
        )
        inward = sparse.csr_array(
            tuple(arrays[f"walk.in_{part}"] for part in ("weights", "sentences", "starts")), shape=shape[::-1]
        )
        return cls(first, last, names, frequency, kinds, Incidence(outward, inward), postings)

    def find(self, keys: Sequence[Sequence[str]]) -> Ints:
        """Return the numbers of names, -1 for one that is not known."""
        hashes = np.array([hash_of(pieces) for pieces in keys], np.uint64)
        if not len(self.names) or not len(hashes):
            return np.full(len(hashes), -1)
        places = np.minimum(np.searchsorted(self.names, hashes), len(self.names) - 1)
        return np.where(self.names[places] == hashes, places, -1)


@dataclass(frozen=True)
class Seeds:
    """What a question names: numbers of names with weights that sum to 1, and the question without them."""

    names: Ints
    weights: Floats
    rest: str


def seeds_of(question: str, graph: Graph) -> Seeds:
    """Find the names of a question, rare ones heavier, ones inside others lighter.

    The rest of the question leaves out the names that few passages hold: it is what is asked of them.
    """
    words = units(name_key(question))
    vocabulary = read_vocabulary([question])
    opening = np.ones(len(vocabulary.form), bool)
    written = dict.fromkeys(key for _, key in find_mentions([question], vocabulary, opening))
    found: dict[tuple[str, ...], int] = {}
    for key, name in zip(written, graph.find([units(key) for key in written]).tolist(), strict=True):
        opens = words[:1] == [key]
        if name >= 0 and not (opens and not graph.kinds[name] & OPENING):
            found[tuple(units(key))] = name
    spans = [(a, b) for a in range(len(words)) for b in range(min(len(words), a + LONGEST), a, -1)]
    seen = -1
    for (a, b), name in zip(spans, graph.find([words[a:b] for a, b in spans]).tolist(), strict=True):
        if a > seen and name >= 0 and graph.kinds[name] & KNOWN:
            found.setdefault(tuple(words[a:b]), name)
            seen = a
    names = np.array(list(found.values()), np.int64)
    weights = np.array([PART if any(_inside(key, other) for other in found) else 1.0 for key in found], np.float32)
    weights /= graph.frequency[names]
    dropped: set[int] = set()
    few = max(3.0, 0.01 * len(graph.first))
    for key, name in found.items():
        if graph.frequency[name] <= few:
            for a in range(len(words) - len(key) + 1):
                if tuple(words[a : a + len(key)]) == key:
                    dropped.update(range(a, a + len(key)))
    rest = [word for i, word in enumerate(words) if i not in dropped]
    total = float(weights.sum()) or 1.0
    return Seeds(names, weights / total, " ".join(rest) if len(rest) > 2 else question)


def _inside(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return part != whole and f" {' '.join(part)} " in f" {' '.join(whole)} "


def likeness(question: str, rest: str, index: Index, graph: Graph, b: float = 0.5, k1: float = 1.2) -> Floats:
    """Return how like the question, or the rest of it, each sentence is by its words, 0 to 1."""
    number = index.number_of_word
    postings = graph.postings
    whole = [number[t] for t in terms(question) if t in number]
    part = [number[t] for t in terms(rest) if t in number]
    lengths = postings.lengths
    mean = float(lengths.mean()) if len(lengths) else 1.0
    both = np.zeros((2, len(lengths)), np.float32)
    for term in dict.fromkeys(whole + part):
        low, high = int(postings.starts[term]), int(postings.starts[term + 1])
        where, count = postings.texts[low:high], postings.counts[low:high]
        gain = idf(len(lengths), high - low) * count * (k1 + 1)
        gain = gain / (count + k1 * (1 - b + b * lengths[where] / mean))
        for side, query in enumerate((whole, part)):
            if (times := query.count(term)):
                both[side, where] += times * gain
    top = both.max(axis=1, initial=0.0)
    top[top <= 0] = 1
    return (both / top[:, None]).max(axis=0)


def rank(question: str, index: Index, settings: WalkSettings) -> list[Hit]:
    """Return the `k` chunks that the walk is on most."""
    scores = scores(question, index, settings)
    order = np.argsort(-scores, kind="stable")[: settings.k]
    return [hit(int(i), float(scores[i]), index) for i in order if scores[i] > 0]


def walk_scores(question: str, index: Index, p: Any) -> Floats:
    graph = Graph.of(index)
    seeds = seeds_of(question, graph)
    like = likeness(question, seeds.rest, index, graph)
    base = scores_of(question, index, SearchSettings())
    base = (base / max(float(base.max(initial=0)), 1e-9)) ** p.power
    base /= max(float(base.sum()), 1e-9)
    pull = (like**p.gamma + p.eps).astype(np.float32)
    if p.local:
        return local(graph, seeds, like, pull, base, p)
    sums = np.concatenate(([0.0], np.cumsum(pull, dtype=np.float64)))
    share = p.reset * base / np.maximum(sums[graph.last] - sums[graph.first], 1e-9)
    edges = np.zeros(len(pull) + 1)
    np.add.at(edges, graph.first, share)
    np.add.at(edges, graph.last, -share)
    sentence_reset = (pull * np.cumsum(edges)[:-1]).astype(np.float32)
    name_reset = np.zeros(len(graph.names), np.float32)
    np.add.at(name_reset, seeds.names, seeds.weights)
    mass = walk(graph.incidence, pull, sentence_reset, name_reset, p.damping, p.steps)
    total = np.concatenate(([0.0], np.cumsum(mass, dtype=np.float64)))
    return total[graph.last] - total[graph.first]


def local(graph, seeds, like, pull, base, p, again=True, extra=np.zeros(0, np.int64)):
    full_pull = pull
    best = np.argsort(-base, kind="stable")[: p.passages]
    best = best[base[best] > 0]
    of_best = np.concatenate([np.arange(a, b) for a, b in zip(graph.first[best], graph.last[best])]) if len(best) else np.zeros(0, np.int64)
    from conspectus.algorithms.sentence_walk import _columns
    of_seeds = _columns(graph.incidence.inward, seeds.names)
    if len(of_seeds) > p.sentences:
        of_seeds = of_seeds[np.argpartition(-like[of_seeds], p.sentences)[: p.sentences]]
    near = np.union1d(np.union1d(of_best, of_seeds), extra)
    sentences, names, part = around(graph.incidence, near, seeds.names, graph.frequency, p.hub)
    local.size = len(sentences), len(names)
    pull = pull[sentences]
    reset = np.zeros(len(graph.first)); reset[best] = base[best]
    place = np.searchsorted(sentences, graph.first), np.searchsorted(sentences, graph.last)
    sums = np.concatenate(([0.0], np.cumsum(pull, dtype=np.float64)))
    share = p.reset * reset / np.maximum(sums[place[1]] - sums[place[0]], 1e-9)
    edges = np.zeros(len(pull) + 1)
    np.add.at(edges, place[0][best], share[best])
    np.add.at(edges, place[1][best], -share[best])
    sentence_reset = (pull * np.cumsum(edges)[:-1]).astype(np.float32)
    name_reset = np.zeros(len(names), np.float32)
    np.add.at(name_reset, np.searchsorted(names, seeds.names), seeds.weights)
    mass = walk(part, pull, sentence_reset, name_reset, p.damping, p.steps)
    total = np.concatenate(([0.0], np.cumsum(mass, dtype=np.float64)))
    out = total[place[1]] - total[place[0]]
    if again and p.more:
        more = np.argpartition(-out, p.more)[: p.more]
        extra = np.concatenate([np.arange(a, b) for a, b in zip(graph.first[more], graph.last[more])])
        return local(graph, seeds, like, full_pull, base, p, False, extra)
    return out
