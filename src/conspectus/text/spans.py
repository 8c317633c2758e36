"""Where the words of a quotation stand in a text."""

from __future__ import annotations

import re


def located(words: str, text: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
    """Return the characters of a text that hold the words, whatever the white space and case, or None."""
    parts = words.split()
    if not parts:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    found = pattern.search(text, start, len(text) if end is None else end)
    return (found.start(), found.end()) if found else None
