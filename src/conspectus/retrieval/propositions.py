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

from conspectus.algorithms.ranking import products
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import method
from conspectus.retrieval.base import answer_from, hits_of
from conspectus.retrieval.bm25 import TextWords
from conspectus.retrieval.vector import has_vectors, question_vectors
from conspectus.rows import Answer, Chunk, Hit
from conspectus.settings import Settings
from conspectus.tasks import WritePropositions
from conspectus.text.sentences import sentences


@dataclass(frozen=True)
class Statements:
    """Statements: the number of the chunk of each, and their words."""

    chunk: np.ndarray[Any, np.dtype[np.int64]]
    words: TextWords

    @classmethod
    def read(cls, by_chunk: Sequence[Sequence[str]]) -> Statements:
        """Read the statements of every chunk."""
        chunk = [number for number, statements in enumerate(by_chunk) for _ in statements]
        texts = [statement for statements in by_chunk for statement in statements]
        return cls(np.array(chunk, np.int64), TextWords.of(texts))

    def rank(self, question: str, index: Index, settings: Settings) -> list[Hit]:
        """Return the `k` chunks of the best statements."""
        best = np.zeros(len(index.chunks), np.float32)
        np.maximum.at(best, self.chunk, self.words.scores(question))
        return hits_of(best, index, settings.search.k)


def _sentences(chunk: Chunk) -> list[str]:
    return [chunk.text[start:end] for start, end in sentences(chunk.text)]


def _sentences_with_titles(index: Index) -> Statements:
    """Return the sentences of the chunks, each with the title of its document."""
    titles = {d.id: d.title for d in index.documents}
    return Statements.read([[f"{titles[c.document_id]}: {s}" for s in _sentences(c)] for c in index.chunks])


class _Propositions:
    """What a model rewrote the chunks of an index to, once it has."""

    def __init__(self, _: Index) -> None:
        self.statements: Statements | None = None


async def model_statements(index: Index, model: Model) -> Statements:
    """Return what a model rewrites the chunks to, the sentences of one where it fails; made once for an open index."""
    cached = index.derive(_Propositions)
    if cached.statements is None:
        titles = {d.id: d.title for d in index.documents}
        replies = await model.perform_all([WritePropositions(c, titles[c.document_id]) for c in index.chunks])
        pairs = zip(index.chunks, replies, strict=True)
        by_chunk = [_sentences(c) if isinstance(reply, Exception) else reply for c, reply in pairs]
        cached.statements = Statements.read(by_chunk)
    return cached.statements


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the best sentences, by vectors where the index has them, else by words."""
    if not has_vectors(index):
        return index.derive(_sentences_with_titles).rank(question, index, settings)
    like = products(index.arrays["vectors.sentences"], question_vectors([question], index, settings)[0])
    ranges = zip(index.arrays["walk.first"].tolist(), index.arrays["walk.last"].tolist(), strict=True)
    best = [float(like[first:last].max()) if last > first else 0.0 for first, last in ranges]
    return hits_of(np.array(best), index, settings.search.k)


@method("propositions", help="single statements are ranked, their chunks read", rank=rank)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the chunks of the best statements."""
    if model.generative:
        hits = (await model_statements(index, model)).rank(question, index, settings)
    else:
        hits = rank(question, index, settings)
    return await answer_from(hits, question, index, model, method="propositions")
