"""Corrections: changes of a person to the graph, and the TOML file that keeps them.

    [[correction]]
    number = 2
    rename = "Birrin"
    to = "MV Birrin"
    date = "2026-11-21"
    author = "Anna"
    note = "the boat, not the rock"

`indexing.corrections` applies them at every build, in the order of the file, each to the result of those before it. A
correction names entities by a name or an alias. New ones are added at the end of the file. One that is undone stays as
a comment, so that comments and edits by hand are kept and no number is given twice.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

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
"""The default strength of an added fact, on the scale of 1 to 10 that models use: two above a relationship that the
extractive model reads once, for a person chose to state it."""


# Records


def one_line(text: str) -> str:
    """Return a text on one line, with single spaces and without lone surrogates."""
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _not_empty(text: str) -> str:
    if not text:
        raise ValueError("must not be empty")
    return text


Text = Annotated[str, AfterValidator(one_line)]
Name = Annotated[Text, AfterValidator(_not_empty)]


@dataclass(frozen=True)
class Correction:
    """A change of the graph; in the file the key of its field `main` is its `kind`."""

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    kind: ClassVar[str]
    main: ClassVar[str] = "name"

    def __str__(self) -> str:
        match self:
            case Merge(names):
                return f"merge {', '.join(name for name in names if name != self.name)} into {self.name}"
            case Split(name, into, documents, aliases):
                which = f" as {', '.join(aliases)}" if aliases else ""
                where = f" in {', '.join(documents)}" if documents else ""
                return f"split {name}{which}{where} into {into}"
            case AddFact(source, target, description):
                return f"add fact {source} - {target}: {description}"
            case _:
                name, *other = (getattr(self, field.name) for field in fields(self))
                return " ".join((self.kind, name, *((AS[self.kind], *other) if other else ())))


AS = {"rename": "to", "retype": "as"}
"""The word between the two values of a correction in its description."""


@dataclass(frozen=True)
class Merge(Correction):
    """Several names are one entity; its name is `into`, else the first of the names."""

    kind: ClassVar[str] = "merge"
    main: ClassVar[str] = "names"
    names: tuple[Name, ...]
    into: Text = ""

    @property
    def name(self) -> str:
        """The name of the merged entity."""
        return self.into or self.names[0]


@dataclass(frozen=True)
class Split(Correction):
    """What goes by one of the `aliases` (any name if empty) in the `documents` (all if empty) is the entity `into`.

    Documents are given by path, by the end of a path, or by a pattern such as `planets/*`.
    """

    kind: ClassVar[str] = "split"
    name: Name
    into: Name
    documents: tuple[Name, ...] = ()
    aliases: tuple[Name, ...] = ()


@dataclass(frozen=True)
class Rename(Correction):
    """The name of an entity is `to`; its old name becomes an alias."""

    kind: ClassVar[str] = "rename"
    name: Name
    to: Name


@dataclass(frozen=True)
class Retype(Correction):
    """An entity is of another type."""

    kind: ClassVar[str] = "retype"
    name: Name
    type: Name


@dataclass(frozen=True)
class Delete(Correction):
    """An entity does not exist; its relationships and claims go with it."""

    kind: ClassVar[str] = "delete"
    name: Name


@dataclass(frozen=True)
class AddFact(Correction):
    """A relationship that the documents do not state, or that was not extracted.

    With a `quote` it cites that passage of a document (of `document`, if given, by path or the end of a path). Without
    one, answers say that a person stated it. `create` makes a missing end an entity of the type `concept`.
    """

    kind: ClassVar[str] = "add-fact"
    main: ClassVar[str] = "description"
    source: Name
    target: Name
    description: Name
    strength: Annotated[float, Field(ge=1, le=10)] = STRENGTH
    quote: Text = ""
    document: Text = ""
    create: bool = False


def _problem(correction: Correction) -> str:
    """Return why a correction makes no sense by itself, "" where it does."""
    match correction:
        case Merge(names) if not names or len(set(map(name_key, (*names, correction.name)))) < 2:
            return "merge takes two names or more that differ in more than case and spelling"
        case Split(documents=(), aliases=()):
            return "split takes documents or aliases that belong to the other entity; to rename all, use rename"
        case Split(name, into) if name_key(into) == name_key(name):
            return f"what is split from {name} needs another name than {into}"
        case Rename(name, to) if name == to:
            return f"the name is {to} already"
        case AddFact(source, target) if name_key(source) == name_key(target):
            return f"a fact joins two entities, and {source!r} is only one"
        case AddFact(quote="", document=document) if document:
            return "a fact cites a document by a quote of it: give the quote, or leave the document out"
        case _:
            return ""


KINDS: Mapping[str, type[Correction]] = {c.kind: c for c in (Merge, Split, Rename, Retype, Delete, AddFact)}


@dataclass(frozen=True)
class Entry:
    """A correction in the file. Its number identifies it; the order is that of the file."""

    number: Annotated[int, Field(ge=1)]
    correction: Correction
    date: Annotated[str, BeforeValidator(str)] = ""
    author: Text = ""
    note: Text = ""

    @property
    def mark(self) -> str:
        """Its number and a hash of what an index shows of it: an index records the marks that it was built with."""
        content = repr((self.correction, self.author, self.note))
        return f"{self.number}:{sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

    def __str__(self) -> str:
        return f"correction {self.number} ({self.correction})"


T = TypeVar("T")


def validated(kind: type[T], values: Mapping[str, Any]) -> T:
    """Return a correction or entry of some values, its texts each on one line.

    Raises UsageError where a value is missing or not allowed, or a correction makes no sense by itself.
    """
    name = kind.kind if issubclass(kind, Correction) else STAGE
    try:
        made = TypeAdapter(kind).validate_python(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{name}: `{where}` is wrong: {first['msg'].removeprefix('Value error, ')}") from None
    if isinstance(made, Correction) and (problem := _problem(made)):
        raise UsageError(problem)
    return made


def marks(entries: Iterable[Entry]) -> str:
    """Return the marks of corrections, in their order."""
    return " ".join(entry.mark for entry in entries)


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
# Corrections by people. `conspectus index` applies them in this order; `conspectus correct` adds and undoes them.
"""
_HEADER = r"[ \t]*\[\[[ \t]*correction[ \t]*\]\]"
_START = re.compile(rf"^(?={_HEADER})", re.MULTILINE)
_NUMBER = re.compile(r"^[ \t]*(?:#[ \t]*)?number[ \t]*=[ \t]*(\d+)", re.MULTILINE)
"""The number of a correction, or of one that was undone and is a comment."""


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

    Raises UsageError, with the line or the number, where the file is not valid.
    """
    text = _text(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from None
    rows = content.pop("correction", [])
    if content or not isinstance(rows, list) or len(cast("list[Any]", rows)) != len(_START.findall(text)):
        other = f"; it holds `{next(iter(content))}`" if content else ""
        raise UsageError(f"{path}: write each correction under a line [[correction]] of its own{other}")
    entries: dict[int, Entry] = {}
    for row in cast("list[dict[str, Any]]", rows):
        number = row.get("number", "without a number")
        try:
            entry = _entry(row)
        except UsageError as error:
            raise UsageError(f"{path}, correction {number}: {error}") from None
        if entries.setdefault(entry.number, entry) is not entry:
            raise UsageError(f"{path}: two corrections have the number {number}")
    return list(entries.values())


def next_number(path: Path) -> int:
    """Return the number of the next correction in a file: one that none has or had."""
    return 1 + max(map(int, _NUMBER.findall(_text(path))), default=0)


def append(path: Path, entry: Entry) -> None:
    """Add a correction at the end of a file, which is created if it is missing."""
    lines = "\n".join(("[[correction]]", f"number = {entry.number}", *_lines(entry), ""))
    _replace(path, f"{(_text(path) or HEAD).rstrip()}\n\n{lines}")


def remove(path: Path, number: int) -> Entry:
    """Make a comment of a correction in a file and return it; raise NotFound where the file has none of that number."""
    entries = {entry.number: entry for entry in read_file(path)}
    if number not in entries:
        numbers = ", ".join(map(str, entries))
        raise NotFound(
            f"{path} has no correction {number}; " + (f"there are {numbers}" if numbers else "it has none")
        )
    head, *parts = _START.split(_text(path))
    place = list(entries).index(number)
    parts[place] = re.sub(r"^(?=[ \t]*[^#\s])", "# ", parts[place], flags=re.MULTILINE)
    _replace(path, head + "".join(parts))
    return entries[number]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 (byte {error.start})") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    """Write a file so that either the old or the new one is there as a whole."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None


def _entry(row: dict[str, Any]) -> Entry:
    kinds = [kind for kind in KINDS if kind in row]
    if len(kinds) != 1:
        raise UsageError(f"it takes one of {', '.join(KINDS)}, and has {' and '.join(kinds) or 'none'}")
    common = {field.name: row.pop(field.name) for field in fields(Entry) if field.name in row}
    kind = KINDS[kinds[0]]
    return validated(Entry, {**common, "correction": validated(kind, {kind.main: row.pop(kind.kind), **row})})


def _lines(entry: Entry) -> Iterator[str]:
    correction = entry.correction
    yield f"{correction.kind} = {_toml(getattr(correction, correction.main))}"
    for record in (correction, entry):
        for field in fields(record):
            value = getattr(record, field.name)
            if field.name not in (correction.main, "number", "correction") and value != field.default:
                yield f"{field.name} = {_toml(value)}"


def _toml(value: object) -> str:
    """Return a value as TOML, which is JSON but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
