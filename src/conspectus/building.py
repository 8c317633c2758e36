"""Build an index, say what that would read and cost, and bring in graphs and vectors from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from conspectus import store
from conspectus.embedding import check_embedder, estimate_vectors, with_vectors
from conspectus.errors import UsageError
from conspectus.models.base import Model
from conspectus.rows import Community, Document, Failure, Skipped, Usage
from conspectus.settings import Settings
from conspectus.tables import Index
from conspectus.updating import Update, origin_of, update_of
from conspectus.working import DEFAULT_FOLDER, Given, read_sources, resolved, run, session_for

if TYPE_CHECKING:
    from conspectus.estimate import Estimate
    from conspectus.index.describe import DescribedGraph
    from conspectus.index.pipeline import Check, Progress
    from conspectus.models.opening import Session
    from conspectus.text.lexicon import Lexicon
    from conspectus.tune import Tuned

SAMPLE_SEED = 42
"""Of the chunks that an estimate asks about."""


@dataclass(frozen=True)
class Built:
    """What a build made: the index, its snapshot's id, and what was passed over."""

    index: Index
    snapshot: str
    folder: Path
    skipped: tuple[Skipped, ...] = ()
    notices: tuple[str, ...] = ()
    """What a language model's replies lacked, and what else is worth knowing, a line each."""
    update: Update = Update()
    """How it follows on the index that stood in the folder."""

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be done, while the rest was."""
        return tuple(self.index.failures)


@dataclass(frozen=True)
class Preview:
    """What a build would read: counts, what would be passed over, and what could not be read."""

    documents: int
    chunks: int
    tokens: int
    """The sum over the chunks, whose overlaps count twice."""
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[Failure, ...] = ()


def preview(
    sources: str | Path | Sequence[str | Path] = (),
    *,
    documents: Iterable[Any] | None = None,
    settings: Given = None,
) -> Preview:
    """Read and cut what `build` would, and write nothing; raise UsageError and NothingToIndex as it does."""
    from conspectus.index.chunk import chunk

    chosen = resolved(settings)
    read_documents, failures, skipped = read_sources(sources, documents, chosen)
    chunks = chunk(read_documents, chosen.chunk)
    total = sum(c.n_tokens for c in chunks)
    return Preview(len(read_documents), len(chunks), total, tuple(skipped), tuple(failures))


def estimate(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    settings: Given = None,
    sample: int = 0,
) -> Estimate:
    """Return what `build` would ask of the servers of language models that the settings name, and ask nothing.

    Replies that are kept in the folder are taken off. A `sample` of so many chunks is asked all the same, and the rest
    told from it; its replies are kept in the folder, so that `build` need not ask for them again.

    Raises UsageError where the settings name no model that is served, and with a sample what `build` does.
    """
    from conspectus.estimate import Estimate, Estimator
    from conspectus.index.chunk import chunk
    from conspectus.index.extract import extract
    from conspectus.models.opening import opened
    from conspectus.models.server.replies import FILE_NAME
    from conspectus.text.language import corpus_language

    chosen = resolved(settings)
    if not costs(chosen):
        raise UsageError("the extractive model costs nothing: name a language model to estimate")
    read_documents, _, _ = read_sources(sources, documents, chosen)
    chunks = chunk(read_documents, chosen.chunk)
    vectors = estimate_vectors(read_documents, chunks, chosen, Path(folder))
    if chosen.model == "extractive":
        return Estimate((vectors,) if vectors else ())
    kept = Path(folder) if sample or (Path(folder) / FILE_NAME).exists() else None
    drawn = Random(SAMPLE_SEED).sample(chunks, min(sample, len(chunks)))
    language = corpus_language(read_documents, chosen.language)

    async def work() -> Estimate:
        async with opened(chosen, kept, to_ask=bool(drawn)) as session:
            await extract(drawn, session.model, chosen.extract, language)
            return await Estimator(session.model, session.sender, chosen).build(read_documents, chunks, language)

    found = run(work())
    return replace(found, tasks=(*found.tasks, vectors)) if vectors else found


def costs(settings: Settings) -> bool:
    """Tell whether a build by these settings asks a server, so that it can be estimated."""
    from conspectus.models.embedders import is_served

    return settings.model != "extractive" or is_served(settings.vectors.embedder)


def build(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    settings: Given = None,
    progress: Progress | None = None,
    fresh: bool = False,
) -> Built:
    """Read files and folders, or documents from memory, into an index in a folder, and return it.

    `documents` are strings, dicts with `text` (and `title`, `id` or `path`, `date`), or a DataFrame with such columns.
    An index that stands in the folder is replaced when the new one is whole; until then it stays readable. Where
    neither documents nor settings changed, it is what is returned. Its communities are carried on, and with them
    their reports, as far as they did not change; not with `fresh`, which makes everything anew.

    Raises UsageError for sources that are not there, NothingToIndex where none can be read, IndexBusy where another
    process writes to the folder.
    """
    return run(abuild(sources, folder, documents=documents, settings=settings, progress=progress, fresh=fresh))


async def abuild(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    settings: Given = None,
    progress: Progress | None = None,
    fresh: bool = False,
) -> Built:
    """Do what `build` does, inside a running event loop."""
    chosen = resolved(settings)
    if progress:
        progress.stage("read", 0)
    index_documents, failures, skipped = read_sources(sources, documents, chosen)
    target = Path(folder)
    with store.writing(target):
        update = update_of(target, index_documents, failures, chosen, fresh=fresh)
        if update.nothing and (standing := update.standing):
            return Built(standing, standing.snapshot, target, tuple(skipped), update=update)
        from conspectus.index.pipeline import build_index  # here, for nobody else need wait until it is imported

        check_embedder(chosen, target)
        async with session_for(chosen, target) as session:
            performer = session.model if session else _fitted
            check = _rest_fits(session, chosen, progress) if session else None
            index = await build_index(index_documents, failures, performer, chosen, progress, check, update.before)
            index = replace(index, usage=session.usage if session else {}, origin=origin_of(chosen))
            notices = session.notices if session else ()
            spent = session.total if session else Usage()
        index, more = with_vectors(index, chosen, target, spent, progress)
        notices = (*notices, *more)
        snapshot = store.commit(target, index, settings=index.settings, usage=index.usage)
    return Built(replace(index, snapshot=snapshot, folder=target), snapshot, target, tuple(skipped), notices, update)


def open_index(folder: str | Path = DEFAULT_FOLDER) -> Index:
    """Open the index in a folder; raise IndexMissing where there is none, IndexDamaged where files are not whole."""
    return store.read(Path(folder))


def import_triples(file: str | Path, folder: str | Path = DEFAULT_FOLDER) -> Index:
    """Make the index in a folder from a knowledge graph without text, and return it.

    See `index.triples.read_triples` for the files it takes. What stood in the folder is replaced.
    """
    from conspectus.index.triples import index_of, read_triples

    index = index_of(*read_triples(Path(file)))
    target = Path(folder)
    with store.writing(target):
        store.commit(target, index, settings=index.settings, usage={})
    return open_index(target)


def import_openie(file: str | Path, folder: str | Path = DEFAULT_FOLDER, *, settings: Given = None) -> Index:
    """Give the index in a folder the triples of its passages that a file holds, and return it.

    Where the index has vectors, the triples get them too. Its graph and reports stay what they are.
    """
    from conspectus.index.embed import embedded
    from conspectus.index.triples import read_openie, with_openie
    from conspectus.query.vector import embedder_of, has_vectors

    passages = read_openie(Path(file))
    target = Path(folder)
    open_index(target)  # or else a folder would be made where there is none
    with store.writing(target):
        standing = open_index(target)
        index = with_openie(standing, passages, str(file))
        if has_vectors(standing):
            own = standing.settings["vectors"]["embedder"]
            index = embedded(index, embedder_of(standing, resolved(settings)), own, standing)
        store.commit(target, index, settings=index.settings, usage=index.usage)
    return open_index(target)


def tune(
    sources: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    settings: Given = None,
    examples: int = 2,
) -> Tuned:
    """Read a sample of a corpus and write prompts made for it into a folder; see `tune.tune`.

    The replies are kept there too. Raises UsageError where the model is the extractive one, which has no prompts.
    """
    from conspectus.index.chunk import chunk
    from conspectus.models.opening import opened
    from conspectus.text.language import corpus_language
    from conspectus.tune import tune as tuned

    chosen = resolved(settings)
    if chosen.model == "extractive":
        raise UsageError("the extractive model has no prompts to tune: name a language model with --model")
    documents, _, _ = read_sources(sources, None, chosen)
    language = corpus_language(documents, chosen.language)

    async def work() -> Tuned:
        async with opened(chosen, Path(folder)) as session:
            chunks = chunk(documents, chosen.chunk)
            return await tuned(chunks, session.model, Path(folder), language, examples=examples)

    return run(work())


def _rest_fits(session: Session, settings: Settings, progress: Progress | None) -> Check | None:
    """Return what estimates the rest when extraction is done, and checks the budget; None where nobody needs it."""
    ledger = session.sender.ledger
    if not ledger.limited and not (progress and progress.shown):
        return None
    from conspectus.estimate import NONE, Estimator, in_words

    def check(graph: DescribedGraph, communities: Sequence[Community], language: str) -> None:
        rest = Estimator(session.model, session.sender, settings).rest(graph, communities, language)
        if progress:
            progress.note(f"The graph took {in_words(session.total)}; the rest will take {in_words(rest)}.")
        if session.total.calls:  # who runs again when all of it is bought has been told, and wants to go on
            ledger.check_room(rest.tokens.low, (rest.cost or NONE).low)

    return check


def _fitted(documents: Sequence[Document], lexicon: Lexicon) -> Model:
    from conspectus.models.extractive.model import ExtractiveModel
    from conspectus.models.extractive.passages import Passages

    return ExtractiveModel(Passages.read(documents, lexicon))
