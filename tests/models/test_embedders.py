"""Embedders: the available ones, their vectors, and their errors if something is missing."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from simulated_server import Behaviour, SimulatedServer

from conspectus.errors import BadKey, BudgetReached, ServerDown, ServerFailed, UsageError
from conspectus.models.embedders import Embedder, ServedEmbedder, is_served, open_embedder, same_model
from conspectus.models.onnx import LocalEmbedder
from conspectus.models.rerankers import open_reranker
from conspectus.rows import Usage
from conspectus.settings import RerankSettings, Settings

MODEL = Path(__file__).parents[2] / "../shared/models/all-MiniLM-L6-v2"
SETTINGS = Settings()


def test_none_makes_no_vectors():
    assert open_embedder("none", SETTINGS) is None


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(UsageError, match="local:FOLDER, provider/model"):
        open_embedder("glove", SETTINGS)


def test_only_names_of_providers_are_served():
    assert is_served("openai/text-embedding-3-small")
    assert not any(is_served(name) for name in ("none", "local", "local:some/folder", "local:OWNER/MODEL"))


def test_local_models_are_the_same_by_their_file_and_not_by_their_folder():
    assert same_model("local:here@0123", "local:there@0123")
    assert not same_model("local:here@0123", "local:here@4567")
    assert not same_model("openai/small", "openai/large")


# Local


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers"])
def test_without_the_extra_the_error_says_which_to_install(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for package in ("onnxruntime", "tokenizers"):
        monkeypatch.setitem(sys.modules, package, ModuleType(package) if package != missing else None)

    with pytest.raises(UsageError, match=rf"needs {missing}: pip install 'conspectus\[embed\]'"):
        LocalEmbedder(tmp_path)


def a_local_reranker() -> None:
    async def opened() -> None:
        async with open_reranker(Settings(rerank=RerankSettings(by="local")), None):
            pass

    asyncio.run(opened())


@pytest.mark.parametrize("open_local", [lambda: open_embedder("local", SETTINGS), a_local_reranker])
def test_without_the_extra_no_model_is_fetched(
    open_local: Callable[[], object], monkeypatch: pytest.MonkeyPatch
):
    fetches: list[str] = []
    monkeypatch.setattr("conspectus.models.onnx.download", fetches.append)
    for package in ("onnxruntime", "tokenizers"):
        monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(UsageError, match=r"needs onnxruntime and tokenizers: pip install"):
        open_local()
    assert fetches == []


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(UsageError, match="no folder 'a/b/c'"):
        open_embedder("local:a/b/c", SETTINGS)


@pytest.fixture
def extra() -> None:
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")


@pytest.mark.usefixtures("extra")
def test_a_folder_without_a_model_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match="contains no embedding model"):
        open_embedder(f"local:{tmp_path}", SETTINGS)


@pytest.mark.usefixtures("extra")
def test_a_model_that_cannot_be_opened_is_named(tmp_path: Path):
    (tmp_path / "model.onnx").write_bytes(b"no model")
    (tmp_path / "tokenizer.json").write_text("{}")

    with pytest.raises(UsageError, match=r"cannot be opened \(.*INVALID_PROTOBUF"):
        LocalEmbedder(tmp_path)


@pytest.mark.usefixtures("extra")
@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        (
            "1_Pooling/config.json",
            {"pooling_mode_max_tokens": True},
            "pools by max_tokens; known are mean_tokens",
        ),
        ("modules.json", [{"type": "sentence_transformers.models.Dense"}], "a dense layer after its pooling"),
    ],
)
def test_a_model_that_would_be_run_wrongly_is_refused(file: str, content: object, said: str, tmp_path: Path):
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).write_text("")
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(json.dumps(content))

    with pytest.raises(UsageError, match=said):
        LocalEmbedder(tmp_path)


@pytest.fixture(scope="module")
def local() -> LocalEmbedder:
    if not MODEL.is_dir():
        pytest.skip("the shared model is not there (../shared/models beside the project root)")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")
    return LocalEmbedder(MODEL)


def test_vectors_have_length_1_and_say_what_is_alike(local: LocalEmbedder):
    cat, kitten, tax = local.embed(["A cat sleeps.", "A kitten naps.", "Taxes are due in April."])

    assert local.dimension == len(cat) == 384
    assert np.linalg.norm([cat, kitten, tax], axis=1) == pytest.approx(1, abs=1e-5)
    assert cat @ kitten > cat @ tax + 0.2


def test_a_vector_does_not_depend_on_what_is_embedded_beside_it(local: LocalEmbedder):
    text = "The Tekeze River rises in the Ethiopian Highlands."

    alone, among = local.embed([text]), local.embed(["x", text, "A much longer text. " * 20])
    assert np.array_equal(alone[0], among[1])


def test_a_model_says_how_much_of_a_script_it_does_not_know(local: LocalEmbedder):
    assert local.unread(["The Tekeze River rises in the Ethiopian Highlands."]) < 0.05
    assert local.unread(["玻璃果园由林小梅执导，于1961年上映。"]) > 0.4
    assert local.unread(["Река берёт начало в горах."]) > 0.8
    assert local.unread([]) == 0


def test_the_end_of_a_long_text_counts_too(local: LocalEmbedder):
    filler, end = "The harbour was quiet. " * 100, "Octopuses have three hearts and blue blood."
    question, plain, ended = local.embed([end, filler, filler + end * 20])

    assert question @ ended > question @ plain + 0.2


def test_it_ticks_for_each_text_and_embeds_none_of_none(local: LocalEmbedder):
    ticks: list[int] = []

    local.embed(["one", "two", "three"], lambda: ticks.append(1))
    assert len(ticks) == 3
    assert local.embed([]).shape == (0, 384)


def test_a_local_model_is_named_by_its_folder_and_its_bytes(local: LocalEmbedder, tmp_path: Path):
    copied = tmp_path / "other"
    copied.mkdir()
    for file in MODEL.iterdir():
        (copied / file.name).symlink_to(file.resolve())

    other = LocalEmbedder(copied)
    assert local.name.startswith("local:all-MiniLM-L6-v2@")
    assert other.name.startswith("local:other@")
    assert same_model(other.name, local.name)


# Behind a server


NAME = "openai/text-embedding-3-small"


def served(
    server: SimulatedServer, folder: Path | None = None, spent: Usage | None = None, **llm: object
) -> Embedder:
    settings = Settings.model_validate({"llm": {"base_url": server.url, **llm}})
    embedder = open_embedder(NAME, settings, folder, spent)
    assert isinstance(embedder, ServedEmbedder)
    return embedder


def texts(count: int) -> list[str]:
    return [f"Text number {n} is about {'ships' if n % 2 else 'hens'}." for n in range(count)]


def test_texts_go_out_in_batches_and_come_back_in_their_order():
    ticks: list[int] = []
    with SimulatedServer(Behaviour(dimension=16, latencies=(0.0, 0.02))) as server:
        vectors = served(server).embed(texts(150), lambda: ticks.append(1))
        expected = np.array([server.vector(text) for text in texts(150)])

    assert server.counts["requests"] == 3
    assert len(ticks) == 150
    assert vectors == pytest.approx(expected, abs=1e-5)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_at_an_address_any_name_is_of_a_model():
    with SimulatedServer(Behaviour(dimension=16)) as server:
        embedder = open_embedder(
            "nomic-embed-text", Settings.model_validate({"llm": {"base_url": server.url}})
        )
        assert embedder
        assert embedder.embed(["one"]).shape == (1, 16)


async def test_it_can_be_asked_inside_an_event_loop():
    with SimulatedServer(Behaviour(dimension=16)) as server:
        assert served(server).embed(["one"]).shape == (1, 16)


def test_a_run_again_pays_nothing_and_the_usage_tells(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        first = served(server, tmp_path)
        vectors = first.embed(texts(10))
        again = served(server, tmp_path)

        assert np.array_equal(again.embed(texts(10)), vectors)
        assert server.counts["requests"] == 1
        assert (first.usage.calls, first.usage.prompt_tokens) == (1, server.prompt_tokens)
        assert (again.usage.calls, again.usage.cached_calls) == (0, 10)


def test_rate_limits_are_waited_for_and_failures_tried_again(tmp_path: Path):
    with SimulatedServer(Behaviour(too_many=0.3, errors=0.2, garbage=0.1, retry_after=0.01)) as server:
        vectors = served(server, tmp_path, attempts=30).embed(texts(300))

    assert vectors.shape == (300, 64)
    assert server.counts["429"] + server.counts["500"] > 0
    assert server.counts["asked again"] == 0


def test_a_text_that_is_too_long_has_the_mean_of_its_parts_and_leaves_the_others_alone(tmp_path: Path):
    long = " ".join(["Ships sail."] * 30 + ["Hens lay."] * 30)
    with SimulatedServer(Behaviour(context_tokens=100, dimension=32)) as server:
        embedder = served(server, tmp_path)
        vectors = embedder.embed([*texts(4), long])
        parts = embedder.embed([long[:280], long[330:]])
        asked = server.counts["requests"]

        assert vectors[:4] == pytest.approx(np.array([server.vector(t) for t in texts(4)]), abs=1e-5)
        assert (vectors[4] @ parts.T > 0.6).all()
        assert np.array_equal(served(server, tmp_path).embed([long])[0], vectors[4])
        assert server.counts["requests"] == asked


def test_a_server_that_reads_no_text_at_all_is_told():
    with (
        SimulatedServer(Behaviour(context_tokens=1)) as server,
        pytest.raises(ServerFailed, match=r"a text of \d+ characters is too long"),
    ):
        served(server).embed(texts(1))


def test_vectors_of_another_dimension_than_before_are_an_error(tmp_path: Path):
    with SimulatedServer(Behaviour(dimension=32)) as server:
        embedder = served(server, tmp_path)
        embedder.embed(texts(2))
        server.behaviour = Behaviour(dimension=48)

        with pytest.raises(ServerFailed, match="of 32 numbers before, and of 48 now"):
            embedder.embed(["another"])
        with pytest.raises(ServerFailed, match="several dimensions"):
            embedder.embed([*texts(2), "a third"])


def test_it_keeps_to_a_budget_of_which_a_part_is_spent():
    with SimulatedServer(Behaviour()) as server:
        served(server, budget_tokens=5000).embed(texts(300))
        with pytest.raises(BudgetReached, match="of 5,000 tokens, 4,900 tokens are spent"):
            served(server, spent=Usage(prompt_tokens=4000, completion_tokens=900), budget_tokens=5000).embed(
                texts(300)
            )


def test_the_budget_holds_over_several_calls():
    with SimulatedServer(Behaviour()) as server:
        embedder = served(server, budget_tokens=1000)
        embedder.embed(texts(60))

        with pytest.raises(BudgetReached):
            embedder.embed([f"{text} Again." for text in texts(60)])
        assert server.prompt_tokens <= 1000


def test_a_budget_of_money_without_a_price_is_told_before_anything_is_asked():
    settings = Settings.model_validate({"llm": {"base_url": "http://models.invalid/v1", "budget": 1.0}})
    embedder = open_embedder("openai/a-model-without-a-price", settings)
    assert embedder is not None
    with pytest.raises(UsageError, match="needs the price of openai/a-model-without-a-price"):
        embedder.embed(["one"])


def test_a_key_that_is_missing_and_a_server_that_is_not_there_are_named():
    embedder = open_embedder(NAME, SETTINGS)
    assert embedder is not None
    with pytest.raises(BadKey, match="set OPENAI_API_KEY"):
        embedder.embed(["one"])

    with SimulatedServer(Behaviour()) as server:
        pass
    with pytest.raises(ServerDown, match="no server answers"):
        served(server).embed(["one"])


def test_ollama_is_asked_in_its_own_way(monkeypatch: pytest.MonkeyPatch):
    with SimulatedServer(Behaviour(keep_bodies=True)) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url.removesuffix("/v1"))
        embedder = open_embedder("ollama/nomic-embed-text", SETTINGS)
        assert embedder is not None

        assert embedder.embed(["one", "two"]).shape == (2, 64)
        assert server.bodies[0] == {"model": "nomic-embed-text", "input": ["one", "two"], "truncate": False}
