"""The content of documents: their texts without what is omitted, and the spans of the one in the other."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from conspectus.rows import Document

Omitted = tuple[int, ...]
"""The spans of a text that are no content, as ascending starts and ends: `[0]` and `[1]` are those of the first."""
Span = tuple[int, int]
"""Start and end of a part of a text, in characters."""


@dataclass(frozen=True)
class Content:
    """The content of a text: the parts that are not omitted, concatenated."""

    text: str
    starts: Sequence[int]
    """Where each part starts in the content, ascending from 0."""
    offsets: Sequence[int]
    """Where each part starts in the whole text."""

    def span(self, start: int, end: int) -> Span:
        """Return the span of the whole text for characters `start` to `end` of the content."""
        return self._offset(start), self._offset(end - 1) + 1 if end > start else self._offset(start)

    def at(self, offset: int) -> int:
        """Return the number of characters of the content before a position in the whole text."""
        stretch = bisect_right(self.offsets, offset) - 1
        if stretch < 0:
            return 0
        end = self.starts[stretch + 1] if stretch + 1 < len(self.starts) else len(self.text)
        return min(self.starts[stretch] + offset - self.offsets[stretch], end)

    def _offset(self, at: int) -> int:
        stretch = bisect_right(self.starts, at) - 1
        return self.offsets[stretch] + at - self.starts[stretch]


@lru_cache(maxsize=64)
def content_outside(text: str, spans: Omitted) -> Content:
    """Return the content of a text whose omitted spans are given."""
    stretches = list(_spans_outside(spans, 0, len(text)))
    sizes = (end - start for start, end in stretches)
    starts = list(accumulate(sizes, initial=0))[: max(len(stretches), 1)]
    return Content(without(text, spans), starts, [start for start, _ in stretches] or [0])


def content_of(document: Document) -> Content:
    """Return the content of a document."""
    if not document.omitted:
        return Content(document.text, (0,), (0,))
    return content_outside(document.text, document.omitted)


def excerpt(document: Document, start: int, end: int) -> str:
    """Return the content in characters `start` to `end` of a document."""
    spans = document.omitted
    edge = bisect_right(spans, start)
    # nothing is omitted in this span
    if edge % 2 == 0 and (edge == len(spans) or spans[edge] > end):
        return document.text[start:end]
    return without(document.text, spans, start, end)


def without(text: str, spans: Sequence[int], start: int = 0, end: int | None = None) -> str:
    """Return characters `start` to `end` of a text without the omitted spans, with a space for each HTML line break."""
    end = len(text) if end is None else end
    return "".join(_with_spaces(text, a, b, spans) for a, b in _spans_outside(spans, start, end))


def _with_spaces(text: str, start: int, end: int, spans: Sequence[int]) -> str:
    """Return a part of the content; a `<` at its end is replaced by a space if the rest of the tag is omitted."""
    if end > start and text[end - 1] == "<" and end in spans[bisect_left(spans, end) :][:1]:
        return f"{text[start : end - 1]} "
    return text[start:end]


def _spans_outside(spans: Sequence[int], start: int, end: int) -> Iterator[Span]:
    """Return the spans from `start` to `end` that are not omitted."""
    if start >= end:
        return iter(())
    # an odd index: the position is inside an omitted span
    first, last = bisect_right(spans, start), bisect_left(spans, end)
    edges = (*(() if first % 2 else (start,)), *spans[first:last], *(() if last % 2 else (end,)))
    return zip(edges[::2], edges[1::2], strict=True)


def merged_edges(spans: Iterable[Span]) -> Omitted:
    """Return the starts and ends of spans in one ascending sequence, with touching and overlapping spans merged."""
    edges: list[int] = []
    for start, end in sorted(spans):
        if edges and start <= edges[-1]:
            edges[-1] = max(end, edges[-1])
        elif start < end:
            edges += (start, end)
    return tuple(edges)


def span_of(words: str, text: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
    """Return the span of the first occurrence of the words in a text, ignoring white space and case, or None."""
    parts = words.split()
    if not parts:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    match = pattern.search(text, start, len(text) if end is None else end)
    return (match.start(), match.end()) if match else None
