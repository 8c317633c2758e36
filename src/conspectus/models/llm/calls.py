"""One call of any kind: within the budget, through the rate limiter, again where that can help, and on record."""

from __future__ import annotations

import asyncio
import heapq
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeVar, cast

from conspectus.errors import CallFailed, ModelError, NotAccepted, RateLimited, ServerDown, TimedOut, Unusable
from conspectus.models.llm.budget import Budget, Reservation
from conspectus.models.llm.cache import Attempt, ResponseCache
from conspectus.models.llm.client import Clients
from conspectus.models.llm.http_errors import LONGEST_RETRY_AFTER
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
        self.rate_limiter = RateLimiter(settings.concurrency, settings.requests_per_minute, settings.tokens_per_minute)
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
        return self._ledger.limited or self.rate_limiter.counts_tokens

    def backoff(self, call: Call) -> Backoff:
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
        patience, room = self.backoff(call), self.room(call)
        while True:
            reservation, entered = await self.enter(call, room)
            outcome: Any = None
            stored: T | None = None
            started = time.perf_counter()
            try:
                # It leaves the gate once it is durable: a kill costs at most what the gate let through.
                outcome = await act(reservation)
                stored = await keep(outcome, time.perf_counter() - started)
            except ModelError as error:
                outcome = error
            finally:
                self.leave(call, reservation, outcome)
            if not isinstance(outcome, ModelError):
                self._usual += (time.perf_counter() - started - self._usual) * NEWEST
                await asyncio.sleep(0)  # the call that takes its place goes out before this reply is read
                room = doubled_room(outcome)
                if not room:
                    return cast("T", stored)
                continue
            await self.failed(call, outcome, time.perf_counter() - started, entered, patience)

    async def enter(self, call: Call, room: int = 0) -> tuple[Reservation, float]:
        """Wait for a call's turn and set aside what it may take; return that, and when its turn came.

        `room` are the tokens that its reply is to have at the least, where the request states no maximum.

        Raises:
            BudgetReached: the call would pass the budget.
            Unusable: a call before it showed that nothing more can be asked.
        """
        reservation = self._ledger.estimate(call.model, call.task, call.prompt_tokens, call.max_tokens, room)
        entered = await self.rate_limiter.enter(call.priority, taken := reservation.tokens)
        try:
            if self._stopped:
                raise self._stopped
            await self._ledger.reserve(reservation)
        except BaseException as error:
            if isinstance(error, Unusable):
                self._stopped = error
            self.rate_limiter.leave(taken)
            raise
        self.rate_limiter.take(reservation.tokens - taken)
        return reservation, entered

    def leave(self, call: Call, reservation: Reservation, outcome: object) -> None:
        """Make room for the next call, and book what this one took: a completion, vectors, or an error."""
        used = _tokens_of(outcome)
        if used is None:
            lost = outcome is None or (isinstance(outcome, CallFailed) and outcome.charged)
            self._ledger.release(reservation, lost=lost)
            self.rate_limiter.leave(0 if lost else reservation.tokens)
        else:
            self._ledger.settle(reservation, *used)
            self.rate_limiter.leave(reservation.tokens - sum(used))
            self.rate_limiter.widen()
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
            self.rate_limiter.narrow(entered, error.retry_after)
        elif isinstance(error, TimedOut) and self._crowded(call, seconds):
            self.rate_limiter.narrow(entered, None)
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
        details: dict[str, Any] = {"error": str(outcome)} if isinstance(outcome, ModelError) else {}
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
                **details,
            },
            call.prompt,
            done.text if done else "",
        )


def doubled_room(outcome: object) -> int:
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


BURST = 0.1
"""The part of a minute's allowance that may go at once; the rest flows, so that no minute has more."""
LONGEST_PAUSE = 60.0


class Bucket:
    """A token bucket that lets through at most `per_minute` in any minute, however it starts.

    More than it ever holds passes when it is full, and is paid back before anything else passes.
    """

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._size = max(1.0, per_minute * BURST)
        self._rate = per_minute * (1 - BURST) / 60
        self._level = self._size
        self._clock = clock
        self._at = clock()

    def wait(self, amount: float) -> float:
        """Return the seconds until an amount can be taken."""
        now = self._clock()
        self._level = min(self._size, self._level + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(amount, self._size) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        """Take an amount; giving a negative one puts back what was not used."""
        self._level -= amount


class RateLimiter:
    """Lets calls through, those of the highest priority first, as fast as the limits and the server allow.

    The number of calls under way halves when the server says that there are too many, at most once for all
    that were sent together, and grows back by one for as many good replies as it lets through at once.
    """

    def __init__(
        self,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = self.width = float(concurrency)
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._clock = clock
        self._waiting: list[tuple[float, int, int, asyncio.Future[None]]] = []
        self._serial = count()
        self._under_way = 0
        self._closed_until = self._narrowed_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    @property
    def counts_tokens(self) -> bool:
        return self._tokens is not None

    async def enter(self, priority: float = 0.0, tokens: int = 0) -> float:
        """Wait for one's turn and return the moment it came, for `narrow`; `leave` has to follow."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-priority, next(self._serial), tokens, turn))
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            raise
        return self._clock()

    def leave(self, unused_tokens: int = 0) -> None:
        """Make room for the next call, and give back what of its tokens was not used after all."""
        self._under_way -= 1
        if self._tokens:
            self._tokens.take(-unused_tokens)
        self._admit()

    def take(self, tokens: int) -> None:
        """Take more tokens for a call under way, which turned out to need them."""
        if self._tokens:
            self._tokens.take(tokens)

    def narrow(self, entered: float, pause: float | None) -> None:
        """Let fewer through, after the pause that the server asked for; `entered` is of the refused call."""
        now = self._clock()
        if entered >= self._narrowed_at:
            self.width, self._narrowed_at = max(1.0, self.width / 2), now
        self._closed_until = max(self._closed_until, now + (pause or 0.0))

    def widen(self) -> None:
        """Let more through again, after a good reply."""
        if self.width < self._most:
            self.width = min(self._most, self.width + 1 / self.width)
            self._admit()

    def _admit(self) -> None:
        while self._waiting and self._under_way < int(self.width):
            _, _, tokens, turn = self._waiting[0]
            if turn.cancelled():
                heapq.heappop(self._waiting)
                continue
            if (seconds := self._seconds_to_wait(tokens)) > 0:
                self._look_again(seconds)
                return
            heapq.heappop(self._waiting)
            if self._requests:
                self._requests.take(1)
            if self._tokens:
                self._tokens.take(tokens)
            self._under_way += 1
            turn.set_result(None)

    def _seconds_to_wait(self, tokens: int) -> float:
        seconds = self._closed_until - self._clock()
        if self._requests:
            seconds = max(seconds, self._requests.wait(1))
        if self._tokens:
            seconds = max(seconds, self._tokens.wait(tokens))
        return seconds

    def _look_again(self, seconds: float) -> None:
        if self._timer:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(seconds + 0.001, self._admit)


class Backoff:
    """How long a call is tried: pauses that double, with jitter from its key, so that runs are alike."""

    def __init__(self, key: str, attempts: int, first_pause: float) -> None:
        self._random = random.Random(key)
        self._left = attempts
        self._left_limited = 5 * attempts
        self._pause = first_pause

    def pause(self, error: ModelError, *, answered: bool) -> float | None:
        """Return the seconds to wait before asking again; None where that is no use, or has been done enough.

        `answered` tells whether the server ever did: one that never has is not waited for.
        """
        if not (isinstance(error, CallFailed) and error.passing) and not (isinstance(error, ServerDown) and answered):
            return None
        if isinstance(error, RateLimited):  # waiting its turn is no failure of the call
            self._left_limited -= 1
        else:
            self._left -= 1
        asked = error.retry_after if isinstance(error, CallFailed) else None
        if min(self._left, self._left_limited) <= 0 or (asked or 0.0) > LONGEST_RETRY_AFTER:
            return None
        jittered = self._pause * self._random.uniform(0.5, 1.5)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        # A whole gate waits for Retry-After; the jitter on top keeps calls from coming back all at once.
        return jittered if asked is None else asked + min(jittered, 0.25)
