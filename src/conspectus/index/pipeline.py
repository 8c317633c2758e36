"""The order of the stages: documents in, an index out."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol, TypeVar

from conspectus.index.chunk import chunk as cut
from conspectus.index.claims import merge_claims
from conspectus.index.communities import find_communities
from conspectus.index.describe import DescribedGraph, describe, undescribed
from conspectus.index.extract import extract
from conspectus.index.lexical import Arrays, lexical_arrays
from conspectus.index.merge import Merged, merge
from conspectus.index.reports import Gatherer, priorities, reported, write_reports
from conspectus.index.resolve import Names, resolve
from conspectus.index.triples import triples_of
from conspectus.models.base import Model, Tick, together
from conspectus.rows import Chunk, Community, Document, Failure, Report
from conspectus.settings import Settings
from conspectus.tables import Index
from conspectus.text.language import corpus_language
from conspectus.text.lexicon import Lexicon, read_lexicon

T = TypeVar("T")


class Progress(Protocol):
    """Shows how far a stage is."""

    @property
    def shown(self) -> bool:
        """Whether anybody looks, so that what is told is worth finding out."""
        ...

    def stage(self, name: str, total: int) -> Tick:
        """Open a stage of `total` pieces of work (0: unknown); the tick is called for each that is done."""
        ...

    def note(self, text: str) -> None:
        """Tell something on the way."""
        ...


class Silent:
    """Shows nothing."""

    shown = False

    def stage(self, name: str, total: int) -> Tick:
        return lambda: None

    def note(self, text: str) -> None: ...


ModelFor = Callable[[Sequence[Document], Lexicon], Model]
"""Makes the model of a build that has to know the corpus."""
Check = Callable[[DescribedGraph, Sequence[Community], str], None]
"""Is given the graph, its communities and the language when extraction is done; may raise to stop there."""


async def build_index(
    documents: Sequence[Document],
    failures: Sequence[Failure],
    model: Model | ModelFor,
    settings: Settings,
    progress: Progress | None = None,
    check: Check | None = None,
    before: Index | None = None,
) -> Index:
    """Run every stage on the documents that were read; `failures` are those of the others.

    All but the communities depends on the documents alone. Communities of an index `before` are carried on.

    Raises Unusable where nothing more can be asked of the model.
    """
    show = progress or Silent()
    with _no_collector():
        chunks = cut(documents, settings.chunk)
        language = corpus_language(documents, settings.language)
        show.stage("lexicon", 0)
        aside = not callable(model)
        reading = _beside(lambda: read_lexicon(documents, settings.extract.entity_types), aside)
        performer = model(documents, await reading) if callable(model) else model
        tick = show.stage("extract", len(chunks))
        found = await extract(chunks, performer, settings.extract, language, tick)
        lexicon = await reading
        show.stage("resolve", 0)
        names = resolve(chunks, found.graphs, documents, settings.resolve)
        merged = merge_claims(chunks, found.claims, names, merge(chunks, found.graphs, names))
        paths = {document.id: document.path or document.title for document in documents}
        unread = [replace(failure, document=paths[failure.document]) for failure in found.failures]
        triples = triples_of((c.id, graph.triples) for c, graph in zip(chunks, found.graphs, strict=True))
        del found
        show.stage("communities", 0)
        communities = find_communities(merged.entities, merged.relationships, settings.communities, chunks, before)
        graph = undescribed(merged)
        if check:
            check(graph, communities, language)
        lexical = _beside(lambda: _arrays(documents, chunks, lexicon, merged, names), aside)
        reports, unwritten = await _describe_and_report(graph, communities, performer, settings, language, show)
        show.stage("lexical", 0)
        words, arrays = await lexical
    return Index(
        documents=documents,
        chunks=chunks,
        entities=graph.entities.rows,
        relationships=graph.relationships.rows,
        triples=triples,
        claims=graph.claims.rows,
        communities=communities,
        reports=reports,
        joins=names.joins,
        failures=[*failures, *unread, *graph.failures, *unwritten],
        words=words,
        arrays=arrays,
        settings=settings.model_dump(mode="json", by_alias=True),
    )


HEAD_START = 0.05
"""Seconds in which the first calls go out before other work takes the processor."""


def _beside(work: Callable[[], T], aside: bool) -> Awaitable[T]:
    """Do work of the processor while calls are waited for; where there are none to wait for, when it is asked for."""

    async def later() -> T:
        await asyncio.sleep(HEAD_START)
        return await asyncio.to_thread(work)

    async def now() -> T:
        return work()

    return asyncio.ensure_future(later() if aside else now())


def _arrays(
    documents: Sequence[Document], chunks: Sequence[Chunk], lexicon: Lexicon, merged: Merged, names: Names
) -> tuple[tuple[str, ...], Arrays]:
    """Return the vocabulary, and all arrays that queries look words and names up in."""
    from conspectus.index.incidence import walk_arrays, walk_terms  # with scipy, while calls are waited for

    words, arrays = lexical_arrays(documents, chunks, lexicon, merged, names)
    number = {word: i for i, word in enumerate(words)}
    arrays |= walk_terms(documents, lexicon.sentences, lexicon.term_starts, lexicon.term_ids, number)
    arrays |= walk_arrays(documents, chunks, lexicon.sentences, lexicon.texts, lexicon.vocabulary)
    return words, arrays


async def _describe_and_report(
    graph: DescribedGraph,
    communities: Sequence[Community],
    model: Model,
    settings: Settings,
    language: str,
    show: Progress,
) -> tuple[list[Report], list[Failure]]:
    """Do both at once: each report waits only for its own descriptions and for the reports of its parts."""
    entities, relationships, claims = graph.entities.rows, graph.relationships.rows, graph.claims.rows
    large = reported(communities, settings.reports)
    urgent = priorities(large, len(entities), len(relationships))
    await describe(graph, model, language, urgent, show.stage("describe", 0))
    gatherer = Gatherer(communities, entities, relationships, settings.reports.context_tokens, claims)
    tick = show.stage("reports", len(large))
    writing = write_reports(communities, gatherer, model, settings.reports, language, tick, graph.ready)
    written = asyncio.ensure_future(writing)
    await together([written, graph.done()])
    return written.result()


@contextmanager
def _no_collector() -> Generator[None]:
    """Hold back Python's cycle collector: a build makes a million rows that live, and it would visit them all often."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
