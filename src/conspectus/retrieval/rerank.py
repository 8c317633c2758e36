"""Reranking: of the chunks that a method ranks highest, those that a second look at each finds the most helpful.

`DEPTH` chunks of a ranking are scored together with the question, and the `k` best go on: into the hits of a search, or
into what an answer is made from. A chunk that could not be scored stands behind those that could, in its old order.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.models.rerankers import Reranker, open_reranker
from conspectus.retrieval import RANKINGS, Answering, Ranking
from conspectus.retrieval.model_wrappers import WrappedModel
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import AnswerFromContext, NextThought, Task

if TYPE_CHECKING:
    from conspectus.models.llm.model import Session

R = TypeVar("R")
READING = (AnswerFromContext, NextThought)
"""The tasks that read the chunks of a ranking."""
DEPTH = 20
"""Number of top-ranked chunks that are reranked."""


def with_depth(settings: Settings) -> Settings:
    """Return settings by which a ranking has as many chunks as are looked at."""
    depth = max(DEPTH, settings.search.k)
    return settings.model_copy(update={"search": settings.search.model_copy(update={"k": depth})})


Order = list[tuple[int, float | None]]
"""Positions of passages, the best first, each with its score; None for one that could not be scored."""


async def order(question: str, passages: Sequence[str], reranker: Reranker) -> Order:
    """Score passages and return their order; of equal scores, and without one, the earlier goes first."""
    scores = await reranker.scores(question, passages) if passages else []
    return sorted(enumerate(scores), key=lambda pair: (pair[1] is None, -(pair[1] or 0.0), pair[0]))


def passage(title: str, text: str) -> str:
    """Return what is read of a chunk: its text under the title of its document."""
    return f"{title}\n{text}" if title else text


# Hits


async def reranked(question: str, hits: Sequence[Hit], reranker: Reranker, k: int) -> list[Hit]:
    """Return the `k` best of some hits; one that could not be scored has 0, or the lowest score if that is less."""
    ranking = await order(question, [passage(hit.title, hit.text) for hit in hits], reranker)
    least = min([0.0, *(score for _, score in ranking if score is not None)])
    return [replace(hits[i], score=least if score is None else score) for i, score in ranking[:k]]


async def rank_reranked(ranking: Ranking, question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the hits of a ranking as the reranker of the settings has them; raises as `open_reranker` does."""
    async with open_reranker(settings, index.folder) as reranker:
        if reranker is None:
            return ranking(question, index, settings)
        return await reranked(
            question, ranking(question, index, with_depth(settings)), reranker, settings.search.k
        )


# Answers


@asynccontextmanager
async def reranker_for(
    method: str,
    settings: Settings,
    folder: Path | None,
    *,
    model: Model | None = None,
    session: Session | None = None,
) -> AsyncGenerator[Reranker | None]:
    """Open the reranker of the settings for a method that ranks; None for others."""
    if method not in RANKINGS:
        yield None
        return
    async with open_reranker(settings, folder, model=model, session=session) as reranker:
        yield reranker


async def answer_reranked(
    answering: Answering,
    question: str,
    index: Index,
    model: Model,
    settings: Settings,
    reranker: Reranker | None,
) -> Answer:
    """Answer by a method, from the chunks of its ranking that the reranker finds best where there is one."""
    if reranker is None:
        answer = await answering(question, index, model, settings)
        unused = f"Nothing was reranked: {answer.method} does not rank chunks."
        return replace(answer, notices=(*answer.notices, unused)) if settings.rerank.enabled else answer
    reranking = RerankingModel(model, index, reranker, settings.search.k)
    return reranking.described(await answering(question, index, reranking, with_depth(settings)))


class RerankingModel(WrappedModel):
    """A model that reads the best chunks of a ranking alone; a method that is given it need not know."""

    def __init__(self, model: Model, index: Index, reranker: Reranker, k: int) -> None:
        super().__init__(model)
        self._index = index
        self._reranker = reranker
        self._k = k
        self._chunks = self._used = self._unscored = self._tokens_left_out = 0

    async def prepare(self, task: Task[R]) -> Task[R]:
        """Return a task with the best of its chunks, in their new order."""
        if not isinstance(task, READING) or not task.context.sources:
            return cast("Task[R]", task)
        chunks = task.context.sources
        titles = (self._index.document_of[chunk.document_id].title for chunk in chunks)
        passages = [passage(title, chunk.text) for title, chunk in zip(titles, chunks, strict=True)]
        ranking = await order(task.question, passages, self._reranker)
        best = tuple(chunks[i] for i, _ in ranking[: self._k])
        self._chunks, self._used = len(chunks), len(best)
        self._unscored = sum(score is None for _, score in ranking)
        self._tokens_left_out = sum(c.n_tokens for c in chunks) - sum(c.n_tokens for c in best)
        return cast("Any", replace(task, context=replace(task.context, sources=best)))

    def described(self, answer: Answer) -> Answer:
        """Return an answer that says how its chunks were chosen, and counts the tokens of those alone."""
        if not self._chunks:
            return answer
        best = f"read are the best {self._used} of {self._chunks} chunks, by {self._reranker.name}"
        notices = answer.notices
        if self._unscored:
            unscored = f"{self._unscored} of {self._chunks} chunks could not be scored; they come last."
            notices = (*notices, unscored)
        return replace(
            answer,
            why="; ".join(part for part in (answer.why, best) if part),
            context_tokens=answer.context_tokens - self._tokens_left_out,
            notices=notices,
        )
