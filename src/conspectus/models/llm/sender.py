"""The sender: a client for each model, with the response cache, the budget, the rate limiter and retries."""

from __future__ import annotations

import asyncio
import logging
import os
import struct
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self, cast

import numpy as np

from conspectus import tokens
from conspectus.errors import (
    BadReply,
    CallFailed,
    ContextTooLong,
    ModelError,
    NotAccepted,
    RateLimited,
    ServerDown,
    ServerFailed,
    TimedOut,
    Unusable,
)
from conspectus.models.base import Tick, no_tick, together
from conspectus.models.llm.budget import Backoff, Budget, Call, RateLimiter
from conspectus.models.llm.cache import FILE_NAME, CachedReply, ResponseCache
from conspectus.models.llm.client import Clients
from conspectus.models.llm.wire import (
    BATCHED,
    CAPPED,
    Completion,
    Feature,
    Request,
    Status,
    digest,
    prompt_tokens,
    vocabulary,
)
from conspectus.settings import ModelSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

FIRST_BACKOFF = 1.0
"""Seconds of backoff before the second attempt of a call; it doubles with each further attempt."""
HOPELESS = 20
"""Number of calls that fail for good, with none answered, after which no more are made."""
BATCH_TEXTS, BATCH_CHARACTERS = 64, 50_000
"""Maximum texts and characters in one request for embeddings: 64 sentences of podcasts have some 7,000 characters, so
that repeating a request costs little; some 20 chunks fit."""
BATCH_PASSAGES = 32
"""Maximum passages in one request to a reranker: what servers accept by default."""
SHORTEST = 40
"""Characters below which a text is not cut in two: a server that refuses such a text accepts none."""
_SCORE = struct.Struct("<d")
log = logging.getLogger("conspectus")
Batch = Sequence[tuple[str, str]]
"""Texts of one request, each preceded by the key under which its result is cached."""


@dataclass(frozen=True)
class _Work:
    """A function to apply to many texts, and the model that it asks; `question` is sent along with the texts."""

    model: str
    task: str
    ask: Callable[[Sequence[str]], Awaitable[tuple[list[bytes], int]]]
    """Takes texts; returns the bytes to cache for each, and the number of tokens used."""
    tick: Tick = no_tick
    question: str = ""


class TakesRequests(Protocol):
    """The methods of `batches.Batches` that a sender uses; they are documented there."""

    async def add(self, request: Request) -> None: ...
    def is_first(self, key: str) -> bool: ...
    def stop(self, failure: ModelError) -> None: ...
    async def aclose(self) -> None: ...


class CachingSender:
    """Sends requests to servers, each only once, since replies are cached: the `Sender` used outside of tests.

    With `replies` None nothing is cached. Use it in `async with`, which closes connections, the cache and the trace.
    """

    def __init__(
        self,
        settings: ModelSettings,
        replies: ResponseCache | None,
        budget: Budget | None = None,
        *,
        environ: Mapping[str, str] = os.environ,
        embedder: str = "",
    ) -> None:
        self.budget = budget or Budget(
            budget=settings.budget, budget_tokens=settings.budget_tokens, base_url=settings.base_url
        )
        self.replies = replies
        self.clients = Clients(settings, replies, environ, embedder)
        self.attempts = settings.attempts
        self._limiter = RateLimiter(
            settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute
        )
        self.batches: TakesRequests | None = None
        """Takes requests if calls are made in batches."""
        self.calls_under_way = 0
        self.under_way: dict[str, asyncio.Future[None]] = {}
        """Futures of the requests that are being sent, by their keys."""
        self._stopped: Unusable | None = None
        self._failures = 0
        self._announced: dict[str, int] = {}
        """For each address that does not answer, the number of the last attempt that was logged."""
        if replies is not None and self.budget.limited:
            self.budget.add_earlier_runs(replies.spent())
            for longest in replies.longest():
                self.budget.expect(*longest)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections, the cache and the trace."""
        if self.batches is not None:
            await self.batches.aclose()
        await self.clients.aclose()
        if self.replies is not None:
            await self.replies.aclose()
        if self.budget.trace is not None:
            self.budget.trace.close()

    # Replies

    async def send(self, request: Request) -> Completion:
        """Return the cached completion of a request, or ask the server for it.

        A completion that was cut off is returned but not served from the cache: sending the request again asks again.

        Raises:
            NotAccepted: the server refuses a feature of the request, which is recorded.
            ModelError: there is no completion.
            Waiting: the request is part of a batch; send it again when the batch is answered.
        """
        while True:
            if cached := self._cached(request):
                return cached
            if (same := self.under_way.get(request.key)) is None:
                break
            await asyncio.wait([same])
        done = self.under_way[request.key] = asyncio.get_running_loop().create_future()
        try:
            if self.batches is not None:
                await self.batches.add(request)
            pieces = [piece async for piece in self._ask(request, stream=False)]
            return cast("Completion", pieces[-1])
        except Unusable as error:
            if self.batches is not None:
                self.batches.stop(error)
            raise
        finally:
            del self.under_way[request.key]
            done.set_result(None)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Yield the text of a completion piece by piece, or in one piece if it is cached.

        A stream that fails after its first piece is not retried. Raises BadReply if the reply is cut off or empty.
        """
        if cached := self._cached(request):
            yield cached.text
            return
        async for piece in self._ask(request, stream=True):
            if isinstance(piece, str):
                yield piece
            elif piece.cut_off_for(request):
                capped = ", the room that the budget left it" if piece.finish_reason == CAPPED else ""
                advice = "raise llm.max_tokens" if request.max_tokens else "ask again"
                cut = f"cut its reply off after {piece.completion_tokens} tokens{capped}"
                raise BadReply(f"{request.model} {cut}: {advice}")
            elif not piece.text.strip():
                raise BadReply(f"{request.model} sent an empty reply: ask again")

    async def _ask(self, request: Request, *, stream: bool) -> AsyncIterator[str | Completion]:
        """Ask a server; yield the pieces of its reply if it is streamed, and at the end the whole reply.

        If the cap of the budget cuts the reply off before anything is shown, it is asked again with a larger cap.
        """
        client, call = self.clients.of(request.model), self.call_of(request)
        reply: Completion | None = None
        while reply is None:
            async with self._attempt(call):
                # The cache key remains that of the request without the cap.
                capped = replace(request, max_tokens=call.cap) if call.cap else request
                async for piece in client.reply(capped, stream=stream):
                    if isinstance(piece, Completion):
                        reply = await self.store(call, piece, request)
                    else:
                        call.again = False
                        yield piece
            if call.capped and call.again:
                reply = None
        yield reply

    async def reject(self, request: Request) -> None:
        """Mark the cached reply to a request as unparsable, so that it is not served again."""
        if self.replies is not None:
            await self.replies.reject(request.key)

    async def keep(self, request: Request, reply: Completion) -> None:
        """Cache a reply that was obtained by another request as the reply to this one."""
        await self._cache(CachedReply(request.key, request.model, request.task, "ok", reply.text, "kept"))

    def peek(self, request: Request) -> Completion | None:
        """Return the cached reply to a request, None if there is none, without counting it as used."""
        return self.replies.get(request.key) if self.replies is not None else None

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Return False if a model's server is known to refuse a feature, else None."""
        return self.clients.accepts(model, feature)

    def _cached(self, request: Request) -> Completion | None:
        cached = self.replies.get(request.key) if self.replies is not None else None
        if cached is not None and (self.batches is None or self.batches.is_first(request.key)):
            self.budget.count_cached(request.task)
            if self.budget.trace:
                used = cached.prompt_tokens, cached.completion_tokens
                row = CachedReply(request.key, request.model, request.task, "ok", cached.text, "", *used)
                self.budget.trace.write(row, self.call_of(request).prompt, cached=True)
        return cached

    async def store(self, call: Call, reply: Completion, request: Request) -> Completion:
        """Store the reply to a call and return it, marked as CAPPED where the token cap cut it off."""
        call.used = reply.prompt_tokens, reply.completion_tokens
        call.capped = call.cap is not None and reply.cut_off and reply.completion_tokens >= call.cap
        reason = CAPPED if call.capped else reply.finish_reason
        reply = replace(reply, finish_reason=reason, seconds=call.seconds)
        status: Status = "ok" if reply.text.strip() else "unparsable"
        if reply.cut_off_for(request):
            status = "cut off"
        elif call.batched:
            reason = BATCHED
        await self._record(call, _row(call, status, reply.text, reason))
        return reply

    # Vectors and scores

    async def embed(
        self, texts: Sequence[str], model: str, task: str = "Embed", tick: Tick = no_tick
    ) -> NDArray[np.float32]:
        """Return one vector for each text, in an array of shape (texts, dimension); each is cached, and paid for once.

        A text that is too long for the model gets the mean of the vectors of its parts. `tick` is called once for each
        distinct text.
        """
        client = self.clients.of(model)

        async def ask(texts: Sequence[str]) -> tuple[list[bytes], int]:
            vectors, used = await client.embed(texts)
            return [np.asarray(vector, np.float32).tobytes() for vector in vectors], used

        keys = [embedding_key(model, text) for text in texts]
        data = await self._each(
            dict(zip(keys, texts, strict=True)), _Work(model, task, ask, tick), BATCH_TEXTS
        )
        rows = [np.frombuffer(data[key], np.float32) for key in keys]
        if len({len(row) for row in rows}) > 1:
            raise ServerFailed(
                f"{model} gives vectors of several dimensions: its cached ones are of another model; prune the cache"
            )
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)

    async def rerank(self, question: str, passages: Sequence[str], model: str) -> list[float]:
        """Return a reranker's score of how relevant each passage is to a question; each is paid for once."""
        client = self.clients.reranker(model)

        async def ask(texts: Sequence[str]) -> tuple[list[bytes], int]:
            scores, used = await client.rerank(question, texts)
            return [_SCORE.pack(score) for score in scores], used

        keys = [digest(["rerank", model, question, passage]) for passage in passages]
        work = _Work(model, "Rerank", ask, question=question)
        data = await self._each(dict(zip(keys, passages, strict=True)), work, BATCH_PASSAGES)
        return [_SCORE.unpack(data[key])[0] for key in keys]

    async def _each(self, texts: Mapping[str, str], work: _Work, most: int) -> dict[str, bytes]:
        """Return the bytes for each text by key, from the cache or by `work`, with at most `most` texts per request."""
        cached, missing = dict[str, bytes](), list[tuple[str, str]]()
        for key, text in texts.items():
            if self.replies is not None and (data := self.replies.get_bytes(key)) is not None:
                cached[key] = data
                self.budget.count_cached(work.task)
                work.tick()
            else:
                missing.append((key, text))

        async def add(batch: Batch) -> None:
            """Ask for a batch; if it is too long, ask for each text alone, and for a text that is too long in parts."""
            try:
                cached.update(await self._ask_batch(batch, work))
            except ContextTooLong:
                if work.question:
                    raise
                if len(batch) > 1:
                    await together(add([item]) for item in batch)
                    return
                key, text = batch[0]
                cached[key] = await self._embed_in_parts(key, text, work)
            for _ in batch:
                work.tick()

        await together(map(add, batches(missing, most)))
        return cached

    async def _ask_batch(self, batch: Batch, work: _Work) -> dict[str, bytes]:
        """Ask for each text of a batch, and return the bytes by key."""
        keys, texts = [key for key, _ in batch], [text for _, text in batch]
        counted = (*texts, work.question) if self._counts_tokens else ()
        count = sum(tokens.count(text, vocabulary(work.model)) for text in counted)
        call = Call(digest(keys), work.model, work.task, count, 0)
        while True:
            async with self._attempt(call):
                data, used = await work.ask(texts)
                call.used = used, 0
                first, *others = zip(keys, data, strict=True)
                # A batch is one call, so only the first text counts as one.
                free = [CachedReply(key, work.model, work.task, "ok", value, "kept") for key, value in others]
                await self._record(call, _row(call, "ok", first[1])._replace(key=first[0]), *free)
                return dict(zip(keys, data, strict=True))

    async def _embed_in_parts(self, key: str, text: str, work: _Work) -> bytes:
        """Return the mean of the vectors of the two halves of a text, weighted by their lengths."""
        middle = max(text.rfind(" ", 0, len(text) // 2 + 1), 0) or len(text) // 2
        parts = [part for part in (text[:middle], text[middle:]) if part.strip()]
        if len(text) < SHORTEST or len(parts) < 2:
            raise ServerFailed(
                f"{work.model} says that a text of {len(text)} characters is too long for it: {text[:40]!r}"
            )
        vectors = await self.embed(parts, work.model, work.task)
        mean = np.average(vectors, axis=0, weights=[len(part) for part in parts]).astype(np.float32).tobytes()
        await self._cache(CachedReply(key, work.model, work.task, "ok", mean, "kept"))
        return mean

    # One call of any kind

    @property
    def _counts_tokens(self) -> bool:
        return self.budget.limited or self._limiter.tokens is not None

    def call_of(self, request: Request) -> Call:
        """Return a request in the form that the budget, the rate limiter and the cache use."""
        count = prompt_tokens(request) if self._counts_tokens else 0
        traced = self.budget.trace is not None and self.budget.trace.texts
        prompt = "\n\n".join(f"[{m.role}] {m.content}" for m in request.messages) if traced else ""
        return Call(
            request.key, request.model, request.task, count, request.max_tokens, request.priority, prompt
        )

    @asynccontextmanager
    async def _attempt(self, call: Call) -> AsyncGenerator[None]:
        """Enter the rate limiter for a call; the body of the `async with` stores the reply and sets `call.used`.

        After a temporary failure this waits and returns, and the caller repeats the call; other failures are raised.

        Raises:
            BudgetReached: the call would exceed the budget.
            Unusable: an earlier call showed that nothing more can be asked.
        """
        await self._enter(call)
        self.calls_under_way += 1
        failure: ModelError | None = None
        try:
            # The call leaves the limiter only when its reply is durable: a kill loses at most the calls in progress.
            if self.replies is not None:
                self.replies.check_writable()
            yield
        except ModelError as error:
            failure = error
        finally:
            self.calls_under_way -= 1
            lost = failure is None or (isinstance(failure, CallFailed) and failure.charged)
            self.budget.settle(call, lost=lost)
            if call.used is None:
                self._limiter.leave(0 if lost else call.most.tokens)
            else:
                self._limiter.leave(call.most.tokens - sum(call.used))
                self._limiter.widen()
                address = self.clients.endpoint(call.model).base_url
                self.clients.answered.add(address)
                self._announced.pop(address, None)
        if failure is None:
            await asyncio.sleep(0)  # the next call goes out before this reply is read
        else:
            await self._failed(call, failure)

    async def _enter(self, call: Call) -> None:
        call.used, call.capped = None, False
        self.budget.check(call.model)
        self.budget.assess(call)
        call.entered = await self._limiter.enter(call.priority, taken := call.most.tokens)
        try:
            if self._stopped:
                raise self._stopped
            await self.budget.reserve(call)
        except BaseException as error:
            if isinstance(error, Unusable):
                self._stopped = error
            self._limiter.leave(taken)
            raise
        self._limiter.take(call.most.tokens - taken)
        call.started = time.perf_counter()

    async def _failed(self, call: Call, error: ModelError) -> None:
        """Store a failed attempt and wait before the next one; raise the error if there is no next attempt."""
        backoff = call.backoff = call.backoff or Backoff(call.key, self.attempts, FIRST_BACKOFF)
        await self._record(call, _row(call, "failed", str(error), type(error).__name__))
        if isinstance(error, (RateLimited, TimedOut)):
            self._limiter.narrow(call.entered, error.retry_after)
        if isinstance(error, NotAccepted):
            await self.clients.refuse(call.model, cast("Feature", error.feature))
        at = self.clients.endpoint(call.model)
        answered = at.base_url in self.clients.answered
        pause = backoff.pause(error, answered=answered) if call.again else None
        if pause is None:
            if not answered and call.max_tokens != 0 and not isinstance(error, NotAccepted):
                self._failures += 1  # not for vectors: texts that are too long are cut and sent again
            if isinstance(error, Unusable):
                self._stopped = error
            elif self._failures == HOPELESS:
                self._stopped = Unusable(f"{call.model} failed on all of the first {HOPELESS} calls: {error}")
            raise self._stopped or error
        # A single failure of one call says nothing about the server, unless the server is down. Each further attempt is
        # logged once per address, whichever call makes it.
        n = backoff.attempt
        silent = isinstance(error, ServerDown) or (n > 2 and isinstance(error, (TimedOut, ServerFailed)))
        if silent and n > self._announced.get(at.base_url, 0):
            self._announced[at.base_url] = n
            log.warning("No answer from %s, trying again (%d of %d).", at.server, n, backoff.attempts)
        await asyncio.sleep(pause)

    async def _record(self, call: Call, *rows: CachedReply) -> None:
        """Cache the outcome of a call, and write the first of the rows into the trace."""
        await self._cache(*rows)
        if self.budget.trace:
            self.budget.trace.write(rows[0], call.prompt)

    async def _cache(self, *rows: CachedReply) -> None:
        if self.replies is not None:
            await self.replies.add(rows)


def _row(call: Call, status: Status, reply: str | bytes, reason: str = "") -> CachedReply:
    used = call.used or (0, 0)
    return CachedReply(call.key, call.model, call.task, status, reply, reason, *used, call.seconds)


def open_sender(
    settings: ModelSettings, folder: Path | None, budget: Budget | None = None, embedder: str = ""
) -> CachingSender:
    """Return a sender whose replies are cached in an index's folder (nowhere, for None)."""
    return CachingSender(
        settings, ResponseCache(folder / FILE_NAME) if folder else None, budget, embedder=embedder
    )


def embedding_key(model: str, text: str) -> str:
    """Return the key under which the vector of a text is cached."""
    return digest(["embedding", model, text])


def batches(
    items: Iterable[tuple[str, str]], most: int = BATCH_TEXTS, characters: int = BATCH_CHARACTERS
) -> list[list[tuple[str, str]]]:
    """Group keys and texts into batches for one request each, of at most `most` texts and `characters` characters."""
    made: list[list[tuple[str, str]]] = []
    size = characters
    for key, text in items:
        if size + len(text) > characters or len(made[-1]) == most:
            made.append([])
            size = 0
        made[-1].append((key, text))
        size += len(text)
    return made
