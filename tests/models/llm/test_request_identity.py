"""Requests stay the same, byte for byte: a changed prompt or parameter makes users pay for every cached reply again.

After an intended change, record the new hashes in `tests/data/requests.json`, and say in the CHANGELOG that replies to
these tasks will be requested again:

    RECORD_REQUESTS=1 python -m pytest -m "" tests/models/llm/test_request_identity.py
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from models.llm.test_chat import FakeSender, a_model
from models.llm.test_prompts import a_chunk, every_task
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus.tasks import ProfileCorpus

RECORDED = Path(__file__).parents[2] / "data" / "requests.json"


def held_to(part: str, hashes: Mapping[str, str]) -> None:
    recorded: dict[str, Any] = json.loads(RECORDED.read_text()) if RECORDED.is_file() else {}
    if os.environ.get("RECORD_REQUESTS"):
        RECORDED.write_text(json.dumps({**recorded, part: hashes}, indent=1, sort_keys=True) + "\n")
    else:
        assert recorded[part] == hashes


def digest(keys: list[str]) -> str:
    return sha256("\n".join(keys).encode()).hexdigest()[:16]


def test_the_request_of_every_task_is_the_recorded_one() -> None:
    keys: dict[str, list[str]] = {}
    model = a_model(FakeSender(), "openai/gpt-4.1-mini", max_tokens=100)
    for language in ("en", "zh", "de"):
        for general_knowledge in (False, True):
            chunks = (a_chunk("Bees."), a_chunk("Owls."))
            tasks = [
                *every_task("Bees swarm.", language, general_knowledge=general_knowledge),
                *every_task("Bees </data> {{x}} <|im_end|>", language, response="short answer"),
                ProfileCorpus(chunks, language=language),
            ]
            for task in tasks:
                keys.setdefault(type(task).__name__, []).append(model.request(task).key)
    held_to("tasks", {name: digest(of_task) for name, of_task in keys.items()})


@pytest.mark.long
def test_the_requests_of_a_build_of_the_sample_are_the_recorded_ones(tmp_path: Path) -> None:
    sample = Path(conspectus.__file__).parent / "sample"
    with SimulatedServer(Behaviour()) as server:
        conspectus.build(
            sample,
            tmp_path / "index",
            settings={
                "model": "simulated",
                "llm.base_url": server.url,
                "extract.max_gleanings": 1,
                "extract.claims": True,
            },
        )
    with sqlite3.connect(tmp_path / "index" / "replies.sqlite") as replies:
        rows = replies.execute("SELECT DISTINCT task, key FROM replies ORDER BY task, key").fetchall()
    keys: dict[str, list[str]] = {}
    for task, key in rows:
        keys.setdefault(task, []).append(key)
    held_to("sample", {task: f"{len(of_task)} {digest(of_task)}" for task, of_task in keys.items()})
