"""Corrections by people: what a person knows better than the graph, as rows.

`corrections.file` keeps them in a file that people can read, `index.correct` applies them whenever an index is made,
in the order in which they stand there. A correction names entities as the index does, by a name or an alias.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import ClassVar

from conspectus.errors import UsageError
from conspectus.rows import Citation, Document
from conspectus.text.words import name_key

SAID = "said by people"
"""The path of the document of facts that no document says, which no file has."""
STAGE = "correction"
"""The stage of the failures of corrections, before their number."""
STRENGTH = 8.0
"""The strength of a fact that is added without one; 1 to 10, as a model gives it."""


@dataclass(frozen=True, slots=True)
class Merge:
    """Several names are one entity, which is called `into`: one of them, or another name; the first if not given."""

    kind: ClassVar[str] = "merge"
    main: ClassVar[str] = "names"

    names: tuple[str, ...]
    into: str = ""

    @property
    def name(self) -> str:
        """What the one entity is called."""
        return self.into or self.names[0]

    def __str__(self) -> str:
        others = [name for name in self.names if name != self.name]
        return f"merge {_listed(others)} into {self.name}"


@dataclass(frozen=True, slots=True)
class Split:
    """What an entity is called by `aliases` (by any name, if none), in documents that meet `where` (in all, if none),
    is another one, called `into`.
    """

    kind: ClassVar[str] = "split"
    main: ClassVar[str] = "name"

    name: str
    into: str
    where: tuple[str, ...] = ()
    """Conditions on documents, as `path~planets*`; see `views.conditions`."""
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        called = f" called {_listed(self.aliases)}" if self.aliases else ""
        where = f" where {_listed(self.where)}" if self.where else ""
        return f"split {self.name}: what is{called or ' it'}{where} is {self.into}"


@dataclass(frozen=True, slots=True)
class Rename:
    """An entity is called `to`; its name becomes an alias."""

    kind: ClassVar[str] = "rename"
    main: ClassVar[str] = "name"

    name: str
    to: str

    def __str__(self) -> str:
        return f"rename {self.name} to {self.to}"


@dataclass(frozen=True, slots=True)
class Retype:
    """An entity is of a type."""

    kind: ClassVar[str] = "retype"
    main: ClassVar[str] = "name"

    name: str
    type: str

    def __str__(self) -> str:
        return f"retype {self.name} as {self.type}"


@dataclass(frozen=True, slots=True)
class Delete:
    """There is no such entity: it goes, with its relationships and claims."""

    kind: ClassVar[str] = "delete"
    main: ClassVar[str] = "name"

    name: str

    def __str__(self) -> str:
        return f"delete {self.name}"


@dataclass(frozen=True, slots=True)
class AddFact:
    """A relationship that the documents do not give, or that was not found in them.

    With a `quote`, it stands on these words of a document (of `document`, if that is given, by the end of its path);
    without, a person says it, and whatever stands on it says so.
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
    """Make an entity of an end that is none, of type `concept`."""

    def __str__(self) -> str:
        return f"add fact {self.source} - {self.target}: {self.description}"


Correction = Merge | Split | Rename | Retype | Delete | AddFact
KINDS: Mapping[str, type[Correction]] = {c.kind: c for c in (Merge, Split, Rename, Retype, Delete, AddFact)}


@dataclass(frozen=True, slots=True)
class Entry:
    """A correction as it is kept. Its number names it and stays its own; the order is that of the file."""

    number: int
    correction: Correction
    date: str = ""
    author: str = ""
    note: str = ""

    @property
    def mark(self) -> str:
        """Its number, and what changes with all of it that an index shows: so an index tells what it was made with."""
        told = repr((self.correction, self.author, self.note))
        return f"{self.number}:{sha256(told.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"

    def __str__(self) -> str:
        return f"correction {self.number} ({self.correction})"


def marks(entries: Iterable[Entry]) -> str:
    """Return the marks of corrections in their order."""
    return " ".join(entry.mark for entry in entries)


def named(correction: Correction) -> tuple[str, ...]:
    """Return the names that a correction finds."""
    match correction:
        case Merge():
            return correction.names
        case AddFact():
            return (correction.source, correction.target)
        case _:
            return (correction.name,)


def given(correction: Correction) -> tuple[str, ...]:
    """Return the names that a correction may bring in."""
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
    match correction:
        case Merge():
            if not correction.names or len({name_key(name) for name in (*correction.names, correction.name)}) < 2:
                raise UsageError("merge takes two names or more, which differ in more than case and spelling")
        case Split():
            if not correction.where and not correction.aliases:
                raise UsageError(
                    "split takes documents (where) or aliases, to tell what is the other entity; rename gives all of "
                    "it another name"
                )
            if name_key(correction.into) == name_key(correction.name):
                raise UsageError(f"what is split from {correction.name} needs another name, and not {correction.into}")
        case Rename():
            if correction.to == correction.name:
                raise UsageError(f"{correction.name} is called {correction.to} already")
        case AddFact():
            if not 1 <= correction.strength <= 10:
                raise UsageError(f"the strength of a fact is 1 to 10, and not {correction.strength:g}")
            if name_key(correction.source) == name_key(correction.target):
                raise UsageError(f"a fact joins two entities, and {correction.source!r} is one")
            if correction.document and not correction.quote:
                raise UsageError(
                    "a fact stands in a document by words of it: give the quote, or leave the document out"
                )
            if not correction.description.strip():
                raise UsageError("a fact is told in words: its description is empty")
        case Retype():
            if not correction.type.strip():
                raise UsageError(f"the type of {correction.name} is empty")
        case Delete():
            pass
    if not all(text.strip() for text in (*named(correction), *given(correction))):
        raise UsageError("a name is empty")


def check_nothing_stands_on(entry: Entry, later: Sequence[Entry]) -> None:
    """Raise UsageError where one of the corrections after another one names what comes of it."""
    old = set(map(name_key, named(entry.correction)))
    new = set(map(name_key, given(entry.correction))) - old
    for other in later:
        if names := [name for name in named(other.correction) if name_key(name) in new]:
            raise UsageError(f"{other} names {names[0]}, which comes of it; undo correction {other.number} first")


# What people said, in an index that was made with it


def is_said(path: str) -> bool:
    """Tell whether the path of a document, which may follow the name of an index, is that of what people said."""
    return path == SAID or path.endswith(f":{SAID}")


def documents_read(documents: Iterable[Document]) -> list[Document]:
    """Return the documents of an index that were read, without what people said."""
    return [document for document in documents if document.path != SAID]


def said_in(citations: Iterable[Citation]) -> Iterator[str]:
    """Yield a line for each citation that leads to what people said, that a reader may know what no document says."""
    for citation in citations:
        said = [source.place for source in citation.sources if is_said(source.document)]
        if said:
            part = "" if len(said) == len(citation.sources) else "in part "
            yield f"[{citation.marker}] is {part}what a person said, and no document: {', '.join(said)}."


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(texts)
