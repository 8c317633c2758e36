"""Sentences, with the characters they span."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from conspectus.text.language import ENGLISH, function_words_of
from conspectus.text.words import CJK, SMALL

_WIDE = re.compile(rf"[。！？；…]+[”’」』）》]*|(?<={CJK.pattern})[!?]+[”’」』）》]*(?={CJK.pattern})")
"""End marks that need no space after them."""


@cache
def _runs(marks: str) -> re.Pattern[str]:
    """Return the pattern of runs of end marks with the quotes that close behind them.

    Its second group takes part where a space follows, and then no word in lower case. A run that ends nothing is
    matched too, and so looked at once: 60 kB of dots took 94 s when each of them was tried.
    """
    return re.compile(rf"""([{marks}]++)["'”’“»)\]]*+(?:(?=\s+(?:["'“‘„¿¡(\[]|«\s?)*[^\W_{SMALL}])())?""")


_MARKS, _GREEK_MARKS = ".!?…؟۔।॥", ".!;?…؟۔।॥"
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"“'])(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Cllr|Gov|Sen|Rep|vs|No|Nos|Vol|Fig|"
    r"Eq|Inc|Ltd|Co|Corp|Bros|approx|cf|e\.g|i\.e|al|pp|ca|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|[^\W\d_]"
    r"|(?:[^\W\d_]\.)+[^\W\d_])$"
)
_ABBREVIATION_ELSEWHERE = re.compile(
    r"(?:^|[\s(\[«„“'])(?:bzw|usw|vgl|evtl|geb|gest|Nr|Hr|Fr|Abs|Abb|Str|Bd|Mio|Mrd|Mme|Mlle|MM|env|art|Sra|Srta|Dra|Ud|"
    r"Uds|pág|aprox|Exmo|Sig|Dott|mevr|dhr|blz|гг|ул|им|др|тыс|млн|млрд|рис|стр|д-р|проф|акад|св|Αγ|κ|πρ|μ)$"
)
_ORDINAL = re.compile(r"(?:^|\W)(?:\d{1,3}|[IVX]{1,4})$")
_NEXT_WORD = re.compile(r"\W*(\w+)")
ORDINALS = frozenset("de da no fi pl cs hu".split())
"""Languages that write a full stop after an ordinal number."""
_BLANK = re.compile(r"\n\s*\n")
_BULLET = re.compile(rf"\s*(?:[-*•–—>#|]|\d+[.)]\s|[{SMALL}][.)]\s)")
_LABEL = re.compile(rf"\s*(?:[^\W\d_{SMALL}][^:：\n]{{0,40}}|[^\W\d_]\w*)(?::(?:\s|$)|：)")
WRAPPED = 55  # unexplained
"""A line of so many characters may have been broken to fit a page; its sentence may go on in the next."""


def lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of logical lines: a paragraph, a heading, a list item, a turn of speech.

    A newline ends a line, unless the line looks as if it was wrapped: long, without an end mark, and followed
    by neither a blank line, nor an item, nor a label (one word, or several that open with no small letter).
    """
    start: int | None = None
    position = previous_length = 0
    ends_sentence = False
    for raw in text.split("\n"):
        end = position + len(raw)
        if not raw.strip():
            if start is not None:
                yield start, position - 1
                start = None
        else:
            if start is not None and (
                previous_length < WRAPPED or ends_sentence or _BULLET.match(raw) or _LABEL.match(raw)
            ):
                yield start, position - 1
                start = None
            if start is None:
                start = position
            previous_length = len(raw)
            ends_sentence = raw.rstrip()[-1] in ".!?:。！？…"
        position = end + 1
    if start is not None:
        yield start, len(text)


def sentences(
    text: str, start: int = 0, end: int | None = None, language: str = ENGLISH
) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of a line, without the white space around them."""
    end = len(text) if end is None else end
    begin = start
    for at, stop in _ends(text, start, end, _GREEK_MARKS if language == "el" else _MARKS):
        before = max(begin - 1, at - 12, 0)  # with the character before a sentence, where one is
        if text[at] == "." and _ABBREVIATION.search(text, before, at):
            continue
        if language != ENGLISH and _goes_on(text, before, at, stop, language):
            continue
        yield from _trimmed(text, begin, stop)
        begin = stop
    yield from _trimmed(text, begin, end)


def _ends(text: str, start: int, end: int, marks: str) -> Iterator[tuple[int, int]]:
    """Yield where end marks stand, with what closes behind them."""
    done = start
    wide = _WIDE.search(text, start, end)
    for run in _runs(marks).finditer(text, start, end):
        if run.group(2) is None:
            continue
        while wide and wide.start() < max(run.start(), done):
            yield wide.span()
            done = wide.end()
            wide = _WIDE.search(text, done, end)
        if done < run.end(1):
            yield max(run.start(), done), run.end()
            done = run.end()
            if wide and wide.start() < done:
                wide = _WIDE.search(text, done, end)
    while wide:
        yield wide.span()
        wide = _WIDE.search(text, wide.end(), end)


def _goes_on(text: str, before: int, start: int, end: int, language: str) -> bool:
    """Tell whether a sentence goes on after the end mark from `start` to `end`.

    It does in lower case, after an abbreviation, or after a number that the mark makes an ordinal ("am 3. Oktober"),
    where no function word opens another sentence.
    """
    following = _NEXT_WORD.match(text, end)
    word = following.group(1) if following else ""
    if word[:1].islower() and text[end : end + 1].isspace():
        return True
    if text[start:end] != ".":
        return False
    if _ABBREVIATION_ELSEWHERE.search(text, before, start):
        return True
    opens = word.lower() in function_words_of(language).function_words
    return language in ORDINALS and not opens and bool(_ORDINAL.search(text, before, start))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    if right > left:
        yield start + left, start + right


def located(words: str, text: str, start: int = 0, end: int | None = None) -> tuple[int, int] | None:
    """Return the characters of a text that hold the words, whatever the white space and case, or None."""
    parts = words.split()
    if not parts:
        return None
    pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    found = pattern.search(text, start, len(text) if end is None else end)
    return (found.start(), found.end()) if found else None
