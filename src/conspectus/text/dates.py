"""Dates and quoted titles in running text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from conspectus.text.language import ENGLISH, function_words_of
from conspectus.text.language_rules import UNCASED
from conspectus.text.words import CJK

_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month>{_MONTH})(?:,?\s+(?P<year>\d{{4}}))?"
    rf"|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)(?:,?\s+(?P<year2>\d{{4}}))?"
    rf"|(?P<month3>{_MONTH}),?\s+(?P<year3>[12]\d{{3}})"
    r"|(?P<iso>[12]\d{3}-[01]\d-[0-3]\d)"
    r"|(?P<alone>1[5-9]\d\d|20\d\d))(?![\w-])"
)
_DATE_ZH = re.compile(r"(?:公元前?)?\d{1,4}年(?:\d{1,2}月)?(?:\d{1,2}日)?|\d{1,2}月\d{1,2}日")
_TITLE = re.compile(r"[\"“‘']([^\"“”‘’\n]{3,70})[\"”’'](?!\w)")
_TITLE_ELSEWHERE = re.compile(
    r"«\s?([^«»\n]{2,70}?)\s?»|『([^』\n]{2,40})』|「([^」\n]{2,12})」|„([^„“”\n]{2,70})[“”]|“([^“”\n]{2,70})”|\"([^\"\n]{2,70})\"(?!\w)"
)
_BY_SIGNS = {
    "zh": re.compile(
        r"\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?"
        "|[〇○零一二三四五六七八九]{4}年(?:[一二三四五六七八九十]{1,2}月(?:[一二三四五六七八九十]{1,3}日)?)?"
    ),
    "ja": re.compile(r"(?:\d{4}年)(?:\d{1,2}月(?:\d{1,2}日)?)?"),
    "ko": re.compile(r"\d{4}년(?: \d{1,2}월(?: \d{1,2}일)?)?"),
}
_CLOSES = re.compile(r"[.?!؟。！？]$|[，。；、：]")
_YEAR_GROUP = r"(?P<year>[12]\d{3})"


@cache
def _dates_in(language: str) -> re.Pattern[str]:
    """Return the pattern of dates in a language: with the months that it has names for, or by signs."""
    if language in _BY_SIGNS:
        return _BY_SIGNS[language]
    months = "|".join(function_words_of(language).months.split()) or "(?!)"
    day = r"\b\d{1,2}(?:\.|º|er)? (?:de )?"
    named = rf"(?:{day})?\b(?:{months})\b(?: (?:de )?{_YEAR_GROUP})?"
    return re.compile(rf"{named}|\b1[5-9]\d\d(?![\w-])|\b20\d\d(?![\w-])", re.IGNORECASE)


def date_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where the dates of a text stand, Chinese ones too."""
    for pattern in (_DATE, _DATE_ZH):
        for m in pattern.finditer(text):
            yield m.span()


def find_dates(text: str, language: str = ENGLISH) -> Iterator[str]:
    """Yield the dates of a text in one form: "4 March 2021", "March 2021", "2021"; in other languages as written."""
    if language != ENGLISH:
        for m in _dates_in(language).finditer(" ".join(text.split())):
            if any(c.isdigit() for c in m.group()):
                yield m.group()
        return
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


def find_titles(text: str, language: str = ENGLISH) -> Iterator[str]:
    """Yield what a text quotes that is written like a title: two to eight words, most of them capitalised.

    In other languages the first one is, and no end mark closes it.
    """
    if language != ENGLISH:
        yield from _titles_elsewhere(text, language)
        return
    for m in _TITLE.finditer(text):
        words = m.group(1).rstrip(",").split()
        capital = sum(w[0].isupper() for w in words)
        ends = words[0][0].isupper() and words[-1][0].isupper() and words[-1][-1] not in ".?!"
        if 2 <= len(words) <= 8 and ends and capital >= 0.6 * len(words):
            yield " ".join(words)


def _titles_elsewhere(text: str, language: str) -> Iterator[str]:
    uncased = language in UNCASED
    for m in _TITLE_ELSEWHERE.finditer(text):
        title = next(filter(None, m.groups())).strip().rstrip(",،")
        opens = title[:1].isupper() or (uncased and title[:1].isalpha())
        short = len(title.split()) <= 8 and (len(title) <= 12 or not (uncased and CJK.search(title)))
        if opens and short and len(title) > 3 - uncased and not _CLOSES.search(title):
            yield title
