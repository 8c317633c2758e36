"""Tests of `conspectus index`."""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import typer
from typer.testing import Result

import conspectus
from conspectus import api
from conspectus.cli import options
from conspectus.errors import UsageError
from conspectus.settings import Settings

Run = Callable[..., Result]
Told = Callable[..., Any]


@pytest.fixture
def messy(corpus: Path, tmp_path: Path) -> Path:
    """The corpus, with a file that cannot be parsed and one of an unsupported format."""
    folder = tmp_path / "messy"
    shutil.copytree(corpus, folder)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "broken.docx").write_bytes(b"no archive")
    return folder


def test_json_tells_the_figures_of_the_index_that_was_made(told: Told, corpus: Path):
    said = told("index", corpus, "--index", "made")

    made = api.open_index("made")
    for table in ("documents", "chunks", "entities", "relationships", "claims", "communities", "reports"):
        assert said[table] == len(getattr(made, table)), table
    assert said["documents"] == 6
    assert said["tokens"] == sum(c.n_tokens for c in made.chunks)
    assert said["snapshot"] == made.snapshot
    assert [row["communities"] for row in said["levels"]] == [len(made.reports_at(n)) for n in made.levels]
    assert said["failures"] == said["skipped"] == []
    assert said["index"] == "made"
    assert said["seconds"] > 0


def test_a_person_is_told_the_figures_on_standard_output(run: Run, corpus: Path):
    result = run("index", corpus)

    assert "Indexed 6 documents (6 chunks, " in result.stdout
    assert "into .conspectus in " in result.stdout
    assert api.open_index(".conspectus").snapshot in result.stdout
    assert result.stderr == ""


def test_failures_are_told_and_recorded_and_end_with_3(run: Run, told: Told, messy: Path):
    result = run("index", messy, code=3)

    assert f"{messy}/broken.docx: " in result.stderr
    assert f"{messy}/picture.png: .png files are not read" in result.stderr
    assert "Indexed 6 documents" in result.stdout
    (failure,) = told("status")["failures"]
    assert failure["document"] == f"{messy}/broken.docx"
    assert failure["stage"] == "read"
    assert failure["error"]


@pytest.mark.parametrize("answer", ["n\n", "y\n"])
def test_a_person_is_asked_before_other_documents_replace_those_of_an_index(
    run: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch, answer: str
):
    Path("other").mkdir()
    Path("other/a.txt").write_text("Vera Stone lives in Kell.")
    run("index", "other")
    before = api.open_index(".conspectus").snapshot
    confirm = Mock(return_value=answer == "y\n")
    monkeypatch.setattr(typer, "confirm", confirm)
    monkeypatch.setattr(
        options, "sys", Mock(**{"stdin.isatty.return_value": True, "stderr.isatty.return_value": True})
    )

    run("index", corpus, "--dry-run")
    run("index", "other")
    assert not confirm.called
    result = run("index", corpus, code=0 if answer == "y\n" else 1)

    assert "conspectus index A B" in result.stderr
    assert confirm.called
    assert (api.open_index(".conspectus").snapshot == before) == (answer == "n\n")


def test_json_names_what_failed_and_what_was_skipped(told: Told, messy: Path):
    said = told("index", messy, code=3)

    assert [f["document"] for f in said["failures"]] == [f"{messy}/broken.docx"]
    assert [s["document"] for s in said["skipped"]] == [f"{messy}/picture.png"]
    assert "not read" in said["skipped"][0]["reason"]


def test_an_empty_file_and_an_empty_record_are_skipped_and_end_with_0(run: Run, told: Told, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("Mara Tolan keeps the weir.")
    (tmp_path / "empty.pdf").write_bytes(b"")
    (tmp_path / "blank.md").write_bytes(b"\xef\xbb\xbf \r\n")
    (tmp_path / "records.jsonl").write_text('{"text": ""}\n{"text": "Juno Vale repairs boats."}')

    said = told("index", tmp_path)

    assert not said["failures"]
    assert [Path(row["document"]).name for row in said["skipped"]] == [
        "blank.md",
        "empty.pdf",
        "records.jsonl#1",
    ]
    assert "empty" in run("status").stdout


def test_skipped_formats_alone_end_with_0(run: Run, messy: Path):
    (messy / "broken.docx").unlink()

    assert "picture.png" in run("index", messy).stderr


def test_quiet_leaves_out_the_notes_and_not_the_exit_code(run: Run, messy: Path):
    result = run("index", messy, "--quiet", code=3)

    assert result.stderr == ""
    assert "Indexed 6 documents" in result.stdout


def test_a_source_that_is_not_there_is_a_mistake_of_usage(run: Run):
    result = run("index", "nowhere", code=2)

    assert result.stdout == ""
    assert result.stderr == "error: there is no file or folder 'nowhere'; nothing was read\n"


def test_nothing_to_index_is_an_error_of_one_line(run: Run, tmp_path: Path):
    (tmp_path / "a.png").write_bytes(b"x")
    (tmp_path / "b.docx").write_bytes(b"no archive")

    result = run("index", "a.png", "b.docx", code=1)

    assert result.stderr.startswith("error: no document could be read: b.docx: ")
    assert result.stderr.count("\n") == 1
    assert not Path(".conspectus/manifest.json").exists()


def test_a_dry_run_counts_what_the_index_will_hold_and_writes_nothing(run: Run, told: Told, messy: Path):
    seen = told("index", messy, "--dry-run", "--chunk-tokens", 20, "--chunk-overlap", 5, code=3)

    assert not Path(".conspectus").exists()
    made = told("index", messy, "--chunk-tokens", 20, "--chunk-overlap", 5, code=3)
    for key in ("documents", "chunks", "tokens", "skipped", "failures"):
        assert seen[key] == made[key], key
    assert seen["chunks"] > seen["documents"]
    assert "Would index 6 documents (6 chunks, " in run("index", messy, "--dry-run", code=3).stdout


def test_a_settings_file_beside_the_corpus_is_not_read(run: Run, corpus: Path, tmp_path: Path):
    folder = tmp_path / "with-settings"
    shutil.copytree(corpus, folder)
    (folder / "conspectus.toml").write_text("chunk.tokens = 30\nchunk.overlap = 4\n")

    run("index", folder)
    assert api.open_index(".conspectus").settings["chunk"]["tokens"] == 600
    run("index", folder, "--config", folder / "conspectus.toml")
    assert api.open_index(".conspectus").settings["chunk"]["tokens"] == 30


def test_flags_win_over_the_environment_and_that_over_the_file_in_the_working_directory(
    told: Told, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "conspectus.toml").write_text("chunk.tokens = 30\nchunk.overlap = 4\n")

    def chunk(*flags: object) -> dict[str, Any]:
        told("index", corpus, "--index", "made", *flags)
        return dict(api.open_index("made").settings["chunk"])

    assert chunk()["tokens"] == 30
    monkeypatch.setenv("CONSPECTUS_CHUNK_TOKENS", "40")
    assert chunk()["tokens"] == 40
    assert chunk("--chunk-tokens", 50) | {} == chunk("--set", "chunk.tokens=50")
    assert chunk("--chunk-tokens", 50)["tokens"] == 50
    assert chunk("--chunk-tokens", 50)["overlap"] == 4
    (tmp_path / "other.toml").write_text("chunk.overlap = 6\n")
    assert chunk("--config", "other.toml")["overlap"] == 6


def test_any_setting_can_be_set(told: Told, corpus: Path):
    told(
        "index",
        corpus,
        "--set",
        "resolve.resolve=exact",
        "--set",
        "communities.seed=7",
        "--entity-types",
        "person,work",
    )

    settings = api.open_index(".conspectus").settings
    assert settings["resolve"]["resolve"] == "exact"
    assert settings["communities"]["seed"] == 7
    assert settings["extract"]["entity_types"] == ["person", "work"]


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--set", "chunk.token=5"], "did you mean `chunk.tokens`?"),
        (["--set", "chunk.tokens"], "--set takes KEY=VALUE"),
        (["--chunk-tokens", "50", "--chunk-overlap", "60"], "overlap (60) must be smaller than tokens (50)"),
        (["--config", "missing.toml"], "missing.toml cannot be read"),
    ],
)
def test_settings_that_make_no_sense_are_mistakes_of_usage(
    run: Run, corpus: Path, flags: list[str], said: str
):
    result = run("index", corpus, *flags, code=2)

    assert result.stderr.startswith("error: ")
    assert said in result.stderr
    assert result.stderr.count("\n") == 1


def test_records_are_read_by_the_fields_that_are_named(told: Told, tmp_path: Path):
    (tmp_path / "rows.csv").write_text("body,name\nAda Brook bought the mill.,Purchase\n", encoding="utf-8")

    told("index", "rows.csv", "--text-field", "body", "--title-field", "name")

    (document,) = api.open_index(".conspectus").documents
    assert (document.title, document.text) == ("Purchase", "Ada Brook bought the mill.")


def test_the_folder_of_the_index_can_come_from_the_environment(
    run: Run, told: Told, corpus: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("CONSPECTUS_INDEX", "elsewhere")

    run("index", corpus)

    assert told("status")["index"] == "elsewhere"
    assert not Path(".conspectus").exists()


def test_an_interrupted_run_says_what_stands(run: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    before = api.build(corpus, "kept", settings=Settings()).snapshot
    monkeypatch.setattr(api, "build", interrupted)

    assert run("index", corpus, code=130).stderr == "interrupted: no index was written\n"
    said = run("index", corpus, "--index", "kept", code=130).stderr

    assert said == f"interrupted: the index in kept is unchanged, snapshot {before}\n"


@pytest.mark.parametrize("at", ["/dev/null/x", "a.txt", "/proc/foo"])
def test_a_place_where_no_index_can_be_is_named_as_it_was_given(at: str, run: Run, corpus: Path):
    Path("a.txt").write_text("A text.", encoding="utf-8")

    for result in (run("index", corpus, "--index", at, code=2), run("status", "--index", at, code=1)):
        assert at in result.stderr
        assert "corrections" not in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "name", ["entities.parquet", "output/entities.parquet", "create_final_entities.parquet"]
)
def test_who_asks_the_output_of_graphrag_is_told_how_to_import_it(name: str, run: Run):
    file = Path("theirs") / name
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")

    for command in (("ask", "What?"), ("search", "What?"), ("status",), ("map",), ("entity", "Ada")):
        assert "conspectus import graphrag theirs" in run(*command, "--index", "theirs", code=1).stderr


def test_who_names_a_folder_inside_an_index_is_told_the_index(run: Run, indexed: Path):
    assert f"the index in {indexed}" in run("ask", "What?", "--index", indexed / "tables", code=1).stderr


def test_an_interrupt_that_came_after_the_commit_does_not_claim_otherwise(
    run: Run, corpus: Path, monkeypatch: pytest.MonkeyPatch
):
    build = api.build

    def too_late(*args: Any, **more: Any) -> None:
        build(*args, **more)
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "build", too_late)
    said = run("index", corpus, code=130).stderr

    stands = api.open_index(".conspectus").snapshot
    assert said == f"interrupted: the build had already finished, with snapshot {stands}\n"


def test_what_was_left_out_is_told_in_one_line_by_json_and_by_status(run: Run, tmp_path: Path):
    (tmp_path / "notes.txt").write_text("Mara Tolan keeps the weir.")
    for n in range(20):
        (tmp_path / f"draft{n}.txt").write_text("To do.")
    for name in ("node_modules", ".git", ".conspectus"):
        (tmp_path / name).mkdir(exist_ok=True)

    (line,) = [
        line
        for line in run("index", tmp_path, "--exclude", "draft*").stderr.split("\n")
        if "node_mod" in line
    ]
    assert "20 " in line
    told = json.loads(run("index", tmp_path, "--exclude", "draft*", "--json").stdout)
    assert told["left_out"] == {"tools": 1, "hidden": 1, "excluded": 20}
    assert f"Sources: {tmp_path}" in run("status").stdout
    assert json.loads(run("status", "--json").stdout)["left_out"] == {"tools": 1, "hidden": 1, "excluded": 20}


def test_damaged_characters_are_told_with_their_file_and_offset(run: Run, tmp_path: Path):
    (tmp_path / "notes.txt").write_bytes("Mara Tolan hält das Wehr, sagt Jürgen Groß. ".encode() + b"\xff")
    result = run("index", tmp_path)

    assert "notes.txt" in result.stderr
    assert "47" in result.stderr
    (warning,) = json.loads(run("index", tmp_path, "--json").stdout)["warnings"]
    assert (warning["invalid_bytes"], warning["first_offset"]) == (1, 47)


def test_a_message_names_arguments_in_python_and_options_on_the_command_line(run: Run, tmp_path: Path):
    (tmp_path / "texts.jsonl").write_text('{"body": "Ada Brook bought the Orran Mill."}\n', encoding="utf-8")
    (tmp_path / "note.txt").write_text("Ruben Vale opened the Tarn Bridge in 1905.", encoding="utf-8")

    failed = run("index", "texts.jsonl", "note.txt", code=3).stderr
    assert "--text-field NAME" in failed
    assert "settings=" not in failed
    assert "conspectus embed --embedder local" in run("search", "Ada", "--method", "vector", code=2).stderr
    assert "--index" in run("ask", "Who?", "--index", "elsewhere", code=1).stderr

    index = conspectus.open_index(tmp_path / ".conspectus")
    (failure,) = index.failures
    assert "settings={'read.text_field': NAME}" in failure.error
    with pytest.raises(UsageError, match=r"conspectus\.embed\(folder='.*', embedder='local'\)"):
        index.search("Ada", method="vector")


OPTION = re.compile(r"(?<![\w-])--[a-z]{3,}")


def test_only_the_command_line_names_options():
    commands = {"report.py", "ablation.py", "exporting.py"}  # files that contain complete commands
    for source in Path(conspectus.__file__).parent.rglob("*.py"):
        if {"cli", "server"} & set(
            source.parts
        ) or source.name in commands:  # only a command starts the server
            continue
        text = source.read_text(encoding="utf-8")
        if not OPTION.search(text):
            continue
        tree = ast.parse(text)
        docs = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
                assert not OPTION.search(node.value), f"{source}: {node.value}"
