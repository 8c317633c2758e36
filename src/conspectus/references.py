"""References in texts, `[Data: Reports (1, 3); Entities (5, +more)]`: read leniently, written strictly.

Models write them in many forms: with `,` or `;` between tables, with full-width punctuation, in Chinese, with `+more`
with or without the comma, without the parentheses. All forms are read; one is written (GraphRAG appendix E.2: at
most five ids of a table, then `+more`).
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import NamedTuple

TABLES = ("Reports", "Sources", "Entities", "Relationships", "Claims")
_NAMES = {
    **{form: table for table in TABLES for form in (table.lower(), table.lower().rstrip("s"))},
    "entity": "Entities",
    "text units": "Sources",
    "报告": "Reports",
    "来源": "Sources",
    "实体": "Entities",
    "关系": "Relationships",
    "声明": "Claims",
}
MOST = 5
"""Maximum number of ids of one table in a block of references; the rest is `+more`."""

DIGITS = 12
"""Maximum digits of a row number that are read: no table has so many rows, and Python parses at most 4,300."""

_BLOCK = re.compile(r"[\[［【]\s*(?:Data|数据(?:来源)?)\s*[:：]\s*(.*?)[\]］】]", re.IGNORECASE | re.DOTALL)
CLOSING = re.compile(r"[\]］】]")
"""The closing bracket of a block of references."""
_PART = re.compile(
    r"([^\W\d_]+(?:\s[^\W\d_]+)?)\s*[:：]?\s*"
    r"(?:[（(]([^()（）]*)[)）]|(#?\d+(?:\s*(?:[,，、]|and|和)\s*#?\d+)*))"
)
_NUMBER = re.compile(r"\d+")
_WRITTEN = re.compile(rf"({'|'.join(TABLES)}) \([\d, +more]*\)")
_BARE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*(?:`|\Z))|[ \t]*[\[［【](\d{1,3})[\]］】](?![(:])", re.DOTALL)
"""Code, or a number in brackets that is no link, of at most three digits, since four may be a year."""


class Reference(NamedTuple):
    """A reference to one row: row `number` of `table`."""

    table: str
    number: int


def write(references: Iterable[Reference], more: str = ", +more") -> str:
    """Return references in the one written form, "" if there are none; `more` stands for those left out."""
    by_table: dict[str, list[int]] = {}
    for reference in references:
        numbers = by_table.setdefault(reference.table, [])
        if reference.number not in numbers:
            numbers.append(reference.number)
    parts = [
        f"{table} ({', '.join(map(str, numbers[:MOST]))}{more if len(numbers) > MOST else ''})"
        for table in TABLES
        if (numbers := by_table.get(table))
    ]
    return f"[Data: {'; '.join(parts)}]" if parts else ""


def find(text: str) -> list[Reference]:
    """Return the references in a text in order of occurrence, including repeated ones."""
    return [reference for block in _BLOCK.finditer(text) for reference in _read(block.group(1))]


def _read(inside: str) -> list[Reference]:
    return [
        Reference(table, int(number[:DIGITS]))
        for part in _PART.finditer(inside)
        if (table := _NAMES.get(" ".join(part.group(1).lower().split())))
        for number in _NUMBER.findall(part.group(2) or part.group(3) or "")
    ]


def rewrite(text: str, replace: Callable[[list[Reference]], str]) -> str:
    """Return the text with each block of references replaced; an empty replacement also removes the space before it."""
    parts: list[str] = []
    end = 0
    for block in _BLOCK.finditer(text):
        before, new = text[end : block.start()], replace(_read(block.group(1)))
        parts += (before, new) if new else (before.rstrip(" \t"),)
        end = block.end()
    return "".join((*parts, text[end:]))


def renumbered(text: str, numbers: Mapping[str, Mapping[int, int]]) -> str:
    """Return a text with its references, in the one written form, renumbered by the new numbers of each table."""

    def table(part: re.Match[str]) -> str:
        number = numbers[part[1]]
        return _NUMBER.sub(lambda match: str(number[int(match[0])]), part[0])

    return _BLOCK.sub(lambda block: _WRITTEN.sub(table, block[0]), text)


def between(text: str) -> list[str]:
    """Return the parts of a text before, between and after its blocks of references."""
    return _BLOCK.split(text)[::2]


def strip(text: str) -> str:
    """Return the text without its references."""
    *before, last = between(text)
    return "".join([*(part.rstrip(" \t") for part in before), last])


def without_unknown(text: str, known: Callable[[int], bool]) -> tuple[str, int]:
    """Return a text without unknown bare numbers, `[77]`, and the number of those removed; code stays as it is."""
    removed = 0

    def number(match: re.Match[str]) -> str:
        nonlocal removed
        if match[1] or known(int(match[2])):
            return match[0]
        removed += 1
        return ""

    return _BARE.sub(number, text), removed


def without_numbers(text: str) -> str:
    """Return a text with `(7)` for each bare `[7]`, which is no citation; an index, `argv[7]`, is escaped instead."""

    def rounded(match: re.Match[str]) -> str:
        if match[0][0] == "[" and text[max(match.start() - 1, 0) : match.start()].strip("\\ \n"):
            return f"\\{match[0]}"
        return match[0] if match[1] else f"{match[0][: -len(match[2]) - 2]}({match[2]})"

    return _BARE.sub(rounded, text)


removed_by_model: ContextVar[list[int]] = ContextVar("removed_by_model")
"""A list, set by the caller, to which a model appends how many references of a reply it removed as invalid."""


def translate(text: str, to: Callable[[Reference], Reference | None]) -> tuple[str, int]:
    """Return the text with each reference mapped by `to`, and the number of those removed (mapped to None)."""
    removed = 0

    def block(references: list[Reference]) -> str:
        nonlocal removed
        mapped = [to(reference) for reference in references]
        removed += mapped.count(None)
        return write(m for m in mapped if m is not None)

    return rewrite(text, block), removed


class Translation:
    """Maps the references of a text, given as a whole or in pieces, and counts those that are removed.

    Without `to`, texts stay as they are. A bare number, `[77]`, is removed unless it is one of `rows` or occurs in one
    of the texts that the model was `shown`.
    """

    def __init__(
        self,
        to: Callable[[Reference], Reference | None] | None = None,
        shown: Sequence[str] = (),
        rows: Collection[int] = (),
    ) -> None:
        self._to = to
        self._shown = shown
        self._rows = rows
        self._fence: str = ""
        """The opening mark of the code in which the last piece ended; else empty."""
        self.removed = 0

    def translate(self, text: str) -> str:
        if self._to is None:
            return text
        fence = self._fence
        text, unknown = without_unknown(fence + text, self._knows)
        inline = text.rpartition("\n")[2].replace("```", "").count("`") % 2
        self._fence = "```" if text.count("```") % 2 else "`" * inline
        text, removed = translate(text.removeprefix(fence), self._to)
        self.removed += removed + unknown
        return text

    def _knows(self, number: int) -> bool:
        return number in self._rows or any(f"[{number}]" in text for text in self._shown)


# Streams

LONGEST = 600
"""Maximum characters of an unfinished block of references; a longer open bracket is ordinary text."""
_OPEN = re.compile(r"[ \t]*[\[［【][^\]］】]*\Z")
_MAY_BE_BLOCK = re.compile(r"[ \t]*.\s*(?:|d|da|dat|data\b.*|数|数据.*|\d{1,3})", re.IGNORECASE | re.DOTALL)
_SPACE_AT_END = re.compile(r"[ \t`]+\Z")
"""Space, which is removed with a reference that may follow, and backticks, which may be an incomplete code mark."""


async def translate_stream(pieces: AsyncIterator[str], translate: Callable[[str], str]) -> AsyncIterator[str]:
    """Yield the translation of a streamed text, in pieces that end outside of blocks `[Data: …]`."""
    buffer = ""
    async for piece in pieces:
        buffer += piece
        ready = _ready(buffer)
        if ready and (text := translate(buffer[:ready])):
            yield text
        buffer = buffer[ready:]
    if buffer and (text := translate(buffer)):
        yield text


def _ready(text: str) -> int:
    """Return the number of characters that can be shown: those before an open block and the space before it."""
    opening = _OPEN.search(text)
    if opening and len(opening[0]) <= LONGEST and _MAY_BE_BLOCK.fullmatch(opening[0]):
        return opening.start()
    space = _SPACE_AT_END.search(text)
    return space.start() if space else len(text)
