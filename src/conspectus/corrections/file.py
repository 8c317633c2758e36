"""The file of corrections: TOML, an entry for each, to be read and edited by people too.

    [[correction]]
    number = 2
    rename = "Birrin"
    to = "MV Birrin"
    date = 2026-11-21
    author = "Anna"
    note = "the boat, not the rock"

Entries are added at its end and taken out of it as text, so that comments and the rest of it stay as they are. Where
the last one is undone, a line `last = 2` above them says which numbers were given: none is given twice.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, fields
from datetime import date
from pathlib import Path
from typing import Any, cast

from conspectus.corrections import KINDS, Correction, Entry, check
from conspectus.errors import NotFound, StoreError, UsageError
from conspectus.settings import Settings
from conspectus.storage import manifests

FILE_NAME = "corrections.toml"
HEAD = """\
# Corrections by people. `conspectus index` applies them in this order; `conspectus correct` adds and removes them.
"""
LAST = "last"
"""The key of the highest number that was given."""
_LAST = re.compile(rf"^[ \t]*{LAST}[ \t]*=.*\n?", re.MULTILINE)
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*correction[ \t]*\]\]")
_COMMON = ("number", "date", "author", "note")
_TYPES = {"str": "a text", "tuple[str, ...]": "a list of texts", "float": "a number", "bool": "true or false"}


def file_of(folder: Path, said: str = "") -> Path:
    """Return where the corrections of the index in a folder are kept: where it is said, where those were that it was
    made with, or in the folder.
    """
    if not said:
        with suppress(StoreError):  # where there is no index, or none that can be read
            said = str(manifests.current(folder).settings.get("store", {}).get("corrections", ""))
    return Path(said).expanduser() if said else folder / FILE_NAME


def corrections_for(settings: Settings, folder: Path) -> tuple[Settings, list[Entry]]:
    """Return the corrections that an index in a folder is to be made with, and settings that say where they are kept.

    Raises UsageError as `read_file` does.
    """
    path = file_of(folder, settings.store.corrections)
    if path != folder / FILE_NAME:
        kept = settings.store.model_copy(update={"corrections": str(path.absolute())})
        settings = settings.model_copy(update={"store": kept})
    return settings, read_file(path)


def read_file(path: Path) -> list[Entry]:
    """Return the corrections of a file in its order, none where there is no file.

    Raises UsageError, which names the line, where it is not what such a file is.
    """
    text = _text(path)
    content = _content(path, text)
    rows, lines = content.pop("correction", []), _headers(text)
    if not isinstance(content.pop(LAST, 0), int):
        raise UsageError(f"{path}: `{LAST}` is the highest number that was given, as {LAST} = 1")
    if content:
        raise UsageError(
            f"{path} holds `{next(iter(content))}`; each correction goes under a [[correction]] of its own"
        )
    if not isinstance(rows, list) or len(cast("list[Any]", rows)) != len(lines):
        raise UsageError(f"{path}: write each correction under a line [[correction]], and each text on one line")
    entries: list[Entry] = []
    for row, line in zip(cast("list[dict[str, Any]]", rows), lines, strict=True):
        try:
            entries.append(_entry(row, entries))
        except UsageError as error:
            raise UsageError(f"{path}, line {line + 1}: {error}") from None
    return entries


def next_number(path: Path) -> int:
    """Return the number of the next correction in a file, which none had that was undone."""
    last: int = _content(path, _text(path)).get(LAST, 0)
    return 1 + max((last, *(entry.number for entry in read_file(path))))


def append(path: Path, entry: Entry) -> None:
    """Add a correction at the end of a file, which is made where it is missing."""
    _replace(path, f"{(_text(path) or HEAD).rstrip()}\n\n{_written(entry)}")


def remove(path: Path, number: int) -> Entry:
    """Take a correction out of a file and return it; raise NotFound where it has none of that number."""
    entries = read_file(path)
    place = next((i for i, entry in enumerate(entries) if entry.number == number), None)
    if place is None:
        there = ", ".join(str(entry.number) for entry in entries)
        raise NotFound(f"{path} has no correction {number}; " + (f"there are {there}" if there else "it has none"))
    text = _text(path)
    lines = text.split("\n")
    start, end = [*_headers(text), len(lines)][place : place + 2]
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):  # a comment goes with what is below it
        end -= 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    left = "\n".join((*lines[:start], *lines[end:])).rstrip() + "\n"
    if number == next_number(path) - 1:
        left = _with_last(left, number)
    _replace(path, left)
    return entries[place]


def _with_last(text: str, number: int) -> str:
    """Return the text of a file that says which number was given last, above its entries."""
    text = _LAST.sub("", text, count=1)
    line = f"{LAST} = {number}  # the highest number that was given\n"
    if text.startswith(HEAD):
        return f"{HEAD}{line}{text.removeprefix(HEAD)}"
    return f"{line}\n{text}"


def _content(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason, _, where = str(error).removesuffix(")").partition(" (at ")
        raise UsageError(f"{path}, {where}: not valid TOML: {reason}") from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _headers(text: str) -> list[int]:
    """Return the places of the lines that open an entry."""
    return [i for i, line in enumerate(text.split("\n")) if _HEADER.match(line)]


def _replace(path: Path, text: str) -> None:
    """Write a file so that it is there as a whole, the old or the new one."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


# An entry


def _entry(row: Mapping[str, Any], before: Sequence[Entry]) -> Entry:
    number = row.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        free = 1 + max((entry.number for entry in before), default=0)
        raise UsageError(f"a correction has a number of its own, from 1, as number = {free}")
    if any(entry.number == number for entry in before):
        raise UsageError(f"another correction has the number {number} already")
    kinds = [kind for kind in KINDS if kind in row]
    if len(kinds) != 1:
        said = f"{' and '.join(kinds)} at once" if kinds else "nothing of that"
        raise UsageError(f"correction {number} says {said}; it takes one of {', '.join(KINDS)}")
    when = row.get("date", "")
    if not isinstance(when, str | date):
        raise UsageError(f"the date of correction {number} is none: write date = 2026-01-31")
    author, note = (_text_of(row, name) for name in ("author", "note"))
    return Entry(number, _correction(row, kinds[0]), str(when), author, note)


def _correction(row: Mapping[str, Any], kind: str) -> Correction:
    """Return the correction that an entry holds; its kind is also the key of its main field."""
    made = KINDS[kind]
    known = {(kind if field.name == made.main else field.name): field for field in fields(made)}
    if unknown := [key for key in row if key not in known and key not in _COMMON]:
        takes = ", ".join(key for key in known if key != kind)
        raise UsageError(f"{kind} takes no `{unknown[0]}`; " + (f"it takes {takes}" if takes else "it takes no more"))
    if missing := [key for key, field in known.items() if key not in row and field.default is MISSING]:
        raise UsageError(f"{kind} needs `{missing[0]}`, {_TYPES[str(known[missing[0]].type)]}")
    values = {field.name: _value(key, field, row[key]) for key, field in known.items() if key in row}
    correction: Correction = made(**values)
    check(correction)
    return correction


def _value(key: str, field: Field[Any], value: Any) -> Any:
    type_ = str(field.type)
    if type_ == "str" and isinstance(value, str):
        return " ".join(value.split())
    if type_ == "tuple[str, ...]" and isinstance(value, list):
        texts = cast("list[Any]", value)
        if all(isinstance(text, str) for text in texts):
            return tuple(" ".join(str(text).split()) for text in texts)
    if type_ == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type_ == "bool" and isinstance(value, bool):
        return value
    raise UsageError(f"`{key}` is {_TYPES[type_]}, and not {value!r}")


def _text_of(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name, "")
    if not isinstance(value, str):
        raise UsageError(f"`{name}` is a text, and not {value!r}")
    return " ".join(value.split())


def _written(entry: Entry) -> str:
    return "\n".join(("[[correction]]", f"number = {entry.number}", *_lines(entry), ""))


def _lines(entry: Entry) -> Iterator[str]:
    correction = entry.correction
    values = {field.name: (getattr(correction, field.name), field.default) for field in fields(correction)}
    main, _ = values.pop(correction.main)
    yield f"{correction.kind} = {_toml(main)}"
    yield from (f"{name} = {_toml(value)}" for name, (value, default) in values.items() if value != default)
    if entry.date:
        yield f"date = {entry.date if _is_day(entry.date) else _toml(entry.date)}"
    yield from (f"{name} = {_toml(value)}" for name in ("author", "note") if (value := getattr(entry, name)))


def _toml(value: object) -> str:
    """Return a value as TOML writes it, which is as JSON does but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
