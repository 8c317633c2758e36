"""Correct an index: check a correction, add it to the file, list and undo corrections, apply them immediately.

Corrections are stored in a file (`conspectus.corrections`) in the folder of the index and applied at every build. Only
`apply_corrections` changes the index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from conspectus import corrections as records
from conspectus.api.building import BuildRequest, Built, build_read
from conspectus.corrections import Correction, Merge, Rename, Split
from conspectus.errors import IndexMissing, UsageError
from conspectus.explore import find_entity
from conspectus.index import Index
from conspectus.index_models import settings_of_index
from conspectus.indexing.corrections import documents_at
from conspectus.runtime import DEFAULT_FOLDER, Run, path_of, run_sync
from conspectus.storage import store
from conspectus.storage.manifests import editing
from conspectus.text.words import name_key

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress

State = Literal["applied", "waiting", "failing"]


@dataclass(frozen=True, slots=True)
class CorrectionState:
    """A correction and its state: applied, waiting for the next build, or failing with a `reason`."""

    correction: Correction
    state: State
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of an index, in the order in which they are applied."""

    file: Path
    rows: tuple[CorrectionState, ...] = ()
    undone: tuple[Correction, ...] = ()
    """Applied corrections that were undone; the next build reverts them."""


def correct(folder: str | Path, correction: Correction) -> Correction:
    """Add a correction to the corrections file of the index in a folder; return it with its number, date (by default
    today), and entity names as spelt in the index. It takes effect at the next build.

        correct("index", Rename("Birrin", "MV Birrin", author="Anna"))

    Raises NotFound, with suggestions, if the index has no entity of a name; UsageError if the correction is invalid or
    changes nothing, or if the index was imported.
    """
    kind = type(correction)
    if kind not in records.KINDS.values():
        kinds = ", ".join(kind.__name__ for kind in records.KINDS.values())
        raise UsageError(f"a correction must be one of conspectus.corrections ({kinds}), not {correction!r}")
    target = path_of(folder)
    index = _built_here(target)
    path = records.file_of(target)
    with editing(path):
        existing = records.read_file(path)
        waiting = [vars(earlier) for earlier in existing if earlier.mark not in _marks(index)]
        new_names = [name for values in waiting for name in (values.get("into"), values.get("to")) if name]
        values = _with_own_names(records.validated(kind, vars(correction)), index, new_names)
        values |= {"number": records.next_number(path), "date": correction.date or date.today().isoformat()}
        correction = records.validated(kind, values)
        if same := next((earlier for earlier in existing if earlier == correction), None):
            raise UsageError(f"correction {same.number} already says so")
        records.append(path, correction)
    return correction


def _with_own_names(correction: Correction, index: Index, new_names: Sequence[str]) -> dict[str, Any]:
    """Check a correction, and return its values with names as spelt in the index or in waiting corrections."""
    by_key = {name_key(name): name for name in (*index.entity_of_name, *new_names)}

    def own(name: str) -> str:
        return by_key.get(name_key(name)) or find_entity(name, index).name

    values = dict(vars(correction))
    for field in {"name", "source", "target"} & values.keys():
        values[field] = own(values[field])
    match correction:
        case Merge(names, into):
            values["names"] = tuple(dict.fromkeys(map(own, names)))
            values["into"] = own(into) if into in names else by_key.get(name_key(into), into)
            if {*values["names"]} == {values["into"]}:
                raise UsageError(f"{' and '.join(names)} are already one entity: {values['into']}")
        case Split(name, into, documents=()):
            aliases = find_entity(name, index).aliases
            if name_key(into) not in map(name_key, aliases):
                raise UsageError(
                    f"{into} is not an alias of {name}: name the documents in which {name} means {into}"
                )
        case Split(documents=patterns):
            documents_at(patterns, index.documents)
        case Rename(to=to):
            other = by_key.get(name_key(to), values["name"])
            if other != values["name"]:
                raise UsageError(f"there is already an entity {other}; if both are the same, merge them")
        case _:
            pass
    return values


def corrections(folder: str | Path = DEFAULT_FOLDER) -> Corrections:
    """Return the corrections of the index in a folder with their states.

    Raises UsageError if the corrections file cannot be read.
    """
    target = path_of(folder)
    try:
        index = store.read(target)
    except IndexMissing:
        index = Index()
    path, applied = records.file_of(target), _marks(index)
    errors = {failure.stage: failure.error for failure in index.failures}

    def state(correction: Correction) -> CorrectionState:
        if correction.mark not in applied:
            return CorrectionState(correction, "waiting")
        error = errors.get(correction.title, "")
        return CorrectionState(
            correction, "failing" if error else "applied", error.removeprefix(f"{correction}: ")
        )

    undone = tuple(correction for correction in records.undone(path) if correction.mark in applied)
    return Corrections(path, tuple(map(state, records.read_file(path))), undone)


def undo(folder: str | Path, number: int) -> Correction:
    """Comment out a correction in the file and return it; this takes effect at the next build.

    Later corrections that use a name introduced by it fail from then on. Raises NotFound if there is no such
    correction.
    """
    path = records.file_of(path_of(folder))
    with editing(path):
        return records.remove(path, number)


def _marks(index: Index) -> frozenset[str]:
    return frozenset(index.origin.get("corrections", "").split())


def _built_here(folder: Path) -> Index:
    """Return the index in a folder; raise UsageError if its graph was imported."""
    index = store.read(folder)
    if "conspectus" not in index.origin:
        raise UsageError(
            f"the graph of {folder} was imported and cannot be corrected here: "
            "correct it at its source and import it again, or index its documents"
        )
    return index


# Applying immediately


def apply_corrections(
    folder: str | Path = DEFAULT_FOLDER,
    *,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Built:
    """Rebuild the index in a folder from its own documents, with the current corrections.

    The settings are those that the index was built with, except for the given ones (such as the address of a server).
    Raises UsageError if the index was imported, and what `build` raises.
    """
    target = path_of(folder)
    index = _built_here(target)
    known = settings_of_index(index.settings, settings or {})
    request = BuildRequest(target, Run(known.settings, known.origins), progress=progress)
    return run_sync(build_read(None, request))
