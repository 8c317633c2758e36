from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conspectus.errors import BudgetReached, UsageError
from conspectus.models.llm.budget import Budget, Call, Trace
from conspectus.models.llm.cache import CachedReply
from conspectus.rows import Usage
from conspectus.settings import Price

PRICES = {"m": Price(input=2.0, output=8.0)}


async def reserve(budget: Budget, prompt: int, most: int, task: str = "T") -> Call:
    reserved = Call("key", "m", task, prompt, most)
    await budget.reserve(reserved)
    return reserved


def settle(budget: Budget, reserved: Call, prompt: int, reply: int) -> None:
    reserved.used = (prompt, reply)
    budget.settle(reserved)


async def call(budget: Budget, prompt: int, reply: int, *, most: int | None = None, task: str = "T") -> None:
    reserved = await reserve(budget, prompt, most if most is not None else reply, task)
    await asyncio.sleep(0)
    settle(budget, reserved, prompt, reply)


def test_usage_is_kept_by_task():
    async def run(budget: Budget) -> None:
        await call(budget, 1000, 500, task="A")
        await call(budget, 3000, 0, task="B")
        budget.count_cached("B")

    budget = Budget(PRICES)
    asyncio.run(run(budget))
    assert budget.usage() == {"A": Usage(1, 0, 1000, 500, 0.006), "B": Usage(1, 1, 3000, 0, 0.006)}
    assert budget.total() == Usage(2, 1, 4000, 500, 0.012)


def test_a_model_of_no_known_price_counts_tokens_only():
    budget = Budget()
    asyncio.run(call(budget, 1000, 500))
    assert budget.total() == Usage(1, 0, 1000, 500, 0.0)


@given(
    calls=st.lists(st.tuples(st.integers(1, 500), st.integers(0, 300), st.integers(0, 300)), max_size=30),
    limit=st.integers(0, 4000),
)
def test_a_budget_is_never_passed_however_calls_overlap(calls: list[tuple[int, int, int]], limit: int):
    async def run() -> Budget:
        budget = Budget(PRICES, budget=limit * 8e-6, budget_tokens=limit)
        work = (call(budget, prompt, min(reply, most), most=most) for prompt, reply, most in calls)
        results = await asyncio.gather(*work, return_exceptions=True)
        assert all(result is None or isinstance(result, BudgetReached) for result in results)
        return budget

    total = asyncio.run(run()).total()
    assert total.prompt_tokens + total.completion_tokens <= limit
    assert total.cost <= limit * 8e-6 + 1e-12


def test_a_call_waits_for_those_under_way_before_it_is_refused():
    async def run() -> None:
        budget = Budget(budget_tokens=1100)
        reserved = await reserve(budget, 10, 900)
        waiting = asyncio.create_task(reserve(budget, 10, 900))
        await asyncio.sleep(0)
        assert not waiting.done()
        settle(budget, reserved, 10, 20)  # it used far fewer tokens than were reserved
        await asyncio.wait_for(waiting, 1)

    asyncio.run(run())


def test_a_model_whose_tokens_are_more_than_were_counted_is_held_to_what_it_takes():
    async def run() -> None:
        budget = Budget(budget_tokens=1000)
        reserved = await reserve(budget, 100, 0)
        settle(budget, reserved, 300, 0)  # it counts three times as many
        with pytest.raises(BudgetReached, match=r"1,000 tokens.* 300 "):
            await reserve(budget, 240, 0)

    asyncio.run(run())


def test_calls_that_wait_are_held_to_what_the_replies_before_them_took():
    async def run() -> Budget:
        budget = Budget(budget_tokens=1000)
        reserved = await reserve(budget, 100, 700)
        waiting = asyncio.gather(*(reserve(budget, 200, 100) for _ in range(3)), return_exceptions=True)
        await asyncio.sleep(0)
        settle(budget, reserved, 300, 50)  # it counts three times as many as we
        for result in await waiting:
            assert isinstance(result, BudgetReached)
        return budget

    total = asyncio.run(run()).total()
    assert total.prompt_tokens + total.completion_tokens <= 1000


def test_a_lost_call_counts_against_the_budget():
    async def run() -> None:
        budget = Budget(budget_tokens=1000)
        budget.settle(await reserve(budget, 100, 700), lost=True)
        with pytest.raises(BudgetReached):
            await reserve(budget, 100, 200)

    asyncio.run(run())


def test_models_of_ones_own_machine_need_no_price():
    Budget(budget=1.0).check("ollama/qwen3")
    with pytest.raises(UsageError, match=r"llm\.budget_tokens"):
        Budget(budget=1.0).check("m")


def test_the_trace_has_a_line_for_each_call(tmp_path: Path):
    trace = Trace(tmp_path / "t.jsonl", texts=True)
    trace.write(CachedReply("key", "m", "T", "ok", "said", "stop", 3, 1, 0.5), "asked")
    trace.write(CachedReply("key", "m", "T", "failed", "why"), "asked")

    first, second = (json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines())
    assert (first["task"], first["status"], first["seconds"]) == ("T", "ok", 0.5)
    assert second["error"] == "why"
    assert (first["request"], first["reply"]) == ("asked", "said")


def test_a_trace_that_cannot_be_written_is_told(tmp_path: Path):
    with pytest.raises(UsageError, match="the trace cannot be written"):
        Trace(tmp_path / "missing" / "t.jsonl")
