"""Build an index, or bring it up to date."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.api.embedding import check_embedder, with_vectors
from conspectus.configuration import INDEX, Resolved
from conspectus.corrections import Correction, corrections_for
from conspectus.errors import ModelError, UsageError
from conspectus.index import Index
from conspectus.index_status import folders_of
from conspectus.indexing.given_graph import with_openie_of
from conspectus.indexing.update import Update, origin_of, own_embedder, update_of
from conspectus.models.base import Model
from conspectus.models.embedders import NONE, PREFIXES, is_served
from conspectus.models.llm import budget
from conspectus.rows import (
    OMITTED_KINDS,
    Document,
    EncodingWarning,
    Failure,
    Skipped,
    Usage,
    count_omitted,
    escaped,
)
from conspectus.runtime import (
    DEFAULT_FOLDER,
    Options,
    WithIndex,
    path_of,
    public,
    read_sources,
    run_of,
    session_for,
    settings_in,
    shown,
    synchronous,
)
from conspectus.settings import Settings
from conspectus.storage import store
from conspectus.storage.lazy import paused_garbage_collection

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.indexing.estimate import Estimate
    from conspectus.indexing.pipeline import Check, GraphBuild, Progress
    from conspectus.indexing.read import Read
    from conspectus.models.llm.model import Session
    from conspectus.rows import Answer, Hit
    from conspectus.text.lexicon import Lexicon

MOST_REASONS = 20
"""Reasons for not reading files that an index remembers: one for each suffix, and few folders hold more kinds."""
Agree = Callable[["Estimate"], None]
"""Called with what a build will take, before it is spent; raises if that is too much."""


class ReadOptions(Options, total=False):
    """Options of every function that reads documents.

    documents: strings, dicts with `text` (and `title`, `id` or `path`, `date`), or a DataFrame with such columns.
    fresh: make everything anew, though there is an index in the folder.
    """

    documents: Iterable[Any] | None
    fresh: bool


@dataclass(frozen=True)
class Built(WithIndex):
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

    def __repr__(self) -> str:
        """Return the index, its folder and how much needs a look, on one line."""
        parts = (
            ("failure", self.failures),
            ("skipped file", self.skipped),
            ("warning", self.warnings),
            ("notice", self.notices),
        )
        counts = ((len(rows), name) for name, rows in parts if rows)
        listed = "".join(f", {count} {name}{'' if count == 1 else 's'}" for count, name in counts)
        return f"<Built {self.index!r} in {str(self.folder)!r}{listed}>"

    def _repr_markdown_(self) -> str:
        """Return what the index holds, and the notices, as Markdown."""
        notices = "".join(f"\n\n> {escaped(notice)}" for notice in self.notices)
        return self.index._repr_markdown_() + notices  # pyright: ignore[reportPrivateUsage]

    def ask(self, question: str, **how: Any) -> Answer:
        """Answer a question from the index; see `Index.ask`."""
        return self.index.ask(question, **how)

    def search(self, question: str, **how: Any) -> list[Hit]:
        """Return the chunks that rank highest for a question; see `Index.search`."""
        return self.index.search(question, **how)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return what the index has of that name."""
            if name.startswith("_") or name == "index":
                raise AttributeError(f"'Built' has no attribute {name!r}")
            return getattr(self.index, name)

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be done, while the rest was."""
        return tuple(self.index.failures)

    @property
    def replaced_documents(self) -> int:
        """How many documents an index held before, where none of them is in this one: of another folder, perhaps."""
        return self.update.replaced_documents


@dataclass(frozen=True)
class BuildRequest:
    """Where an index is built and how."""

    folder: Path
    resolved: Resolved
    corrections: Sequence[Correction] = ()
    progress: Progress | None = None
    fresh: bool = False
    agree: Agree | None = None

    @property
    def settings(self) -> Settings:
        """The settings in full."""
        return self.resolved.settings

    @classmethod
    def of(cls, folder: str | Path, options: Options, *, fresh: bool = False) -> BuildRequest:
        """Return the request that options make; raise UsageError for a model that has no name to be recorded under."""
        target = path_of(folder)
        run = run_of(options, settings_in(target), builds=True)
        if run.model:
            raise UsageError(
                f"an index is built by a model that is named or a function, and not by {run.model!r}"
            )
        settings, corrections = corrections_for(run.settings, target)  # first, for the file may be wrong
        return cls(target, replace(run.resolved, settings=settings), corrections, fresh=fresh)

    def with_own_embedder(self, update: Update) -> BuildRequest:
        """Return the request with an embedder that works; raise as `check_embedder` does."""
        return replace(self, resolved=_with_own_embedder(self, update))

    def update(self, documents: Sequence[Document], failures: Sequence[Failure]) -> Update:
        """Compare documents with the index in the folder."""
        more: dict[str, Any] = {"corrections": self.corrections, "fresh": self.fresh}
        return update_of(self.folder, documents, failures, self.settings, **more)


# Building


@public
async def abuild(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    progress: Progress | bool | None = None,
    agree: Agree | None = None,
    **options: Unpack[ReadOptions],
) -> Built:
    """Read files and folders, or documents from memory, into an index in a folder, and return it.

        build("docs")
        build(documents=["Ada Brook founded Orran Mill in 1901."], model="openai/gpt-4.1-mini", progress=True)

    `abuild` does inside a running event loop what `build` does.

    sources: files and folders.
    folder: where the index is put.
    progress: True shows on standard error how far it is, in terminals and notebooks; or an object that shows it.
    agree: is called with the estimate before a server is asked for anything, or other documents take the place of all
        that an index holds, and stops the build by raising.

    An index that is in the folder is replaced when the new one is complete; until then it stays readable. Where
    neither documents nor settings changed, it is what is returned. Its communities are carried on, and with them
    their reports, as far as they did not change; not with `fresh`.

    Raises UsageError for sources that are not there, NothingToIndex where none can be read, IndexBusy where another
    process writes to the folder.
    """
    request = BuildRequest.of(folder, options, fresh=options.get("fresh", False))
    with shown(progress) as bars, paused_garbage_collection():
        read = read_sources(sources, options.get("documents"), request.settings, bars)
        return await build_read(read, replace(request, progress=bars, agree=agree))


build = synchronous(abuild)
"""Read files, folders or documents from memory into an index; see `abuild`."""


async def build_read(read: Read, request: BuildRequest) -> Built:
    """Do what `build` does with what was read."""
    folder, settings = request.folder, request.settings
    skipped, guessed = tuple(read.skipped), tuple(read.warnings)
    if request.agree:  # before the lock: others may write while a question waits for its answer
        await _ask_to_agree(read, request, request.agree)
    with store.writing(folder):
        update = request.update(read.documents, read.failures)
        if update.up_to_date and (existing := update.existing):
            store.trim(folder, settings.model_dump(mode="json"))
            return Built(existing, existing.snapshot, folder, skipped, guessed, update=update)
        request = request.with_own_embedder(update)
        settings = request.settings
        warning = _warn_of_replacement(update, request.progress) if not request.agree else ""
        index, notices, spent = await _indexed(read, request, update)
        index, lost = with_vectors(index, settings, folder, spent, request.progress)
        snapshot = store.commit(folder, index, settings=index.settings, usage=index.usage)
    if warning and not request.progress:
        notices = (*notices, warning)
        warnings.warn(warning, UserWarning, stacklevel=2)
    index = replace(index, snapshot=snapshot, folder=folder)
    return Built(index, snapshot, folder, skipped, guessed, (*notices, *lost), update)


async def _ask_to_agree(read: Read, request: BuildRequest, agree: Agree) -> None:
    """Ask before anything is spent, and before all documents of an index are replaced."""
    update = request.update(read.documents, read.failures)
    replaced = bool(_warn_of_replacement(update, request.progress))
    if update.up_to_date or not (replaced or costs(request.settings)):
        return
    from conspectus.api.estimating import estimated_build  # with aiohttp, which takes long to import

    estimate = await estimated_build(read.documents, update, request.with_own_embedder(update))
    agree(replace(estimate, replaced_documents=update.replaced_documents if replaced else 0))


async def _indexed(read: Read, request: BuildRequest, update: Update) -> tuple[Index, tuple[str, ...], Usage]:
    """Run the stages, and return the index with notices and what was spent on it."""
    from conspectus.indexing.pipeline import BuildInput, build_index  # here: nobody else need wait for its import

    settings, progress = request.settings, request.progress
    inputs = BuildInput(read.documents, settings, read.failures, request.corrections, update.before)
    async with session_for(settings, request.folder, remembered=request.resolved.remembers_model) as session:
        if session:
            if progress:
                progress.watch(lambda: session.total)
            if session.sender.replies:
                session.sender.replies.record_build(settings.model_dump(mode="json", by_alias=True))
            index = await build_index(inputs, session.model, progress, _rest_fits(session, settings, progress))
            index, notices, spent = replace(index, usage=session.usage), session.notices, session.total
        else:
            index, notices, spent = await build_index(inputs, _extractive, progress), (), Usage()
    others = Counter(row.reason for row in read.skipped if row.kind not in OMITTED_KINDS)
    counts = {"left_out": count_omitted(read.skipped), "skipped": dict(others.most_common(MOST_REASONS))}
    origin = {name: json.dumps(count) for name, count in counts.items() if count}
    index = replace(index, origin=origin_of(settings, request.corrections) | origin)
    if update.existing:
        index, lost = with_openie_of(update.existing, index)
        notices = (*notices, *lost)
    return index, notices, spent


def _warn_of_replacement(update: Update, progress: Progress | None) -> str:
    """Say before anything is spent that other documents take the place of all that the index holds."""
    if not update.changes or not update.replaced_documents:
        return ""
    source = ", ".join(folders_of(update.changes.deleted))
    count = update.replaced_documents
    documents = f"the {count:,} documents of {source}" if source else f"all {count:,} documents of the index"
    if count == 1:
        documents = "the only document"
    warning = (
        f"This takes {documents} out of the index and puts others in their place."
        " conspectus.rollback() returns to them; folder=DIR makes an index of its own, and"
        " conspectus.build([A, B]) one of both."
    )
    if progress:
        progress.note(warning)
    return warning


def _with_own_embedder(request: BuildRequest, update: Update) -> Resolved:
    """Return settings whose embedder works: the one that they name, or else a local one of the existing index.

    A served one that an index remembers is among the settings already. Raises as `check_embedder` does.
    """
    settings, folder = request.settings, request.folder
    origin = request.resolved.origins.get("vectors.embedder", "default")
    own = own_embedder(update.existing) if update.existing else ""
    if (
        update.existing
        and origin == "default"
        and settings.vectors.embedder == NONE
        and own
        and not is_served(own)
    ):
        made: Mapping[str, str] = update.existing.settings["vectors"]
        prefixes = {key: made.get(key, "") for key in PREFIXES if getattr(settings.vectors, key) is None}
        vectors = settings.vectors.model_copy(update={"embedder": own, **prefixes})
        inherited = settings.model_copy(update={"vectors": vectors})
        with suppress(
            UsageError, ModelError
        ):  # it does not work here: then there will be no vectors, with a notice
            check_embedder(inherited, folder)
            return replace(request.resolved, settings=inherited)
    try:
        check_embedder(settings, folder)
    except (UsageError, ModelError) as error:
        if origin != INDEX:
            raise
        instead = f"this index has vectors of {settings.vectors.embedder}: embedder='none' builds without vectors"
        raise type(error)(f"{error}; {instead}") from None
    return request.resolved


def _rest_fits(session: Session, settings: Settings, progress: Progress | None) -> Check | None:
    """Return what estimates the rest when extraction is done, and checks the budget; None where nobody needs it."""
    budget = session.sender.budget
    if not budget.limited and not (progress and progress.shown):
        return None
    from conspectus.indexing.estimate import NONE, Estimator, in_words

    async def check(made: GraphBuild, language: str) -> None:
        rest = await Estimator(session.model, session.sender, settings).rest(made, language)
        if progress:
            progress.note(f"The graph took {in_words(session.total)}; the rest will take {in_words(rest)}.")
        if session.total.calls:  # with all replies cached the user has seen this before, and wants to go on
            budget.check_room(rest.tokens.low, (rest.cost or NONE).low)

    return check


def _extractive(documents: Sequence[Document], lexicon: Lexicon) -> Model:
    from conspectus.models.extractive.model import ExtractiveModel
    from conspectus.models.extractive.sentence_store import SentenceStore

    return ExtractiveModel(SentenceStore.read(documents, lexicon))


def costs(settings: Settings) -> bool:
    """Tell whether a build by these settings asks a server, so that it can be estimated."""
    return settings.model != "extractive" or is_served(settings.vectors.embedder)


def is_free(settings: Settings) -> bool:
    """Tell whether every server that a build by these settings asks is known to cost nothing, as local ones do."""
    llm, embedder = settings.llm, settings.vectors.embedder
    models = () if settings.model == "extractive" else (settings.model, *llm.tasks.values())
    servers = [(name, llm.base_url) for name in models if name != "extractive"]
    if is_served(embedder):
        servers.append((embedder, llm.embedder_base_url or llm.base_url))
    return all(budget.is_free(name, settings.prices, base_url) for name, base_url in servers)
