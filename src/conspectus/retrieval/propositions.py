"""Propositions: statements are retrieved, and their chunks returned (Chen et al., 2023; a baseline of Graph RAG).

Without a language model the statements of a chunk are its sentences, which need not stand alone; with one
they are its own rewriting of the chunk, made for the whole index at the first question and kept with the
other replies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from conspectus.algorithms.neighbours import products
from conspectus.algorithms.ranking import Postings, bm25, postings
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_from, hits_of
from conspectus.retrieval.vector import has_vectors, question_vectors
from conspectus.rows import Answer, Chunk, Hit
from conspectus.settings import Settings
from conspectus.tasks import WritePropositions
from conspectus.text import sentences as splitting
from conspectus.text.words import terms


@dataclass(frozen=True)
class Statements:
    """Statements with the number of the chunk of each, and their words."""

    chunk: np.ndarray[Any, np.dtype[np.int64]]
    numbers: dict[str, int]
    words: Postings
    failed: int = 0
    """Chunks that the model did not rewrite, whose sentences stand in."""

    @classmethod
    def read(cls, by_chunk: Sequence[Sequence[str]], failed: int = 0) -> Statements:
        """Read the statements of every chunk."""
        numbers: dict[str, int] = {}
        flat: list[int] = []
        owners: list[int] = []
        chunk = [i for i, statements in enumerate(by_chunk) for _ in statements]
        for statement_number, statement in enumerate(s for statements in by_chunk for s in statements):
            words = [numbers.setdefault(t, len(numbers)) for t in terms(statement)]
            flat += words
            owners += [statement_number] * len(words)
        statement_postings = postings(
            np.array(flat, np.int32), np.array(owners, np.int32), size=len(numbers), texts=len(chunk)
        )
        return cls(np.array(chunk, np.int64), numbers, statement_postings, failed)


def _cut(chunk: Chunk) -> list[str]:
    return [chunk.text[start:end] for start, end in splitting.sentences(chunk.text)]


def _sentences(index: Index) -> Statements:
    """Return the sentences of the chunks, each with the title of its document."""
    titles = {d.id: d.title for d in index.documents}
    return Statements.read([[f"{titles[c.document_id]}: {s}" for s in _cut(c)] for c in index.chunks])


class _Propositions:
    """What a model rewrote the chunks of an index to, once it has."""

    def __init__(self, _: Index) -> None:
        self.statements: Statements | None = None


async def model_statements(index: Index, model: Model) -> Statements:
    """Return what a model rewrites the chunks to; made once for an open index."""
    cached = index.derive(_Propositions)
    if cached.statements is None:
        titles = {d.id: d.title for d in index.documents}
        replies = await model.perform_all([WritePropositions(c, titles[c.document_id]) for c in index.chunks])
        by_chunk = [
            _cut(c) if isinstance(r, Exception) else r for c, r in zip(index.chunks, replies, strict=True)
        ]
        failed = sum(isinstance(r, Exception) for r in replies)
        cached.statements = Statements.read(by_chunk, failed)
    return cached.statements


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the best sentences, by vectors where the index has them, else by words."""
    if has_vectors(index):
        like = products(index.arrays["vectors.sentences"], question_vectors([question], index, settings)[0])
        first, last = index.arrays["walk.first"], index.arrays["walk.last"]
        best = [
            float(like[a:b].max()) if b > a else 0.0 for a, b in zip(first.tolist(), last.tolist(), strict=True)
        ]
        return hits_of(np.array(best), index, settings.search.k)
    return _ranked(question, index.derive(_sentences), index, settings)


def _ranked(question: str, statements: Statements, index: Index, settings: Settings) -> list[Hit]:
    query = [(statements.numbers[t], 1.0) for t in terms(question) if t in statements.numbers]
    scores = bm25(statements.words, query)
    best = np.zeros(len(index.chunks), np.float32)
    np.maximum.at(best, statements.chunk, scores)
    return hits_of(best, index, settings.search.k)


@method("propositions", help="single statements are ranked, their chunks read", rank=rank)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the chunks of the best statements."""
    if model.generative:
        hits = _ranked(question, await model_statements(index, model), index, settings)
    else:
        hits = rank(question, index, settings)
    return await answer_from(hits, question, index, model, method="propositions")
