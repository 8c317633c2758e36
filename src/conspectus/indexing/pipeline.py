"""The order of the stages: documents in, an index out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, TypeVar

from conspectus.corrections import Entry
from conspectus.index import Index
from conspectus.indexing.chunk import chunk as cut
from conspectus.indexing.extract import Extracted, extract
from conspectus.models.base import Model, Tick, together
from conspectus.rows import Chunk, Community, Document, Failure, Report, Usage
from conspectus.runtime import paused_garbage_collection
from conspectus.settings import Settings
from conspectus.text.language import in_languages, languages_in

if TYPE_CHECKING:  # what comes after the extraction is imported while the first calls are waited for: see `_lexicon`
    from conspectus.indexing.describe import DescribedGraph
    from conspectus.indexing.graph_build import GraphBuild
    from conspectus.indexing.inverted_index import Arrays
    from conspectus.text.lexicon import Lexicon

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

    def watch(self, usage: Callable[[], Usage]) -> None:
        """Show from now on what `usage` returns: what the run took of servers so far."""
        ...


class Silent:
    """Shows nothing."""

    shown = False

    def stage(self, name: str, total: int) -> Tick:
        return lambda: None

    def note(self, text: str) -> None: ...

    def watch(self, usage: Callable[[], Usage]) -> None: ...


ModelFor = Callable[[Sequence[Document], "Lexicon"], Model]
"""Makes the model of a build that has to know the corpus."""
Check = Callable[["DescribedGraph", Sequence[Community], str], None]
"""Is given the graph, its communities and the language when extraction is done; may raise to stop there."""


async def build_index(
    documents: Sequence[Document],
    failures: Sequence[Failure],
    model: Model | ModelFor,
    settings: Settings,
    progress: Progress | None = None,
    check: Check | None = None,
    before: Index | None = None,
    corrections: Sequence[Entry] = (),
) -> Index:
    """Run every stage on the documents that were read; `failures` are those of the others.

    All but the communities depends on the documents and on what people corrected alone. Communities of an index
    `before` are carried on.

    Raises Unusable where nothing more can be asked of the model.
    """
    show = progress or Silent()
    with paused_garbage_collection():
        documents = in_languages(documents, settings.language)
        chunks = cut(documents, settings.chunk)
        language, *_ = languages = languages_in(documents, settings.language)
        show.stage("lexicon", 0)
        aside = not callable(model)
        reading = _beside(lambda: _lexicon(documents, settings), aside)
        performer = model(documents, await reading) if callable(model) else model
        tick = show.stage("extract", len(chunks))
        found = await extract(chunks, performer, settings.extract, language, tick)
        found.check(performer.name)
        lexicon = await reading
        paths = {document.id: document.path or document.title for document in documents}
        unread = [replace(failure, document=paths[failure.document]) for failure in found.failures]
        drawn = _drawn(documents, chunks, found, settings, before, show, corrections, language)
        graph, communities = drawn.graph, drawn.communities
        documents, chunks = [*documents, *drawn.said.documents], [*chunks, *drawn.said.chunks]
        del found
        if check:
            check(graph, communities, language)
        lexical = _beside(lambda: _arrays(documents, chunks, lexicon, drawn, settings), aside)
        reports, unwritten = await _describe_and_report(graph, communities, performer, settings, language, show)
        show.stage("lexical", 0)
        words, arrays = await lexical
    return Index(
        documents=documents,
        chunks=chunks,
        entities=graph.entities.rows,
        relationships=graph.relationships.rows,
        triples=drawn.triples,
        claims=graph.claims.rows,
        communities=communities,
        reports=reports,
        joins=drawn.decided.joins,
        failures=[*failures, *unread, *drawn.decided.failures, *graph.failures, *unwritten],
        words=words,
        arrays=arrays,
        settings={**settings.model_dump(mode="json", by_alias=True), "language": ",".join(languages)},
    )


HEAD_START = 0.2
"""Seconds in which the first calls go out before other work takes the processor."""
SWITCH_SECONDS = 0.0005
LATER = ("indexing.graph_build", "indexing.reports", "indexing.inverted_index", "indexing.sentence_graph", "storage")
"""Modules that take long to import, and are not needed before the chunks are read."""


def _beside(work: Callable[[], T], aside: bool) -> Awaitable[T]:
    """Do work of the processor while calls are waited for; where there are none to wait for, when it is asked for."""

    async def later() -> T:
        await asyncio.sleep(HEAD_START)
        with _often_switching():
            return await asyncio.to_thread(work)

    async def now() -> T:
        return work()

    return asyncio.ensure_future(later() if aside else now())


def _lexicon(documents: Sequence[Document], settings: Settings) -> Lexicon:
    """Read the lexicon, and before it import what the stages after the extraction stand on."""
    for name in LATER:
        import_module(f"conspectus.{name}")
    from conspectus.text.lexicon import read_lexicon

    return read_lexicon(documents, settings.extract.entity_types)


def _drawn(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    found: Extracted,
    settings: Settings,
    before: Index | None,
    show: Progress,
    corrections: Sequence[Entry],
    language: str,
) -> GraphBuild:
    from conspectus.indexing.graph_build import build_graph

    return build_graph(
        documents, chunks, found, settings, before, lambda name: show.stage(name, 0), corrections, language
    )


def _arrays(
    documents: Sequence[Document], chunks: Sequence[Chunk], lexicon: Lexicon, drawn: GraphBuild, settings: Settings
) -> tuple[tuple[str, ...], Arrays]:
    """Return the vocabulary, and all arrays that queries look words and names up in."""
    from conspectus.indexing.apply_corrections import drop_names
    from conspectus.indexing.inverted_index import inverted_indexes
    from conspectus.indexing.sentence_graph import sentence_entity_graph, walk_terms

    if drawn.said.documents:  # what is found in the other documents does not depend on it
        lexicon = _lexicon(documents, settings)
    words, arrays = inverted_indexes(documents, chunks, lexicon, drawn.merged, drawn.names)
    number = {word: i for i, word in enumerate(words)}
    arrays |= walk_terms(documents, lexicon.sentences, lexicon.term_starts, lexicon.term_ids, number)
    arrays |= sentence_entity_graph(documents, chunks, lexicon.sentences, lexicon.texts, lexicon.vocabulary)
    return words, drop_names(arrays, drawn.decided.gone)


async def _describe_and_report(
    graph: DescribedGraph,
    communities: Sequence[Community],
    model: Model,
    settings: Settings,
    language: str,
    show: Progress,
) -> tuple[list[Report], list[Failure]]:
    """Do both at once: each report waits only for its own descriptions and for the reports of its parts."""
    from conspectus.indexing.describe import describe
    from conspectus.indexing.reports import CommunityContextBuilder, priorities, reported, write_reports

    entities, relationships, claims = graph.entities.rows, graph.relationships.rows, graph.claims.rows
    large = reported(communities, settings.reports)
    gatherer = CommunityContextBuilder(communities, entities, relationships, settings.reports.context_tokens, claims)
    try:
        await describe(graph, model, language, priorities(large, gatherer), show.stage("describe", 0))
        tick = show.stage("reports", len(large))
        writing = write_reports(communities, gatherer, model, settings.reports, language, tick, graph.ready)
        written = asyncio.ensure_future(writing)
        await together([written, graph.done()])
    except BaseException:
        graph.cancel()  # or else they would go on to ask a server whose connection is closed, and say so at the end
        raise
    return written.result()


@contextmanager
def _often_switching() -> Generator[None]:
    """Let a thread that works give way sooner, so that replies are not kept waiting by it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
