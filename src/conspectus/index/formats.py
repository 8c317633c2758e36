"""What a file or a record says: from bytes to the texts of documents.

The functions raise `DocumentError` for what spoils a whole file, and yield a `Failure` for one record of it.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import StringIO
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, cast

from conspectus.errors import DocumentError
from conspectus.rows import Failure
from conspectus.tokens import well_formed

if TYPE_CHECKING:
    from conspectus.settings import ReadSettings

_BOMS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (codecs.BOM_UTF8, "utf-8-sig"),
)
_CONTROL = bytes(c for c in (*range(32), 127) if c not in b"\t\n\r\v\f\b\x1b")
_BINARY = "is binary, not text; remove it, or save it as UTF-8 text"
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(\S.*)")
_CLOSING = re.compile(r"[ \t]+#+[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_UNDERLINE = re.compile(r" {0,3}=+[ \t]*")


@dataclass(frozen=True, slots=True)
class Found:
    """A document before it has its place among the others, and so its number and id."""

    path: str
    text: str
    title: str = ""
    date: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])


def decode(data: bytes) -> str:
    """Return the text of a file without its byte order mark, every newline as `\\n`.

    UTF-8, or what a byte order mark says, or else what a detector finds most likely.

    Raises:
        DocumentError: the bytes are not text, or in no encoding that could be told.
    """
    encoding = next((name for bom, name in _BOMS if data.startswith(bom)), None)
    if encoding in (None, "utf-8-sig") and _is_binary(data):
        raise DocumentError(_BINARY)
    try:
        text = data.decode(encoding or "utf-8")
    except UnicodeDecodeError as error:
        if encoding:
            marked = encoding.removesuffix("-sig").upper()
            raise DocumentError(
                f"begins with the byte order mark of {marked} but is not valid in it at byte {error.start}; "
                "save it again as UTF-8"
            ) from error
        text = _detected(data)
    if "\0" in text:
        raise DocumentError(_BINARY)
    return newlines(text)


def newlines(text: str) -> str:
    """Return the text with `\\r\\n` and `\\r` as `\\n`."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _is_binary(data: bytes) -> bool:
    return b"\0" in data or (len(data) - len(data.translate(None, _CONTROL))) * 10 > len(data)


def _detected(data: bytes) -> str:
    try:
        from charset_normalizer import from_bytes
    except ImportError as error:
        raise DocumentError(
            "is not UTF-8, and telling its encoding needs the package charset-normalizer: install it, "
            "or save the file as UTF-8"
        ) from error
    best = from_bytes(data).best()
    if best is None:
        raise DocumentError("is in no text encoding that could be told; save it as UTF-8")
    return str(best)


# Files, by their suffix


def parse(path: str, data: bytes, settings: ReadSettings) -> Iterator[Found | Failure]:
    """Yield the documents of one file, one for a text and one for each record.

    Raises:
        DocumentError: no document can be had from the file.
    """
    text = decode(data)
    if not text.strip():
        raise DocumentError("is empty: there is nothing in it to index")
    return PARSERS[PurePosixPath(path).suffix.lower()](path, text, settings)


def _plain(path: str, text: str, settings: ReadSettings) -> Iterator[Found | Failure]:
    yield Found(path, text, title=PurePosixPath(path).stem)


def _markdown(path: str, text: str, settings: ReadSettings) -> Iterator[Found | Failure]:
    yield Found(path, text, title=first_heading(text) or PurePosixPath(path).stem)


def first_heading(markdown: str) -> str:
    """Return the text of the first heading outside fenced code, or "" where there is none."""
    fence, before = "", ""
    for line in markdown.split("\n"):
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not line[mark.end() :].strip():
                fence = ""
        elif not fence and (heading := _HEADING.match(line)):
            if title := _CLOSING.sub("", heading[1]).strip():
                return title
        elif not fence and before.strip() and _UNDERLINE.fullmatch(line):
            return before.strip()
        before = line
    return ""


def _json(path: str, text: str, settings: ReadSettings) -> Iterator[Found | Failure]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"is not JSON: {_place(error)}") from error
    values = cast("list[object]", value) if isinstance(value, list) else [value]
    return records(path, iter(values), settings)


def _jsonl(path: str, text: str, settings: ReadSettings) -> Iterator[Found | Failure]:
    def lines() -> Iterator[object]:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    yield json.loads(line)
                except (ValueError, RecursionError) as error:
                    yield DocumentError(f"is not JSON: {_place(error, number)}")

    return records(path, lines(), settings)


def _place(error: ValueError | RecursionError, line: int | None = None) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {line or error.lineno}, column {error.colno}: {error.msg}"
    where = f"line {line}: " if line else ""
    return where + ("it is nested too deeply" if isinstance(error, RecursionError) else str(error))


def _csv(path: str, text: str, settings: ReadSettings) -> Iterator[Found | Failure]:
    values: list[object] = []
    rows = csv.reader(StringIO(text), strict=True)  # an open quote must be told, not swallow the rest
    with _fields_of_any_size():
        try:
            filled = filter(None, rows)
            header = next(filled, list[str]())
            for row in filled:
                values.append(_row(header, row, rows.line_num))
        except csv.Error as error:
            problem = f"is not CSV: line {rows.line_num}: {error}; nothing after it was read"
            values.append(DocumentError(problem))
    if not values:
        raise DocumentError("has no records: its first line must name the fields, with records after it")
    return records(path, iter(values), settings)


def _row(header: list[str], row: list[str], line: int) -> object:
    if len(row) > len(header):
        return DocumentError(
            f"has {len(row)} fields (line {line}) where the first line of the file names {len(header)}; "
            'put fields that hold commas into "quotes"'
        )
    return dict(zip(header, row, strict=False))


@contextmanager
def _fields_of_any_size() -> Generator[None]:
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a C long, which has 32 bits on Windows
    try:
        yield
    finally:
        csv.field_size_limit(before)


Parser = Callable[[str, str, "ReadSettings"], "Iterator[Found | Failure]"]
PARSERS: Mapping[str, Parser] = {
    ".txt": _plain,
    ".md": _markdown,
    ".json": _json,
    ".jsonl": _jsonl,
    ".csv": _csv,
}
"""Who reads which suffix."""


# Records


def records(path: str, values: Iterator[object], settings: ReadSettings) -> Iterator[Found | Failure]:
    """Yield the document of each record, called `path#n`; records without a text field become one failure."""
    without: list[str] = []
    fields: dict[str, None] = {}
    for number, value in enumerate(values, start=1):
        name = f"{path}#{number}"
        if (own := _fields(value)) is not None and settings.text_field not in own:
            without.append(name)
            fields |= dict.fromkeys(own)
        else:
            yield record(name, value, settings)
    if without:
        yield _without_text(without, list(fields), settings)


def _without_text(names: list[str], fields: list[str], settings: ReadSettings) -> Failure:
    have = f"it has {', '.join(map(repr, fields[:20]))}" if fields else "it has no fields"
    others = f" (and {len(names) - 1:,} records after it, too)" if len(names) > 1 else ""
    return Failure(
        "read",
        f"has no field {settings.text_field!r}{others}; {have}: name the one with the text by --text-field",
        names[0],
    )


def record(name: str, value: object, settings: ReadSettings) -> Found | Failure:
    """Return the document of one record: a text, or an object that has the text field."""
    if isinstance(value, DocumentError):
        return Failure("read", str(value), name)
    fields = {settings.text_field: value} if isinstance(value, str) else _fields(value)
    if fields is None:
        return Failure("read", "is neither a text nor an object with fields", name)
    if settings.text_field not in fields:
        return _without_text([name], list(fields), settings)
    text = fields.pop(settings.text_field)
    if not isinstance(text, str):
        return Failure("read", f"its field {settings.text_field!r} holds no text", name)
    if not text.strip():
        return Failure("read", "is empty", name)
    if "\0" in text:
        return Failure("read", _BINARY, name)
    stated = {well_formed(k): s for k, v in fields.items() if (s := _scalar(v))}
    title = " ".join(stated.pop(settings.title_field, "").split())
    date = stated.pop("date") if any(c.isdigit() for c in stated.get("date", "")) else None
    return Found(name, newlines(well_formed(text)), title, date, stated)


def _fields(value: object) -> dict[str, object] | None:
    """Return the fields of an object, or None for what is none."""
    if not isinstance(value, Mapping):
        return None
    return {str(name): content for name, content in cast("Mapping[object, object]", value).items()}


def _scalar(value: Any) -> str:
    """Return a scalar as a string, "" for lists, objects and what says nothing (null, not a number)."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, bool):
        return str(value).lower()
    state = str if isinstance(value, int | float) else getattr(value, "isoformat", None)
    if state is None or value != value:  # only what stands for a missing number or date is unlike itself
        return ""
    return str(value) if state is str else str(state())
