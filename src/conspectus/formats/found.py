"""What parsers are told and what they return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from conspectus.errors import DocumentError, UsageError
from conspectus.rows import EncodingWarning, Failure, Place, Skipped
from conspectus.tokens import well_formed

if TYPE_CHECKING:
    from conspectus.settings import ReadSettings

EMPTY = "is empty: there is nothing in it to index"
BINARY = "is binary, not text; remove it, or save it as UTF-8 text"
MEGABYTE = 1_000_000
TEXT_FIELD = "text"
"""The field of a record that holds its text, if nothing is said."""
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1f\x7f]")
_LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class Options:
    """What parsers are told; plain values, which cross to another process."""

    text_field: str = TEXT_FIELD
    title_field: str = "title"
    max_bytes: int = 200 * MEGABYTE
    """Of a file, of what is unpacked from it, and of its text."""
    seconds: float = 60.0
    passwords: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: ReadSettings) -> Options:
        """Return what the settings say, passwords read from their file.

        Raises:
            UsageError: the file of passwords cannot be read.
        """
        limit = int(settings.max_megabytes * MEGABYTE)
        return cls(
            settings.text_field,
            settings.title_field,
            limit,
            settings.seconds_per_file,
            _passwords(settings.password_file),
        )


def _passwords(file: str) -> tuple[str, ...]:
    if not file:
        return ()
    try:
        lines = Path(file).read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UsageError(f"the file of passwords {file} cannot be read: {reason}") from None
    return tuple(line for line in lines if line)


@dataclass(frozen=True, slots=True)
class Found:
    """A document before it has its number and id among the others."""

    path: str
    text: str
    title: str = ""
    date: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    places: tuple[Place, ...] = ()


Outcome = Found | Failure | Skipped | EncodingWarning
"""What comes of a file, or of a part of it."""
Parser = Callable[[str, bytes, Options], Iterable[Outcome]]


class Prose:
    """The text of a document as it grows block by block, and the places where its blocks stand."""

    def __init__(self, path: str, options: Options) -> None:
        self._path = path
        self._limit = options.max_bytes
        self._parts: list[str] = []
        self._length = 0
        self._places: list[Place] = []
        self._next_place = ""
        self._heading = ""

    def place(self, name: str) -> None:
        """Say where the blocks from the next one on stand, as `p. 4`."""
        self._next_place = name

    def section(self, heading: str) -> None:
        """Add a heading, which names the place of the blocks that follow."""
        if name := line(heading):
            self._heading = self._heading or name
            self.place(section_name(name))
            self.add(heading)

    def add(self, block: str, gap: str = "\n\n") -> None:
        """Add a block of text after a gap.

        Raises:
            DocumentError: the text has become too long.
        """
        text = clean(block).strip()
        if not text:
            return
        if self._parts:
            self._append(gap)
        if self._next_place and (not self._places or self._places[-1].name != self._next_place):
            self._places.append(Place(self._length, self._next_place))
        self._append(text)
        if self._length > self._limit:
            raise DocumentError(too_large("holds more than {} of text", self._limit))

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)

    @property
    def empty(self) -> bool:
        return not self._parts

    def found(
        self, title: str = "", date: str | None = None, metadata: Mapping[str, str | None] | None = None
    ) -> Found:
        """Return the document; its title is its first heading, or the stem of its path, where it states none.

        Raises:
            DocumentError: there is no text.
        """
        if self.empty:
            raise DocumentError("holds no text; there is nothing in it to index")
        title = line(title) or self._heading or PurePosixPath(self._path).stem
        stated = {name: said for name, value in (metadata or {}).items() if (said := line(value or ""))}
        return Found(self._path, "".join(self._parts), title, date, stated, tuple(self._places))


def section_name(heading: str) -> str:
    """Return how a place under a heading is named: the heading in quotation marks."""
    name = line(heading)
    return f"“{name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1].rstrip() + '…'}”"


def row(cells: Iterable[str]) -> str:
    """Return a row of a table as a line of text, empty where all cells are."""
    said = [line(cell) for cell in cells]
    return " | ".join(said) if any(said) else ""


def line(text: str) -> str:
    """Return a text on one line."""
    return " ".join(clean(text).split())


def clean(text: str) -> str:
    """Return a text that can be stored, every newline as `\\n`, without control characters."""
    return _CONTROL.sub("", newlines(well_formed(text)).replace("\v", "\n").replace("\f", "\n"))


def newlines(text: str) -> str:
    """Return the text with `\\r\\n` and `\\r` as `\\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def too_large(what: str, limit: int) -> str:
    """Return the reason why something is not read, `{}` in it standing for the limit."""
    megabytes = f"{limit / MEGABYTE:g} MB"
    return f"{what.format(megabytes)}; split it, or raise the limit by --set read.max_megabytes=N"
