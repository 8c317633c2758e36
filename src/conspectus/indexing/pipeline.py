"""The order of the stages: documents in, an index out."""

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
from conspectus.corrections import Correction
from conspectus.index import Index
from conspectus.indexing.arrays import (
    Arrays,
    ChunkTerms,
    arrays_of,
    graph_arrays,
    map_chunk_terms,
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
from conspectus.text.cleaning import content_of
from conspectus.text.language import gives_instructions, in_languages, languages_in
from conspectus.text.lexicon import Lexicon, read_lexicon, read_sentences
from conspectus.text.sentence_table import map_sentences
from conspectus.workers import SWITCH_SECONDS, Workers

T = TypeVar("T")


class Progress(Protocol):
    """Shows how far a stage is."""

    @property
    def shown(self) -> bool:
        """Whether anybody looks, so that what is told is worth finding out."""
        return False

    def stage(self, name: str, total: int) -> Tick:
        """Open a stage of `total` pieces of work (0: unknown); the tick is called for each that is done."""
        return no_tick

    def note(self, text: str) -> None:
        """Tell something on the way."""

    def watch(self, usage: Callable[[], Usage]) -> None:
        """Show from now on what `usage` returns: what the run took of servers so far."""


class Silent(Progress):
    """Shows nothing."""


ModelFor = Callable[[Sequence[Document], Lexicon], Model]
"""Makes the model of a build that has to know the corpus."""


@dataclass(frozen=True)
class BuildInput:
    """What an index is built from, beside a model."""

    documents: Sequence[Document]
    settings: Settings
    failures: Sequence[Failure] = ()
    """Of the files that could not be read."""
    corrections: Sequence[Correction] = ()
    before: Index | None = None
    """The index whose communities are the start of the new ones, so that few reports are written again."""
    embed: Embed | None = None
    """Makes the vectors by which names are compared; without it they are compared as they are written."""
    workers: Workers = field(default_factory=Workers)
    """Who does the stages that go shard by shard; what they make does not depend on it."""
    put_early: Callable[[Index], Mapping[str, Any]] = lambda _: {}
    """Stores what reports change nothing of while others write them without a model to wait for; see `Index.stored`."""


async def build_index(
    build: BuildInput, model: Model | ModelFor, progress: Progress | None = None, check: Check | None = None
) -> Index:
    """Run every stage and return the index; raise Unusable where nothing more can be asked of the model.
    All but the communities depends on the documents, the settings and the corrections alone.
    """
    show, settings = progress or Silent(), build.settings
    build = replace(build, documents=(documents := in_languages(build.documents, settings.language)))
    with paused_garbage_collection(), ExitStack() as on_exit:  # no work beside goes on after an error
        chunks = cut(documents, settings.chunk, build.workers)
        language, *_ = languages = languages_in(documents, settings.language)
        extracted, performer, begun = await _read_and_extract(build, chunks, model, language, show)
        await asyncio.sleep(0)  # by then the event loop, too, has let go of what was read
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
    """The arrays of the texts of a corpus while they are made."""

    lexicon: Lexicon
    """Without the texts and tokens of its sentences, unless corrections may have the arrays made again."""
    texts: Callable[[], tuple[tuple[str, ...], Arrays]]
    """Waits for the words and the arrays."""
    planted: set[str]
    """The ids of the chunks that give instructions to language models."""


def _lexicon(
    build: BuildInput, documents: Sequence[Document], chunks: Sequence[Chunk]
) -> tuple[Lexicon, Callable[[], ChunkTerms]]:
    """Return the names of a corpus, and a function that waits for the terms of its chunks, which other processes, where
    there are some, read meanwhile.
    """
    extract = build.settings.extract
    parts = map_sentences(documents, build.workers)
    terms = map_chunk_terms(documents, chunks, build.workers)
    sentences = read_sentences(documents, parts)
    build.workers.release()
    lexicon = read_lexicon(documents, extract.types_by_rules, sentences, extract.type_of_name)
    if file := build.workers.texts:  # nobody reads its tokens while chunks are extracted from
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
    """Begin the arrays of the texts of a corpus, if others are at work."""
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
    """Return what chunks hold, the model without what it extracted from, and the arrays of the texts."""
    documents = build.documents
    show.stage("lexicon", 0)
    reading = _beside(lambda: _lexicon(build, documents, chunks), 0 if callable(model) else len(chunks))
    try:
        performer = model(documents, (await reading)[0]) if callable(model) else model
        begin = cache(lambda: _begin_arrays(build, documents, chunks, reading.result()))
        if not performer.generative:
            await reading
            if not (build.corrections or build.workers.several):
                begin().texts()  # nobody else makes them, and there are no rows yet
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
    """Return what chunks hold, with failures by the paths of documents, and the model without what it extracted from.
    `begin` queues what other processes do after extraction.

    Raises ModelError where all failed.
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
    """Resolve the extracted names, by a model too where the settings want it; return what it failed on beside them."""
    names = resolve(chunks, graphs, build.documents, build.settings.resolve)
    if build.settings.resolve.resolve != "model" or not writes(model, ConfirmJoins):
        return names, []
    extracted = list(zip(chunks, graphs, strict=True))
    return names, await join_by_model(names, extracted, model, language, build.embed)


@dataclass(frozen=True)
class GraphBuild:
    """The graph and its communities, before descriptions are written."""

    documents: list[Document]
    """Those of added facts among them."""
    corrected: CorrectionResult
    merged: Merged
    triples: list[Triple]
    communities: list[Community]
    entity_of_key: dict[str, int]
    """The number of the entity of each key; the instances of rows go when these are described."""


def build_graph(
    build: BuildInput, chunks: Sequence[Chunk], extracted: Extracted, names: Names, language: str = "en"
) -> GraphBuild:
    """Correct the resolved names, merge by them, and find communities."""
    corrected = apply_corrections(build.corrections, names, chunks, extracted, build.documents, language)
    graphs = extracted.graphs
    if corrected.extracted or not isinstance(graphs, Extractions):
        graphs = [*corrected.extracted, *zip(chunks, graphs, strict=True)]
    merged = merge(graphs, corrected.names)
    merged = merge_claims(build.documents, chunks, extracted.claims, corrected.names, merged)
    triples: list[Triple] = []
    if not isinstance(graphs, Extractions):
        triples = triples_of(correct_triples(graphs, corrected.names))
    extracted.graphs = graphs = ()  # what follows takes memory, too
    rows = merged.entities, merged.relationships
    every, settings = [*chunks, *corrected.chunks], build.settings.communities
    communities = find_communities(*rows, settings, every, build.before)
    entity_of_key = {key: i for i, key in enumerate(merged.keys)}
    documents = [*build.documents, *corrected.documents]
    return GraphBuild(documents, corrected, merged, triples, communities, entity_of_key)


Check = Callable[[GraphBuild, str], Awaitable[None]]
"""Is given the graph and the language when extraction is done; may raise to stop there."""

HEAD_START, FIRST_PROMPTS = 0.008, 25
"""Seconds that other work leaves the processor for each prompt to be rendered and sent, and for how many at most."""


def _beside(work: Callable[[], T], prompts: int) -> asyncio.Task[T]:
    """Do work of the processor while calls are waited for; where there are no prompts, when it is asked for."""

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
    # the error of a task that an interrupt or another error keeps from being awaited is not asyncio's to report
    task.add_done_callback(lambda task: task.cancelled() or task.exception())
    return task


def _arrays(
    build: BuildInput, chunks: Sequence[Chunk], begun: BegunArrays, made: GraphBuild, aside: bool
) -> tuple[tuple[str, ...], Arrays, Mapping[str, Any]]:
    documents, corrected = made.documents, made.corrected
    if corrected.documents:  # other documents do not depend on added facts
        begun = _begin_arrays(build, documents, chunks, _lexicon(build, documents, chunks))
    lexicon, without = begun.lexicon, corrected.deleted
    rows = documents, chunks, made.merged.entities, made.merged.relationships
    arrays = sentence_arrays(documents, lexicon, made.entity_of_key, corrected.names)
    arrays |= graph_arrays(index := Index(*rows, communities=made.communities))
    # a thread might go on after an error, when the folder is no longer locked
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
    """Do both at once: each report waits only for its own descriptions and for the reports of its sub-communities."""
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
        # Or else they would go on to ask a server whose connection is closed, and say so at the end.
        graph.cancel()
        raise
    written, failed = reports.result()
    return graph, written, [*graph.failures, *failed]


def _with_warnings(reports: list[Report], made: GraphBuild, planted: set[str], language: str) -> list[Report]:
    """Return reports, of which each says if chunks of its community give instructions to language models."""
    affected = {c.number for c in made.communities if not planted.isdisjoint(c.chunk_ids)} if planted else ()
    for i, report in enumerate(reports):
        if report.community in affected:
            report = replace(report, summary=f"{report.summary}\n\n{wording(language).instructs}")
            reports[i] = replace(report, n_tokens=tokens.count(report.text))
    return reports


def index_passages(documents: Sequence[Document], settings: Settings) -> Index:
    """Return an index of passages: each document is one chunk, and there is only what ranking needs.
    There is no graph and no report, and no model is asked: 6,119 passages of 2.7 MB take 3.5 CPU s, ten times as many
    57 s.
    """
    documents = in_languages(documents, settings.language)
    texts = [content_of(document).text for document in documents]
    chunks = [
        Chunk(content_id(d.id, "0", str(end)), d.number, d.id, 0, end, text, tokens.count(text))
        for d, end, text in zip(documents, [len(d.text) for d in documents], texts, strict=True)
    ]
    sentences = read_sentences(documents)
    table = sentences.table
    words, arrays = text_arrays(documents, chunks, sentences)
    arrays |= {f"sentences.{name}": getattr(table, name) for name in ("document", "start", "end")}
    sizes = {"speaker": len(table), "mention_starts": len(table) + 1, "mentions": 0}
    arrays |= {f"sentences.{name}": np.zeros(size, np.int32) for name, size in sizes.items()}
    arrays["sentences.speaker"] -= 1  # for nobody
    recorded = settings.model_dump(mode="json", by_alias=True)
    recorded["language"] = ",".join(languages_in(documents, settings.language))
    return Index(documents=documents, chunks=chunks, words=words, arrays=arrays, settings=recorded)
