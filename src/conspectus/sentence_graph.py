"""The sentence-entity graph of an index, and the seeds of a question in it: the input of the walk over sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial

import numpy as np
from scipy import sparse

from conspectus.algorithms.ranking import Floats, Ints, Postings, gains, positions, ranges
from conspectus.algorithms.sentence_walk import WHOLE, Incidence, Matrix, walk
from conspectus.algorithms.statistics import Bools
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.name_lookup import search_terms
from conspectus.text.mentions import KNOWN, LONGEST, OPENING, find_runs, hash_of, units
from conspectus.text.vocabulary import read_vocabulary
from conspectus.text.words import name_key

PART = 0.3
"""The weight of a seed inside a longer seed: from 0.1 to 1, no set of questions changes by more than one answer."""
FEW, SHARE = 3, 0.01
"""A name that at most this number, or this share, of the passages contain is left out of the rest of a question: with
10, or 10 %, one of the sample's 36 facts fewer is quoted."""


class SentenceEntityGraph:
    """The arrays of the walk, which `indexing.arrays` describes."""

    def __init__(self, index: Index) -> None:
        self._index = index
        parts = ("first", "last", "names", "frequency", "kinds")
        self.first, self.last, self.names, self.frequency, self.kinds = (
            index.arrays[f"walk.{p}"] for p in parts
        )
        self.sentences = Postings.of(index.slices, "walk_terms")
        self.chunks = Postings.of(index.slices, "chunk_terms")

    @classmethod
    def of(cls, index: Index) -> SentenceEntityGraph:
        """Return the graph of an index, created once for each open index; raise UsageError if the index has none."""
        if "walk.names" not in index.arrays:
            raise UsageError("the index has no sentences to walk over; index its documents again")
        return index.derive(cls)

    @cached_property
    def incidence(self) -> Incidence:
        """The matrices of the walk."""
        sizes = np.diff(self._index.arrays["walk.in_starts"])
        out, inward = partial(self.matrix, "out"), partial(self.matrix, "in")
        if (count := len(self.sentences.lengths)) <= WHOLE:
            out, inward = (of(np.arange(n)).__getitem__ for of, n in ((out, count), (inward, len(sizes))))
        return Incidence(out, inward, sizes)

    def matrix(self, way: str, rows: Ints, columns: Ints | None = None) -> Matrix:
        """Return the matrix of some sentences and their names (`out`), the same with the weights from these names to
        them (`back`), or of some names and their sentences (`in`); `columns`, ascending, selects columns.
        """
        lists, other, across = "out", "names", self.names
        if way == "in":
            lists, other, across = "in", "sentences", self.sentences.lengths
        parts = f"walk.{way}_weights", f"walk.{lists}_{other}", f"walk.{lists}_starts"
        # `storage.arrays` checks when the arrays are read that these numbers are valid rows and columns
        weights, numbers, edges = map(self._index.slices.__getitem__, parts)
        at, counts = ranges(edges[rows], edges[rows + 1])
        starts, column = np.concatenate(([0], np.cumsum(counts))), numbers[at]
        if columns is not None:
            own = positions(columns, column)
            starts = np.concatenate(([0], np.cumsum(own >= 0)))[starts]
            at, column, across = at[own >= 0], own[own >= 0], columns
        return sparse.csr_array((weights[at], column, starts), shape=(len(rows), len(across)))

    def find(self, keys: Sequence[Sequence[str]]) -> Ints:
        """Return the numbers of names, given in pieces (`mentions.units`), -1 for each unknown one."""
        hashes = np.array([hash_of(pieces) for pieces in keys], np.uint64)
        return positions(self.names, hashes)

    def passages_with(self, name: int) -> Bools:
        """Return for each passage whether it contains a sentence of a name."""
        sentences = np.sort(self.matrix("in", np.array([name])).indices)
        return np.searchsorted(sentences, self.last) > np.searchsorted(sentences, self.first)


@dataclass(frozen=True)
class Seeds:
    """The seeds of a question: names, ascending, with weights that sum to 1; and the question without them."""

    names: Ints
    weights: Floats
    rest: str


def seeds_of(question: str, graph: SentenceEntityGraph) -> Seeds:
    """Return the seeds of a question: its names, of which rare ones weigh more, and ones inside others less.

    The rest of the question leaves out the names that few passages contain: it is what is asked about them. If hardly
    anything remains, the rest is the whole question.
    """
    words = units(name_key(question))
    named = _named(question, words, graph)
    weights: dict[int, float] = {}
    dropped: set[int] = set()
    for key, name in named.items():
        part = any(key != other and f" {' '.join(key)} " in f" {' '.join(other)} " for other in named)
        weight = PART if part else 1.0
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
    """Return the names in a question. Words in lower case are no names in a question with capitalised ones: the place
    of birth of a person is not about the passage "Place of birth".
    """

    def is_small(text: str) -> bool:
        return text.islower() and re.search(rf"\b{re.escape(text)}\b", question) is not None

    written = _written(question, words, graph)
    named = written | _known_names(words, graph)
    others = {key: name for key, name in named.items() if key in written or not is_small(" ".join(key))}
    return others if any(key[0][0].isalpha() for key in others) else named


def _written(question: str, words: Sequence[str], graph: SentenceEntityGraph) -> dict[tuple[str, ...], int]:
    """Return what is written as a name; a first word alone only if the corpus also has it as a name."""
    vocabulary = read_vocabulary([question])
    opening = np.ones(len(vocabulary.form), bool)
    keys = [tuple(units(key)) for _, run in find_runs(vocabulary, opening) for key in run]
    named = {key: name for key, name in zip(keys, graph.find(keys).tolist(), strict=True) if name >= 0}
    first = tuple(words[:1])
    if first in named and not graph.kinds[named[first]] & OPENING:
        del named[first]
    return named


def _known_names(words: Sequence[str], graph: SentenceEntityGraph) -> dict[tuple[str, ...], int]:
    """Return the names that the corpus has passages about, however written here: the longest from each word on."""
    spans = [(a, b) for a in range(len(words)) for b in range(a + 1, min(len(words), a + LONGEST) + 1)]
    longest: dict[int, tuple[tuple[str, ...], int]] = {}
    names: list[int] = graph.find([words[a:b] for a, b in spans]).tolist()
    for (start, end), name in zip(spans, names, strict=True):
        if name >= 0 and graph.kinds[name] & KNOWN:
            longest[start] = tuple(words[start:end]), name
    return dict(longest.values())


SENTENCE_B = 0.5
"""BM25's b for sentences."""


def sentences_by_words(queries: Sequence[str], index: Index, among: Ints | None = None) -> Floats:
    """Return each sentence's (or each of `among`'s) BM25 score for the query that suits it best, scaled to 0 to 1."""
    number, postings = index.number_of_word, SentenceEntityGraph.of(index).sentences
    gained = cache(partial(gains, postings, b=SENTENCE_B, among=among))  # for terms that queries share
    like = np.zeros(len(postings.lengths) if among is None else len(among), np.float32)
    for query in queries:
        scores = np.zeros_like(like)
        for term in search_terms(query, index):
            if term in number:
                where, gain = gained(number[term])
                scores[where] += gain
        scores /= max(float(scores.max(initial=0.0)), 1e-9)
        np.maximum(like, scores, out=like)
    return like


RESET = 0.12
"""Total restart weight of the sentences, by likeness, in a walk among some of them; the names of a question have 1."""
FLOOR = 0.1
"""Pull of a sentence that is not like the question at all, where the most similar one has 1. Both are as in the walk
over the whole index: between half and double, its three best of some 50 passages contain as many answers."""


def walk_among(question: str, sentences: Sequence[int], index: Index) -> Floats:
    """Return the share of a walk on each of some sentences, which it does not leave; 0 if the index has no graph."""
    if "walk.names" not in index.arrays or not len(sentences):
        return np.zeros(len(sentences), np.float32)
    graph = SentenceEntityGraph.of(index)
    seeds = seeds_of(question, graph)
    # of the type of the postings, which would otherwise be converted to be searched
    numbers, position = np.unique(np.array(sentences, np.int32), return_inverse=True)
    names = np.union1d(graph.matrix("out", numbers).indices, seeds.names)
    outward = graph.matrix("out", numbers, names)
    if "walk.back_weights" in index.slices:  # as the lists of names are scattered over large files
        inward = graph.matrix("back", numbers, names).T.tocsr()
    else:
        inward = graph.matrix("in", names, numbers)
    among = Incidence(outward.__getitem__, inward.__getitem__, np.diff(inward.indptr))
    like = sentences_by_words((question, seeds.rest), index, numbers) ** 2
    name_reset = np.zeros(len(names))
    name_reset[np.searchsorted(names, seeds.names)] = seeds.weights
    walked = walk(among, (like + FLOOR).astype(np.float32), RESET * like / max(like.sum(), 1e-9), name_reset)
    return walked[position]
