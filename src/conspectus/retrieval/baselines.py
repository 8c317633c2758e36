"""The papers' other baselines: closed-book answers, RAPTOR, and propositions (Graph RAG §V).

- `direct`, `cot` and `cot-sc` are closed-book: the language model answers without reading anything.
- `raptor` searches a tree of summaries over the chunks on all its levels together (Sarthi et al., 2024).
- `propositions` retrieves statements and returns their chunks (Chen et al., 2023). A language model rewrites a chunk as
  statements; without one they are the sentences of the chunk, which may be unclear out of context.

Summaries and statements are written at the first question; the model's replies are cached, and their vectors stored.
"""

from __future__ import annotations

import io
import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any, cast
from zipfile import BadZipFile

import numpy as np
from scipy import sparse

from conspectus import tokens
from conspectus.algorithms.ranking import Floats, Ints, products
from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.index_models import cosines, embedder_of, has_vectors, question_vectors
from conspectus.messages import wording
from conspectus.models.base import Model, succeeded, writes
from conspectus.retrieval import Answering, method, ranking
from conspectus.retrieval.base import answer_from, extractive, hit, hits_of
from conspectus.retrieval.bm25 import TextWords
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.storage.store import DERIVED
from conspectus.tasks import Draft, DraftAnswer, SummarizePassages, WritePropositions
from conspectus.text.language import language_of
from conspectus.text.sentences import sentences
from conspectus.text.words import name_key, terms

SAMPLES = 5
"""Number of sampled chains of thought that vote."""


# Closed-book answers


def _closed_book(name: str, does: str) -> Callable[[Answering], Answering]:
    """Register a closed-book method, which needs a language model."""
    reason = f"{name} reads nothing: it asks for what a language model knows"
    return method(name, help=does, reads=(), needs={"model"}, no_preview=reason)


@_closed_book("direct", "the model answers without reading anything")
async def direct(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer directly, without reasoning."""
    return _unread(question, await model.perform(DraftAnswer(question)), "direct")


@_closed_book("cot", "the same, with step-by-step reasoning")
async def chain_of_thought(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer after reasoning step by step."""
    return _unread(question, await model.perform(DraftAnswer(question, stepwise=True)), "cot")


@_closed_book("cot-sc", "the majority of several such chains of thought")
async def self_consistency(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Return the most frequent answer of several sampled chains of thought; of equally frequent ones, the first.

    Raises the first failure if every chain failed.
    """
    samples = range(1, SAMPLES + 1)
    replies = await model.perform_all([DraftAnswer(question, stepwise=True, sample=n) for n in samples])
    drafts = succeeded(replies)
    if not drafts:
        raise next(reply for reply in replies if isinstance(reply, Exception))
    votes = Counter(name_key(draft.answer) for draft in drafts)
    most = votes.most_common(1)[0][0]
    first = next(draft for draft in drafts if name_key(draft.answer) == most)
    return _unread(question, first, "cot-sc", f"{votes[most]} of {len(drafts)} chains of thought say so")


def _unread(question: str, draft: Draft, method: str, why: str = "") -> Answer:
    """Return a draft as an answer that was made without reading anything."""
    text = f"{draft.reasoning}\n\n{draft.answer}" if draft.reasoning else draft.answer
    words = wording(language_of([question]))
    notices = words.uncited, words.unread
    return Answer(question, text, method, why=why, notices=notices, short=(draft.answer,))


# RAPTOR: chunks are clustered by their vectors, or by their words if the index has no vectors, and each cluster is
# summarised; the summaries are then clustered in turn, level by level. A retrieved summary leads to its chunks.
# Clusters are soft: Gaussian mixtures over reduced vectors. docs/papers.md lists the differences from the paper.

DIMENSIONS = 10
"""Dimensions that vectors are reduced to before they are clustered, as in RAPTOR."""
SHAPE = "spherical"
"""Covariance type of the clusters: one width for each, which a few texts suffice to fit. RAPTOR's clusters have any
shape; in 10 dimensions of a PCA, less clustered than those of UMAP, the criterion then prefers single texts."""
LIKELY = 0.1
"""Probability of a cluster above which a text belongs to it, as in RAPTOR."""
COMPONENTS = (1, 2, 3, 5, 8, 13, 21, 34, 50)
"""Numbers of clusters that the information criterion compares; RAPTOR tries every number up to 50."""
CLUSTER_TOKENS = 3500
"""Maximum tokens of a cluster; a larger one is divided again, as in RAPTOR."""
ROUNDS = 8
"""Rounds of k-means, which is used if scikit-learn is not installed."""
CLUSTER = 8
"""Approximate number of chunks or summaries in a cluster of k-means."""
LEVELS = 3
"""Maximum number of levels of summaries."""
SEED = 42
"""Random seed of the mixtures and of the reduction."""
HARD = (
    "Chunks were clustered by k-means: for soft clusters as in the paper, pip install 'conspectus[raptor]'."
)


@dataclass(frozen=True)
class Tree:
    """Nodes are the chunks, then the summaries, level by level; `leaves` are the chunks under each node."""

    texts: tuple[str, ...]
    leaves: tuple[tuple[int, ...], ...]
    vectors: Any
    """One row of norm 1 for each node, dense or sparse."""
    words: WordVectors | None
    """Word vectors that represent texts if the index has no vectors."""


@dataclass(frozen=True)
class WordVectors:
    """Vectors of texts by their words, weighted by inverse frequency, of norm 1."""

    number: dict[str, int]
    weights: Floats

    @classmethod
    def of(cls, texts: Sequence[str]) -> WordVectors:
        """Collect the words of texts and their weights."""
        frequency = Counter(term for text in texts for term in dict.fromkeys(terms(text)))
        counts = np.array(list(frequency.values()))
        number = {term: i for i, term in enumerate(frequency)}
        return cls(number, np.log(1 + len(texts) / counts).astype(np.float32))

    def of_texts(self, texts: Sequence[str]) -> sparse.csr_array[Any, Any]:
        """Return the vectors of texts over the known words."""
        rows = [[self.number[t] for t in terms(text) if t in self.number] for text in texts]
        starts = np.cumsum([0, *map(len, rows)])
        columns = np.array([column for row in rows for column in row], np.int64)
        ones = np.ones(len(columns), np.float32)
        matrix = sparse.csr_array((ones, columns, starts), shape=(len(texts), len(self.number)))
        matrix.sum_duplicates()
        matrix.data = (1 + np.log(matrix.data)) * self.weights[matrix.indices]
        return _unit(matrix)


def _unit(matrix: Any) -> Any:
    """Return a matrix, dense or sparse, with its rows scaled to norm 1."""
    lengths = np.sqrt(np.asarray((matrix * matrix).sum(axis=1), np.float32)).ravel()
    scale = 1 / np.maximum(lengths, 1e-12)
    if isinstance(matrix, np.ndarray):
        return matrix * scale[:, None]
    return sparse.diags_array(scale).tocsr() @ matrix


def _dense(matrix: Any) -> Floats:
    return cast("Floats", matrix if isinstance(matrix, np.ndarray) else matrix.toarray())


async def build_tree(index: Index, model: Model, settings: Settings) -> Tree:
    """Build the tree of an index."""
    texts = [chunk.text for chunk in index.chunks]
    sizes = [chunk.n_tokens for chunk in index.chunks]
    words = None if has_vectors(index) else WordVectors.of(texts)

    def vectors_of(summaries: Sequence[str]) -> Any:
        if words:
            return words.of_texts(summaries)
        prefix: str = index.settings["vectors"].get("passage_prefix", "")
        return embedder_of(index, settings).embed([prefix + text for text in summaries])

    stored = None if words else np.asarray(index.arrays["vectors.chunks"], np.float32)
    vectors: Any = vectors_of(texts) if stored is None else stored
    leaves: list[tuple[int, ...]] = [(i,) for i in range(len(texts))]
    levels, level = [vectors], list(range(len(texts)))
    for _ in range(LEVELS):
        groups = [[level[i] for i in group] for group in clusters(vectors, [sizes[i] for i in level])]
        if len(groups) < 2 or len(groups) >= len(level):
            break
        summaries = await _summaries([tuple(texts[node] for node in group) for group in groups], index, model)
        leaves += [tuple(sorted({leaf for node in group for leaf in leaves[node]})) for group in groups]
        level = list(range(len(texts), len(texts) + len(summaries)))
        texts += summaries
        sizes += [tokens.count(summary) for summary in summaries]
        vectors = vectors_of(summaries)
        levels.append(vectors)
    stacked = sparse.vstack(levels).tocsr() if words else np.concatenate(levels)
    return Tree(tuple(texts), tuple(leaves), stacked, words)


async def _summaries(groups: Sequence[tuple[str, ...]], index: Index, model: Model) -> list[str]:
    """Summarise each group of texts; the extractive model takes over where `model` fails."""
    tasks = [SummarizePassages(texts) for texts in groups]
    pairs = zip(tasks, await model.perform_all(tasks), strict=True)
    alone = extractive(index)
    return [await alone.perform(task) if isinstance(reply, ModelError) else reply for task, reply in pairs]


# RAPTOR: Clusters


def clusters(vectors: Any, sizes: Sequence[int]) -> list[list[int]]:
    """Return clusters of the rows of `vectors` (norm 1), each row in one or several; `sizes` are tokens of the rows."""
    mixtures = _scikit()
    if mixtures is None:
        return k_means(vectors, CLUSTER)
    tokens_of = np.array(sizes)
    every: Ints = np.arange(len(sizes))
    pending = [part for whole in mixtures.parts(vectors, every) for part in mixtures.parts(vectors, whole)]
    groups: dict[tuple[int, ...], None] = {}
    while pending:
        rows = pending.pop(0)
        if len(rows) < 2 or tokens_of[rows].sum() <= CLUSTER_TOKENS:
            groups[tuple(rows.tolist())] = None
            continue
        parts = mixtures.parts(vectors, rows)
        pending += parts if max(map(len, parts)) < len(rows) else np.array_split(rows, 2)
    return [list(group) for group in groups]


@dataclass(frozen=True)
class Mixtures:
    """Soft clusters by scikit-learn."""

    decomposition: Any
    mixture: Any

    def parts(self, vectors: Any, rows: Ints) -> list[Ints]:
        """Divide rows into as many clusters as the information criterion selects; a few rows form one cluster."""
        if len(rows) <= DIMENSIONS + 1:
            return [rows]
        dense = isinstance(vectors, np.ndarray)
        reduce = self.decomposition.PCA if dense else self.decomposition.TruncatedSVD
        size = min(DIMENSIONS, vectors.shape[1] - 1)
        reduced = reduce(size, random_state=SEED).fit_transform(vectors[rows])
        counts = [k for k in COMPONENTS if k <= len(rows) // 2]
        mixtures = (self.mixture.GaussianMixture(k, covariance_type=SHAPE, random_state=SEED) for k in counts)
        fitted = [mixture.fit(reduced) for mixture in mixtures]
        likely = min(fitted, key=lambda mixture: mixture.bic(reduced)).predict_proba(reduced) > LIKELY
        return [rows[members] for members in likely.T if members.any()]


def _scikit() -> Mixtures | None:
    try:
        return Mixtures(import_module("sklearn.decomposition"), import_module("sklearn.mixture"))
    except ModuleNotFoundError:
        return None


def k_means(vectors: Any, size: int) -> list[list[int]]:
    """Divide rows of norm 1 into about `len / size` groups by k-means on cosines, starting from evenly spaced rows."""
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


# RAPTOR: The tree of an index


async def tree_of(index: Index, model: Model, settings: Settings) -> Tree:
    """Return the tree of an index: the stored one, or else a new one, which is then stored."""
    trees, n = index.derive(_trees), len(index.chunks)
    if model.name not in trees:
        path = derived_file(index, "raptor", model, "k-means" if _scikit() is None else "mixtures")
        if path and (stored := read_derived(path)):
            tree = _joined(*stored, index)
        else:
            tree = await build_tree(index, model, settings)
            rows = {"texts": tree.texts[n:], "leaves": tree.leaves[n:]}
            write_derived(path, rows, np.zeros(0) if tree.words else tree.vectors[n:])
        trees[model.name] = tree
    return trees[model.name]


def _trees(_: Index) -> dict[str, Tree]:
    """Return a cache of the trees of an open index, by the name of the model that wrote them."""
    return {}


def _joined(rows: Any, vectors: Floats, index: Index) -> Tree:
    """Return the tree of an index from its summaries and their vectors."""
    own = [chunk.text for chunk in index.chunks]
    texts = (*own, *rows["texts"])
    leaves = (*((i,) for i in range(len(own))), *map(tuple, rows["leaves"]))
    if has_vectors(index):
        chunk_vectors = np.asarray(index.arrays["vectors.chunks"], np.float32)
        return Tree(texts, leaves, np.concatenate([chunk_vectors, vectors]), None)
    words = WordVectors.of(own)
    return Tree(texts, leaves, words.of_texts(texts), words)


# Files of what is derived at the first question


def derived_file(index: Index, kind: str, model: Model, how: str = "") -> Path | None:
    """Return the path of the file for what a model derived from a snapshot.

    None for an index that is not stored, and for a model without a name, which estimates use as a stand-in.
    """
    if index.folder is None or not index.snapshot or not model.name:
        return None
    made_by = (index.snapshot, model.name, how, str(index.settings.get("vectors", {})))
    name = f"{index.snapshot[:16]}-{sha256(chr(10).join(made_by).encode()).hexdigest()[:16]}"
    return index.folder / DERIVED / f"{kind}-{name}.npz"


def write_derived(path: Path | None, rows: Any, vectors: Floats) -> None:
    """Write rows, which JSON can represent, and their vectors; if that fails, the next process derives them again."""
    if path is None:
        return
    content = io.BytesIO()
    np.savez(content, rows=np.frombuffer(json.dumps(rows).encode(), np.uint8), vectors=vectors)
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_bytes(content.getbuffer())
        unfinished.replace(path)


def read_derived(path: Path) -> tuple[Any, Floats] | None:
    """Return the rows and vectors of a file, or None if it is missing or cannot be read."""
    try:
        with np.load(path) as arrays:
            return json.loads(arrays["rows"].tobytes()), arrays["vectors"]
    except (OSError, EOFError, ValueError, KeyError, BadZipFile):
        return None


async def rank_by_tree(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the nodes most similar to the question; those of a summary by their own score."""
    tree = await tree_of(index, model, settings)
    if tree.words:
        query: Any = tree.words.of_texts([question])
    else:
        query = question_vectors([question], index, settings)
    like: Floats = _dense(tree.vectors @ query.T).ravel()
    best: dict[int, float] = {}
    order: list[int] = np.argsort(-like, kind="stable").tolist()
    for node in order:
        if like[node] <= 0 or len(best) >= settings.search.k:
            break
        for leaf in sorted(tree.leaves[node], key=lambda c: (-float(like[c]), c)):
            best.setdefault(leaf, float(like[node]))
    return [hit(chunk, score, index) for chunk, score in list(best.items())[: settings.search.k]]


@method("raptor", help="a tree of summaries of clustered chunks", rank=rank_by_tree)
async def answer_by_tree(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the best chunks; a notice says if the clusters are not those of the paper."""
    hits = await rank_by_tree(question, index, model, settings)
    result = await answer_from(hits, question, index, model, settings, method="raptor")
    return result if _scikit() else replace(result, notices=(*result.notices, HARD))


# Propositions


@dataclass(frozen=True)
class Statements:
    """Statements: the number of each one's chunk, and their words, or their vectors if the index has vectors."""

    chunk: Ints
    words: TextWords | None
    vectors: Floats

    def scores(self, question: str, index: Index, settings: Settings) -> Floats:
        """Return the score of each statement for a question."""
        if self.words:
            return self.words.scores(question)
        return products(self.vectors, question_vectors([question], index, settings)[0])


async def _statements_of(index: Index, model: Model, settings: Settings) -> Statements:
    """Return the statements of every chunk: its sentences with its title, or what a language model rewrites it to.

    Where rewriting fails, they are the sentences without a title. Vectors are stored in the index's folder.
    """
    by_chunk = [[c.text[start:end] for start, end in sentences(c.text)] for c in index.chunks]
    titles = [index.document_of[chunk.document_id].title for chunk in index.chunks]
    if writes(model, WritePropositions):
        pairs = zip(index.chunks, titles, strict=True)
        tasks = [WritePropositions(chunk, title) for chunk, title in pairs]
        for number, reply in enumerate(await model.perform_all(tasks)):
            if not isinstance(reply, ModelError):
                by_chunk[number] = list(reply)
    else:
        for number, title in enumerate(titles):
            by_chunk[number] = [f"{title}: {text}" for text in by_chunk[number]]
    chunk = np.array([number for number, texts in enumerate(by_chunk) for _ in texts], np.int64)
    every = [text for texts in by_chunk for text in texts]
    if not has_vectors(index):
        return Statements(chunk, TextWords.of(every), np.zeros((0, 0), np.float32))
    path = derived_file(index, "propositions", model)
    stored = read_derived(path) if path else None
    if stored and stored[0] == every:
        return Statements(chunk, None, stored[1])
    prefix: str = index.settings["vectors"].get("passage_prefix", "")
    vectors = embedder_of(index, settings).embed([prefix + text for text in every])
    write_derived(path, every, vectors)
    return Statements(chunk, None, vectors)


def _statements(_: Index) -> dict[str, Statements]:
    """Return a cache of the statements of an open index, by the name of the model that wrote them."""
    return {}


@ranking("propositions", help="single statements are ranked, their chunks read")
async def rank_by_statements(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the best statements, compared by vectors if the index has them, else by words."""
    if has_vectors(index) and not writes(model, WritePropositions):
        query = question_vectors([question], index, settings)[0]
        similarity = cosines("sentences", query, index)
        ranges = zip(index.arrays["walk.first"], index.arrays["walk.last"], strict=True)
        scores = np.array([similarity[first:end].max(initial=0) for first, end in ranges])
        return hits_of(scores, index, settings.search.k)
    cached = index.derive(_statements)
    if model.name not in cached:
        cached[model.name] = await _statements_of(index, model, settings)
    statements = cached[model.name]
    best = np.zeros(len(index.chunks), np.float32)
    np.maximum.at(best, statements.chunk, statements.scores(question, index, settings))
    return hits_of(best, index, settings.search.k)
