"""Batches of calls at half the price, over real HTTP: the index equals that of direct calls."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents, settings
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus.api import Built
from conspectus.errors import BudgetReached, ModelError, Unusable, UsageError
from conspectus.index import Index
from conspectus.indexing.pipeline import Silent
from conspectus.models import base
from conspectus.models.llm import batches
from conspectus.models.llm.cache import FILE_NAME, ResponseCache
from conspectus.models.llm.wire import Request

TABLES = "documents chunks entities relationships claims communities reports joins failures words".split()
DOCUMENTS = documents(5)
PRICES = {"simulated": {"input": 1.0, "output": 10.0}}
SILENT = Behaviour(batch_polls=-1)
"""A server whose batches never end."""


def tables(index: Index) -> dict[str, list[Any]]:
    return {name: list(getattr(index, name)) for name in TABLES}


def build(folder: Path, server: SimulatedServer, *, batch: bool = True, **more: Any) -> Built:
    chosen = settings(server.url, llm__batch=batch, **more)
    return conspectus.build(documents=DOCUMENTS, folder=folder, settings=chosen)


@pytest.fixture(scope="module", autouse=True)
def no_pauses() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "QUIET", 0.02)
        patch.setattr(batches, "FIRST_POLL", 0.005)
        patch.setattr(batches, "LONGEST_POLL", 0.005)
        yield


@pytest.fixture(scope="module")
def direct(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The same build by direct calls."""
    with SimulatedServer(Behaviour()) as server:
        return build(tmp_path_factory.mktemp("direct"), server, batch=False, prices=PRICES)


@pytest.fixture(scope="module")
def batched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Built, SimulatedServer]:
    """The build by batches, and its server."""
    with SimulatedServer(Behaviour()) as server:
        return build(tmp_path_factory.mktemp("batched"), server, prices=PRICES), server


class Noting(Silent):
    """A progress display that calls a function with each note; there is one note per batch."""

    def __init__(self, act: Callable[[str], None]) -> None:
        self._act = act

    def note(self, text: str) -> None:
        self._act(text)


def calls_of(built: Built) -> int:
    return sum(usage.calls for usage in built.index.usage.values())


def requests_in(server: SimulatedServer) -> Iterator[list[dict[str, Any]]]:
    """Yield the uploaded requests of each batch."""
    for batch in server.batches.values():
        yield [json.loads(line) for line in server.files[batch["input_file_id"]].splitlines()]


# Results


def test_a_build_by_batches_is_the_build_by_direct_calls(
    direct: Built, batched: tuple[Built, SimulatedServer]
):
    built, server = batched
    assert tables(built.index) == tables(direct.index)
    assert {task: usage.calls for task, usage in built.index.usage.items()} == {
        task: usage.calls for task, usage in direct.index.usage.items()
    }
    assert server.counts["batched"] == server.counts["requests"] - 1, "the first shows what the server takes"
    assert not (built.folder / batches.FOLDER).exists()


def test_requests_are_named_by_the_keys_that_their_replies_are_cached_under(
    batched: tuple[Built, SimulatedServer],
):
    built, server = batched
    rows = [row for batch in requests_in(server) for row in batch]
    replies = ResponseCache(built.folder / FILE_NAME)
    assert all(replies.get(row["custom_id"]) for row in rows)
    assert len({row["custom_id"] for row in rows}) == len(rows)
    assert {(row["method"], row["url"]) for row in rows} == {("POST", "/v1/chat/completions")}
    for batch in requests_in(server):
        assert {row["body"]["model"] for row in batch} == {"simulated"}


def test_a_batch_costs_half(direct: Built, batched: tuple[Built, SimulatedServer]):
    built, _ = batched
    halves = {task: usage.cost / 2 for task, usage in direct.index.usage.items() if task != "ExtractGraph"}
    spent = {row.task: row.cost for row in conspectus.api.spending(built.folder)}
    for task, half in halves.items():
        assert built.index.usage[task].cost == pytest.approx(half)
        assert spent[task] == pytest.approx(half)
    first = direct.index.usage["ExtractGraph"].cost
    assert first / 2 < built.index.usage["ExtractGraph"].cost < first, "one of its calls was direct"
    assert spent["ExtractGraph"] == pytest.approx(built.index.usage["ExtractGraph"].cost)


def test_an_estimate_for_batches_is_half_of_the_other(tmp_path: Path):
    def likely(*, batch: bool) -> float:
        chosen = settings("http://127.0.0.1:9/v1", llm__batch=batch, prices=PRICES)
        cost = conspectus.api.estimate(documents=DOCUMENTS, folder=tmp_path, settings=chosen).likely_cost
        assert cost
        return cost

    assert likely(batch=True) == pytest.approx(likely(batch=False) / 2)


def test_no_batch_has_more_requests_or_bytes_than_a_file_may_have(
    direct: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(batches, "MOST_REQUESTS", 3)
    monkeypatch.setattr(batches, "MOST_BYTES", 12_000)
    with SimulatedServer(Behaviour()) as server:
        assert tables(build(tmp_path, server).index) == tables(direct.index)

    sizes = [len(server.files[batch["input_file_id"]]) for batch in server.batches.values()]
    assert max(map(len, requests_in(server))) == 3
    assert max(sizes) <= 12_000


def test_calls_that_wait_hold_no_request(tmp_path: Path):
    def requests() -> int:
        return sum(isinstance(item, Request) for item in gc.get_objects())

    before, alive = requests(), list[int]()

    def note(_: str) -> None:
        alive.append(requests())
        server.behaviour = Behaviour()

    with SimulatedServer(SILENT) as server:
        conspectus.build(
            documents=DOCUMENTS,
            folder=tmp_path,
            settings=settings(server.url, llm__batch=True),
            progress=Noting(note),
        )
    assert max(map(len, requests_in(server))) > 5
    assert max(alive) <= before


# Interruptions


COMMAND = f"""
import sys
from pathlib import Path
import conspectus
from conspectus.models.llm import batches
from llm_corpus import documents, settings
batches.QUIET = 0.02
conspectus.build(documents=documents({len(DOCUMENTS)}), folder=Path(sys.argv[1]),
                 settings=settings(sys.argv[2], llm__batch=True))
"""


def killed_while_it_waits(folder: Path, server: SimulatedServer, ready: Callable[[], Any]) -> None:
    """Build in another process, and kill it as soon as `ready` returns a true value."""
    path = os.pathsep.join([str(Path(conspectus.__file__).parents[1]), str(Path(__file__).parents[2])])
    command = [sys.executable, "-c", COMMAND, str(folder), server.url]
    with subprocess.Popen(command, env={**os.environ, "PYTHONPATH": path}) as process:
        while not ready():
            assert process.poll() is None
            time.sleep(0.005)
        process.kill()


UNSENT = {
    "server": "",
    "model": "simulated",
    "task": "",
    "file_id": "",
    "id": "",
    "reserved": [0, 0, 0, 0, 0.0],
}
"""A forged state, which no run writes: it would make a run upload a file that came with an index."""


def states(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted((folder / batches.FOLDER).glob("*.json"))]


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, SimulatedServer]]:
    """A build that was killed while all its chunks waited for a batch, and its server."""
    folder = tmp_path_factory.mktemp("interrupted")
    with SimulatedServer(SILENT) as server:

        def submitted() -> bool:
            rows = states(folder)
            return bool(rows) and len(server.batches) == 2 and all(row["id"] for row in rows)

        killed_while_it_waits(folder, server, submitted)
        yield folder, server


def resumed_by(
    interrupted: tuple[Path, SimulatedServer], folder: Path, server: SimulatedServer
) -> SimulatedServer:
    """Copy the state of an interrupted build and of its server into another folder and server; return the server."""
    before, theirs = interrupted
    shutil.copytree(before, folder, dirs_exist_ok=True)
    server.batches, server.files = {k: dict(v) for k, v in theirs.batches.items()}, dict(theirs.files)
    server.asked, server.answered = theirs.asked.copy(), theirs.answered.copy()
    server.counts = theirs.counts.copy()
    for path in (folder / batches.FOLDER).glob("*.json"):
        path.write_text(path.read_text().replace(theirs.url, server.url))
    return server


def test_a_build_that_was_killed_goes_on_with_its_batches(
    direct: Built, interrupted: tuple[Path, SimulatedServer], tmp_path: Path
):
    with SimulatedServer(Behaviour()) as server:
        resumed_by(interrupted, tmp_path, server)
        assert server.counts["requests"] == 1, "the batches are not answered yet"
        submitted = list(server.batches)
        built = build(tmp_path, server)

    assert tables(built.index) == tables(direct.index)
    assert server.counts["asked again"] == 0
    assert server.counts["requests"] == calls_of(direct)
    assert all(server.batches[id_]["status"] == "completed" for id_ in submitted)


def test_open_batches_are_waited_for_without_the_setting_too(
    direct: Built, interrupted: tuple[Path, SimulatedServer], tmp_path: Path
):
    with SimulatedServer(Behaviour()) as server:
        resumed_by(interrupted, tmp_path, server)
        assert tables(build(tmp_path, server, batch=False).index) == tables(direct.index)

    assert len(server.batches) == 2
    assert server.counts["asked again"] == 0


def test_a_batch_that_was_made_just_before_the_kill_is_not_made_again(
    direct: Built, interrupted: tuple[Path, SimulatedServer], tmp_path: Path
):
    with SimulatedServer(Behaviour()) as server:
        resumed_by(interrupted, tmp_path, server)
        for path in (tmp_path / batches.FOLDER).glob("*.json"):  # the state before the server had replied
            path.write_text(json.dumps(json.loads(path.read_text()) | {"id": ""}))
        assert tables(build(tmp_path, server).index) == tables(direct.index)

    assert server.counts["asked again"] == 0
    assert server.counts["requests"] == calls_of(direct)


def test_a_file_that_was_not_submitted_before_the_kill_is_written_again(direct: Built, tmp_path: Path):
    (tmp_path / batches.FOLDER).mkdir()
    (tmp_path / batches.FOLDER / "1.jsonl").write_text('{"custom_id": "')
    with SimulatedServer(Behaviour()) as server:
        assert tables(build(tmp_path, server).index) == tables(direct.index)


def test_replies_of_a_batch_that_were_stored_before_the_kill_are_counted_once(
    interrupted: tuple[Path, SimulatedServer], tmp_path: Path
):
    with SimulatedServer(Behaviour()) as server:
        resumed_by(interrupted, tmp_path, server)
        state = {path: path.read_bytes() for path in (tmp_path / batches.FOLDER).iterdir()}
        build(tmp_path, server)
        before = conspectus.api.spending(tmp_path)
        (tmp_path / batches.FOLDER).mkdir()
        for path, content in state.items():  # the state before the last file was removed
            path.write_bytes(content)
        conspectus.build(
            documents=DOCUMENTS, folder=tmp_path, settings=settings(server.url, llm__batch=True), fresh=True
        )

    assert conspectus.api.spending(tmp_path) == before
    assert not (tmp_path / batches.FOLDER).exists()


@pytest.mark.parametrize("state", ["{}", "[", json.dumps(UNSENT)], ids=["empty", "cut off", "not uploaded"])
def test_the_state_of_a_batch_that_cannot_be_used_is_named_and_nothing_is_sent(state: str, tmp_path: Path):
    (tmp_path / batches.FOLDER).mkdir()
    (tmp_path / batches.FOLDER / "1.jsonl").touch()
    (tmp_path / batches.FOLDER / "1.json").write_text(state)
    with (
        SimulatedServer(Behaviour()) as server,
        pytest.raises(conspectus.errors.IndexDamaged, match=r"1\.json"),
    ):
        build(tmp_path, server)
    assert not server.files


# Failures


def test_requests_that_fail_in_a_batch_are_asked_for_directly(direct: Built, tmp_path: Path):
    with SimulatedServer(Behaviour(errors=0.2, cuts=0.1, malformed=0.1)) as server:
        assert tables(build(tmp_path, server).index) == tables(direct.index)

    assert any(batch["request_counts"]["failed"] for batch in server.batches.values())
    rows = [row["custom_id"] for batch in requests_in(server) for row in batch]
    assert len(set(rows)) == len(rows)
    assert server.counts["requests"] - server.counts["batched"] > 1


def test_requests_that_expire_go_into_the_next_batch(direct: Built, tmp_path: Path):
    with SimulatedServer(Behaviour(batch_expires=0.5)) as server:
        assert tables(build(tmp_path, server).index) == tables(direct.index)

    assert {batch["status"] for batch in server.batches.values()} == {"expired", "completed"}
    assert server.counts["requests"] - server.counts["batched"] == 1
    assert server.counts["asked again"] == 0


@pytest.mark.parametrize(
    "behaviour",
    [Behaviour(batch_ends="cancelled"), Behaviour(batch_ends="failed"), Behaviour(batch_expires=1.0)],
    ids=["cancelled", "failed", "expired"],
)
def test_a_batch_of_which_nothing_is_answered_ends_the_run(
    direct: Built, behaviour: Behaviour, tmp_path: Path
):
    with SimulatedServer(behaviour) as server:
        with pytest.raises(Unusable, match=r"no request of the batch.*resubmit them"):
            build(tmp_path, server)
        server.behaviour = Behaviour()
        assert tables(build(tmp_path, server).index) == tables(direct.index)


def test_batches_are_made_smaller_where_the_account_has_no_room_for_them(direct: Built, tmp_path: Path):
    with SimulatedServer(Behaviour(batch_tokens=40_000)) as server:
        assert tables(build(tmp_path, server).index) == tables(direct.index)

    assert "failed" in {batch["status"] for batch in server.batches.values()}
    assert server.counts["requests"] == calls_of(direct)


@pytest.mark.parametrize("refused", ["json_schema", "temperature"])
def test_what_a_server_does_not_take_is_in_no_batch(refused: str, direct: Built, tmp_path: Path):
    with SimulatedServer(Behaviour(refuses=(refused,))) as server:
        assert tables(build(tmp_path, server).index) == tables(direct.index)

    assert server.batches
    assert all(refused not in json.dumps(row["body"]) for batch in requests_in(server) for row in batch)
    assert not any(batch["request_counts"]["failed"] for batch in server.batches.values())


def test_a_server_without_a_batch_api_is_named_before_anything_is_paid(tmp_path: Path):
    with (
        SimulatedServer(Behaviour(batches=False)) as server,
        pytest.raises(Unusable, match=r"no batch API \(HTTP 404\): leave the setting"),
    ):
        build(tmp_path, server)
    assert server.counts["requests"] == 0


def test_a_model_that_is_not_asked_in_this_format_is_named(tmp_path: Path):
    chosen = {"llm.batch": True, "llm.base_url": "http://127.0.0.1:9"}
    with pytest.raises(UsageError, match="ollama/qwen3 has no batch API"):
        conspectus.build(documents=DOCUMENTS, folder=tmp_path, model="ollama/qwen3", settings=chosen)


def test_a_server_that_goes_away_ends_the_run_and_the_next_goes_on(direct: Built, tmp_path: Path):
    with SimulatedServer(SILENT) as server:
        chosen = settings(server.url, llm__batch=True, llm__attempts=1)
        with pytest.raises(ModelError, match=r"no server answers|broke the connection"):
            conspectus.build(
                documents=DOCUMENTS,
                folder=tmp_path,
                settings=chosen,
                progress=Noting(lambda _: server.stop()),
            )
    assert states(tmp_path)
    with SimulatedServer(Behaviour(), port=server.port) as again:
        again.batches, again.files = server.batches, server.files
        assert tables(build(tmp_path, again).index) == tables(direct.index)


# Budget


def test_what_is_submitted_counts_as_spent_until_its_usage_is_known(direct: Built, tmp_path: Path):
    budget = 50_000
    with SimulatedServer(Behaviour(batch_polls=3)) as server:
        built = build(tmp_path, server, llm__budget_tokens=budget)
    assert tables(built.index) == tables(direct.index)
    most = [sum(row["body"]["max_tokens"] for row in batch) for batch in requests_in(server)]
    assert max(most) < budget
    assert max(map(len, requests_in(server))) < len(built.index.chunks) - 1, (
        "it takes several batches for a stage"
    )
    assert sum(usage.tokens for usage in built.index.usage.values()) <= budget


def test_a_budget_that_is_reached_ends_the_run_and_a_higher_one_goes_on(direct: Built, tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        with pytest.raises(BudgetReached):
            build(tmp_path, server, llm__budget_tokens=30_000)
        spent = server.prompt_tokens + server.completion_tokens
        assert 0 < spent <= 30_000
        assert tables(build(tmp_path, server).index) == tables(direct.index)
        assert server.counts["asked again"] == 0


@pytest.mark.parametrize(("budget", "beside"), [(None, 2), (500_000, 0)])
def test_open_batches_count_against_the_budget_of_the_next_run(
    budget: int | None, beside: int, interrupted: tuple[Path, SimulatedServer], tmp_path: Path
):
    more = [
        *DOCUMENTS,
        {"title": "New", "text": "In 1999 Ada Byrne met Bo Quill over matter 9999.", "id": "new"},
    ]
    with SimulatedServer(Behaviour(batch_polls=60)) as server:
        resumed_by(interrupted, tmp_path, server)
        for path in (tmp_path / batches.FOLDER).glob("*.json"):
            row = json.loads(path.read_text())
            path.write_text(json.dumps(row | {"reserved": [9, 0, 400_000, 100_000, 0.0]}))
        chosen = settings(server.url, llm__batch=True, llm__budget_tokens=budget)
        conspectus.build(documents=more, folder=tmp_path, settings=chosen)
    assert server.batches["batch_3"]["open before"] == beside


# Works


async def test_at_most_so_many_works_are_under_way_at_once(monkeypatch: pytest.MonkeyPatch):
    class Writer:
        generative = True

    most = under_way = 0

    async def work(n: int) -> int:
        nonlocal most, under_way
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return n * n

    monkeypatch.setattr(base, "MOST_BEGUN", 3)
    assert await base.performed(Writer(), work, range(20)) == [n * n for n in range(20)]  # pyright: ignore[reportArgumentType]
    assert most == 3
