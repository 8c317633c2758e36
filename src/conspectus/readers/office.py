"""Office files: documents and slides (DOCX, PPTX, ODT, ODP, RTF) and spreadsheets (XLSX, XLS, ODS)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from io import BytesIO
from typing import Any, cast
from xml.etree.ElementTree import Element
from xml.parsers.expat import ParserCreate

import python_calamine as calamine

from conspectus.errors import DocumentError
from conspectus.readers import Options, Outcome, ParsedDocument, Prose, iso_date, row, too_large
from conspectus.readers.archive import ENCRYPTED, Archive, refuse_encrypted
from conspectus.readers.records import records
from conspectus.readers.xml import attribute, elements, first_text, local_name, run_parser

_MARKS = {"tab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "line-break": "\n"}
_MATHS = {"den": "/", "sup": "^", "sub": "_"}
_SPECIAL_SLIDE_TEXT = {"dt", "ftr", "sldNum", "hdr"}
_SKIPPED = {  # deleted text, field codes, and elements that are read elsewhere
    "del", "moveFrom", "instrText", "Fallback", "pPr", "rPr", "fld", "tracked-changes", "note-citation",
    "annotation-end", "table-of-content", "forms",
}  # fmt: skip
_FONT_CHARSET = re.compile(r"\\f(\d{1,9})(?:(?!\\f\d)[^;{}]){0,100}?\\fcharset(\d{1,9})")
_HEADING = re.compile(r"heading \d|title", re.IGNORECASE)


def parse(path: str, data: bytes, options: Options) -> Iterator[Outcome]:
    """Yield the text, with headings, slides or sheets as locations, rows of tables as lines, and Word's notes last.

    Raises DocumentError: the file is encrypted, damaged, too large, or without text.
    """
    if path.lower().endswith((".xlsx", ".xlsm", ".xls", ".ods")):
        yield from _workbook(path, data, options)
        return
    prose = Prose(path, options)
    if path.lower().endswith(".rtf"):
        yield _rtf(data, prose)
        return
    archive = Archive(path, data, options)
    if "ppt/presentation.xml" in archive.names:
        _slides(archive, prose)
    elif any(name.startswith("word/") for name in archive.names):
        _document(archive, prose)
    elif "content.xml" in archive.names:
        for body in elements(archive.tree("content.xml"), "body"):
            _add_open(body, prose, [0])
    else:
        raise DocumentError("is a zip archive, but not an office document; unpack it")
    yield _with_properties(archive, prose)


def _with_properties(archive: Archive, prose: Prose) -> ParsedDocument:
    """Return the document with the properties of Office Open XML or OpenDocument."""
    try:
        part = "docProps/core.xml" if "docProps/core.xml" in archive.names else "meta.xml"
        properties = archive.optional(part)
    except DocumentError:  # the text is complete without them
        properties = None
    if properties is None:
        return prose.document()
    date = iso_date(first_text(properties, "created", "modified", "creation-date", "date"))
    about = {
        "author": first_text(properties, "initial-creator", "creator"),
        "keywords": first_text(properties, "keywords", "keyword"),
        "subject": first_text(properties, "subject"),
    }
    return prose.document(first_text(properties, "title"), date, about)


# Text


def _text_of(element: Element) -> str:
    """Return the text inside a paragraph of Office Open XML."""
    return "".join(_pieces(element))


def _pieces(element: Element) -> Iterator[str]:
    name = local_name(element)
    if name == "t":
        yield element.text or ""
    elif name in _MARKS:
        yield _MARKS[name]
    elif name not in _SKIPPED:
        content = "".join(piece for child in element for piece in _pieces(child))
        yield _MATHS.get(name, "") + content if content else ""
        if name == "p":  # a paragraph inside another is in a text box
            yield "\n"


def _add(element: Element, prose: Prose, headings: dict[str, str]) -> None:
    """Add the content of an element of OOXML block by block."""
    for child in element:
        name = local_name(child)
        if name == "p":
            style = next((attribute(s, "val") for s in elements(child, "pStyle")), "")
            if _HEADING.match(headings.get(style, style)):
                prose.add_heading(_text_of(child))
            else:
                prose.add(_text_of(child))
        elif name == "tbl":
            _add_rows(child, prose)
        elif name not in _SKIPPED:
            _add(child, prose, headings)


def _add_rows(table: Element, prose: Prose) -> None:
    gap = "\n\n"
    for line in elements(table, "tr"):
        prose.add(row(_text_of(cell) for cell in line if local_name(cell) == "tc"), gap)
        gap = "\n"


# Office Open XML


def _document(archive: Archive, prose: Prose) -> None:
    mains = (part for kind, part in archive.related("").values() if kind == "officeDocument")
    main = next(mains, "word/document.xml")
    parts = dict(archive.related(main).values())
    styles = archive.optional(parts.get("styles", ""))
    named = elements(styles, "style") if styles is not None else ()
    headings = {
        attribute(s, "styleId"): next((attribute(n, "val") for n in elements(s, "name")), "") for s in named
    }
    _add(archive.tree(main), prose, headings)
    for kind, title in (("footnotes", "Footnotes"), ("endnotes", "Endnotes"), ("comments", "Comments")):
        root = archive.optional(parts.get(kind, ""))
        for note in root if root is not None else ():
            if attribute(note, "type") not in ("separator", "continuationSeparator", "continuationNotice"):
                by = attribute(note, "author")
                prose.set_location(f"“{title}”")
                if content := _text_of(note).strip():
                    prose.add(f"{by}: {content}" if by else content)


def _slides(archive: Archive, prose: Prose) -> None:
    main = "ppt/presentation.xml"
    related = archive.related(main)
    for number, slide in enumerate(elements(archive.tree(main), "sldId"), start=1):
        key = next((v for k, v in slide.attrib.items() if k.endswith("}id")), "")
        if key not in related:
            continue
        part = related[key][1]
        prose.set_location(f"slide {number}")
        _add_shapes(archive.tree(part), prose)
        for kind, notes in archive.related(part).values():
            if kind == "notesSlide":
                _add_shapes(archive.tree(notes), prose)


def _add_shapes(slide: Element, prose: Prose) -> None:
    for shape in slide.iter():
        if local_name(shape) == "sp":
            kinds = {attribute(holder, "type") for holder in elements(shape, "ph")}
            if not kinds & _SPECIAL_SLIDE_TEXT:
                lines = (_text_of(p).strip() for p in elements(shape, "p"))
                prose.add("\n".join(filter(None, lines)))
        elif local_name(shape) == "tbl":
            _add_rows(shape, prose)


# OpenDocument


def _add_open(element: Element, prose: Prose, slides: list[int]) -> None:
    for child in element:
        name = local_name(child)
        if name == "h":
            prose.add_heading("".join(_open_pieces(child)))
        elif name == "p":
            prose.add("".join(_open_pieces(child)))
        elif name == "table":
            for line in elements(child, "table-row"):
                cells = (c for c in line if local_name(c) == "table-cell")
                prose.add(
                    row(" ".join("".join(_open_pieces(p)) for p in elements(c, "p")) for c in cells), "\n"
                )
        elif name not in _SKIPPED:
            if name == "page":
                slides[0] += 1
                prose.set_location(f"slide {slides[0]}")
            _add_open(child, prose, slides)


def _open_pieces(element: Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        name = local_name(child)
        if name == "s":
            yield " " * min(int(attribute(child, "c") or 1), 100)
        elif name in _MARKS:
            yield _MARKS[name]
        elif name in ("note", "annotation"):
            yield f" ({' '.join(''.join(_open_pieces(p)) for p in elements(child, 'p'))})"
        elif name not in _SKIPPED:
            yield from _open_pieces(child)
        yield child.tail or ""


# Rich text


def _rtf(data: bytes, prose: Prose) -> ParsedDocument:
    source = data.decode("cp1252", "replace")
    if not source.lstrip("\ufeff \r\n").startswith("{\\rtf"):
        raise DocumentError("is not RTF, despite its name: it does not begin as such")
    if not source.rstrip("\0 \r\n\t").endswith("}"):
        raise DocumentError("is cut off: the end of the RTF is missing; copy or save it again")
    for paragraph in _rtf_text(source).split("\n"):
        text = paragraph.strip()
        is_row = text.endswith("|")
        prose.add(text.strip("|").replace("|", " | ") if is_row else text, "\n" if is_row else "\n\n")
    return prose.document()


def _rtf_text(source: str) -> str:
    from striprtf import striprtf

    source = re.sub(r"\\u-?\d{6,}", "", source)  # no character has such a number, and striprtf fails on it
    # striprtf searches links and fonts by patterns that take quadratic time on a damaged file. Links are therefore
    # changed so that the pattern does not match, and a short table of fonts is put before that of the file.
    source = re.sub(r"(?i)(\{\\field)(?=\{)", r"\1 ", source)
    fonts = dict(_FONT_CHARSET.findall(source))
    table = "".join(rf"\f{font}\fcharset{charset} x;" for font, charset in fonts.items())
    source = source.replace("{", rf"{{{{\fonttbl{table}}}", 1)
    return str(cast("Any", striprtf).rtf_to_text(source, errors="replace"))


# Spreadsheets


def _workbook(path: str, data: bytes, options: Options) -> Iterator[Outcome]:
    """Yield one document for the workbook, or one for each row of its first sheet if that has the text field.

    Raises DocumentError: the workbook is encrypted, damaged, too large, or empty.
    """
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


def _sheets(data: bytes, options: Options) -> dict[str, Any]:
    """Return the sheets by name, in their order."""
    refuse_encrypted(data)
    if data.startswith(b"PK"):
        archive = Archive("", data, options)
        if archive.size > options.max_bytes:
            raise DocumentError(too_large("unpacks to more than {}", options.max_bytes))
        if "content.xml" in archive.names:  # calamine would search for a missing end tag for ever
            run_parser(ParserCreate(), archive.read("content.xml"), "its part content.xml ")
    try:
        book = calamine.CalamineWorkbook.from_filelike(BytesIO(data))
        return {name: book.get_sheet_by_name(name) for name in book.sheet_names}
    except calamine.PasswordError:
        raise DocumentError(ENCRYPTED) from None
    except calamine.CalamineError as error:
        raise DocumentError(f"is not a workbook, or is cut off or damaged: {error}; save it again") from None


def _cell(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime):
        midnight = not (value.hour or value.minute or value.second)
        return value.date().isoformat() if midnight else value.isoformat()
    return str(value)
