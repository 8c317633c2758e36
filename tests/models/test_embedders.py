"""Embedders: which there are, and what they say where something is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from conspectus.errors import UsageError
from conspectus.models.embedders import LocalEmbedder, ServedEmbedder, open_embedder
from conspectus.settings import ModelSettings

MODEL = Path(__file__).parents[2] / "../shared/models/all-MiniLM-L6-v2"
SETTINGS = ModelSettings()


def test_none_makes_no_vectors():
    assert open_embedder("none", SETTINGS) is None


def test_an_unknown_name_lists_what_there_is():
    with pytest.raises(UsageError, match="local:FOLDER and provider/model"):
        open_embedder("glove", SETTINGS)


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers"])
def test_without_the_extra_the_error_says_which_to_install(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "onnxruntime", ModuleType("onnxruntime"))
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(UsageError, match=rf"needs {missing}; install it: pip install 'conspectus\[embed\]'"):
        LocalEmbedder(tmp_path)


def test_a_folder_that_is_not_there_is_named():
    with pytest.raises(UsageError, match="no folder 'a/b/c'"):
        open_embedder("local:a/b/c", SETTINGS)


def test_a_folder_without_a_model_is_named(tmp_path: Path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("tokenizers")

    with pytest.raises(UsageError, match="holds no embedding model"):
        open_embedder(f"local:{tmp_path}", SETTINGS)


def test_a_provider_and_model_are_asked_by_the_sender():
    embedder = open_embedder("openai/text-embedding-3-small", SETTINGS)

    assert isinstance(embedder, ServedEmbedder)
    assert embedder.name == "openai/text-embedding-3-small"


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
