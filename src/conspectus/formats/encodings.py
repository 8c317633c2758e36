"""Which of the encodings of one byte a letter a text in the Latin alphabet has: the one that makes words of it.

A detector by statistics tells other alphabets and Chinese, Japanese and Korean well, but of texts in French or Spanish,
even long ones, it makes Central European: both are letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from contextlib import suppress

ENCODINGS = ("cp1252", "cp1250", "cp1254", "cp1257", "iso8859_2", "iso8859_9", "mac_roman", "cp850", "cp852")
"""From the likeliest on: of two that say the same of a text, it is the first."""
ALPHABETS = tuple(
    map(
        frozenset,
        (
            "àâæçéèêëîïôœùûüÿ", "áéíñóúüªº", "áâãàçéêíóôõúüªº", "äöüßé", "àèéìíîòóùú", "éèëêïóöüáíú", "åäöéàü",
            "æøåéèóô", "áðéíóúýþæö", "àçèéíïòóúü·", "äöõüšž", "ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž",
            "áéíóöőúüű", "ăâîşţșț", "čćđšž", "çğıi̇öşüâîû", "ąčęėįšųūž", "āčēģīķļņšūž",
        ),
    )
)  # fmt: skip
"""The letters beyond ASCII of French, Spanish, Portuguese, German, Italian, Dutch, Swedish and Finnish, Danish and
Norwegian, Icelandic, Catalan, Estonian, Polish, Czech, Slovak, Hungarian, Romanian, Croatian and Slovene, Turkish,
Lithuanian and Latvian."""
_SAMPLE = 1 << 16
"""Characters that tell."""
_LETTER = r"[^\W\d_]"
_MARK = re.compile(
    rf"(?<!{_LETTER})[‘‚“„«‹¿¡–—…•\xa0]|[’“”»›–—…\xa0](?!{_LETTER})"
    rf"|(?<!{_LETTER})[€£§©®°±](?!{_LETTER})|(?<={_LETTER})’(?={_LETTER})"
)
"""A mark where marks stand: not within a word, but for the apostrophe."""
_OTHER = re.compile(r"[^\x00-\x7f]")
_INSIDE = re.compile(r"(?<=[a-z])[^\x00-\x7f]")
"""A letter where no capital stands."""
_MIXED = 0.2
"""Share of letters beside those of ASCII above which they are none of another alphabet."""


def latin(data: bytes, detected: str) -> str:
    """Return a text in the Latin alphabet, by the encoding whose letters are most of them those of one language.

    What a detector made of the bytes is returned where it is in another alphabet, or where no encoding does better
    than half.
    """
    if detected and not _is_latin(detected[:_SAMPLE]):
        return detected
    best, text = 0.5, detected
    for encoding in ENCODINGS:
        with suppress(UnicodeDecodeError):
            decoded = data.decode(encoding)
            if (share := _share(decoded[:_SAMPLE])) > best:
                best, text = share, decoded
    return text


def _is_latin(text: str) -> bool:
    """Tell whether the letters beyond ASCII are Latin, or stand in words with those of ASCII, as only Latin ones do."""
    letters = [i for i, c in enumerate(text) if c > "\x7f" and c.isalpha()]
    others = [i for i in letters if not unicodedata.name(text[i], "").startswith(("LATIN", "FEMININE", "MASCULINE"))]
    if len(others) * 2 <= len(letters):
        return True
    beside = sum(any(c.isascii() and c.isalpha() for c in text[max(i - 1, 0) : i + 2]) for i in others)
    return beside > _MIXED * len(others)


def _share(text: str) -> float:
    """Return which share of the characters beyond ASCII one language, and the marks of all, account for."""
    marks = len(_MARK.findall(text))
    words = _MARK.sub(" ", text)
    inside = sum(letter.isupper() for letter in _INSIDE.findall(words))
    letters = Counter(_OTHER.findall(words.lower()))
    known = max(sum(count for letter, count in letters.items() if letter in alphabet) for alphabet in ALPHABETS)
    return (marks + known - inside) / max(marks + letters.total(), 1)
