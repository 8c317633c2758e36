"""The order of the stages: documents in, an index out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from conspectus import tokens
from conspectus.algorithms.bm25 import postings
from conspectus.community_context import CommunityContextBuilder
from conspectus.corrections import Entry
from conspectus.index import Index
from conspectus.indexing.added_facts import FactDocument, facts_as_document
from conspectus.indexing.apply_corrections import apply_to_claims, apply_to_graph, apply_to_triples, drop_names
from conspectus.indexing.chunk import chunk as cut
from conspectus.indexing.communities import find_communities
from conspectus.indexing.correct import decide
from conspectus.indexing.correction_results import CorrectionResult
from conspectus.indexing.describe import DescribedGraph, describe, undescribed
from conspectus.indexing.extract import Extracted, extract
from conspectus.indexing.inverted_index import Arrays, chunk_terms, inverted_indexes
from conspectus.indexing.merge import Merged, merge, merge_claims
from conspectus.indexing.reports import priorities, reported, write_reports
from conspectus.indexing.resolve import Names, resolve
from conspectus.indexing.sentence_graph import sentence_entity_graph, walk_terms
from conspectus.indexing.triples import triples_of
from conspectus.models.base import Model, Tick, together
from conspectus.rows import Chunk, Community, Document, Failure, Report, Triple, Usage, content_id
from conspectus.runtime import paused_garbage_collection
from conspectus.settings import Settings
from conspectus.text.language import in_languages, languages_in
from conspectus.text.lexicon import Lexicon, read_lexicon
from conspectus.text.sentence_table import SentenceTable, find_sentences
from conspectus.text.sentence_terms import sentence_terms
from conspectus.text.vocabulary import read_vocabulary

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
        drawn = build_graph(
            documents, chunks, found, settings, before, lambda name: show.stage(name, 0), corrections, language
        )
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
    return read_lexicon(documents, settings.extract.entity_types)


def _arrays(
    documents: Sequence[Document], chunks: Sequence[Chunk], lexicon: Lexicon, drawn: GraphBuild, settings: Settings
) -> tuple[tuple[str, ...], Arrays]:
    """Return the vocabulary, and all arrays that queries look words and names up in."""
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


@dataclass(frozen=True)
class GraphBuild:
    """The graph, its elements still to be described."""

    decided: CorrectionResult
    """What people corrected of it."""
    said: FactDocument
    """What they added that no document says."""
    merged: Merged
    triples: list[Triple]
    communities: list[Community]
    graph: DescribedGraph

    @property
    def names(self) -> Names:
        """Which entity each name stands for."""
        return self.decided.names


def build_graph(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    found: Extracted,
    settings: Settings,
    before: Index | None = None,
    stage: Callable[[str], object] = str,
    corrections: Sequence[Entry] = (),
    language: str = "en",
) -> GraphBuild:
    """Resolve the names that were found in the chunks, correct and merge what is one, and divide the graph.

    Communities of an index `before` are carried on. `stage` is told the name of each stage.
    """
    stage("resolve")
    resolved = resolve(chunks, found.graphs, documents, settings.resolve)
    decided = decide(corrections, resolved, chunks, found.graphs, documents)
    said = facts_as_document(decided.facts, len(documents), len(chunks), language)
    merged = apply_to_graph(merge(chunks, found.graphs, decided.names), decided, said)
    merged = merge_claims(chunks, apply_to_claims(chunks, found.claims, decided), decided.names, merged)
    of_chunks = zip(chunks, (graph.triples for graph in found.graphs), strict=True)
    triples = triples_of(apply_to_triples(of_chunks, decided, said))
    stage("communities")
    every = [*chunks, *said.chunks]
    communities = find_communities(merged.entities, merged.relationships, settings.communities, every, before)
    return GraphBuild(decided, said, merged, triples, communities, undescribed(merged))


def index_passages(documents: Sequence[Document], settings: Settings) -> Index:
    """Return the index of documents, each one chunk, over which every ranking works that needs no
    entities."""
    documents = in_languages(documents, settings.language)
    chunks = [_whole_chunk(document) for document in documents]
    table, texts = find_sentences(documents)
    languages = [documents[i].language for i in table.document.tolist()]
    vocabulary = read_vocabulary(texts, languages)
    number: dict[str, int] = {}
    starts, ids = sentence_terms(texts, languages, vocabulary, number)
    by_chunk = chunk_terms(documents, chunks, number)
    owners = np.repeat(np.arange(len(texts)), np.diff(starts))
    arrays = {
        **_sentence_arrays(table),
        **postings(ids, owners, size=len(number), texts=len(texts)).arrays("sentence_terms"),
        **postings(*by_chunk, size=len(number), texts=len(chunks)).arrays("chunk_terms"),
        **walk_terms(documents, table, starts, ids, number),
        **sentence_entity_graph(documents, chunks, table, texts, vocabulary),
    }
    recorded = {
        **settings.model_dump(mode="json", by_alias=True),
        "language": ",".join(languages_in(documents, settings.language)),
    }
    return Index(documents=documents, chunks=chunks, words=tuple(number), arrays=arrays, settings=recorded)


def _whole_chunk(document: Document) -> Chunk:
    end = len(document.text)
    id_ = content_id(document.id, "0", str(end))
    return Chunk(id_, document.number, document.id, 0, end, document.text, tokens.count(document.text))


def _sentence_arrays(table: SentenceTable) -> dict[str, np.ndarray[Any, Any]]:
    return {
        "sentences.document": table.document,
        "sentences.start": table.start,
        "sentences.end": table.end,
        "sentences.speaker": np.full(len(table), -1, np.int32),
        "sentences.templated": np.zeros(len(table), np.int32),
        "sentences.mention_starts": np.zeros(len(table) + 1, np.int32),
        "sentences.mentions": np.zeros(0, np.int32),
    }
