"""Corrections: changes of a person to the graph, as rows and as a TOML file.

    [[correction]]
    number = 2
    rename = "Birrin"
    to = "MV Birrin"
    date = 2026-11-21
    author = "Anna"
    note = "the boat, not the rock"

`indexing.corrections` applies them at every build, in the order of the file. A correction names entities by a name or
an alias. Entries are added at the end of the file and removed as text, so that comments and edits by hand stay. A
number is never given twice: where the last entry is removed, a line `last = 2` above the others keeps its number.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, Field, dataclass, fields, replace
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, cast

from conspectus.errors import NotFound, StoreError, UsageError
from conspectus.rows import Citation, Document
from conspectus.settings import Settings
from conspectus.storage import manifests
from conspectus.text.words import name_key

ADDED_FACTS = "said by people"
"""The path of the document that holds added facts without a quote; no file has it."""
STAGE = "correction"
"""The stage of the failures of corrections; the number follows."""
STRENGTH = 8.0
"""The default strength of an added fact, on the scale of 1 to 10 that models use too."""


# Rows


@dataclass(frozen=True, slots=True)
class Merge:
    """Several names are one entity; its name is `into`, else the first of the names."""

    kind: ClassVar[str] = "merge"
    main: ClassVar[str] = "names"

    names: tuple[str, ...]
    into: str = ""

    @property
    def name(self) -> str:
        """The name of the merged entity."""
        return self.into or self.names[0]

    def __str__(self) -> str:
        return f"merge {', '.join(name for name in self.names if name != self.name)} into {self.name}"


@dataclass(frozen=True, slots=True)
class Split:
    """What goes by one of the `aliases` (any name if empty) in the `documents` (all if empty) is the entity `into`.

    Documents are given by path, by the end of a path, or by a pattern such as `planets/*`.
    """

    kind: ClassVar[str] = "split"
    main: ClassVar[str] = "name"

    name: str
    into: str
    documents: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        which = f" as {', '.join(self.aliases)}" if self.aliases else ""
        where = f" in {', '.join(self.documents)}" if self.documents else ""
        return f"split {self.name}{which}{where} into {self.into}"


@dataclass(frozen=True, slots=True)
class Rename:
    """The name of an entity is `to`; its old name becomes an alias."""

    kind: ClassVar[str] = "rename"
    main: ClassVar[str] = "name"

    name: str
    to: str

    def __str__(self) -> str:
        return f"rename {self.name} to {self.to}"


@dataclass(frozen=True, slots=True)
class Retype:
    """An entity is of another type."""

    kind: ClassVar[str] = "retype"
    main: ClassVar[str] = "name"

    name: str
    type: str

    def __str__(self) -> str:
        return f"retype {self.name} as {self.type}"


@dataclass(frozen=True, slots=True)
class Delete:
    """An entity does not exist; its relationships and claims go with it."""

    kind: ClassVar[str] = "delete"
    main: ClassVar[str] = "name"

    name: str

    def __str__(self) -> str:
        return f"delete {self.name}"


@dataclass(frozen=True, slots=True)
class AddFact:
    """A relationship that the documents do not state, or that was not extracted.

    With a `quote` it cites that passage of a document (of `document`, if given, by path or the end of a path). Without
    one, answers say that a person stated it. `create` makes a missing end an entity of the type `concept`.
    """

    kind: ClassVar[str] = "add-fact"
    main: ClassVar[str] = "description"

    source: str
    target: str
    description: str
    strength: float = STRENGTH
    quote: str = ""
    document: str = ""
    create: bool = False

    def __str__(self) -> str:
        return f"add fact {self.source} - {self.target}: {self.description}"


Correction = Merge | Split | Rename | Retype | Delete | AddFact
KINDS: Mapping[str, type[Correction]] = {c.kind: c for c in (Merge, Split, Rename, Retype, Delete, AddFact)}


@dataclass(frozen=True, slots=True)
class Entry:
    """A correction in the file. Its number identifies it; the order is that of the file."""

    number: int
    correction: Correction
    date: str = ""
    author: str = ""
    note: str = ""

    @property
    def mark(self) -> str:
        """Its number and a hash of what an index shows of it: an index records the marks that it was built with."""
        content = repr((self.correction, self.author, self.note))
        return f"{self.number}:{sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

    def __str__(self) -> str:
        return f"correction {self.number} ({self.correction})"


def marks(entries: Iterable[Entry]) -> str:
    """Return the marks of corrections, in their order."""
    return " ".join(entry.mark for entry in entries)


def names_used(correction: Correction) -> tuple[str, ...]:
    """Return the names that a correction looks up."""
    match correction:
        case Merge():
            return correction.names
        case AddFact():
            return (correction.source, correction.target)
        case _:
            return (correction.name,)


def names_made(correction: Correction) -> tuple[str, ...]:
    """Return the names that a correction may introduce."""
    match correction:
        case Merge():
            return (correction.name,)
        case Split():
            return (correction.into,)
        case Rename():
            return (correction.to,)
        case AddFact():
            return (correction.source, correction.target) if correction.create else ()
        case _:
            return ()


def check(correction: Correction) -> None:
    """Raise UsageError where a correction makes no sense by itself."""
    if problem := _problem(correction):
        raise UsageError(problem)
    if not all(text.strip() for text in (*names_used(correction), *names_made(correction))):
        raise UsageError("a name is empty")


def _problem(correction: Correction) -> str:
    match correction:
        case Merge(names):
            if not names or len(set(map(name_key, (*names, correction.name)))) < 2:
                return "merge takes two names or more that differ in more than case and spelling"
        case Split(name, into):
            if not correction.documents and not correction.aliases:
                return "split takes documents or aliases that belong to the other entity; to rename all, use rename"
            if name_key(into) == name_key(name):
                return f"what is split from {name} needs another name than {into}"
        case Rename(name, to):
            if to == name:
                return f"the name is {to} already"
        case Retype(name, type_):
            if not type_.strip():
                return f"the type of {name} is empty"
        case Delete():
            pass
        case AddFact(source, target):
            if not 1 <= correction.strength <= 10:
                return f"the strength of a fact is 1 to 10, not {correction.strength:g}"
            if name_key(source) == name_key(target):
                return f"a fact joins two entities, and {source!r} is only one"
            if correction.document and not correction.quote:
                return "a fact cites a document by a quote of it: give the quote, or leave the document out"
            if not correction.description.strip():
                return "the description of the fact is empty"
    return ""


def cleaned(correction: Correction) -> Correction:
    """Return a correction whose texts are single lines that can be written as UTF-8."""

    def clean(value: object) -> object:
        if isinstance(value, str):
            return one_line(value)
        return tuple(map(clean, cast("tuple[object, ...]", value))) if isinstance(value, tuple) else value

    values: dict[str, Any] = {field.name: clean(getattr(correction, field.name)) for field in fields(correction)}
    return replace(correction, **values)


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces and without lone surrogates."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


# Added facts in an index


def is_added_facts(path: str) -> bool:
    """Tell whether a path, which may follow the name of an index, is that of the document of added facts."""
    return path == ADDED_FACTS or path.endswith(f":{ADDED_FACTS}")


def source_documents(documents: Iterable[Document]) -> list[Document]:
    """Return the documents of an index that were read, without the document of added facts."""
    return [document for document in documents if document.path != ADDED_FACTS]


def added_fact_notices(citations: Iterable[Citation]) -> Iterator[str]:
    """Yield a notice for each citation that leads to an added fact, which no document states."""
    for citation in citations:
        places = [source.place for source in citation.sources if is_added_facts(source.document)]
        if places:
            part = "" if len(places) == len(citation.sources) else "in part "
            yield f"[{citation.marker}] is {part}what a person said, and no document: {', '.join(places)}."


# The file


FILE_NAME = "corrections.toml"
HEAD = """\
# Corrections by people. `conspectus index` applies them in this order; `conspectus correct` adds and removes them.
"""
_LAST = re.compile(r"^[ \t]*last[ \t]*=.*\n?", re.MULTILINE)
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*correction[ \t]*\]\]")
_COMMON = ("number", "date", "author", "note")
_TYPES = {"str": "a text", "tuple[str, ...]": "a list of texts", "float": "a number", "bool": "true or false"}


def file_of(folder: Path, given: str = "") -> Path:
    """Return the corrections file of the index in a folder: the given one, the one that the index was built with, or
    `corrections.toml` in the folder.
    """
    if not given:
        with suppress(StoreError):  # no index yet, or none that can be read
            given = str(manifests.current(folder).settings.get("store", {}).get("corrections", ""))
    return Path(given).expanduser() if given else folder / FILE_NAME


def corrections_for(settings: Settings, folder: Path) -> tuple[Settings, list[Entry]]:
    """Return the corrections to build an index with, and settings that record a file outside the folder.

    Raises UsageError as `read_file` does.
    """
    path = file_of(folder, settings.store.corrections)
    if path != folder / FILE_NAME:
        store = settings.store.model_copy(update={"corrections": str(path.absolute())})
        settings = settings.model_copy(update={"store": store})
    return settings, read_file(path)


def read_file(path: Path) -> list[Entry]:
    """Return the corrections of a file in its order; none if there is no file.

    Raises UsageError, with the line, where the file is not valid.
    """
    text = _text(path)
    content = _content(path, text)
    rows, lines = content.pop("correction", []), _headers(text)
    if not isinstance(content.pop("last", 0), int):
        raise UsageError(f"{path}: `last` is the highest number that was given, as last = 1")
    if content:
        raise UsageError(f"{path} holds `{next(iter(content))}`; each correction goes under a [[correction]] line")
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
    """Return the number of the next correction in a file."""
    last: int = _content(path, _text(path)).get("last", 0)
    return 1 + max((last, *(entry.number for entry in read_file(path))))


def append(path: Path, entry: Entry) -> None:
    """Add a correction at the end of a file, which is created if it is missing."""
    lines = "\n".join(("[[correction]]", f"number = {entry.number}", *_lines(entry), ""))
    _replace(path, f"{(_text(path) or HEAD).rstrip()}\n\n{lines}")


def remove(path: Path, number: int) -> Entry:
    """Remove a correction from a file and return it; raise NotFound where the file has none of that number."""
    entries = read_file(path)
    position = next((i for i, entry in enumerate(entries) if entry.number == number), None)
    if position is None:
        known = ", ".join(str(entry.number) for entry in entries)
        raise NotFound(f"{path} has no correction {number}; " + (f"there are {known}" if known else "it has none"))
    text = _text(path)
    lines = text.split("\n")
    start, end = [*_headers(text), len(lines)][position : position + 2]
    while not lines[end - 1].strip() or lines[end - 1].lstrip().startswith("#"):  # a comment belongs to what follows
        end -= 1
    while end < len(lines) and not lines[end].strip():
        end += 1
    rest = "\n".join((*lines[:start], *lines[end:])).rstrip() + "\n"
    if number == next_number(path) - 1:
        head = HEAD if rest.startswith(HEAD) else ""
        rest = _LAST.sub("", rest.removeprefix(head), count=1)
        rest = f"{head}last = {number}  # the highest number that was given\n{'' if head else chr(10)}{rest}"
    _replace(path, rest)
    return entries[position]


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
    """Return the numbers of the lines that open an entry."""
    return [i for i, line in enumerate(text.split("\n")) if _HEADER.match(line)]


def _replace(path: Path, text: str) -> None:
    """Write a file so that either the old or the new one is there as a whole."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def _entry(row: Mapping[str, Any], before: Sequence[Entry]) -> Entry:
    number = row.get("number")
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        free = 1 + max((entry.number for entry in before), default=0)
        raise UsageError(f"a correction has a number of its own, from 1, as number = {free}")
    if any(entry.number == number for entry in before):
        raise UsageError(f"another correction has the number {number} already")
    kinds = [kind for kind in KINDS if kind in row]
    if len(kinds) != 1:
        problem = f"says {' and '.join(kinds)} at once" if kinds else "has no kind"
        raise UsageError(f"correction {number} {problem}; it takes one of {', '.join(KINDS)}")
    when = row.get("date", "")
    if not isinstance(when, str | date):
        raise UsageError(f"the date of correction {number} is not valid: write date = 2026-01-31")
    author, note = (_value(key, "str", row.get(key, "")) for key in ("author", "note"))
    return Entry(number, _correction(row, kinds[0]), str(when), author, note)


def _correction(row: Mapping[str, Any], kind: str) -> Correction:
    """Return the correction of an entry; its kind is also the key of its main field."""
    made = KINDS[kind]
    known: dict[str, Field[Any]] = {(kind if field.name == made.main else field.name): field for field in fields(made)}
    if unknown := [key for key in row if key not in known and key not in _COMMON]:
        takes = ", ".join(key for key in known if key != kind)
        raise UsageError(f"{kind} takes no `{unknown[0]}`" + (f"; it takes {takes}" if takes else ""))
    if missing := [key for key, field in known.items() if key not in row and field.default is MISSING]:
        raise UsageError(f"{kind} needs `{missing[0]}`, {_TYPES[str(known[missing[0]].type)]}")
    values = {field.name: _value(key, str(field.type), row[key]) for key, field in known.items() if key in row}
    correction: Correction = made(**values)
    check(correction)
    return correction


def _value(key: str, type_: str, value: Any) -> Any:
    if type_ == "str" and isinstance(value, str):
        return " ".join(value.split())
    if type_ == "tuple[str, ...]" and isinstance(value, list):
        texts = cast("list[Any]", value)
        if all(isinstance(text, str) for text in texts):
            return tuple(" ".join(text.split()) for text in texts)
    if type_ == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if type_ == "bool" and isinstance(value, bool):
        return value
    raise UsageError(f"`{key}` is {_TYPES[type_]}, not {value!r}")


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
    """Return a value as TOML, which is JSON but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
