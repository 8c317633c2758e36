"""Spreadsheets (XLSX, XLS, ODS): a line of text for each row, the sheets as places."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

import python_calamine as calamine

from conspectus.errors import DocumentError
from conspectus.readers.archive import ENCRYPTED, OLE, decrypt, is_encrypted_office, refuse_encrypted
from conspectus.readers.base import Options, ParsedDocument, Prose, row, too_large
from conspectus.readers.records import records
from conspectus.rows import Failure


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument | Failure]:
    """Yield the workbook as one document, or, where its first sheet has a column of texts, one for each row.

    Raises DocumentError: it is encrypted, damaged, too large, or empty.
    """
    if is_encrypted_office(data):
        data = decrypt(data, options)
    sheets = _sheets(data, options)
    first = next(iter(sheets.values()), None)
    rows = first.iter_rows() if first is not None and first.height else iter(())
    header = [_cell(value) for value in next(rows, list[Any]())]
    if options.text_field in header:
        yield from records(path, (dict(zip(header, values, strict=False)) for values in rows), options)
        return
    prose = Prose(path, options)
    for name, sheet in sheets.items():
        prose.set_location(f"sheet {name}")
        gap = "\n\n"
        for values in sheet.iter_rows() if sheet.height else ():
            if text := row(map(_cell, values)):
                prose.add(text, gap)
                gap = "\n"
    yield prose.document()


def _sheets(data: bytes, options: Options, *, locked: bool = True) -> dict[str, Any]:
    """Return the sheets by their names; `locked` tells that a password may still open them (XLS)."""
    _refuse_archives(data, options)
    try:
        book = calamine.CalamineWorkbook.from_filelike(BytesIO(data))
        return {name: book.get_sheet_by_name(name) for name in book.sheet_names}
    except calamine.PasswordError:
        if locked and data.startswith(OLE):
            return _sheets(decrypt(data, options), options, locked=False)
        raise DocumentError(ENCRYPTED) from None
    except calamine.CalamineError as error:
        raise DocumentError(f"is no workbook, or cut off or damaged: {error}; save it again") from None


def _refuse_archives(data: bytes, options: Options) -> None:
    """Raise DocumentError for an archive that is damaged, encrypted, or unpacks to too much."""
    if data.startswith(b"PK"):
        try:
            parts = ZipFile(BytesIO(data))
        except (BadZipFile, ValueError, OSError) as error:
            raise DocumentError(f"is cut off or damaged: {error}; copy or save it again") from None
        refuse_encrypted(parts)
        if sum(part.file_size for part in parts.infolist()) > options.max_bytes:
            raise DocumentError(too_large("unpacks to more than {}", options.max_bytes))


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        midnight = not (value.hour or value.minute or value.second)
        return value.date().isoformat() if midnight else value.isoformat()
    return str(value)
