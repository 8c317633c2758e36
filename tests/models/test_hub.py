"""Models fetched from the hub: whole, checked, once; over real HTTP to a stand-in on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from simulated_hub import SimulatedHub

from conspectus.errors import UsageError
from conspectus.models.embedders.hub import download, models_folder

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
    return download(NAME)


def held(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_files_of_a_model_are_fetched_once_the_model_last(cache: Path, monkeypatch: pytest.MonkeyPatch):
    with SimulatedHub(FILES) as hub:
        folder = fetch(hub, monkeypatch)
        asked = list(hub.asked)

        assert folder == cache / "models" / "some" / "model"
        assert held(folder) == {name: content for name, content in FILES.items() if name != "onnx/model_O4.onnx"}
        assert asked[-2:] == ["onnx/model.onnx", "/bytes/onnx/model.onnx"]
        assert fetch(hub, monkeypatch) == folder
        assert hub.asked == asked


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (FILES["onnx/model.onnx"][:-4] + b"evil", "came damaged, by its hash"),
        (FILES["onnx/model.onnx"][:500], "500 of 2,000 bytes came"),
    ],
)
def test_what_is_not_what_the_hub_tells_is_not_kept(sent: bytes, said: str, monkeypatch: pytest.MonkeyPatch):
    with SimulatedHub(FILES, sent={"onnx/model.onnx": sent}) as hub:
        with pytest.raises(UsageError, match=said):
            fetch(hub, monkeypatch)
        assert not [name for name in held(models_folder()) if "onnx" in name]

        hub.sent.clear()
        assert held(fetch(hub, monkeypatch))["onnx/model.onnx"] == FILES["onnx/model.onnx"]


def test_a_small_file_is_held_to_its_hash_too(monkeypatch: pytest.MonkeyPatch):
    with (
        SimulatedHub(FILES, sent={"tokenizer.json": b'{"a smell": "file"}'}) as hub,
        pytest.raises(UsageError, match=r"tokenizer\.json: it came damaged"),
    ):
        fetch(hub, monkeypatch)


def test_a_fetch_that_broke_off_goes_on(cache: Path, monkeypatch: pytest.MonkeyPatch):
    with SimulatedHub(FILES, status={"onnx/model.onnx": 503}) as hub:
        with pytest.raises(UsageError, match=r"onnx/model\.onnx: HTTP 503"):
            fetch(hub, monkeypatch)

        hub.status.clear()
        assert "onnx/model.onnx" in held(fetch(hub, monkeypatch))


def test_a_model_without_an_onnx_form_is_told(monkeypatch: pytest.MonkeyPatch):
    with (
        SimulatedHub({"tokenizer.json": b"{}"}) as hub,
        pytest.raises(UsageError, match=r"onnx/model\.onnx: HTTP 404"),
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
        "--embedder local:FOLDER",
    ):
        assert part in str(error.value)


def test_what_was_put_there_by_hand_needs_no_network(monkeypatch: pytest.MonkeyPatch):
    folder = models_folder() / NAME
    (folder / "onnx").mkdir(parents=True)
    for name in ("tokenizer.json", "onnx/model.onnx"):
        (folder / name).write_bytes(FILES[name])

    assert download(NAME) == folder


def test_a_token_goes_to_the_hub_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    with SimulatedHub(FILES) as hub:
        fetch(hub, monkeypatch)

    assert hub.tokens["onnx/model.onnx"] == "Bearer hf_secret"
    assert hub.tokens["/bytes/onnx/model.onnx"] == ""


def test_a_model_that_is_not_public_asks_for_a_token(monkeypatch: pytest.MonkeyPatch):
    with (
        SimulatedHub(FILES, status={"tokenizer.json": 401}) as hub,
        pytest.raises(UsageError, match="not public needs a token in HF_TOKEN"),
    ):
        fetch(hub, monkeypatch)
