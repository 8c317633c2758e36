"""Count tokens exactly, with the vocabularies of OpenAI; they come in a package, nothing is downloaded."""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, cast

DEFAULT = "cl100k_base"
NAMES = ("cl100k_base", "o200k_base")
LONG = 1_000
"""Minimum number of characters of a text whose token count is not cached."""
PIECE = 1_000_000
"""Characters of a long text that are encoded at once: the tokenizer returns a list of 36 bytes for each token, which
would be 2 GB for a text of 200 MB."""
_EDGE = re.compile(r"(?<=\n)(?=[^\s/])|(?<=[^\W\d_])(?= [^\W\d_])")
"""Positions that no token crosses: starts of lines, except before white space and before a slash (in o200k), and before
a space between letters, which belongs to the token of the next word."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def well_formed(text: str) -> str:
    """Return the text with every lone surrogate replaced by U+FFFD, so that it can be stored as UTF-8.

    One character replaces one character, so that spans stay valid.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return _LONE_SURROGATE.sub("\ufffd", text)
    return text


@dataclass(frozen=True, slots=True)
class Encoding:
    """A vocabulary. Lone surrogates, which no token encodes, count as U+FFFD; special tokens are treated as text."""

    tokenizer: Any

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text; decoding them restores the text."""
        return self.tokenizer.encode(well_formed(text))

    def encode_long(self, text: str) -> array[int]:
        """Return the token ids of a text, encoded piece by piece, in four bytes each."""
        ids = array("I")
        start = 0
        while start < len(text):
            edge = _EDGE.search(text, start + PIECE)
            end = edge.start() if edge else len(text)
            ids.extend(self.encode(text[start:end]))
            start = end
        return ids

    def decode(self, ids: list[int]) -> str | None:
        """Return the text of token ids, or None if they begin or end inside a character."""
        try:
            return self.tokenizer.decode(ids)
        except ValueError:  # bpe-openai raises where rs-bpe returns None
            return None

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return self.tokenizer.count(well_formed(text))

    def count_up_to(self, text: str, limit: int) -> int | None:
        """Return the number of tokens of a text, or None as soon as it exceeds the limit."""
        return self.tokenizer.count_till_limit(well_formed(text), limit)


@cache
def encoding(name: str = DEFAULT) -> Encoding:
    """Return a vocabulary by name, one of `NAMES`, loaded once in a process."""
    try:  # the lighter of two packages, which has no wheels for Python 3.14 yet
        import rs_bpe.bpe as package
    except ImportError:
        from bpe_openai._bindings import tokenizer_for_encoding

        return Encoding(tokenizer_for_encoding(name))
    return Encoding(getattr(cast("Any", package).openai, name)())


def count(text: str, name: str = DEFAULT) -> int:
    """Return the number of tokens of a text."""
    if len(text) < LONG:
        return _count_short(text, name)
    return encoding(name).count(text)


def estimate(text: str) -> int:
    """Return an estimate of a text's number of tokens, in a fortieth of the time: rows have 3.5 to 4.6 characters a
    token in English (podcasts, medicine, mathematics, society), and one in Chinese, where a character has three bytes.
    """
    size = len(text.encode("utf-8", "surrogatepass"))
    return len(text) // 4 + (size - len(text)) // 2


@lru_cache(maxsize=16_384)  # 16 MB at most; a local answer takes 10 ms less
def _count_short(text: str, name: str) -> int:
    return encoding(name).count(text)


def at_most(text: str, limit: int, name: str = DEFAULT) -> bool:
    """Return whether a text has at most `limit` tokens; a text of at most so many bytes is not counted."""
    if len(text.encode("utf-8", "surrogatepass")) <= limit:  # a token is at least one byte
        return True
    return limit >= 0 and encoding(name).count_up_to(text, limit) is not None
