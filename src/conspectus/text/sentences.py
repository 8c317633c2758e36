"""Sentences, with the characters they span."""

from __future__ import annotations

import re
from collections.abc import Iterator

_END = re.compile(
    r"""[.!?…]+["'”’)\]]*(?=\s+["'“‘(\[]*[^\W_a-zß-öø-ÿ])"""  # what follows does not go on in lower case
    r"|[。！？；…]+[”’」』）》]*"  # full-width marks need no space after them
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"“'])(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Gen|Col|Capt|Lt|Sgt|Rev|Hon|Cllr|Gov|Sen|Rep|vs|No|Nos|Vol|Fig|"
    r"Eq|Inc|Ltd|Co|Corp|Bros|approx|cf|e\.g|i\.e|al|pp|ca|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec|[^\W\d_]"
    r"|(?:[^\W\d_]\.)+[^\W\d_])$"
)
_BLANK = re.compile(r"\n\s*\n")
_BULLET = re.compile(r"\s*(?:[-*•–—>#|]|\d+[.)]\s|[a-z][.)]\s)")
_LABEL = re.compile(r"\s*[^\W\d_][^:\n]{0,40}:(?:\s|$)")
WRAPPED = 55
"""A line of so many characters may have been broken to fit a page; its sentence may go on in the next."""


def lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of logical lines: a paragraph, a heading, a list item, a turn of speech.

    A newline ends a line, unless the line looks as if it was wrapped: long, without an end mark, and followed
    by neither a blank line, nor an item, nor a label.
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


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Yield the spans of the sentences of a line, without the white space around them."""
    end = len(text) if end is None else end
    begin = start
    for mark in _END.finditer(text, start, end):
        stop = mark.end()
        before = max(begin - 1, mark.start() - 12, 0)  # with the character before a sentence, where one is
        if mark.group()[0] == "." and _ABBREVIATION.search(text, before, mark.start()):
            continue
        yield from _trimmed(text, begin, stop)
        begin = stop
    yield from _trimmed(text, begin, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    right = len(piece.rstrip())
    if right > left:
        yield start + left, start + right
