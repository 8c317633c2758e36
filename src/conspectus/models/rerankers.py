"""Who looks a second time at the chunks that rank highest, and scores each together with the question.

    none                       nobody
    local                      `DEFAULT_MODEL`, a cross-encoder, fetched once and then run here
    local:FOLDER               a cross-encoder in a folder (`local.CrossEncoder` says what it needs)
    local:OWNER/MODEL          one of the hub, fetched once
    cohere/rerank-v3.5         a service (also jina/…, vllm/…), with its key from the environment
    http://localhost:8000/v1   a server with /rerank; the name of its model may follow after #
    model                      the language model of the settings, which rates each chunk from 0 to 10

Without a language model there is no one to rate: the chunks that hold more of a question's words, or the best sentence
by its words, are not better ones than those a ranking put first. On the questions of HotpotQA that lost up to 3
points of R@5 after BM25, and 14 after the walk.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from conspectus.errors import ModelError, UsageError
from conspectus.models import llm
from conspectus.models.base import Model
from conspectus.models.onnx import RERANKER, CrossEncoder, find_folder
from conspectus.rows import Usage
from conspectus.tasks import RatePassages

if TYPE_CHECKING:
    from conspectus.models.llm.model import Session
    from conspectus.models.llm.sender import CachingSender
    from conspectus.settings import Settings

NONE, LOCAL, MODEL = "none", "local", "model"
DEFAULT_MODEL = "cross-encoder/ms-marco-MiniLM-L6-v2"
"""What `local` alone stands for."""


class Reranker(Protocol):
    """Scores passages for a question."""

    @property
    def name(self) -> str: ...

    @property
    def usage(self) -> Usage:
        """What it took of a server of its own so far."""
        ...

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """Return how much each passage says to a question; None for one that could not be scored.

        Raises ModelError where none could.
        """
        ...


@asynccontextmanager
async def open_reranker(
    settings: Settings, folder: Path | None, *, model: Model | None = None, session: Session | None = None
) -> AsyncGenerator[Reranker | None]:
    """Open the reranker that the settings name, None for `none`.

    Replies of servers are kept in `folder`. The language model is `model`, or that of the `session`, or else is opened
    here; what a server takes goes on the books of the session, where there is one.

    Raises UsageError for a name that leads nowhere, or where what it needs is missing; BadKey where a server's key is.
    """
    name = settings.rerank.by
    kind, _, model_name = name.partition(":")
    async with AsyncExitStack() as stack:
        if name == NONE:
            yield None
        elif kind == LOCAL:
            yield _local(model_name)
        elif name == MODEL:
            rating = session.model if model is None and session else model
            if rating is None and settings.model != "extractive":
                rating = (await stack.enter_async_context(llm.open_session(settings, folder))).model
            if rating is None or not rating.generative:
                raise UsageError(
                    "settings={'rerank.by': 'model'} asks a language model to rate chunks, and without one nothing"
                    " would be the better for it: name one with model=NAME, or rerank by local or a server"
                )
            yield Rating(rating)
        else:  # the settings have refused what is none of these
            if session is None:
                opened = llm.open_sender(settings.llm, folder, llm.open_budget(settings))
                sender = await stack.enter_async_context(opened)
            else:
                sender = session.sender
            sender.budget.check(name)
            sender.clients.reranker(name)
            yield Served(name, sender)


class Served:
    """A reranker behind a server."""

    def __init__(self, name: str, sender: CachingSender) -> None:
        self.name = name
        self._sender = sender

    @property
    def usage(self) -> Usage:
        return self._sender.budget.total()

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """Return the scores of a server; see `Reranker.scores`."""
        return [*await self._sender.rerank(question, passages, self.name)]


@cache
def _local(model: str) -> CrossEncoder:
    return CrossEncoder(find_folder(model or DEFAULT_MODEL, RERANKER))


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
            ratings += [rated.get(position) for position in range(len(batch))]
        return ratings
