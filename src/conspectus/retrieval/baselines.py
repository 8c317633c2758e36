"""The papers' other baselines: answers of a model alone, RAPTOR, and propositions (Graph RAG §V).

- `direct`, `cot`, `cot-sc` read nothing: what a language model answers by itself.
- `raptor` is a tree of summaries over the chunks, searched on all its levels together (Sarthi et al., 2024). Chunks are
  clustered by their vectors, or by their words where the index has none, and each cluster is summarised; then the
  summaries are, and so upward. A summary that is found leads to its chunks. Without a language model it consists of the
  sentences that are most like the whole of its cluster.
- `propositions` are statements that are retrieved, and whose chunks are returned (Chen et al., 2023). With a language
  model they are its rewriting of a chunk, without one its sentences, which need not be clear alone.

What a model writes of the chunks is written at the first question, for as long as the index is open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse

from conspectus import tokens
from conspectus.algorithms.ranking import products
from conspectus.algorithms.similarity import Grams
from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model, succeeded
from conspectus.retrieval import Answering, method, ranking
from conspectus.retrieval.base import hit, hits_of
from conspectus.retrieval.bm25 import TextWords
from conspectus.retrieval.vector import embedder_of, has_vectors, question_vectors
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import DescribeElement, Draft, DraftAnswer, WritePropositions
from conspectus.text.language import language_of
from conspectus.text.sentences import sentences
from conspectus.text.words import name_key, terms

Floats = np.ndarray[Any, np.dtype[np.float32]]

SAMPLES = 5
"""Number of sampled chains of thought that vote."""
ROUNDS = 8
"""Rounds of k-means."""
CLUSTER = 8
"""Approximate number of chunks or summaries that are summarised together."""
LEVELS = 3
"""Maximum number of levels of summaries."""
SUMMARY_TOKENS = 150
"""Approximate length of an extracted summary in tokens."""


# What a language model answers by itself


def _closed_book(name: str, does: str) -> Callable[[Answering], Answering]:
    """Register a method that reads nothing and needs a language model."""
    reason = f"{name} reads nothing: it asks for what a language model knows"
    return method(name, help=does, reads=(), needs={"model"}, no_preview=reason)


@_closed_book("direct", "the model answers without reading anything")
async def direct(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer at once."""
    return _unread(question, await model.perform(DraftAnswer(question)), "direct")


@_closed_book("cot", "the same, with step-by-step reasoning")
async def chain_of_thought(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer after reasoning step by step."""
    return _unread(question, await model.perform(DraftAnswer(question, stepwise=True)), "cot")


@_closed_book("cot-sc", "the majority of several such chains of thought")
async def self_consistency(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer what most of several sampled chains of thought come to; of equally many the first.

    Raises the first failure where every chain failed.
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


# RAPTOR


@dataclass(frozen=True)
class Tree:
    """Nodes are chunks, then summaries, level by level; `leaves` are the chunks under each."""

    texts: tuple[str, ...]
    leaves: tuple[tuple[int, ...], ...]
    vectors: Any
    """One row for each node, of length 1, dense or sparse."""
    words: WordVectors | None
    """How texts become vectors where the index has none of its own."""


@dataclass(frozen=True)
class WordVectors:
    """Vectors of texts by their words, weighted by inverse frequency, of length 1."""

    number: dict[str, int]
    weights: Floats

    @classmethod
    def of(cls, texts: Sequence[str]) -> WordVectors:
        """Learn the words of texts."""
        frequency = Counter(term for text in texts for term in dict.fromkeys(terms(text)))
        counts = np.array(list(frequency.values()))
        number = {term: i for i, term in enumerate(frequency)}
        return cls(number, np.log(1 + len(texts) / counts).astype(np.float32))

    def of_texts(self, texts: Sequence[str]) -> sparse.csr_array[Any, Any]:
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


async def build_tree(index: Index, model: Model, settings: Settings) -> Tree:
    """Make the tree of an index."""
    texts = [chunk.text for chunk in index.chunks]
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
        groups = [[level[i] for i in group] for group in clusters(vectors, CLUSTER)]
        if len(groups) < 2 or len(groups) >= len(level):
            break
        summaries = await _summaries([[texts[node] for node in group] for group in groups], model)
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


async def _summaries(groups: Sequence[Sequence[str]], model: Model) -> list[str]:
    """Summarise each group of texts: by a language model, or by its own sentences without one and where it fails."""
    if not model.generative:
        return [_extract(texts) for texts in groups]
    tasks = [DescribeElement("these passages", "group", tuple(texts)) for texts in groups]
    pairs = zip(groups, await model.perform_all(tasks), strict=True)
    return [_extract(texts) if isinstance(reply, ModelError) else reply.text for texts, reply in pairs]


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


def _trees(_: Index) -> dict[bool, Tree]:
    """Return the trees of an open index, as far as they were made, by whether a language model wrote them."""
    return {}


@ranking("raptor", help="a tree of summaries of clustered chunks")
async def rank_by_tree(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the nodes most like the question, those of a summary by their own likeness."""
    trees = index.derive(_trees)
    if model.generative not in trees:
        trees[model.generative] = await build_tree(index, model, settings)
    tree = trees[model.generative]
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


# Propositions


@dataclass(frozen=True)
class Statements:
    """Statements: the number of the chunk of each, and their words."""

    chunk: np.ndarray[Any, np.dtype[np.int64]]
    words: TextWords

    @classmethod
    async def read(cls, index: Index, model: Model) -> Statements:
        """Return the sentences of every chunk under its title, or what a language model rewrites the chunk to.

        Where that fails they are the sentences alone.
        """
        by_chunk = [[c.text[start:end] for start, end in sentences(c.text)] for c in index.chunks]
        titles = [index.document_of[chunk.document_id].title for chunk in index.chunks]
        if model.generative:
            pairs = zip(index.chunks, titles, strict=True)
            tasks = [WritePropositions(chunk, title) for chunk, title in pairs]
            for number, reply in enumerate(await model.perform_all(tasks)):
                if not isinstance(reply, ModelError):
                    by_chunk[number] = list(reply)
        else:
            for number, title in enumerate(titles):
                by_chunk[number] = [f"{title}: {text}" for text in by_chunk[number]]
        chunk = [number for number, texts in enumerate(by_chunk) for _ in texts]
        every = [text for texts in by_chunk for text in texts]
        return cls(np.array(chunk, np.int64), TextWords.of(every))


def _statements(_: Index) -> dict[bool, Statements]:
    """Return the statements of an open index, as far as they were read, by whether a language model wrote them."""
    return {}


@ranking("propositions", help="single statements are ranked, their chunks read")
async def rank_by_statements(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the best statements: by words, or of sentences by vectors where the index has them."""
    if has_vectors(index) and not model.generative:
        query = question_vectors([question], index, settings)[0]
        similarity = products(index.arrays["vectors.sentences"], query)
        ranges = zip(index.arrays["walk.first"], index.arrays["walk.last"], strict=True)
        scores = np.array([similarity[first:end].max(initial=0) for first, end in ranges])
        return hits_of(scores, index, settings.search.k)
    cached = index.derive(_statements)
    if model.generative not in cached:
        cached[model.generative] = await Statements.read(index, model)
    statements = cached[model.generative]
    best = np.zeros(len(index.chunks), np.float32)
    np.maximum.at(best, statements.chunk, statements.words.scores(question))
    return hits_of(best, index, settings.search.k)
