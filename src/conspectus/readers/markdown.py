"""Markdown, with the front matter that many tools put before it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import cast

from conspectus.readers.base import Options, ParsedDocument, iso_date, line, section_name
from conspectus.readers.text import decode_text
from conspectus.rows import EncodingWarning, Place

_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")
_FRONT = re.compile(r"(---|\+\+\+)[ \t]*\n(.*?)\n?^\1[ \t]*(?:\n\s*|\Z)", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"([^\W\d][\w .-]*?)[ \t]*:(?:[ \t]+(.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(.*)")
_AUTHORS = ("author", "authors", "creator", "by")


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | EncodingWarning]:
    """Yield the text after the front matter, its sections as places."""
    decoded = decode_text(data)
    yield from decoded.warnings(path)
    text = decoded.text
    fields: dict[str, str] = {}
    if (front := _FRONT.match(text)) and (fields := _front_matter(front[1], front[2])):
        text = text[front.end() :] or text
    heads = list(headings(text))
    title = fields.pop("title", "") or (heads[0][1] if heads else "") or PurePosixPath(path).stem
    date = iso_date(fields["date"]) if "date" in fields else None
    if date:
        del fields["date"]
    if author := next((fields.pop(name) for name in _AUTHORS if name in fields), ""):
        fields["author"] = author
    places = tuple(Place(start, section_name(heading)) for start, heading in heads)
    yield ParsedDocument(path, text, title, date, fields, places)


def headings(markdown: str) -> Iterator[tuple[int, str]]:
    """Yield where each heading outside fenced code starts, and its text."""
    fence, before, start = "", "", 0
    for text in markdown.split("\n"):
        if mark := _FENCE.match(text):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not text[mark.end() :].strip():
                fence = ""
        elif not fence and (heading := _HEADING.match(text)):
            if title := _CLOSING.sub("", heading[1]).strip():
                yield start, title
        elif not fence and before.strip() and _UNDERLINE.fullmatch(text):
            yield start - len(before) - 1, before.strip()
        before = text
        start += len(text) + 1


def first_heading(markdown: str) -> str:
    """Return the text of the first heading outside fenced code, or "" where there is none."""
    return next((title for _, title in headings(markdown)), "")


def _front_matter(fence: str, block: str) -> dict[str, str]:
    """Return the fields of front matter, YAML (scalars, lists of them) or TOML; none where it is neither."""
    if fence == "+++":
        try:
            values = tomllib.loads(block)
        except tomllib.TOMLDecodeError:
            return {}
        return {name.lower(): said for name, value in values.items() if (said := _as_text(value))}
    fields: dict[str, str] = {}
    name = ""
    for text in block.split("\n"):
        if field := _FIELD.fullmatch(text):
            name = field[1].lower()
            fields[name] = _scalar(field[2] or "")
        elif name and (item := _ITEM.fullmatch(text)):
            fields[name] = ", ".join(filter(None, (fields[name], _scalar(item[1]))))
        elif name and text[:1] in (" ", "\t"):  # a text over several lines
            fields[name] = line(f"{fields[name].lstrip('|>-')} {text}")
        elif text.strip() and not text.startswith("#"):
            return {}
    return {name: value for name, value in fields.items() if value}


def _scalar(text: str) -> str:
    """Return a scalar, or a list in brackets, without its quotation marks."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return ", ".join(filter(None, map(_scalar, text[1:-1].split(","))))
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'":
        return text[1:-1]
    return text.split(" #")[0].rstrip()


def _as_text(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, cast("list[object]", value)))
    return "" if isinstance(value, dict) else line(str(value))
