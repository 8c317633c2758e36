"""The documentation covers all interfaces, its links work, and its examples produce the output that it shows."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer
from typer.main import get_command
from typer.testing import CliRunner

import conspectus
from conspectus.cli.app import app
from conspectus.configuration import FIELDS
from conspectus.retrieval import METHODS, unregister
from conspectus.storage.tables import TABLES

pytest.importorskip("mkdocs", reason="the dependency group docs is not installed")

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
SAMPLE = Path(conspectus.__file__).parent / "sample"
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
EXECUTED = [page for page in PAGES if page.startswith("guides/") or page in ("quickstart.md", "tutorial.md")]
"""Pages whose commands and cells are run in order, in a folder with `my-documents`."""
NOT_RUN = ("pip", "ollama")
"""Programs that the test does not run because they download something."""
SHELL = ("echo", "cp", "rm", "mkdir", "sed")
ENDLESS = ("serve", "mcp", "chat")
"""Commands that do not end by themselves."""


def _build_pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_pages", DOCS / "build_pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BUILD: Any = _build_pages()


# Generated pages


def test_every_public_name_is_explained():
    assert sorted(name for names in BUILD.PYTHON.values() for name in names) == sorted(conspectus.__all__)
    assert all(f"::: conspectus.{name}\n" in BUILD.python() for name in conspectus.__all__)


def test_every_command_and_option_is_explained():
    page = BUILD.command_line()

    def check(command: Any, path: tuple[str, ...]) -> None:
        section = page[page.index(f"`{' '.join(path)}`") :]
        for param in command.params:
            assert all(name in section for name in param.opts if name.startswith("--")), param.opts
        for name, inner in getattr(command, "commands", {}).items():
            check(inner, (*path, name))

    for name, command in getattr(get_command(app), "commands").items():  # noqa: B009
        check(command, ("conspectus", name))


def test_every_setting_is_explained():
    page = BUILD.settings()
    assert [key for key in FIELDS if f"`{key}`" not in page] == []


def test_every_column_has_a_meaning_and_no_meaning_lacks_a_column():
    assert {column.name for table in TABLES.values() for column in table.columns} == set(BUILD.COLUMNS)
    page = BUILD.tables()
    assert [table.file for table in TABLES.values() if f"## {table.file}\n" not in page] == []


def test_every_route_and_tool_is_explained():
    pytest.importorskip("mcp", reason="the extra serve is not installed")
    assert "`POST /api/ask`" in BUILD.rest()
    assert "`overview`" in BUILD.tools()


# Pages


def test_the_navigation_has_every_page():
    listed = re.findall(r"[\w./-]+\.md", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed))
    assert set(listed) ^ {*PAGES, *BUILD.GENERATED, *BUILD.COPIED.values()} == set(), "put it in mkdocs.yml"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_pages_or_files(page: str):
    text = (DOCS / page).read_text(encoding="utf-8")
    generated = {(DOCS / path).resolve() for path in BUILD.GENERATED}
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        path = ((DOCS / page).parent / target).resolve()
        assert "://" in target or path.exists() or path in generated, target


# Examples


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the sample corpus and without settings, where language models are simulated."""
    for name in os.environ:
        if name.startswith(("CONSPECTUS_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    shutil.copytree(SAMPLE, "my-documents")
    registered = set(METHODS)
    with SimulatedServer(Behaviour()) as server:
        monkeypatch.setenv("CONSPECTUS_LLM_BASE_URL", server.url)
        yield tmp_path
    for name in set(METHODS) - registered:
        unregister(name)


def _run(line: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run a command line and return its output."""
    program, *arguments = shlex.split(line, comments=True)
    if program == "export":
        monkeypatch.setenv(*arguments[0].split("="))
    elif program == "cd":
        monkeypatch.chdir(arguments[0])
    elif program == "conspectus" and arguments[0] not in ENDLESS:
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, f"{line}\n{result.output}"
        return result.output
    elif program in SHELL:
        return subprocess.run(line, shell=True, check=True, capture_output=True, text=True).stdout  # noqa: S602
    else:
        assert program in ("conspectus", *NOT_RUN), f"no test runs {program}"
    return ""


def _check_shown(shown: list[str], printed: str, line: str) -> None:
    """Check that the lines that a page shows are in the output, in the same order; `…` stands for omitted lines.

    Pages show the output of a terminal, in which headings, emphasis and lists are rendered.
    """
    bulleted = re.sub(r"^- ", " • ", printed, flags=re.MULTILINE)
    rest = iter(re.sub(r"^#+ |^\*|\*$", "", bulleted, flags=re.MULTILINE).splitlines())
    for text in filter(None, map(str.strip, shown)):
        pattern = ".*".join(map(re.escape, text.split("…")))
        is_there = text == "…" or any(re.fullmatch(pattern, real.strip()) for real in rest)
        assert is_there, f"{line}\nlacks: {text}\n{printed}"


@pytest.mark.parametrize("page", EXECUTED)
@pytest.mark.usefixtures("workplace")
def test_what_a_page_shows_happens(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    text = (DOCS / page).read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for language, block in re.findall(r"^```(console|python)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if language == "python":
            exec(compile(block, page, "exec"), names)  # noqa: S102
            continue
        for command in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            line, *shown = command.splitlines()
            _check_shown(shown, _run(line, monkeypatch), line)
