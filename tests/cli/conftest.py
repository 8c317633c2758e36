"""Fixtures: a small corpus, its index, the index of the sample, and functions that run the command line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_corpus import ASKED, documents, settings
from simulated_server import Behaviour, SimulatedServer
from typer.testing import CliRunner, Result

from conspectus import api
from conspectus.cli.app import app
from conspectus.index import Index
from conspectus.models.llm import cache
from conspectus.settings import Settings

TEXTS = {
    "mill.txt": "The Orran Mill stood on the river Tarn. Ada Brook bought the Orran Mill in 1901. "
    "Ada Brook paid for a new wheel, and the river Tarn turned it.",
    "flood.txt": "In March 1903 the river Tarn flooded Hollin. The flood broke the wheel of the Orran Mill. "
    "Ada Brook asked the Hollin Council to pay for the damage.",
    "council.md": "# Council\n\nThe Hollin Council met on Monday. Ruben Vale, its chairman, refused to pay. "
    "Ada Brook called Ruben Vale a coward.",
    "bridge.txt": "Ruben Vale opened the Tarn Bridge in 1905. The Hollin Council paid for the Tarn Bridge. "
    "Ada Brook did not come to the opening of the Tarn Bridge.",
    "letter.txt": "Dear Ruben,\r\n\r\nThe new sluice of the Orran Mill cost ninety pounds.\r\n\r\nAda",
    "school.txt": "Ada Brook left the Orran Mill to the Hollin School. The Hollin School taught its pupils "
    "about the river Tarn in the Orran Mill.",
}


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six short documents of one story."""
    folder = tmp_path_factory.mktemp("corpus")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8", newline="")
    return folder


@pytest.fixture(scope="session")
def indexed(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the small corpus's index."""
    return api.build(corpus, tmp_path_factory.mktemp("indexes") / "small", settings=Settings()).folder


@pytest.fixture(scope="session")
def sampled(sample_index: Path) -> Path:
    """The folder of the index of the sample corpus that comes with the package."""
    return sample_index


@pytest.fixture(scope="session")
def opened(sampled: Path) -> Index:
    return api.open_index(sampled)


Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def no_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw no charts, which takes longer than the rest of a command; tests/evaluation tests them."""
    monkeypatch.setattr("conspectus.evaluation.charts.can_draw", lambda: False)


@pytest.fixture(scope="session")
def server() -> Iterator[SimulatedServer]:
    with SimulatedServer(Behaviour()) as server:
        yield server


@pytest.fixture(scope="session")
def papers(server: SimulatedServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an index that was built with the simulated model."""
    return api.build(
        documents=documents(),
        folder=tmp_path_factory.mktemp("indexes") / "papers",
        settings=settings(server.url),
    ).folder


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    (tmp_path / "asked.txt").write_text("\n".join(ASKED), encoding="utf-8")
    return tmp_path / "asked.txt"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function that runs the command line in an empty folder and expects the exit code `code`."""
    monkeypatch.chdir(tmp_path)

    def invoke(*args: object, code: int = 0, input: str | None = None) -> Result:
        cache._this_process.clear()  # for users, each command is a new process
        result = CliRunner().invoke(app, [str(a) for a in args], prog_name="conspectus", input=input)
        assert result.exit_code == code, f"{result.stdout}\n{result.stderr}"
        return result

    return invoke


@pytest.fixture
def told(run: Run) -> Callable[..., Any]:
    """A function that runs the command line with --json and returns the parsed output."""

    def invoke(*args: object, code: int = 0) -> Any:
        return json.loads(run(*args, "--json", code=code).stdout)

    return invoke
