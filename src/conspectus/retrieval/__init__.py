"""The methods of answering and ranking, one file each.

A method is imported when it is first used: some need libraries that take longer to import than others to answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings

Answering = Callable[[str, Index, Model, Settings], Awaitable[Answer]]
Ranking = Callable[[str, Index, Settings], list[Hit]]
T = TypeVar("T")


class Methods(Mapping[str, T], Generic[T]):
    """Methods by name; each is imported when it is taken."""

    def __init__(self, entries: Mapping[str, Callable[[], T]]) -> None:
        self._entries = entries

    def __getitem__(self, name: str) -> T:
        return self._entries[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries


def _at(module: str, function: str, part: str = "") -> Callable[[], Any]:
    """Return what imports a function of a module here; `part` names the only settings that it takes."""

    def load() -> Any:
        found = getattr(import_module(f"conspectus.retrieval.{module}"), function)
        if not part:
            return found

        def with_part(*given: Any) -> Any:
            return found(*given[:-1], getattr(given[-1], part))

        return with_part

    return load


def _around(function: str) -> Callable[[], Any]:
    """Return what imports the form of `ircot` that goes around the ranker of the settings."""

    def load() -> Any:
        found = getattr(import_module("conspectus.retrieval.ircot"), function)

        def with_ranker(*given: Any) -> Any:
            return found(*given, ranker(given[-1]))

        return with_ranker

    return load


METHODS: Methods[Answering] = Methods(
    {
        "global": _at("global_", "answer", "global_"),
        "local": _at("local", "answer", "local"),
        "rollup": _at("rollup", "answer"),
        "drilldown": _at("drilldown", "answer"),
        "drift": _at("drift", "answer"),
        "source-summary": _at("global_", "source_summary", "global_"),
        "bm25": _at("bm25", "answer", "search"),
        "vector": _at("vector", "answer"),
        "hybrid": _at("vector", "answer_hybrid"),
        "walk": _at("walk", "answer"),
        "hippo": _at("hippo", "answer"),
        "ircot": _around("answer"),
        "tog": _at("tog", "answer"),
        "tog1": _at("tog", "answer_on_graph"),
        "raptor": _at("raptor", "answer"),
        "propositions": _at("propositions", "answer"),
        "direct": _at("closed_book", "direct"),
        "cot": _at("closed_book", "chain_of_thought"),
        "cot-sc": _at("closed_book", "self_consistency"),
    }
)
"""Methods that answer, by name."""
READS_NOTHING = ("direct", "cot", "cot-sc")
"""Those that answer from no index."""

RANKINGS: Methods[Ranking] = Methods(
    {
        "bm25": _at("bm25", "rank", "search"),
        "vector": _at("vector", "rank"),
        "hybrid": _at("vector", "rank_hybrid"),
        "walk": _at("walk", "rank"),
        "hippo": _at("hippo", "rank"),
        "ircot": _around("rank"),
        "tog": _at("tog", "rank"),
        "raptor": _at("raptor", "rank"),
        "propositions": _at("propositions", "rank"),
    }
)
"""Methods that rank chunks, by name."""


def ranker(settings: Settings) -> Ranking:
    """Return the ranking that `ircot` goes around; UsageError where there is none of that name."""
    name = settings.ircot.retriever
    around = [method for method in RANKINGS if method != "ircot"]
    if name not in around:
        raise UsageError(f"ircot goes around a method that ranks: {', '.join(around)}; not {name!r}")
    return RANKINGS[name]
