"""Build an index, or bring it up to date."""

from __future__ import annotations

import json
import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from conspectus.api.embedding import check_embedder, estimate_texts, with_vectors
from conspectus.corrections import Correction, file_of, read_file, source_documents
from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.index_status import folders_of
from conspectus.indexing.arrays import map_sentences
from conspectus.indexing.chunks import chunk, dates_of, extract
from conspectus.indexing.embed import texts_of_sources
from conspectus.indexing.given_graph import with_openie_of
from conspectus.indexing.read import Read
from conspectus.indexing.update import Changes, Update, origin_of, update_of
from conspectus.lazy import lazy_module
from conspectus.models import llm
from conspectus.models.base import Model
from conspectus.models.embedders import is_served, open_embedder
from conspectus.models.llm import budget
from conspectus.models.llm.cache import FILE_NAME
from conspectus.rows import (
    OMITTED_KINDS,
    Document,
    EncodingWarning,
    Failure,
    Skipped,
    Usage,
    count_omitted,
    counted,
    escaped,
)
from conspectus.runtime import (
    DEFAULT_FOLDER,
    Options,
    Run,
    WithIndex,
    path_of,
    public,
    read_sources,
    run_of,
    run_sync,
    settings_in,
    shown,
    synchronous,
)
from conspectus.settings import Settings
from conspectus.storage import store
from conspectus.storage.tables import paused_garbage_collection
from conspectus.text.language import corpus_language
from conspectus.text.lexicon import Lexicon, read_sentences
from conspectus.workers import ShardFiles, Workers

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from typing_extensions import Unpack

    from conspectus.indexing import estimate as estimates
    from conspectus.indexing import pipeline
    from conspectus.indexing.estimate import Estimate, TaskEstimate
    from conspectus.indexing.pipeline import Check, GraphBuild, Progress
    from conspectus.models.llm.model import Session
    from conspectus.rows import Answer, Hit
else:  # with aiohttp and scipy, which take long to import
    estimates = lazy_module("conspectus.indexing.estimate")
    pipeline = lazy_module("conspectus.indexing.pipeline")

SHARDS = "shards"
"""Subfolder of an index's folder with the results of stages for parts of the documents, for the next build."""
log = logging.getLogger("conspectus")
MOST_REASONS = 20
"""Maximum number of reasons for skipped files that an index records: one for each suffix; few folders have more."""
SHOWN_ISSUES = 10
"""Maximum number of failures and skipped files listed in a notebook, so that the table of counts stays in view."""
DESCRIBED = 1.1, 1.75
"""Range of the tokens of all texts with vectors (chunks, sentences, descriptions of entities) per token of chunks and
sentences: 1.11 (podcast), 1.29 (sample corpus), 1.61 (the same, described by a strong language model)."""
SAMPLE_SEED = 42
"""Random seed of the chunks that an estimate samples; any value will do, as long as it stays the same."""
Agree = Callable[["Estimate"], None]
"""A function that is called with the estimate of a build before anything is spent; raises to stop the build."""


class ReadOptions(Options, total=False):
    """Options of every function that reads documents.
    documents: strings, dicts with `text` (and `title`, `id` or `path`, `date`), or a DataFrame with such columns.
    fresh: rebuild everything, even if there is an index in the folder.
    """

    documents: Iterable[Any] | None
    fresh: bool


@dataclass(frozen=True)
class Built(WithIndex):
    """The result of a build: the index, the id of its snapshot, skipped files, warnings and notices."""

    index: Index
    snapshot: str
    folder: Path
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[EncodingWarning, ...] = ()
    """Files whose encoding had to be guessed, or that contain bytes which are invalid in it."""
    notices: tuple[str, ...] = ()
    """One line each about what the replies of a language model lacked, and other things to know."""
    update: Update = field(default_factory=Update)
    """How the index differs from the one that was in the folder before."""

    def __repr__(self) -> str:
        """Return the index, its folder and the numbers of failures, skipped files and notices, on one line."""
        issues = {"failure": self.failures, "skipped file": self.skipped, "notice": self.notices}
        counts = [f", {counted(len(rows), noun)}" for noun, rows in issues.items() if rows]
        return f"<Built {self.index!r} in {str(self.folder)!r}{''.join(counts)}>"

    def _repr_markdown_(self) -> str:
        """Return as Markdown the contents of the index, the changed documents, failures, skipped files, and notices."""
        blocks = [self.index._repr_markdown_()]  # pyright: ignore[reportPrivateUsage]
        blocks += [f"Documents: {self.update.changes}."] if self.update.changes else []
        failed = [f"{row.document or row.stage}: {row.error}" for row in self.failures]
        issues = [*failed, *(f"{row.document}: {row.reason}" for row in self.skipped)]
        lines = [f"- {escaped(issue)}" for issue in issues[:SHOWN_ISSUES]]
        if (more := len(issues) - SHOWN_ISSUES) > 0:
            lines.append(f"- … and {more:,} more")
        notices = [f"> {escaped(notice)}" for notice in self.notices]
        return "\n\n".join([*blocks, "\n".join(lines), *notices])

    def ask(self, question: str, **how: Any) -> Answer:
        """Answer a question from the index; see `Index.ask`."""
        return self.index.ask(question, **how)

    def search(self, question: str, **how: Any) -> list[Hit]:
        """Return the chunks that rank highest for a question; see `Index.search`."""
        return self.index.search(question, **how)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the attribute of the index with that name."""
            if name.startswith("_") or name == "index":
                raise AttributeError(f"'Built' has no attribute {name!r}")
            return getattr(self.index, name)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """The failures of parts of the build; the rest was completed."""
        return tuple(self.index.failures)

    @property
    def replaced_documents(self) -> int:
        """The number of documents of the previous index if the build shares none (another folder, say), else 0."""
        return self.update.replaced_documents


@dataclass(frozen=True)
class BuildRequest:
    """The folder, settings and options of a build."""

    folder: Path
    resolved: Run
    corrections: Sequence[Correction] = ()
    progress: Progress | None = None
    fresh: bool = False
    agree: Agree | None = None
    workers: Workers = field(default_factory=Workers)

    @property
    def settings(self) -> Settings:
        """The complete settings."""
        return self.resolved.settings

    @classmethod
    def of(cls, folder: str | Path, options: Options) -> BuildRequest:
        """Return the request for some options; a model given as an object is recorded by its name, as functions are."""
        target = path_of(folder)
        run = run_of(options, settings_in(target), builds=True)
        corrections = read_file(file_of(target))  # early, since the file may be invalid
        return cls(target, run, corrections, fresh=bool(options.get("fresh")))

    def update(self, read: Read) -> Update:
        """Compare the documents read with the index in the folder."""
        more: dict[str, Any] = {"corrections": self.corrections, "fresh": self.fresh}
        return update_of(self.folder, read.documents, read.failures, self.settings, **more)


# Building


@public
async def abuild(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    progress: Progress | bool | None = None,
    agree: Agree | None = None,
    workers: int | str | Executor | None = None,
    **options: Unpack[ReadOptions],
) -> Built:
    """Read files and folders, or documents from memory, into an index in a folder, and return it.

        build("docs")
        build(documents=["Ada Brook founded Orran Mill in 1901."], model="openai/gpt-4.1-mini", progress=True)

    `abuild` is the asynchronous form of `build`, for use inside a running event loop.

    sources: files and folders.
    folder: the folder of the index.
    progress: True shows the progress on standard error, in terminals and notebooks; or an object that shows it.
    agree: called with the estimate before a server is asked for anything, or before other documents replace all that an
        index contains; it stops the build by raising.
    workers: the number of processes for a large corpus, by default one for each core; or the address of a Dask
        scheduler, `"tcp://HOST:8786"`, or a `concurrent.futures.Executor` that runs their work. The index does not
        depend on it.

    An existing index in the folder is replaced when the new one is complete; until then it stays readable. If neither
    documents nor settings changed, it is returned as it is. Unless `fresh` is set, communities are carried over (warm
    start), and so are their reports, as far as they did not change.

    Raises UsageError if sources do not exist, NothingToIndex if none can be read, IndexBusy if another process writes
    to the folder.
    """
    request = BuildRequest.of(folder, options)
    with shown(progress) as bars, paused_garbage_collection(), Workers.of(workers) as several:
        several.files = ShardFiles(request.folder / SHARDS, fresh=request.fresh)
        request = replace(request, progress=bars, agree=agree, workers=several)
        given = options.get("documents")
        built = await build_read(  # no other reference to what was read, so that its texts can be freed
            read_sources(sources, given, request.settings, bars, several, index=request.folder), request
        )
    from_memory = options.get("documents") is not None
    notices = _update_notices(built, from_memory=from_memory, fresh=request.fresh)
    return replace(built, notices=(*built.notices, *notices))


build = synchronous(abuild)
"""Read files, folders or documents from memory into an index; see `abuild`."""


async def build_read(read: Read | None, request: BuildRequest) -> Built:
    """Build an index from documents that were read or, with None, from those of the existing index."""
    folder, settings = request.folder, request.settings
    if read and request.agree:  # before the lock: the user may take long to answer
        update = request.update(read)
        replaced = update.replaced_documents
        if not update.up_to_date and (replaced or costs(settings)):
            _warn_of_replacement(update, request)
            check_embedder(request.resolved, folder)
            estimate = await estimated_build(read.documents, update, request)
            request.agree(replace(estimate, replaced_documents=replaced))
    with store.writing(folder):
        if not read:
            before = store.read(folder)
            failures = [row for row in before.failures if row.stage == "read"]
            read = Read(source_documents(before.documents), failures)
        request = replace(request, corrections=read_file(file_of(folder)))  # one may have been added
        skipped, guessed = tuple(read.skipped), tuple(read.warnings)
        update = request.update(read)
        if update.up_to_date and (existing := update.existing):
            store.trim(folder, settings.model_dump(mode="json"))
            return Built(existing, existing.snapshot, folder, skipped, guessed, update=update)
        request.workers.move_texts_to_file(read.documents, folder)
        check_embedder(request.resolved, folder)
        warning = _warn_of_replacement(update, request) if not request.agree else ""
        index, notices, spent = await _indexed(read, request, update)
        index, lost = with_vectors(index, settings, folder, spent, request.progress)
        snapshot = store.commit(folder, index, settings=index.settings, usage=index.usage)
        if request.workers.files:
            request.workers.files.trim()
    if warning and not request.progress:
        notices = (*notices, warning)
        # the caller's line is not on the stack of an event loop, and a notebook should show the warning each time
        warnings.warn_explicit(warning, UserWarning, "conspectus.build", 1)
    index = store.read(folder)
    return Built(index, snapshot, folder, skipped, guessed, (*notices, *lost), update)


def _update_notices(built: Built, *, from_memory: bool, fresh: bool) -> Iterator[str]:
    """Yield notices of possible mistakes: settings that changed, and documents that were not given again."""
    update = built.update
    if update.rebuild_reasons and update.existing and not fresh:
        yield f"Rebuilt from scratch: {'; '.join(update.rebuild_reasons)}."
    deleted = update.changes.deleted if update.changes else ()
    if from_memory and deleted and not update.replaced_documents:
        removed = counted(len(deleted), "document")
        back = f"{_rollback(built.folder)} restores the previous index"
        yield f"Removed {removed} from the index (not given again): {back}."


def _rollback(folder: Path) -> str:
    """Return the code of the call that returns to the previous snapshot."""
    if folder == Path(DEFAULT_FOLDER):
        return "conspectus.rollback()"
    return f"conspectus.rollback(folder={str(folder)!r})"


async def _indexed(read: Read, request: BuildRequest, update: Update) -> tuple[Index, tuple[str, ...], Usage]:
    """Run the stages, and return the index, notices, and the usage of the run."""
    settings, progress = request.settings, request.progress
    corrections, run = request.corrections, request.resolved
    inputs = pipeline.BuildInput(read.documents, settings, read.failures, corrections, update.before)
    inputs = replace(inputs, workers=request.workers, put_early=partial(store.put_early, request.folder))
    embedder = None
    if settings.resolve.resolve == "model":
        embedder = open_embedder(settings.vectors.embedder, settings, request.folder)
        inputs = replace(inputs, embed=embedder and embedder.embed)
    async with run.session(request.folder) as session:
        if session:
            if progress:
                progress.watch(lambda: session.total)
            if replies := session.sender.replies:
                replies.record_build(settings.model_dump(mode="json", by_alias=True))
            llm.open_batches(session.sender, settings, progress.note if progress else log.info)
            check, model = _rest_fits(session, settings, progress), session.model

            def fitted(documents: Sequence[Document], lexicon: Lexicon) -> Model:
                return session.model_with(_extractive(documents, lexicon))

            index = await pipeline.build_index(inputs, fitted if model.selected else model, progress, check)
            index = replace(index, usage=session.usage)
            notices, spent = session.notices, session.total + (embedder.usage if embedder else Usage())
        else:
            index = await pipeline.build_index(inputs, run.model or _extractive, progress)
            notices, spent = (), Usage()
    others = Counter(row.reason for row in read.skipped if row.kind not in OMITTED_KINDS)
    reasons = dict(others.most_common(MOST_REASONS))
    counts = {"left_out": count_omitted(read.skipped), "skipped": reasons}
    origin = {name: json.dumps(count) for name, count in counts.items() if count}
    index = replace(index, origin=origin_of(settings, request.corrections) | origin)
    if update.existing:
        index, lost = with_openie_of(update.existing, index)
        notices = (*notices, *lost)
    return index, notices, spent


def _warn_of_replacement(update: Update, request: BuildRequest) -> str:
    """Return a warning, shown before anything is spent, if other documents replace all those of the index."""
    if not update.changes or not update.replaced_documents:
        return ""
    taken = counted(update.replaced_documents, "document")
    if source := ", ".join(folders_of(update.changes.deleted)):
        taken = f"{taken} of {source}"
    warning = (
        f"This replaces everything in the index ({taken}) with other documents."
        f" {_rollback(request.folder)} restores them; folder=DIR makes a separate index, and"
        " conspectus.build([A, B]) one index of both."
    )
    if request.progress:
        request.progress.note(warning)
    return warning


def _rest_fits(session: Session, settings: Settings, progress: Progress | None) -> Check | None:
    """Return a function that estimates the rest after extraction and checks the budget; None if neither is needed."""
    budget = session.sender.budget
    if not budget.limited and not (progress and progress.shown):
        return None

    async def check(made: GraphBuild, language: str) -> None:
        estimator = estimates.Estimator(session.model, session.sender, settings, batched=settings.llm.batch)
        rest = await estimator.rest(made, language)
        if progress:
            spent, more = estimates.in_words(session.total), estimates.in_words(rest)
            progress.note(f"The graph took {spent}; the rest will take {more}.")
        # If all replies were cached, the user has seen this estimate before and wants to continue.
        if session.total.calls:
            budget.check_room(rest.tokens.low, (rest.cost or estimates.NONE).low)

    return check


def _extractive(documents: Sequence[Document], lexicon: Lexicon) -> Model:
    from conspectus.models.extractive.model import ExtractiveModel
    from conspectus.models.extractive.sentence_store import SentenceStore

    return ExtractiveModel(SentenceStore.read(documents, lexicon))


def costs(settings: Settings) -> bool:
    """Return whether a build with these settings asks a server, so that its cost can be estimated."""
    return bool(settings.language_models) or is_served(settings.vectors.embedder)


def is_free(settings: Settings) -> bool:
    """Return whether every server that a build with these settings asks is known to be free, as local ones are."""
    llm, embedder = settings.llm, settings.vectors.embedder
    servers = [(name, llm.base_url) for name in settings.language_models]
    if is_served(embedder):
        servers.append((embedder, llm.embedder_base_url or llm.base_url))
    return all(budget.is_free(name, settings.prices, base_url) for name, base_url in servers)


# Before a build


@dataclass(frozen=True)
class Preview:
    """What a build would read: counts, files that would be skipped, and files that could not be read.
    If the folder has an index, also how the documents differ from it, and how much would be rebuilt.
    """

    documents: int
    chunks: int
    tokens: int
    """Total tokens of the chunks, whose overlaps count twice."""
    skipped: tuple[Skipped, ...]
    failures: tuple[Failure, ...]
    warnings: tuple[EncodingWarning, ...]
    snapshot: str
    """Snapshot of the existing index; empty if there is none."""
    changes: Changes | None
    rebuild_reasons: tuple[str, ...]
    """Why everything would be rebuilt even though there is an index."""
    pending: tuple[str, ...]
    """Work that would be done even if no document changed."""
    new_chunks: int
    """Number of chunks that the existing index does not have."""

    def __repr__(self) -> str:
        """Return the counts on one line."""
        counts = {"document": self.documents, "chunk": self.chunks, "token": self.tokens}
        return f"<Preview {', '.join(counted(count, noun) for noun, count in counts.items())}>"


@public
def preview(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    **options: Unpack[ReadOptions],
) -> Preview:
    """Read and chunk what `build` would, compare it with the index in the folder, if there is one, and write nothing.

    Raises UsageError and NothingToIndex as `build` does.
    """
    request = BuildRequest.of(folder, options)
    read = read_sources(sources, options.get("documents"), request.settings, index=request.folder)
    chunks = chunk(read.documents, request.settings.chunk)
    update = request.update(read)
    before = {chunk.id for chunk in update.before.chunks} if update.before else set[str]()
    return Preview(
        documents=len(read.documents),
        chunks=len(chunks),
        tokens=sum(chunk.n_tokens for chunk in chunks),
        skipped=tuple(read.skipped),
        failures=tuple(read.failures),
        warnings=tuple(read.warnings),
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
    """Return an estimate of the calls that `build` would make to servers of models, without making any.

    Replies that are cached in the folder are subtracted. Only a `sample` of so many chunks is actually extracted, and
    the rest estimated from it; its replies are cached in the folder, so that `build` does not pay for them again.

    Raises UsageError if the settings name no model on a server and, with a sample, what `build` raises.
    """
    request = BuildRequest.of(folder, options)
    if not costs(request.settings):
        raise UsageError("the extractive model costs nothing: name a language model to estimate")
    read = read_sources(sources, options.get("documents"), request.settings, index=request.folder)
    return run_sync(estimated_build(read.documents, request.update(read), request, sample))


async def estimated_build(
    documents: Sequence[Document], update: Update, request: BuildRequest, sample: int = 0
) -> Estimate:
    """Return the estimate of a build of documents, as `estimate` does."""
    settings, folder = request.settings, request.folder
    if update.up_to_date:
        return estimates.Estimate(())
    chunks = chunk(documents, settings.chunk)
    vectors: list[TaskEstimate] = []
    if is_served(settings.vectors.embedder):
        table = read_sentences(documents, map_sentences(documents)).table
        spans = np.stack([table.document, table.start, table.end], axis=1)
        texts = texts_of_sources(documents, chunks, spans)
        row, described = estimate_texts(texts, settings, folder), estimates.Range(*DESCRIBED)
        calls = row.calls.times(estimates.Range(1, described.high)).whole()
        prompts, cost = row.prompt_tokens.times(described).whole(), row.cost and row.cost.times(described)
        vectors = [replace(row, calls=calls, prompt_tokens=prompts, cost=cost)]
    if request.resolved.model or not settings.language_models:  # an object has no prompts to count
        return estimates.Estimate(tuple(vectors))
    cache = folder if sample or (folder / FILE_NAME).exists() else None
    drawn = Random(SAMPLE_SEED).sample(chunks, min(sample, len(chunks)))
    language = corpus_language(documents, settings.language)
    async with llm.open_session(settings, cache, to_ask=bool(drawn)) as session:
        dates = dates_of(documents)
        await extract(drawn, session.model, settings.extract, language, dates=dates)
        inputs = pipeline.BuildInput(documents, settings, (), request.corrections, update.before)
        estimator = estimates.Estimator(session.model, session.sender, settings, batched=settings.llm.batch)
        estimated = await estimator.build(inputs, chunks, language)
    return replace(estimated, tasks=(*estimated.tasks, *vectors), sampling=session.total)
