"""Reading the JSON that models write: text stands around it, and some of its errors can be repaired in one way.

Repaired are: code fences and text around, single and typographic quotes, quotes and line breaks inside texts,
trailing commas, commas missing between records, Python's `True`, `False` and `None`, keys without quotes, and
closing brackets missing at the very end of a reply. Where a repair would be a guess there is none: the package
json_repair, which always finds a reading, took parts of a reply that broke off for the whole of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

_TOKEN = re.compile(r"""\s*(?:(?P<mark>[{}\[\]:,])|(?P<quote>["'“‘])|(?P<word>[\w.+-]+))?""")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_WORDS = {"True": "true", "False": "false", "None": "null"}
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_BRACKETS = {"{": "}", "[": "]"}
_INSIDE = re.compile(r"""\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])|\\(?P<other>.)|(?P<quote>")""", re.DOTALL)
"""What is rewritten in a text between quotes: escapes that JSON does not have, and quotes that are not escaped."""
_TRIES = 3
"""Opening braces of a reply that are tried: the text before the JSON may have some of its own, but seldom two."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a key twice, of which Python's reader would lose one in silence."""
    result = dict(pairs)
    if len(result) < len(pairs):
        raise ValueError("a key is there twice")
    return result


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_once)


class NotJson(ValueError):
    """There is no JSON in a text that can be read without guessing; says what and where."""


def read(text: str, wanted: Callable[[Any], bool]) -> Any:
    """Return the one JSON value of a reply that is `wanted`.

    Raises NotJson where there is none, or are two that differ.
    """
    try:
        value = _DECODER.decode(text)
        if wanted(value):
            return value
    except (ValueError, RecursionError):
        pass
    values = [value for value in _valid_objects(text) if wanted(value)]
    if values and all(value == values[0] for value in values):
        return values[0]
    if values:
        raise NotJson("there are two replies in it that differ")
    first: NotJson | None = None
    for opening in list(re.finditer(r"\{", text))[:_TRIES]:
        try:
            value = _DECODER.decode(_repaired(text, opening.start()))
            if wanted(value):
                return value
            raise NotJson("it has not the keys that were asked for")
        except (ValueError, RecursionError) as error:
            first = first or NotJson(str(error))
    raise first or NotJson("there is no JSON in it")


def _valid_objects(text: str) -> list[Any]:
    """Return the outermost objects of a text that are valid JSON."""
    values: list[Any] = []
    position = 0
    while (position := text.find("{", position)) >= 0:
        try:
            value, position = _DECODER.raw_decode(text, position)
            values.append(value)
        except (ValueError, RecursionError):
            position += 1
    return values


def _repaired(text: str, position: int) -> str:
    """Return the object that opens at a position with its errors repaired.

    Brackets and quotes are followed here; whether the rest is JSON is for the decoder to say.
    """
    parts: list[str] = []
    closing: list[str] = []
    while closing or not parts:
        token = _TOKEN.match(text, position)
        mark, quote, word = token.group("mark", "quote", "word") if token else (None, None, None)
        position = token.end() if token else position
        before = parts[-1] if parts else ""
        if mark in _BRACKETS:
            if before in ("}", "]") and closing[-1:] == ["]"]:
                parts.append(",")  # one is missing
            closing.append(_BRACKETS[mark])
            parts.append(mark)
        elif mark in ("}", "]"):
            if closing.pop() != mark:
                raise NotJson(f"a bracket is wrong at character {position}")
            if before == ",":
                parts.pop()  # it is one too many
            parts.append(mark)
        elif mark:
            parts.append(mark)
        elif quote:
            is_key = closing[-1] == "}" and before in ("{", ",")
            inside, position = _quoted(text, position, quote, ":" if is_key else ",}]")
            parts.append(inside)
        elif word:
            parts.append(_word(word, text[position : position + 1] == ":"))
        else:
            # Only after a whole record is it sure that nothing more was to come.
            if before not in ("}", "]") or text[position:].strip("` \n"):
                raise NotJson(f"it breaks off or is no JSON at character {position + 1}")
            parts += reversed(closing)
            closing.clear()
    return "".join(parts)


def _word(word: str, is_key: bool) -> str:
    if is_key:
        return json.dumps(word)
    word = _WORDS.get(word, word)
    if word not in ("true", "false", "null") and not _NUMBER.fullmatch(word):
        raise NotJson(f"{word[:20]!r} is no value")
    return word


def _quoted(text: str, start: int, quote: str, after: str) -> tuple[str, int]:
    """Return a text in sound quotes, and where it ends: at a closing quote that a sign of `after`, or the end, follows.

    `start` is behind its opening quote.
    """
    closing = re.compile(rf"\\.|{_QUOTES[quote]}(?P<end>\s*(?:[{re.escape(after)}]|```|\Z))?", re.DOTALL)
    for match in closing.finditer(text, start):
        if match["end"] is not None:
            sound = _INSIDE.sub(
                lambda m: '\\"' if m["quote"] else m["other"] or m[0], text[start : match.start()]
            )
            return f'"{sound}"', match.start() + 1
    raise NotJson(f"a text does not end at character {start}")
