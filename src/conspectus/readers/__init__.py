"""What files say: from bytes to the texts of documents, one module for each family of formats.

Each module has a `parse` that yields the documents of one file, and a `Failure` for a part that cannot be
read; it raises `DocumentError` for what spoils the whole file. Plain text is parsed where it is read, and all
else in processes of its own (`pool`), which may be killed, and whose memory is limited.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import NamedTuple, cast

from conspectus.errors import DocumentError
from conspectus.readers.found import EMPTY, Options, Outcome, Parser


class Format(NamedTuple):
    module: str
    """The module of this package whose `parse` reads it."""
    package: str = ""
    """The package that it takes."""
    isolated: bool = True
    """Whether it is parsed in a process of its own."""


_TEXT, _MARKDOWN = Format("text", isolated=False), Format("markdown", isolated=False)
_RECORDS, _SUBTITLES = Format("records", isolated=False), Format("subtitles", isolated=False)
_HTML, _XML, _MAIL = Format("html", "selectolax"), Format("xml", "selectolax"), Format("mail", "selectolax")
_TABLES, _OFFICE = Format("tables", "python_calamine"), Format("office")

FORMATS = {
    ".txt": _TEXT,
    ".md": _MARKDOWN,
    ".markdown": _MARKDOWN,
    ".json": _RECORDS,
    ".jsonl": _RECORDS,
    ".ndjson": _RECORDS,
    ".csv": _RECORDS,
    ".tsv": _RECORDS,
    ".srt": _SUBTITLES,
    ".vtt": _SUBTITLES,
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
    ".msg": Format("outlook", "olefile"),
    ".epub": Format("epub", "selectolax"),
    ".rtf": Format("rtf", "striprtf"),
}
"""Who reads which suffix."""


def suffix_of(path: str) -> str:
    """Return the suffix of a path in lower case, as `.pdf`."""
    return PurePosixPath(path).suffix.lower()


@cache
def missing_package(format_: Format) -> str:
    """Return the package that a format takes and that is not installed; empty where nothing is lacking."""
    return format_.package if format_.package and find_spec(format_.package) is None else ""


def parse(path: str, data: bytes, options: Options) -> Iterator[Outcome]:
    """Yield the documents of one file of a known suffix.

    Raises:
        DocumentError: no document can be had from the file.
    """
    if not data:
        raise DocumentError(EMPTY)
    family = import_module(f"conspectus.readers.{FORMATS[suffix_of(path)].module}")
    yield from cast("Parser", family.parse)(path, data, options)
