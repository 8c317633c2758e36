"""The commands of docs/evaluation.md, run verbatim, against a simulated server and without a model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from llm_corpus import documents
from simulated_server import Behaviour, SimulatedServer

GUIDE = Path(__file__).parents[2] / "docs" / "evaluation.md"
SMALL = {
    "eval questions --description about.txt": " --users 1 --tasks 1 --questions 4",
    "eval judge study": " --replicates 1 --criteria diversity",
    "eval ablate figure3": " --set chunk.tokens=300,600 --set extract.max_gleanings=0,1",
    "eval ablate window": " --set answer.context_tokens=500,1000 --conditions C0",
    "eval ablate communities": " --seeds 1",
}
"""Options that are added to a command to keep the test short."""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the guide's commands are for a Unix shell")


def blocks() -> dict[str, str]:
    """Return the commands under each heading of the guide."""
    parts = re.split(r"^## (.+)$", GUIDE.read_text(encoding="utf-8"), flags=re.M)[1:]
    told = {
        head: re.findall(r"```bash\n(.*?)```", text, re.S)
        for head, text in zip(parts[::2], parts[1::2], strict=True)
    }
    return {head: "\n".join(found) for head, found in told.items() if found}


def small(commands: str) -> str:
    lines: list[str] = []
    for line in commands.splitlines():
        more = next(
            (extra for start, extra in SMALL.items() if line.removeprefix("conspectus ").startswith(start)),
            "",
        )
        lines.append(line + more)
    return "\n".join(lines)


def shell(commands: str, folder: Path, **environment: str) -> str:
    """Run commands as a shell does, check that each exits with 0, and return their output."""
    program = f'conspectus() {{ "{sys.executable}" -m conspectus "$@"; }}\n'
    ended = subprocess.run(
        ["bash", "-e", "-c", program + commands],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
    return ended.stdout


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    for document in documents():
        (tmp_path / "corpus" / f"{document['id']}.txt").write_text(document["text"], encoding="utf-8")
    (tmp_path / "about.txt").write_text("Letters and accounts of a river valley.", encoding="utf-8")
    (tmp_path / "questions.csv").write_text(
        "question_text\nWhat did Ada Byrne do?\nWhat are the main themes?\n", encoding="utf-8"
    )
    return tmp_path


@pytest.mark.long
def test_the_commands_with_a_model_lead_from_a_corpus_to_a_report(place: Path):
    with SimulatedServer(Behaviour()) as server:
        environment = {
            "MODEL": "simulated",
            "JUDGE": "simulated-judge",
            "EMBEDDER": "openai/simulated",
            "CONSPECTUS_LLM_BASE_URL": server.url,
            "CONSPECTUS_LLM_EMBEDDER_BASE_URL": server.url,
            "CONSPECTUS_CHUNK_TOKENS": "120",
            "CONSPECTUS_CHUNK_OVERLAP": "20",
        }
        shell(small(blocks()["With a language model"]), place, **environment)
        for rater in ("ada", "bo"):
            text = (place / "pilot.csv").read_text(encoding="utf-8")
            (place / f"ratings-{rater}.csv").write_text(
                re.sub(",,,$", f",{rater},tie,", text, flags=re.M), "utf-8"
            )
        shell(small(blocks()["People"]), place, **environment)
        ablations = [c for c in small(blocks()["Ablations"]).splitlines() if "ablate communities" not in c]
        shell("\n".join(ablations), place, **environment)

    report = (place / "study" / "report.md").read_text(encoding="utf-8")
    assert "simulated-judge" in report
    assert "*" not in report.partition("## Win rates")[2].partition("## Statistics")[0].replace("**", "")
    for name, file in (("chunks", "ablation_figure3"), ("window", "ablation_window"), ("size", "ablation")):
        assert (place / "study" / name / f"{file}.csv").exists()


@pytest.mark.long
def test_the_commands_without_a_model_lead_to_a_report_too(place: Path):
    shell(small(blocks()["Without a language model"]), place)

    report = (place / "study" / "report.md").read_text(encoding="utf-8")
    assert "Found by rules" in report
    assert "No answers were judged." in report


def test_every_file_and_command_that_the_guide_names_is_there():
    from typer.main import get_command

    from conspectus.cli.app import app

    known = get_command(app).commands["eval"].commands  # pyright: ignore[reportAttributeAccessIssue]
    text = GUIDE.read_text(encoding="utf-8")
    named = set(re.findall(r"conspectus eval (\w+)", text)) | set(re.findall(r"`eval (\w+)", text))

    assert named <= set(known)
    assert {
        "questions",
        "answers",
        "judge",
        "stats",
        "claims",
        "grounding",
        "people",
        "report",
        "ablate",
    } <= named
