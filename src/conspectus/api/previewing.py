"""What a build would read and cost, told before it is run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from conspectus.api.embedding import estimate_vectors
from conspectus.corrections import corrections_for
from conspectus.errors import UsageError
from conspectus.indexing.update import update_of
from conspectus.models.embedders import is_served
from conspectus.models.llm import budget
from conspectus.models.llm.cache import FILE_NAME
from conspectus.rows import Document, EncodingWarning, Failure, Skipped
from conspectus.runtime import (
    DEFAULT_FOLDER,
    Options,
    known_by,
    path_of,
    read_sources,
    run_sync,
    settings_in,
    with_options,
)
from conspectus.settings import Settings
from conspectus.text.language import corpus_language

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.corrections import Entry
    from conspectus.indexing.estimate import Estimate, UpdateEstimate
    from conspectus.indexing.update import Changes, Update

SAMPLE_SEED = 42
"""Of the chunks that an estimate asks about."""


@dataclass(frozen=True)
class Preview:
    """What a build would read: counts, what would be passed over, and what could not be read.

    Where it would follow on an index, also what became of that one's documents and how much would be done again.
    """

    documents: int
    chunks: int
    tokens: int
    """The sum over the chunks, whose overlaps count twice."""
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[Failure, ...] = ()
    warnings: tuple[EncodingWarning, ...] = ()
    snapshot: str = ""
    """Of the index it would follow on."""
    changes: Changes | None = None
    rebuild_reasons: tuple[str, ...] = ()
    """Why all would be made anew though there is an index."""
    pending: tuple[str, ...] = ()
    """What would be done though no document changed."""
    redone: UpdateEstimate | None = None


@with_options
def preview(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    *,
    documents: Iterable[Any] | None = None,
    fresh: bool = False,
    **options: Unpack[Options],
) -> Preview:
    """Read and cut what `build` would, and write nothing; raise UsageError and NothingToIndex as it does.

    With a folder it is compared with the index there, if there is one.
    """
    from conspectus.indexing.chunk import chunk
    from conspectus.indexing.estimate import estimate_update

    built = settings_in(path_of(folder)) if folder is not None else ()
    chosen = known_by(options, built, builds=True)[0].settings
    read_documents, failures, skipped, warnings = read_sources(sources, documents, chosen)
    chunks = chunk(read_documents, chosen.chunk)
    total = sum(c.n_tokens for c in chunks)
    seen = Preview(len(read_documents), len(chunks), total, tuple(skipped), tuple(failures), tuple(warnings))
    if folder is None:
        return seen
    chosen, corrections = corrections_for(chosen, path_of(folder))
    update = update_of(path_of(folder), read_documents, failures, chosen, corrections=corrections, fresh=fresh)
    before, changes = update.before, update.changes
    least = chosen.reports.min_report_entities
    again = estimate_update(before, changes, read_documents, chunks, least) if before and changes else None
    snapshot = update.existing.snapshot if update.existing else ""
    return replace(
        seen,
        snapshot=snapshot,
        changes=update.changes,
        rebuild_reasons=update.rebuild_reasons,
        pending=update.pending,
        redone=again,
    )


@with_options
def estimate(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    sample: int = 0,
    fresh: bool = False,
    **options: Unpack[Options],
) -> Estimate:
    """Return what `build` would ask of the servers of language models that the settings name, and ask nothing.

    Replies that are kept in the folder are taken off. A `sample` of so many chunks is asked all the same, and the rest
    told from it; its replies are kept in the folder, so that `build` need not ask for them again.

    Raises UsageError where the settings name no model that is served, and with a sample what `build` does.
    """
    chosen = known_by(options, settings_in(path_of(folder)), builds=True)[0].settings
    if not costs(chosen):
        raise UsageError("the extractive model costs nothing: name a language model to estimate")
    chosen, corrections = corrections_for(chosen, path_of(folder))
    read_documents, failures, *_ = read_sources(sources, documents, chosen)
    update = update_of(path_of(folder), read_documents, failures, chosen, corrections=corrections, fresh=fresh)
    return run_sync(estimate_of(read_documents, update, path_of(folder), chosen, corrections, sample))


async def estimate_of(
    documents: Sequence[Document],
    update: Update,
    folder: Path,
    settings: Settings,
    corrections: Sequence[Entry] = (),
    sample: int = 0,
) -> Estimate:
    """Do what `estimate` does with what was read and compared."""
    from conspectus.indexing.chunk import chunk
    from conspectus.indexing.estimate import Estimate, Estimator, estimate_update, limit_to_update
    from conspectus.indexing.extract import extract
    from conspectus.indexing.pipeline import BuildInput
    from conspectus.models.llm.session import open_session

    if update.up_to_date:
        return Estimate(())
    chunks = chunk(documents, settings.chunk)
    vectors = estimate_vectors(documents, chunks, settings, folder)
    if settings.model == "extractive":
        return Estimate((vectors,) if vectors else ())
    kept = folder if sample or (folder / FILE_NAME).exists() else None
    drawn = Random(SAMPLE_SEED).sample(chunks, min(sample, len(chunks)))
    language = corpus_language(documents, settings.language)
    async with open_session(settings, kept, to_ask=bool(drawn)) as session:
        await extract(drawn, session.model, settings.extract, language)
        estimator = Estimator(session.model, session.sender, settings)
        inputs = BuildInput(documents, settings, (), corrections, update.before)
        found = await estimator.build(inputs, chunks, language)
    if update.before and update.changes:
        least = settings.reports.min_report_entities
        found = limit_to_update(found, estimate_update(update.before, update.changes, documents, chunks, least))
    return replace(found, tasks=(*found.tasks, vectors)) if vectors else found


def costs(settings: Settings) -> bool:
    """Tell whether a build by these settings asks a server, so that it can be estimated."""
    return settings.model != "extractive" or is_served(settings.vectors.embedder)


def is_free(settings: Settings) -> bool:
    """Tell whether every server that a build by these settings asks is known to cost nothing, as local ones do."""
    llm, embedder = settings.llm, settings.vectors.embedder
    models = () if settings.model == "extractive" else (settings.model, *llm.tasks.values())
    asked = [(name, llm.base_url) for name in models if name != "extractive"]
    if is_served(embedder):
        asked.append((embedder, llm.embedder_base_url or llm.base_url))
    return all(budget.is_free(name, settings.prices, base_url) for name, base_url in asked)
