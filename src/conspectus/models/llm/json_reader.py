"""Reading the JSON that models write: text stands around it, and some of its errors can be mended in one way.

Mended are: code fences and text around, single and typographic quotes, quotes and line breaks inside texts,
trailing commas, commas missing between records, Python's `True`, `False` and `None`, keys without quotes, and
closing brackets missing at the very end of a reply. Where a repair would be a guess there is none: the package
json_repair, which always finds a reading, took parts of a reply that broke off for the whole of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_SPACE = re.compile(r"\s*")
_BARE = re.compile(r"[\w.+-]+")
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
_WORDS = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_DEEPEST = 50
_TRIES = 3


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a key twice, of which Python's reader would lose one in silence."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is there twice")
    return result


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once)


class NotJson(ValueError):
    """There is no JSON in a text that can be read without guessing; says what and where."""


def read(text: str, wanted: Callable[[Any], bool]) -> tuple[Any, list[str]]:
    """Return the one JSON value of a reply that is `wanted`, and what had to be mended to read it.

    Raises NotJson where there is none, or are two that differ.
    """
    try:
        value = _DECODER.decode(text)
        if wanted(value):
            return value, []
    except (ValueError, RecursionError):
        pass
    values = [value for value in _valid_objects(text) if wanted(value)]
    if values and all(value == values[0] for value in values):
        return values[0], ["text around the JSON"]
    if values:
        raise NotJson("there are two replies in it that differ")
    return _repaired(text, wanted)


def _valid_objects(text: str) -> list[Any]:
    """Return the objects of a text that are sound JSON, leaving out those inside other sound ones."""
    values: list[Any] = []
    position = 0
    while (position := text.find("{", position)) >= 0:
        try:
            value, position = _DECODER.raw_decode(text, position)
            values.append(value)
        except (ValueError, RecursionError):
            position += 1
    return values


def _repaired(text: str, wanted: Callable[[Any], bool]) -> tuple[Any, list[str]]:
    """Read the first object that can be mended to be wanted; the text around may have braces of its own."""
    wrong = NotJson("there is no JSON in it")
    openings = [match.start() for match in re.finditer(r"\{", text)]
    for start in openings[:_TRIES]:
        reader = _Reader(text, start)
        try:
            value = reader.value(0)
        except NotJson as error:
            wrong = wrong if start > openings[0] else error
            continue
        if wanted(value):
            return value, list(dict.fromkeys(reader.repairs))
        wrong = wrong if start > openings[0] else NotJson("it has not the keys that were asked for")
    raise wrong


class _Reader:
    """A recursive descent through one value of JSON with errors in it."""

    def __init__(self, text: str, position: int) -> None:
        self.text, self.position = text, position
        self.repairs: list[str] = []

    def value(self, depth: int) -> Any:
        if depth > _DEEPEST:
            raise self.wrong("it is nested too deeply")
        char = self.peek()
        if char == "{":
            return self.members(depth)
        if char == "[":
            return self.items(depth)
        if char in _QUOTES:
            return self.quoted(",}]")
        return self.bare()

    def members(self, depth: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        self.position += 1
        while not self.closes("}", bool(result)):
            key = self.quoted(":") if self.peek() in _QUOTES else self.word()
            if self.peek() != ":":
                raise self.wrong("a colon is missing")
            self.position += 1
            if key in result:
                raise self.wrong(f"the key {key!r} is there twice")
            result[key] = self.value(depth + 1)
            self.separates("}")
        return result

    def items(self, depth: int) -> list[Any]:
        result: list[Any] = []
        self.position += 1
        while not self.closes("]", bool(result)):
            result.append(self.value(depth + 1))
            self.separates("]")
        return result

    def closes(self, bracket: str, after_one: bool) -> bool:
        """Take the closing bracket if it is next, or would be if the reply had not ended one too early."""
        char = self.peek()
        if char == bracket:
            self.position += 1
            return True
        if char or not after_one or not self.ended_well():
            return False
        self.repairs.append("closing brackets were missing")
        return True

    def ended_well(self) -> bool:
        """Whether the text ends with a whole record: after anything else, more may have been to come."""
        return self.text.rstrip().removesuffix("```").rstrip()[-1:] in ("}", "]")

    def separates(self, bracket: str) -> None:
        """Take the comma after a value; none is needed before a bracket, nor between two records."""
        char = self.peek()
        if char == ",":
            self.position += 1
            if self.peek() == bracket:
                self.repairs.append("a comma too many")
        elif char in "{[" and char and self.text[: self.position].rstrip()[-1:] in "}]" and bracket == "]":
            self.repairs.append("a comma was missing")
        elif char and char != bracket:
            raise self.wrong("a comma or a bracket is missing")

    def quoted(self, after: str) -> str:
        """Read a text up to the first closing quote that one of the signs `after`, or the end, follows."""
        opening = self.peek()
        closing = _QUOTES[opening]
        if opening != '"':
            self.repairs.append("other quotes than double ones")
        start = position = self.position + 1
        while position < len(self.text):
            char = self.text[position]
            if char == "\\":
                position += 2
                continue
            if char == closing:
                follows = _SPACE.match(self.text, position + 1).end()  # pyright: ignore[reportOptionalMemberAccess]
                if self.text[follows : follows + 1] in after or self.text.startswith("```", follows):
                    self.position = position + 1
                    return self.unescaped(self.text[start:position])
                self.repairs.append("quotes inside a text")
            position += 1
        raise self.wrong("a text does not end")

    def unescaped(self, inside: str) -> str:
        def one(match: re.Match[str]) -> str:
            char = match[1]
            return chr(int(char[1:], 16)) if len(char) == 5 else _ESCAPES.get(char, char)

        plain = re.sub(r"\\(u[0-9a-fA-F]{4}|.)", one, inside, flags=re.DOTALL)
        # Two escapes may be one character; a half without the other stays as it is.
        return plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")

    def word(self) -> str:
        match = _BARE.match(self.text, self.position)
        if not match:
            raise self.wrong("a value is missing" if self.peek() else "it ends too early")
        self.position = match.end()
        return match[0]

    def bare(self) -> Any:
        word = self.word()
        if word in _WORDS:
            return _WORDS[word]
        if not _NUMBER.fullmatch(word) or not self.peek():
            raise self.wrong(f"{word[:20]!r} is no value")
        return float(word)

    def peek(self) -> str:
        """Return the next char that is no space, moving there; empty at the end (or a closing code fence)."""
        self.position = _SPACE.match(self.text, self.position).end()  # pyright: ignore[reportOptionalMemberAccess]
        return "" if self.text.startswith("```", self.position) else self.text[self.position : self.position + 1]

    def wrong(self, what: str) -> NotJson:
        return NotJson(f"{what} at character {self.position + 1}")
