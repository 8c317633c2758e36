"""What kept replies tell of an extraction before it is run: what is still to be asked, and what that will take.

Each chunk is taken through its conversation by its kept replies alone, as far as they go; nothing is asked. What the
chunks that come to their end took is told of the others, in proportion to their texts (the ratio estimator of survey
sampling).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING

from conspectus.community_context import CommunityContextBuilder
from conspectus.errors import ModelError
from conspectus.indexing.describe import DescribedGraph, describe
from conspectus.indexing.extract import Extracted, extract
from conspectus.indexing.reports import write_reports
from conspectus.models.llm.client import prompt_tokens
from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.sender import CachingSender
from conspectus.models.llm.wire import Completion, Feature, Request, Status
from conspectus.rows import Chunk, Community
from conspectus.settings import Settings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FEW = 8
"""Chunks of which nothing is told of the others: too few to know how much they differ."""
SURE = 2.5
"""Standard errors to either side."""


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a conversation; `completion_tokens` is None where its reply is not kept."""

    task: str
    prompt_tokens: int
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class CacheReplay:
    """How far the kept replies on a chunk go; `first` are the tokens of its first prompt as we count them."""

    chunk: Chunk
    first: int
    steps: tuple[Step, ...]
    found: Extracted

    @property
    def whole(self) -> bool:
        """Whether nothing is left to be asked."""
        return all(step.completion_tokens is not None for step in self.steps)

    def taken(self, task: str) -> tuple[int, int, int]:
        """Return the calls of a task that are kept, and the tokens of their prompts and replies."""
        kept = [(s.prompt_tokens, s.completion_tokens) for s in self.steps if s.task == task]
        told = [(asked, written) for asked, written in kept if written is not None]
        return len(told), sum(asked for asked, _ in told), sum(written for _, written in told)


async def replay(
    chunks: Sequence[Chunk], sender: CachingSender, settings: Settings, language: str
) -> list[CacheReplay]:
    """Take every chunk through its extraction by its kept replies."""
    kept = _KeptOnly(sender)
    model = ChatModel(kept, settings)
    walks: list[CacheReplay] = []
    for chunk in chunks:
        kept.steps, kept.first = [], 0
        found = await extract([chunk], model, settings.extract, language)
        walks.append(CacheReplay(chunk, kept.first, tuple(kept.steps), found))
    return walks


def found_by(walks: Sequence[CacheReplay]) -> Extracted:
    """Return what the walks found."""
    return Extracted([walk.found.graphs[0] for walk in walks], [walk.found.claims[0] for walk in walks])


async def rehearse_rest(
    graph: DescribedGraph, communities: Sequence[Community], sender: CachingSender, settings: Settings, language: str
) -> list[Step]:
    """Go on by the kept replies, from the graph that was found: a step for each description and report."""
    kept = _KeptOnly(sender)
    model = ChatModel(kept, settings)
    await describe(graph, model, language)
    await graph.done()
    limit = settings.reports.context_tokens
    tables = graph.entities.rows, graph.relationships.rows, graph.claims.rows
    gatherer = CommunityContextBuilder(communities, tables[0], tables[1], limit, tables[2])
    await write_reports(communities, gatherer, model, settings.reports, language)
    return kept.steps


def told(seen: Sequence[tuple[float, float]], unseen: Sequence[float]) -> tuple[float, float]:
    """Return between what the sum of y over the `unseen` lies, each given by its x; the `seen` are pairs of x and y."""
    total = sum(unseen)
    ratio = sum(y for _, y in seen) / sum(x for x, _ in seen)
    variance = sum((y - ratio * x) ** 2 for x, y in seen) / max(1, len(seen) - 1)
    error = SURE * sqrt(variance * len(unseen) * (1 + len(unseen) / len(seen)))
    return ratio * total - error, ratio * total + error


class _NotKept(ModelError):
    """There is no kept reply to a request."""


class _KeptOnly:
    """A sender that serves what is kept and asks for nothing; it remembers what it was asked for."""

    def __init__(self, sender: CachingSender) -> None:
        self._sender = sender
        self.steps: list[Step] = []
        self.first = 0

    async def send(self, request: Request) -> Completion:
        kept = self._sender.peek(request)
        counted = prompt_tokens(request)
        self.first = self.first or counted
        asked = (kept.prompt_tokens if kept else 0) or counted
        self.steps.append(Step(request.task, asked, kept.completion_tokens if kept else None))
        if kept is None:
            raise _NotKept("its reply is not kept")
        return kept

    async def stream(self, request: Request) -> AsyncIterator[str]:
        yield (await self.send(request)).text

    async def embed(self, texts: Sequence[str], model: str, task: str = "Embed") -> NDArray[np.float32]:
        raise _NotKept("nothing is embedded here")

    async def mark(self, request: Request, status: Status) -> None: ...

    async def keep(self, request: Request, reply: Completion) -> None: ...

    async def learn(self, model: str, feature: Feature, accepted: bool) -> None: ...

    def has(self, request: Request) -> bool:
        return self._sender.has(request)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        return self._sender.accepts(model, feature)
