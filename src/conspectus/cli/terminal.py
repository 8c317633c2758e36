"""What reaches a terminal: text without control characters, wrapped to its width, and Markdown as it is written.

Text of documents, file names and replies of models are never trusted here: a control sequence in them could recolour
the screen, write to the clipboard (OSC 52), hide where a link leads (OSC 8) or forge a line.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from functools import cache
from typing import TextIO

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
_BEGUN = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f][^\x00-\x1f\x7f-\x9f]*\Z")
"""A control sequence that may go on behind the end of a text."""
_CODES = re.compile(r"\x1b\[[0-9;]*m")
_WIDE = r"\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\U00020000-\U0003fffd"
_CLOSING = "、。〉》」』】〕！），．：；？"
_PARTS = (re.compile(r"[^/\\]*[/\\]+|[^/\\]+"), re.compile(r"[^_.-]*[_.-]+|[^_.-]+"), re.compile(r"."))
"""Parts of a word that is longer than a line, usually a path: its folders, parts of their names, characters."""
_LEAD = re.compile(r"[ │├└─]*(?:(?:\[\d+\])+ |\d+\. +|[-*•] +)?")
"""What stands before the text of a line: its indentation, the lines of a tree, the number of a source."""


def clean(text: str) -> str:
    """Return a text without control characters and sequences, except newlines and tabs."""
    return _CONTROLS.sub(lambda found: " " if found[0].isspace() else "", text.replace("\r\n", "\n"))


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
        text = "\n".join(wrapped for one in text.split("\n") for wrapped in wrap(one.expandtabs(), width))
    if not has_styles(stream):
        return text.replace(BOLD, "").replace(PLAIN, "")
    end = PLAIN if text.rfind(BOLD) > text.rfind(PLAIN) else ""  # a sign of a document that nothing ends
    return f"{text}{end}".replace(BOLD, "\x1b[1m").replace(PLAIN, "\x1b[0m")


def cells(text: str) -> int:
    """Return how many columns of a terminal a text takes: two for a character of Chinese, none for an accent."""
    text = text.replace(BOLD, "").replace(PLAIN, "")
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrap(text: str, width: int) -> list[str]:
    """Return the lines that a line of text takes at a width; later ones are indented as its text is.

    Words are not divided, except one that is longer than a whole line, after a `/` where it has any.
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
    lines, current, empty = list[str](), head, True
    for word in _fitting(text[len(head) :], width - max(len(head), len(indent))):
        if not empty and cells(current + word.rstrip()) > width:
            lines.append(current.rstrip())
            current = indent
        current += word
        empty = False
    return [*lines, current.rstrip()]


@cache
def _words() -> re.Pattern[str]:
    """Return what finds words: a line may end behind a space, and between the characters of Chinese and Japanese.

    It takes 5 ms to compile, which is too long for what `conspectus --help` imports.
    """
    return re.compile(rf"[{_WIDE}][{_CLOSING}]* *|[^ {_WIDE}]+[{_CLOSING}]* *")


def _fitting(text: str, width: int) -> Iterator[str]:
    """Yield the words of a text, those longer than a line in parts."""
    for word in _words().findall(text):
        yield from _divided(word, width, 0)


def _divided(word: str, width: int, depth: int) -> Iterator[str]:
    if depth == len(_PARTS) or cells(word.rstrip()) <= width:
        yield word
        return
    for part in _PARTS[depth].findall(word):
        yield from _divided(part, width, depth + 1)


def markdown(text: str, stream: TextIO, width: int) -> list[str]:
    """Return the lines of Markdown as a terminal shows it.

    HTML is shown as it stands rather than left out, and links with their addresses: a hidden one could lead anywhere.
    """
    from markdown_it import MarkdownIt
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console(
        file=stream, width=min(width, PROSE), color_system="auto" if has_styles(stream) else None, highlight=False
    )
    shown = Markdown(clean(text), hyperlinks=False)
    parser = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
    shown.parsed = parser.disable(["reference", "lheading"]).parse(shown.markup)  # `[1]` is a citation, never a link
    with console.capture() as captured:
        console.print(shown)
    lines = [one.rstrip() for one in captured.get().split("\n")]
    filled = [place for place, one in enumerate(lines) if _CODES.sub("", one).strip()]
    return lines[filled[0] : filled[-1] + 1] if filled else []


class Stream:
    """Shows the pieces of an answer as they come: set as Markdown on a terminal, as they are elsewhere.

    Lines of a paragraph or of a point of a list are printed as soon as they are full, tables and code when they are
    whole. Nothing is drawn twice, so that nothing flickers, and an answer may be longer than the screen.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self.any = False
        """Whether anything was shown."""
        self._stream = stream or sys.stdout
        self._width = columns(self._stream)
        self._line = ""
        self._block: list[str] = []
        self._printed: list[str] = []
        self._gap = self._blank = False
        self._rendered = 0

    def __call__(self, piece: str) -> None:
        self.any = True
        if self._width is None:
            self._stream.write(clean(piece))
            self._stream.flush()
            return
        *whole, self._line = (self._line + piece).split("\n")
        for one in whole:
            self._add(one)
        self._show_full_lines()

    def finish(self) -> None:
        """Show what is left, and end the line."""
        if self._width is None:
            self._stream.write("\n")
        else:
            self._add(self._line)
            self._line = ""
            self._end()
        self._stream.flush()

    def _add(self, one: str) -> None:
        """Add a whole line: to the block that is being written, or to a new one."""
        block = self._block
        fenced = _fence(block)
        if not one.strip() and not fenced:
            self._blank = True
            if block and not _POINT.match(block[0]):  # a point may go on behind an empty line
                self._end()
            return
        if block and not fenced and _begins(one, block, behind_gap=self._blank):
            self._end_before(one)
        elif block and self._blank:
            block.append("")
        self._blank = False
        block = self._block
        block.append(one)
        if (_HEADING.match(one) and not fenced) or (len(block) > 1 and fenced and one.strip() == fenced):
            self._end()

    def _end_before(self, one: str) -> None:
        self._end(gap=not (_POINT.match(self._block[0]) and _POINT.match(one)))

    def _end(self, *, gap: bool = True) -> None:
        """Print what was not printed yet of the block, and begin another one."""
        if self._block:
            self._print(self._set("\n".join(self._block)))
            self._gap = gap
        self._block, self._printed, self._rendered = [], [], 0

    def _show_full_lines(self) -> None:
        """Print the lines of the unfinished block that nothing behind them can change."""
        if self._width is None or len(self._line) < SURE:
            return
        if self._block and not _fence(self._block) and _begins(self._line, self._block, behind_gap=self._blank):
            self._end_before(self._line)
        written = "\n".join([*self._block, *([""] if self._block and self._blank else []), self._line])
        started = self._block[0] if self._block else self._line
        if len(written) - self._rendered < min(self._width, PROSE) // 2 or _WHOLE.match(started) or _open(written):
            return
        self._rendered = len(written)
        self._print(self._set(written)[:-1])

    def _set(self, text: str) -> list[str]:
        return markdown(text, self._stream, self._width or PROSE)

    def _print(self, lines: list[str]) -> None:
        """Print the lines that come after those that are printed."""
        bare = [_CODES.sub("", one) for one in lines]
        if bare[: len(self._printed)] != self._printed:  # marks further on changed what they are: lose nothing
            self._printed = []
        rest = lines[len(self._printed) :]
        if rest and self._gap and not self._printed:
            rest = ["", *rest]
            self._gap = False
        self._stream.write("".join(f"{one}\n" for one in rest))
        self._stream.flush()
        self._printed = bare


SURE = 14
"""Characters of a line that show what begins with it: `123456789. ` is the longest mark of a point."""
_POINT = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)]) ")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_WHOLE = re.compile(r" {0,3}(?:[|>#]|```|~~~)| {4}")
"""What is shown only when it is whole: tables, quotations, headings and code."""


def _fence(block: list[str]) -> str:
    """Return what ends a block of code, "" where the block is no code."""
    opened = block[0].strip() if block else ""
    return opened[:3] if opened.startswith(("```", "~~~")) else ""


def _begins(one: str, block: list[str], *, behind_gap: bool) -> bool:
    """Return whether a line begins another block than the one that is being written."""
    if (one.lstrip()[:3] in ("```", "~~~") and not one.startswith("  ")) or _HEADING.match(one):
        return True
    point, current = _POINT.match(one), _POINT.match(block[0])
    if not current:
        return bool(point and (not point[0].strip()[0].isdecimal() or point[0].strip() in ("1.", "1)")))
    if point:
        return len(one) - len(one.lstrip()) <= len(block[0]) - len(block[0].lstrip()) + 1
    return behind_gap and not one.startswith("  ")


def _open(text: str) -> bool:
    """Return whether something in a text is begun and not ended, that could change how what is before it is set."""
    bare = re.sub(r"(?m)^\s*[*+-] |\\.", "", text)
    odd = any(n % 2 for n in (bare.count("**"), bare.replace("**", "").count("*"), bare.count("`"), bare.count("~~")))
    link = bare.rfind("](")
    return (
        odd
        or len(re.findall(r"(?<!\w)_|_(?!\w)", bare)) % 2 > 0
        or bare.rfind("[") > bare.rfind("]")
        or (link >= 0 and ")" not in bare[link:])
        or bool(_BEGUN.search(text))
    )
