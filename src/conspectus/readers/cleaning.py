"""Find the parts of a text that are no content: markup of Markdown and HTML, and blocks that only link elsewhere.

The text itself is not changed. Characters that are no content are omitted from sentences, chunks and prompts, so that
quotations still refer to exact spans of the document. A block is omitted for what it consists of (links, images, a list
of references, a table of contents), not for what it says; plain prose is not touched. The exceptions are lines that ask
for consent to cookies: 573 in 39 of 367 web pages, 66 different ones, none of which is prose.

Of 200 omitted lines of 367 web pages that were inspected, none was prose, and three named authors or a publisher. Of
200 lines that stay, 47 were no content: 19 references, and 28 of banners and menus without links (when notices about
cookies stayed). Dropping any one rule does not change recall (beyond chance), but more of these pages' 13.7 million
characters stay: 740,372 without that for references under no heading, 82,297 under a heading (and "ScopusGoogle
Scholar" is a hub), 87,621 for rulers.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache, partial
from itertools import pairwise

from conspectus.content import Content, Omitted, Span, content_outside, merged_edges, without
from conspectus.text.blocks import CODE, HEADING, LETTERS, OTHER_LINES, references, spans_of_lines
from conspectus.text.language import guess_document, text_pattern
from conspectus.text.sentences import lines as logical_lines

HEADING_CHARS = 24
"""Maximum characters of a line that may be a heading, such as "References". If no longer line would remain, the page
has no content but links or references, and these are not omitted. None of 367 web pages is like that."""
LINK_SHARE = 0.5
"""Share of a line's letters inside links above which the line is navigation. Of the 29,367 lines with links in 367 web
pages on mathematics and society 54 % have more than 0.9, and 4 % between 0.3 and 0.7. Of 50 omitted lines between 0.5
and 0.7, one was a piece of a sentence; of 50 lines between 0.3 and 0.5, six were prose."""

_pattern = partial(text_pattern, "cleaning")
_RULER, _DEFINITION, _ACCENT = _pattern("ruler"), _pattern("definition"), _pattern("accent")
_QUOTED, _MARKUP, _BREAK, _END = map(_pattern, ("quoted", "markup", "break", "ends_sentence"))
_REFERENCES, _REFERENCE, _COOKIES = _pattern("references"), _pattern("reference"), _pattern("cookies")
_OPENING = re.compile(r"[!\[<*_`~]")
"""The first character of markup; searching for it before trying the full pattern takes a fifth of the time."""
_HIDDEN = {"<!--": "-->", "<script": "</script>", "<style": "</style>"}
"""The opening and closing marks of invisible parts of a page."""
_WORDS = re.compile(r"[^\W_]+")


def examined(texts: Sequence[str], cleaning: bool) -> list[tuple[Omitted, str]]:
    """Return for each text its omitted spans (none without `cleaning`) and its language, "" if unknown."""
    return [(omitted(text) if cleaning else (), guess_document(text)) for text in texts]


@lru_cache(maxsize=2)  # chunks of one document are looked up one by one
def omitted(text: str) -> Omitted:
    """Return the spans of a text that are no content, as ascending starts and ends; none if nothing else would remain.

    >>> text = "See [the map](https://example.org/map.png)."
    >>> without(text, omitted(text))
    'See the map.'
    """
    definitions = list(_DEFINITION.finditer(text)) if "]:" in text else []
    markup, links = _markup(text, {_folded(match[1]) for match in definitions})
    accents = () if text.isascii() else _ACCENT.finditer(text)
    markup += [match.span() for match in (*definitions, *accents)]
    quoted = pairwise(_QUOTED.finditer(text))
    markup += [
        b.span(1) for a, b in quoted if a.end() + 1 == b.start() and a[1].count(">") == b[1].count(">")
    ]
    rulers = [(match.start(), match.end() - 1) for match in _RULER.finditer(f"\n{text}")]
    edges = merged_edges([*markup, *rulers, *_hidden(text)])
    shown = content_outside(text, edges)
    lines = list(spans_of_lines(shown.text))
    blocks = list(_navigation(shown, lines, [(shown.at(a), shown.at(b)) for a, b in links]))
    others = sorted(set(lines).difference(blocks))
    blocks += [(shown.at(a), shown.at(b)) for a, b in _announced_references(text)]
    blocks += references(shown.text, others)
    blocks += references(shown.text, list(logical_lines(shown.text)))  # those of several lines, as in a PDF
    if "ookie" in shown.text:
        blocks += (line for line in others if _COOKIES.search(shown.text[slice(*line)]))
    rest = without(shown.text, merged_edges(blocks)).splitlines()
    if any(len(line) > HEADING_CHARS and LETTERS.search(line) for line in rest if line[:1] != "#"):
        markup = list(pairwise(edges))[::2]
        edges = merged_edges([*markup, *(shown.span(a, b) for a, b in blocks)])
    return edges if not edges or LETTERS.search(without(text, edges)) else ()


def without_markup(text: str) -> str:
    """Return a piece of a text without its markup, even if it begins or ends inside the text of a link.

    >>> without_markup("old map](map.png) shows [the **quay**](quay.html) and [its")
    'old map shows the quay and its'
    """
    opens, closes = text.find("["), text.find("](")
    if closes >= 0 and not 0 <= opens < closes:
        text = f"[{text}"
    if (last := text.rfind("[")) > text.rfind("]"):
        text = text[:last] + text[last + 1 :]
    return without(text, merged_edges(_markup(text)[0]))


def _hidden(text: str) -> Iterator[Span]:
    """Yield the spans of comments, scripts and styles; one that is never closed is text."""
    small = text.lower() if text.isascii() else text
    for opening, closing in _HIDDEN.items():
        start = small.find(opening)
        while start >= 0 and (end := small.find(closing, start)) >= 0:
            yield start, end + len(closing)
            start = small.find(opening, end)


def _folded(label: str) -> str:
    """Return the label of a link normalised, so that it equals the label of its definition."""
    return " ".join(label.split()).casefold()


def _markup(text: str, defined: Collection[str] = ()) -> tuple[list[Span], list[Span]]:
    """Return the spans of markup, and the spans of the texts of links.
    `defined` are the labels of links whose addresses are defined elsewhere in the text.
    """
    markup: list[Span] = []
    links: list[Span] = []
    at = 0
    while opening := _OPENING.search(text, at):
        at = opening.end()
        if fence := opening[0] in "`~" and CODE.match(text, opening.start()):
            at = fence.end()
            continue
        if (match := _MARKUP.match(text, opening.start())) is None:
            continue
        if match["link"] is not None:
            label = match["label"] or match["text"]
            a_citation = match["label"] is None and label.isdecimal()
            if match["target"] is None and (a_citation or _folded(label) not in defined):
                continue
            start, at = match.span()
            first, last = match.span("text")
            markup += [(start, first), (last, at)]
            inside, _ = _markup(text[first:last], defined)
            markup += [(first + a, first + b) for a, b in inside]
            # only links with an address of their own: those in menus have one
            if match["target"] is not None:
                links.append((first, last))
            continue
        start, at = match.span()
        if match["emphasis"] is not None:
            first, last = match.span("emphasised")
            markup += [(start, first), (last, at)]
            at = first
        elif match["code"] is None:
            break_ = _BREAK.match(text, start) and text[at : at + 1].strip()
            # the "<" of a line break stays, and is read as a space
            markup.append((start + 1 if break_ else start, at))
    return markup, links


def _navigation(shown: Content, lines: Sequence[Span], links: Sequence[Span]) -> Iterator[Span]:
    """Yield the lines that consist mostly of links."""
    following = 0
    for start, end in lines:
        first = following
        while following < len(links) and links[following][0] < end:
            following += 1
        if first < following:
            inside = [(max(a, start), min(b, end)) for a, b in links[first:following]]
            if _is_navigation(shown.text, (start, end), inside):
                yield start, end


def _is_navigation(text: str, line: Span, links: Sequence[Span]) -> bool:
    """Return whether a line with links is navigation; a heading that is a link is not."""
    start, end = line
    words = _WORDS.findall(text, start, end)
    linked = [word for link in links for word in _WORDS.findall(text, *link)]
    if not words:
        return True
    others = len(words) - len(linked)
    share = sum(map(len, linked)) / sum(map(len, words))
    if share <= LINK_SHARE or HEADING.match(text, start, end):
        return False
    if others and text.startswith("|", start) and text.count("|", start, end) > 2:
        return False  # a row of a table
    return not others or links[-1][1] == end or not _END.search(text, links[-1][1] - 1, end)


def _announced_references(text: str) -> Iterator[Span]:
    """Yield the lists of references under headings: the heading, and the lines after it that look like references."""
    headings = list(_REFERENCES.finditer(f"\n{text}"))
    lines, done = list(logical_lines(text)) if headings else [], 0
    for heading in headings:
        last, others = -1, 0
        for start, end in lines[bisect_left(lines, (heading.end(),)) :] if heading.start() >= done else ():
            if not LETTERS.search(text, start, end):
                continue
            others = 0 if _REFERENCE.search(text, start, end) else others + 1
            if others > OTHER_LINES or HEADING.match(text, start, end):
                break
            last = last if others else end
        if last >= 0:
            yield heading.start(), last
            done = last
