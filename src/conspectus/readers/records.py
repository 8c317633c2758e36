"""Records, each of which is a document: JSON, JSON lines, CSV and TSV, Parquet, and objects in memory."""

from __future__ import annotations

import csv
import json
import re
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from importlib import import_module
from io import BytesIO, StringIO
from itertools import chain, islice
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
    too_large,
)
from conspectus.readers import parse as parse_bytes
from conspectus.readers import row as line_of
from conspectus.readers.sources import Lines, Source
from conspectus.readers.text import decode_text
from conspectus.rows import Failure, Skipped
from conspectus.tokens import well_formed

DELIMITERS = ",;\t|"
_STATED = re.compile(r"sep=(.)\n")  # Excel writes this
_SAMPLE = 65_536  # bytes
MOST_ROWS = 10_000
"""Maximum rows of a table in one document. A table of a million rows is 20 to 60 MB, and one document of that size took
2.4 GB of memory; no table of the development corpora has more than 2,000."""
DECODED_ROWS = 1_000
"""Rows of Parquet that are decoded at a time: some MB for texts of a few kB."""
LONG_TEXT_CHARS = 40
"""Average characters of a column's cells from which they count as texts, and not as names and numbers."""


def parse(path: str, data: bytes, options: Options) -> Iterator[Outcome]:
    """Yield the document of each record; a table without texts becomes one document, with a line for each row.

    Raises DocumentError: the file contains no records.
    """
    if suffix_of(path) == ".parquet":
        yield from _parquet(path, BytesIO(data), options)
        return
    decoded = decode_text(data)
    yield from decoded.warnings(path)
    text = decoded.text
    if suffix_of(path) != ".json":
        yield from _of_lines(path, partial(_lines_of, text), options)
        return
    values = list(_json([text], whole=True))
    if values and isinstance(error := values[0], DocumentError):
        raise error
    yield from records(path, iter(values), options)


def stream(path: str, source: Source, options: Options) -> Iterator[Outcome]:
    """Yield what `parse` yields, without reading Parquet or a large file of lines in UTF-8 into memory as a whole."""
    suffix = suffix_of(path)
    if suffix == ".parquet" and not source.packed:
        return _parquet(path, source.file, options)
    lines = source.lines() if suffix not in (".json", ".parquet") else None
    return _of_lines(path, lines, options) if lines else parse_bytes(path, source.read(), options)


def _parquet(path: str, file: str | BytesIO, options: Options) -> Iterator[Outcome]:
    """Yield the document of each row; columns of lists, structures and bytes are ignored."""
    arrow: Any = import_module("pyarrow")
    types, length = arrow.types, 0

    def values(table: Any) -> Iterator[dict[str, object]]:
        left_out = (types.is_nested, types.is_binary, types.is_large_binary)
        schema = table.schema_arrow
        names = [field.name for field in schema if not any(kind(field.type) for kind in left_out)]
        for batch in table.iter_batches(DECODED_ROWS, columns=names, use_threads=False):
            yield from batch.to_pylist()

    try:
        with import_module("pyarrow.parquet").ParquetFile(file) as table:
            for outcome in records(path, values(table), options):
                length += len(outcome.text) if isinstance(outcome, ParsedDocument) else 0
                if length > options.max_bytes:
                    raise DocumentError(too_large("contains more than {} of text", options.max_bytes))
                yield outcome
    except (arrow.ArrowException, OSError) as error:
        raise DocumentError(f"is not Parquet, or is damaged: {error}; write it again") from error


def _of_lines(path: str, lines: Lines, options: Options) -> Iterator[Outcome]:
    if suffix_of(path) in JSON_SUFFIXES:
        yield from records(path, _json(lines(), whole=False), options)
        return
    table = _Table(lines, options)
    if table.has_texts(options):
        values = table.records(suffix_of(path))
        if (first := next(values, None)) is None:
            raise DocumentError("has no records: its first line must name the fields, with records after it")
        yield from records(path, chain([first], values), options)
    else:
        yield from _documents(path, table, options)


def _documents(path: str, table: _Table, options: Options) -> Iterator[ParsedDocument]:
    """Yield a table as a document with a line for each row, a long one as several, each with the column names."""
    rows = (cells for _, cells in table.rows(table.quoting) if any(cells))
    header, first = next(rows), 1
    while part := list(islice(rows, MOST_ROWS)):
        name = f"{path}#{first}-{first + len(part) - 1}" if table.count > MOST_ROWS + 1 else path
        prose = Prose(name, options)
        for row in (header, *part):
            prose.add(line_of(row), "\n")
        yield prose.document()
        first += len(part)


JSON_SUFFIXES = (".json", ".jsonl", ".ndjson")
"""Suffixes of files of records in JSON."""


def json_values(text: str, suffix: str) -> Iterator[tuple[int, object]]:
    """Yield the number (from 1, as in `parse`) and the value of each record of a JSON file; None for invalid JSON."""
    whole = suffix == ".json"
    values = _json([text] if whole else _lines_of(text), whole=whole)
    return enumerate((None if isinstance(value, DocumentError) else value for value in values), start=1)


def _json(lines: Iterable[str], *, whole: bool) -> Iterator[object]:
    """Yield the values in JSON lines, or in one JSON text if `whole`; a DocumentError for invalid JSON."""
    for number, line in enumerate(lines, start=1):
        text = line if whole else line.rstrip("\n")
        try:
            value = json.loads(text, parse_int=_whole) if text.strip() else None
        except (ValueError, RecursionError) as error:
            yield DocumentError(f"is not JSON: {_where(error, None if whole else number)}")
            continue
        if whole and isinstance(value, list):
            yield from cast("list[object]", value)
        elif text.strip():
            yield value


def _whole(digits: str) -> int | str:
    """Return an integer, or its digits if there are more than Python converts, which would fail the whole file."""
    return int(digits) if len(digits) <= sys.get_int_max_str_digits() else digits


def _where(error: ValueError | RecursionError, line: int | None = None) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"line {line or error.lineno}, column {error.colno}: {error.msg}"
    where = f"line {line}: " if line else ""
    return where + ("it is nested too deeply" if isinstance(error, RecursionError) else str(error))


# Separated values


class _Table:
    """A table of separated values, which is read anew each time its rows are requested."""

    def __init__(self, lines: Lines, options: Options) -> None:
        head = "".join(_first(lines(), _SAMPLE))
        stated = _STATED.match(head)
        self._lines = (lambda: islice(lines(), 1, None)) if stated else lines
        self._delimiter = stated[1] if stated else delimiter_of(head, options.text_field)
        self.quoting: Any = csv.QUOTE_MINIMAL
        """The csv module's quoting mode; if quotation marks do not match, they are read as ordinary characters."""
        self.count = 0
        """Number of rows with a cell that is not empty; set, as `quoting` is, by `has_texts`."""

    def rows(self, quoting: Any) -> Iterator[tuple[int, list[str]]]:
        return _rows(self._lines(), self._delimiter, quoting)

    def has_texts(self, options: Options) -> bool:
        """Return whether rows are documents: a text field is set or in the header, or a column has long cells."""
        for _, header in delimited(next(self._lines(), ""), self._delimiter):
            if options.text_field in header:
                return True
        if options.text_field != TEXT_FIELD:
            return True
        for self.quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
            self.count = 0
            lengths: Counter[int] = Counter()
            with suppress(DocumentError):
                for _, cells in self.rows(self.quoting):
                    self.count += any(cells)
                    lengths.update({column: len(cell) for column, cell in enumerate(cells)})
                return self.count < 2 or max(lengths.values()) >= LONG_TEXT_CHARS * self.count
        return True

    def records(self, suffix: str) -> Iterator[object]:
        """Yield the records; in TSV, quotation marks that do not match are read as ordinary characters."""
        quoting: Any = csv.QUOTE_MINIMAL
        if suffix == ".tsv":
            try:
                deque(self.rows(quoting), maxlen=0)
            except DocumentError:
                quoting = csv.QUOTE_NONE
        return _row_records(self.rows(quoting))


def _first(lines: Iterator[str], size: int) -> Iterator[str]:
    """Yield the first lines, up to `size` characters in total."""
    for line in lines:
        yield line[:size]
        size -= len(line)
        if size <= 0:
            return


def delimiter_of(text: str, text_field: str) -> str:
    """Return the delimiter of the fields.

    The best one gives the first line the text field, then gives most lines as many fields as the first line.
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
    """Yield the line number and cells of each row; quotation marks that do not match are ordinary characters."""
    for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_NONE):
        with suppress(DocumentError):
            yield from list(_rows(_lines_of(text), delimiter, quoting))
            return


def _row_records(rows: Iterator[tuple[int, list[str]]]) -> Iterator[object]:
    header: list[str] = []
    try:
        for number, row in rows:
            if not header:
                header = row
            elif len(row) <= len(header):
                yield dict(zip(header, row, strict=False))
            else:
                first = f"has {len(row)} fields (line {number}) where the first line of the file names {len(header)}"
                yield DocumentError(f'{first}; put fields that contain commas into "quotes"')
    except DocumentError as error:
        yield error


def _rows(lines: Iterator[str], delimiter: str, quoting: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and cells of each row that has cells; raise DocumentError for an unclosed quote."""
    before = csv.field_size_limit(min(sys.maxsize, 2**31 - 1))  # a C long, which has 32 bits on Windows
    rows = csv.reader(lines, delimiter=delimiter, quoting=quoting, strict=True)
    try:
        yield from ((rows.line_num, row) for row in rows if row)
    except csv.Error as error:
        reason = f"is not CSV: line {rows.line_num}: {error}; nothing after it was read"
        raise DocumentError(reason) from None
    finally:
        csv.field_size_limit(before)


def _lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a text with their newlines; StringIO would take four bytes of memory per character."""
    start = 0
    while end := text.find("\n", start) + 1:
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


# Records


def records(path: str, values: Iterator[object], options: Options) -> Iterator[Outcome]:
    """Yield the document of each record, named `path#n`; all records without the text field become one failure."""
    first, without = "", 0
    fields: dict[str, None] = {}
    for number, value in enumerate(values, start=1):
        name = f"{path}#{number}"
        if (own := _fields(value)) is not None and options.text_field not in own:
            first, without = first or name, without + 1
            fields |= dict.fromkeys(own)
        else:
            yield record(name, value, options)
    if without:
        yield _without_text(first, without, list(fields), options)


def _without_text(name: str, count: int, fields: list[str], options: Options) -> Failure:
    have = f"it has {', '.join(map(repr, fields[:20]))}" if fields else "it has no fields"
    others = f" (and {count - 1:,} records after it, too)" if count > 1 else ""
    return Failure(
        "read",
        f"has no field {options.text_field!r}{others}; {have}: name the one with the text by"
        " settings={'read.text_field': NAME}",
        name,
    )


def record(name: str, value: object, options: Options) -> Outcome:
    """Return the document of one record: a text, or an object that has the text field."""
    if isinstance(value, DocumentError):
        return Failure("read", str(value), name)
    fields = {options.text_field: value} if isinstance(value, str) else _fields(value)
    if fields is None:
        return Failure("read", "is neither a text nor an object with fields", name)
    if options.text_field not in fields:
        return _without_text(name, 1, list(fields), options)
    text = fields.pop(options.text_field)
    if not isinstance(text, str):
        return Failure("read", f"its field {options.text_field!r} contains no text", name)
    if not text.strip():
        return Skipped(name, EMPTY, "empty")
    if "\0" in text:
        return Failure("read", BINARY, name)
    stated = {well_formed(k): s for k, v in fields.items() if (s := _scalar(v))}
    title = " ".join(stated.pop(options.title_field, "").split())
    date = stated.pop("date") if any(c.isdigit() for c in stated.get("date", "")) else None
    return ParsedDocument(name, newlines(well_formed(text)), title, date, stated)


def _fields(value: object) -> dict[str, object] | None:
    """Return the fields of an object, None for any other value."""
    if not isinstance(value, Mapping):
        return None
    return {str(name): content for name, content in cast("Mapping[object, object]", value).items()}


def _scalar(value: Any) -> str:
    """Return a scalar as a string, "" for lists, objects and missing values (null, not a number)."""
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, bool):
        return str(value).lower()
    if value != value:  # only a missing number or date (NaN, NaT) is unequal to itself
        return ""
    if isinstance(value, int | float):
        return str(value)
    return str(value.isoformat()) if hasattr(value, "isoformat") else ""
