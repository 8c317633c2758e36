"""What sends: the cache, the budget, the gate and the retries around a client for each model that is asked."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from conspectus import tokens
from conspectus.errors import BadKey, ModelError, NotAccepted, RateLimited, ServerFailed, TimedOut
from conspectus.models.client import Client, HttpClient, open_session, prompt_tokens
from conspectus.models.faults import where
from conspectus.models.ledger import Ledger, Reservation
from conspectus.models.limits import Gate, Patience
from conspectus.models.presets import OWN_KEY, Endpoint, find, vocabulary
from conspectus.models.replies import FILE_NAME, Attempt, Replies
from conspectus.models.wire import Completion, Feature, Request, Status, digest
from conspectus.settings import ModelSettings

if TYPE_CHECKING:
    import aiohttp

T = TypeVar("T")
BATCH_TEXTS = 64
BATCH_CHARACTERS = 200_000
"""The most that goes into one request for embeddings."""


@dataclass(frozen=True, slots=True)
class _Call:
    """What the books, the gate and the cache need to know of a request of any kind."""

    key: str
    model: str
    task: str
    prompt_tokens: int
    max_tokens: int | None
    priority: float = 0.0
    prompt: str = ""


class CachingSender:
    """Asks servers, and asks for nothing twice: the `Sender` of everything but tests.

    `replies` None keeps nothing. Use it in `async with`: it closes what it opened, also on the way of an error.
    """

    def __init__(
        self,
        settings: ModelSettings,
        replies: Replies | None,
        ledger: Ledger | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        embedder: str = "",
    ) -> None:
        self.ledger = ledger or Ledger(budget=settings.budget, budget_tokens=settings.budget_tokens)
        self.gate = Gate(settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute)
        self.replies = replies
        self._settings = settings
        self._environ = environ
        self._embedder = embedder
        self._session: aiohttp.ClientSession | None = None
        self._clients: dict[str, Client] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._answered: set[str] = set()
        self._features: dict[str, dict[tuple[str, str], bool]] = {}
        self._under_way: dict[str, asyncio.Future[None]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections, the cache and the trace."""
        if self._session is not None:
            await self._session.close()
        if self.replies is not None:
            await self.replies.aclose()
        if self.ledger.trace is not None:
            self.ledger.trace.close()

    async def send(self, request: Request) -> Completion:
        """Return the completion that is kept for a request, or ask for it; see `Sender.send`."""
        while True:
            if kept := self._kept(request):
                return kept
            if (same := self._under_way.get(request.key)) is None:
                break
            await asyncio.wait([same])
        done = self._under_way[request.key] = asyncio.get_running_loop().create_future()
        try:
            client = self._client(request.model)
            call = self._call(request)
            return await self._attempt(
                call,
                lambda: client.ask(request),
                lambda reply, seconds: self._keep(call, reply, seconds, request),
            )
        finally:
            del self._under_way[request.key]
            done.set_result(None)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Yield the text of a completion piece by piece, or at once where it is kept; see `Sender.stream`.

        A stream that breaks after its first piece is not begun again.
        """
        if kept := self._kept(request):
            yield kept.text
            return
        client, call = self._client(request.model), self._call(request)
        patience, begun = self._patience(call), False
        while True:
            held, entered = await self._enter(call)
            outcome: Completion | ModelError | None = None
            started = time.perf_counter()
            try:
                async for piece in client.stream(request):
                    if isinstance(piece, Completion):
                        outcome = piece
                        await self._keep(call, piece, time.perf_counter() - started, request)
                    else:
                        begun = True
                        yield piece
            except ModelError as error:
                outcome = error
            finally:
                self._leave(call, held, outcome)
            if isinstance(outcome, Completion):
                return
            error = outcome or ServerFailed("the stream ended with no reply")
            await self._failed(call, error, time.perf_counter() - started, entered, None if begun else patience)

    async def embed(self, texts: Sequence[str], model: str, task: str = "Embed") -> NDArray[np.float32]:
        """Return one vector for each text, as an array of shape (texts, dimension); each text is paid for once."""
        keys = [digest(["embedding", model, text]) for text in texts]
        found: dict[str, bytes] = {}
        for key in keys:
            if key not in found and self.replies and (kept := self.replies.get_bytes(key)) is not None:
                found[key] = kept
                self.ledger.served(task)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        batches = [self._embed_batch(batch, model, task) for batch in _batches(list(missing.items()))]
        for vectors in await asyncio.gather(*batches):
            found |= vectors
        rows = [np.frombuffer(found[key], np.float32) for key in keys]
        if len({len(row) for row in rows}) > 1:
            raise ServerFailed(
                f"{model} gives vectors of several dimensions: its kept ones are of another model; prune them"
            )
        return np.stack(rows) if rows else np.zeros((0, 0), np.float32)

    async def mark(self, request: Request, status: Status) -> None:
        """Change the status of what was last kept for a request; see `Sender.mark`."""
        if self.replies is not None:
            await self.replies.mark(request.key, status)

    def accepts(self, model: str, feature: Feature) -> bool | None:
        """Return whether a model's server takes a feature, None if that is not known; see `Sender.accepts`."""
        known = self._known(model).get((model, feature))
        if known is not None:
            return known
        return None if feature in self.endpoint(model).preset.features else False

    async def learn(self, model: str, feature: Feature, accepted: bool) -> None:
        """Remember whether a model's server takes a feature; see `Sender.learn`."""
        if self._known(model).get((model, feature)) is accepted:
            return
        self._known(model)[model, feature] = accepted
        if self.replies is not None:
            await self.replies.learn(where(self.endpoint(model)), model, feature, accepted)

    def endpoint(self, model: str) -> Endpoint:
        """Return where a model is asked; raise UsageError where its name leads nowhere."""
        if model not in self._endpoints:
            own = self._settings.embedder_base_url if model == self._embedder else ""
            base_url = own or self._settings.base_url
            self._endpoints[model] = find(
                model, base_url, *([] if self._environ is None else [self._environ])
            )
        return self._endpoints[model]

    # One call

    async def _attempt(
        self,
        call: _Call,
        act: Callable[[], Awaitable[T]],
        keep: Callable[[T, float], Awaitable[T]],
    ) -> T:
        """Ask until there is a reply, or no use in asking again; keep every attempt."""
        patience = self._patience(call)
        while True:
            held, entered = await self._enter(call)
            outcome: Any = None
            started = time.perf_counter()
            try:
                # It leaves the gate once it is durable: a kill costs at most the calls that the gate let through.
                outcome = await act()
                return await keep(outcome, time.perf_counter() - started)
            except ModelError as error:
                outcome = error
            finally:
                self._leave(call, held, outcome)
            await self._failed(call, outcome, time.perf_counter() - started, entered, patience)

    async def _enter(self, call: _Call) -> tuple[Reservation, float]:
        held = await self.ledger.reserve(call.model, call.task, call.prompt_tokens, call.max_tokens)
        try:
            return held, await self.gate.enter(call.priority, held.tokens)
        except BaseException:
            self.ledger.release(held)
            raise

    def _leave(self, call: _Call, held: Reservation, outcome: object) -> None:
        used = _tokens_of(outcome)
        if used is None:
            # Stopped, timed out or cut off in the middle: whoever answers may charge for it all the same.
            lost = outcome is None or isinstance(outcome, (TimedOut, ServerFailed))
            self.ledger.release(held, lost=lost)
            self.gate.leave(0 if lost else held.tokens)
        else:
            self.ledger.settle(held, *used)
            self.gate.leave(held.tokens - sum(used))
            self.gate.widen()
            self._answered.add(self.endpoint(call.model).base_url)

    async def _keep(self, call: _Call, reply: Completion, seconds: float, request: Request) -> Completion:
        reply = Completion(
            reply.text, reply.finish_reason, reply.prompt_tokens, reply.completion_tokens, seconds=seconds
        )
        cut = reply.cut_off and request.max_tokens != 1
        status: Status = "cut off" if cut else "ok" if reply.text.strip() else "unparsable"
        used = (reply.prompt_tokens, reply.completion_tokens)
        if self.replies is not None:
            key = (call.key, call.model, call.task)
            await self.replies.add([Attempt(*key, status, reply.text, reply.finish_reason, *used, seconds)])
        self._record(call, status, *used, seconds, reply=reply.text)
        return reply

    async def _failed(
        self, call: _Call, error: ModelError, seconds: float, entered: float, patience: Patience | None
    ) -> None:
        """Keep a failed attempt and wait before the next one; raise the error where there is to be none."""
        if self.replies is not None:
            key = (call.key, call.model, call.task)
            await self.replies.add([Attempt(*key, "failed", str(error), type(error).__name__, 0, 0, seconds)])
        self._record(call, "failed", 0, 0, seconds, error=str(error))
        if isinstance(error, RateLimited):
            self.gate.narrow(entered, error.retry_after)
        if isinstance(error, NotAccepted):
            await self.learn(call.model, _feature(error.feature), False)
        answered = self.endpoint(call.model).base_url in self._answered
        pause = patience.pause(error, answered=answered) if patience else None
        if pause is None:
            raise error
        await asyncio.sleep(pause)

    async def _embed_batch(self, batch: Sequence[tuple[str, str]], model: str, task: str) -> dict[str, bytes]:
        client = self._client(model)
        texts = [text for _, text in batch]
        count = sum(tokens.count(text, vocabulary(model)) for text in texts) if self._counted else 0
        call = _Call(digest([key for key, _ in batch]), model, task, count, 0)

        async def keep(reply: tuple[list[list[float]], int], seconds: float) -> tuple[list[list[float]], int]:
            data = [np.asarray(vector, np.float32).tobytes() for vector in reply[0]]
            share = [reply[1] // len(batch) + (n < reply[1] % len(batch)) for n in range(len(batch))]
            found.update({key: vector for (key, _), vector in zip(batch, data, strict=True)})
            if self.replies is not None:
                each = zip(batch, data, share, strict=True)
                await self.replies.add(
                    [Attempt(key, model, task, "ok", v, "", used, 0, seconds) for (key, _), v, used in each]
                )
            self._record(call, "ok", reply[1], 0, seconds)
            return reply

        found: dict[str, bytes] = {}
        await self._attempt(call, lambda: client.embed(texts), keep)
        return found

    # What it knows

    @property
    def _counted(self) -> bool:
        return self.ledger.limited or self.gate.counts_tokens

    def _call(self, request: Request) -> _Call:
        count = prompt_tokens(request) if self._counted else 0
        traced = self.ledger.trace is not None and self.ledger.trace.texts
        prompt = "\n\n".join(f"[{m.role}] {m.content}" for m in request.messages) if traced else ""
        return _Call(
            request.key, request.model, request.task, count, request.max_tokens, request.priority, prompt
        )

    def _patience(self, call: _Call) -> Patience:
        return Patience(call.key, self._settings.attempts, self._settings.retry_seconds)

    def _kept(self, request: Request) -> Completion | None:
        kept = self.replies.get(request.key) if self.replies is not None else None
        if kept is not None:
            self.ledger.served(request.task)
            if self.ledger.trace:
                facts: dict[str, Any] = {
                    "prompt_tokens": kept.prompt_tokens,
                    "completion_tokens": kept.completion_tokens,
                }
                self.ledger.record(
                    request.task, request.model, request.key, "ok", seconds=0, cached=True, **facts
                )
        return kept

    def _record(
        self,
        call: _Call,
        status: Status,
        asked: int,
        written: int,
        seconds: float,
        reply: str = "",
        error: str = "",
    ) -> None:
        if self.ledger.trace:
            facts: dict[str, Any] = {
                "prompt_tokens": asked,
                "completion_tokens": written,
                "seconds": round(seconds, 4),
                "cached": False,
            }
            told: dict[str, Any] = {"error": error} if error else {}
            names = (call.task, call.model, call.key, status)
            self.ledger.record(*names, prompt=call.prompt, reply=reply, **facts, **told)

    def _known(self, model: str) -> dict[tuple[str, str], bool]:
        server = where(self.endpoint(model))
        if server not in self._features:
            self._features[server] = self.replies.features(server) if self.replies is not None else {}
        return self._features[server]

    def _client(self, model: str) -> Client:
        if model in self._clients:
            return self._clients[model]
        endpoint = self.endpoint(model)
        self.ledger.check(model)
        if endpoint.preset.needs_key and endpoint.key_variable != OWN_KEY and not endpoint.key:
            raise BadKey(f"{model} needs a key: set {endpoint.key_variable}")
        if endpoint.preset.dialect == "native":
            from conspectus.models.native import NativeClient

            self._clients[model] = NativeClient(endpoint, self._settings.timeout)
        else:
            if self._session is None:
                self._session = open_session()
            window = self._settings.context_window
            self._clients[model] = HttpClient(endpoint, self._session, self._settings.timeout, window)
        return self._clients[model]


def open_sender(
    settings: ModelSettings, folder: Path | None, ledger: Ledger | None = None, embedder: str = ""
) -> CachingSender:
    """Return a sender whose replies are kept in an index's folder (nowhere, for None)."""
    return CachingSender(settings, Replies(folder / FILE_NAME) if folder else None, ledger, embedder=embedder)


def _tokens_of(outcome: Any) -> tuple[int, int] | None:
    if isinstance(outcome, Completion):
        return outcome.prompt_tokens, outcome.completion_tokens
    if isinstance(outcome, tuple):  # vectors, and the tokens that they took
        return int(outcome[1]), 0
    return None


def _feature(name: str) -> Feature:
    return name if name in ("json_schema", "json_object", "logit_bias") else "streaming"  # pyright: ignore


def _batches(items: Sequence[tuple[str, str]]) -> list[list[tuple[str, str]]]:
    batches: list[list[tuple[str, str]]] = []
    size = BATCH_CHARACTERS
    for key, text in items:
        if size + len(text) > BATCH_CHARACTERS or len(batches[-1]) == BATCH_TEXTS:
            batches.append([])
            size = 0
        batches[-1].append((key, text))
        size += len(text)
    return batches
