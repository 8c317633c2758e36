"""What of a long source is shown for a statement that cites it: the sentence that shares most words with it."""

from __future__ import annotations

import re

LONG = 400
"""Characters from which on a source is no quotation, but a whole chunk."""
_CITED = re.compile(r"([^\[\]\n]*)((?:\[\d+\])+)")


def statements(text: str) -> dict[int, str]:
    """Return for each number of a citation what it stands behind, where it first does."""
    found: dict[int, str] = {}
    before = ""
    for cited in _CITED.finditer(text):
        before = cited[1] if cited[1].strip(" .,;:*_-") else before  # `[1]. [2]`: both stand behind the same
        for number in re.findall(r"\d+", cited[2]):
            found.setdefault(int(number), before)
    return found


def nearest(source: str, statement: str) -> str:
    """Return a source from the sentence on that shares most words with a statement; a short one as it is."""
    from conspectus.text.sentences import sentences
    from conspectus.text.words import terms

    asked = set(terms(statement))
    if len(source) <= LONG or not asked:
        return source
    best, start = 0.0, 0
    for a, b in sentences(source):
        held = set(terms(source[a:b]))
        shared = len(asked & held) / (len(held) + 5) ** 0.5 if held else 0.0  # a long sentence shares some by chance
        if shared > best:
            best, start = shared, a
    return f"… {source[start:]}" if start else source
