"""PDF: the text of its pages, with page numbers as locations."""

# pypdfium2 has no type hints:
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw

from conspectus.errors import DocumentError
from conspectus.readers import Options, ParsedDocument, Prose, pdf_date
from conspectus.readers.archive import ENCRYPTED
from conspectus.rows import counted

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
        prose.set_location(f"p. {number}")
        if text.strip():
            prose.add(_BROKEN_WORD.sub("", text))
        else:
            silent.append(str(number))
            images = page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)
            pictures = pictures or next(iter(images), None) is not None
        page.close()
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
