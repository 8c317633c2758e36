"""The papers' other baselines: answers of a model alone, and propositions (Graph RAG §V).

- `direct`, `cot`, `cot-sc` read nothing: what a language model answers by itself.
- `propositions` are statements that are retrieved, and whose chunks are returned (Chen et al., 2023). With a language
  model they are its rewriting of a chunk, without one its sentences, which need not be clear alone.

What a model writes of the chunks is written at the first question; its replies are cached, and vectors of them stored.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from conspectus.algorithms.ranking import products
from conspectus.errors import ModelError
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model, succeeded, writes
from conspectus.retrieval import Answering, method, ranking
from conspectus.retrieval.base import hits_of
from conspectus.retrieval.bm25 import TextWords
from conspectus.retrieval.raptor import derived_file, read_derived, write_derived
from conspectus.retrieval.vector import embedder_of, has_vectors, question_vectors
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import Draft, DraftAnswer, WritePropositions
from conspectus.text.language import language_of
from conspectus.text.sentences import sentences
from conspectus.text.words import name_key

Floats = np.ndarray[Any, np.dtype[np.float32]]

SAMPLES = 5
"""Number of sampled chains of thought that vote."""


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


# Propositions


@dataclass(frozen=True)
class Statements:
    """Statements: the number of the chunk of each, and their words, or their vectors where the index has some."""

    chunk: np.ndarray[Any, np.dtype[np.int64]]
    words: TextWords | None
    vectors: Floats

    def scores(self, question: str, index: Index, settings: Settings) -> Floats:
        """Return the score of each statement for a question."""
        if self.words:
            return self.words.scores(question)
        return products(self.vectors, question_vectors([question], index, settings)[0])


async def _statements_of(index: Index, model: Model, settings: Settings) -> Statements:
    """Return the sentences of every chunk under its title, or what a language model rewrites the chunk to.

    Where that fails they are the sentences alone. Vectors of what a model wrote are stored in the index's folder.
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
    """Return the statements of an open index, as far as they were read, by the model that wrote them."""
    return {}


@ranking("propositions", help="single statements are ranked, their chunks read")
async def rank_by_statements(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks of the best statements: by vectors where the index has them, else by words."""
    if has_vectors(index) and not writes(model, WritePropositions):
        query = question_vectors([question], index, settings)[0]
        similarity = products(index.arrays["vectors.sentences"], query)
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
