"""Rerankers, which score the highest-ranked chunks a second time, each together with the question.

    none                       no reranking
    local                      `DEFAULT_MODEL`, a cross-encoder, downloaded once and run in this process
    local:FOLDER               a cross-encoder in a folder (`onnx.CrossEncoder` documents the files it needs)
    local:OWNER/MODEL          a cross-encoder of the Hugging Face hub, downloaded once
    cohere/rerank-v3.5         a service (also jina/…, vllm/…), with its key from the environment
    http://localhost:8000/v1   a server with /rerank; the name of its model may follow after #
    model                      the language model of the settings, which rates each chunk from 0 to 10

There is no reranker that needs no model: reranking by how many of the question's words a chunk or its best sentence
contains makes a ranking worse. On the questions of HotpotQA it lost up to 3 points of R@5 after BM25, and 14 after the
walk.
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
"""The model that the name `local` refers to."""


class Reranker(Protocol):
    """Scores passages for a question."""

    @property
    def name(self) -> str: ...

    @property
    def usage(self) -> Usage:
        """Usage so far of a server of its own."""
        ...

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """Return how relevant each passage is to a question; None for a passage that could not be scored.

        Raises ModelError if none could be scored.
        """
        ...


@asynccontextmanager
async def open_reranker(
    settings: Settings, folder: Path | None, *, model: Model | None = None, session: Session | None = None
) -> AsyncGenerator[Reranker | None]:
    """Open the reranker named in the settings, None for `none`.

    Replies of servers are cached in `folder`. The language model is `model`, or that of `session`, or is opened here;
    the usage of a reranking server counts towards the budget of `session`, if one is given.

    Raises UsageError for an unknown name or a missing requirement; BadKey if the key of a server is missing.
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
                    "settings={'rerank.by': 'model'} needs a language model to rate chunks: name one with"
                    " model=NAME, or rerank by local or a server"
                )
            yield Rating(rating)
        else:  # a server: the settings allow no other name
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
"""Passages in one task: ratings of different tasks are comparable, and a short list is rated more carefully."""


class Rating:
    """A reranker that asks a language model by the task `RatePassages`."""

    def __init__(self, model: Model) -> None:
        self.name = model.name
        self.usage = Usage()  # the model itself counts it
        self._model = model

    async def scores(self, question: str, passages: Sequence[str]) -> list[float | None]:
        """Return the ratings; None for passages that a reply omits or whose task failed. See `Reranker.scores`."""
        batches = [tuple(passages[start : start + BATCH]) for start in range(0, len(passages), BATCH)]
        replies = await self._model.perform_all([RatePassages(question, batch) for batch in batches])
        if replies and all(isinstance(reply, ModelError) for reply in replies):
            raise next(reply for reply in replies if isinstance(reply, ModelError))
        ratings: list[float | None] = []
        for batch, reply in zip(batches, replies, strict=True):
            rated = {} if isinstance(reply, ModelError) else {r.passage: r.rating for r in reply}
            ratings += [rated.get(position) for position in range(len(batch))]
        return ratings
