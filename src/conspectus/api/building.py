"""Build an index, or bring one up to date, and bring in graphs from elsewhere."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.api.embedding import check_embedder, with_vectors
from conspectus.api.previewing import costs, estimate_of
from conspectus.configuration import INDEX, Resolved
from conspectus.corrections import Entry, corrections_for
from conspectus.errors import ModelError, UsageError
from conspectus.index import Index
from conspectus.indexing.update import Update, origin_of, own_embedder, update_of
from conspectus.models.base import Model
from conspectus.rows import LEFT_OUT, Community, Document, EncodingWarning, Failure, Skipped, Usage, left_out
from conspectus.runtime import (
    DEFAULT_FOLDER,
    Given,
    Options,
    known_by,
    path_of,
    paused_garbage_collection,
    read_sources,
    resolved,
    resolved_for,
    run_sync,
    session_for,
    settings_in,
    shown,
    with_options,
)
from conspectus.settings import Settings
from conspectus.storage import store

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.indexing.describe import DescribedGraph
    from conspectus.indexing.estimate import Estimate
    from conspectus.indexing.pipeline import Check, Progress
    from conspectus.indexing.read import Read
    from conspectus.interchange.graphrag import Imported
    from conspectus.models.llm.session import Session
    from conspectus.text.lexicon import Lexicon
    from conspectus.tune import Tuned

MOST_REASONS = 20
"""Reasons for not reading files that an index remembers: one for each suffix, and few folders hold more kinds."""
Agree = Callable[["Estimate"], None]
"""Called with what a build will take, before it is spent; raises if that is too much."""


@dataclass(frozen=True)
class Built:
    """What a build made: the index, its snapshot's id, and what was passed over."""

    index: Index
    snapshot: str
    folder: Path
    skipped: tuple[Skipped, ...] = ()
    warnings: tuple[EncodingWarning, ...] = ()
    """Files whose encoding had to be guessed, or that hold bytes which are invalid in it."""
    notices: tuple[str, ...] = ()
    """What a language model's replies lacked, and what else is worth knowing, a line each."""
    update: Update = field(default_factory=Update)
    """How it follows on the index that stood in the folder."""

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be done, while the rest was."""
        return tuple(self.index.failures)


@with_options
def build(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    progress: Progress | bool | None = None,
    fresh: bool = False,
    agree: Agree | None = None,
    **options: Unpack[Options],
) -> Built:
    """Read files and folders, or documents from memory, into an index in a folder, and return it.

        build("docs")
        build(documents=["Ada Brook founded Orran Mill in 1901."], model="openai/gpt-4.1-mini", progress=True)

    sources: files and folders.
    folder: where the index is put.
    documents: strings, dicts with `text` (and `title`, `id` or `path`, `date`), or a DataFrame with such columns.
    progress: True shows on standard error how far it is, in terminals and notebooks; or an object that shows it.
    fresh: make everything anew.

    An index that stands in the folder is replaced when the new one is whole; until then it stays readable. Where
    neither documents nor settings changed, it is what is returned. Its communities are carried on, and with them
    their reports, as far as they did not change; not with `fresh`, which makes everything anew.

    `agree` is called with the estimate before a server is asked for anything, and stops the build by raising.

    Raises UsageError for sources that are not there, NothingToIndex where none can be read, IndexBusy where another
    process writes to the folder.
    """
    return run_sync(
        abuild(sources, folder, documents=documents, progress=progress, fresh=fresh, agree=agree, **options)
    )


@with_options
async def abuild(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    progress: Progress | bool | None = None,
    fresh: bool = False,
    agree: Agree | None = None,
    **options: Unpack[Options],
) -> Built:
    """Do what `build` does, inside a running event loop."""
    target = path_of(folder)
    known = _named_only(options, target)
    chosen, corrections = corrections_for(known.settings, target)  # first, for the file may be wrong
    with shown(progress) as bars, paused_garbage_collection():
        read = read_sources(sources, documents, chosen, bars)
        return await build_read(
            read, target, replace(known, settings=chosen), corrections, bars, fresh=fresh, agree=agree
        )


async def build_read(
    read: Read,
    target: Path,
    known: Resolved,
    corrections: Sequence[Entry],
    progress: Progress | None = None,
    *,
    fresh: bool = False,
    agree: Agree | None = None,
) -> Built:
    """Do what `build` does with what was read."""
    index_documents, failures, skipped, warnings = read
    chosen = known.settings
    asks = agree if costs(chosen) else None
    if asks:  # before the lock: nobody should be kept from writing while a question waits for its answer
        update = update_of(target, index_documents, failures, chosen, corrections=corrections, fresh=fresh)
        chosen = _with_own_embedder(known, update, target)
        _warn_of_replacement(update, progress)
        asks(await estimate_of(index_documents, update, target, chosen, corrections))
        chosen = known.settings
    with store.writing(target):
        update = update_of(target, index_documents, failures, chosen, corrections=corrections, fresh=fresh)
        if update.up_to_date and (standing := update.existing):
            store.trim(target, chosen.model_dump(mode="json"))
            return Built(standing, standing.snapshot, target, tuple(skipped), tuple(warnings), update=update)
        from conspectus.indexing.pipeline import (  # here, for nobody else need wait until it is imported
            BuildInput,
            build_index,
        )

        chosen = _with_own_embedder(known, update, target)
        if not asks:
            _warn_of_replacement(update, progress)
        async with session_for(chosen, target, remembered=known.remembers_model) as session:
            if progress and session:
                progress.watch(lambda: session.total)
            performer = session.model if session else _fitted
            check = _rest_fits(session, chosen, progress) if session else None
            inputs = BuildInput(index_documents, chosen, failures, corrections, update.before)
            index = await build_index(inputs, performer, progress, check)
            index = replace(
                index,
                usage=session.usage if session else {},
                origin=origin_of(chosen, corrections) | _left_out(skipped),
            )
            notices = session.notices if session else ()
            spent = session.total if session else Usage()
        if update.existing:
            from conspectus.indexing.triples import with_openie_of

            index, lost = with_openie_of(update.existing, index)
            notices = (*notices, *lost)
        index, more = with_vectors(index, chosen, target, spent, progress)
        notices = (*notices, *more)
        snapshot = store.commit(target, index, settings=index.settings, usage=index.usage)
    built = replace(index, snapshot=snapshot, folder=target)
    return Built(built, snapshot, target, tuple(skipped), tuple(warnings), notices, update)


def _warn_of_replacement(update: Update, progress: Progress | None) -> None:
    """Say before anything is spent that other documents take the place of all that the index holds."""
    changes = update.changes
    if not progress or not changes or changes.unchanged or changes.edited or changes.renamed or not changes.deleted:
        return
    folders = {os.path.dirname(path) for path in changes.deleted}
    source = os.path.commonpath(folders) if len({os.path.isabs(folder) for folder in folders}) == 1 else ""
    count = len(changes.deleted)
    documents = f"the {count:,} documents of {source}" if source else f"all {count:,} documents of the index"
    progress.note(
        f"This takes {documents} out of the index and puts others in their place."
        " conspectus rollback returns to them; --index DIR makes an index of its own."
    )


def _left_out(skipped: Iterable[Skipped]) -> dict[str, str]:
    """Return what an index's origin says of files that were not read, for its status."""
    rows = tuple(skipped)
    others = Counter(row.reason for row in rows if row.kind not in LEFT_OUT)
    counts = {"left_out": left_out(rows), "skipped": dict(others.most_common(MOST_REASONS))}
    return {name: json.dumps(count) for name, count in counts.items() if count}


def open_index(folder: str | Path = DEFAULT_FOLDER) -> Index:
    """Open the index in a folder; raise IndexMissing where there is none, IndexDamaged where files are not whole."""
    return store.read(path_of(folder))


def rollback(folder: str | Path = DEFAULT_FOLDER, snapshot: str = "") -> Index:
    """Make a kept snapshot the current one again, and return it; the one that was stays kept: see `history`.

    It is named by the first characters of its id; without one it is the snapshot before the current one. Whoever asks
    meanwhile gets the one or the other, whole.

    Raises NotFound where no such snapshot is kept, IndexDamaged where a file of it is not what it was.
    """
    target = path_of(folder)
    open_index(target)  # or else a folder would be made where there is none
    with store.writing(target):
        store.rollback(target, snapshot)
        return open_index(target)


def import_triples(
    file: str | Path,
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: str | Path | Sequence[str | Path] = (),
    links: str | Path | None = None,
    settings: Given = None,
    progress: Progress | None = None,
) -> Index:
    """Make the index in a folder from a knowledge graph, alone or with documents about its entities, and return it.

    See `index.triple_files.read_triples` for the files it takes, `interchange.linked` for how documents are linked;
    `links` names a table of entities and documents. What stood in the folder is replaced.

    Raises DocumentError where the file holds no triples, UsageError for links that cannot be read or without
    documents, and what `build` does for sources.
    """
    from conspectus.indexing.triples import index_of
    from conspectus.interchange.triples import read_triples

    if progress:
        progress.stage("read", 0)
    given, chosen = read_triples(Path(file)), resolved(settings)
    if documents:
        from conspectus.interchange.linked import linked_index, listed_links, read_links

        stated = read_links(Path(links)) if links else []
        texts, failures, *_ = read_sources(documents, None, chosen)
        if progress:
            progress.stage("lexical", 0)
        index = linked_index(given, texts, [*listed_links(texts), *stated], chosen, failures)
    elif links:
        raise UsageError("links go from entities to documents: name the documents, too")
    else:
        if progress:
            progress.stage("communities", 0)
        index = index_of(given, chosen.communities)
    target = path_of(folder)
    with store.writing(target):
        store.commit(target, index, settings=index.settings, usage={})
    return open_index(target)


def import_graphrag(
    source: str | Path, folder: str | Path = DEFAULT_FOLDER, *, progress: Progress | None = None
) -> Imported:
    """Make the index in a folder from an output folder of Microsoft GraphRAG, and return it with what did not fit.

    See `interchange.graphrag` for the rules. What stood in the folder is replaced.

    Raises IndexMissing where there is no such output, IndexDamaged where its tables lack what is needed.
    """
    from conspectus.interchange.graphrag import read_graphrag

    imported = read_graphrag(Path(source), progress)
    index, target = imported.index, path_of(folder)
    with store.writing(target):
        store.commit(target, index, settings=index.settings, usage={})
    return replace(imported, index=open_index(target))


def import_openie(file: str | Path, folder: str | Path = DEFAULT_FOLDER, *, settings: Given = None) -> Index:
    """Give the index in a folder the triples of its passages that a file holds, and return it.

    Where the index has vectors, the triples get them too. Its graph and reports stay what they are.
    """
    from conspectus.indexing.embed import with_vectors
    from conspectus.indexing.triples import read_openie, with_openie
    from conspectus.models.embedders import Prefixes
    from conspectus.retrieval.vector import embedder_of, has_vectors

    passages = read_openie(Path(file))
    target = path_of(folder)
    open_index(target)  # or else a folder would be made where there is none
    with store.writing(target):
        standing = open_index(target)
        index = with_openie(standing, passages, str(file))
        if has_vectors(standing):
            made = standing.settings["vectors"]
            prefixes = Prefixes(made.get("query_prefix", ""), made.get("passage_prefix", ""))
            by = embedder_of(standing, resolved_for(settings, [standing.settings], language_model=False).settings)
            index = with_vectors(index, by, made["embedder"], standing, prefixes=prefixes)
        store.commit(target, index, settings=index.settings, usage=index.usage)
    return open_index(target)


@with_options
def tune(
    sources: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    examples: int = 2,
    **options: Unpack[Options],
) -> Tuned:
    """Read a sample of a corpus and write prompts made for it into a folder; see `tune.tune`.

    The replies are kept there too. Raises UsageError where the model is the extractive one, which has no prompts.
    """
    from conspectus.indexing.chunk import chunk
    from conspectus.models.llm.session import open_session
    from conspectus.text.language import corpus_language
    from conspectus.tune import tune as tuned

    chosen = _named_only(options, Path(folder)).settings
    if chosen.model == "extractive":
        raise UsageError("the extractive model has no prompts to tune: name a language model with --model")
    documents = read_sources(sources, None, chosen).documents
    language = corpus_language(documents, chosen.language)

    async def work() -> Tuned:
        async with open_session(chosen, path_of(folder)) as session:
            chunks = chunk(documents, chosen.chunk)
            room = chosen.global_.context_tokens
            return await tuned(chunks, session.model, path_of(folder), language, examples=examples, sample_tokens=room)

    return run_sync(work())


def _named_only(options: Options, folder: Path) -> Resolved:
    """Return the settings that options make; raise UsageError for a model that has no name to be recorded under."""
    known, performer = known_by(options, settings_in(folder), builds=True)
    if performer:
        raise UsageError(f"an index is built by a model that is named or a function, and not by {performer!r}")
    return known


def _with_own_embedder(known: Resolved, update: Update, folder: Path) -> Settings:
    """Return settings whose embedder can be had: the one that they name, or else a local one of the index that stands.

    A served one that an index remembers is among the settings already. Raises as `check_embedder` does.
    """
    from conspectus.models.embedders import NONE, PREFIXES, is_served

    settings, origin = known.settings, known.origins.get("vectors.embedder", "default")
    own = own_embedder(update.existing) if update.existing else ""
    if origin == "default" and settings.vectors.embedder == NONE and own and not is_served(own):
        made: Mapping[str, str] = update.existing.settings["vectors"] if update.existing else {}
        prefixes = {key: made.get(key, "") for key in PREFIXES if getattr(settings.vectors, key) is None}
        vectors = settings.vectors.model_copy(update={"embedder": own, **prefixes})
        with suppress(UsageError, ModelError):  # it cannot be had here: then there will be no vectors, which is told
            check_embedder(inherited := settings.model_copy(update={"vectors": vectors}), folder)
            return inherited
    try:
        check_embedder(settings, folder)
    except (UsageError, ModelError) as error:
        if origin != INDEX:
            raise
        told = f"this index has vectors of {settings.vectors.embedder}: --embedder none builds without vectors"
        raise type(error)(f"{error}; {told}") from None
    return settings


def _rest_fits(session: Session, settings: Settings, progress: Progress | None) -> Check | None:
    """Return what estimates the rest when extraction is done, and checks the budget; None where nobody needs it."""
    ledger = session.sender.ledger
    if not ledger.limited and not (progress and progress.shown):
        return None
    from conspectus.indexing.estimate import NONE, Estimator, in_words

    def check(graph: DescribedGraph, communities: Sequence[Community], language: str) -> None:
        rest = Estimator(session.model, session.sender, settings).rest(graph, communities, language)
        if progress:
            progress.note(f"The graph took {in_words(session.total)}; the rest will take {in_words(rest)}.")
        if session.total.calls:  # who runs again when all of it is bought has been told, and wants to go on
            ledger.check_room(rest.tokens.low, (rest.cost or NONE).low)

    return check


def _fitted(documents: Sequence[Document], lexicon: Lexicon) -> Model:
    from conspectus.models.extractive.model import ExtractiveModel
    from conspectus.models.extractive.sentence_store import SentenceStore

    return ExtractiveModel(SentenceStore.read(documents, lexicon))
