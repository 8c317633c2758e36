"""Corrections: changes that people make to the graph, and the TOML file that stores them.

    [[correction]]
    number = 2
    rename = "Birrin"
    to = "MV Birrin"
    date = "2026-11-21"
    author = "Anna"
    note = "the boat, not the rock"

`indexing.corrections` applies them at every build, in the order of the file, each to the result of those before it. A
correction names entities by a name or an alias. New ones are added at the end of the file. An undone correction stays
as a comment, so that comments and manual edits are preserved and no number is used twice.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, cast

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from conspectus.errors import NotFound, UsageError
from conspectus.rows import Document
from conspectus.text.words import name_key

ADDED_FACTS = "said by people"
"""The path of the document that contains added facts; it is not a file."""


Text = Annotated[str, AfterValidator(lambda text: " ".join(text.encode("utf-8", "replace").decode().split()))]
"""A text on one line, with single spaces and without lone surrogates."""
Name = Annotated[Text, Field(min_length=1)]


@dataclass(frozen=True)
class Correction:
    """A change of the graph. Corrections with the same change are equal, whatever their number, date, author and note.

    `conspectus correct` has a command for each kind, made from its fields and its docstring. In the file, the key of
    the field `main` is the `kind`; the number identifies a correction, and the order is that of the file.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")
    kind: ClassVar[str]
    main: ClassVar[str] = "name"
    template: ClassVar[str]
    """The correction as a text, with its fields in braces."""
    number: int = field(default=0, kw_only=True, compare=False)
    date: Annotated[str, BeforeValidator(str)] = field(default="", kw_only=True, compare=False)
    author: Text = field(default="", kw_only=True, compare=False)
    note: Text = field(default="", kw_only=True, compare=False)

    @property
    def title(self) -> str:
        """The number of the correction, as failures and citations show it."""
        return f"correction {self.number}"

    @property
    def mark(self) -> str:
        """The number and a hash of the content: an index records the marks of the corrections applied to it."""
        return f"{self.number}:{sha256(repr(self).encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

    def __str__(self) -> str:
        values: dict[str, Any] = dict(vars(self))
        for name in {"names", "documents"} & values.keys():
            values[name] = ", ".join(values[name]) or "all documents"
        return self.template.format(**values)


def _about(text: str, metavar: str = "NAME") -> Any:
    """Return a pydantic field with its description for the command line."""
    return Field(description=text, title=metavar)


EntityName = Annotated[Name, _about("Name of the entity.")]


@dataclass(frozen=True)
class Merge(Correction):
    """Merge entities: several names are one entity.

    The merged entity has the mentions, descriptions, relationships and claims of all.

    Example: conspectus correct merge "D. Quill" "Miss Quill" --into "Dorothea Quill"
    """

    kind = "merge"
    main = "names"
    template = "merge {names} into {into}"
    names: Annotated[tuple[Name, ...], _about("Two or more names of the same entity.", "NAME...")]
    into: Annotated[Text, _about("Name of the merged entity (default: the first NAME).")] = ""

    def __post_init__(self) -> None:
        if self.names and not self.into:
            object.__setattr__(self, "into", self.names[0])


@dataclass(frozen=True)
class Split(Correction):
    """Split an entity that stands for two, or split off an alias.

    With --document, its name means another entity in those documents; without, one of its aliases does everywhere.

    Example: conspectus correct split Mercury --into "Mercury (planet)" --document "planets/*"
    Example: conspectus correct split "Dorothea Quill" --into "Miss Quill"
    """

    kind = "split"
    template = "split {name} in {documents} into {into}"
    name: EntityName
    into: Annotated[Name, _about("Name of the entity that is split off: new, existing, or an alias of NAME.")]
    documents: Annotated[
        tuple[Name, ...],
        _about(
            "Document in which NAME means the entity that is split off: a path, the end of a path or a pattern such as "
            "'planets/*'. Repeatable.",
            "PATH",
        ),
    ] = ()


@dataclass(frozen=True)
class Rename(Correction):
    """Rename an entity; the old name becomes an alias.

    Example: conspectus correct rename "Sallow Quay" "Port Sallow Quay"
    """

    kind = "rename"
    template = "rename {name} to {to}"
    name: EntityName
    to: Annotated[Name, _about("The new name.", "TO")]


@dataclass(frozen=True)
class Retype(Correction):
    """Change the type of an entity.

    Example: conspectus correct retype "Teal Maid" vessel
    """

    kind = "retype"
    template = "retype {name} as {type}"
    name: EntityName
    type: Annotated[Name, _about("Entity type, e.g. person, organization or place.", "TYPE")]


@dataclass(frozen=True)
class Delete(Correction):
    """Delete an entity, with its relationships and claims.

    The documents stay as they are.

    Example: conspectus correct delete FYI
    """

    kind = "delete"
    template = "delete {name}"
    name: EntityName


@dataclass(frozen=True)
class AddFact(Correction):
    """Add a relationship between two entities.

    Answers that use it say that a person stated it and that no document does.

    Example: conspectus correct add-fact "Ada King" "Lord Byron" "Ada King is a daughter of Lord Byron."
    """

    kind = "add-fact"
    main = "description"
    template = "add fact {source} - {target}: {description}"
    source: Annotated[Name, _about("Name of the entity.", "SOURCE")]
    target: Annotated[Name, _about("Name of the other entity.", "TARGET")]
    description: Annotated[
        Name, _about("The fact as a sentence, e.g. 'Anselm Vickery taught Maeve Tully.'", "FACT")
    ]


KINDS: Mapping[str, type[Correction]] = {c.kind: c for c in (Merge, Split, Rename, Retype, Delete, AddFact)}
C = TypeVar("C", bound=Correction)


def validated(kind: type[C], values: Mapping[str, Any]) -> C:
    """Return a correction made from values, with each text on one line.

    Raises UsageError if a value is missing or not allowed, or if the correction is invalid by itself.
    """
    try:
        correction = TypeAdapter(kind).validate_python(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(
            f"{kind.kind}: `{where}` is wrong: {first['msg'].removeprefix('Value error, ')}"
        ) from None
    match correction:
        case Merge(names, into) if len({*map(name_key, (*names, into))}) < 2:
            raise UsageError("merge takes two names or more that differ in more than case and spelling")
        case Split(name, into) if name_key(into) == name_key(name):
            raise UsageError(f"what is split from {name} needs a name other than {into}")
        case Rename(name, to) if name == to:
            raise UsageError(f"the name is already {to}")
        case AddFact(source, target) if name_key(source) == name_key(target):
            raise UsageError(f"a fact needs two entities, and {source!r} is only one")
        case _:
            return correction


def marks(corrections: Iterable[Correction]) -> str:
    """Return the marks of corrections, in their order."""
    return " ".join(correction.mark for correction in corrections)


def source_documents(documents: Iterable[Document]) -> list[Document]:
    """Return the documents of an index except for the document of added facts."""
    return [document for document in documents if document.path != ADDED_FACTS]


# The file


HEAD = """\
# Corrections by people. `conspectus index` applies them in this order; `conspectus correct` adds and undoes them.
"""
_START = re.compile(r"^(?=[ \t]*\[\[[ \t]*correction[ \t]*\]\])", re.MULTILINE)
_NUMBER = re.compile(r"^[ \t]*(?:#[ \t]*)?number[ \t]*=[ \t]*(\d+)", re.MULTILINE)
"""The number of a correction, or of an undone one in a comment."""


def file_of(folder: Path) -> Path:
    """Return the corrections file of the index in a folder."""
    return folder / "corrections.toml"


def read_file(path: Path) -> list[Correction]:
    """Return the corrections in a file, in its order; none if there is no file.

    Raises UsageError, with the line or the number, if the file is not valid.
    """
    text = _text(path)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}") from None
    rows: Any = content.pop("correction", [])
    if content or not isinstance(rows, list) or len(_START.findall(text)) != len(cast("list[Any]", rows)):
        raise UsageError(f"{path} must be a list of corrections, each under its own line [[correction]]")
    corrections: dict[int, Correction] = {}
    for row in cast("list[dict[str, Any]]", rows):
        number = row.get("number", "without a number")
        try:
            correction = _of_row(row)
        except UsageError as error:
            raise UsageError(f"{path}, correction {number}: {error}") from None
        if correction.number in corrections:
            raise UsageError(f"{path}: two corrections have the number {number}")
        corrections[correction.number] = correction
    return list(corrections.values())


def _of_row(row: dict[str, Any]) -> Correction:
    kinds = [kind for kind in KINDS if kind in row]
    if len(kinds) != 1:
        raise UsageError(f"it takes one of {', '.join(KINDS)}, and has {' and '.join(kinds) or 'none'}")
    kind = KINDS[kinds[0]]
    correction = validated(kind, {kind.main: row.pop(kind.kind), **row})
    if correction.number < 1:
        raise UsageError("its `number` must be 1 or more")
    return correction


def next_number(path: Path) -> int:
    """Return the number for the next correction in a file, which no correction has or had."""
    return 1 + max(map(int, _NUMBER.findall(_text(path))), default=0)


def append(path: Path, correction: Correction) -> None:
    """Append a correction to a file, which is created if it is missing."""
    main = getattr(correction, correction.main)
    values: dict[str, Any] = {"number": correction.number, correction.kind: main}
    by_name = sorted(fields(correction), key=lambda f: bool(f.kw_only))  # date, author and note come last
    values |= {f.name: value for f in by_name if (value := getattr(correction, f.name)) != f.default}
    del values[correction.main]
    lines = ["[[correction]]"]
    for key, value in values.items():  # JSON values are valid TOML, except for one character
        dumped = json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        lines.append(f"{key} = {dumped}")
    _replace(path, "\n".join((f"{(_text(path) or HEAD).rstrip()}\n", *lines, "")))


def remove(path: Path, number: int) -> Correction:
    """Comment out a correction in a file and return it; raise NotFound if the file has none with that number."""
    corrections = read_file(path)
    numbers = [correction.number for correction in corrections]
    if number not in numbers:
        raise NotFound(f"{path} has no correction {number}")
    head, *parts = _START.split(_text(path))
    at = numbers.index(number)
    parts[at] = re.sub(r"^(?=[ \t]*[^#\s])", "# ", parts[at], flags=re.MULTILINE)
    _replace(path, head + "".join(parts))
    return corrections[at]


_COMMENTED = re.compile(r"^[ \t]*# ?(?=\[\[|[\w-]+[ \t]*=)", re.MULTILINE)


def undone(path: Path) -> list[Correction]:
    """Return the corrections of a file that were undone, which are comments in it."""
    rows: dict[int, Correction] = {}
    for part in _START.split(_COMMENTED.sub("", _text(path)))[1:]:
        with suppress(tomllib.TOMLDecodeError, UsageError):  # other comments are no corrections
            correction = _of_row(tomllib.loads(part)["correction"][0])
            rows[correction.number] = correction
    return [rows[number] for number in rows.keys() - {row.number for row in read_file(path)}]


def _text(path: Path) -> str:
    if path.exists() and not path.is_file():
        raise UsageError(f"{path} cannot be read: it is not a regular file")
    try:
        return path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def _replace(path: Path, text: str) -> None:
    """Write a file atomically: either the old or the new content is there as a whole."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        temporary.write_text(text, encoding="utf-8", newline="\n")
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from None
