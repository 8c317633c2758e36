"""Readers: from the bytes of a file to the texts of its documents, one module per kind of format.

Each module has a function `parse`, which yields the documents of a file, and a `Failure` for a part that cannot be
read; it raises `DocumentError` if the whole file cannot be read. Plain text is parsed in the main process; other
formats are parsed in worker processes (`pool`), which can be killed and have limited memory.

To add a format, write `readers/<format>.py` with a function `parse`, and add its suffix to `FORMATS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import NamedTuple, cast

from conspectus.errors import EmptyDocument
from conspectus.readers.base import (
    EMPTY,
    GENERATED,
    GENERATED_MARKDOWN,
    Options,
    Outcome,
    ParsedDocument,
    Parser,
    Prose,
    list_generated,
)
from conspectus.rows import Skipped

__all__ = [
    "FORMATS",
    "GENERATED",
    "GENERATED_MARKDOWN",
    "Format",
    "Options",
    "Outcome",
    "ParsedDocument",
    "Prose",
    "list_generated",
    "missing_package",
    "parse",
    "suffix_of",
]


class Format(NamedTuple):
    module: str
    """The module in this package with the function `parse`."""
    package: str = ""
    """The package that it needs."""
    isolated: bool = True
    """Whether files are parsed in a worker process."""


_TEXT, _RECORDS = Format("text", isolated=False), Format("records", isolated=False)
_HTML, _XML, _MAIL = Format("html", "selectolax"), Format("xml", "selectolax"), Format("mail", "selectolax")
_TABLES, _OFFICE = Format("tables", "python_calamine"), Format("office")

FORMATS = {
    ".txt": _TEXT,
    ".md": _TEXT,
    ".markdown": _TEXT,
    ".json": _RECORDS,
    ".jsonl": _RECORDS,
    ".ndjson": _RECORDS,
    ".csv": _RECORDS,
    ".tsv": _RECORDS,
    ".srt": _TEXT,
    ".vtt": _TEXT,
    ".pdf": Format("pdf", "pypdfium2"),
    ".docx": _OFFICE,
    ".docm": _OFFICE,
    ".pptx": _OFFICE,
    ".odt": _OFFICE,
    ".odp": _OFFICE,
    ".xlsx": _TABLES,
    ".xlsm": _TABLES,
    ".xls": _TABLES,
    ".ods": _TABLES,
    ".html": _HTML,
    ".htm": _HTML,
    ".xhtml": _HTML,
    ".xml": _XML,
    ".rss": _XML,
    ".atom": _XML,
    ".eml": _MAIL,
    ".msg": Format("mail", "olefile"),
    ".epub": Format("epub", "selectolax"),
    ".rtf": Format("office", "striprtf"),
}
"""The reader of each suffix."""


def suffix_of(path: str) -> str:
    """Return the suffix of a path in lower case, as `.pdf`."""
    return PurePosixPath(path).suffix.lower()


@cache
def missing_package(format_: Format) -> str:
    """Return the package that a format needs and that is not installed; empty if there is none."""
    return format_.package if format_.package and find_spec(format_.package) is None else ""


def parse(path: str, data: bytes, options: Options) -> Iterator[Outcome]:
    """Yield the documents of a file with a suffix in `FORMATS`; one that is empty is skipped.

    Raises DocumentError: no document can be had from the file.
    """
    reader = import_module(f"conspectus.readers.{FORMATS[suffix_of(path)].module}")
    try:
        if not data:
            raise EmptyDocument(EMPTY)
        yield from cast("Parser", reader.parse)(path, data, options)
    except EmptyDocument as error:
        yield Skipped(path, str(error), "empty")
