"""Correct an index: check a correction, add it to the file, list and undo corrections, apply them at once.

Corrections are kept in a file (`conspectus.corrections`) beside the index or where the settings say, and applied at
every build. Only `apply_corrections` changes the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from conspectus import configuration
from conspectus import corrections as rows
from conspectus.api.building import BuildRequest, Built, build_read
from conspectus.configuration import Resolved
from conspectus.corrections import AddFact, Correction, Delete, Entry, Merge, Rename, Retype, Split
from conspectus.errors import IndexMissing, NotFound, UsageError
from conspectus.explore import find_entity
from conspectus.index import Index
from conspectus.index_models import PREFIXES, index_models_of, with_index_models
from conspectus.indexing.corrections import Corrector, key_of
from conspectus.indexing.read import Read
from conspectus.indexing.resolve import Names
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, resolved, run_sync
from conspectus.settings import Settings
from conspectus.storage import store

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress

State = Literal["applied", "waiting", "failing"]

MODELS = ("model", "llm.base_url", "llm.embedder_base_url", "vectors.embedder", *PREFIXES)
"""Settings that `apply_corrections` takes over as `index_models` says, not as the index records them."""


@dataclass(frozen=True, slots=True)
class CorrectionState:
    """A correction and its state: applied, waiting for the next build, or failing with a `reason`."""

    entry: Entry
    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of an index, in the order in which they are applied."""

    file: Path
    rows: tuple[CorrectionState, ...] = ()
    undone: tuple[int, ...] = ()
    """The numbers of those that the index was built with, but that were removed from the file or edited since."""


def correct(
    folder: str | Path,
    correction: Correction,
    *,
    file: str | Path = "",
    author: str = "",
    note: str = "",
    day: str | None = None,
    settings: Given = None,
) -> Entry:
    """Add a correction of the index in a folder to its file; return it with its number and the index's own names.

    It takes effect at the next build. `file` is the corrections file, if not the one of the settings or the index;
    `day` defaults to today.

        correct("index", Rename("Birrin", "MV Birrin"), author="Anna")

    Raises NotFound, with suggestions, where the index has no entity of a name; UsageError where the correction makes
    no sense, contradicts another one, or the index was imported.
    """
    target = path_of(folder)
    index = store.read(target)
    _check_built_here(index, target)
    path = _file(target, file, settings)
    entries = rows.read_file(path)
    if undone := _undone(index, entries):
        listed = ", ".join(map(str, undone))
        raise UsageError(
            f"correction {listed} was undone or edited since the index was made, so its names may change; "
            "first index again, or run conspectus correct apply"
        )
    rows.check(correction)
    waiting = [entry for entry in entries if entry.mark not in _marks(index)]
    graph = _CorrectedIndex(index, waiting)
    correction = graph.named(rows.cleaned(correction))
    rows.check(correction)
    for entry in entries:
        if correction == entry.correction:
            raise UsageError(f"correction {entry.number} says so already")
        if graph.contradicts(correction, entry.correction):
            raise UsageError(f"this is at odds with {entry}; conspectus correct undo {entry.number} removes that")
    when = date.today().isoformat() if day is None else day
    made = Entry(rows.next_number(path), correction, when, rows.one_line(author), rows.one_line(note))
    if problem := graph.corrector.apply(made).problem:
        raise UsageError(problem)
    rows.append(path, made)
    return made


class _CorrectedIndex:
    """The entities of an index as they will be after the corrections that wait."""

    def __init__(self, index: Index, waiting: Sequence[Entry]) -> None:
        self._index = index
        names = Names({key_of(entity.name): entity.name for entity in index.entities}, {}, {}, {}, [])
        documents = rows.source_documents(index.documents)
        self.corrector = Corrector(names, _uses(index), documents, index.chunks)
        for entry in waiting:
            self.corrector.apply(entry)

    def find(self, name: str) -> str:
        """Return the key of the entity with a name; raise NotFound, with suggestions, where there is none."""
        try:
            return self.corrector.find(name)
        except NotFound:
            if self.corrector.deleted_by(name):
                raise
        return self.corrector.find(find_entity(name, self._index).name)

    def name(self, name: str) -> str:
        """Return the name of the entity that a name or alias means."""
        return self.corrector.display(self.find(name))

    def named(self, correction: Correction) -> Correction:
        """Return a correction by the names of entities; raise UsageError where it would change nothing."""
        match correction:
            case Merge(names, into):
                entities = tuple(dict.fromkeys(map(self.name, names)))
                into = self._owned(into) if into else entities[0]
                if len({*entities, into}) == 1:
                    raise UsageError(f"{' and '.join(names)} are one already: {into}")
                return Merge(entities, into)
            case Split(name, into):
                self._check_split(correction)
                return replace(correction, name=self.name(name), into=self._owned(into))
            case Rename(name, to):
                owner = self.corrector.owner(to)
                if owner is not None and owner != self.find(name):
                    raise UsageError(f"there is a {self.corrector.display(owner)} already; if both are one, merge them")
                return Rename(self.name(name), to)
            case AddFact(source, target):
                ends = [self._end(name, correction.create) for name in (source, target)]
                return replace(correction, source=ends[0], target=ends[1])
            case Retype(name) | Delete(name):
                return replace(correction, name=self.name(name))

    def _owned(self, name: str) -> str:
        """Return the name of the entity that is called so, or the name itself for a new entity."""
        owner = self.corrector.owner(name)
        return name if owner is None else self.corrector.display(owner)

    def _end(self, name: str, create: bool) -> str:
        try:
            return self.name(name)
        except NotFound as error:
            if not create:
                raise NotFound(f"{error}; --create makes it an entity") from None
            return name

    def _check_split(self, split: Split) -> None:
        """Raise NotFound or UsageError where a split by aliases would take nothing, or everything."""
        name, known = self.name(split.name), self.corrector.uses[self.find(split.name)]
        if unknown := [alias for alias in split.aliases if key_of(alias) not in known]:
            raise NotFound(f"{name} is not called {unknown[0]!r} anywhere; its names are {', '.join(sorted(known))}")
        if not split.documents and {key_of(alias) for alias in split.aliases} >= known.keys():
            raise UsageError(f"that is all that {name} is called; rename it instead")

    def contradicts(self, new: Correction, old: Correction) -> bool:
        """Tell whether a correction would take back what another one does."""
        match new, old:
            case (Retype(name), Retype(other)) | (Rename(name), Rename(other)):
                return self._same(name, other)
            case Merge(names), Split(name, into):
                return self._same(name, *names) and self._same(into, *names)
            case Split(name, aliases=aliases, documents=()), Merge(names):
                return self._same(name, old.name) and not {*map(key_of, aliases)}.isdisjoint(map(key_of, names))
            case Delete(name), AddFact(source, target):
                return self._same(name, source) or self._same(name, target)
            case _:
                return False

    def _same(self, name: str, *others: str) -> bool:
        try:
            return self.corrector.find(name) in {self.corrector.find(other) for other in others}
        except NotFound:
            return False


def _uses(index: Index) -> Iterator[tuple[str, str, str]]:
    """Yield every name of an index with each document of its entity, and the entity's key."""
    for entity in index.entities:
        documents = {index.chunk_of[chunk].document_id for chunk in entity.chunk_ids}
        for name in (entity.name, *entity.aliases):
            yield from ((key_of(name), document, key_of(entity.name)) for document in documents)


def corrections(folder: str | Path = DEFAULT_FOLDER, *, file: str | Path = "", settings: Given = None) -> Corrections:
    """Return the corrections of the index in a folder with their states.

    Raises UsageError where their file cannot be read.
    """
    target = path_of(folder)
    try:
        index = store.read(target)
    except IndexMissing:
        index = Index()
    path = _file(target, file, settings)
    entries, applied = rows.read_file(path), _marks(index)
    errors = {failure.stage: failure.error for failure in index.failures}

    def state(entry: Entry) -> CorrectionState:
        if entry.mark not in applied:
            return CorrectionState(entry, "waiting")
        error = errors.get(f"{rows.STAGE} {entry.number}", "")
        reason = error.removeprefix(f"{entry.correction}: ")
        return CorrectionState(entry, "failing" if error else "applied", reason)

    return Corrections(path, tuple(map(state, entries)), _undone(index, entries))


def undo(folder: str | Path, number: int, *, file: str | Path = "", settings: Given = None) -> Entry:
    """Remove a correction from the file and return it; it takes effect at the next build.

    Raises NotFound where there is no such correction, UsageError where a later one uses a name that it introduces.
    """
    path = _file(path_of(folder), file, settings)
    entries = rows.read_file(path)
    entry = next((entry for entry in entries if entry.number == number), None)
    if entry:
        old = set(map(key_of, rows.names_used(entry.correction)))
        new = set(map(key_of, rows.names_made(entry.correction))) - old
        for later in entries[entries.index(entry) + 1 :]:
            if names := [name for name in rows.names_used(later.correction) if key_of(name) in new]:
                raise UsageError(f"{later} names {names[0]}, which comes of it; undo correction {later.number} first")
    return rows.remove(path, number)


def _file(folder: Path, file: str | Path, settings: Given) -> Path:
    return rows.file_of(folder, str(file) or resolved(settings).store.corrections)


def _marks(index: Index) -> frozenset[str]:
    return frozenset(index.origin.get("corrections", "").split())


def _undone(index: Index, entries: Sequence[Entry]) -> tuple[int, ...]:
    removed = _marks(index) - {entry.mark for entry in entries}
    return tuple(sorted(int(mark.partition(":")[0]) for mark in removed))


def _check_built_here(index: Index, folder: Path) -> None:
    """Raise UsageError for an index whose graph was imported."""
    if "conspectus" not in index.origin:
        raise UsageError(
            f"the graph of {folder} was imported and is taken as it was given: "
            "correct it at its source and import it again, or index its documents"
        )


# Applying at once


def apply_corrections(
    folder: str | Path = DEFAULT_FOLDER,
    *,
    file: str | Path = "",
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Built:
    """Rebuild the index in a folder with its corrections as they are now, from the documents that it holds.

    It keeps the settings that the index was built with, but for the given ones (such as the address of a server).
    `file` is the corrections file, if not the one of the index.

    Raises UsageError where the index was imported, and what `build` raises.
    """
    target = path_of(folder)
    index = store.read(target)
    _check_built_here(index, target)
    given = {**(settings or {}), **({"store.corrections": str(file)} if file else {})}
    known = own_settings(index, given)
    chosen, entries = rows.corrections_for(known.settings, target)
    unread = [failure for failure in index.failures if failure.stage == "read"]
    read = Read(rows.source_documents(index.documents), unread)
    return run_sync(build_read(read, BuildRequest(target, replace(known, settings=chosen), entries, progress)))


def own_settings(index: Index, given: Mapping[str, Any] | None = None) -> Resolved:
    """Return the settings that an index was built with, but for the given ones, by dotted key.

    Its models are its own too, whatever `conspectus.toml` and the environment say; those count only where an address
    has to be named: see `index_models`.
    """
    chosen, address = dict(given or {}), index_models_of(index.settings).base_url
    if address and configuration.load(given).settings.llm.base_url.rstrip("/") == address:
        chosen |= {"llm.base_url": address}
    loaded = configuration.load(chosen, environ={})
    origins = {key: origin if origin == "given" else "default" for key, origin in loaded.origins.items()}
    known = with_index_models(Resolved(loaded.settings, origins), [index.settings], builds=True)
    own = {key: value for key, value in _recorded(index) if key not in MODELS}
    for key in MODELS:
        source = Settings() if known.origins[key] == "default" else known.settings
        value: Any = reduce(getitem, key.split("."), source.model_dump(by_alias=True))
        if value is not None:
            own[key] = value
    return Resolved(configuration.load({**own, **chosen}, environ={}).settings, known.origins)


def _recorded(index: Index) -> Iterator[tuple[str, Any]]:
    for key in configuration.FIELDS:
        try:
            value: Any = reduce(getitem, key.split("."), index.settings)
        except KeyError:
            continue
        if value is not None:
            yield key, str(value).partition(",")[0] if key == "language" else value
