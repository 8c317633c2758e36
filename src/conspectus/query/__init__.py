"""The methods of answering and ranking, one file each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from conspectus.errors import UsageError
from conspectus.models.base import Model
from conspectus.query import (
    bm25,
    global_,
    hippo,
    hybrid,
    ircot,
    knowing,
    local,
    propositions,
    raptor,
    source_summary,
    tog,
    vector,
    walk,
)
from conspectus.query.settled import extractive, settled
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
    "hippo": hippo.answer,
    "ircot": lambda question, index, model, settings: ircot.answer(question, index, model, settings, ranker(settings)),
    "tog": tog.answer,
    "tog1": tog.answer_on_graph,
    "raptor": raptor.answer,
    "propositions": propositions.answer,
    "direct": knowing.direct,
    "cot": knowing.cot,
    "cot-sc": knowing.cot_sc,
}
"""Methods that answer, by name."""

RANKINGS: dict[str, Ranking] = {
    "bm25": lambda question, index, settings: bm25.rank(question, index, settings.search),
    "vector": vector.rank,
    "hybrid": hybrid.rank,
    "walk": walk.rank,
    "hippo": hippo.rank,
    "ircot": lambda question, index, settings: settled(
        ircot.rank_with(question, index, extractive(index), settings, ranker(settings))
    ),
    "tog": lambda question, index, settings: settled(tog.rank_with(question, index, extractive(index), settings)),
    "raptor": raptor.rank,
    "propositions": propositions.rank,
}
"""Methods that rank chunks, by name."""


def ranker(settings: Settings) -> Ranking:
    """Return the ranking that `ircot` goes around; UsageError where there is none of that name."""
    name = settings.ircot.retriever
    if name not in RANKINGS or name == "ircot":
        raise UsageError(f"ircot goes around a method that ranks: {', '.join(r for r in RANKINGS if r != 'ircot')}; not {name!r}")
    return RANKINGS[name]
