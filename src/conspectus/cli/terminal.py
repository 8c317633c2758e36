"""What reaches a terminal: text without control characters, wrapped to its width, and Markdown.

Text of documents, file names and replies of models are never trusted here: a control sequence in them could recolour
the screen, write to the clipboard (OSC 52), hide where a link leads (OSC 8) or forge a line.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, TextIO

from conspectus.lazy import lazy_module

if TYPE_CHECKING:
    import markdown_it
    from rich import cells as rich_cells
    from rich import console as rich_console
    from rich import markdown as rich_markdown
else:
    markdown_it, rich_cells = lazy_module("markdown_it"), lazy_module("rich.cells")
    rich_console, rich_markdown = lazy_module("rich.console"), lazy_module("rich.markdown")

BOLD, PLAIN = "\ufdd0", "\ufdd1"
"""Where bold text begins and ends. Unicode reserves these; `printable` turns them into codes, or nothing."""
SOURCE = 4
"""Columns that what is said of a source is indented by, below its number."""
PROSE = 100
"""Columns of Markdown at most: longer lines are hard to read."""
_CONTROLS = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, the cursor
    r"|(?:\x1b[]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x1f\x7f-\x9f]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS … with what they carry
    r"|\x1b[ -/]*[0-~]?"
    r"|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"  # also line separators and what turns text around
)
_CODES = re.compile(r"\x1b\[[0-9;]*m")
_WIDE = r"\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\U00020000-\U0003fffd"
_CLOSING = "、。〉》」』】〕！），．：；？"
_LEAD = re.compile(r"[ │├└─]*(?:(?:\[\d+\])+ |\d+(?:\. +| {2,})|[-*•] +)?")
"""What stands before the text of a line: its indentation, the lines of a tree, the number of a source or a report."""


def clean(text: str) -> str:
    """Return a text without control characters and sequences, except newlines and tabs."""
    return _CONTROLS.sub(lambda match: " " if match[0].isspace() else "", text.replace("\r\n", "\n"))


def line(text: str) -> str:
    """Return a text on one line, without control characters: for names, titles and file names."""
    return " ".join(clean(text).split())


def columns(stream: TextIO) -> int | None:
    """Return the width of the terminal that a stream is shown on, in columns; None where it is shown on none."""
    if not stream.isatty():
        return None
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal() and int(given):
        return int(given)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # a terminal that does not tell its size
        return 80


def has_styles(stream: TextIO) -> bool:
    """Return whether text may be bold or coloured: on terminals, unless the user wants none (https://no-color.org)."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def printable(text: str, stream: TextIO) -> str:
    """Return a text as a stream may show it: cleaned, wrapped to a terminal's width, and only then styled."""
    text = clean(text)
    if width := columns(stream):
        text = "\n".join(part for line in text.split("\n") for part in wrap(line.expandtabs(), width))
    if not has_styles(stream):
        return text.replace(BOLD, "").replace(PLAIN, "")
    end = PLAIN if text.rfind(BOLD) > text.rfind(PLAIN) else ""  # a sign of a document that nothing ends
    return f"{text}{end}".replace(BOLD, "\x1b[1m").replace(PLAIN, "\x1b[0m")


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a character of Chinese, none for an accent."""
    text = text.replace(BOLD, "").replace(PLAIN, "")
    if text.isascii():
        return len(text)
    return rich_cells.cell_len(text)


def wrap(text: str, width: int) -> list[str]:
    """Return the lines that a line of text takes at a width; later ones are indented as its text is.

    A path may be divided behind a `/`; a word is only where it is longer than a whole line.
    """
    if len(text) <= width // 2 or cells(text) <= width:
        return [text]
    lead = _LEAD.match(text)
    head = lead[0] if lead else ""
    indent = "".join("│" if sign in "│├" else " " for sign in head)
    if "[" in head:
        indent = " " * SOURCE  # however many numbers lead to it
    if len(head) > width // 2:
        head = ""
    if len(indent) > width // 2:
        indent = ""
    room = width - max(len(head), len(indent))
    lines, current, is_empty = list[str](), head, True
    for word in _words().findall(text[len(head) :]):
        for part in [word] if cells(word.rstrip()) <= room else rich_cells.chop_cells(word, room):
            if not is_empty and cells(current + part.rstrip()) > width:
                lines.append(current.rstrip())
                current = indent
            current += part
            is_empty = False
    return [*lines, current.rstrip()]


@cache
def _words() -> re.Pattern[str]:
    """Return what finds words: a line may end behind a space or a slash, and between the characters of Chinese and
    Japanese.

    It takes 5 ms to compile, which is too long for what `conspectus --help` imports.
    """
    return re.compile(rf"[{_WIDE}][{_CLOSING}]* *|[^ /\\{_WIDE}]*[/\\]+|[^ /\\{_WIDE}]+[{_CLOSING}]* *")


def markdown(text: str, stream: TextIO, width: int) -> list[str]:
    """Return the lines of Markdown as a terminal shows it.

    HTML is shown as it stands rather than left out, and links with their addresses: a hidden one could lead anywhere.
    """
    colours = "auto" if has_styles(stream) else None
    console = rich_console.Console(file=stream, width=min(width, PROSE), color_system=colours, highlight=False)
    shown = rich_markdown.Markdown(clean(text), hyperlinks=False)
    parser = markdown_it.MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    parser.disable(["reference", "lheading"])  # `[1]` is a citation, never a link
    shown.parsed = parser.parse(shown.markup)
    with console.capture() as captured:
        console.print(shown)
    lines = [line.rstrip() for line in captured.get().split("\n")]
    filled = [n for n, text in enumerate(lines) if _CODES.sub("", text).strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


class Stream:
    """Shows the pieces of an answer as they come.

    On a terminal they are set as Markdown, line by line, tables and code when they are whole; elsewhere pieces stay as
    they are.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.any = False
        """Whether anything was shown."""
        self._stream = stream or sys.stdout
        self._width = columns(self._stream)
        self._text = ""
        self._gap = False
        self._shown = 0
        """Lines of the block that is being written which are on the terminal."""

    def __call__(self, piece: str) -> None:
        self.any = True
        if self._width is None:
            self._stream.write(clean(piece))
            self._stream.flush()
            return
        self._text += piece
        ends = (
            m for m in _BLANK.finditer(self._text) if len(_FENCE.findall(self._text, 0, m.start())) % 2 == 0
        )
        start = 0
        for blank in ends:  # those inside a block of code are left out
            self._show(self._text[start : blank.start()])
            start = blank.end()
        self._text = self._text[start:]
        words = self._text.rpartition(" ")[0]
        marks_closed = all(words.count(mark) % 2 == 0 for mark in ("**", *"*_`~")) and words.count(
            "["
        ) == words.count("]")
        if " " in piece and marks_closed and not _UNSETTLED.search(words):
            self._show(words, whole=False)

    def finish(self) -> None:
        """Show what is left, and end the line."""
        if self._width is None:
            self._stream.write("\n")
        else:
            self._show(self._text)
            self._text = ""
        self._stream.flush()

    def _show(self, block: str, *, whole: bool = True) -> None:
        """Show the lines of a block that are not yet; the last one of a block that goes on may still change."""
        lines = markdown(block, self._stream, self._width or PROSE)
        new = lines[self._shown : None if whole else -1]
        if new:
            self._stream.write(
                "".join(f"{line}\n" for line in (["", *new] if self._gap and not self._shown else new))
            )
            self._stream.flush()
        self._gap = self._gap or bool(lines and whole)
        self._shown = 0 if whole else self._shown + len(new)


_BLANK = re.compile(r"\n[ \t]*\n(?=\S)")
"""Where a block of Markdown ends: an empty line, behind which another block begins that is no part of a list."""
_UNSETTLED = re.compile(r"^ *(?:\||```|~~~)", re.MULTILINE)
"""Markdown whose first lines depend on its last ones."""
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
