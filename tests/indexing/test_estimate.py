"""The cost of a build: estimated before, checked half way, and compared with the actual cost."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents, settings
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api
from conspectus.errors import BudgetReached, UsageError
from conspectus.index_status import spending
from conspectus.models.base import Tick, no_tick
from conspectus.rows import Usage
from conspectus.settings import Price

PRICES = {"simulated": {"input": 1.0, "output": 4.0}}
SAMPLE = Path(conspectus.__file__).parent / "sample"


def priced(server: SimulatedServer, claims: bool) -> dict[str, Any]:
    return {"model": "simulated", "llm.base_url": server.url, "extract.claims": claims, "prices": PRICES}


@pytest.fixture(scope="module")
def usage_of_sample(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bool], Mapping[str, Usage]]:
    """Return the usage of a build of the sample corpus, with or without claims; each is built once."""

    @cache
    def usage(claims: bool) -> Mapping[str, Usage]:
        with SimulatedServer(Behaviour()) as server:
            folder = tmp_path_factory.mktemp("sample")
            return conspectus.build(SAMPLE, folder=folder, settings=priced(server, claims)).index.usage

    return usage


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


@pytest.mark.parametrize("sample", [0, 12])
def test_what_depends_on_replies_is_told_within_a_factor_of_five_from_the_text_alone(
    sample: int, tmp_path: Path, usage_of_sample: Callable[[bool], Mapping[str, Usage]]
):
    with SimulatedServer(Behaviour()) as server:
        chosen = {"model": "simulated", "llm.base_url": server.url}
        estimate = api.estimate(SAMPLE, folder=tmp_path, settings=chosen, sample=sample)
    used = usage_of_sample(False)
    assert estimate.tokens.high < 5 * estimate.tokens.low
    for task in (task for task in estimate.tasks if task.task in ("DescribeElement", "WriteReport")):
        taken = used[task.task]
        assert task.calls.low <= taken.calls <= task.calls.high < 6 * task.calls.low
        assert (
            task.prompt_tokens.low
            <= taken.prompt_tokens
            <= task.prompt_tokens.high
            < 6 * task.prompt_tokens.low
        )
        assert task.completion_tokens.low <= taken.completion_tokens <= task.completion_tokens.high


def test_an_index_without_reports_is_told_to_take_none(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, reports__write=False)
        estimate = api.estimate(documents=documents(), folder=tmp_path, settings=chosen)
    assert {task.task for task in estimate.tasks} == {
        "ExtractGraph",
        "AnyMissed",
        "GleanMore",
        "DescribeElement",
    }


def test_what_is_kept_costs_nothing_more(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url)
        conspectus.build(documents=documents(), folder=tmp_path, settings=chosen)
        estimate = api.estimate(documents=documents(), folder=tmp_path, settings=chosen)
        more = api.estimate(documents=documents(14), folder=tmp_path, settings=chosen)
    assert not any(task.task in ("ExtractGraph", "AnyMissed") for task in estimate.tasks)
    assert estimate.calls.low == 0
    assert 0 < next(task for task in more.tasks if task.task == "ExtractGraph").calls.high < 10


EXTRACTION = ("ExtractGraph", "AnyMissed", "GleanMore", "NameEntities", "ExtractTriples", "ExtractClaims")


@pytest.mark.parametrize("more", [{}, {"extract__claims": True}, {"extract__style": "triples"}], ids=str)
def test_a_sample_is_asked_and_kept_and_narrows_what_is_told_of_extraction(
    more: dict[str, Any], tmp_path: Path
):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, **more)
        before = api.estimate(documents=documents(30), folder=tmp_path, settings=chosen)
        estimate = api.estimate(documents=documents(30), folder=tmp_path, settings=chosen, sample=20)
        asked = server.counts["requests"]
        used = conspectus.build(documents=documents(30), folder=tmp_path, settings=chosen).index.usage
    assert before.seen == 0
    assert estimate.seen == 20
    assert asked >= 40
    assert sum(usage.cached_calls for usage in used.values()) == asked
    wide = {task.task: task for task in before.tasks}
    for task in (task for task in estimate.tasks if task.task in EXTRACTION):
        taken = used[task.task]
        assert task.calls.low <= taken.calls <= task.calls.high, task.task
        assert task.prompt_tokens.low <= taken.prompt_tokens <= task.prompt_tokens.high, task.task
        assert task.completion_tokens.low <= taken.completion_tokens <= task.completion_tokens.high, task.task
        was = wide[task.task].prompt_tokens.plus(wide[task.task].completion_tokens)
        now = task.prompt_tokens.plus(task.completion_tokens)
        assert now.high - now.low < was.high - was.low, task.task


def test_a_build_that_was_stopped_half_way_is_told_by_what_is_missing(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, llm__max_tokens=900)
        whole = conspectus.build(
            documents=documents(), folder=tmp_path / "whole", settings=chosen
        ).index.usage
        spent = sum(whole[t].prompt_tokens + whole[t].completion_tokens for t in EXTRACTION if t in whole)
        part = settings(server.url, llm__max_tokens=900, llm__budget_tokens=spent + 9000, llm__concurrency=2)
        with pytest.raises(BudgetReached):
            conspectus.build(documents=documents(), folder=tmp_path / "part", settings=part)
        estimate = api.estimate(documents=documents(), folder=tmp_path / "part", settings=chosen)
        rest = conspectus.build(documents=documents(), folder=tmp_path / "part", settings=chosen).index.usage
    left = {task.task: task for task in estimate.tasks}
    assert set(left) <= {"DescribeElement", "WriteReport"}
    for name, task in left.items():
        assert task.calls.low == task.calls.high == rest[name].calls
    if "DescribeElement" in left:
        assert left["DescribeElement"].prompt_tokens.low == rest["DescribeElement"].prompt_tokens


def test_a_server_on_this_machine_is_free_and_a_model_of_unknown_price_counts_tokens_only(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        local = api.estimate(documents=documents(), folder=tmp_path, settings=settings(server.url))
    other = settings("https://models.example.org/v1")
    elsewhere = api.estimate(documents=documents(), folder=tmp_path, settings=other)
    assert local.cost == (0, 0)
    assert elsewhere.cost is None
    assert elsewhere.likely_cost is None
    assert elsewhere.tokens.high > elsewhere.tokens.low > 0


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
        with pytest.raises(BudgetReached, match="the rest will take") as stopped:
            conspectus.build(documents=documents(), folder=tmp_path / "b", settings=chosen)
        rest = api.estimate(documents=documents(), folder=tmp_path / "b", settings=chosen).tokens
        used = [u for task, u in whole.index.usage.items() if task in ("DescribeElement", "WriteReport")]
        assert f"at least {rest.low:,.0f} tokens" in str(stopped.value)
        assert rest.low <= sum(usage.prompt_tokens + usage.completion_tokens for usage in used) <= rest.high
        assert not server.counts["DescribeElement"] + server.counts["WriteReport"]
        told: set[bool] = set()
        for _ in range(20):  # later runs do not repeat the estimate but proceed until the budget is used up
            try:
                again = conspectus.build(documents=documents(), folder=tmp_path / "b", settings=chosen)
                break
            except BudgetReached as reached:
                told.add("before" in str(reached))
    assert told <= {True}
    assert list(again.index.reports) == list(whole.index.reports)


class Shown:
    """A progress display that is visible and records its notes."""

    shown = True

    def __init__(self) -> None:
        self.notes: list[str] = []

    def stage(self, name: str, total: int) -> Tick:
        return no_tick

    def note(self, text: str) -> None:
        self.notes.append(text)

    def watch(self, usage: Callable[[], Usage]) -> None: ...


def test_the_rest_is_told_anew_when_extraction_is_done(tmp_path: Path):
    shown = Shown()
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, prices=PRICES)
        used = conspectus.build(
            documents=documents(), folder=tmp_path, settings=chosen, progress=shown
        ).index.usage
    (note,) = shown.notes
    told = re.sub(r" \([^)]*\)", "", note)  # removes the cost
    spent, tokens, calls, low, high = (int(n.replace(",", "")) for n in re.findall(r"\d[\d,]*", told))
    assert spent == sum(used[task].calls for task in EXTRACTION if task in used)
    assert calls == used["DescribeElement"].calls + used["WriteReport"].calls
    rest = [used["DescribeElement"], used["WriteReport"]]
    assert tokens > 0
    assert low <= sum(usage.prompt_tokens + usage.completion_tokens for usage in rest) <= high


def test_what_was_spent_is_told_per_task_even_where_there_is_no_index_yet(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, llm__budget_tokens=9000, llm__max_tokens=900)
        with pytest.raises(BudgetReached):
            conspectus.build(documents=documents(), folder=tmp_path, settings=chosen)
    rows = spending(tmp_path, conspectus.Settings(prices={"simulated": Price(input=1.0, output=4.0)}))
    row = next(row for row in rows if row.task == "ExtractGraph")
    assert row.calls > 0
    assert row.cost == pytest.approx((row.prompt_tokens + 4 * row.completion_tokens) / 1e6)


@pytest.mark.parametrize("claims", [False, True])
def test_the_number_to_count_on_is_within_a_factor_of_two_without_a_sample(
    claims: bool, tmp_path: Path, usage_of_sample: Callable[[bool], Mapping[str, Usage]]
):
    with SimulatedServer(Behaviour()) as server:
        estimate = api.estimate(SAMPLE, folder=tmp_path, settings=priced(server, claims))
    used = usage_of_sample(claims).values()
    taken, paid = sum(u.prompt_tokens + u.completion_tokens for u in used), sum(u.cost for u in used)
    assert taken / 2 < estimate.likely_tokens < taken * 2
    assert estimate.likely_cost is not None
    assert paid / 2 < estimate.likely_cost < paid * 2
    assert estimate.tokens.low <= estimate.likely_tokens <= estimate.tokens.high
