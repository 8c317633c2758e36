"""What a build would read and cost, before it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from conspectus import tokens
from conspectus.api.building import BuildRequest, ReadOptions, costs
from conspectus.api.embedding import TASK, usual_embedder
from conspectus.errors import UsageError
from conspectus.indexing.chunk import chunk
from conspectus.indexing.embed import texts_of, texts_of_sources
from conspectus.indexing.estimate import (
    TRIPLES,
    Estimate,
    Estimator,
    Range,
    TaskEstimate,
)
from conspectus.indexing.extract import extract
from conspectus.indexing.pipeline import BuildInput
from conspectus.indexing.update import Changes, Update
from conspectus.models.embedders import is_served, prefixes_of
from conspectus.models.llm.budget import Budget
from conspectus.models.llm.cache import FILE_NAME, ResponseCache
from conspectus.models.llm.model import open_session
from conspectus.models.llm.sender import batches, embedding_key
from conspectus.models.llm.wire import vocabulary
from conspectus.rows import Chunk, Document, EncodingWarning, Failure, Skipped
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, public, read_sources, resolved, run_of, run_sync
from conspectus.settings import Settings
from conspectus.storage import store
from conspectus.text.language import corpus_language
from conspectus.text.lexicon import read_lexicon

if TYPE_CHECKING:
    from typing_extensions import Unpack

SAMPLE_SEED = 42
"""Of the chunks that an estimate asks about: any will do, as long as it is always the same."""


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
    new_chunks: int | None = None
    """How many of the chunks would be read that the index does not have; None without a folder."""

    def __repr__(self) -> str:
        """Return the counts on one line."""
        return f"<Preview {self.documents:,} documents, {self.chunks:,} chunks, {self.tokens:,} tokens>"


@public
def preview(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path | None = None,
    **options: Unpack[ReadOptions],
) -> Preview:
    """Read and cut what `build` would, and write nothing; raise UsageError and NothingToIndex as it does.

    With a folder it is compared with the index there, if there is one.
    """
    request = BuildRequest.of(folder, options, fresh=options.get("fresh", False)) if folder is not None else None
    settings = request.settings if request else run_of(options, builds=True).settings
    documents, failures, skipped, warnings = read_sources(sources, options.get("documents"), settings)
    chunks = chunk(documents, settings.chunk)
    tokens = sum(c.n_tokens for c in chunks)
    read = Preview(len(documents), len(chunks), tokens, tuple(skipped), tuple(failures), tuple(warnings))
    if request is None:
        return read
    update = request.update(documents, failures)
    before = {chunk.id for chunk in update.before.chunks} if update.before else set[str]()
    return replace(
        read,
        snapshot=update.existing.snapshot if update.existing else "",
        changes=update.changes,
        rebuild_reasons=update.rebuild_reasons,
        pending=update.pending,
        new_chunks=sum(chunk.id not in before for chunk in chunks),
    )


@public
def estimate(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    sample: int = 0,
    **options: Unpack[ReadOptions],
) -> Estimate:
    """Return what `build` would ask of the servers of language models that the settings name, and ask nothing.

    Replies that are cached in the folder are taken off. A `sample` of so many chunks is asked all the same, and the
    rest told from it; its replies are cached in the folder, so that `build` need not ask for them again.

    Raises UsageError where the settings name no model that is served, and with a sample what `build` does.
    """
    request = BuildRequest.of(folder, options, fresh=options.get("fresh", False))
    if not costs(request.settings):
        raise UsageError("the extractive model costs nothing: name a language model to estimate")
    documents, failures, *_ = read_sources(sources, options.get("documents"), request.settings)
    return run_sync(estimated_build(documents, request.update(documents, failures), request, sample))


async def estimated_build(
    documents: Sequence[Document], update: Update, request: BuildRequest, sample: int = 0
) -> Estimate:
    """Do what `estimate` does with what was read and compared."""
    settings, folder = request.settings, request.folder
    if update.up_to_date:
        return Estimate(())
    chunks = chunk(documents, settings.chunk)
    vectors = estimate_vectors(documents, chunks, settings, folder)
    if settings.model == "extractive":
        return Estimate((vectors,) if vectors else ())
    cache = folder if sample or (folder / FILE_NAME).exists() else None
    drawn = Random(SAMPLE_SEED).sample(chunks, min(sample, len(chunks)))
    language = corpus_language(documents, settings.language)
    async with open_session(settings, cache, to_ask=bool(drawn)) as session:
        await extract(drawn, session.model, settings.extract, language)
        inputs = BuildInput(documents, settings, (), request.corrections, update.before)
        estimated = await Estimator(session.model, session.sender, settings).build(inputs, chunks, language)
    return replace(estimated, tasks=(*estimated.tasks, vectors)) if vectors else estimated


def estimate_vectors(
    documents: Sequence[Document], chunks: Sequence[Chunk], settings: Settings, folder: Path
) -> TaskEstimate | None:
    """Return what vectors of documents would take of a server, without cached ones of a folder; None without a server.

    Where triples are to be found, theirs come on top, as far as that can be told.
    """
    if not is_served(settings.vectors.embedder):
        return None
    table = read_lexicon(documents, settings.extract.entity_types).sentences
    spans = np.stack([table.document, table.start, table.end], axis=1)
    texts = texts_of_sources(documents, chunks, spans)
    later = settings.model != "extractive" and settings.extract.style == "triples"
    extracted = sum(c.n_tokens for c in chunks) if later else 0
    return _of_texts(settings.vectors.embedder, texts, settings, folder, extracted)


@public
def estimate_embedding(
    folder: str | Path = DEFAULT_FOLDER, embedder: str = "", *, settings: Given = None
) -> TaskEstimate | None:
    """Return what `embed` would take of a server, and ask nothing; None where it would not ask one."""
    chosen, target = resolved(settings), path_of(folder)
    index = store.read(target)
    name = embedder or usual_embedder(index, chosen)
    return _of_texts(name, texts_of(index), chosen, target) if is_served(name) else None


def _of_texts(
    name: str, texts: Mapping[str, Sequence[str]], settings: Settings, folder: Path, extracted: int = 0
) -> TaskEstimate:
    """Estimate vectors of texts, and of the triples of so many `extracted` tokens."""
    prefix = prefixes_of(name, settings.vectors).passage
    arrays = [{embedding_key(name, prefix + text): prefix + text for text in array} for array in texts.values()]
    new = {key: text for array in arrays for key, text in array.items()}
    if (folder / FILE_NAME).exists():
        replies = ResponseCache(folder / FILE_NAME)
        try:
            new = {key: text for key, text in new.items() if replies.get_bytes(key, used=False) is None}
        finally:
            replies.close()
    count = float(sum(tokens.count(text, vocabulary(name)) for text in new.values()))
    counts = Range(count, count).plus(Range(extracted, extracted).times(TRIPLES))
    calls = sum(len(batches([(key, text) for key, text in array.items() if key in new])) for array in arrays)
    budget = Budget(settings.prices, base_url=settings.llm.embedder_base_url or settings.llm.base_url)
    cost = Range(*(budget.cost(name, round(n), 0) for n in counts)) if budget.price(name) else None
    return TaskEstimate(TASK, name, Range(calls, calls), counts, Range(0, 0), cost)
