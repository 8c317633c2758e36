"""How fast calls go out: the rate limiter, which follows what the server can take, and the backoff of a failed call."""

from __future__ import annotations

import asyncio
import heapq
import random
import time
from collections.abc import Callable
from itertools import count

from conspectus.errors import CallFailed, ModelError, RateLimited, ServerDown
from conspectus.models.llm.providers import LONGEST_RETRY_AFTER

BURST = 0.1
"""The part of a minute's allowance that may go at once; the rest flows, so that no minute has more."""
LONGEST_PAUSE = 60.0
"""Seconds: the limits of servers are for a minute, so that none has to be waited for longer."""


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
        self.take(-unused_tokens)
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
            if not turn.cancelled() and (seconds := self._seconds_to_wait(tokens)) > 0:
                if self._timer:
                    self._timer.cancel()
                self._timer = asyncio.get_running_loop().call_later(seconds + 0.001, self._admit)
                return
            heapq.heappop(self._waiting)
            if not turn.cancelled():
                if self._requests:
                    self._requests.take(1)
                self.take(tokens)
                self._under_way += 1
                turn.set_result(None)

    def _seconds_to_wait(self, tokens: int) -> float:
        requests = self._requests.wait(1) if self._requests else 0.0
        return max(
            self._closed_until - self._clock(), requests, self._tokens.wait(tokens) if self._tokens else 0.0
        )


class Backoff:
    """How long a call is tried: pauses that double, with jitter from its key, so that runs are alike."""

    def __init__(self, key: str, attempts: int, first_pause: float) -> None:
        self._random = random.Random(key)
        self._left = self._attempts = attempts
        self._left_limited = 5 * attempts
        self._pause = first_pause

    @property
    def attempt(self) -> int:
        """The number of the next attempt, from 1; those that a rate limit held up do not count."""
        return self._attempts - self._left + 1

    def pause(self, error: ModelError, *, answered: bool) -> float | None:
        """Return the seconds to wait before asking again; None where that is no use, or has been done enough.

        `answered` tells whether the server ever did: one that never has is not waited for.
        """
        if not (isinstance(error, CallFailed) and error.passing) and not (
            isinstance(error, ServerDown) and answered
        ):
            return None
        if isinstance(error, RateLimited):  # waiting its turn is no failure of the call
            self._left_limited -= 1
        else:
            self._left -= 1
        retry_after = error.retry_after if isinstance(error, CallFailed) else None
        if min(self._left, self._left_limited) <= 0 or (retry_after or 0.0) > LONGEST_RETRY_AFTER:
            return None
        jittered = self._pause * self._random.uniform(0.5, 1.5)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        # All calls wait for Retry-After; the jitter on top keeps them from coming back at once.
        return jittered if retry_after is None else retry_after + min(jittered, 0.25)
