"""What sends: the cache, the budget, the gate and the retries around a client for each model."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

from conspectus import tokens
from conspectus.errors import BadReply, ContextTooLong, ModelError, ServerFailed
from conspectus.models.base import Tick, no_tick, together
from conspectus.models.llm.budget import Budget, Reservation
from conspectus.models.llm.cache import FILE_NAME, Attempt, ResponseCache
from conspectus.models.llm.calls import Call, Caller, doubled_room
from conspectus.models.llm.client import Clients, prompt_tokens
from conspectus.models.llm.providers import vocabulary
from conspectus.models.llm.wire import CAPPED, Completion, Feature, Request, Status, digest
from conspectus.settings import ModelSettings

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
BATCH_TEXTS = 64
BATCH_CHARACTERS = 50_000
"""The most that goes into one request for embeddings."""
SHORTEST = 40
"""Characters of a text that is not cut in two: a server that will not read it reads nothing."""


class CachingSender:
    """Asks servers, and asks for nothing twice: the `Sender` of everything but tests.

    `replies` None keeps nothing. Use it in `async with`: it closes what it was given and what it opened.
    """

    def __init__(
        self,
        settings: ModelSettings,
        replies: ResponseCache | None,
        ledger: Budget | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        embedder: str = "",
    ) -> None:
        self.ledger = ledger or Budget(
            budget=settings.budget, budget_tokens=settings.budget_tokens, base_url=settings.base_url
        )
        self.replies = replies
        self.clients = Clients(settings, replies, environ, embedder)
        self._caller = Caller(settings, self.clients, self.ledger, replies)
        self._under_way: dict[str, asyncio.Future[None]] = {}
        if replies is not None and self.ledger.limited:
            self.ledger.add_earlier_runs(replies.spent())
            for longest in replies.longest():
                self.ledger.expect(*longest)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, the cache and the trace."""
        await self.clients.aclose()
        if self.replies is not None:
            await self.replies.aclose()
        if self.ledger.trace is not None:
            self.ledger.trace.close()

    async def send(self, request: Request) -> Completion:
        """Return the completion that is kept for a request, or ask for it; see `Sender.send`."""
        while True:
            if cached := self._kept(request):
                return cached
            if (same := self._under_way.get(request.key)) is None:
                break
            await asyncio.wait([same])
        done = self._under_way[request.key] = asyncio.get_running_loop().create_future()
        try:
            client, call = self.clients.of(request.model), self._call(request)

            async def ask(reservation: Reservation) -> Completion:
                self._check_cache()
                return reservation.marked_if_capped(await client.ask(reservation.capped(request)))

            return await self._caller.attempt(call, ask, lambda reply, took: self._keep(call, reply, took, request))
        finally:
            del self._under_way[request.key]
            done.set_result(None)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Yield the text of a completion piece by piece, or at once where it is kept; see `Sender.stream`.

        A stream that breaks after its first piece is not begun again; one that ends too early is a BadReply.
        """
        if cached := self._kept(request):
            yield cached.text
            return
        client, call = self.clients.of(request.model), self._call(request)
        patience, begun, room = self._caller.backoff(call), False, self._caller.room(call)
        while True:
            reservation, entered = await self._caller.enter(call, room)
            outcome: Completion | ModelError | None = None
            started = time.perf_counter()
            try:
                self._check_cache()
                async for piece in client.stream(reservation.capped(request)):
                    if isinstance(piece, Completion):
                        outcome = reservation.marked_if_capped(piece)
                        await self._keep(call, outcome, time.perf_counter() - started, request)
                    else:
                        begun = True
                        yield piece
            except ModelError as error:
                outcome = error
            finally:
                self._caller.leave(call, reservation, outcome)
            if isinstance(outcome, Completion):
                room = doubled_room(outcome)
                if room and not begun:  # all of it was thinking
                    continue
                if wrong := _unfinished(request, outcome):
                    raise BadReply(f"{request.model} {wrong}")
                return
            error = outcome or ServerFailed("the stream ended with no reply")
            await self._caller.failed(call, error, time.perf_counter() - started, entered, None if begun else patience)

    async def embed(
        self, texts: Sequence[str], model: str, task: str = "Embed", tick: Tick = no_tick
    ) -> NDArray[np.float32]:
        """Return one vector for each text, in an array of shape (texts, dimension); each is paid for once.

        A text that is too long for the model has the mean of the vectors of its parts. The tick is called for each
        different text.
        """
        import numpy as np

        keys = [embedding_key(model, text) for text in texts]
        vectors_by_key: dict[str, bytes] = {}
        for key in keys:
            if key not in vectors_by_key and self.replies and (cached := self.replies.get_bytes(key)) is not None:
                vectors_by_key[key] = cached
                self.ledger.count_cached(task)
                tick()
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in vectors_by_key}

        async def bought(batch: Sequence[tuple[str, str]]) -> None:
            vectors_by_key.update(await self._embedded(batch, model, task))
            for _ in batch:
                tick()

        await together(bought(batch) for batch in batches(list(missing.items())))
        rows = [np.frombuffer(vectors_by_key[key], np.float32) for key in keys]
        if len({len(row) for row in rows}) > 1:
            raise ServerFailed(
                f"{model} gives vectors of several dimensions: its kept ones are of another model; prune them"
            )
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)

    async def rerank(self, question: str, passages: Sequence[str], model: str) -> list[float]:
        """Return how much each passage says to a question, as a reranker scores it; see `rerank.scores`."""
        from conspectus.models.rerankers.served import scores

        client = self.clients.reranker(model)
        return await scores(question, passages, client, model, self._caller, self.replies, self.ledger)

    async def mark(self, request: Request, status: Status) -> None:
        """Change the status of what was last kept for a request; see `Sender.mark`."""
        if self.replies is not None:
            await self.replies.mark(request.key, status)

    async def keep(self, request: Request, reply: Completion) -> None:
        """Serve a reply that was got by asking in another way for a request from now on; see `Sender.keep`."""
        if self.replies is not None:
            attempt = (request.key, request.model, request.task, "ok", reply.text, "kept")
            await self.replies.add([Attempt(*attempt)])

    def has(self, request: Request) -> bool:
        """Return whether the reply to a request is kept."""
        return self.replies is not None and self.replies.has(request.key)

    def peek(self, request: Request) -> Completion | None:
        """Return the reply to a request that is kept, without counting it as used."""
        return self.replies.peek(request.key) if self.replies is not None else None

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Return whether a model's server takes a feature, None if not known; see `Sender.accepts`."""
        return self.clients.accepts(model, feature)

    async def learn(self, model: str, feature: Feature, accepted: bool) -> None:
        """Remember whether a model's server takes a feature; see `Sender.learn`."""
        await self.clients.learn(model, feature, accepted)

    # One call

    async def _keep(self, call: Call, reply: Completion, seconds: float, request: Request) -> Completion:
        reply = Completion(
            reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens, seconds=seconds
        )
        status: Status = "cut off" if reply.cut_off_for(request) else "ok" if reply.text.strip() else "unparsable"
        used = (reply.prompt_tokens, reply.completion_tokens)
        if self.replies is not None:
            key = (call.key, call.model, call.task)
            await self.replies.add([Attempt(*key, status, reply.text, reply.finish_reason, *used, seconds)])
        self._caller.record(call, status, *used, seconds, reply)
        return reply

    async def _embedded(self, batch: Sequence[tuple[str, str]], model: str, task: str) -> dict[str, bytes]:
        """Return the vectors of texts; those that are too long are asked for apart, and then in parts."""
        try:
            return await self._embed_batch(batch, model, task)
        except ContextTooLong:
            if len(batch) == 1:
                key, text = batch[0]
                return {key: await self._in_parts(key, text, model, task)}
        middle = len(batch) // 2
        first, second = await together(self._embedded(part, model, task) for part in (batch[:middle], batch[middle:]))
        return first | second

    async def _in_parts(self, key: str, text: str, model: str, task: str) -> bytes:
        """Return the mean of the vectors of the two halves of a text, by their lengths."""
        middle = max(text.rfind(" ", 0, len(text) // 2 + 1), 0) or len(text) // 2
        parts = [part for part in (text[:middle], text[middle:]) if part.strip()]
        if len(text) < SHORTEST or len(parts) < 2:
            raise ServerFailed(f"{model} says that a text of {len(text)} characters is too long for it: {text[:40]!r}")
        vectors = await self.embed(parts, model, task)
        import numpy as np

        mean = np.average(vectors, axis=0, weights=[len(part) for part in parts]).astype(np.float32).tobytes()
        if self.replies is not None:
            await self.replies.add([Attempt(key, model, task, "ok", mean, "kept")])
        return mean

    async def _embed_batch(self, batch: Sequence[tuple[str, str]], model: str, task: str) -> dict[str, bytes]:
        client = self.clients.of(model)
        texts = [text for _, text in batch]
        count = sum(tokens.count(text, vocabulary(model)) for text in texts) if self._caller.counted else 0
        call = Call(digest([key for key, _ in batch]), model, task, count, 0)

        async def keep(reply: tuple[list[list[float]], int], seconds: float) -> tuple[list[list[float]], int]:
            import numpy as np

            data = [np.asarray(vector, np.float32).tobytes() for vector in reply[0]]
            share = [reply[1] // len(batch) + (n < reply[1] % len(batch)) for n in range(len(batch))]
            vectors_by_key.update({key: vector for (key, _), vector in zip(batch, data, strict=True)})
            if self.replies is not None:
                how = ["", *["kept"] * (len(batch) - 1)]  # it is one call, and so counts once
                each = zip(batch, data, how, share, strict=True)
                await self.replies.add(
                    [Attempt(key, model, task, "ok", v, kind, used, 0, seconds) for (key, _), v, kind, used in each]
                )
            self._caller.record(call, "ok", reply[1], 0, seconds)
            return reply

        vectors_by_key: dict[str, bytes] = {}

        async def ask(_: Reservation) -> tuple[list[list[float]], int]:
            self._check_cache()
            return await client.embed(texts)

        await self._caller.attempt(call, ask, keep)
        return vectors_by_key

    def _check_cache(self) -> None:
        """Raise CacheFailed where the reply to the next call could not be stored."""
        if self.replies is not None:
            self.replies.check_writable()

    def _call(self, request: Request) -> Call:
        count = prompt_tokens(request) if self._caller.counted else 0
        traced = self.ledger.trace is not None and self.ledger.trace.texts
        prompt = "\n\n".join(f"[{m.role}] {m.content}" for m in request.messages) if traced else ""
        return Call(request.key, request.model, request.task, count, request.max_tokens, request.priority, prompt)

    def _kept(self, request: Request) -> Completion | None:
        cached = self.replies.get(request.key) if self.replies is not None else None
        if cached is not None:
            self.ledger.count_cached(request.task)
            if self.ledger.trace:
                self._caller.record(
                    self._call(request), "ok", cached.prompt_tokens, cached.completion_tokens, 0.0, cached
                )
        return cached


def _unfinished(request: Request, reply: Completion) -> str:
    """Return why a reply that was streamed is not whole, and what to do; an empty text where it is."""
    if reply.cut_off_for(request):
        advice = "raise llm.max_tokens" if request.max_tokens else "ask again"
        capped = ", the room that the budget left it" if reply.finish_reason == CAPPED else ""
        return f"cut its reply off after {reply.completion_tokens} tokens{capped}: {advice}"
    return "" if reply.text.strip() else "sent an empty reply: ask again"


def open_sender(
    settings: ModelSettings, folder: Path | None, ledger: Budget | None = None, embedder: str = ""
) -> CachingSender:
    """Return a sender whose replies are kept in an index's folder (nowhere, for None)."""
    return CachingSender(settings, ResponseCache(folder / FILE_NAME) if folder else None, ledger, embedder=embedder)


def embedding_key(model: str, text: str) -> str:
    """Return what the vector of a text is kept under."""
    return digest(["embedding", model, text])


def batches(items: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    """Return keys and texts as they go into one request each."""
    made: list[list[tuple[str, str]]] = []
    size = BATCH_CHARACTERS
    for key, text in items:
        if size + len(text) > BATCH_CHARACTERS or len(made[-1]) == BATCH_TEXTS:
            made.append([])
            size = 0
        made[-1].append((key, text))
        size += len(text)
    return made
