"""Models downloaded from the hub: completely, once, the model file last; over real HTTP from a local stand-in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from simulated_hub import SimulatedHub

from conspectus.errors import UsageError
from conspectus.models.onnx import EMBEDDER, download, models_folder

FILES: Mapping[str, bytes] = {
    "tokenizer.json": b'{"a small": "file"}',
    "onnx/model.onnx": b"the bytes of a model" * 100,
    "1_Pooling/config.json": b'{"pooling_mode_mean_tokens": true}',
    "onnx/model_O4.onnx": b"not wanted",
}
NAME = "some/model"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CONSPECTUS_CACHE", str(tmp_path))
    for name in ("HF_TOKEN", "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def fetch(hub: SimulatedHub, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.url}/")
    return download(NAME, EMBEDDER)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".cache" not in path.parts)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_the_files_of_a_model_are_fetched_once_the_model_last(cache: Path, monkeypatch: pytest.MonkeyPatch):
    with SimulatedHub(FILES) as hub:
        folder = fetch(hub, monkeypatch)
        requests = hub.requests

        assert folder == cache / "models" / "some" / "model"
        assert contents(folder) == {
            name: content for name, content in FILES.items() if name != "onnx/model_O4.onnx"
        }
        assert hub.fetched[-1] == "onnx/model.onnx"
        assert fetch(hub, monkeypatch) == folder
        assert hub.requests == requests


def test_a_model_without_an_onnx_form_is_told(monkeypatch: pytest.MonkeyPatch):
    with (
        SimulatedHub({"tokenizer.json": b"{}"}) as hub,
        pytest.raises(UsageError, match=r"no onnx/model\.onnx"),
    ):
        fetch(hub, monkeypatch)


def test_without_a_network_the_error_says_what_to_download_and_where_to_put_it(
    cache: Path, monkeypatch: pytest.MonkeyPatch
):
    with SimulatedHub(FILES) as hub:
        pass
    with pytest.raises(UsageError) as error:
        fetch(hub, monkeypatch)

    for part in (
        "tokenizer.json, onnx/model.onnx and",
        "https://huggingface.co/some/model/tree/main",
        f"put them into {cache / 'models' / 'some' / 'model'}",
        "embedder='local:FOLDER'",
    ):
        assert part in str(error.value)


def test_what_was_put_there_by_hand_needs_no_network_and_no_package(monkeypatch: pytest.MonkeyPatch):
    folder = models_folder() / NAME
    (folder / "onnx").mkdir(parents=True)
    for name in ("tokenizer.json", "onnx/model.onnx"):
        (folder / name).write_bytes(FILES[name])
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    assert download(NAME, EMBEDDER) == folder


def test_without_the_package_the_error_says_which_extra_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)

    with pytest.raises(UsageError, match=r"needs huggingface_hub: pip install 'conspectus\[embed\]'"):
        download(NAME, EMBEDDER)


def test_a_token_goes_to_the_hub(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with SimulatedHub(FILES) as hub:
        fetch(hub, monkeypatch)

    assert hub.tokens == {"Bearer hf_secret"}


def test_a_model_that_is_not_public_asks_for_a_token(monkeypatch: pytest.MonkeyPatch):
    with SimulatedHub(FILES, status=401) as hub, pytest.raises(UsageError, match="needs a token in HF_TOKEN"):
        fetch(hub, monkeypatch)
