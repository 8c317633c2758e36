"""Records, each one a document: JSON, JSON lines, tables of separated values, and objects from memory."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import StringIO
from itertools import islice
from typing import Any, cast

from conspectus.errors import DocumentError
from conspectus.readers import (
    BINARY,
    EMPTY,
    TEXT_FIELD,
    Options,
    Outcome,
    ParsedDocument,
    Prose,
    newlines,
    suffix_of,
)
from conspectus.readers import row as line_of
from conspectus.readers.text import decode_text
from conspectus.rows import Failure, Skipped
from conspectus.tokens import well_formed

DELIMITERS = ",;\t|"
_STATED = re.compile(r"sep=(.)\n")  # Excel writes this
_SAMPLE = 65_536  # bytes
MOST_ROWS = 10_000
"""Rows of a table in one document. A table of a million rows is 20 to 60 MB, and one document of that size took 2.4 GB;
none of the development corpora has a table of more than 2,000."""
LONG_TEXT_CHARS = 40
"""Characters that the cells of a column have on average if they are texts, and not names and numbers."""


def parse(path: str, data: bytes, options: Options) -> Iterator[Outcome]:
    """Yield the document of each record, or a table that has no texts as one document, a line for each row.

    Raises DocumentError: the file holds no records.
    """
    decoded = decode_text(data)
    yield from decoded.warnings(path)
    text = decoded.text
    suffix = suffix_of(path)
    if suffix in JSON_SUFFIXES:
        values = list(_json(text, suffix))
        if suffix == ".json" and values and isinstance(error := values[0], DocumentError):
            raise error
        yield from records(path, iter(values), options)
    elif cells := _without_texts(text, options):
        yield from _table(path, cells, options)
    else:
        yield from records(path, _separated(text, suffix, options), options)


def _table(path: str, cells: list[list[str]], options: Options) -> Iterator[ParsedDocument]:
    """Yield a table as a document, a line for each row; a long one as several, each with the names of the columns."""
    for first in range(1, len(cells), MOST_ROWS):
        rows = cells[first : first + MOST_ROWS]
        name = f"{path}#{first}-{first + len(rows) - 1}" if len(cells) > MOST_ROWS + 1 else path
        prose = Prose(name, options)
        for row in (cells[0], *rows):
            prose.add(line_of(row), "\n")
        yield prose.document()


JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
"""What files of records in JSON are called."""


def json_values(text: str, suffix: str) -> Iterator[tuple[int, object]]:
    """Yield number and value of each record of a file of JSON, as `parse` counts them; None for what is no JSON."""
    values = _json(text, suffix)
    return enumerate((None if isinstance(value, DocumentError) else value for value in values), start=1)


def _json(text: str, suffix: str) -> Iterator[object]:
    """Yield the values of JSON or of JSON lines; a DocumentError for what is neither."""
    whole = suffix == ".json"
    for number, line in enumerate([text] if whole else text.split("\n"), start=1):
        try:
            value = json.loads(line, parse_int=_whole) if line.strip() else None
        except (ValueError, RecursionError) as error:
            yield DocumentError(f"is not JSON: {_where(error, None if whole else number)}")
            continue
        if whole and isinstance(value, list):
            yield from cast("list[object]", value)
        elif line.strip():
            yield value


def _whole(digits: str) -> int | str:
    """Return a whole number, or its digits where there are more than Python reads, which would fail the whole file."""
    return int(digits) if len(digits) <= sys.get_int_max_str_digits() else digits


def _where(error: ValueError | RecursionError, line: int | None = None) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {line or error.lineno}, column {error.colno}: {error.msg}"
    where = f"line {line}: " if line else ""
    return where + ("it is nested too deeply" if isinstance(error, RecursionError) else str(error))


# Separated values


def _separated(text: str, suffix: str, options: Options) -> Iterator[object]:
    """Return the records of a table; in one that calls itself TSV, quotation marks may be mere characters."""
    text, delimiter = _divided(text, options)
    values = list(_row_records(text, delimiter, csv.QUOTE_MINIMAL))
    if suffix == ".tsv" and values and isinstance(values[-1], DocumentError):
        values = list(_row_records(text, delimiter, csv.QUOTE_NONE))
    if not values:
        raise DocumentError("has no records: its first line must name the fields, with records after it")
    return iter(values)


def _divided(text: str, options: Options) -> tuple[str, str]:
    """Return a table and what separates its fields, which it may state."""
    if stated := _STATED.match(text):
        return text[stated.end() :], stated[1]
    return text, delimiter_of(text, options.text_field)


def _without_texts(text: str, options: Options) -> list[list[str]]:
    """Return the cells of a table that has nothing like texts, to be read as it stands; none of others.

    Where a column holds long texts, or whoever indexes named the field of the texts, its records are documents.
    """
    if options.text_field != TEXT_FIELD:
        return []
    text, delimiter = _divided(text, options)
    header = next((cells for _, cells in delimited(text.partition("\n")[0], delimiter)), list[str]())
    if options.text_field in header:
        return []
    rows = [cells for _, cells in delimited(text, delimiter) if any(cells)]
    lengths: Counter[int] = Counter()
    for cells in rows:
        lengths.update({column: len(cell) for column, cell in enumerate(cells)})
    return rows if len(rows) > 1 and max(lengths.values()) < LONG_TEXT_CHARS * len(rows) else []


def delimiter_of(text: str, text_field: str) -> str:
    """Return what separates the fields.

    It divides the first line, at best so that one field is that of the text, and those after it into as many.
    """

    def evidence(delimiter: str) -> tuple[bool, float, int]:
        rows: list[list[str]] = []
        with suppress(csv.Error):
            rows += islice(csv.reader(StringIO(text[:_SAMPLE]), delimiter=delimiter), 30)
        header, *others = [row for row in rows if row] or [list[str]()]
        others = others[:-1] or others  # the sample may end inside the last one
        alike = sum(len(row) == len(header) for row in others) / max(len(others), 1)
        return (text_field in header, alike, len(header)) if len(header) > 1 else (False, -1, 0)

    return max(DELIMITERS, key=evidence)


def delimited(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row; where quotation marks do not match, they are mere characters."""
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
        with suppress(DocumentError):
            yield from list(_rows(text, delimiter, quoting))
            return


def _row_records(text: str, delimiter: str, quoting: int) -> Iterator[object]:
    header: list[str] = []
    try:
        for number, row in _rows(text, delimiter, quoting):
            if not header:
                header = row
            elif len(row) <= len(header):
                yield dict(zip(header, row, strict=False))
            else:
                first = f"has {len(row)} fields (line {number}) where the first line of the file names {len(header)}"
                yield DocumentError(f'{first}; put fields that hold commas into "quotes"')
    except DocumentError as error:
        yield error


def _rows(text: str, delimiter: str, quoting: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of each row that has any; raise DocumentError for an open quote."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a C long, which has 32 bits on Windows
    rows = csv.reader(_lines_of(text), delimiter=delimiter, quoting=quoting, strict=True)
    try:
        yield from ((rows.line_num, row) for row in rows if row)
    except csv.Error as error:
        reason = f"is not CSV: line {rows.line_num}: {error}; nothing after it was read"
        raise DocumentError(reason) from None
    finally:
        csv.field_size_limit(before)


def _lines_of(text: str) -> Iterator[str]:
    """Yield lines with their ends; StringIO would take four bytes for each character of the whole."""
    start = 0
    while end := text.find("\n", start) + 1:
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


# Records


def records(path: str, values: Iterator[object], options: Options) -> Iterator[Outcome]:
    """Yield the document of each record, called `path#n`; records without a text field become one failure."""
    without: list[str] = []
    fields: dict[str, None] = {}
    for number, value in enumerate(values, start=1):
        name = f"{path}#{number}"
        if (own := _fields(value)) is not None and options.text_field not in own:
            without.append(name)
            fields |= dict.fromkeys(own)
        else:
            yield record(name, value, options)
    if without:
        yield _without_text(without, list(fields), options)


def _without_text(names: list[str], fields: list[str], options: Options) -> Failure:
    have = f"it has {', '.join(map(repr, fields[:20]))}" if fields else "it has no fields"
    others = f" (and {len(names) - 1:,} records after it, too)" if len(names) > 1 else ""
    return Failure(
        "read",
        f"has no field {options.text_field!r}{others}; {have}: name the one with the text by"
        " settings={'read.text_field': NAME}",
        names[0],
    )


def record(name: str, value: object, options: Options) -> Outcome:
    """Return the document of one record: a text, or an object that has the text field."""
    if isinstance(value, DocumentError):
        return Failure("read", str(value), name)
    fields = {options.text_field: value} if isinstance(value, str) else _fields(value)
    if fields is None:
        return Failure("read", "is neither a text nor an object with fields", name)
    if options.text_field not in fields:
        return _without_text([name], list(fields), options)
    text = fields.pop(options.text_field)
    if not isinstance(text, str):
        return Failure("read", f"its field {options.text_field!r} holds no text", name)
    if not text.strip():
        return Skipped(name, EMPTY, "empty")
    if "\0" in text:
        return Failure("read", BINARY, name)
    stated = {well_formed(k): s for k, v in fields.items() if (s := _scalar(v))}
    title = " ".join(stated.pop(options.title_field, "").split())
    date = stated.pop("date") if any(c.isdigit() for c in stated.get("date", "")) else None
    return ParsedDocument(name, newlines(well_formed(text)), title, date, stated)


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
    if value != value:  # only what stands for a missing number or date is unlike itself
        return ""
    if isinstance(value, int | float):
        return str(value)
    return str(value.isoformat()) if hasattr(value, "isoformat") else ""
