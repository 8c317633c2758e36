"""Where the walk starts: the names of a question that the index knows, and the graph that it goes along."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.algorithms.bm25 import Postings
from conspectus.algorithms.sentence_walk import Incidence
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.text.mentions import KNOWN, LONGEST, OPENING, find_mentions, hash_of, units
from conspectus.text.vocabulary import read_vocabulary
from conspectus.text.words import name_key

Ints = np.ndarray[Any, np.dtype[np.integer[Any]]]
Floats = np.ndarray[Any, np.dtype[np.floating[Any]]]

PART = 0.3
"""The weight of a seed inside a longer seed."""
FEW, SHARE = 3, 0.01
"""A name that no more passages hold, or no larger share of them, is left out of the rest of a question."""
COMMON = 20
"""Names of more passages are not followed in the local form, unless the question names them."""


@dataclass(frozen=True)
class SentenceEntityGraph:
    """The arrays of the walk, as `index.incidence` says what they hold."""

    first: Ints
    last: Ints
    names: np.ndarray[Any, np.dtype[np.uint64]]
    frequency: Ints
    kinds: Ints
    common: np.ndarray[Any, np.dtype[np.bool_]]
    """Whether more than COMMON passages hold a name."""
    incidence: Incidence
    sentences: Postings
    chunks: Postings

    @classmethod
    def of(cls, index: Index) -> SentenceEntityGraph:
        """Return the graph of an index, made once for each that is open; raise UsageError where it has
        none."""
        if "walk.names" not in index.arrays:
            raise UsageError("the index has no sentences to walk over; make it anew: conspectus index")
        if "walk" not in index.derived:
            index.derived["walk"] = cls._made(index.arrays)
        graph: SentenceEntityGraph = index.derived["walk"]
        return graph

    @classmethod
    def _made(cls, arrays: Mapping[str, np.ndarray[Any, Any]]) -> SentenceEntityGraph:
        first, last, names, frequency, kinds = (
            arrays[f"walk.{part}"] for part in ("first", "last", "names", "frequency", "kinds")
        )
        sentences = Postings.of(arrays, "walk_terms")
        shape = len(sentences.lengths), len(names)
        outward = _matrix(arrays, "walk.out", "names", shape)
        inward = _matrix(arrays, "walk.in", "sentences", (shape[1], shape[0]))
        chunks = Postings.of(arrays, "chunk_terms")
        return cls(
            first,
            last,
            names,
            frequency,
            kinds,
            frequency > COMMON,
            Incidence(outward, inward),
            sentences,
            chunks,
        )

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
    found = _named(question, words, graph)
    weights = {
        name: (PART if any(_inside(key, other) for other in found) else 1.0) / int(graph.frequency[name])
        for key, name in found.items()
    }
    total = sum(weights.values())
    names = np.array(sorted(weights), np.int64)
    few = max(FEW, SHARE * len(graph.first))
    dropped = {
        at
        for key, name in found.items()
        if graph.frequency[name] <= few
        for start in range(len(words) - len(key) + 1)
        if tuple(words[start : start + len(key)]) == key
        for at in range(start, start + len(key))
    }
    rest = [word for i, word in enumerate(words) if i not in dropped]
    shares = np.array([weights[name] / total for name in names.tolist()], np.float32)
    return Seeds(names, shares, " ".join(rest) if len(rest) > 2 else question)


def _named(question: str, words: Sequence[str], graph: SentenceEntityGraph) -> dict[tuple[str, ...], int]:
    """Return what the question names. What it writes small is no name in one that has names with capitals: the place
    of birth of somebody is not about the passage "Place of birth".
    """
    written = _written(question, words, graph)
    found = written | _known(words, graph)
    others = {key: name for key, name in found.items() if key in written or not _is_small(" ".join(key), question)}
    return others if any(key[0][0].isalpha() for key in others) else found


def _is_small(text: str, question: str) -> bool:
    return text.islower() and re.search(rf"\b{re.escape(text)}\b", question) is not None


def _written(question: str, words: Sequence[str], graph: SentenceEntityGraph) -> dict[tuple[str, ...], int]:
    """Return what is written as a name; a first word alone only if the corpus takes it for one anywhere."""
    vocabulary = read_vocabulary([question])
    opening = np.ones(len(vocabulary.form), bool)
    keys = [tuple(units(key)) for _, key in find_mentions([question], vocabulary, opening)]
    found = {key: name for key, name in zip(keys, graph.find(keys).tolist(), strict=True) if name >= 0}
    return {key: name for key, name in found.items() if key != tuple(words[:1]) or graph.kinds[name] & OPENING}


def _known(words: Sequence[str], graph: SentenceEntityGraph) -> dict[tuple[str, ...], int]:
    """Return what the corpus has passages about, however written here: from each word on the longest."""
    spans = [(a, b) for a in range(len(words)) for b in range(a + 1, min(len(words), a + LONGEST) + 1)]
    longest: dict[int, tuple[tuple[str, ...], int]] = {}
    for (start, end), name in zip(spans, graph.find([words[a:b] for a, b in spans]).tolist(), strict=True):
        if name >= 0 and graph.kinds[name] & KNOWN:
            longest[start] = tuple(words[start:end]), name
    return dict(longest.values())


def _inside(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    return len(part) < len(whole) and f" {' '.join(part)} " in f" {' '.join(whole)} "
