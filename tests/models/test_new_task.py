"""A new task is a dataclass; every model performs it with nothing else registered but what performs it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from conspectus.errors import NotSupported
from conspectus.index import Index
from conspectus.models.base import performs
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.scripted import ScriptedModel
from conspectus.tasks import Task


@dataclass(frozen=True)
class CountWords(Task[int]):
    """Count the words of a text."""

    text: str


@dataclass(frozen=True)
class CountTwice(CountWords):
    """A task that nothing performs."""


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
