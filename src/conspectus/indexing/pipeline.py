"""The pipeline of a build: runs the stages in order, from documents to an index."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Protocol, TypeVar

import numpy as np

from conspectus import tokens
from conspectus.community_context import CommunityContextBuilder
from conspectus.content import content_of
from conspectus.corrections import Correction
from conspectus.index import Index
from conspectus.indexing.arrays import (
    Arrays,
    ChunkTerms,
    arrays_of,
    graph_arrays,
    map_chunk_terms,
    map_sentences,
    sentence_arrays,
    sentences_to_send,
    text_arrays,
)
from conspectus.indexing.chunks import Extracted, Extractions, dates_of, extract, map_extract
from conspectus.indexing.chunks import chunk as cut
from conspectus.indexing.communities import (
    DescribedGraph,
    earlier_reports,
    find_communities,
    map_reports,
    priorities,
    reported,
    write_reports,
)
from conspectus.indexing.corrections import CorrectionResult, apply_corrections, correct_triples
from conspectus.indexing.graph import (
    Embed,
    Merged,
    Names,
    join_by_model,
    merge,
    merge_claims,
    resolve,
    triples_of,
)
from conspectus.messages import wording
from conspectus.models.base import Model, Tick, no_tick, portable, together, writes
from conspectus.rows import Chunk, Community, Document, Failure, Report, Triple, Usage, content_id
from conspectus.settings import Settings
from conspectus.storage.tables import paused_garbage_collection
from conspectus.tasks import ConfirmJoins, Extraction
from conspectus.text.language import gives_instructions, in_languages, languages_in
from conspectus.text.lexicon import Lexicon, read_lexicon, read_sentences
from conspectus.workers import SWITCH_SECONDS, Workers

T = TypeVar("T")


class Progress(Protocol):
    """An object that shows the progress of a build; these methods do nothing."""

    @property
    def shown(self) -> bool:
        """Whether progress is visible, so that it makes sense to compute what is shown."""
        return False

    def stage(self, name: str, total: int) -> Tick:
        """Open a stage of `total` work items (0: unknown), and return a function to call after each of them."""
        return no_tick

    def note(self, text: str) -> None:
        """Show a message."""

    def watch(self, usage: Callable[[], Usage]) -> None:
        """From now on, show the usage of language models so far, which `usage` returns."""


class Silent(Progress):
    """A progress object that shows nothing."""


ModelFor = Callable[[Sequence[Document], Lexicon], Model]
"""A function that creates a model which depends on the corpus."""


@dataclass(frozen=True)
class BuildInput:
    """The input of a build, except for the model."""

    documents: Sequence[Document]
    settings: Settings
    failures: Sequence[Failure] = ()
    """The files that could not be read."""
    corrections: Sequence[Correction] = ()
    before: Index | None = None
    """The previous index for a warm start: new communities start from its communities, so few reports are rewritten."""
    embed: Embed | None = None
    """Computes the vectors by which names are compared; without it, their spelling is compared."""
    workers: Workers = field(default_factory=Workers)
    """Runs the stages that are divided into shards; it does not affect their results."""
    put_early: Callable[[Index], Mapping[str, Any]] = lambda _: {}
    """Stores tables that do not depend on reports, while other processes write these; see `Index.stored`."""


async def build_index(
    build: BuildInput, model: Model | ModelFor, progress: Progress | None = None, check: Check | None = None
) -> Index:
    """Run every stage and return the index; raise Unusable if the model can no longer be used.
    Except for the communities, the result depends only on the documents, the settings and the corrections.
    """
    show, settings = progress or Silent(), build.settings
    build = replace(build, documents=(documents := in_languages(build.documents, settings.language)))
    with paused_garbage_collection(), ExitStack() as on_exit:  # cancels concurrent work after an error
        chunks = cut(documents, settings.chunk, build.workers)
        language, *_ = languages = languages_in(documents, settings.language)
        extracted, performer, begun = await _read_and_extract(build, chunks, model, language, show)
        await asyncio.sleep(0)  # lets the event loop drop its references to what was read
        build.workers.release()
        show.stage("resolve", 0)
        names, failures = await resolve_names(build, chunks, extracted.graphs, performer, language)
        failures[:0] = [*build.failures, *extracted.failures]
        show.stage("communities", 0)
        made = build_graph(build, chunks, extracted, names, language)
        build.workers.release()
        documents, chunks = made.documents, [*chunks, *made.corrected.chunks]
        planted = begun.planted | {c.id for c in made.corrected.chunks if gives_instructions(c.text)}
        if check:
            await check(made, language)
        aside = performer.generative
        indexing = _beside(partial(_arrays, build, chunks, begun, made, aside), len(chunks) if aside else 0)
        on_exit.callback(indexing.cancel)
        del extracted, begun
        graph, reports, failed = await _describe_and_report(build, made, performer, language, show)
        show.stage("lexical", 0)
        words, arrays, stored = await indexing
    build.workers.release()
    rows = documents, chunks, graph.entities, graph.relationships, made.triples, graph.claims
    return Index(
        *rows,
        communities=made.communities,
        reports=_with_warnings(reports, made, planted, language),
        joins=made.corrected.joins,
        failures=[*failures, *made.corrected.failures, *failed],
        words=words,
        arrays=arrays | graph.digests,
        settings={**settings.model_dump(mode="json", by_alias=True), "language": ",".join(languages)},
        stored=stored,
    )


@dataclass(frozen=True)
class BegunArrays:
    """The text arrays of a corpus, whose computation may still be in progress."""

    lexicon: Lexicon
    """Without the texts and tokens of its sentences, unless corrections may require computing the arrays again."""
    texts: Callable[[], tuple[tuple[str, ...], Arrays]]
    """Waits for the words and the arrays and returns them."""
    planted: set[str]
    """The ids of the chunks that contain instructions to language models."""


def _lexicon(
    build: BuildInput, documents: Sequence[Document], chunks: Sequence[Chunk]
) -> tuple[Lexicon, Callable[[], ChunkTerms]]:
    """Return the lexicon of a corpus, and a function that waits for the search terms of its chunks; other processes, if
    any, compute these meanwhile.
    """
    extract = build.settings.extract
    parts = map_sentences(documents, build.workers)
    terms = map_chunk_terms(documents, chunks, build.workers)
    sentences = read_sentences(documents, parts)
    build.workers.release()
    lexicon = read_lexicon(documents, extract.types_by_rules, sentences, extract.type_of_name)
    if file := build.workers.texts:  # the tokens are not needed during extraction
        form = np.asarray(file.array(sentences.vocabulary.form))
        sentences = replace(sentences, vocabulary=replace(sentences.vocabulary, form=form))
        lexicon = replace(lexicon, sentences=sentences)
        build.workers.release()
    return lexicon, terms


def _begin_arrays(
    build: BuildInput,
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    of: tuple[Lexicon, Callable[[], ChunkTerms]],
) -> BegunArrays:
    """Return the text arrays of a corpus: another process starts to compute them, or else the first use does."""
    lexicon, terms = of[0], of[1]()
    sentences = lexicon.sentences
    if build.workers.several:
        documents = [replace(document, text="", omitted=(), places=()) for document in documents]
        chunks, sentences = [replace(chunk, text="") for chunk in chunks], sentences_to_send(sentences)
    made = build.workers.beside(arrays_of, [(documents, chunks, sentences, terms)])
    in_file = build.workers.texts.array if build.workers.texts else np.asarray

    @cache
    def begun() -> tuple[tuple[str, ...], Arrays]:
        words, arrays = made()
        return words, {name: in_file(array) for name, array in arrays.items()}

    lexicon = lexicon if build.corrections else lexicon.without_texts()
    return BegunArrays(lexicon, begun, {chunks[int(number)].id for number in terms.instructing})


async def _read_and_extract(
    build: BuildInput, chunks: Sequence[Chunk], model: Model | ModelFor, language: str, show: Progress
) -> tuple[Extracted, Model, BegunArrays]:
    """Return the extractions of chunks, the model without the data that only extraction needs, and the text arrays."""
    documents = build.documents
    show.stage("lexicon", 0)
    reading = _beside(lambda: _lexicon(build, documents, chunks), 0 if callable(model) else len(chunks))
    try:
        performer = model(documents, (await reading)[0]) if callable(model) else model
        begin = cache(lambda: _begin_arrays(build, documents, chunks, reading.result()))
        if not performer.generative:
            await reading
            if not (build.corrections or build.workers.several):
                begin().texts()  # no other process computes them, and no rows take memory yet
        extracted, performer = await _extract(build, chunks, performer, language, show, begin)
        await reading
        return extracted, performer, begin()
    finally:
        reading.cancel()  # after an error


async def _extract(
    build: BuildInput,
    chunks: Sequence[Chunk],
    model: Model,
    language: str,
    show: Progress,
    begin: Callable[[], object],
) -> tuple[Extracted, Model]:
    """Return the extractions of chunks, with failures by document path, and the model without the data that only
    extraction needs. `begin` queues the work of other processes after extraction.

    Raises ModelError if extraction failed for every chunk.
    """
    settings, tick = build.settings, show.stage("extract", len(chunks))
    dates = dates_of(build.documents)
    if portable(model):
        more = settings.extract, language, dates
        extracted = map_extract(chunks, model, build.documents, more, build.workers, tick, begin)
    else:
        extracted = await extract(chunks, model, settings.extract, language, tick, dates)
    extracted.check(model.name)
    paths = {document.id: document.path or document.title for document in build.documents}
    extracted.failures = [
        replace(failure, document=paths[failure.document]) for failure in extracted.failures
    ]
    return extracted, portable(model) or model


async def resolve_names(
    build: BuildInput, chunks: Sequence[Chunk], graphs: Sequence[Extraction], model: Model, language: str
) -> tuple[Names, list[Failure]]:
    """Resolve the extracted names, also by a model if the settings say so; return the names and its failures."""
    names = resolve(chunks, graphs, build.documents, build.settings.resolve)
    if build.settings.resolve.resolve != "model" or not writes(model, ConfirmJoins):
        return names, []
    extracted = list(zip(chunks, graphs, strict=True))
    return names, await join_by_model(names, extracted, model, language, build.embed)


@dataclass(frozen=True)
class GraphBuild:
    """The graph and its communities, before descriptions are written."""

    documents: list[Document]
    """Including the document of added facts."""
    corrected: CorrectionResult
    merged: Merged
    triples: list[Triple]
    communities: list[Community]
    entity_of_key: dict[str, int]
    """The number of the entity with each key."""


def build_graph(
    build: BuildInput, chunks: Sequence[Chunk], extracted: Extracted, names: Names, language: str = "en"
) -> GraphBuild:
    """Apply corrections to the resolved names, merge the extractions into a graph, and find communities."""
    corrected = apply_corrections(build.corrections, names, chunks, extracted, build.documents, language)
    graphs = extracted.graphs
    if corrected.extracted or not isinstance(graphs, Extractions):
        graphs = [*corrected.extracted, *zip(chunks, graphs, strict=True)]
    merged = merge(graphs, corrected.names)
    merged = merge_claims(build.documents, chunks, extracted.claims, corrected.names, merged)
    triples: list[Triple] = []
    if not isinstance(graphs, Extractions):
        triples = triples_of(correct_triples(graphs, corrected.names))
    extracted.graphs = graphs = ()  # frees memory for the following steps
    rows = merged.entities, merged.relationships
    every, settings = [*chunks, *corrected.chunks], build.settings.communities
    communities = find_communities(*rows, settings, every, build.before)
    entity_of_key = {key: i for i, key in enumerate(merged.keys)}
    documents = [*build.documents, *corrected.documents]
    return GraphBuild(documents, corrected, merged, triples, communities, entity_of_key)


Check = Callable[[GraphBuild, str], Awaitable[None]]
"""A function that is called with the graph and the language after extraction; it may raise to stop the build."""

HEAD_START, FIRST_PROMPTS = 0.008, 25
"""Seconds by which concurrent work is delayed for each prompt to be rendered and sent, and the maximum of prompts."""


def _beside(work: Callable[[], T], prompts: int) -> asyncio.Task[T]:
    """Run CPU work in a thread while the event loop waits for model calls; without prompts, run it in the loop."""

    async def done() -> T:
        if not prompts:
            return work()
        await asyncio.sleep(HEAD_START * min(prompts, FIRST_PROMPTS))
        interval = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_SECONDS)
        try:
            return await asyncio.to_thread(work)
        finally:
            sys.setswitchinterval(interval)

    task = asyncio.ensure_future(done())
    # marks an error as retrieved: asyncio must not report it if another error keeps the task from being awaited
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    return task


def _arrays(
    build: BuildInput, chunks: Sequence[Chunk], begun: BegunArrays, made: GraphBuild, aside: bool
) -> tuple[tuple[str, ...], Arrays, Mapping[str, Any]]:
    documents, corrected = made.documents, made.corrected
    if corrected.documents:  # added facts are a new document
        begun = _begin_arrays(build, documents, chunks, _lexicon(build, documents, chunks))
    lexicon, without = begun.lexicon, corrected.deleted
    rows = documents, chunks, made.merged.entities, made.merged.relationships
    arrays = sentence_arrays(documents, lexicon, made.entity_of_key, corrected.names)
    arrays |= graph_arrays(index := Index(*rows, communities=made.communities))
    # not in a thread, which might continue after an error, when the folder is no longer locked
    stored: Mapping[str, Any] = {} if aside else build.put_early(index)
    if without:
        words, of_texts = text_arrays(documents, chunks, lexicon.sentences, without)
    else:
        words, of_texts = begun.texts()
    arrays |= {**of_texts, **Index(words=words).number_of_word.arrays}
    return words, arrays, stored


async def _describe_and_report(
    build: BuildInput, made: GraphBuild, model: Model, language: str, show: Progress
) -> tuple[DescribedGraph, list[Report], list[Failure]]:
    """Write descriptions and reports concurrently: each report waits only for its descriptions and its sub-reports."""
    settings = build.settings
    graph = DescribedGraph(made.merged, model, made.documents, strict=settings.reports.strict)
    communities, rows = made.communities, (graph.entities, graph.relationships)
    large = reported(communities, settings.reports)
    contexts = CommunityContextBuilder(communities, *rows, settings.reports.context_tokens, graph.claims)
    try:
        before, tick = build.before, show.stage("describe", 0)
        if writer := None if graph.claims else portable(model):
            graph.digests = graph.instance_digests()
            contexts.known = earlier_reports(before, communities, graph, writer, language) if before else {}
            how = writer, settings.reports, language
            tick = show.stage("reports", len(large))
            written, failed = await map_reports(graph, contexts, how, build.workers, tick)
            return graph, written, [*graph.failures, *failed]
        await graph.describe(language, priorities(large, contexts), tick)
        tick = show.stage("reports", len(large))
        writing = write_reports(communities, contexts, model, settings.reports, language, tick, graph.ready)
        reports = asyncio.ensure_future(writing)
        await together([reports, graph.done()])
    except BaseException:
        # Otherwise they would continue to ask a server whose connection is closed, and report errors at the end.
        graph.cancel()
        raise
    written, failed = reports.result()
    return graph, written, [*graph.failures, *failed]


def _with_warnings(reports: list[Report], made: GraphBuild, planted: set[str], language: str) -> list[Report]:
    """Add a warning to the reports of communities whose chunks contain instructions to language models."""
    affected = {c.number for c in made.communities if not planted.isdisjoint(c.chunk_ids)} if planted else ()
    for i, report in enumerate(reports):
        if report.community in affected:
            report = replace(report, summary=f"{report.summary}\n\n{wording(language).instructs}")
            reports[i] = replace(report, n_tokens=tokens.count(report.text))
    return reports


def index_passages(documents: Sequence[Document], settings: Settings) -> Index:
    """Return an index of passages: each document is one chunk, and there is only what ranking needs.
    It has no graph and no reports, and no model is asked: 6,119 passages of 2.7 MB take 3.5 CPU s, ten times as many
    take 57 s.
    """
    documents = in_languages(documents, settings.language)
    texts = [content_of(document).text for document in documents]
    chunks = [
        Chunk(content_id(d.id, "0", str(end)), d.number, d.id, 0, end, text, tokens.count(text))
        for d, end, text in zip(documents, [len(d.text) for d in documents], texts, strict=True)
    ]
    sentences = read_sentences(documents, map_sentences(documents))
    table = sentences.table
    words, arrays = text_arrays(documents, chunks, sentences)
    arrays |= {f"sentences.{name}": getattr(table, name) for name in ("document", "start", "end")}
    sizes = {"speaker": len(table), "mention_starts": len(table) + 1, "mentions": 0}
    arrays |= {f"sentences.{name}": np.zeros(size, np.int32) for name, size in sizes.items()}
    arrays["sentences.speaker"] -= 1  # no speaker
    recorded = settings.model_dump(mode="json", by_alias=True)
    recorded["language"] = ",".join(languages_in(documents, settings.language))
    return Index(documents=documents, chunks=chunks, words=words, arrays=arrays, settings=recorded)
