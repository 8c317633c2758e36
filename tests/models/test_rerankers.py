"""Rerankers: the available ones, scores by a cross-encoder, and ratings by a language model."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from scripted import ScriptedModel

from conspectus.errors import BadKey, BadReply, UsageError
from conspectus.models.base import Model
from conspectus.models.onnx import CrossEncoder
from conspectus.models.rerankers import Rating, Reranker, open_reranker
from conspectus.settings import Settings
from conspectus.tasks import Rated, RatePassages


def settings(by: str, **more: Any) -> Settings:
    return Settings.model_validate({"rerank": {"by": by}, **more})


async def opened(by: str, model: Model | None = None, **more: Any) -> Reranker | None:
    async with open_reranker(settings(by, **more), None, model=model) as reranker:
        return reranker


# Available rerankers


async def test_none_is_nobody():
    assert await opened("none") is None


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("local:a/b/c", "no folder 'a/b/c' with the cross-encoder"),
        ("openai/gpt-4.1", "one of cohere/…, jina/…, vllm/…, or give the address"),
        ("model", "name one with model="),
    ],
)
async def test_a_name_that_leads_nowhere_says_what_there_is(by: str, said: str):
    with pytest.raises(UsageError, match=said):
        await opened(by)


def test_settings_with_a_name_of_no_reranker_say_which_there_are():
    with pytest.raises(ValueError, match=r"local:FOLDER, model, PROVIDER/NAME, and the URL"):
        settings("colbert")


async def test_a_service_wants_its_key():
    with pytest.raises(BadKey, match=r"cohere/rerank-v3\.5 needs a key: set COHERE_API_KEY"):
        await opened("cohere/rerank-v3.5")


async def test_a_budget_of_money_needs_the_price_of_a_server():
    with pytest.raises(UsageError, match="needs the price of http://127"):
        await opened("http://127.0.0.1:1/v1", llm={"budget": 1.0})


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers"])
async def test_without_the_extra_the_error_says_which_to_install(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for package in ("onnxruntime", "tokenizers"):
        monkeypatch.setitem(sys.modules, package, ModuleType(package) if package != missing else None)

    with pytest.raises(UsageError, match=rf"reranker needs {missing}: pip install 'conspectus\[embed\]'"):
        CrossEncoder(tmp_path)


# A cross-encoder


WORDS = "[PAD] [CLS] [SEP] owl rook bee hoots caws swarms at night".split()


def a_cross_encoder(folder: Path, outputs: int = 1, most: int = 512) -> Path:
    """Make a model whose logit is twice the number of `owl` in question and passage, minus 3."""
    onnx = pytest.importorskip("onnx", reason="makes the model: pip install onnx")
    tokenizers = pytest.importorskip("tokenizers", reason="the extra `embed` is not installed")
    pytest.importorskip("onnxruntime", reason="the extra `embed` is not installed")
    import numpy as np

    helper, kinds = onnx.helper, onnx.TensorProto
    nodes = [
        helper.make_node("Equal", ["input_ids", "owl"], ["is"]),
        helper.make_node("Cast", ["is"], ["number"], to=kinds.FLOAT),
        helper.make_node("ReduceSum", ["number", "axis"], ["sum"], keepdims=1),
        helper.make_node("Mul", ["sum", "weight"], ["weighed"]),
        helper.make_node("Add", ["weighed", "bias"], ["logits"]),
    ]
    weight = np.array([[2.0]] if outputs == 1 else [[0.0, 2.0]], np.float32)
    bias = np.array([[-3.0]] if outputs == 1 else [[0.0, -3.0]], np.float32)
    constants = {"owl": np.array(WORDS.index("owl")), "axis": np.array([1]), "weight": weight, "bias": bias}
    graph = helper.make_graph(
        nodes,
        "cross-encoder",
        [helper.make_tensor_value_info("input_ids", kinds.INT64, ["batch", "tokens"])],
        [helper.make_tensor_value_info("logits", kinds.FLOAT, ["batch", outputs])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    folder.mkdir(parents=True, exist_ok=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    vocabulary = {word: i for i, word in enumerate(WORDS)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token=WORDS[0]))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 1), ("[SEP]", 2)],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "config.json").write_text(json.dumps({"max_position_embeddings": most}))
    return folder


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_pair_has_the_chance_that_its_logits_say(tmp_path: Path, outputs: int):
    encoder = CrossEncoder(a_cross_encoder(tmp_path, outputs))

    scores = asyncio.run(encoder.scores("owl", ["rook caws", "owl hoots", "owl owl"]))

    assert scores == pytest.approx([1 / (1 + 2.718281828**x) for x in (1, -1, -3)], abs=1e-5)


def test_of_a_long_passage_the_best_part_counts(tmp_path: Path):
    encoder = CrossEncoder(a_cross_encoder(tmp_path, most=64))
    spread = " ".join(["rook caws at night"] * 40)

    short, end, spoilt = asyncio.run(
        encoder.scores("owl hoots", ["owl hoots", f"{spread} owl hoots", f"{spread} bee swarms"])
    )

    assert end == pytest.approx(short)
    assert spoilt is not None
    assert short is not None
    assert spoilt < short


def test_a_question_longer_than_the_model_reads_leaves_room_for_the_passage(tmp_path: Path):
    encoder = CrossEncoder(a_cross_encoder(tmp_path, most=64))

    for _ in range(2):
        first, second = asyncio.run(encoder.scores("rook " * 500, ["owl owl", "bee " * 100]))

        assert first is not None
        assert second is not None
        assert first > second


def test_a_model_of_many_outputs_is_no_reranker(tmp_path: Path):
    with pytest.raises(UsageError, match="3 outputs for a pair"):
        CrossEncoder(_with_three_outputs(tmp_path))


def _with_three_outputs(folder: Path) -> Path:
    onnx = pytest.importorskip("onnx", reason="makes the model: pip install onnx")
    a_cross_encoder(folder)
    helper, kinds = onnx.helper, onnx.TensorProto
    node = helper.make_node("Cast", ["input_ids"], ["logits"], to=kinds.FLOAT)
    graph = helper.make_graph(
        [node],
        "three",
        [helper.make_tensor_value_info("input_ids", kinds.INT64, ["batch", 3])],
        [helper.make_tensor_value_info("logits", kinds.FLOAT, ["batch", 3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(folder / "model.onnx"))
    return folder


async def test_a_folder_is_opened_by_its_name(tmp_path: Path):
    reranker = await opened(f"local:{a_cross_encoder(tmp_path / 'mini')}")

    assert reranker is not None
    assert reranker.name == "local:mini"


def test_a_folder_without_a_model_is_named(tmp_path: Path):
    pytest.importorskip("onnxruntime", reason="the extra `embed` is not installed")
    pytest.importorskip("tokenizers", reason="the extra `embed` is not installed")

    with pytest.raises(UsageError, match="contains no cross-encoder"):
        CrossEncoder(tmp_path)


# A language model


async def test_a_language_model_rates_ten_passages_at_a_time():
    model = ScriptedModel(
        {RatePassages: lambda task: tuple(Rated(i, len(text)) for i, text in enumerate(task.passages))}
    )

    scores = await Rating(model).scores("Who?", ["x" * n for n in range(1, 13)])

    assert scores == list(range(1, 13))
    assert [len(task.passages) for task in model.all_seen(RatePassages)] == [10, 2]


async def test_what_a_reply_leaves_out_or_a_call_that_fails_has_no_rating():
    model = ScriptedModel({RatePassages: [(Rated(1, 5.0), Rated(40, 9.0)), BadReply("x")]})

    assert await Rating(model).scores("Who?", ["x"] * 12) == [None, 5.0, *[None] * 10]


async def test_where_every_call_fails_so_does_the_rating():
    with pytest.raises(BadReply, match="no sense"):
        await Rating(ScriptedModel({RatePassages: [BadReply("no sense")]})).scores("Who?", ["x"])


async def test_the_model_that_answers_is_the_one_that_rates():
    model = ScriptedModel({})

    reranker = await opened("model", model)

    assert isinstance(reranker, Rating)
    assert reranker.name == model.name
