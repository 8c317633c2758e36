"""ChatModel, the sender and a server with faults: the faults do not change the replies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from simulated_server import Behaviour, SimulatedServer

from conspectus.models.llm.model import ChatModel
from conspectus.models.llm.sender import open_sender
from conspectus.rows import Chunk, Entity
from conspectus.settings import ModelSettings, Settings
from conspectus.tasks import (
    AnswerFromContext,
    AnyMissed,
    ExtractGraph,
    Extraction,
    GleanMore,
    Turn,
    WriteReport,
)
from conspectus.tasks.base import Context

TEXT = (
    "Ada Byrne met Bo Quill in Kell on Monday. Bo Quill owns Lune Mills with Dora Pask of Harbour Office. "
    "The Harbour Office sold Rook Barge {n} to Ada Byrne, and Vera Stone of Kell Council wrote to Lune Mills."
)
CHUNKS = [Chunk(f"c{n}", n, "d", 0, 10, TEXT.format(n=n), 60) for n in range(20)]
TYPES = ("person", "organization", "location")


async def everything(folder: Path, behaviour: Behaviour, **llm: Any) -> list[Any]:
    """Extract, glean, report and answer through a server with a given behaviour; return all replies."""
    with SimulatedServer(behaviour) as server:
        settings = Settings(model="openai/gpt-4.1-mini", llm=ModelSettings(base_url=server.url, **llm))
        async with open_sender(settings.llm, folder) as sender:
            model = ChatModel(sender, settings)
            tasks = [ExtractGraph(chunk, TYPES) for chunk in CHUNKS]
            graphs = await model.perform_all(tasks)
            assert all(isinstance(graph, Extraction) for graph in graphs), graphs
            turns = [Turn(task, graph) for task, graph in zip(tasks, graphs, strict=True)]
            missed = await model.perform_all([AnyMissed(turn) for turn in turns])
            gleaned = await model.perform_all([GleanMore(turn) for turn in turns])
            evidence = Context(entities=(Entity("e", 70, "Ada Byrne", "person", "Ada Byrne met Bo Quill."),))
            report = await model.perform(WriteReport(evidence))
            pieces = [
                piece async for piece in model.stream(AnswerFromContext("Who met Ada Byrne?", evidence))
            ]
    return [graphs, missed, gleaned, report, "".join(pieces)]


@pytest.fixture
async def sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    (tmp_path / "sound").mkdir()
    return await everything(tmp_path / "sound", Behaviour())


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour(cuts=0.1, errors=0.1),
        Behaviour(malformed=0.1, garbage=0.05),
        Behaviour(refuses=("json_schema", "logit_bias")),
        Behaviour(refuses=("json_schema", "json_object")),
        Behaviour(refuses=("stream",)),
        Behaviour(thinking=True),
    ],
    ids=["cut and failing", "malformed", "no schema or bias", "text only", "no streaming", "thinking"],
)
async def test_faults_do_not_show_in_the_replies(
    behaviour: Behaviour, sound: list[Any], tmp_path: Path
) -> None:
    (tmp_path / "faulty").mkdir()

    assert await everything(tmp_path / "faulty", behaviour) == sound


async def test_references_reach_the_reader_in_the_numbers_of_the_index(sound: list[Any]) -> None:
    assert "[Data: Entities (70)]" in sound[3].findings[0].explanation
    assert "[Data: Entities (70)]" in sound[4]
