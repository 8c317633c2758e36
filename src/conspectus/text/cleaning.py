"""What of a text is no content: the markup of Markdown and HTML, and blocks that only lead to other pages.

Nothing is rewritten. The characters that are no content are left out of sentences, of chunks and of prompts, so that
what is quoted still leads to exact characters of the document. A block is left out for what it is made of (links,
images, a list of references, a table of contents), never for what it says; plain prose is never touched.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from conspectus.rows import Document

Omitted = tuple[int, ...]
"""The characters of a text that are no content, as ascending starts and ends: `[0], [1]` are the first such stretch."""

LINK_SHARE = 0.5
"""Share of the letters of a line in links from which on the line is navigation. Chosen on 367 web pages on mathematics
and society: of their 28,588 lines with links 55 % have more than 0.9, and 4 % between 0.3 and 0.7. Of 50 lines between
0.5 and 0.7 that were read, one was a piece of a sentence; of 50 between 0.3 and 0.5, three were prose."""
PROSE = 12
"""Words outside of links from which on a line is prose, whatever its share of links is."""
OTHER_LINES = 2
"""Lines in a row without a year, an address or a link at which a list of references has ended."""
CONTENTS_LINES = 3
"""Lines of a text that end in dots and a page number, from which on they are its table of contents."""

_URL = r"(?:[^\s()<>]|\((?:[^\s()<>]|\([^\s()<>]*\))*\))*"
_TARGET = rf"\(\s*(?:<[^<>\n]*>|{_URL})(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*\)"
_IMAGE = rf"!\[[^\[\]\n]*\]{_TARGET}"
_TAGS = (
    "a|abbr|article|aside|b|blockquote|body|br|button|caption|center|cite|code|col|dd|del|div|dl|dt|em|figcaption|figure|"
    "font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label|li|link|main|mark|meta|nav|ol|option|p|"
    "picture|pre|q|s|samp|section|select|small|source|span|strong|sub|summary|sup|svg|table|tbody|td|tfoot|th|thead|time|"
    "tr|u|ul|video"
)
_MARKUP = re.compile(
    rf"(?P<image>\[\s*(?:{_IMAGE}\s*)+\]{_TARGET}|{_IMAGE})"
    rf"|(?P<link>\[(?P<text>(?:[^\[\]\n]|\[[^\[\]\n]*\])*)\](?P<target>{_TARGET}))"
    rf"|(?P<tag></?(?:{_TAGS})(?:\s[^<>]*)?/?>)"
    r"|(?P<emphasis>(?:(?P<strong>\*\*(?!\d)|(?<!\w)__)|(?<![\w*_])[*_])(?=[^\s*_])(?P<emphasised>[^*_\n]{1,300}?)(?<=[^\s*_])"
    r"(?:(?(strong)(?:\*\*|__(?!\w))|[*_](?![\w*_]))))"
    r"|(?P<rule>^[ \t]*(?:={3,}|-{3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})[ \t]*$)",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_HIDDEN = {"<!--": "-->", "<script": "</script>", "<style": "</style>"}
"""What opens and closes parts of a page that nobody sees."""
_HINT = re.compile(
    r"\]\(|</?[a-zA-Z!]|\*\*|__|(?<![\w*_])[*_]\w|^[ \t]*(?:={3}|-{3}|\*[ \t]*\*)", re.MULTILINE
)
_HEADING = re.compile(r"[ \t]*(#{1,6})[ \t]+\S")
_RULE = re.compile(r"[ \t]*(?:=+|-+)[ \t]*$", re.MULTILINE)
_REFERENCES = re.compile(
    r"^[^\w\n]{0,8}(?:\d{1,2}[.)]? )?(?:references?|bibliography|works cited|literature(?: cited)?|external links|"
    r"further reading|footnotes|literatur(?:verzeichnis)?|weblinks|einzelnachweise|références|bibliographie|bibliografía|"
    r"referencias|referências|bibliografia|参考文献|参考资料|外部链接)[^\w\n]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)
_REFERENCE = re.compile(r"\b(?:1[5-9]|20)\d\d[a-z]?\b|https?://|\bdoi\b|\]\(", re.IGNORECASE)
_CONTENTS = re.compile(
    r"^[^\n]*?\w[^\n]*?(?:\.{4,}|(?:\. ){3,}\.?|…{2,}|·{4,}|_{4,})[ \t]*\d{1,4}[ \t]*$", re.MULTILINE
)
_LEADER_MARKS = "....", ". . .", "……", "····", "____"
"""Looked for before the pattern: that takes a hundredth of its time."""
_LEADERS = re.compile(r"(?:\.{4}|\. \. \.|…{2}|·{4}|_{4})[ \t]*\d{1,4}[ \t]*$", re.MULTILINE)
_LETTERS = re.compile(r"[^\W\d_]")
_WORDS = re.compile(r"[^\W\d_]{2,}")


def omitted(text: str) -> Omitted:
    """Return the characters of a text that are no content, as ascending starts and ends; none if that were all.

    >>> text = "See [the map](https://example.org/map.png)."
    >>> without(text, omitted(text))
    'See the map.'
    """
    spans = [*_references(text), *_contents(text)]
    if _HINT.search(text):
        markup, links = _markup(text)
        lines = list(_lines(text))
        spans += [*markup, *_hidden(text)]
        spans += _navigation(text, lines, _edges(spans), links)
        spans += _empty_sections(text, lines, _edges(spans))
    edges = _edges(spans)
    return edges if not edges or _LETTERS.search(without(text, edges)) else ()


@dataclass(frozen=True)
class Content:
    """The content of a text: stretches of it, one behind the other."""

    text: str
    starts: Sequence[int]
    """Where each stretch starts in the content, ascending from 0."""
    places: Sequence[int]
    """Where it starts in the whole text."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return the characters of the whole text that hold characters `start` to `end` of the content."""
        return self._place(start), self._place(end - 1) + 1 if end > start else self._place(start)

    def at(self, place: int) -> int:
        """Return how much of the content is before a character of the whole text."""
        stretch = bisect_right(self.places, place) - 1
        if stretch < 0:
            return 0
        end = self.starts[stretch + 1] if stretch + 1 < len(self.starts) else len(self.text)
        return min(self.starts[stretch] + place - self.places[stretch], end)

    def _place(self, at: int) -> int:
        stretch = bisect_right(self.starts, at) - 1
        return self.places[stretch] + at - self.starts[stretch]


@lru_cache(maxsize=64)
def _content(text: str, spans: Omitted) -> Content:
    stretches = list(content(spans, 0, len(text)))
    sizes = (end - start for start, end in stretches)
    starts = list(accumulate(sizes, initial=0))[: max(len(stretches), 1)]
    return Content(without(text, spans), starts, [start for start, _ in stretches] or [0])


def content_of(document: Document) -> Content:
    """Return the content of a document."""
    if not document.omitted:
        return Content(document.text, (0,), (0,))
    return _content(document.text, document.omitted)


def excerpt(document: Document, start: int, end: int) -> str:
    """Return the content in characters `start` to `end` of a document."""
    return (
        without(document.text, document.omitted, start, end) if document.omitted else document.text[start:end]
    )


def without(text: str, spans: Sequence[int], start: int = 0, end: int | None = None) -> str:
    """Return characters `start` to `end` of a text without what is omitted."""
    return "".join(text[a:b] for a, b in content(spans, start, len(text) if end is None else end))


def content(spans: Sequence[int], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches from `start` to `end` that are not omitted."""
    edge = bisect_right(spans, start)
    if edge % 2:  # inside of what is omitted
        start, edge = spans[edge], edge + 1
    while start < end:
        stop = spans[edge] if edge < len(spans) else end
        yield start, min(stop, end)
        start, edge = spans[edge + 1] if edge < len(spans) else end, edge + 2


def _edges(spans: Iterable[tuple[int, int]]) -> Omitted:
    """Return the starts and ends of spans in one sequence, those that meet as one."""
    edges: list[int] = []
    for start, end in sorted(spans):
        if edges and start <= edges[-1]:
            edges[-1] = max(end, edges[-1])
        elif start < end:
            edges += (start, end)
    return tuple(edges)


def _hidden(text: str) -> Iterator[tuple[int, int]]:
    """Yield comments, scripts and styles; what is never closed is text."""
    small = text.lower() if text.isascii() else text
    for opening, closing in _HIDDEN.items():
        start = small.find(opening)
        while start >= 0 and (end := small.find(closing, start)) >= 0:
            yield start, end + len(closing)
            start = small.find(opening, end)


def _markup(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return what is markup, and the texts of links, each as starts and ends."""
    markup: list[tuple[int, int]] = []
    links: list[tuple[int, int]] = []
    at = 0
    while match := _MARKUP.search(text, at):
        start, at = match.span()
        if match["link"] is not None:
            first, last = match.span("text")
            markup += [(start, first), (last, at)]
            inside, _ = _markup(text[first:last]) if _HINT.search(text, first, last) else ([], [])
            markup += [(first + a, first + b) for a, b in inside]
            links.append((first, last))
        elif match["emphasis"] is not None:
            first, last = match.span("emphasised")
            markup += [(start, first), (last, at)]
            at = first
        else:
            markup.append((start, at))
    return markup, links


def _navigation(
    text: str, lines: Sequence[tuple[int, int]], markup: Omitted, links: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int]]:
    """Yield the lines that have nothing to read, or hardly anything but links."""
    following = 0
    for start, end in lines:
        first = following
        while following < len(links) and links[following][0] < end:
            following += 1
        if _is_navigation(text, (start, end), markup, links[first:following]):
            yield start, end


def _lines(text: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield where the lines of a text from a place on start and end."""
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def _is_navigation(
    text: str, line: tuple[int, int], markup: Omitted, links: Sequence[tuple[int, int]]
) -> bool:
    """Tell whether a line is navigation; a heading that is a link is a heading."""
    shown = without(text, markup, *line)
    if not _LETTERS.search(shown):
        return len(shown) < line[1] - line[0]
    if not links or _HEADING.match(text, *line):
        return False
    linked = " ".join(without(text, markup, max(a, line[0]), min(b, line[1])) for a, b in links)
    if len(_LETTERS.findall(linked)) <= LINK_SHARE * len(_LETTERS.findall(shown)):
        return False
    return len(_WORDS.findall(shown)) - len(_WORDS.findall(linked)) < PROSE


def _references(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lists of references: what follows such a heading, as long as it looks like references."""
    done = 0
    for heading in _REFERENCES.finditer(text):
        last, others = -1, 0
        for start, end in _lines(text, heading.end() + 1) if heading.start() >= done else ():
            if _RULE.match(text, start, end) or not _LETTERS.search(text, start, end):
                continue
            others = 0 if _REFERENCE.search(text, start, end) else others + 1
            if others > OTHER_LINES or _HEADING.match(text, start, end):
                break
            last = last if others else end
        if last >= 0:
            yield heading.start(), last
            done = last


def _contents(text: str) -> Iterator[tuple[int, int]]:
    """Yield the lines of a table of contents."""
    if not any(mark in text for mark in _LEADER_MARKS) or not _LEADERS.search(text):
        return
    entries = [match.span() for match in _CONTENTS.finditer(text)]
    if len(entries) >= CONTENTS_LINES:
        yield from entries


def _empty_sections(
    text: str, lines: Sequence[tuple[int, int]], spans: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield the headings of sections that have nothing in them, the last first."""
    following = 1  # level of the heading after this line where nothing is between, 0 where something is
    for start, end in reversed(lines):
        if heading := _HEADING.match(text, start, end):
            level = len(heading[1])
            if 0 < following <= level:
                yield start, end
            else:
                following = level
        elif _LETTERS.search(without(text, spans, start, end)):
            following = 0
