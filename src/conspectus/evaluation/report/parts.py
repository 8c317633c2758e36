"""What a report is made of: sections of paragraphs, tables and pictures, which a page and Markdown both show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cell:
    """A cell of a table that leads somewhere or has a colour."""

    text: str
    to: tuple[str, ...] = ()
    """What of the page it opens, as `("pair", "comprehensiveness", "C0", "SS")`."""
    colour: str = ""
    bold: bool = False


Row = Sequence[str | Cell]


@dataclass(frozen=True)
class Table:
    """Rows under a head; the first `texts` columns hold texts and stand to the left."""

    head: Sequence[str]
    rows: Sequence[Row]
    texts: int = 1
    caption: str = ""


@dataclass(frozen=True)
class Picture:
    """An SVG of ours."""

    svg: str
    file: str
    title: str


@dataclass(frozen=True)
class Missing:
    """What is not there, and the command that makes it."""

    what: str
    command: str = ""


@dataclass(frozen=True)
class Heading:
    text: str


@dataclass(frozen=True)
class Folded:
    """Paragraphs, each with what it is about, that a reader opens."""

    title: str
    paragraphs: Sequence[tuple[str, str]]


Block = str | Table | Picture | Missing | Heading | Folded


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    id: str
    title: str
    blocks: tuple[Block, ...]


def text_of(cell: str | Cell) -> str:
    """Return what a cell says."""
    return cell if isinstance(cell, str) else cell.text
