"""Work that is written to wait for a model, done at once where the model never lets it wait."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from conspectus.errors import NotSupported
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel

T = TypeVar("T")


def run_ready(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that nothing makes wait; NotSupported where something does."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise NotSupported("a ranking cannot wait for a language model here: use the method's asynchronous form")


def extractive(index: Index) -> Model:
    """Return the extractive model of an open index: the one that all who ask the index share, also from threads."""
    model: Model = index.derived.setdefault("extractive", ExtractiveModel.of_index(index))
    return model
