"""Where texts that others cut out of documents stand in them: text units, and quotations inside units."""

from __future__ import annotations

import re
from collections.abc import Iterator

from conspectus.rows import Span

HEADER_LINES = 8
"""Lines of metadata that may stand before the text of a unit (GraphRAG puts `title: ...` there)."""
SHORTEST_PART = 15
"""Characters of a part of a quotation that is looked for by itself."""


def plain(text: str) -> str:
    """Return a text as it is stored: newlines as `\\n`, without a byte order mark."""
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")


def find_unit(unit: str, text: str, after: int = 0) -> tuple[int, int] | None:
    """Return the characters of a document that a unit was cut out of, None where it does not hold them.

    It is looked for behind the start of the unit before it, then anywhere; whole, then without the lines of
    metadata before it; last, whatever the white space.
    """
    for body in _bodies(plain(unit)):
        at = text.find(body, after)
        if at < 0:
            at = text.find(body)
        if at >= 0:
            return at, at + len(body)
    body = next(reversed(list(_bodies(plain(unit)))), "")
    return find_loosely(body, text, 0, len(text)) if len(body) < 20_000 else None


def _bodies(unit: str) -> Iterator[str]:
    """Yield a unit, then what is left of it after each line of metadata; half characters at its ends left
    out."""
    unit = unit.strip("\ufffd")
    if unit.strip():
        yield unit
    for _ in range(HEADER_LINES):
        line, newline, unit = unit.partition("\n")
        if not newline or not re.match(r"[\w ]{1,40}: .*\.$", line):
            return
        if unit.strip("\ufffd").strip():
            yield unit.strip("\ufffd")


def find_loosely(words: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the characters between `start` and `end` that hold the words, whatever the white space and
    case."""
    parts = words.split()
    if not parts:
        return None
    found = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE).search(text, start, end)
    return found.span() if found else None


def find_quotation(quotation: str, text: str, span: Span) -> Iterator[Span]:
    """Yield where a quotation stands inside a span of a document, or its parts, which `;` or an ellipsis
    separate."""
    for parts in ([quotation], re.split(r"\s*(?:;|\.\.\.|…|\n)\s*", quotation)):
        found = [
            place
            for part in parts
            if len(part) >= SHORTEST_PART or len(parts) == 1
            if (place := find_loosely(part.strip(" \"'“”‘’"), text, span.start, span.end))
        ]
        if found:
            for start, end in found:
                yield Span(span.document_id, start, end)
            return
