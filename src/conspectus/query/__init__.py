"""The methods of answering and ranking, one file each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from conspectus.models.base import Model
from conspectus.query import bm25, global_, hybrid, local, source_summary, vector, walk
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tables import Index

Answering = Callable[[str, Index, Model, Settings], Awaitable[Answer]]
Ranking = Callable[[str, Index, Settings], list[Hit]]

METHODS: dict[str, Answering] = {
    "global": lambda question, index, model, settings: global_.answer(question, index, model, settings.global_),
    "local": lambda question, index, model, settings: local.answer(question, index, model, settings.local),
    "source-summary": lambda question, index, model, settings: source_summary.answer(
        question, index, model, settings.global_
    ),
    "bm25": lambda question, index, model, settings: bm25.answer(question, index, model, settings.search),
    "vector": vector.answer,
    "hybrid": hybrid.answer,
    "walk": walk.answer,
}
"""Methods that answer, by name."""

RANKINGS: dict[str, Ranking] = {
    "bm25": lambda question, index, settings: bm25.rank(question, index, settings.search),
    "vector": vector.rank,
    "hybrid": hybrid.rank,
    "walk": walk.rank,
}
"""Methods that rank chunks, by name."""
