"""A language model as a reranker: it rates passages from 0 to 10, a few at a time."""

from __future__ import annotations

from collections.abc import Sequence

from conspectus.errors import ModelError
from conspectus.models.base import Model
from conspectus.rows import Usage
from conspectus.tasks import RatePassages

BATCH = 10
"""Passages in one task: ratings compare between tasks, and a short list is rated with more care than a long one."""


class Rating:
    """Rates by the task `RatePassages`."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.usage = Usage()  # the model's own books have it
        self._model = model

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """Return the ratings; None where a reply left a passage out or failed. See `Reranker.scores`."""
        batches = [tuple(passages[start : start + BATCH]) for start in range(0, len(passages), BATCH)]
        replies = await self._model.perform_all([RatePassages(question, batch) for batch in batches])
        if replies and all(isinstance(reply, ModelError) for reply in replies):
            raise next(reply for reply in replies if isinstance(reply, ModelError))
        ratings: list[float | None] = []
        for batch, reply in zip(batches, replies, strict=True):
            rated = {} if isinstance(reply, ModelError) else {r.passage: r.rating for r in reply}
            ratings += [rated.get(place) for place in range(len(batch))]
        return ratings
