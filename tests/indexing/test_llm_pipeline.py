"""The whole pipeline with a language model, over real HTTP: faults of the server do not change the index."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents, settings
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus.api import Built
from conspectus.errors import BadKey, BudgetReached, ConspectusError, ModelError, ServerDown, UnknownModel
from conspectus.index import Index
from conspectus.models.llm import model

distributed: Any = import_module("distributed")

TABLES = "documents chunks entities relationships claims communities reports joins failures words".split()
DOCUMENTS = documents()


def tables(index: Index) -> dict[str, list[Any]]:
    return {name: list(getattr(index, name)) for name in TABLES}


def built(folder: Path, behaviour: Behaviour, **more: Any) -> tuple[Built, SimulatedServer]:
    with SimulatedServer(behaviour) as server:
        return conspectus.build(
            documents=DOCUMENTS, folder=folder, settings=settings(server.url, **more)
        ), server


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return built(tmp_path_factory.mktemp("sound"), Behaviour(), extract__claims=True)[0]


def test_every_table_has_rows(sound: Built):
    index = sound.index
    assert len(index.entities) >= 15
    assert index.relationships
    assert index.claims
    assert index.reports
    assert not index.failures
    assert {"ExtractGraph", "AnyMissed", "ExtractClaims", "DescribeElement", "WriteReport"} <= set(
        index.usage
    )
    assert all(usage.calls for usage in index.usage.values())


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(errors=0.05, cuts=0.05, too_many=0.05, retry_after=0.05),
        Behaviour(errors=0.05, malformed=0.05, garbage=0.03, drops=0.03, seed=3),
        Behaviour(hangs=0.02, hang_seconds=30, cuts=0.05, seed=5),
        Behaviour(errors=0.05, cuts=0.05, malformed=0.05, seed=2),
        Behaviour(refuses=("json_schema",), latencies=(0.0, 0.01, 0.03)),
        Behaviour(refuses=("json_schema", "json_object"), thinking=True),
    ],
    ids=[
        "500s, cuts and 429s",
        "garbage and drops",
        "hangs",
        "malformed",
        "no schema",
        "no JSON mode, with thinking",
    ],
)
def test_faults_do_not_show_in_the_index(sound: Built, behaviour: Behaviour, tmp_path: Path):
    faulty, server = built(tmp_path, behaviour, extract__claims=True, llm__timeout=2.0)
    assert tables(faulty.index) == tables(sound.index)
    assert server.counts["requests"] > sum(usage.calls for usage in sound.index.usage.values()) or not (
        behaviour.errors or behaviour.cuts
    )


def test_a_model_whose_vocabulary_is_known_is_asked_once_whether_entities_were_missed(tmp_path: Path):
    made, server = built(tmp_path, Behaviour(), model="openai/gpt-4.1-mini")
    assert not made.failures
    assert made.index.usage["AnyMissed"].calls == server.counts["ExtractGraph"] == len(made.index.chunks)


def test_one_call_for_several_elements_gives_what_a_call_for_each_gives(
    sound: Built, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(model, "MOST_DESCRIBED", 1)
    alone, server = built(tmp_path, Behaviour(), extract__claims=True)

    assert server.counts["DescribeElement"] > sound.index.usage["DescribeElement"].calls
    assert not server.counts["DescribeElements"]
    for table in ("entities", "relationships", "claims", "communities", "reports"):
        assert list(getattr(alone.index, table)) == list(getattr(sound.index, table)), table


def elements_asked(server: SimulatedServer) -> set[str]:
    """Return the elements, with their descriptions, of the calls that describe several at once."""
    asked = (body["messages"] for body in server.bodies)
    several = (
        messages[1]["content"] for messages in asked if "# Task: DescribeElements" in messages[0]["content"]
    )
    return {re.sub(r"^\d+\. ", "", block) for text in several for block in text[7:-8].split("\n\n")}


def test_an_update_asks_only_for_elements_whose_descriptions_changed(tmp_path: Path):
    _, first = built(tmp_path, Behaviour(keep_bodies=True))
    changed = [
        *DOCUMENTS[:-1],
        {**DOCUMENTS[-1], "text": f"{DOCUMENTS[-1]['text']} Pit Lane sued Gull Rock twice."},
    ]
    with SimulatedServer(Behaviour(keep_bodies=True)) as second:
        conspectus.build(documents=changed, folder=tmp_path, settings=settings(second.url))

    assert elements_asked(first)
    assert second.counts["DescribeElement"] + second.counts["DescribeElements"]
    assert elements_asked(second).isdisjoint(elements_asked(first))


def test_a_second_run_asks_for_nothing(sound: Built):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, extract__claims=True)
        again = conspectus.build(documents=DOCUMENTS, folder=sound.folder, settings=chosen)
    assert server.counts["requests"] == 0
    assert again.snapshot == sound.snapshot
    assert again.update.up_to_date


def test_a_second_run_that_makes_everything_anew_asks_for_nothing_either(sound: Built):
    with SimulatedServer(Behaviour()) as server:
        chosen = settings(server.url, extract__claims=True)
        again = conspectus.build(documents=DOCUMENTS, folder=sound.folder, settings=chosen, fresh=True)
    assert server.counts["requests"] == 0
    assert again.snapshot == sound.snapshot
    assert sum(usage.cached_calls for usage in again.index.usage.values()) > 0


def test_a_second_run_after_faults_asks_for_nothing_either(tmp_path: Path):
    behaviour = Behaviour(malformed=0.05, cuts=0.05, errors=0.1)
    first, _ = built(tmp_path, behaviour)
    assert not first.failures
    again, server = built(tmp_path, behaviour)
    assert server.counts["requests"] == 0
    assert again.snapshot == first.snapshot


def test_calls_that_never_succeed_are_named_and_asked_for_again_alone(tmp_path: Path):
    broken, _ = built(tmp_path, Behaviour(never=("matter 503",)), llm__attempts=2)
    kinds = {failure.stage for failure in broken.failures}
    assert "extract" in kinds
    assert all("HTTP 500" in failure.error for failure in broken.failures)
    lost = {c.id for c in broken.index.chunks if "matter 503" in c.text}
    extracting = [failure.error for failure in broken.failures if failure.stage == "extract"]
    assert sorted(id for error in extracting for id in re.findall(r"[0-9a-f]{32}", error)) == sorted(lost)
    told = conspectus.ask(
        "Who met Ada Byrne?", broken.index, method="local", settings={"model": "extractive"}
    )
    [notice] = [notice for notice in told.notices if "lacks" in notice]
    assert all(failure.document in notice for failure in broken.failures[:3])
    assert "HTTP" not in notice

    mended, server = built(tmp_path, Behaviour())
    assert not mended.failures
    assert server.counts["ExtractGraph"] == len(lost)
    whole, _ = built(tmp_path / "whole", Behaviour())
    assert tables(mended.index) == tables(whole.index)
    answer = conspectus.ask(
        "Who met Ada Byrne?", mended.index, method="local", settings={"model": "extractive"}
    )
    assert not answer.notices


def test_a_failure_names_its_chunk_once(tmp_path: Path):
    broken, _ = built(tmp_path, Behaviour(malformed=0.7), llm__attempts=1)
    errors = [failure.error for failure in broken.failures if failure.stage == "extract"]

    assert errors
    assert {len(re.findall(r"[0-9a-f]{32}", error)) for error in errors} == {1}


def test_reports_that_fail_are_named_and_written_by_the_next_run(tmp_path: Path):
    _, seen = built(tmp_path / "seen", Behaviour(keep_bodies=True))
    asked = (body["messages"][-1]["content"] for body in seen.bodies)
    heads = [text.partition("-----Entities-----")[2][:60] for text in asked if "-----Entities-----" in text]
    never = json.dumps(heads[0], ensure_ascii=False)[1:-1]
    broken, _ = built(tmp_path, Behaviour(never=(never,)), llm__attempts=1)
    assert 0 < len(broken.failures) < len(broken.index.reports)
    assert all(f.stage == "reports" and f.error.startswith("community ") for f in broken.failures)
    assert [report.number for report in broken.index.reports] == list(range(len(broken.index.reports)))

    mended, server = built(tmp_path, Behaviour())
    assert not mended.failures
    assert set(server.counts) & {"ExtractGraph", "DescribeElement", "DescribeElements"} == set()
    assert server.counts["WriteReport"] >= len(broken.failures)


# When no more calls are possible


def test_a_budget_stops_before_the_call_that_would_pass_it_and_the_same_command_goes_on(tmp_path: Path):
    whole, _ = built(tmp_path / "whole", Behaviour())
    total = sum(u.prompt_tokens + u.completion_tokens for u in whole.index.usage.values())
    asked = 0
    runs = 0
    while runs < 60:
        runs += 1
        with SimulatedServer(Behaviour()) as server:
            chosen = settings(server.url, llm__budget_tokens=total // 3, llm__max_tokens=900)
            try:
                last = conspectus.build(documents=DOCUMENTS, folder=tmp_path / "part", settings=chosen)
            except BudgetReached:
                assert server.prompt_tokens + server.completion_tokens <= total // 3
            else:
                break
            finally:
                asked += server.counts["requests"]
    else:
        raise AssertionError("it never came to an end")
    assert runs > 2
    assert asked == sum(u.calls for u in whole.index.usage.values())
    assert tables(last.index) == tables(whole.index)


@pytest.mark.parametrize(
    ("behaviour", "more", "error", "says"),
    [
        (Behaviour(key="right"), {}, BadKey, "requires a key"),
        (Behaviour(models=("other",)), {}, UnknownModel, "no model 'simulated'"),
        (None, {}, ServerDown, "no server answers"),
    ],
    ids=["a wrong key", "an unknown model", "no server"],
)
def test_what_cannot_work_is_one_line(
    behaviour: Behaviour | None, more: dict[str, Any], error: type[ConspectusError], says: str, tmp_path: Path
):
    with SimulatedServer(behaviour or Behaviour()) as server:
        url = server.url if behaviour else "http://127.0.0.1:9/v1"
        with pytest.raises(error, match=says) as raised:
            conspectus.build(documents=DOCUMENTS, folder=tmp_path, settings=settings(url, **more))
    assert "\n" not in str(raised.value)
    assert server.counts["requests"] <= 25


def test_requests_that_are_too_long_are_failures_that_name_the_document_and_what_to_set(tmp_path: Path):
    broken, _ = built(tmp_path, Behaviour(context_tokens=930))
    assert broken.index.entities
    assert broken.failures
    assert {failure.document for failure in broken.failures if failure.stage == "extract"} <= {
        document.path for document in broken.index.documents
    }
    for failure in broken.failures:
        assert "longer than the context" in failure.error
        assert ("chunk.tokens" if failure.stage == "extract" else ".context_tokens") in failure.error


@pytest.mark.parametrize(
    ("count", "says"),
    [(2, "could not read any of the 4 chunks"), (12, "failed on all of the first 20 calls")],
)
@pytest.mark.parametrize(
    "behaviour", [Behaviour(context_tokens=300), Behaviour(errors=1.0)], ids=["too long", "500"]
)
def test_where_no_call_succeeds_at_all_that_is_one_line_and_the_index_stays(
    behaviour: Behaviour, count: int, says: str, sound: Built, tmp_path: Path
):
    shutil.copytree(sound.folder, tmp_path / "index")
    (tmp_path / "index" / "replies.sqlite").unlink()
    with SimulatedServer(behaviour) as server:
        chosen = settings(server.url, llm__attempts=2)
        with pytest.raises(ModelError, match=says) as raised:
            conspectus.build(documents=documents(count), folder=tmp_path / "index", settings=chosen)
    assert "\n" not in str(raised.value)
    assert server.counts["requests"] <= 2 * 45
    assert conspectus.open_index(tmp_path / "index").snapshot == sound.snapshot


# Being killed

COMMAND = """
import json, sys
from dataclasses import replace
import conspectus
from conspectus.workers import Workers
from llm_corpus import documents, settings
chosen = settings(sys.argv[2], llm__concurrency=int(sys.argv[3]))
if address := sys.argv[4]:  # whose workers would not be asked for so small a corpus
    workers = replace(Workers.of(address), shard=2_000, least=0)
    Workers.of = lambda _: workers
built = conspectus.build(documents=documents(), folder=sys.argv[1], settings=chosen)
print(json.dumps([built.snapshot, len(built.failures)]))
"""


def start(folder: Path, url: str, cluster: str = "") -> subprocess.Popen[str]:
    path = os.pathsep.join([str(Path(conspectus.__file__).parents[1]), str(Path(__file__).parents[1])])
    environ = {**os.environ, "PYTHONPATH": path}
    command = [sys.executable, "-c", COMMAND, str(folder), url, str(CONCURRENCY), cluster]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ)


CONCURRENCY = 4


def kills(folder: Path, times: int, seed: int, cluster: str = "") -> int:
    """Kill a build, and a worker of its cluster if it has one, at random moments, then let it finish; check how many
    requests were repeated, and the result. Return the number of kills.
    """
    whole, _ = built(folder / "whole", Behaviour())
    calls = sum(usage.calls for usage in whole.index.usage.values())
    draw = random.Random(seed)
    killed = 0
    with SimulatedServer(Behaviour(latencies=(0.02, 0.05, 0.11))) as server:

        def run(until: int | None) -> subprocess.Popen[str]:
            """Build until `until` different requests were received, or to the end."""
            process = start(folder / "killed", server.url, cluster)
            if until is not None:
                while len(server.asked) < until and process.poll() is None:
                    time.sleep(0.002)
                time.sleep(draw.uniform(0, 0.1))
                process.kill()
                if cluster:
                    kill_a_worker(cluster)
            assert process.wait(timeout=60) == (0 if until is None else -signal.SIGKILL)
            assert server.counts["requests"] - len(server.asked) <= CONCURRENCY * killed
            return process

        for goal in sorted(draw.sample(range(calls), times)):
            run(goal)
            killed += 1
        told = run(None).stdout
        assert told
        assert json.loads(told.read()) == [whole.snapshot, 0]
        assert len(server.asked) == calls
        total = server.counts["requests"]
        conspectus.build(documents=DOCUMENTS, folder=folder / "killed", settings=settings(server.url))
        assert server.counts["requests"] == total
    return killed


def kill_a_worker(cluster: str) -> None:
    with distributed.Client(cluster, set_as_default=False) as client:
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)


def test_a_build_on_a_cluster_goes_on_where_it_was_when_it_and_workers_are_killed(
    tmp_path: Path, cluster: str
):
    assert kills(tmp_path, 1, seed=9, cluster=cluster) == 1


def test_a_build_that_is_killed_goes_on_where_it_was(tmp_path: Path):
    assert kills(tmp_path, 2, seed=1) == 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_a_build_that_is_killed_often_goes_on_where_it_was(seed: int, tmp_path: Path):
    assert kills(tmp_path, 6, seed) == 6
