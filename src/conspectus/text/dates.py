"""Dates and quoted titles in running text."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})(?:,?\s+(?P<year>\d{{4}}))?"
    rf"|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(?P<year2>\d{{4}}))?"
    rf"|(?P<month3>{_MONTH}),?\s+(?P<year3>[12]\d{{3}})"
    r"|(?P<iso>[12]\d{3}-[01]\d-[0-3]\d)"
    r"|(?P<alone>1[5-9]\d\d|20\d\d))(?![\w-])"
)
_DATE_ZH = re.compile(r"(?:公元前?)?\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日")
_QUOTED = re.compile(r"[\"“‘']([^\"“”‘’\n]{3,70})[\"”’'](?!\w)")


def date_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the dates of a text stand, Chinese ones too."""
    for pattern in (_DATE, _DATE_ZH):
        for m in pattern.finditer(text):
            yield m.span()


def find_dates(text: str) -> Iterator[str]:
    """Yield the dates of a text in one form: "4 March 2021", "March 2021", "2021"."""
    for m in _DATE.finditer(text):
        if m["alone"]:
            yield m["alone"]
            continue
        if m["iso"]:
            year, month, day = m["iso"].split("-")
            if 1 <= int(month) <= 12:
                yield f"{int(day)} {_MONTH.split('|')[int(month) - 1]} {year}"
            continue
        day, month, year = (
            m["day"] or m["day2"],
            m["month"] or m["month2"] or m["month3"],
            m["year"] or m["year2"] or m["year3"],
        )
        if year or day:
            yield " ".join(part for part in (day, month, year) if part)


def find_titles(text: str) -> Iterator[str]:
    """Yield what a text quotes that is written like a title: two to eight words, most of them capitalised."""
    for m in _QUOTED.finditer(text):
        words = m.group(1).rstrip(",").split()
        capital = sum(w[0].isupper() for w in words)
        ends = words[0][0].isupper() and words[-1][0].isupper() and words[-1][-1] not in ".?!"
        if 2 <= len(words) <= 8 and ends and capital >= 0.6 * len(words):
            yield " ".join(words)
