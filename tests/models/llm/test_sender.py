"""The whole of the transport, over real HTTP against the simulated server."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from simulated_server import Behaviour, SimulatedServer

from conspectus.errors import (
    BadKey,
    BadReply,
    BudgetReached,
    ContextTooLong,
    ModelError,
    NotAccepted,
    RateLimited,
    Refused,
    ServerDown,
    ServerFailed,
    TimedOut,
    UnknownModel,
    UsageError,
)
from conspectus.models.llm import sender
from conspectus.models.llm.budget import Budget, Trace
from conspectus.models.llm.cache import FILE_NAME, CachedReply, ResponseCache
from conspectus.models.llm.sender import CachingSender
from conspectus.models.llm.wire import Completion, Message, Request
from conspectus.settings import ModelSettings, Price

R = TypeVar("R")
MODEL = "openai/gpt-4.1-mini"
SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


def ask(text: str = "Ada met Bob in Rome.", **more: Any) -> Request:
    system = Message("system", "# Task: ExtractGraph\n\nof one of these types: person, location.")
    return Request((system, Message("user", f"<data>\n{text}\n</data>")), MODEL, task="ExtractGraph", **more)


def using(
    server: SimulatedServer | str,
    act: Callable[[CachingSender], Awaitable[R]],
    folder: Path | None = None,
    *,
    budget: Budget | None = None,
    environ: dict[str, str] | None = None,
    **settings: Any,
) -> R:
    """Return the result of a function of a sender, which is then closed."""

    async def run() -> R:
        url = server if isinstance(server, str) else server.url
        chosen = ModelSettings(**{"base_url": url, "timeout": 10.0, **settings})
        replies = ResponseCache(folder / FILE_NAME) if folder else None
        async with CachingSender(chosen, replies, budget, environ=environ or {}) as sender:
            return await act(sender)

    return asyncio.run(run())


def send(
    server: SimulatedServer | str, request: Request, folder: Path | None = None, **more: Any
) -> Completion:
    return using(server, lambda sender: sender.send(request), folder, **more)


def by_status(sender: CachingSender) -> dict[str, int]:
    assert sender.replies
    return sender.replies.stats().by_status


async def send_all(sender: CachingSender, number: int, **more: Any) -> list[Completion | ModelError]:
    async def one(n: int) -> Completion | ModelError:
        try:
            return await sender.send(ask(f"Ada number {n} met Bob in Rome.", **more))
        except ModelError as error:
            return error

    return list(await asyncio.gather(*map(one, range(number))))


# Replies


def test_a_reply_is_asked_for_once_and_then_served_from_the_cache(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        first = send(server, ask(), tmp_path)
        second = send(server, ask(), tmp_path)

        assert not first.cached
        assert second.cached
        assert (second.text, second.prompt_tokens) == (first.text, first.prompt_tokens)
        assert server.counts["requests"] == 1


def test_equal_requests_under_way_at_once_are_one_call(tmp_path: Path):
    async def twice(sender: CachingSender) -> list[Completion]:
        return list(await asyncio.gather(*(sender.send(ask()) for _ in range(5))))

    with SimulatedServer(Behaviour(latencies=(0.05,))) as server:
        replies = using(server, twice, tmp_path)

        assert len({reply.text for reply in replies}) == 1
        assert [reply.cached for reply in replies].count(False) == 1
        assert server.counts["requests"] == 1


def test_a_reply_that_was_cut_off_is_told_kept_and_asked_for_again(tmp_path: Path):
    with SimulatedServer(Behaviour(cuts=1.0)) as server:
        assert send(server, ask(), tmp_path).cut_off
        assert send(server, ask(), tmp_path).cut_off

        assert server.counts["requests"] == 2
    assert ResponseCache(tmp_path / FILE_NAME).stats().by_status == {"cut off": 2}


def test_a_single_token_that_was_all_that_was_wanted_is_not_cut_off(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        send(server, ask(max_tokens=1), tmp_path)

        assert send(server, ask(max_tokens=1), tmp_path).cached


def test_a_reply_that_is_rejected_is_asked_for_again(tmp_path: Path):
    async def mark_and_ask(sender: CachingSender) -> Completion:
        await sender.send(ask())
        await sender.reject(ask())
        return await sender.send(ask())

    with SimulatedServer(Behaviour()) as server:
        assert not using(server, mark_and_ask, tmp_path).cached
        assert send(server, ask(), tmp_path).cached
        assert server.counts["requests"] == 2


def test_a_stream_gives_what_sending_gives_and_is_kept_under_the_same_key(tmp_path: Path):
    async def stream(sender: CachingSender) -> list[str]:
        return [piece async for piece in sender.stream(ask())]

    with SimulatedServer(Behaviour(thinking=True)) as server:
        pieces = using(server, stream, tmp_path)
        kept = send(server, ask(), tmp_path)

        assert len(pieces) > 5
        assert kept.cached
        assert kept.text == "".join(pieces)
        assert "think" not in kept.text
        assert kept.completion_tokens == server.completion_tokens
        assert using(server, stream, tmp_path) == [kept.text]


@pytest.mark.parametrize(
    ("max_tokens", "says"), [(None, r"after \d+ tokens: ask again"), (900, r"tokens: raise llm\.max_tokens")]
)
def test_a_stream_that_is_cut_off_is_an_error_at_its_end(max_tokens: int | None, says: str, tmp_path: Path):
    seen: list[str] = []

    async def stream(sender: CachingSender) -> None:
        async for piece in sender.stream(ask(max_tokens=max_tokens)):
            seen.append(piece)

    with SimulatedServer(Behaviour(cuts=1.0)) as server, pytest.raises(BadReply, match=says):
        using(server, stream, tmp_path)

    assert seen
    assert ResponseCache(tmp_path / FILE_NAME).stats().by_status == {"cut off": 1}


def test_a_stream_that_breaks_in_the_middle_is_an_error_and_is_not_kept(tmp_path: Path):
    seen: list[str] = []

    async def stream(sender: CachingSender) -> dict[str, int]:
        try:
            async for piece in sender.stream(ask()):
                seen.append(piece)
        except ServerFailed as error:
            assert "broke the connection" in str(error)  # noqa: PT017
        return by_status(sender)

    with SimulatedServer(Behaviour(drops=1.0)) as server:
        assert using(server, stream, tmp_path) == {"failed": 1}
    assert seen


def test_thinking_is_no_part_of_a_reply():
    with SimulatedServer(Behaviour(thinking=True)) as server:
        assert send(server, ask()).text.startswith('{"entities"')


def test_vectors_come_in_the_order_of_the_texts_and_each_text_is_paid_for_once(tmp_path: Path):
    texts = [f"text {n}" for n in range(150)]
    model = "openai/text-embedding-3-small"

    with SimulatedServer(Behaviour(dimension=16)) as server:
        first = using(server, lambda s: s.embed(texts[:100], model), tmp_path)
        both = using(server, lambda s: s.embed([*texts, texts[0]], model), tmp_path)

        assert both.shape == (151, 16)
        assert both.dtype == np.float32
        assert np.array_equal(both[:100], first)
        assert np.array_equal(both[150], both[0])
        assert np.allclose(both[120], server.vector(texts[120]))
        assert server.counts["embeddings"] == 3  # 64 + 36, then 50


# Temporary faults


@pytest.mark.parametrize(
    "fault",
    [
        {"errors": 0.3},
        {"drops": 0.3},
        {"garbage": 0.3},
        {"too_many": 0.3, "retry_after": 0.02},
        {"hangs": 0.2},
    ],
    ids=lambda fault: next(iter(fault)),
)
def test_faults_that_pass_do_not_show(fault: dict[str, float], tmp_path: Path):
    with SimulatedServer(Behaviour(**fault)) as server:  # pyright: ignore
        replies = using(server, lambda s: send_all(s, 40), tmp_path, timeout=0.5, attempts=12)
        assert server.counts["requests"] > 40
    with SimulatedServer(Behaviour()) as server:
        expected = using(server, lambda s: send_all(s, 40))

    assert [r.text for r in replies if isinstance(r, Completion)] == [
        r.text for r in expected if isinstance(r, Completion)
    ]
    assert ResponseCache(tmp_path / FILE_NAME).stats().by_status["ok"] == 40


def test_a_retry_waits_as_long_as_the_server_asks():
    with SimulatedServer(Behaviour(too_many=0.5, retry_after=0.6, seed=3)) as server:
        started = time.monotonic()
        using(server, lambda s: send_all(s, 8))

        waits = max(server.asked.values()) - 1
        assert waits
        assert time.monotonic() - started >= 0.6 * waits


def test_a_retry_waits_until_the_date_that_the_server_gives():
    with SimulatedServer(Behaviour(limit=1, window=1.5, retry_after_date=True)) as server:
        using(server, lambda s: send_all(s, 2))

        assert server.counts["429"] == 1  # asked again too early, it would have been refused again


def test_a_real_rate_limit_is_adapted_to_and_nothing_is_lost():
    with SimulatedServer(Behaviour(limit=20, window=0.5, latencies=(0.02,))) as server:
        replies = using(server, lambda s: send_all(s, 100))

        assert all(isinstance(reply, Completion) for reply in replies)
        assert 0 < server.counts["429"] < 60


def test_attempts_come_to_an_end_and_all_are_kept(tmp_path: Path):
    async def fail(sender: CachingSender) -> dict[str, int]:
        with pytest.raises(ServerFailed, match="HTTP 500: The server had an error"):
            await sender.send(ask())
        return by_status(sender)

    with SimulatedServer(Behaviour(never=("Ada",))) as server:
        assert using(server, fail, tmp_path, attempts=3) == {"failed": 3}
        assert server.counts["requests"] == 3


def test_a_server_that_hangs_is_given_up_on():
    with (
        SimulatedServer(Behaviour(hangs=1.0)) as server,
        pytest.raises(TimedOut, match=r"no reply within 0.2 seconds"),
    ):
        send(server, ask(), timeout=0.2, attempts=2)


def test_a_server_that_always_says_too_many_is_given_up_on():
    with (
        SimulatedServer(Behaviour(too_many=1.0, retry_after=0)) as server,
        pytest.raises(RateLimited, match="too many"),
    ):
        send(server, ask(), attempts=1)


def test_a_server_that_asks_to_wait_for_hours_is_not_waited_for():
    with SimulatedServer(Behaviour(too_many=1.0, retry_after=7200)) as server, pytest.raises(RateLimited):
        send(server, ask())


# Permanent faults: one clear line each, at once


@pytest.mark.parametrize(
    ("behaviour", "error", "says"),
    [
        (Behaviour(key="right"), BadKey, "requires a key: set CONSPECTUS_API_KEY"),
        (Behaviour(models=("other",)), UnknownModel, "has no model 'gpt-4.1-mini'"),
        (Behaviour(context_tokens=10), ContextTooLong, "longer than the context of gpt-4.1-mini"),
        (Behaviour(filtered=("Ada",)), Refused, "refused the request"),
        (Behaviour(refuses=("json_schema",)), NotAccepted, "does not support json_schema"),
    ],
)
def test_what_cannot_pass_is_asked_once_and_told_in_one_line(
    behaviour: Behaviour, error: type[ModelError], says: str
):
    with SimulatedServer(behaviour) as server:
        with pytest.raises(error, match=says) as caught:
            send(server, ask(response_format="json_schema", schema=SCHEMA, schema_name="x"))

        assert type(caught.value) is error
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 400
        assert server.counts["requests"] == 1


def test_a_server_that_is_down_is_told_and_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sender, "FIRST_BACKOFF", 5.0)
    with pytest.raises(ServerDown, match=r"no server answers at http://127\.0\.0\.1:9 .* check base_url"):
        send("http://127.0.0.1:9/v1", ask())


def test_a_server_that_is_restarted_is_waited_for_and_each_attempt_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(sender, "FIRST_BACKOFF", 0.2)

    async def restart(sender: CachingSender) -> Completion:
        await sender.send(ask("Ada one."))
        await asyncio.to_thread(server.__exit__)
        waiting = [asyncio.create_task(sender.send(ask(f"Ada {n}."))) for n in range(4)]
        await asyncio.sleep(0.1)
        second.__enter__()
        return (await asyncio.gather(*waiting))[0]

    server = SimulatedServer(Behaviour()).__enter__()
    second = SimulatedServer(Behaviour(), port=server.port)
    assert using(server, restart).text
    second.__exit__()
    said = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert [re.findall(r"127\.0\.0\.1:\d+|\d of \d", text)[1] for text in said][:1] == ["2 of 6"]
    assert len(said) == len(set(said))


def test_an_address_of_something_else_is_told():
    with (
        SimulatedServer(Behaviour()) as server,
        pytest.raises(ServerDown, match="no language model is served at"),
    ):
        send(server.url + "/elsewhere", ask())


def test_a_missing_key_is_told_without_asking_anybody():
    with pytest.raises(BadKey, match=r"openai/gpt-4\.1-mini needs a key: set OPENAI_API_KEY"):
        send("", ask())


# Keys


def test_keys_show_in_no_error_and_in_no_file(tmp_path: Path):
    key = "sk-very-secret-0123456789"
    budget = Budget(trace=Trace(tmp_path / "trace.jsonl", texts=True))

    with SimulatedServer(Behaviour(key="another")) as server, pytest.raises(BadKey) as caught:
        send(server, ask(), tmp_path, budget=budget, environ={"CONSPECTUS_API_KEY": key})

    assert "does not accept the key in CONSPECTUS_API_KEY" in str(caught.value)
    assert "Incorrect API key provided: [key]" in str(caught.value)
    for path in tmp_path.iterdir():
        assert key.encode() not in path.read_bytes(), path


@pytest.mark.parametrize("key", ["ollama", "content", "1", "token-abc123"])
def test_a_word_in_the_place_of_a_key_changes_no_reply(key: str):
    text = f"Ada wrote 11 lines of content on {key}."

    with SimulatedServer(Behaviour(key=key), lambda *_: text) as server:
        assert send(server, ask(), environ={"CONSPECTUS_API_KEY": key}).text == text


def test_the_trace_tells_of_calls_of_failures_and_of_kept_replies(tmp_path: Path):
    with SimulatedServer(Behaviour(errors=0.5, seed=2)) as server:
        for _ in range(2):
            budget = Budget(trace=Trace(tmp_path / "trace.jsonl"))
            using(server, lambda s: send_all(s, 4), tmp_path, budget=budget, attempts=12)

    lines = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_text().splitlines()]
    told = Counter((line["task"], line["status"], line["cached"]) for line in lines)
    assert told == {
        ("ExtractGraph", "failed", False): server.counts["500"],
        ("ExtractGraph", "ok", False): 4,
        ("ExtractGraph", "ok", True): 4,
    }
    assert server.counts["500"] > 0
    assert not any("request" in line or "reply" in line for line in lines)


def test_the_key_of_a_known_service_is_not_sent_to_another_address():
    with SimulatedServer(Behaviour(key="x")) as server, pytest.raises(BadKey, match="requires a key"):
        send(server, ask(), environ={"OPENAI_API_KEY": "x"})


# Features that a server accepts


def test_what_a_server_refuses_is_remembered_by_the_index(tmp_path: Path):
    with SimulatedServer(Behaviour(refuses=("logit_bias",))) as server:

        async def first(sender: CachingSender) -> bool | None:
            assert sender.accepts(MODEL, "logit_bias") is None
            with pytest.raises(NotAccepted) as caught:
                await sender.send(ask(logit_bias={1: 100}))
            assert caught.value.feature == "logit_bias"
            return sender.accepts(MODEL, "logit_bias")

        async def second(sender: CachingSender) -> bool | None:
            return sender.accepts(MODEL, "logit_bias")

        assert using(server, first, tmp_path) is False
        assert using(server, second, tmp_path) is False


def test_a_server_that_does_not_stream_is_told_apart_from_one_that_fails(tmp_path: Path):
    async def stream(sender: CachingSender) -> bool | None:
        with pytest.raises(NotAccepted) as caught:
            [piece async for piece in sender.stream(ask())]
        assert caught.value.feature == "streaming"
        return sender.accepts(MODEL, "streaming")

    with SimulatedServer(Behaviour(refuses=("stream",))) as server:
        assert using(server, stream, tmp_path) is False


def test_parameters_of_no_consequence_are_left_out_where_a_server_refuses_them():
    with SimulatedServer(
        Behaviour(refuses=("temperature", "max_tokens", "seed"), keep_bodies=True)
    ) as server:
        using(server, lambda s: send_all(s, 3, temperature=0.0, max_tokens=900, seed=1), concurrency=1)

        assert server.counts["400"] == 3  # each refused feature is tried only once
        assert server.bodies[-1]["max_completion_tokens"] == 900
        assert not {"temperature", "max_tokens", "seed"} & server.bodies[-1].keys()


def test_ollama_is_told_its_context_length_and_what_would_not_fit_is_not_sent():
    request = Request(
        (Message("user", "Hello there"),), "ollama/qwen3", temperature=0.0, reasoning_effort="none"
    )
    long = Request((Message("user", "many words " * 2000),), "ollama/qwen3")

    with SimulatedServer(Behaviour(keep_bodies=True, thinking=True)) as server:
        reply = send(server, request, context_window=2048)
        vectors = using(server, lambda s: s.embed(["a", "b"], "ollama/nomic-embed-text"))
        with pytest.raises(ContextTooLong, match="run with a context of 2048"):
            send(server, long, context_window=2048)

        assert reply.text == "Of Hello there"
        assert reply.prompt_tokens > 0
        assert server.bodies[0]["options"] == {"num_ctx": 2048, "temperature": 0.0}
        assert server.bodies[0]["think"] is False
        assert vectors.shape == (2, 64)
        assert server.counts["requests"] == 2


# Budget


def test_a_budget_of_tokens_stops_before_the_call_that_would_pass_it_and_goes_on_later(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        replies = using(server, lambda s: send_all(s, 30, max_tokens=300), tmp_path, budget_tokens=2000)
        good = [r for r in replies if isinstance(r, Completion)]

        assert 0 < len(good) < 30
        assert {type(r) for r in replies} == {Completion, BudgetReached}
        assert 1500 < server.prompt_tokens + server.completion_tokens <= 2000

        again = using(server, lambda s: send_all(s, 30, max_tokens=300), tmp_path)
        assert all(isinstance(r, Completion) for r in again)
        assert server.counts["asked again"] == 0
        assert server.counts["requests"] == 30


def test_a_budget_of_money_is_kept_by_the_price_table(tmp_path: Path):
    budget = Budget({MODEL: Price(input=1000.0, output=2000.0)}, budget=1.0)  # 0.001 and 0.002 a token

    with SimulatedServer(Behaviour()) as server:
        replies = using(server, lambda s: send_all(s, 30, max_tokens=200), tmp_path, budget=budget)
        spent = server.prompt_tokens * 0.001 + server.completion_tokens * 0.002

    assert 0.5 < spent <= 1.0
    assert abs(budget.total().cost - spent) < 1e-9
    reached = next(r for r in replies if isinstance(r, BudgetReached))
    assert "of 1.0000 USD" in str(reached)
    assert "the same command continues" in str(reached)


def test_calls_that_may_have_been_charged_for_count_against_the_budget():
    with SimulatedServer(Behaviour(hangs=1.0)) as server, pytest.raises((BudgetReached, TimedOut)):
        send(server, ask(max_tokens=100), timeout=0.1, budget_tokens=300, attempts=50)
    assert server.counts["requests"] <= 3


def of_length(words: int) -> Callable[..., str]:
    """Return a reply function: `words` words, and twice as many if the number in the question is even."""
    return lambda messages, *_: (
        "so " * (words * (2 - sum(map(int, re.findall(r"\d+", messages[-1]["content"]))) % 2))
    )


@pytest.mark.parametrize("budget", [5000, 9000, 40_000, 100_000])
@pytest.mark.parametrize("words", [30, 3000, 9000])
def test_replies_longer_than_assumed_do_not_pass_a_budget(budget: int, words: int, tmp_path: Path):
    with SimulatedServer(Behaviour(latencies=(0.0, 0.01)), of_length(words)) as server:
        replies = using(server, lambda s: send_all(s, 20), tmp_path, budget_tokens=budget)

        assert server.prompt_tokens + server.completion_tokens <= budget
        good = [r for r in replies if isinstance(r, Completion)]
        assert not any(reply.cut_off for reply in good)
        assert {type(r) for r in replies} <= {Completion, BudgetReached}
        answered = len(good)
        again = using(server, lambda s: send_all(s, 20), tmp_path)  # without a budget, replies are cached
        assert sum(r.cached for r in again if isinstance(r, Completion)) == answered
        assert server.counts["asked again"] == 0


@pytest.mark.parametrize("model", [MODEL, "openai/o4-mini", "ollama/qwen3"])
def test_under_a_budget_a_reply_has_a_cap_that_grows_with_what_it_needs(model: str):
    request = Request((Message("user", "item 1"),), model)
    with SimulatedServer(Behaviour(keep_bodies=True), of_length(9000)) as server:
        assert not send(server, request, budget_tokens=200_000).cut_off
        assert not send(server, request).cut_off

    bodies = [{**body, **body.get("options", {})} for body in server.bodies]
    names = ("max_tokens", "max_completion_tokens", "num_predict")
    caps = [next((body[name] for name in names if name in body), None) for body in bodies]
    assert caps == [4096, 8192, 16384, None]


def test_what_a_request_states_itself_stays_as_it_is_under_a_budget():
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        send(server, ask(max_tokens=1), budget_tokens=2000)
        assert [body["max_tokens"] for body in server.bodies] == [1]


def test_a_later_run_begins_with_the_room_that_replies_took(tmp_path: Path):
    with SimulatedServer(Behaviour(keep_bodies=True), of_length(5000)) as server:
        send(server, ask("item 1"), tmp_path)
        send(server, ask("item 3"), tmp_path, budget_tokens=50_000)
        assert server.bodies[1]["max_tokens"] == pytest.approx(5000, abs=5)


async def streamed(sender: CachingSender) -> str:
    return "".join([piece async for piece in sender.stream(ask("item 1"))])


def test_a_stream_whose_cap_its_thinking_filled_is_begun_again_with_more_room():
    def thoughtful(*_: object) -> str:
        return f"<think>{'so ' * 5000}</think>\n\nAda met Bob."

    with SimulatedServer(Behaviour(), thoughtful) as server:
        assert using(server, streamed, budget_tokens=50_000) == "Ada met Bob."
        assert server.counts["requests"] == 2


def test_a_stream_that_was_shown_and_is_cut_by_the_budget_says_so_and_has_more_room_next_time(tmp_path: Path):
    with SimulatedServer(Behaviour(), of_length(5000)) as server:
        with pytest.raises(BadReply, match=r"after 4096 tokens, the room that the budget left it: ask again"):
            using(server, streamed, tmp_path, budget_tokens=50_000)
        assert server.counts["requests"] == 1
        assert using(server, streamed, tmp_path, budget_tokens=50_000).endswith("so ")


def test_what_was_cut_by_a_budget_that_does_not_reach_is_not_paid_for_again(tmp_path: Path):
    with SimulatedServer(Behaviour(), of_length(9000)) as server:
        with pytest.raises(BudgetReached, match="the same command continues"):
            send(server, ask("item 1"), tmp_path, budget_tokens=7000)
        with pytest.raises(BudgetReached, match="continues with a higher budget"):
            send(server, ask("item 1"), tmp_path, budget_tokens=7000)
        assert server.counts["requests"] == 1


def test_a_budget_of_money_without_a_price_is_told_before_anything_is_spent(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        budget = Budget(budget=5.0, base_url="https://models.example.org/v1")
        with pytest.raises(UsageError, match=MODEL):
            using(server, lambda s: send_all(s, 1), tmp_path, budget=budget)
        assert server.counts["requests"] == 0


def test_a_server_on_this_machine_is_free_so_that_no_budget_of_money_stops_at_it(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        budget = Budget(budget=0.01, base_url=server.url)
        replies = using(server, lambda s: send_all(s, 3), tmp_path, budget=budget)
    assert not any(isinstance(reply, Exception) for reply in replies)
    assert budget.total().cost == 0


def test_the_budget_of_an_index_counts_what_earlier_runs_on_it_took(tmp_path: Path):
    prices = {MODEL: Price(input=1000.0, output=2000.0)}
    taken = 0.0
    with SimulatedServer(Behaviour()) as server:
        for first in (0, 30, 60):  # three runs, each with other requests
            budget = Budget(prices, index_budget=1.0)
            work = partial(send_all, number=30 + first, max_tokens=200)
            replies = using(server, work, tmp_path, budget=budget)
            assert any(isinstance(reply, BudgetReached) for reply in replies)
            taken += budget.total().cost
        assert 0.5 < taken <= 1.0
        assert abs(taken - server.prompt_tokens * 0.001 - server.completion_tokens * 0.002) < 1e-9


# Being killed

CHILD = """
import asyncio, sys
from pathlib import Path
from conspectus.models.llm.cache import ResponseCache
from conspectus.models.llm.sender import CachingSender
from conspectus.models.llm.wire import Message, Request
from conspectus.settings import ModelSettings

async def main(url, path):
    async with CachingSender(ModelSettings(base_url=url, concurrency=8), ResponseCache(Path(path))) as sender:
        requests = [Request((Message("user", f"item {n} of many"),), "openai/x") for n in range(60)]
        await asyncio.gather(*map(sender.send, requests))

asyncio.run(main(*sys.argv[1:]))
"""


def test_no_durable_reply_is_asked_for_again_after_kill_9(tmp_path: Path):
    path = tmp_path / FILE_NAME
    with SimulatedServer(Behaviour(latencies=(0.01, 0.03, 0.05), keep_bodies=True)) as server:
        durable: set[str] = set()
        for n in range(5):
            asked_before = len(server.bodies)
            child = subprocess.Popen([sys.executable, "-c", CHILD, server.url, str(path)])
            deadline = time.monotonic() + 20
            while (
                len(server.bodies) < asked_before + 5 + n
                and child.poll() is None
                and time.monotonic() < deadline
            ):
                time.sleep(0.002)
            if n < 4:
                os.kill(child.pid, signal.SIGKILL)
            child.wait(30)
            asked = {body["messages"][0]["content"] for body in server.bodies[asked_before:]}
            assert not asked & durable
            durable = set(kept(path))
        repeated = server.counts["requests"] - 60

    assert len(durable) == 60
    assert repeated <= 4 * 8  # the requests that were running at each kill


def kept(path: Path) -> list[str]:
    """Return the prompts whose replies are stored, by requesting each of them."""
    replies = ResponseCache(path)
    found = [
        text
        for n in range(60)
        if replies.get(Request((Message("user", text := f"item {n} of many"),), "openai/x").key) is not None
    ]
    replies.close()
    return found


def test_whoever_has_nothing_to_store_leaves_a_cache_to_those_who_have(tmp_path: Path):
    path = tmp_path / FILE_NAME
    first, second = ResponseCache(path), ResponseCache(path)
    first.close()
    asyncio.run(second.add([CachedReply("key", "model", "Task", "ok", "Bees dance.")]))
    second.close()

    assert ResponseCache(path).get("key")
    alone = ResponseCache(tmp_path / "other.sqlite")
    alone.close()
    assert not alone.path.exists()


def test_two_processes_can_share_a_cache(tmp_path: Path):
    path = tmp_path / FILE_NAME
    with SimulatedServer(Behaviour(latencies=(0.01,))) as server:
        children = [subprocess.Popen([sys.executable, "-c", CHILD, server.url, str(path)]) for _ in range(2)]

        assert [child.wait(60) for child in children] == [0, 0]
    assert len(kept(path)) == 60
    assert sqlite3.connect(path).execute("PRAGMA integrity_check").fetchone() == ("ok",)
