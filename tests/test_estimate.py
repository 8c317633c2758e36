"""What a build will cost: told before, checked half way, and held against what it then took."""

from __future__ import annotations

from pathlib import Path

import pytest
from llm_corpus import documents, settings
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api
from conspectus.errors import BudgetReached, UsageError
from conspectus.settings import Price
from conspectus.status import spending

PRICES = {"simulated": {"input": 1.0, "output": 4.0}}


@pytest.mark.parametrize("claims", [False, True])
def test_extraction_is_known_within_two_per_cent_and_the_rest_lies_in_its_range(claims: bool, tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, extract__claims=claims, prices=PRICES)
        estimate = api.estimate(documents=documents(), folder=tmp_path, settings=chosen)
        assert server.counts["requests"] == 0
        assert not list(tmp_path.iterdir())
        used = conspectus.build(documents=documents(), folder=tmp_path, settings=chosen).index.usage
    known = {task.task: task for task in estimate.tasks}
    first = known["ExtractGraph"]
    assert first.calls.low == first.calls.high == used["ExtractGraph"].calls
    assert first.prompt_tokens.low == pytest.approx(used["ExtractGraph"].prompt_tokens, rel=0.02)
    assert set(used) <= set(known)
    for name, taken in used.items():
        task = known[name]
        assert task.calls.low <= taken.calls <= task.calls.high, name
        assert task.prompt_tokens.low <= taken.prompt_tokens <= task.prompt_tokens.high, name
        assert task.cost is not None
        assert task.cost.low <= taken.cost <= task.cost.high, name
    assert estimate.cost is not None
    assert estimate.cost.high > 0


def test_what_is_kept_costs_nothing_more(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url)
        conspectus.build(documents=documents(), folder=tmp_path, settings=chosen)
        estimate = api.estimate(documents=documents(), folder=tmp_path, settings=chosen)
        more = api.estimate(documents=documents(14), folder=tmp_path, settings=chosen)
    assert not any(task.task in ("ExtractGraph", "AnyMissed") for task in estimate.tasks)
    assert estimate.calls.low == 0
    assert 0 < next(task for task in more.tasks if task.task == "ExtractGraph").calls.high < 10


def test_a_model_of_unknown_price_counts_tokens_only(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        estimate = api.estimate(documents=documents(), folder=tmp_path, settings=settings(server.url))
    assert estimate.cost is None
    assert estimate.tokens.high > estimate.tokens.low > 0


def test_the_extractive_model_costs_nothing(tmp_path: Path):
    with pytest.raises(UsageError, match="costs nothing"):
        api.estimate(documents=documents(), folder=tmp_path)


def test_a_budget_that_cannot_reach_is_told_when_extraction_is_done_and_not_spent(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        whole = conspectus.build(documents=documents(), folder=tmp_path / "a", settings=settings(server.url))
        extraction = sum(
            usage.prompt_tokens + usage.completion_tokens
            for task, usage in whole.index.usage.items()
            if task in ("ExtractGraph", "AnyMissed", "GleanMore")
        )
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, llm__budget_tokens=extraction + 3500, llm__max_tokens=900)
        with pytest.raises(BudgetReached, match="at the least"):
            conspectus.build(documents=documents(), folder=tmp_path / "b", settings=chosen)
        assert not server.counts["DescribeElement"] + server.counts["WriteReport"]


def test_what_was_spent_is_told_per_task_even_where_there_is_no_index_yet(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, llm__budget_tokens=9000, llm__max_tokens=900)
        with pytest.raises(BudgetReached):
            conspectus.build(documents=documents(), folder=tmp_path, settings=chosen)
    rows = spending(tmp_path, conspectus.Settings(prices={"simulated": Price(input=1.0, output=4.0)}))
    row = next(row for row in rows if row.task == "ExtractGraph")
    assert row.calls > 0
    assert row.cost == pytest.approx((row.prompt_tokens + 4 * row.completion_tokens) / 1e6)
