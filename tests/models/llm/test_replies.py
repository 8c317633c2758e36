from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from conspectus.errors import IndexDamaged
from conspectus.models.llm.cache import CachedReply, ResponseCache
from conspectus.models.llm.wire import Message, Request, Status


def attempt(key: str, status: Status = "ok", reply: str | bytes = "yes", task: str = "T") -> CachedReply:
    return CachedReply(key, "m", task, status, reply, "stop", 10, 2, 0.5)


def add(replies: ResponseCache, *attempts: CachedReply) -> None:
    async def run() -> None:
        await asyncio.gather(*(replies.add([a]) for a in attempts))

    asyncio.run(run())


@pytest.fixture
def replies(tmp_path: Path) -> ResponseCache:
    return ResponseCache(tmp_path / "index" / "replies.sqlite")


def test_only_good_replies_are_served_and_of_those_the_first(replies: ResponseCache):
    add(
        replies,
        attempt("a", "failed", "error"),
        attempt("a", "cut off", "ye"),
        attempt("b", "unparsable", "??"),
    )
    assert replies.get("a") is None
    assert replies.get("b") is None
    assert replies.get("c") is None

    add(replies, attempt("a", reply="first"), attempt("a", reply="second"))
    kept = replies.get("a")
    assert kept is not None
    assert (kept.text, kept.prompt_tokens, kept.cached) == ("first", 10, True)


def test_a_reply_that_cannot_be_read_is_served_no_more(replies: ResponseCache):
    add(replies, attempt("a", reply="bad"))
    asyncio.run(replies.reject("a"))
    assert replies.get("a") is None


def test_what_was_awaited_is_there_for_another_process_at_once(replies: ResponseCache):
    add(replies, attempt("a"))
    assert ResponseCache(replies.path).get("a") is not None


def test_vectors_come_back_bit_by_bit(replies: ResponseCache):
    add(replies, attempt("v", reply=b"\x00\xff\x01"))
    assert replies.get_bytes("v") == b"\x00\xff\x01"


def test_writes_that_come_together_are_one_transaction(replies: ResponseCache):
    commits: list[int] = []
    commit = replies._commit  # pyright: ignore[reportPrivateUsage]
    replies._commit = lambda batch: (commits.append(len(batch)), commit(batch))[1]  # pyright: ignore

    add(replies, *(attempt(str(n)) for n in range(25)))
    assert commits == [25]


def test_stats_tell_size_and_how_attempts_ended(replies: ResponseCache):
    add(replies, attempt("a", task="One"), attempt("b", task="Two"), attempt("c", "failed", task="Two"))

    stats = replies.stats()

    assert (stats.rows, stats.by_status) == (3, {"failed": 1, "ok": 2})
    assert stats.bytes > 0


def test_what_was_spent_is_told_by_task_and_model_over_all_runs(replies: ResponseCache):
    add(
        replies,
        attempt("a"),
        attempt("b", "cut off"),
        attempt("c", "failed"),
        attempt("d", "failed", task="Down"),
    )
    (spent,) = replies.spent()
    assert (spent.task, spent.calls, spent.prompt_tokens, spent.completion_tokens) == ("T", 2, 20, 4)


def test_pruning_takes_the_old_or_the_bad(replies: ResponseCache):
    add(replies, attempt("a"), attempt("b"), attempt("c", "failed"))
    assert replies.prune() == 0
    assert replies.prune(bad=True) == 1
    assert replies.get("a") is not None
    assert replies.prune(made_before=time.time()) == 2
    assert replies.get("a") is None


def test_what_a_server_does_not_take_is_kept(replies: ResponseCache):
    asyncio.run(replies.refuse("http://x", "m", "logit_bias"))
    assert ResponseCache(replies.path).refused() == {("http://x", "m", "logit_bias")}


def test_a_file_that_is_no_cache_is_told(tmp_path: Path):
    path = tmp_path / "replies.sqlite"
    path.write_bytes(b"this is no database at all, but long enough to be one" * 20)
    with pytest.raises(IndexDamaged, match=r"replies\.sqlite .* restore it"):
        ResponseCache(path)


def test_a_key_depends_on_all_that_can_change_the_reply_and_on_nothing_else():
    def request(**more: object) -> str:
        given = {"messages": (Message("user", "x"),), "model": "m", **more}
        return Request(**given).key  # pyright: ignore

    same = [request(), request(task="T"), request(priority=3.0), request(logit_bias=None)]
    others = [
        request(model="n"),
        request(messages=(Message("system", "x"),)),
        request(messages=(Message("user", "x"), Message("assistant", "y"))),
        request(temperature=0.0),
        request(max_tokens=1),
        request(seed=1),
        request(response_format="json_object"),
        request(schema={"type": "object"}),
        request(schema_name="s"),
        request(logit_bias={1: 100}),
        request(reasoning_effort="low"),
        request(messages=(Message("user", "\ud800"),)),
    ]
    assert len(set(same)) == 1
    assert len({*same, *others}) == 1 + len(others)


def test_a_key_does_not_depend_on_the_order_of_a_schema():
    one = Request((), "m", schema={"a": 1, "b": 2}, logit_bias={1: 1, 2: 2})
    other = Request((), "m", schema={"b": 2, "a": 1}, logit_bias={2: 2, 1: 1})
    assert one.key == other.key
