"""A new task is a dataclass; to use it, only a function that performs it has to be registered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from scripted import ScriptedModel
from simulated_server import Behaviour, SimulatedServer

from conspectus.errors import NotSupported
from conspectus.index import Index
from conspectus.models.base import performs
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.llm.model import open_session
from conspectus.rows import Chunk
from conspectus.settings import ModelSettings, Settings
from conspectus.tasks import Task
from conspectus.tasks.base import Context, task_label


@dataclass(frozen=True)
class CountWords(Task[int]):
    """Count the words of a text."""

    text: str


@dataclass(frozen=True)
class CountTwice(CountWords):
    """A task for which no function is registered."""


@performs(CountWords)
def count_words(task: CountWords) -> int:
    return len(task.text.split())


@dataclass(frozen=True)
class CountDocuments(Task[int]):
    """Count the documents of an index."""


@performs(CountDocuments)
def count_documents(task: CountDocuments, index: Index) -> int:
    return len(index.documents)


async def test_the_extractive_model_performs_a_task_by_the_function_that_is_registered_for_it() -> None:
    assert await ExtractiveModel().perform(CountWords("Bees swarm in May.")) == 4
    assert await ExtractiveModel.of_index(Index()).perform(CountDocuments()) == 0


async def test_a_task_that_nothing_performs_needs_a_language_model() -> None:
    with pytest.raises(NotSupported, match="CountTwice"):
        await ExtractiveModel().perform(CountTwice("Bees."))


async def test_the_scripted_model_replies_to_a_new_task() -> None:
    model = ScriptedModel({CountWords: [7]})

    assert await model.perform(CountWords("Bees.")) == 7
    assert model.seen(CountWords).text == "Bees."


# With a language model: a pydantic model for the reply, and a prompt of two lines


class Season(BaseModel):
    name: str
    months: list[int]


@dataclass(frozen=True)
class NameSeason(Task[Season]):
    """Return the season of an event by the sources."""

    event: str
    context: Context


@performs(NameSeason)
def name_season(task: NameSeason) -> Season:
    return Season(name="spring" if "May" in task.context.text else "unknown", months=[5])


def written(body: Any, *_: Any) -> str:
    shown = body[-1]["content"]
    assert "swarming" in shown
    return f'Sure! {{"name": "{"spring" if "Bees swarm in May." in shown else "none"}", "months": [4, 5],}}'


async def test_a_new_task_with_a_reply_model_and_two_prompt_lines_works_with_every_model(
    tmp_path: Path,
) -> None:
    (tmp_path / "NameSeason.md").write_text(
        "# Task: NameSeason\n<!-- user -->\nSeason of {{event}}?\n{{data}}\n"
    )
    text = "Bees swarm in May."
    task = NameSeason("swarming", Context(sources=(Chunk("c", 0, "d", 0, len(text), text, 5),)))

    with SimulatedServer(Behaviour(), reply=written) as server:
        settings = Settings(model="simulated", llm=ModelSettings(base_url=server.url, prompts=str(tmp_path)))
        async with open_session(settings, None) as session:
            request = session.model.request(task)
            reply = await session.model.perform(task)

    assert request.schema is not None
    assert request.schema["required"] == ["name", "months"]
    assert reply == Season(name="spring", months=[4, 5])
    assert await ExtractiveModel().perform(task) == Season(name="spring", months=[5])
    assert await ScriptedModel({NameSeason: [reply]}).perform(task) == reply


async def test_a_task_whose_reply_no_language_model_can_write_is_refused(tmp_path: Path) -> None:
    settings = Settings(model="simulated", llm=ModelSettings(base_url="http://127.0.0.1:9"))
    async with open_session(settings, None) as session:
        with pytest.raises(NotSupported, match="CountWords"):
            session.model.request(CountWords("Bees."))


def test_what_people_read_for_a_task_is_its_label_or_its_name() -> None:
    assert task_label("CountWords") == "count words"
    assert task_label("ExtractGraph") == "extract entities"
