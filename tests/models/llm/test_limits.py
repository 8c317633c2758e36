from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import CallFailed, RateLimited, Refused, ServerDown, ServerFailed
from conspectus.models.llm.budget import LONGEST_PAUSE, Backoff, Bucket, RateLimiter


class Clock:
    """A clock that only the test advances."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@given(
    per_minute=st.integers(1, 200),
    idle=st.lists(st.floats(0, 90), min_size=1, max_size=60),
)
def test_no_minute_has_more_than_its_allowance(per_minute: int, idle: list[float]):
    clock = Clock()
    bucket = Bucket(per_minute, clock)
    taken: list[float] = []
    for pause in idle:
        clock.now += pause
        for _ in range(per_minute // 5 + 1):  # as many as go at once, then as fast as they go
            clock.now += bucket.wait(1)
            bucket.take(1)
            taken.append(clock.now)

    for n, start in enumerate(taken):
        assert sum(start <= moment < start + 60 - 1e-6 for moment in taken[n:]) <= per_minute


def test_an_amount_greater_than_all_that_is_ever_held_passes_and_is_paid_back():
    clock = Clock()
    bucket = Bucket(600, clock)  # holds 60, gains 9 a second

    assert bucket.wait(150) == 0
    bucket.take(150)
    assert bucket.wait(1) == pytest.approx((1 + 150 - 60) / 9)


def test_the_highest_priority_goes_first_and_equals_in_their_order():
    async def run() -> list[str]:
        gate, order = RateLimiter(1), list[str]()

        async def call(name: str, priority: float) -> None:
            await gate.enter(priority)
            order.append(name)
            await asyncio.sleep(0)
            gate.leave()

        await asyncio.gather(
            call("first", 0), call("low", 1), call("high", 3), call("low too", 1), call("higher", 3.5)
        )
        return order

    assert asyncio.run(run()) == ["first", "higher", "high", "low", "low too"]


def test_no_more_go_at_once_than_are_let_through():
    async def run() -> int:
        gate, now, most = RateLimiter(3), 0, 0

        async def call() -> None:
            nonlocal now, most
            await gate.enter()
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1
            gate.leave()

        await asyncio.gather(*(call() for _ in range(20)))
        return most

    assert asyncio.run(run()) == 3


def test_refusals_of_calls_sent_together_narrow_the_gate_once_and_good_replies_widen_it_again():
    async def run() -> list[float]:
        gate = RateLimiter(16)
        entered = [await gate.enter() for _ in range(4)]
        for moment in entered:
            gate.narrow(moment, None)
        widths = [gate.width]
        later = await gate.enter()
        gate.narrow(later, None)
        widths.append(gate.width)
        for _ in range(1000):
            gate.widen()
        return [*widths, gate.width]

    assert asyncio.run(run()) == [8, 4, 16]


def test_the_gate_stays_shut_as_long_as_the_server_asks():
    async def run() -> float:
        gate = RateLimiter(4)
        entered = await gate.enter()
        gate.narrow(entered, 0.2)
        gate.leave()
        return await gate.enter() - entered

    assert 0.2 <= asyncio.run(run()) < 0.4


def test_a_call_that_is_given_up_while_waiting_holds_no_place():
    async def run() -> None:
        gate = RateLimiter(1)
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.sleep(0)
        gate.leave()
        await asyncio.wait_for(gate.enter(), 1)

    asyncio.run(run())


def test_tokens_that_were_not_used_are_given_back():
    async def run() -> float:
        gate = RateLimiter(4, tokens_per_minute=600)
        first = await gate.enter(tokens=60)
        gate.leave(unused_tokens=60)
        return await gate.enter(tokens=60) - first

    assert asyncio.run(run()) < 0.05


def test_pauses_double_with_jitter_and_are_the_same_in_every_run():
    def pauses(key: str) -> list[float | None]:
        patience = Backoff(key, 9, 1.0)
        return [patience.pause(ServerFailed("x"), answered=True) for _ in range(9)]

    one, other = pauses("a"), pauses("b")
    assert one == pauses("a")
    assert one != other
    assert one[-1] is None
    for n, pause in enumerate(one[:-1]):
        assert pause is not None
        assert 0.5 * min(2**n, LONGEST_PAUSE) <= pause <= 1.5 * min(2**n, LONGEST_PAUSE)


def test_what_cannot_pass_is_not_waited_for():
    assert Backoff("a", 9, 1.0).pause(Refused("x"), answered=True) is None
    assert Backoff("a", 9, 1.0).pause(ServerDown("x"), answered=False) is None
    assert Backoff("a", 9, 1.0).pause(ServerDown("x"), answered=True) is not None


def test_the_servers_own_wait_comes_before_ours():
    def limited(seconds: float) -> CallFailed:
        error = RateLimited("x")
        error.retry_after = seconds
        return error

    patience = Backoff("a", 9, 100.0)
    assert 7 <= (patience.pause(limited(7.0), answered=True) or 0) <= 7.25
    assert patience.pause(limited(3600.0), answered=True) is None
