"""The models that an index records: which are used, where they come from, and where nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import documents, settings
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus import api
from conspectus.configuration import INDEX, Resolved, load
from conspectus.errors import BadKey, ServerDown, UsageError
from conspectus.index_models import describe_models, with_index_models
from conspectus.settings import Settings

PROVIDED = {"model": "openai/gpt-4.1-mini", "llm": {"base_url": ""}}
LOCAL = {"model": "mine", "llm": {"base_url": "http://localhost:8000/v1", "temperature": 0.5}}
FOREIGN = {"model": "mine", "llm": {"base_url": "https://llm.example/v1"}}


def asking(built: Mapping[str, Any] | list[Mapping[str, Any]], **said: Any) -> Resolved:
    """Return the settings for questions to an index that was built with `built`; `__` stands for a dot."""
    told = load({key.replace("__", "."): value for key, value in said.items()}, environ={})
    return with_index_models(told, built if isinstance(built, list) else [built])


@pytest.mark.parametrize("built", [PROVIDED, LOCAL])
def test_the_model_and_its_server_are_those_that_the_index_was_built_with(built: Mapping[str, Any]):
    resolved = asking(built)

    assert resolved.settings.model == built["model"]
    assert resolved.settings.llm.base_url == built["llm"]["base_url"]
    assert resolved.settings.llm.temperature == built["llm"].get("temperature", 0.0)
    assert resolved.origins["model"] == INDEX
    assert built["model"] in describe_models(resolved, [built])
    assert "model='extractive'" in describe_models(resolved, [built])


def test_a_remembered_embedder_behind_a_server_is_named_with_its_address():
    for embedder, served in (("openai/text-embedding-3-small", True), ("local", False)):
        built = {**LOCAL, "vectors": {"embedder": embedder}}
        line = describe_models(with_index_models(load({}, environ={}), [built], builds=True), [built])
        assert (f"{embedder} at http://localhost:8000/v1" in line) is served


def test_who_names_a_model_gets_that_and_not_the_server_of_another():
    resolved = asking(LOCAL, model="openai/gpt-4o")
    assert (resolved.settings.model, resolved.settings.llm.base_url) == ("openai/gpt-4o", "")
    assert asking(LOCAL, model="extractive").settings.model == "extractive"
    assert describe_models(asking(LOCAL, model="extractive"), [LOCAL]) == ""


def test_another_model_of_the_same_kind_of_name_is_asked_at_the_remembered_address():
    resolved = asking(LOCAL, model="other")

    assert (resolved.settings.model, resolved.settings.llm.base_url) == ("other", "http://localhost:8000/v1")
    assert "http://localhost:8000/v1" in describe_models(resolved, [LOCAL])


def test_who_names_the_model_of_the_index_need_not_name_its_server():
    assert asking(LOCAL, model="mine").settings.llm.base_url == "http://localhost:8000/v1"
    own = {"model": "openai/gpt-4o", "llm": {"base_url": "http://localhost:4000"}}
    assert (
        asking(own, model="openai/gpt-4o").settings.llm.base_url == ""
    )  # the name of the model implies the server


def test_an_address_that_only_an_index_names_gets_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "hollin-4711")
    monkeypatch.setenv("CONSPECTUS_API_KEY", "hollin-4712")
    for model in ("mine", "openai/gpt-4o", "ollama/qwen3"):
        with pytest.raises(UsageError, match=r"base_url='https://llm\.example/v1'.*model='extractive'"):
            asking({**FOREIGN, "model": model})
    assert asking(FOREIGN, llm__base_url="https://llm.example/v1").settings.model == "mine"
    assert asking(FOREIGN, model="extractive").settings.llm.base_url == ""


@pytest.mark.parametrize(
    "address",
    ["http://localhost.evil.example/v1", "http://127.0.0.1.evil.example/v1",
     "https://api.openai.com.evil.example/v1", "http://api.openai.com/v1", "https://openrouter.ai/api/v1"],
)  # fmt: skip
def test_an_address_that_looks_like_a_known_one_is_not_taken_for_it(address: str):
    with pytest.raises(UsageError, match="nothing is sent"):
        asking({"model": "openai/gpt-4o", "llm": {"base_url": address}})


def test_the_address_of_the_model_s_own_provider_is_left_to_its_name():
    built = {"model": "openai/gpt-4o", "llm": {"base_url": "https://api.openai.com/v1/"}}
    assert asking(built).settings.llm.base_url == ""


@pytest.mark.parametrize(
    "address", ["http://me:hollin@localhost:1/v1?api-key=4711#x", "http://localhost@evil.example/v1"]
)
def test_an_address_with_a_user_or_a_query_is_not_remembered(address: str):
    assert asking({"model": "m", "llm": {"base_url": address}}) == load(environ={})


def test_an_address_with_a_query_is_refused_before_it_is_stored_or_logged():
    with pytest.raises(UsageError, match="query") as refused:
        load({"llm.base_url": "http://localhost:1/v1?api-key=hollin"}, environ={})
    assert "hollin" not in str(refused.value)


def test_several_indexes_are_asked_with_the_model_that_all_agree_on():
    assert asking([LOCAL, LOCAL, {}]).settings.model == "mine"
    for other in (PROVIDED, {"model": "extractive"}):
        resolved = asking([LOCAL, other])
        assert resolved.settings.model == "extractive"
        assert other["model"] in describe_models(resolved, [LOCAL, other])


def test_a_model_whose_server_nobody_knows_is_named_and_not_asked():
    built = {"model": "some-model", "llm": {"base_url": ""}}
    assert asking(built).settings.model == "extractive"
    assert "some-model" in describe_models(asking(built), [built])


@pytest.mark.parametrize(
    "built", [{}, {"model": 3}, {"model": "m", "llm": []}, {"llm": {"base_url": 7}}, {"vectors": 1}]
)
def test_settings_that_make_no_sense_are_nothing_to_remember(built: Mapping[str, Any]):
    assert asking(built).settings.model == "extractive"


def test_an_embedder_stays_at_its_server_whatever_the_model_is():
    built = {**LOCAL, "vectors": {"embedder": "emb"}}
    assert asking(built, model="extractive").settings.llm.embedder_base_url == "http://localhost:8000/v1"
    building = with_index_models(load(environ={}), [built], builds=True)
    assert building.settings.vectors.embedder == "emb"
    assert building.origins["vectors.embedder"] == INDEX
    none = with_index_models(load({"vectors.embedder": "none"}, environ={}), [built], builds=True)
    assert none.settings.vectors.embedder == "none"


# With an index and a server


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_asking_and_building_again_take_the_model_of_the_index():
    with SimulatedServer(Behaviour()) as server:
        made = settings(server.url)
        del made["chunk.tokens"], made["chunk.overlap"]
        api.build(documents=documents(), folder="x", settings=made)
        before = server.counts["requests"]

        answer = conspectus.ask("What comes up again and again?", "x", method="global")
        assert answer.usage.calls == server.counts["requests"] - before > 0
        assert api.context("What comes up?", "x", method="global").windows
        asked = server.counts["requests"]
        assert conspectus.ask("What is sold?", "x", settings={"model": "extractive"}).usage.calls == 0
        assert conspectus.ask("What is sold?", "x", settings=Settings()).usage.calls == 0
        assert conspectus.search("Ada Byrne", "x")
        assert server.counts["requests"] == asked

        built = api.build(documents=documents(13), folder="x")
        assert not built.update.rebuild_reasons
        assert built.index.settings["model"] == "simulated"
        assert built.index.settings["llm"]["base_url"] == server.url
        assert server.counts["requests"] > asked

    with pytest.raises(ServerDown, match=r"built with simulated.*model='extractive'"):
        conspectus.ask("Who is new here?", "x", method="global")
    api.build(documents=documents(13), folder="x", settings={"model": "extractive"})
    api.rollback("x")
    with pytest.raises(ServerDown, match="model='extractive'"):
        conspectus.Conversation("x", method="global").ask("What is the newest matter?")


def test_a_missing_key_of_a_remembered_model_says_how_to_go_on():
    index = api.build(documents=documents(2), folder="x", settings=Settings()).index
    remembering = replace(index, settings={**index.settings, **PROVIDED})

    with pytest.raises(BadKey, match=r"OPENAI_API_KEY.*model='extractive'"):
        conspectus.ask("Who met whom?", remembering)


def test_corrections_are_applied_with_the_model_of_the_index_whatever_the_environment_names(
    monkeypatch: pytest.MonkeyPatch,
):
    with SimulatedServer(Behaviour()) as server:
        api.build(documents=documents(), folder="x", settings=settings(server.url))
        monkeypatch.setenv("CONSPECTUS_MODEL", "openai/gpt-4o")
        built = api.apply_corrections("x")
    assert built.index.settings["model"] == "simulated"


def test_vectors_of_an_extractive_index_are_asked_for_where_they_were_made():
    with SimulatedServer(Behaviour()) as server:
        api.build(documents=documents(), folder="x", settings=Settings())
        api.embed("x", "emb", settings={"llm.base_url": server.url})
        assert conspectus.search("Ada Byrne", "x", method="vector")
        built = api.build(documents=documents(13), folder="x")
        assert "vectors.chunks" in built.index.arrays
