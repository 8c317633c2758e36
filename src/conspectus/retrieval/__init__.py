"""The methods of retrieval and answering: one file each, each declared by one decorator.

    @ranking("bm25", help="the words of the question")
    def rank(question: str, index: Index, settings: Settings) -> list[Hit]: ...

    @method("drift", help="follow-up questions over reports", reads={"reports", "graph", "chunks"}, no_preview="...")
    async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer: ...

The declaration holds everything that depends on a method: `--method` and its help, and how `--where` and previews treat
the method, are read from it. A method of this package also has an entry in `MODULES`, so that its file, and the
libraries that it needs, are imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any, Literal, TypeVar, cast

from conspectus.errors import NotSupported
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.base import answer_from, extractive, most_chunks, overfull, run_ready
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings

Answering = Callable[[str, Index, Model, Settings], Awaitable[Answer]]
Ranking = Callable[[str, Index, Settings], list[Hit]]
AskingRanking = Callable[[str, Index, Model, Settings], Awaitable[list[Hit]]]
"""A ranking that has a model perform tasks, such as naming the entities of a question."""
Reads = Literal["reports", "graph", "chunks"]
"""What a method takes its context from; a closed-book method reads nothing."""
Needs = Literal["vectors", "model"]
"""What a method requires: vectors of the chunks, or a language model."""
F = TypeVar("F", bound=Callable[..., Any])

MODULES: Mapping[str, str] = {
    "global": "global_",
    "local": "local",
    "rollup": "rollup",
    "drilldown": "drilldown",
    "drift": "drift",
    "source-summary": "global_",
    "bm25": "bm25",
    "vector": "vector",
    "hybrid": "vector",
    "semantic-search": "vector",
    "mixed": "mixed",
    "walk": "walk",
    "hipporag": "hippo",
    "hipporag2": "hippo",
    "combined": "hippo",
    "ircot": "ircot",
    "tog": "tog",
    "tog1": "tog",
    "raptor": "baselines",
    "propositions": "baselines",
    "direct": "baselines",
    "cot": "baselines",
    "cot-sc": "baselines",
}
"""The module of each method of this package, in the order in which methods are listed."""


@dataclass(frozen=True)
class Method:
    """A method of answering with its declaration; calling it answers a question."""

    name: str
    help: str
    """What the method does, in a few words that complete a line of `--help`."""
    answer: Answering
    rank: Ranking | None
    """How the method ranks chunks, for `search`; None if it ranks none."""
    rank_with: AskingRanking | None
    """The same ranking with a model, which performs the ranking's tasks, if it has any."""
    reads: frozenset[Reads]
    needs: frozenset[Needs]
    no_preview: str
    """Why the context cannot be shown without answering; empty if it can."""

    async def __call__(self, question: str, index: Index, model: Model, settings: Settings) -> Answer:
        """Answer a question; rankings return as many chunks as the window may hold, regardless of `search.k`.

        Raises NotSupported if the method needs a language model and `model` is not one.
        """
        if "model" in self.needs and not model.generative:
            raise NotSupported(f"{self.name} asks for what a language model knows: name one with model=NAME")
        return await self.answer(question, index, model, with_depth(settings, most_chunks(settings.answer)))


FEW_HITS = 20
"""Chunks that are ranked first for an answer: more than a window of 8,000 tokens holds at 450 tokens a chunk."""


def with_depth(settings: Settings, k: int) -> Settings:
    """Return settings with which rankings return `k` chunks."""
    return settings.model_copy(update={"search": settings.search.model_copy(update={"k": k})})


_registered: dict[str, Method] = {}


class Methods(Mapping[str, Method]):
    """All methods by name; the module of a method is imported when the method is looked up."""

    def __getitem__(self, name: str) -> Method:
        if name not in _registered and name in MODULES:
            import_module(f"{__name__}.{MODULES[name]}")
        return _registered[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**MODULES, **_registered})

    def __len__(self) -> int:
        return len({**MODULES, **_registered})


class Rankings(Mapping[str, Ranking]):
    """The rankings of the methods that rank chunks, by name."""

    def __getitem__(self, name: str) -> Ranking:
        if (rank := METHODS[name].rank) is None:
            raise KeyError(name)
        return rank

    def __iter__(self) -> Iterator[str]:
        return (name for name in METHODS if METHODS[name].rank is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


METHODS = Methods()
RANKINGS = Rankings()


def method(
    name: str,
    *,
    help: str,
    reads: Collection[Reads] = ("chunks",),
    needs: Collection[Needs] = (),
    rank: Ranking | AskingRanking | None = None,
    no_preview: str = "",
) -> Callable[[F], F]:
    """Register an async function (question, index, model, settings) -> Answer as a method, and return it unchanged.

    `rank` is its ranking of chunks. An async ranking also receives the model, after the index; in searches, the
    extractive model performs its tasks.
    """
    alone, asking = _both_forms(rank) if rank else (None, None)

    def register(answer: F) -> F:
        reading, needing = frozenset(reads), frozenset(needs)
        _registered[name] = Method(name, help, answer, alone, asking, reading, needing, no_preview)
        return answer

    return register


def _both_forms(rank: Ranking | AskingRanking) -> tuple[Ranking, AskingRanking]:
    """Return two forms of a ranking: one that takes no model, and one that takes a model."""
    if iscoroutinefunction(rank):

        def alone(question: str, index: Index, settings: Settings) -> list[Hit]:
            return run_ready(rank(question, index, extractive(index), settings))

        return alone, rank
    searched = cast("Ranking", rank)

    async def asking(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
        return searched(question, index, settings)

    return searched, asking


def ranking(
    name: str, *, help: str, reads: Collection[Reads] = ("chunks",), needs: Collection[Needs] = ()
) -> Callable[[F], F]:
    """Register a function (question, index, settings) -> hits as a method that answers from the best chunks.

    An async function also receives the model, as in `method`. An answer uses as many chunks as its window holds
    (`answer.context_tokens`); `search.k` applies to searches.
    """

    def register(rank: F) -> F:
        _, asking = _both_forms(rank)

        async def answer(question: str, index: Index, model: Model, given: Settings) -> Answer:
            # a few chunks usually fill a window; a ranking that asks a model is not run twice
            first = with_depth(given, min(FEW_HITS, given.search.k))
            hits = await asking(question, index, model, given if iscoroutinefunction(rank) else first)
            if len(hits) == FEW_HITS and not overfull((index.chunk_of[h.chunk] for h in hits), given.answer):
                hits = await asking(question, index, model, given)
            return await answer_from(hits, question, index, model, given, method=name)

        method(name, help=help, reads=reads, needs=needs, rank=rank)(answer)
        return rank

    return register


def unregister(name: str) -> None:
    """Remove a method that was registered outside of this package."""
    del _registered[name]
