"""Blocks of a text that are no sentences: code, lines of a table of contents, lists of references, rows of figures."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from conspectus.content import Omitted, Span, merged_edges
from conspectus.text.language import text_pattern

OTHER_LINES = 2
"""Consecutive lines without a year, an address or a link that a list of references may contain. With one, 3 % of the
omitted characters of 155 web pages stay, of references; with four 1 % more go, also paragraphs after a list."""
REFERENCE_LINES = 4
"""Consecutive references that make up a list without a heading. With three, prose in a PDF was taken for one."""
REFERENCE_CHARS = 60
"""Maximum characters of a reference per year, initial, volume, page or address in it. In 318 web pages on society the
median is 25, and 95 % of the references have at most 61; of the paragraphs with a year, 2 % do."""
GAP_CHARS = 200
"""Characters from which on a line without a year is no part of a reference, but a paragraph between two lists. With
half, 46,466 characters of references stay on 106 pages on society; with double, 40,825 more are omitted on five."""

_pattern = partial(text_pattern, "cleaning")
HEADING, CODE = _pattern("heading"), _pattern("code")
_LEADERS, _YEAR = _pattern("leaders"), _pattern("year")
_INITIAL, _LOCATOR = _pattern("initial"), _pattern("locator")
_DIGIT = re.compile(r"\d")
LETTERS = re.compile(r"[^\W\d_]")


def blocks(text: str, lines: Sequence[Span]) -> Omitted:
    """Return the spans of a content that are no sentences: code, lines of a table of contents, lists of references.
    `lines` are its logical lines; see `conspectus.text.sentences.lines`.
    """
    code = [match.span() for match in CODE.finditer(text)]
    contents = [(text.rfind("\n", 0, m.start()) + 1, m.end()) for m in _LEADERS.finditer(text)]
    return merged_edges([*code, *contents, *references(text, lines)])


def is_data(text: str) -> bool:
    """Return whether a text is a row of figures rather than a sentence: it has more digits than letters."""
    digits = len(_DIGIT.findall(text))
    if not digits:
        return False
    # stop counting letters once there are as many as digits
    letters = islice(filter(str.isalpha, text), digits)
    return len(list(letters)) < digits


def spans_of_lines(text: str, start: int = 0) -> Iterator[Span]:
    """Yield the spans of the lines of a text from position `start` on."""
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, end
        start = end + 1


def references(text: str, lines: Sequence[Span]) -> Iterator[Span]:
    """Yield the lists of references without a heading: consecutive lines with a year, of which half have initials and a
    third a locator. Lists of works or events have neither, and lists of people have no locators.
    """
    run: list[tuple[int, bool, bool]] = []
    for citation in [*_citations(text, lines), None]:
        if run and (citation is None or not _adjoin(text, lines[run[-1][0] + 1 : citation[0]])):
            numbers, initials, locators = zip(*run, strict=True)
            if len(run) >= REFERENCE_LINES and min(2 * sum(initials), 3 * sum(locators)) >= len(run):
                yield lines[numbers[0]][0], lines[numbers[-1]][1]
            run = []
        if citation is not None:
            run.append(citation)


def _citations(text: str, lines: Sequence[Span]) -> Iterator[tuple[int, bool, bool]]:
    """Yield the number of each line that has a year and reads like a reference; whether it has initials (also in lines
    right above), and whether it has a locator (such as pages or a DOI).
    """
    matches = [match.start() for match in _YEAR.finditer(text)]
    starts = [start for start, _ in lines] if len(matches) >= REFERENCE_LINES else []
    for number in dict.fromkeys(bisect_right(starts, match) - 1 for match in matches) if starts else ():
        start, end = lines[number]
        initials, locators = (len(marks.findall(text, start, end)) for marks in (_INITIAL, _LOCATOR))
        count = len(_YEAR.findall(text, start, end)) + initials + locators
        above = lines[max(number - OTHER_LINES, 0)][0]
        if initials + locators and count * REFERENCE_CHARS >= end - start:
            yield number, bool(initials or _INITIAL.search(text, above, start)), locators > 0


def _adjoin(text: str, between: Sequence[Span]) -> bool:
    """Return whether the lines between two references may be parts of them."""
    sizes = [end - start for start, end in between if LETTERS.search(text, start, end)]
    return len(sizes) <= OTHER_LINES and max(sizes, default=0) < GAP_CHARS
