"""The order of the stages: documents in, an index out."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Protocol

from conspectus.index.chunk import chunk as cut
from conspectus.index.communities import find_communities
from conspectus.index.describe import describe
from conspectus.index.extract import extract
from conspectus.index.lexical import lexical_arrays
from conspectus.index.merge import merge
from conspectus.index.reports import write_reports
from conspectus.index.resolve import resolve
from conspectus.models.base import Model, Tick
from conspectus.rows import Document, Failure
from conspectus.settings import Settings
from conspectus.tables import Index
from conspectus.text.lexicon import Lexicon, read_lexicon


class Progress(Protocol):
    """Shows how far a stage is."""

    def stage(self, name: str, total: int) -> Tick:
        """Open a stage of `total` pieces of work (0: unknown); the tick is called for each that is done."""
        ...


class Silent:
    """Shows nothing."""

    def stage(self, name: str, total: int) -> Tick:
        return lambda: None


ModelFor = Callable[[Sequence[Document], Lexicon], Model]
"""Makes the model of a build, which may have to know the corpus."""


async def build_index(
    documents: Sequence[Document],
    failures: Sequence[Failure],
    model_for: ModelFor,
    settings: Settings,
    language: str = "en",
    progress: Progress | None = None,
) -> Index:
    """Run every stage on the documents that were read; `failures` are those of the others."""
    show = progress or Silent()
    with _no_collector():
        chunks = cut(documents, settings.chunk)
        show.stage("lexicon", 0)
        lexicon = read_lexicon(documents, settings.extract.entity_types)
        model = model_for(documents, lexicon)
        graphs, unread = await extract(chunks, model, settings.extract, language, show.stage("extract", len(chunks)))
        show.stage("resolve", 0)
        names = resolve(chunks, graphs, documents, settings.resolve)
        merged = merge(chunks, graphs, names)
        del graphs
        show.stage("communities", 0)
        communities = find_communities(merged.entities, merged.relationships, settings.communities, chunks)
        entities, relationships, undescribed = await describe(
            merged, model, settings.describe, language, show.stage("describe", 0)
        )
        large = sum(c.size >= settings.reports.min_report_entities for c in communities)
        reports, unwritten = await write_reports(
            communities, entities, relationships, model, settings.reports, language, show.stage("reports", large)
        )
        show.stage("lexical", 0)
        words, arrays = lexical_arrays(documents, chunks, lexicon, merged, names)
    return Index(
        documents=documents,
        chunks=chunks,
        entities=entities,
        relationships=relationships,
        communities=communities,
        reports=reports,
        joins=names.joins,
        failures=[*failures, *unread, *undescribed, *unwritten],
        words=words,
        arrays=arrays,
        settings=settings.model_dump(mode="json", by_alias=True),
    )


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
