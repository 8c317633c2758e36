"""`conspectus demo`: uses only files of the package, calls no model, and every citation can be looked up."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from conspectus.cli.app import app
from conspectus.cli.start import THEMES

CITED = re.compile(r"^(?:\[\d+\])* *(corpus/\S+?),? .*?characters (\d+)-(\d+)$", re.MULTILINE)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a demo with the model's index, and the output of the command."""
    folder = tmp_path_factory.mktemp("demo") / "new"
    result = run("demo", "--dir", str(folder), "--with-model-index")
    assert result.exit_code == 0, result.output
    return folder, result.stdout


def test_it_answers_a_fact_and_shows_its_commands(shown: tuple[Path, str]):
    assert "$ conspectus index corpus" in shown[1]
    assert "1811 [1]" in shown[1]


def test_each_source_is_a_file_in_the_folder(shown: tuple[Path, str]):
    folder, text = shown
    sources = CITED.findall(text)

    assert len(sources) > 10
    for path, start, end in sources:
        assert 0 <= int(start) < int(end) <= len((folder / path).read_text(encoding="utf-8"))


def test_the_index_of_a_model_is_whole_and_asks_no_model(
    shown: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
):
    folder, text = shown
    monkeypatch.chdir(folder)

    assert "Tide Watch, Tamsin Garrick and Teal Estuary Academy" in text
    assert run("check", "--index", "model-index").exit_code == 0
    themes = run("ask", THEMES, "--index", "model-index")
    assert "### Tide Watch, Tamsin Garrick and Teal Estuary Academy" in themes.stdout
    answer = run("ask", "Who designed the Lapwing turbine?", "--index", "model-index", "--json")
    assert answer.exit_code == 0
    assert json.loads(answer.stdout)["usage"]["calls"] == 0


def test_a_model_named_by_the_environment_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CONSPECTUS_MODEL", "openai/gpt-4.1-mini")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "conspectus.toml").write_text('model = "openai/gpt-4.1-mini"\n', encoding="utf-8")

    first, again = run("demo"), run("demo")

    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    assert "1811 [1]" in first.stdout
    assert "cd conspectus-demo" in again.stdout


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")

    result = run("demo", "--dir", str(tmp_path))

    assert result.exit_code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
