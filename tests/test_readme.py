"""The examples of README.md work verbatim: commands, outputs, the Python cell, links."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest
from simulated_server import Behaviour, SimulatedServer
from typer.testing import CliRunner

import conspectus
from conspectus.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLE = Path(conspectus.__file__).parent / "sample"


def section(start: str) -> str:
    """Return the first code block after a text."""
    found = re.search(r"```\w+\n(.*?)```", README[README.index(start) :], re.DOTALL)
    assert found is not None
    return found[1]


def run(block: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run the commands of a block in the working directory, check that each exits with 0, and return their output."""
    printed: list[str] = []
    for line in block.splitlines():
        program, *arguments = (
            shlex.split(line.removeprefix("$ "), comments=True) if line.startswith("$ ") else ("",)
        )
        if program == "export":
            monkeypatch.setenv(*arguments[0].split("="))
        elif program == "conspectus":
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == 0, f"{line}\n{result.output}"
            printed.append(result.stdout)
    return "".join(printed)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory, and an environment without our settings."""
    for name in os.environ:
        if name.startswith(("CONSPECTUS_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_without_a_key_run(place: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(SAMPLE, "my-documents")

    printed = run(section("**Without a key.**"), monkeypatch)

    assert "Indexed 43 documents" in printed
    assert "Dorothea Quill" in printed
    assert (place / "map.html").is_file()


@pytest.mark.usefixtures("place")
def test_the_answer_shown_is_the_answer_given(monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(SAMPLE, "corpus")
    conspectus.build("corpus", ".conspectus")
    block = section("The first:")

    assert run(block, monkeypatch).strip() == block.split("\n", 1)[1].strip()


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize("start", ["**OpenAI**", "**Ollama**"])
def test_the_commands_with_a_model_run(start: str, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(SAMPLE / "notes", "my-documents", ignore=shutil.ignore_patterns("*.txt"))
    with SimulatedServer(Behaviour()) as server:
        monkeypatch.setenv("CONSPECTUS_LLM_BASE_URL", server.url)
        printed = run(section(start), monkeypatch)

    assert "Indexed" in printed
    assert "*Assembled from quotations" not in printed  # the last command names no model


def test_the_cell_runs(place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    shutil.copytree(SAMPLE / "notes", "my-documents")
    exec(compile(section("**In Python**"), "cell", "exec"), {})  # noqa: S102

    assert "[1]" in capsys.readouterr().out


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_lead_to_files(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert "://" in target or ((ROOT / page).parent / target).exists(), target
