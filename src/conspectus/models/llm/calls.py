"""One call of any kind: within the budget, through the gate, again where that can help, and on record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from conspectus.errors import CallFailed, ModelError, NotAccepted, RateLimited, TimedOut, Unusable
from conspectus.models.llm.budget import Budget, Reservation
from conspectus.models.llm.cache import Attempt, ResponseCache
from conspectus.models.llm.clients import Clients
from conspectus.models.llm.rate_limits import Backoff, Gate
from conspectus.models.llm.wire import CAPPED, Completion, Feature, Status
from conspectus.settings import ModelSettings

T = TypeVar("T")
HOPELESS = 20
"""Calls that fail for good, with none answered, after which no more are made."""
CROWDED, NEWEST = 0.2, 0.2
"""Where good replies usually take this share of the time limit, a call that passes it stood in a queue; and how much
the newest reply counts for what is usual.
"""


@dataclass(frozen=True, slots=True)
class Call:
    """What the books, the gate and the cache need to know of a request of any kind."""

    key: str
    model: str
    task: str
    prompt_tokens: int
    max_tokens: int | None
    priority: float = 0.0
    prompt: str = ""


class Caller:
    """Makes calls; what they are and what is done with the replies is its user's business."""

    def __init__(
        self, settings: ModelSettings, clients: Clients, ledger: Budget, replies: ResponseCache | None
    ) -> None:
        self.gate = Gate(settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute)
        self._settings = settings
        self._clients = clients
        self._ledger = ledger
        self._replies = replies
        self._stopped: Unusable | None = None
        self._lost = 0
        self._usual = 0.0  # seconds of a good reply

    @property
    def counted(self) -> bool:
        """Whether the tokens of a request have to be counted before it is sent."""
        return self._ledger.limited or self.gate.counts_tokens

    def patience(self, call: Call) -> Backoff:
        """Return how long a call is tried."""
        return Backoff(call.key, self._settings.attempts, self._settings.retry_seconds)

    def room(self, call: Call) -> int:
        """Return what to set aside for the reply at the least: twice what a budget cut it off at in an earlier run."""
        if self._replies is None or not self._ledger.limited or call.max_tokens is not None:
            return 0
        return 2 * self._replies.capped(call.key)

    async def attempt(
        self,
        call: Call,
        act: Callable[[Reservation], Awaitable[T]],
        keep: Callable[[T, float], Awaitable[T]],
    ) -> T:
        """Ask until there is a reply, or no use in asking again; keep every attempt.

        `act` is given what is set aside for the call. A reply that was cut off by that is asked for again, with
        twice as much.
        """
        patience, room = self.patience(call), self.room(call)
        while True:
            held, entered = await self.enter(call, room)
            outcome: Any = None
            kept: T | None = None
            started = time.perf_counter()
            try:
                # It leaves the gate once it is durable: a kill costs at most what the gate let through.
                outcome = await act(held)
                kept = await keep(outcome, time.perf_counter() - started)
            except ModelError as error:
                outcome = error
            finally:
                self.leave(call, held, outcome)
            if not isinstance(outcome, ModelError):
                self._usual += (time.perf_counter() - started - self._usual) * NEWEST
                await asyncio.sleep(0)  # the call that takes its place goes out before this reply is read
                room = twice_as_much(outcome)
                if not room:
                    return cast("T", kept)
                continue
            await self.failed(call, outcome, time.perf_counter() - started, entered, patience)

    async def enter(self, call: Call, room: int = 0) -> tuple[Reservation, float]:
        """Wait for a call's turn and set aside what it may take; return that, and when its turn came.

        `room` are the tokens that its reply is to have at the least, where the request states no maximum.

        Raises:
            BudgetReached: the call would pass the budget.
            Unusable: a call before it showed that nothing more can be asked.
        """
        held = self._ledger.estimate(call.model, call.task, call.prompt_tokens, call.max_tokens, room)
        entered = await self.gate.enter(call.priority, taken := held.tokens)
        try:
            if self._stopped:
                raise self._stopped
            await self._ledger.reserve(held)
        except BaseException as error:
            if isinstance(error, Unusable):
                self._stopped = error
            self.gate.leave(taken)
            raise
        self.gate.take(held.tokens - taken)
        return held, entered

    def leave(self, call: Call, held: Reservation, outcome: object) -> None:
        """Make room for the next call, and book what this one took: a completion, vectors, or an error."""
        used = _tokens_of(outcome)
        if used is None:
            lost = outcome is None or (isinstance(outcome, CallFailed) and outcome.charged)
            self._ledger.release(held, lost=lost)
            self.gate.leave(0 if lost else held.tokens)
        else:
            self._ledger.settle(held, *used)
            self.gate.leave(held.tokens - sum(used))
            self.gate.widen()
            self._clients.has_answered(call.model)

    async def failed(
        self, call: Call, error: ModelError, seconds: float, entered: float, patience: Backoff | None
    ) -> None:
        """Keep a failed attempt and wait before the next one; raise the error where there is to be none."""
        if self._replies is not None:
            key = (call.key, call.model, call.task)
            await self._replies.add([Attempt(*key, "failed", str(error), type(error).__name__, 0, 0, seconds)])
        self.record(call, "failed", 0, 0, seconds, error)
        if isinstance(error, RateLimited):
            self.gate.narrow(entered, error.retry_after)
        elif isinstance(error, TimedOut) and self._crowded(call, seconds):
            self.gate.narrow(entered, None)
        if isinstance(error, NotAccepted):
            await self._clients.learn(call.model, cast("Feature", error.feature), False)
        answered = self._clients.answered(call.model)
        pause = patience.pause(error, answered=answered) if patience else None
        if pause is None:
            if not answered and call.max_tokens != 0 and not isinstance(error, NotAccepted):
                self._lost += 1  # not those for vectors, whose texts can be cut where they are too long
            if isinstance(error, Unusable):
                self._stopped = error
            elif self._lost == HOPELESS:
                self._stopped = Unusable(f"{call.model} failed on all of the first {self._lost} calls: {error}")
            raise self._stopped or error
        await asyncio.sleep(pause)

    def _crowded(self, call: Call, seconds: float) -> bool:
        """Tell whether a call that had no reply in some seconds stood in a queue, as on one's own machine."""
        return self._usual > CROWDED * seconds or not self._clients.answered(call.model)

    def record(self, call: Call, status: Status, asked: int, written: int, seconds: float, outcome: Any = None) -> None:
        """Write a line of the trace, where there is one."""
        if self._ledger.trace is None:
            return
        done = outcome if isinstance(outcome, Completion) else None
        told: dict[str, Any] = {"error": str(outcome)} if isinstance(outcome, ModelError) else {}
        self._ledger.trace.call(
            {
                "task": call.task,
                "model": call.model,
                "key": call.key,
                "status": status,
                "cached": done is not None and done.cached,
                "prompt_tokens": asked,
                "completion_tokens": written,
                "seconds": round(seconds, 4),
                **told,
            },
            call.prompt,
            done.text if done else "",
        )


def twice_as_much(outcome: object) -> int:
    """Return the room of the next attempt, where a budget cut a reply off; else 0."""
    if isinstance(outcome, Completion) and outcome.finish_reason == CAPPED:
        return 2 * outcome.completion_tokens
    return 0


def _tokens_of(outcome: Any) -> tuple[int, int] | None:
    if isinstance(outcome, Completion):
        return outcome.prompt_tokens, outcome.completion_tokens
    if isinstance(outcome, tuple):  # vectors, and the tokens that they took
        return cast("tuple[object, int]", outcome)[1], 0
    return None
