"""PDF: the text of its pages, with page numbers as locations."""

# pypdfium2 has no type hints:
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import pypdfium2
import pypdfium2.raw

from conspectus.errors import DocumentError
from conspectus.readers import Options, ParsedDocument, Prose, pdf_date
from conspectus.readers.archive import ENCRYPTED
from conspectus.rows import counted

RUNNING_PAGES, EDGE_LINES = 4, 8
"""Pages with the same line from which on it is a running header or footer, and how many lines from the edge it may be.
A guideline of 137 pages has seven such lines a page: without them it has 3,647 sentences, not 6,992."""
_NUMBER = re.compile(r"\d{1,4}")
_BROKEN_WORD = re.compile("[\x02\ufffe](?:\r?\n)?")
"""What PDFium returns for the hyphen of a word that is divided at the end of a line."""


def parse(path: str, data: bytes, options: Options) -> Iterator[ParsedDocument]:
    """Yield one document with the text of all pages.

    Raises DocumentError: the file is encrypted, scanned, damaged, cut off, or not a PDF.
    """
    prose = Prose(path, options)
    try:
        document: Any = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        raise DocumentError(_reason_not_opened(data, str(error))) from None
    pages: dict[int, str] = {}
    silent: list[str] = []
    broken: list[str] = []
    pictures = False
    for number in range(1, len(document) + 1):
        try:
            page = document[number - 1]
            text: str = page.get_textpage().get_text_bounded()
        except pypdfium2.PdfiumError:
            broken.append(str(number))
            continue
        if text.strip():
            pages[number] = _BROKEN_WORD.sub("", text)
        else:
            silent.append(str(number))
            images = page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)
            pictures = pictures or next(iter(images), None) is not None
        page.close()
        if sum(map(len, pages.values())) > options.max_bytes:
            break  # which is an error as soon as it is added
    for number, lines in _without_running_lines(pages):
        prose.set_location(f"p. {number}")
        prose.add("\n".join(lines))
    if prose.empty:
        raise DocumentError(_reason_without_text(len(document), broken, pictures))
    stated: dict[str, str] = document.get_metadata_dict(skip_empty=True)
    more = {
        "pages": str(len(document)),
        "pages_without_text": ", ".join(silent),
        "pages_broken": ", ".join(broken),
    }
    about = {name: stated.get(name.title(), "") for name in ("author", "subject", "keywords")}
    yield prose.document(stated.get("Title", ""), pdf_date(stated.get("CreationDate", "")), about | more)


def _without_running_lines(pages: Mapping[int, str]) -> Iterator[tuple[int, list[str]]]:
    """Yield number and lines of pages without running headers and footers: lines near the edges of several pages that
    are the same, but for a number that grows with the page. The first of them stays.
    """
    lines = {number: text.strip().splitlines() for number, text in pages.items()}
    shared = Counter[tuple[str, int]]()
    for number, rows in lines.items():
        edge = rows[:EDGE_LINES] + rows[-EDGE_LINES:]
        shared.update({key for line in edge for key in _keys(line, number)})
    seen: set[tuple[str, int]] = set()
    for number, rows in lines.items():
        others: list[str] = []
        for i, line in enumerate(rows):
            inside = min(i, len(rows) - 1 - i) >= EDGE_LINES
            keys = () if inside else _keys(line, number)
            common = {key for key in keys if shared[key] >= RUNNING_PAGES}
            if seen.isdisjoint(common):
                others.append(line)
            seen |= common
        yield number, others


def _keys(line: str, page: int) -> Iterator[tuple[str, int]]:
    """Yield what a line has in common with lines that are the same, or whose number grows with the page."""
    if words := " ".join(line.split()):
        yield words, 0
    for number in _NUMBER.finditer(words):
        yield f"{words[: number.start()]}#{words[number.end() :]}", int(number[0]) - page


def _reason_not_opened(data: bytes, error: str) -> str:
    if "password" in error.lower() or "security" in error.lower():
        return ENCRYPTED
    if b"%PDF" not in data[:1024]:
        return "is not a PDF, despite its name: it does not begin as one"
    if b"%%EOF" not in data[-2048:]:
        return "is cut off: the end of the PDF is missing; copy or download it again"
    return f"is damaged ({error}); open it in a viewer and print it to a new PDF"


def _reason_without_text(pages: int, broken: list[str], pictures: bool) -> str:
    if len(broken) == pages:
        return "is damaged: not one of its pages can be opened; open it in a viewer and print it to a new PDF"
    if not pictures:
        return "contains neither text nor pictures: it is empty, or damaged; open it in a viewer to check"
    scanned = f"is scanned: {counted(pages, 'page')} of pictures without text"
    return f"{scanned}; OCR is not included: run it through an OCR program (e.g. ocrmypdf) first"
