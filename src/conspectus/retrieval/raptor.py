"""RAPTOR: a tree of summaries over the chunks, searched on all its levels together (Sarthi et al., 2024; a
baseline).

Chunks are clustered by their vectors, or by their words where the index has none, and each cluster is
summarised; then the summaries are, and so upward. A summary that is found stands for its chunks. Without a
language model a summary is the sentences that are most like the whole of its cluster.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse

from conspectus import tokens
from conspectus.algorithms.similarity import Grams
from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_from, hit, run_ready
from conspectus.retrieval.vector import embedder_of, has_vectors, question_vectors
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import DescribeElement
from conspectus.text.sentences import sentences
from conspectus.text.words import terms

Floats = np.ndarray[Any, np.dtype[np.float32]]
Summarise = Callable[[Sequence[Sequence[str]]], Awaitable[list[str]]]

ROUNDS = 8
"""Rounds of k-means."""
CLUSTER = 8
"""Approximate number of chunks or summaries that are summarised together."""
LEVELS = 3
"""Maximum number of levels of summaries."""
SUMMARY_TOKENS = 150
"""Approximate length of an extracted summary in tokens."""


@dataclass(frozen=True)
class Tree:
    """Nodes are chunks, then summaries, level by level; `leaves` are the chunks under each."""

    texts: tuple[str, ...]
    leaves: tuple[tuple[int, ...], ...]
    vectors: Any
    """One row for each node, of length 1, dense or sparse."""
    words: Words | None
    """How texts become vectors where the index has none of its own."""


@dataclass(frozen=True)
class Words:
    """Vectors of texts by their words, weighted by inverse frequency, of length 1."""

    number: dict[str, int]
    weights: Floats

    @classmethod
    def of(cls, texts: Sequence[str]) -> Words:
        """Learn the words of texts."""
        frequency: Counter[str] = Counter()
        for text in texts:
            frequency.update(set(terms(text)))
        number = {term: i for i, term in enumerate(frequency)}
        counts = np.maximum(np.array(list(frequency.values())), 1)
        return cls(number, np.log(1 + len(texts) / counts).astype(np.float32))

    def vectors(self, texts: Sequence[str]) -> sparse.csr_array[Any, Any]:
        """Return the vectors of texts, of the words that are known."""
        rows = [[self.number[t] for t in terms(text) if t in self.number] for text in texts]
        starts = np.cumsum([0, *map(len, rows)])
        columns = np.array([column for row in rows for column in row], np.int64)
        ones = np.ones(len(columns), np.float32)
        matrix = sparse.csr_array((ones, columns, starts), shape=(len(texts), len(self.number)))
        matrix.sum_duplicates()
        matrix.data = (1 + np.log(matrix.data)) * self.weights[matrix.indices]
        return _unit(matrix)


def _unit(matrix: Any) -> Any:
    """Return a matrix, dense or sparse, with rows of length 1."""
    lengths = np.sqrt(np.asarray((matrix * matrix).sum(axis=1), np.float32)).ravel()
    scale = 1 / np.maximum(lengths, 1e-12)
    if isinstance(matrix, np.ndarray):
        return matrix * scale[:, None]
    return sparse.diags_array(scale).tocsr() @ matrix


def _dense(matrix: Any) -> Floats:
    return cast("Floats", matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


async def build_tree(index: Index, settings: Settings, summarise: Summarise) -> Tree:
    """Make the tree of an index."""
    words = None if has_vectors(index) else Words.of([c.text for c in index.chunks])

    def vectors_of(texts: Sequence[str]) -> Any:
        if words:
            return words.vectors(texts)
        prefix: str = index.settings["vectors"].get("passage_prefix", "")
        return embedder_of(index, settings).embed([prefix + text for text in texts])

    texts = [c.text for c in index.chunks]
    vectors: Any = words.vectors(texts) if words else np.asarray(index.arrays["vectors.chunks"], np.float32)
    leaves: list[tuple[int, ...]] = [(i,) for i in range(len(texts))]
    levels, level = [vectors], list(range(len(texts)))
    for _ in range(LEVELS):
        groups = [[level[i] for i in group] for group in clusters(vectors, CLUSTER)]
        if len(groups) < 2 or len(groups) >= len(level):
            break
        summaries = await summarise([[texts[node] for node in group] for group in groups])
        leaves += [tuple(sorted({leaf for node in group for leaf in leaves[node]})) for group in groups]
        level = list(range(len(texts), len(texts) + len(summaries)))
        texts += summaries
        vectors = vectors_of(summaries)
        levels.append(vectors)
    stacked = sparse.vstack(levels).tocsr() if words else np.concatenate(levels)
    return Tree(tuple(texts), tuple(leaves), stacked, words)


def clusters(vectors: Any, size: int) -> list[list[int]]:
    """Divide rows of length 1 into about `len / size` groups: k-means by cosine, from evenly spread rows."""
    n = int(vectors.shape[0])
    k = max(1, round(n / size))
    centres = vectors[np.linspace(0, n - 1, k).astype(int)]
    of_row = np.zeros(n, np.int64)
    for _ in range(ROUNDS):
        of_row = _dense(vectors @ centres.T).argmax(axis=1)
        member = sparse.csr_array((np.ones(n, np.float32), (of_row, np.arange(n))), shape=(k, n))
        centres = _unit(member @ vectors)
    groups = [np.flatnonzero(of_row == c).tolist() for c in range(k)]
    return [group for group in groups if group]


async def extracts(groups: Sequence[Sequence[str]]) -> list[str]:
    """Summarise each group of texts by its own sentences."""
    return [_extract(texts) for texts in groups]


def _extract(texts: Sequence[str]) -> str:
    """Return the sentences most like all of them together, in their order, within SUMMARY_TOKENS."""
    candidates = list(dict.fromkeys(text[a:b] for text in texts for a, b in sentences(text)))
    grams = Grams.of(candidates, 4).matrix
    centrality: Floats = np.asarray(grams @ np.asarray(grams.sum(axis=0)).ravel()).ravel()
    chosen: list[int] = []
    used = 0
    order: list[int] = np.argsort(-centrality, kind="stable").tolist()
    for i in order:
        used += tokens.count(candidates[i])
        if chosen and used > SUMMARY_TOKENS:
            break
        chosen.append(i)
    return " ".join(candidates[i] for i in sorted(chosen))


def model_summaries(model: Model) -> Summarise:
    """Return what has a model summarise texts; the sentences of a group stand in where that fails."""

    async def summarise(groups: Sequence[Sequence[str]]) -> list[str]:
        replies = await model.perform_all(
            [DescribeElement("these passages", "group", tuple(g)) for g in groups]
        )
        return [
            _extract(g) if isinstance(r, ModelError) else r.text for g, r in zip(groups, replies, strict=True)
        ]

    return summarise


class _Trees:
    """The trees of an open index, as far as they were made: of extracts, and of what a model wrote."""

    def __init__(self, _: Index) -> None:
        self.extracted: Tree | None = None
        self.written: Tree | None = None


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the nodes most like the question, those of a summary by their own likeness."""
    trees = index.derive(_Trees)
    trees.extracted = trees.extracted or run_ready(build_tree(index, settings, extracts))
    return _ranked(question, trees.extracted, index, settings)


def _ranked(question: str, tree: Tree, index: Index, settings: Settings) -> list[Hit]:
    query = tree.words.vectors([question]) if tree.words else question_vectors([question], index, settings)
    like: Floats = _dense(tree.vectors @ query.T).ravel()
    best: dict[int, float] = {}
    order: list[int] = np.argsort(-like, kind="stable").tolist()
    for node in order:
        if like[node] <= 0 or len(best) >= settings.search.k:
            break
        for leaf in sorted(tree.leaves[node], key=lambda c: (-float(like[c]), c)):
            best.setdefault(leaf, float(like[node]))
    return [hit(chunk, score, index) for chunk, score in list(best.items())[: settings.search.k]]


@method("raptor", help="a tree of summaries of clustered chunks", rank=rank)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the chunks that were found."""
    if model.generative:
        trees = index.derive(_Trees)
        trees.written = trees.written or await build_tree(index, settings, model_summaries(model))
        hits = _ranked(question, trees.written, index, settings)
    else:
        hits = rank(question, index, settings)
    return await answer_from(hits, question, index, model, method="raptor")
