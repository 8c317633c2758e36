"""Correct an index: take what a person says, check it against the index, keep it, and say what became of it.

Corrections are kept in a file (`corrections.file`), beside the index or where the settings say, and applied whenever
the index is made: nothing here changes the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import date
from pathlib import Path
from typing import Any, Literal, cast

from conspectus.api.remaking import check_made_here
from conspectus.corrections import STAGE, Correction, Entry, check, check_nothing_stands_on
from conspectus.corrections.file import append, file_of, next_number, read_file, remove
from conspectus.errors import IndexMissing, UsageError
from conspectus.index import Index
from conspectus.runtime import DEFAULT_FOLDER, Given, path_of, resolved
from conspectus.storage import store

State = Literal["applied", "waiting", "failing"]


@dataclass(frozen=True, slots=True)
class Standing:
    """A correction and what became of it: applied; waiting for the index to be made again; or failing, and `why`."""

    entry: Entry
    state: State
    why: str = ""


@dataclass(frozen=True, slots=True)
class Corrections:
    """The corrections of an index, in the order in which they are applied."""

    file: Path
    rows: tuple[Standing, ...] = ()
    undone: tuple[int, ...] = ()
    """The numbers of those that the index still has, but not the file, or not so."""


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
    """Keep a correction of the index in a folder, and return it with its number and with the names that the index has.

    It takes effect when the index is made again. `file` is where corrections are kept, if not where the settings or
    the index say; `day` is today's date, if not given.

    Raises NotFound, with what is near, where the index has nothing of a name; UsageError where the correction makes no
    sense, is at odds with another one, or the index was imported.
    """
    from conspectus.api.consistency import Known, check_beside

    target = path_of(folder)
    index = store.read(target)
    check_made_here(index, target)
    path = _file(target, file, settings)
    entries = read_file(path)
    if undone := _undone(index, entries):
        listed = ", ".join(map(str, undone))
        raise UsageError(
            f"correction {listed} was undone or edited since the index was made, so names are not what they will be; "
            "first index again, or conspectus correct apply"
        )
    check(correction)
    known = Known(index, [entry for entry in entries if entry.mark not in _marks(index)])
    correction = known.by_its_names(_clean(correction))
    check(correction)
    for entry in entries:
        check_beside(correction, entry, known)
    when = date.today().isoformat() if day is None else day
    made = Entry(next_number(path), correction, when, _line(author), _line(note))
    known.try_out(made)
    append(path, made)
    return made


def corrections(folder: str | Path = DEFAULT_FOLDER, *, file: str | Path = "", settings: Given = None) -> Corrections:
    """Return the corrections of the index in a folder, and what became of each when it was made.

    Raises UsageError where their file cannot be read.
    """
    target = path_of(folder)
    try:
        index = store.read(target)
    except IndexMissing:
        index = Index()
    path = _file(target, file, settings)
    entries, applied = read_file(path), _marks(index)
    why = {failure.stage: failure.error for failure in index.failures}

    def standing(entry: Entry) -> Standing:
        failure = why.get(f"{STAGE} {entry.number}", "")
        if entry.mark not in applied:
            return Standing(entry, "waiting")
        told = failure.removeprefix(f"{entry.correction}: ")
        return Standing(entry, "failing", told) if failure else Standing(entry, "applied")

    return Corrections(path, tuple(map(standing, entries)), _undone(index, entries))


def undo(folder: str | Path, number: int, *, file: str | Path = "", settings: Given = None) -> Entry:
    """Take a correction away again, and return it; it takes effect when the index is made again.

    Raises NotFound where there is no such correction, UsageError where a later one names what comes of it.
    """
    path = _file(path_of(folder), file, settings)
    entries = read_file(path)
    for place, entry in enumerate(entries):
        if entry.number == number:
            check_nothing_stands_on(entry, entries[place + 1 :])
    return remove(path, number)


def _file(folder: Path, file: str | Path, settings: Given) -> Path:
    return file_of(folder, str(file) or resolved(settings).store.corrections)


def _marks(index: Index) -> frozenset[str]:
    return frozenset(index.origin.get("corrections", "").split())


def _undone(index: Index, entries: Sequence[Entry]) -> tuple[int, ...]:
    left = _marks(index) - {entry.mark for entry in entries}
    return tuple(sorted(int(each.partition(":")[0]) for each in left))


def _clean(correction: Correction) -> Correction:
    """Return a correction whose texts are lines of single spaces that can be written."""

    def clean(value: object) -> object:
        if isinstance(value, str):
            return _line(value)
        return tuple(map(clean, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else value

    values: dict[str, Any] = {field.name: clean(getattr(correction, field.name)) for field in fields(correction)}
    return replace(correction, **values)


def _line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode().split())
