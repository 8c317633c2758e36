"""Reranking: a reranker scores the chunks that a method ranks highest, and reorders them.

The first `DEPTH` chunks of a ranking are scored together with the question and sorted by that score. A search returns
the `k` best; an answer uses them and then the rest of the ranking, as many as its window holds. Chunks that could not
be scored come after those that could, in their old order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from conspectus import tokens
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.models.rerankers import Reranker, open_reranker
from conspectus.retrieval import Answering, Ranking, with_depth
from conspectus.retrieval.base import pack
from conspectus.retrieval.model_wrappers import WrappedModel
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import AnswerFromContext, NextThought, Task
from conspectus.tasks.base import Context

R = TypeVar("R")
READING = (AnswerFromContext, NextThought)
"""The tasks that read the chunks of a ranking."""
DEPTH = 20
"""Number of top-ranked chunks that are reranked."""
LONG_CHUNK = 1000
"""Tokens of a long chunk: a window for reranking holds `DEPTH` chunks of this size."""


Order = list[tuple[int, float | None]]
"""Positions of passages, the best first, each with its score, or None if it could not be scored."""


async def order(question: str, passages: Sequence[str], reranker: Reranker) -> Order:
    """Score passages and return their order; of equal scores, and of missing ones, the earlier comes first."""
    scores = await reranker.scores(question, passages) if passages else []
    return sorted(enumerate(scores), key=lambda pair: (pair[1] is None, -(pair[1] or 0.0), pair[0]))


def passage(title: str, text: str) -> str:
    """Return the text of a chunk for the reranker: preceded by the title of its document."""
    return f"{title}\n{text}" if title else text


# Hits


async def reranked(question: str, hits: Sequence[Hit], reranker: Reranker, k: int) -> list[Hit]:
    """Return the `k` best hits; those that could not be scored get 0, or the lowest score if that is less."""
    ranking = await order(question, [passage(hit.title, hit.text) for hit in hits], reranker)
    least = min([0.0, *(score for _, score in ranking if score is not None)])
    return [replace(hits[i], score=least if score is None else score) for i, score in ranking[:k]]


async def rank_reranked(ranking: Ranking, question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the hits of a ranking, reordered by the reranker of the settings; raises as `open_reranker` does."""
    async with open_reranker(settings, index.folder) as reranker:
        if reranker is None:
            return ranking(question, index, settings)
        k = settings.search.k
        hits = ranking(question, index, with_depth(settings, max(DEPTH, k)))
        return await reranked(question, hits, reranker, k)


# Answers


async def answer_reranked(
    answering: Answering,
    question: str,
    index: Index,
    model: Model,
    settings: Settings,
    reranker: Reranker | None,
) -> Answer:
    """Answer by a method, from chunks in the order of the reranker, if there is one, as many as the window holds."""
    if reranker is None:
        answer = await answering(question, index, model, settings)
        unused = f"Nothing was reranked: {answer.method} does not rank chunks."
        return replace(answer, notices=(*answer.notices, unused)) if settings.rerank.enabled else answer
    limit = settings.answer.context_tokens
    wide = settings.answer.model_copy(update={"context_tokens": max(limit, DEPTH * LONG_CHUNK)})
    reranking = RerankingModel(model, index, reranker, limit)
    answer = await answering(question, index, reranking, settings.model_copy(update={"answer": wide}))
    return reranking.described(answer)


class RerankingModel(WrappedModel):
    """A model that reorders the first chunks in the context of a task, unknown to the method that uses it."""

    def __init__(self, model: Model, index: Index, reranker: Reranker, limit: int) -> None:
        """`limit` is the size of the window in tokens."""
        super().__init__(model)
        self._index = index
        self._reranker = reranker
        self._limit = limit
        self._read: Context | None = None
        self._looked_at = self._unscored = 0

    async def prepare(self, task: Task[R]) -> Task[R]:
        """Return a task with the first of its chunks in the new order, as many as the window holds."""
        if not isinstance(task, READING) or not task.context.sources:
            return cast("Task[R]", task)
        chunks = task.context.sources
        first = chunks[:DEPTH]
        titles = (self._index.document_of[chunk.document_id].title for chunk in first)
        passages = [passage(title, chunk.text) for title, chunk in zip(titles, first, strict=True)]
        ranking = await order(task.question, passages, self._reranker)
        ordered = (*(chunks[i] for i, _ in ranking), *chunks[DEPTH:])
        self._read = pack(replace(task.context, sources=ordered), self._limit)
        self._looked_at = len(first)
        self._unscored = sum(score is None for _, score in ranking)
        return cast("Any", replace(task, context=self._read))

    def described(self, answer: Answer) -> Answer:
        """Return the answer with how its chunks were reranked, and with the size of the context that was read."""
        if self._read is None:
            return answer
        by = f"the first {self._looked_at} chunks reranked by {self._reranker.name}"
        notices = answer.notices
        if self._unscored:
            unscored = f"{self._unscored} of {self._looked_at} chunks could not be scored"
            notices = (*notices, f"{unscored}; they come last of these.")
        return replace(
            answer,
            why="; ".join(part for part in (answer.why, by) if part),
            context_tokens=tokens.count(self._read.text),
            read=self._read.read,
            notices=notices,
        )
