"""Answers over HTTP: streams, estimates, contexts, conversations, and many askers at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import httpx2 as httpx
import pytest

import conspectus
from conspectus.evaluation import answer_questions
from tests.server.conftest import SAMPLE, Running
from tests.simulated_server import Behaviour, SimulatedServer

QUESTION = "Who is the harbour master of Port Sallow?"


def events_in(lines: Iterator[str]) -> Iterator[tuple[str, Any]]:
    """Yield the events of a stream."""
    kind = ""
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            kind = value
        elif name == "data":
            yield kind, json.loads(value)


def test_a_stream_names_the_method_before_the_text_and_ends_with_the_answer(server: Running) -> None:
    body = {"question": "What are the main themes?", "stream": True}
    with httpx.stream("POST", server.url + "/api/ask", json=body) as response:
        events = list(events_in(response.iter_lines()))
    kinds = [kind for kind, _ in events]
    assert kinds[:2] == ["start", "method"]
    assert set(kinds[2:-1]) == {"text"}
    assert kinds[-1] == "done"
    method, answer = events[1][1], events[-1][1]
    assert method["method"] == answer["method"]
    assert method["why"]
    assert answer["why"].startswith(method["why"])
    assert httpx.get(f"{server.url}/api/answers/{answer['id']}").json() == answer


def test_a_stream_says_that_it_looks_again_and_has_nothing_of_the_answer_before(
    serve: Callable[..., Running], sample_index: Path
) -> None:
    replies = iter(
        [
            "<DATA_SUFFICES> no: boat of Wilf Garrick </DATA_SUFFICES>\nIt is not told.",
            "<DATA_SUFFICES> yes </DATA_SUFFICES>\nThe Constance May [Data: Sources (1)].",
        ]
    )
    with SimulatedServer(Behaviour(), lambda *_: next(replies)) as model:
        settings = {"model": "openai/simulated", "llm.base_url": model.url}
        running = serve(sample_index, settings=settings, read_only=True)
        body = {"question": "Which boat belongs to the father of Tamsin Garrick?", "stream": True}
        with httpx.stream("POST", running.url + "/api/ask", json=body, timeout=60) as response:
            events = list(events_in(response.iter_lines()))
    told = [data["why"] for kind, data in events if kind == "method"]
    text = "".join(data["text"] for kind, data in events if kind == "text")
    answer = events[-1][1]
    assert len(told) == 2
    assert "boat of Wilf Garrick" in told[1]
    assert text == answer["text"] == "The Constance May [1]."
    assert (answer["rounds"], answer["clues"], answer["sufficient"]) == (2, ["boat of Wilf Garrick"], True)
    assert answer["usage"]["calls"] == 2


def test_sources_name_their_documents_by_number(server: Running) -> None:
    answer = httpx.post(server.url + "/api/ask", json={"question": QUESTION, "method": "bm25"}).json()
    sources = [source for citation in answer["citations"] for source in citation["sources"]]
    assert sources
    for source in sources:
        span = {"start": source["start"], "end": source["end"]}
        page = httpx.get(f"{server.url}/api/documents/{source['number']}", params=span).json()
        assert (page["document"]["path"], page["text"]) == (source["document"], source["text"])


def test_documents_of_a_list_have_the_date_that_conditions_go_by(server: Running) -> None:
    rows = httpx.get(f"{server.url}/api/documents").json()
    assert rows
    assert all(row["date"] and row["date"] in row["path"] for row in rows)


def test_the_context_of_an_answer_is_what_the_library_gathers(server: Running, sample_index: Path) -> None:
    body = {"question": QUESTION, "method": "local"}
    seen = httpx.post(server.url + "/api/ask/context", json=body).json()
    expected = conspectus.context(QUESTION, sample_index, method="local")
    assert seen["windows"] == [window.text.strip() for window in expected.windows]
    assert seen["tokens"] == expected.context_tokens
    refused = httpx.post(server.url + "/api/ask/context", json={**body, "method": "drift"})
    assert refused.status_code == 400


def test_a_question_is_read_in_the_light_of_the_exchanges_before_it(server: Running) -> None:
    first = httpx.post(server.url + "/api/ask", json={"question": "Who is Ishbel Corran?"}).json()
    earlier = [{"question": first["question"], "answer": first["text"]}]
    body = {"question": "Where does she work?", "method": "bm25", "earlier": earlier}
    second = httpx.post(server.url + "/api/ask", json=body).json()
    alone = httpx.post(server.url + "/api/ask", json={**body, "earlier": []}).json()
    assert "she" not in second["question"].split()
    assert alone["question"] == "Where does she work?"
    assert alone["id"] != second["id"]
    seen = httpx.post(server.url + "/api/ask/context", json=body).json()
    assert (seen["question"], seen["why"]) == (second["question"], second["why"])
    assert seen["tokens"] == second["context_tokens"]


def test_chat_clients_ask_follow_up_questions(server: Running) -> None:
    messages = [
        {"role": "user", "content": "Who is Ishbel Corran?"},
        {"role": "assistant", "content": "Ishbel Corran is a person."},
        {"role": "user", "content": "Where does she work?"},
    ]
    follow_up = {"model": "sample:bm25", "messages": messages}
    alone = {"model": "sample:bm25", "messages": messages[-1:]}
    texts = [
        httpx.post(server.url + "/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]
        for body in (follow_up, alone)
    ]
    assert texts[0] != texts[1]


def test_references_of_a_report_lead_to_sources_and_entities(server: Running) -> None:
    number = httpx.get(server.url + "/api/reports").json()[0]["number"]
    page = httpx.get(f"{server.url}/api/reports/{number}").json()
    assert len(page["linked"]) == 1 + len(page["report"]["findings"])
    citations = [citation for text in page["linked"] for citation in text["citations"]]
    assert citations
    assert all("[Data:" not in text["text"] for text in page["linked"])
    for citation in citations:
        assert all(source["number"] is not None for source in citation["sources"])
        if citation["kind"] == "entity":
            entity = httpx.get(f"{server.url}/api/entities/{citation['number']}").json()["entity"]
            assert entity["name"] == citation["title"]


def test_an_answer_without_a_language_model_has_no_estimate(server: Running) -> None:
    seen = httpx.post(server.url + "/api/ask/estimate", json={"question": QUESTION}).json()
    assert seen["method"]
    assert seen["estimate"] is None


def test_an_estimate_asks_no_model(serve: Callable[..., Running], sample_index: Path) -> None:
    with SimulatedServer(Behaviour()) as model:
        settings = {"model": "openai/simulated", "llm.base_url": model.url}
        running = serve(sample_index, settings=settings, read_only=True)
        body = {"question": "What are the main themes?", "method": "global"}
        seen = httpx.post(running.url + "/api/ask/estimate", json=body).json()["estimate"]
        assert not model.counts
        answer = httpx.post(running.url + "/api/ask", json=body, timeout=60).json()
    assert seen["calls"][0] <= answer["usage"]["calls"] <= seen["calls"][1]
    assert seen["tokens"][0] <= answer["usage"]["prompt_tokens"] + answer["usage"]["completion_tokens"]


@pytest.mark.parametrize("place", ["environment", "file"])
def test_a_model_of_the_environment_or_of_the_settings_file_answers(
    place: str,
    serve: Callable[..., Running],
    sample_index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with SimulatedServer(Behaviour()) as model:
        if place == "environment":
            monkeypatch.setenv("CONSPECTUS_MODEL", "openai/simulated")
            monkeypatch.setenv("CONSPECTUS_LLM_BASE_URL", model.url)
        else:
            file = f'model = "openai/simulated"\n[llm]\nbase_url = "{model.url}"\n'
            (tmp_path / "conspectus.toml").write_text(file, encoding="utf-8")
            monkeypatch.chdir(tmp_path)
        running = serve(sample_index, read_only=True)
        assert httpx.get(running.url + "/api/indexes").json()[0]["model"] == "openai/simulated"
        lacks = {row["name"]: row["lacks"] for row in httpx.get(running.url + "/api/methods").json()}
        assert lacks["direct"] == []  # only a language model can answer without a context
        body = {"question": f"{QUESTION} ({place})", "method": "local"}  # not yet cached
        estimated = httpx.post(running.url + "/api/ask/estimate", json=body).json()["estimate"]
        assert estimated["calls"][0] > 0
        assert httpx.post(running.url + "/api/ask", json=body, timeout=60).json()["usage"]["calls"] > 0


@pytest.fixture
def study(tmp_path: Path, sample_index: Path) -> Path:
    folder = tmp_path / "study"
    folder.mkdir()
    (tmp_path / "questions.csv").write_text("question\nWho is Ishbel Corran?\n", encoding="utf-8")
    answer_questions(tmp_path / "questions.csv", sample_index, folder, conditions=["C0"])
    return folder


def test_the_tables_of_a_study_are_read_and_nothing_is_written(
    serve: Callable[..., Running], sample_index: Path, study: Path
) -> None:
    before = {path: path.stat().st_mtime_ns for path in study.rglob("*")}
    running = serve(sample_index, studies=(study,), read_only=True)
    assert httpx.get(running.url + "/api/studies").json() == ["study"]
    page = httpx.get(running.url + "/api/studies/study").json()
    assert "Who is Ishbel Corran?" in page["markdown"]
    assert page["missing"]
    assert {path: path.stat().st_mtime_ns for path in study.rglob("*")} == before
    assert httpx.get(running.url + "/api/studies/..%2f..").status_code == 404


# Many at once


async def test_equal_questions_are_computed_once(
    serve: Callable[..., Running], sample_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    aask = conspectus.aask

    async def counted(question: str, *args: Any, **options: Any) -> Any:
        computed.append(question)
        return await aask(question, *args, **options)

    monkeypatch.setattr(conspectus, "aask", counted)
    running = serve(sample_index, read_only=True)
    async with httpx.AsyncClient(timeout=60) as client:
        body = {"question": QUESTION, "method": "walk"}
        asks = [client.post(running.url + "/api/ask", json=body) for _ in range(20)]
        answers = [response.json() for response in await asyncio.gather(*asks)]
    assert len(computed) == 1
    assert all(answer == answers[0] for answer in answers)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "json"])
async def test_a_client_that_leaves_cancels_its_model_calls(
    serve: Callable[..., Running], sample_index: Path, stream: bool
) -> None:
    with SimulatedServer(Behaviour(latencies=(3600.0,))) as model:
        settings = {"model": "openai/simulated", "llm.base_url": model.url}
        running = serve(sample_index, settings=settings, read_only=True)
        body = {"question": QUESTION, "method": "local", "stream": stream}
        async with httpx.AsyncClient(timeout=120) as client:
            asking = asyncio.create_task(client.post(running.url + "/api/ask", json=body))
            await until(lambda: model.under_way > 0)
            asking.cancel()
        await until(lambda: model.under_way == 0)
        pending = "conspectus_answers_pending 0.0"
        await until(lambda: pending in httpx.get(running.url + "/metrics").text)


async def test_an_answer_goes_on_until_the_last_of_those_who_wait_for_it_has_left(
    serve: Callable[..., Running], sample_index: Path
) -> None:
    with SimulatedServer(Behaviour(latencies=(3600.0,))) as model:
        settings = {"model": "openai/simulated", "llm.base_url": model.url}
        running = serve(sample_index, settings=settings, read_only=True)
        async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=100)) as client:

            def asked(question: str) -> asyncio.Task[Any]:
                body = {"question": question, "method": "local"}
                return asyncio.create_task(client.post(running.url + "/api/ask", json=body))

            others = [asked(f"{QUESTION} ({number})") for number in range(20)]
            equal = [asked(QUESTION) for _ in range(20)]
            await until(lambda: model.under_way == 21)
            for task in (*others, *equal[1:]):
                task.cancel()
            await until(lambda: model.under_way == 1)
            pending = "conspectus_answers_pending 1.0"
            await until(lambda: pending in httpx.get(running.url + "/metrics").text)
            assert not equal[0].done()
            equal[0].cancel()
            await until(lambda: model.under_way == 0)


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition, at most a minute."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - what it looks at is in other threads
            await asyncio.sleep(0.01)


async def test_an_index_is_rebuilt_without_a_failed_request(
    serve: Callable[..., Running], tmp_path: Path
) -> None:
    folder, documents = tmp_path / "index", tmp_path / "documents"
    documents.mkdir()
    for file in sorted(path for path in SAMPLE.rglob("*") if path.is_file())[:6]:
        (documents / file.name).write_bytes(file.read_bytes())
    conspectus.build(documents, folder)
    running = serve(folder, read_only=True)
    (documents / "new.txt").write_text("Ada Brook founded Orran Mill in 1901.", encoding="utf-8")
    rebuild = Thread(target=conspectus.build, args=(documents, folder))
    snapshots: list[str] = []
    async with httpx.AsyncClient(timeout=60) as client:
        rebuild.start()
        number = 0
        while rebuild.is_alive() or number < 20:
            number += 1
            body = {"question": f"Who founded it? ({number})", "method": "bm25"}
            responses = await asyncio.gather(
                client.post(running.url + "/api/ask", json=body),
                client.get(running.url + "/api/reports"),
                client.get(running.url + "/api/status"),
            )
            assert {response.status_code for response in responses} == {200}
            snapshots.append(responses[0].json()["snapshot"])
        rebuild.join()
        last = (await client.post(running.url + "/api/ask", json={"question": "Orran Mill?"})).json()
    assert last["snapshot"] == conspectus.open_index(folder).snapshot
    assert len({*snapshots, last["snapshot"]}) == 2
