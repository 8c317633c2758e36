"""An index from somebody else cannot make us open other files, nor wait for a pipe in place of a file."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import conspectus
from conspectus import api, corrections
from conspectus.errors import ConspectusError, IndexDamaged, UsageError
from conspectus.index_models import settings_of_index, stored_settings
from conspectus.models.llm.cache import ResponseCache
from conspectus.retrieval.baselines import read_derived
from conspectus.storage.manifests import current, is_index
from conspectus.triple_graph import StoredTripleGraph

TEXT = "Ada Byrne met Bo Quill in Kell. Bo Quill sold Ada Byrne a mill."
FOLDER = {"vectors": {"embedder": "local:/etc"}}
PROMPTS = {"model": "ollama/x", "llm": {"prompts": "/etc"}}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound") / "index"
    conspectus.build(documents=[TEXT], folder=folder, settings={"model": "extractive"})
    return folder


@pytest.fixture
def index(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(sound, tmp_path / "index"))


def name_in_manifest(folder: Path, settings: dict[str, Any]) -> None:
    """Write settings into a manifest, and update its checksum."""
    path = folder / "manifest.json"
    content = json.loads(path.read_bytes())
    content["settings"] |= settings
    del content["checksum"]
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    "settings",
    [
        {"extract": {"graph_schema": "/etc/passwd"}},
        {"extract": {"graph_schema": {"entities": {"x": {"names": [1]}}}}},
        {"chunk": {"tokens": 10**400, "overlap": -1}},
        {"llm": {"concurrency": -(2**70)}},
        {"answer": {"context_tokens": float("inf")}},
        {"prices": {"x": {"input": -1}}},
    ],
)
def test_settings_that_nobody_could_set_give_way_to_the_defaults(settings: dict[str, Any], index: Path):
    name_in_manifest(index, settings)

    assert not settings.keys() & current(index).settings.keys()
    assert stored_settings(current(index).settings) == stored_settings({
        key: value for key, value in current(index).settings.items() if key not in settings
    })  # fmt: skip
    assert conspectus.ask("Who met Ada Byrne?", index).text


def test_unknown_keys_change_nothing(index: Path):
    before = stored_settings(current(index).settings)
    name_in_manifest(
        index, {"x": {"y": 1}, "__class__": "z", "chunk": {"tokens": 600, "more": "/etc/passwd"}}
    )

    assert stored_settings(current(index).settings) == before


def test_files_that_an_index_names_are_neither_read_nor_written(tmp_path: Path):
    named = {"trace": str(tmp_path / "trace"), "trace_texts": True}
    built = {"llm": named, "rerank": {"by": "local:/etc"}}

    settings = settings_of_index(built, {"llm.trace": "mine"}).settings

    assert settings.llm.trace == "mine"
    assert (settings_of_index(built, {}).settings.llm.trace, settings.rerank.by) == ("", "none")


@pytest.mark.parametrize(
    ("built", "key", "folder"),
    [
        (FOLDER, "vectors.embedder", "local:/etc"),
        ({"vectors": {"embedder": "local:~/model"}}, "vectors.embedder", "local:~/model"),
        (PROMPTS, "llm.prompts", "/etc"),
    ],
)
def test_a_folder_that_only_an_index_names_has_to_be_named(
    built: dict[str, Any], key: str, folder: str, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(UsageError, match=key):
        settings_of_index(built, {})
    assert settings_of_index(built, {key: folder}).origins[key] == "given"
    monkeypatch.setenv(f"CONSPECTUS_{key.upper().replace('.', '_')}", folder)
    assert settings_of_index(built, {}).origins[key] == "given"


def test_an_embedder_in_a_folder_is_opened_only_where_the_user_names_it(
    index: Path, monkeypatch: pytest.MonkeyPatch
):
    def embed(texts: list[str]) -> list[list[float]]:
        return [[1.0, len(text)] for text in texts]

    api.embed(index, embed)
    name_in_manifest(index, FOLDER)
    opened: list[str] = []
    for module in ("index_models", "api.embedding"):
        monkeypatch.setattr(f"conspectus.{module}.open_embedder", lambda name, *_: opened.append(name))
    for act in (lambda: conspectus.search("Ada", index, method="vector"), lambda: api.embed(index)):
        with pytest.raises(UsageError, match="only an index names"):
            act()
    with pytest.raises(UsageError, match="only an index names"):
        api.build(documents=[TEXT], folder=index)
    assert not opened
    with pytest.raises(UsageError, match="name that embedder"):  # the stand-in returns no embedder
        conspectus.search("Ada", index, method="vector", embedder="local:/etc")
    assert opened == ["local:/etc"]


# Pipes and other special files


def pipe(path: Path) -> None:
    os.mkfifo(path)


def link_out(path: Path) -> None:
    path.symlink_to("/dev/zero")


PLACED = [pipe, link_out, Path.mkdir]
unix = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")


def one_of_each(folder: Path) -> Iterator[Path]:
    """Yield the manifest, a table and an array of an index."""
    yield folder / "manifest.json"
    yield next((folder / "objects").glob("entities-*"))
    yield next((folder / "arrays").glob("walk.first-*"))


@unix
@pytest.mark.parametrize("place", PLACED)
def test_what_stands_in_the_place_of_a_file_of_an_index_is_a_named_error(
    place: Callable[[Path], None], index: Path
):
    for number, path in enumerate(one_of_each(index)):
        moved = path.rename(index.with_name(f"moved{number}"))
        place(path)
        with pytest.raises(IndexDamaged, match=path.name):
            conspectus.ask("Who met Ada Byrne?", index, method="local")
        path.rmdir() if path.is_dir() else path.unlink()
        moved.rename(path)
    (index / "lock").unlink()
    place(index / "lock")
    with pytest.raises(UsageError, match="another folder"):
        api.build(documents=[TEXT], folder=index)


@unix
@pytest.mark.parametrize("place", PLACED)
def test_what_stands_in_the_place_of_a_file_beside_an_index_is_a_named_error(
    place: Callable[[Path], None], tmp_path: Path
):
    path = tmp_path / "manifest.json"
    place(path)
    for opened in (ResponseCache, StoredTripleGraph.of_path, corrections.read_file):
        with pytest.raises(ConspectusError, match=path.name):
            opened(path)
    assert not is_index(tmp_path)


def test_a_link_to_a_file_elsewhere_is_read_only_if_it_is_what_was_written(index: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    table = next((index / "objects").glob("entities-*"))
    outside.write_bytes(bytes(table.stat().st_size))
    table.unlink()
    table.symlink_to(outside)

    with pytest.raises(IndexDamaged, match="hash"):
        conspectus.ask("Who met Ada Byrne?", index, method="local")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW names AS SELECT 1",
        "CREATE TABLE x (y)",
        "CREATE TABLE names (number INTEGER PRIMARY KEY)",
    ],
)
def test_a_graph_file_with_other_tables_is_refused(statement: str, tmp_path: Path):
    path = tmp_path / "graph.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
    with pytest.raises(IndexDamaged, match="other tables"):
        StoredTripleGraph.of_path(path)


def test_an_empty_file_of_what_questions_made_is_as_if_there_were_none(tmp_path: Path):
    path = tmp_path / "raptor.npz"
    path.touch()

    assert read_derived(path) is None
