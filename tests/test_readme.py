"""What README.md shows runs as it stands there: commands, outputs, the Python cell, links."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from simulated_server import Behaviour, SimulatedServer

import conspectus

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SAMPLE = Path(conspectus.__file__).parent / "sample"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the commands are for a Unix shell")


def section(start: str) -> str:
    """Return the first code block after a text."""
    found = re.search(r"```\w+\n(.*?)```", README[README.index(start) :], re.DOTALL)
    assert found is not None
    return found[1]


def commands(block: str) -> str:
    return "\n".join(line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ "))


def shell(script: str, folder: Path, **environment: str) -> str:
    """Run commands in a folder and return what they print; any that ends with another code than 0 fails."""
    program = f'conspectus() {{ "{sys.executable}" -m conspectus "$@"; }}\nollama() {{ :; }}\n'
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("CONSPECTUS_", "OPENAI_"))}
    ended = subprocess.run(
        ["bash", "-e", "-c", program + script],
        cwd=folder,
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, f"{script}\n{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
    return ended.stdout


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with `my-documents` in it."""
    shutil.copytree(SAMPLE, tmp_path / "my-documents")
    return tmp_path


def test_the_commands_without_a_key_run(place: Path):
    printed = shell(commands(section("**Without a key.**")), place)

    assert "Indexed 43 documents" in printed
    assert "Dorothea Quill" in printed
    assert (place / "map.html").is_file()


def test_the_answer_shown_is_the_answer_given(tmp_path: Path):
    shutil.copytree(SAMPLE, tmp_path / "corpus")
    block = section("The first:")
    shell("conspectus index corpus", tmp_path)

    assert shell(commands(block), tmp_path).strip() == block.split("\n", 1)[1].strip()


@pytest.mark.parametrize("start", ["**OpenAI**", "**Ollama**"])
def test_the_commands_with_a_model_run(start: str, tmp_path: Path):
    (tmp_path / "my-documents").mkdir()
    shutil.copy(next(SAMPLE.glob("notes/*.md")), tmp_path / "my-documents")
    with SimulatedServer(Behaviour()) as server:
        printed = shell(
            commands(section(start)),
            tmp_path,
            CONSPECTUS_LLM_BASE_URL=server.url,
            CONSPECTUS_API_KEY="secret",
            OLLAMA_HOST=server.url,
        )

    assert "Indexed 1 document" in printed


def test_the_cell_runs(place: Path):
    ended = subprocess.run(
        [sys.executable, "-c", section("**In a notebook**")],
        cwd=place,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "[1]" in ended.stdout


@pytest.mark.parametrize(
    "page", ["README.md", "CONTRIBUTING.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))]
)
def test_links_lead_to_files(page: str):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        assert "://" in target or ((ROOT / page).parent / target).exists(), target
