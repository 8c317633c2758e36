"""Alias decisions by a model: over HTTP, budgeted, cached, estimated, recorded, and undone by a correction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llm_corpus import settings
from making import a_document, whole_chunk
from scripted import ScriptedModel
from simulated_server import Behaviour, SimulatedServer

import conspectus
from conspectus.corrections import Split
from conspectus.errors import BadReply, BudgetReached
from conspectus.indexing.graph import join_by_model, resolve
from conspectus.models.llm.prompts import Prompts
from conspectus.rows import AliasDecision
from conspectus.settings import ResolveSettings
from conspectus.tasks import ConfirmJoins, Extraction, FoundEntity

TEXTS = [
    "Ada Byrne met Lune Tidal Works in Kell. Ada Byrne paid Lune Tidal Works.",
    "Bo Quill sued Lune Tide Works. Bo Quill met Ada Byrne.",
]
DOCUMENTS = [{"text": text, "id": f"p{i}"} for i, text in enumerate(TEXTS)]
JOIN = ("Lune Tide Works", "Lune Tidal Works", "model")


def options(server: SimulatedServer, **more: Any) -> dict[str, Any]:
    types = ["organization"]
    return settings(server.url, resolve__resolve="model", extract__entity_types=types, **more)


def built(folder: Path, server: SimulatedServer, **more: Any) -> conspectus.Built:
    return conspectus.build(documents=DOCUMENTS, folder=folder, settings=options(server, **more))


def made_by_model(joins: Any) -> list[tuple[str, str, str]]:
    return [(j.name, j.into, j.rule) for j in joins if j.rule == "model"]


def test_a_join_is_recorded_cached_estimated_and_undone_by_a_correction(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        estimate = conspectus.estimate(documents=DOCUMENTS, folder=tmp_path, settings=options(server))
        index = built(tmp_path, server).index
        again = conspectus.build(
            documents=DOCUMENTS, folder=tmp_path, settings=options(server), fresh=True
        ).index
        conspectus.correct(tmp_path, Split("Lune Tidal Works", "Lune Tide Works"))
        undone = built(tmp_path, server).index

    assert made_by_model(index.joins) == [JOIN]
    assert "Lune Tide Works" in next(e.aliases for e in index.entities if e.name == "Lune Tidal Works")
    assert index.usage["ConfirmJoins"].calls == 1
    assert again.usage["ConfirmJoins"].calls == 0
    assert "ConfirmJoins" in {row.task for row in estimate.tasks}
    assert made_by_model(undone.joins) == []
    assert {"Lune Tide Works", "Lune Tidal Works"} <= {e.name for e in undone.entities}


def test_a_budget_that_is_spent_stops_before_names_are_compared(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server, pytest.raises(BudgetReached):
        built(tmp_path, server, llm__budget_tokens=1900)


def test_without_the_setting_no_model_is_asked(tmp_path: Path):
    with SimulatedServer(Behaviour()) as server:
        index = conspectus.build(documents=DOCUMENTS, folder=tmp_path, settings=settings(server.url)).index

    assert "ConfirmJoins" not in index.usage


async def joins_of(
    *names: tuple[str, str], reply: Any, embed: Any = None
) -> tuple[list[AliasDecision], list[Any], ScriptedModel]:
    documents = [a_document("text", 0)]
    graph = Extraction(tuple(FoundEntity(name, kind, f"{name} is here.") for name, kind in names))
    chunks = [whole_chunk(documents[0])]
    resolved = resolve(chunks, [graph], documents, ResolveSettings(resolve="model"))
    model = ScriptedModel({ConfirmJoins: [reply]})
    failures = await join_by_model(resolved, [(chunks[0], graph)], model, embed=embed)
    return resolved.joins, failures, model


async def test_only_names_of_one_type_that_are_alike_are_compared():
    town, mill, bank = (
        ("Kell Town", "location"),
        ("Kell Town Mill", "organization"),
        ("Kell Towne", "location"),
    )
    joins, _, model = await joins_of(town, mill, bank, ("Rook", "location"), reply=(1,))

    shown = "Kell Town (location): Kell Town is here.", "Kell Towne (location): Kell Towne is here."
    assert model.seen(ConfirmJoins).pairs == (shown,)
    assert made_by_model(joins) == [("Kell Town", "Kell Towne", "model")]


async def test_vectors_find_names_that_share_no_letters():
    def embed(texts: Any) -> Any:
        return np.array([[1.0, 0.0] if "Rook" not in text else [0.0, 1.0] for text in texts], np.float32)

    joins, _, _ = await joins_of(
        ("Kell", "boat"), ("Moos", "boat"), ("Rook", "boat"), reply=(1,), embed=embed
    )

    assert made_by_model(joins) == [("Kell", "Moos", "model")]


async def test_a_failed_comparison_is_a_failure_of_its_stage_and_joins_nothing():
    joins, failures, _ = await joins_of(("Kell Towne", "boat"), ("Kell Town", "boat"), reply=BadReply("x"))

    assert made_by_model(joins) == []
    assert [failure.stage for failure in failures] == ["resolve"]


async def test_numbers_of_no_pair_join_nothing():
    joins, failures, _ = await joins_of(("Kell Towne", "boat"), ("Kell Town", "boat"), reply=(7,))

    assert not made_by_model(joins)
    assert not failures


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_prompt_shows_each_pair_on_a_numbered_line(language: str):
    task = ConfirmJoins((("Kell (boat): a\nb", "Moos (boat): c"), ("x", "y")), language=language)

    assert (
        Prompts().render(task)[-1].content
        == "<data>\n1. Kell (boat): a b <> Moos (boat): c\n2. x <> y\n</data>"
    )
