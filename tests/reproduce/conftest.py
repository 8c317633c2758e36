"""Fixtures for the tests of both papers' scripts: a function that runs a script, and a simulated server."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer

REPRODUCE = Path(__file__).parents[2] / "reproduce"


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[dict[str, Any]]]:
    """Run a script in a work folder of its own, and return its tables."""
    monkeypatch.syspath_prepend(str(REPRODUCE))

    def run(name: str, *options: str) -> list[dict[str, Any]]:
        result = tmp_path / "tables.json"
        result.unlink(missing_ok=True)
        argv = [name, "--work", str(tmp_path / "work"), "--json", str(result), "--yes", *options]
        monkeypatch.setattr(sys, "argv", argv)
        runpy.run_path(str(REPRODUCE / f"{name}.py"), run_name="__main__")
        return json.loads(result.read_text("utf-8")) if result.exists() else []

    return run


@pytest.fixture
def server() -> Iterator[SimulatedServer]:
    with SimulatedServer(Behaviour()) as server:
        yield server
