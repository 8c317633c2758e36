"""What one answer takes, counted where it is taken, though many are made at once: calls, tokens, and what was read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

from conspectus.models.base import Model, Tick, no_tick
from conspectus.rows import Chunk, Report
from conspectus.tasks import Task
from conspectus.tasks.context import Context

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from conspectus.errors import ModelError
    from conspectus.models.llm.wire import Completion, Feature, Request, Sender, Status

R = TypeVar("R")
SAMPLES = 1000
"""What the number of a sampled answer counts for in the numbers of samples that a method draws by itself."""
AHEAD = 1000.0
"""What a place counts for in the priority of tasks, which methods set to less than that by themselves."""


@dataclass
class Tally:
    """What an answer took."""

    tasks: int = 0
    calls: int = 0
    """Replies of a server, those that were kept and those that could not be read among them."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    read: dict[str, int] = field(default_factory=dict[str, int])
    """Tokens of the reports and chunks that were read, by id."""


Metered = Callable[[Tally], Model]
"""Makes a model that performs for one answer and books into its tally."""


class Watched:
    """A model of which it is taken down what it is given to read.

    With a `sample` each task asks for that sample; those of an answer that is `ahead` of others go before theirs.
    """

    def __init__(self, model: Model, tally: Tally, sample: int = 0, ahead: int = 0) -> None:
        self.name = model.name
        self.generative = model.generative
        self._model = model
        self._tally = tally
        self._sample = sample
        self._ahead = ahead

    async def perform(self, task: Task[R]) -> R:
        return await self._model.perform(self._seen(task))

    async def perform_all(self, tasks: Sequence[Task[R]], tick: Tick = no_tick) -> list[R | ModelError]:
        return await self._model.perform_all([self._seen(task) for task in tasks], tick)

    def stream(self, task: Task[str]) -> AsyncIterator[str]:
        return self._model.stream(self._seen(task))

    def _seen(self, task: Task[R]) -> Task[R]:
        self._tally.tasks += 1
        self._tally.read.update((row.id, row.n_tokens) for row in _units(task))
        sample = self._sample and (SAMPLES * self._sample + task.sample if task.sample else self._sample)
        return replace(task, sample=sample or task.sample, priority=task.priority + AHEAD * self._ahead)


def _units(task: Task[Any]) -> Iterator[Report | Chunk]:
    evidence = getattr(task, "context", None)
    if isinstance(evidence, Context):
        yield from evidence.reports
        yield from evidence.sources
    for name in ("report", "chunk"):
        row = getattr(task, name, None)
        if isinstance(row, Report | Chunk):
            yield row


class MeteredSender:
    """A sender that books each completion, kept or asked for, for the answer that it is a part of."""

    def __init__(self, sender: Sender, tally: Tally) -> None:
        self._sender = sender
        self._tally = tally

    async def send(self, request: Request) -> Completion:
        completion = await self._sender.send(request)
        self._tally.calls += 1
        self._tally.prompt_tokens += completion.prompt_tokens
        self._tally.completion_tokens += completion.completion_tokens
        return completion

    def stream(self, request: Request) -> AsyncIterator[str]:
        return self._sender.stream(request)

    async def embed(self, texts: Sequence[str], model: str, task: str = "Embed") -> NDArray[np.float32]:
        return await self._sender.embed(texts, model, task)

    async def mark(self, request: Request, status: Status) -> None:
        await self._sender.mark(request, status)

    async def keep(self, request: Request, reply: Completion) -> None:
        await self._sender.keep(request, reply)

    def has(self, request: Request) -> bool:
        return self._sender.has(request)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        return self._sender.accepts(model, feature)

    async def learn(self, model: str, feature: Feature, accepted: bool) -> None:
        await self._sender.learn(model, feature, accepted)
