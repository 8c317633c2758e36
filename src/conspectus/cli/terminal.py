"""Output for terminals: text without control characters, wrapped to the width, tables, and Markdown.

Text of documents, file names and replies of models are never trusted here: a control sequence in them could recolour
the screen, write to the clipboard (OSC 52), hide the target of a link (OSC 8) or forge a line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TextIO

from conspectus.lazy import lazy_module
from conspectus.rows import plain

if TYPE_CHECKING:
    import markdown_it
    from rich import cells as rich_cells
    from rich import console as rich_console
    from rich import markdown as rich_markdown
    from rich import table as rich_table
    from rich import text as rich_text
else:
    markdown_it, rich_cells = lazy_module("markdown_it"), lazy_module("rich.cells")
    rich_console, rich_markdown = lazy_module("rich.console"), lazy_module("rich.markdown")
    rich_table, rich_text = lazy_module("rich.table"), lazy_module("rich.text")

BOLD, PLAIN = "\ufdd0", "\ufdd1"
"""The beginning and end of bold text. Unicode reserves both; `printable` turns them into terminal codes, or nothing."""
BREAK = "\u2028"
"""Where a line may end: a space to `rich`. No text that is printed has one, see `rows.plain`."""
SOURCE = 4
"""Columns by which a source is indented below its number."""
PROSE = 100
"""Maximum columns of Markdown, and of tables outside a terminal: longer lines are hard to read."""
GAP = 2
"""Blank columns between the columns of a table."""
NARROWEST = 20
"""Minimum columns of the terminal to which a text in a table is wrapped."""
_CODES = re.compile(r"\x1b\[[0-9;]*m")
_LEAD = re.compile(r"[ │├└─]*(?:(?:\[\d+\])+ |\d+(?:\. +| {2,})|[-*•] +)?")
"""The part of a line before its text: indentation, the lines of a tree, the number of a source or a report."""


def columns(stream: TextIO) -> int | None:
    """Return the width of the terminal that shows a stream, in columns; None if no terminal does."""
    if not stream.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # a terminal of unknown size
        return 80


def has_styles(stream: TextIO) -> bool:
    """Return whether text may be bold or coloured: on terminals, unless the user opts out (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str, stream: TextIO) -> str:
    """Return a text ready for a stream: cleaned, wrapped to the width of a terminal, and only then styled."""
    text = plain(text)
    if width := columns(stream):
        text = "\n".join(part for line in text.split("\n") for part in wrap(line.expandtabs(), width))
    if not has_styles(stream):
        return text.replace(BOLD, "").replace(PLAIN, "")
    end = PLAIN if text.rfind(BOLD) > text.rfind(PLAIN) else ""  # a mark in a document that has no end
    return f"{text}{end}".replace(BOLD, "\x1b[1m").replace(PLAIN, "\x1b[0m")


def wrap(text: str, width: int) -> list[str]:
    """Return a line of text wrapped to a width; its later lines are indented like its text."""
    if len(text) <= width // 2 or rich_cells.cell_len(text) <= width:
        return [text]
    lead = _LEAD.match(text)
    head = lead[0] if lead else ""
    indent = "".join("│" if sign in "│├" else " " for sign in head)
    if "[" in head:
        indent = " " * SOURCE  # independent of how many numbers precede it
    if len(indent) > width // 2:
        indent = ""
    first = _wrapped(text, width)[0]
    rest = _wrapped(text[len(first) :].strip(), width - len(indent))
    return [first, *(indent + line for line in rest)]


def _wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines, which may break after a space or a slash."""
    console = rich_console.Console(width=width, color_system=None)
    divisible = rich_text.Text(text.replace("/", f"/{BREAK}"))
    return [
        line.plain.replace(BREAK, "").rstrip() for line in divisible.wrap(console, width, overflow="fold")
    ]


def table(rows: Sequence[Sequence[str]], stream: TextIO, *, texts: int = 1) -> Iterator[str]:
    """Yield the lines of a table with a head: the first `texts` columns to the left, figures to the right.

    If the table is too wide, the heads and the widest text are wrapped; if that is not enough, each row becomes a list.
    """
    head, *body = ([plain(cell).replace("\n", " ") for cell in row] for row in rows)
    room = (columns(stream) or PROSE) - GAP * (len(head) - 1)
    if sum(_widths([head, *body])) > room:
        head = ["\n".join(cell.split()) for cell in head]
    widths = _widths([head, *body])
    widest = max(range(texts), key=widths.__getitem__)
    if sum(widths) > room and sum(widths) - widths[widest] + NARROWEST > room:
        for row in body:
            yield f"{BOLD}{'  '.join(filter(None, row[:texts]))}{PLAIN}"
            yield from (f"  {name}: {cell}" for name, cell in zip(rows[0][texts:], row[texts:], strict=True))
        return
    grid = rich_table.Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="")
    for n, cell in enumerate(head):
        side = "left" if n < texts else "right"
        grid.add_column(rich_text.Text(cell), justify=side, overflow="fold", no_wrap=n != widest)
    for row in body:
        grid.add_row(*map(rich_text.Text, row))
    console = rich_console.Console(file=stream, width=room + GAP * (len(head) - 1), color_system=None)
    with console.capture() as captured:
        console.print(grid)
    yield from (line.rstrip() for line in captured.get().rstrip("\n").split("\n"))


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of each column of a table, in columns of the terminal."""
    parts = ([part for cell in column for part in cell.split("\n")] for column in zip(*rows, strict=True))
    return [max(map(rich_cells.cell_len, column)) for column in parts]


def markdown(text: str, stream: TextIO, width: int) -> list[str]:
    """Return the lines of Markdown as a terminal shows it.

    HTML is shown as source instead of being left out, and links with their addresses: a hidden one could lead anywhere.
    """
    colours = "auto" if has_styles(stream) else None
    console = rich_console.Console(
        file=stream, width=min(width, PROSE), color_system=colours, highlight=False
    )
    shown = rich_markdown.Markdown(plain(text), hyperlinks=False)
    parser = markdown_it.MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    parser.disable(["reference", "lheading"])  # `[1]` is a citation, never a link
    shown.parsed = parser.parse(shown.markup)
    with console.capture() as captured:
        console.print(shown)
    lines = [line.rstrip() for line in captured.get().split("\n")]
    filled = [n for n, text in enumerate(lines) if _CODES.sub("", text).strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


class Stream:
    """Shows the pieces of an answer as they arrive.

    On a terminal they are formatted as Markdown: text line by line, tables and code when they are complete. Elsewhere
    they are written unchanged.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.any = False
        """Whether anything was shown."""
        self._stream = stream or sys.stdout
        self._width = columns(self._stream)
        self._text = ""
        """Text that was not shown yet, or only as an incomplete block."""
        self._shown = 0
        """Number of lines of the current block that are on the terminal."""
        self._gap = False
        """Whether a block was shown before, so that an empty line must follow it."""

    def __call__(self, piece: str) -> None:
        self.any = True
        if self._width is None:
            self._write(plain(piece))
            return
        self._text += piece
        start = 0
        for blank in _BLANK.finditer(self._text):
            if len(_FENCE.findall(self._text, 0, blank.start())) % 2 == 0:  # not inside a block of code
                self._show(self._text[start : blank.start()])
                start = blank.end()
        self._text = self._text[start:]
        words = self._text.rpartition(" ")[0]
        if " " in piece and not _UNSETTLED.search(words) and _marks_are_closed(words):
            self._show(words, whole=False)

    def finish(self) -> None:
        """Show the remaining text, and end the line."""
        if self._width is None:
            self._write("\n")
        else:
            self._show(self._text)

    def _show(self, block: str, *, whole: bool = True) -> None:
        """Show the lines of a block that were not shown yet; the last line of an incomplete block may still change."""
        lines = markdown(block, self._stream, self._width or PROSE)
        new = lines[self._shown : None if whole else -1]
        if new and self._gap and not self._shown:
            self._write("\n")
        self._write("".join(f"{line}\n" for line in new))
        self._gap = self._gap or bool(lines and whole)
        self._shown = 0 if whole else self._shown + len(new)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


_BLANK = re.compile(r"\n[ \t]*\n(?=\S)")
"""The end of a block of Markdown: a blank line before another block that does not belong to a list."""
_UNSETTLED = re.compile(r"^ *(?:\||```|~~~)", re.MULTILINE)
"""Markdown whose first lines depend on its last ones: tables and code blocks."""
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)


def _marks_are_closed(text: str) -> bool:
    """Return whether all marks that open in a text, such as those of bold words and links, are closed in it."""
    even = all(text.count(mark) % 2 == 0 for mark in ("**", *"*_`~"))
    return even and text.count("[") == text.count("]")
