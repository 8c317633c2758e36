"""Which files of a folder are read as documents."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from typer.testing import CliRunner

import conspectus
from conspectus.cli.app import app
from conspectus.errors import NothingToIndex, UsageError
from conspectus.indexing.read import Read, Walk, read
from conspectus.settings import ReadSettings

TEXT = "The weir held."


def fill(folder: Path, files: Mapping[str, str]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def paths(found: Read, folder: Path) -> list[str]:
    return [os.path.relpath(d.path, folder) for d in found.documents]


def kinds(found: Read, folder: Path) -> dict[str, str]:
    return {os.path.relpath(s.document, folder): s.kind for s in found.skipped}


def test_installed_packages_and_caches_are_left_out_and_counted(tmp_path: Path):
    fill(
        tmp_path,
        {
            "a.md": TEXT,
            "node_modules/left-pad/README.md": TEXT,
            "env/pyvenv.cfg": "home = /usr/bin",
            "env/lib/licence.txt": TEXT,
            "src/__pycache__/notes.txt": TEXT,
            "target/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55",
            "target/doc.md": TEXT,
        },
    )
    found = read([tmp_path], ReadSettings())

    assert paths(found, tmp_path) == ["a.md"]
    assert kinds(found, tmp_path) == dict.fromkeys(
        ("node_modules", "env", "src/__pycache__", "target"), "tools"
    )


def test_a_folder_that_is_named_is_read_whatever_it_is_called(tmp_path: Path):
    folder = fill(tmp_path / "node_modules", {"a.md": TEXT})

    assert paths(read([folder], ReadSettings()), tmp_path) == ["node_modules/a.md"]


def test_ignore_files_hold_for_their_folder_and_below_and_the_nearest_decides(tmp_path: Path):
    fill(
        tmp_path,
        {
            ".gitignore": "*.log.txt\n/build/\n!keep.log.txt\n\n# comment\n",
            "a.txt": TEXT,
            "x.log.txt": TEXT,
            "keep.log.txt": TEXT,
            "build/a.txt": TEXT,
            "sub/build/a.txt": TEXT,
            "sub/.gitignore": "!x.log.txt\nsecret*\n",
            "sub/x.log.txt": TEXT,
            "sub/deep/secret.md": TEXT,
            "secret.md": TEXT,
        },
    )
    found = read([tmp_path], ReadSettings())

    assert paths(found, tmp_path) == [
        "a.txt",
        "keep.log.txt",
        "secret.md",
        "sub/build/a.txt",
        "sub/x.log.txt",
    ]
    assert kinds(found, tmp_path) == dict.fromkeys(("x.log.txt", "build", "sub/deep/secret.md"), "ignored")


def test_ignores_of_version_control_can_be_turned_off_and_ours_cannot(tmp_path: Path):
    fill(
        tmp_path,
        {".gitignore": "a.txt", ".conspectusignore": "b.txt", "a.txt": TEXT, "b.txt": TEXT, "c.txt": TEXT},
    )

    assert paths(read([tmp_path], ReadSettings()), tmp_path) == ["c.txt"]
    assert paths(read([tmp_path], ReadSettings(gitignore=False)), tmp_path) == ["a.txt", "c.txt"]


def test_an_ignore_file_of_ours_can_take_back_what_version_control_ignores(tmp_path: Path):
    fill(tmp_path, {".gitignore": "*.txt", ".conspectusignore": "!a.txt", "a.txt": TEXT, "b.txt": TEXT})

    assert paths(read([tmp_path], ReadSettings()), tmp_path) == ["a.txt"]


def test_ignore_files_above_hold_inside_a_repository_unless_they_leave_out_the_folder_itself(tmp_path: Path):
    fill(tmp_path, {".gitignore": "*.tmp.md\ndata/\nmore/*\n", ".git/HEAD": ""})
    for name in ("docs", "data", "more"):
        fill(tmp_path / name, {"a.md": TEXT, "b.tmp.md": TEXT})

    assert paths(read([tmp_path / "docs"], ReadSettings()), tmp_path) == ["docs/a.md"]
    assert paths(read([tmp_path / "data"], ReadSettings()), tmp_path) == ["data/a.md", "data/b.tmp.md"]
    assert paths(read([tmp_path / "more"], ReadSettings()), tmp_path) == ["more/a.md", "more/b.tmp.md"]


def test_what_is_read_is_what_version_control_does_not_ignore(tmp_path: Path):
    try:
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("git is not installed")
    names = [
        f"{a}{b}{c}.txt" for a in ("", "a/", "b/a/", "doc/") for b in ("x", "y z", "[q]") for c in ("", "1")
    ]
    patterns = "a/x.txt\n/x1.txt\n**/a/y*\ndoc/**\n!doc/x.txt\n\\[q\\]1.txt\ny\\ z.txt   \nb/\n!b/a/x.txt\n"
    fill(tmp_path, dict.fromkeys(names, TEXT) | {".gitignore": patterns})
    listed = ["git", "-C", str(tmp_path), "ls-files", "-z", "--others", "--exclude-standard"]
    expected = subprocess.run(listed, check=True, capture_output=True, text=True).stdout.split("\0")

    assert sorted(paths(read([tmp_path], ReadSettings()), tmp_path)) == sorted(
        {*expected} - {"", ".gitignore"}
    )


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ({"exclude": ("drafts/",)}, ["a.md", "b.txt", "sub/c.md"]),
        ({"exclude": ("*.md",)}, ["b.txt"]),
        ({"exclude": ("/sub",)}, ["a.md", "b.txt", "drafts/d.md"]),
        ({"include": ("*.md",)}, ["a.md", "drafts/d.md", "sub/c.md"]),
        ({"include": ("sub/**",)}, ["sub/c.md"]),
        ({"include": ("*.md",), "exclude": ("drafts",)}, ["a.md", "sub/c.md"]),
    ],
)
def test_patterns_of_the_settings_choose_files(
    tmp_path: Path, chosen: dict[str, tuple[str, ...]], expected: list[str]
):
    fill(tmp_path, dict.fromkeys(("a.md", "b.txt", "sub/c.md", "drafts/d.md"), TEXT))
    found = read([tmp_path], ReadSettings.model_validate(chosen))

    assert paths(found, tmp_path) == expected
    assert set(kinds(found, tmp_path).values()) == {"excluded"}


def test_patterns_may_be_written_from_where_one_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path, dict.fromkeys(("docs/a.md", "docs/drafts/b.md"), TEXT))
    monkeypatch.chdir(tmp_path)

    assert [d.path for d in read(["docs"], ReadSettings(exclude=("docs/drafts",))).documents] == ["docs/a.md"]


def test_a_file_that_is_named_is_always_read(tmp_path: Path):
    fill(
        tmp_path,
        {".gitignore": "a.txt", "a.txt": TEXT, "b.md": f"<!-- Generated by Conspectus -->\n\n{TEXT}"},
    )
    given = [tmp_path / "a.txt", tmp_path / "b.md"]

    assert paths(read(given, ReadSettings(exclude=("*",), include=("*.pdf",))), tmp_path) == ["a.txt", "b.md"]


def test_a_pattern_that_is_none_is_refused_in_settings_and_passed_over_in_ignore_files(tmp_path: Path):
    fill(tmp_path, {".gitignore": "!\nb.txt\n", "a.txt": TEXT, "b.txt": TEXT})

    assert paths(read([tmp_path], ReadSettings()), tmp_path) == ["a.txt"]
    with pytest.raises(UsageError, match=r"read\.exclude"):
        read([tmp_path], ReadSettings(exclude=("!",)))


def test_where_everything_is_left_out_the_error_says_by_what(tmp_path: Path):
    fill(tmp_path, {".gitignore": "*", "a.txt": TEXT})

    with pytest.raises(NothingToIndex, match="gitignore"):
        read([tmp_path], ReadSettings())


def test_home_is_where_a_tilde_leads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path, {"a.txt": TEXT})
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))

    assert paths(read(["~/a.txt"], ReadSettings()), tmp_path) == ["a.txt"]
    assert paths(read([Path("~")], ReadSettings()), tmp_path) == ["a.txt"]


# Files that Conspectus wrote


def test_no_export_is_read_as_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):

    monkeypatch.chdir(tmp_path)
    sample = Path(conspectus.__file__).parent / "sample"
    docs = fill(tmp_path / "docs", {p.name: p.read_text("utf-8") for p in sorted(sample.rglob("*.md"))[:6]})
    index, runner = str(tmp_path / "index"), CliRunner()

    def run(*arguments: str) -> None:
        result = runner.invoke(app, list(arguments))
        assert result.exit_code == 0, result.output

    run("index", str(docs), "--index", index)
    before = paths(read([docs], ReadSettings()), docs)
    run("map", "-o", str(docs / "map.html"), "--index", index)
    for kind, name in {
        "json": "index.json",
        "obsidian": "vault",
        "neo4j": "neo4j",
        "graphml": "g.graphml",
        "graphrag": "graphrag",
        "csv": "csv",
    }.items():
        run("export", kind, "-o", str(docs / name), "--index", index)
    (docs / "vault" / "mine.md").write_text("A note of my own.")
    after = read([docs], ReadSettings())

    assert paths(after, docs) == [*before, "vault/mine.md"]
    own = [path for path, kind in kinds(after, docs).items() if kind == "own"]
    assert {"map.html", "index.json", "vault/Start.md", "neo4j/import.txt", "csv/text_units.csv"} <= set(own)
    assert not after.failures


def test_files_that_a_list_names_as_written_by_conspectus_are_left_out_and_no_others(tmp_path: Path):
    fill(
        tmp_path,
        {"a/answers.jsonl": '{"text": "x"}', "a/mine.txt": TEXT, "a/.conspectus-output": '["answers.jsonl"]'},
    )
    fill(tmp_path, {"b/mine.txt": "Another.", "b/.conspectus-output": json.dumps({"not": "a list"})})

    assert paths(read([tmp_path], ReadSettings()), tmp_path) == ["a/mine.txt", "b/mine.txt"]


def test_a_folder_is_listed_without_holding_its_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    fill(tmp_path, {f"{number}.txt": TEXT for number in range(5)})
    scandir, listed = os.scandir, list[str]()

    @contextmanager
    def counted(path: str) -> Iterator[Iterator[os.DirEntry[str]]]:
        with scandir(path) as entries:
            yield (entry for entry in entries if not listed.append(entry.name))

    monkeypatch.setattr(os, "scandir", counted)
    walk = Walk(str(tmp_path), "in", ReadSettings()).outcomes()

    next(walk)
    assert len(listed) == 1
    assert len(list(walk)) == 4
