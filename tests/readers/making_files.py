"""Small files of many formats, made by hand."""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from conspectus.errors import DocumentError
from conspectus.readers import FORMATS, Options, Outcome, ParsedDocument, missing_package, parse, suffix_of
from conspectus.rows import Document, EncodingWarning

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
R = 'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"'
DC = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
CORE = (
    f'<c:coreProperties {DC} xmlns:c="c" xmlns:t="t"><dc:title>On bees</dc:title>'
    "<dc:creator>Ann Lee</dc:creator><t:created>2024-05-01T10:00:00Z</t:created></c:coreProperties>"
)


def outcomes(name: str, data: bytes | str, options: Options | None = None) -> list[Outcome]:
    """What comes of a file, parsed in this process."""
    if package := missing_package(FORMATS[suffix_of(name)]):
        pytest.skip(f"{package} is not installed")
    return list(parse(name, data.encode() if isinstance(data, str) else data, options or Options()))


def document(name: str, data: bytes | str, options: Options | None = None) -> Document:
    """The only document of a file."""
    (found,) = [
        outcome for outcome in outcomes(name, data, options) if not isinstance(outcome, EncodingWarning)
    ]
    assert isinstance(found, ParsedDocument)
    return Document("", 0, found.title, found.text, found.path, found.date, found.metadata, found.places)


def reason(name: str, data: bytes | str, options: Options | None = None) -> str:
    """Why a file cannot be read."""
    with pytest.raises(DocumentError) as raised:
        outcomes(name, data, options)
    return str(raised.value)


def where(document: Document, words: str) -> str:
    """The place of words in a document."""
    start = document.text.index(words)
    return document.place(start, start + len(words))


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """A zip archive."""
    buffer = BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(name, content)
    return buffer.getvalue()


def pdf(pages: list[str], info: str = "") -> bytes:
    """A PDF with a line of text on each page, none where it is empty."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {len(pages)} /Kids [{kids}] >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {5 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        drawn = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET" if text else ""
        objects.append(f"<< /Length {len(drawn)} >>\nstream\n{drawn}\nendstream")
    objects.append(f"<< {info} >>")
    body, offsets = "%PDF-1.4\n", list[int]()
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    entries = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{entries}{trailer}".encode("latin-1")


def docx(body: str, **parts: str) -> bytes:
    """A DOCX with this body."""
    kinds = {"styles": "styles", "footnotes": "footnotes", "comments": "comments"}
    rels = "".join(
        f'<Relationship Id="r{k}" Type="http://x/{k}" Target="{k}.xml"/>' for k in kinds if k in parts
    )
    return archive(
        {
            "word/document.xml": f"<w:document {W} {A} xmlns:mc='mc' xmlns:m='m'><w:body>{body}</w:body></w:document>",
            "word/_rels/document.xml.rels": f"<Relationships>{rels}</Relationships>",
            "docProps/core.xml": CORE,
            **{f"word/{name}.xml": f"<w:{name} {W}>{content}</w:{name}>" for name, content in parts.items()},
        }
    )


def paragraph(text: str, style: str = "") -> str:
    """A paragraph of DOCX."""
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{named}<w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'


def slides(*texts: str) -> bytes:
    """A PPTX with a title on each slide, and notes on the first."""
    ids = "".join(f'<p:sldId id="{256 + i}" r:id="r{i}"/>' for i in range(len(texts)))
    rels = "".join(
        f'<Relationship Id="r{i}" Type="http://x/slide" Target="slides/s{i}.xml"/>' for i in range(len(texts))
    )
    shape = "<p:sp><p:nvPr><p:ph type='{0}'/></p:nvPr><a:p><a:r><a:t>{1}</a:t></a:r></a:p></p:sp>"
    number = shape.format("sldNum", "9")
    return archive(
        {
            "ppt/presentation.xml": f"<p:presentation {P} {R}>{ids}</p:presentation>",
            "ppt/_rels/presentation.xml.rels": f"<Relationships>{rels}</Relationships>",
            "docProps/core.xml": CORE,
            "ppt/slides/_rels/s0.xml.rels": '<Relationships><Relationship Id="n" Type="http://x/notesSlide" '
            'Target="../notesSlides/n0.xml"/></Relationships>',
            "ppt/notesSlides/n0.xml": f"<p:notes {P} {A}>{shape.format('body', 'Speak slowly.')}</p:notes>",
            **{
                f"ppt/slides/s{i}.xml": f"<p:sld {P} {A}>{shape.format('title', t)}{number}</p:sld>"
                for i, t in enumerate(texts)
            },
        }
    )


def workbook(**sheets: list[list[str | float]]) -> bytes:
    """An XLSX with these rows of cells on each sheet."""

    def cell(value: str | float) -> str:
        kept = isinstance(value, str)
        return f'<c t="inlineStr"><is><t>{value}</t></is></c>' if kept else f"<c><v>{value}</v></c>"

    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    names = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(sheets, 1))
    rels = "".join(
        f'<Relationship Id="r{i}" Type="{rel}/worksheet" Target="worksheets/s{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    parts = {
        f"xl/worksheets/s{i}.xml": f'<worksheet xmlns="{main}"><sheetData>'
        + "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        + "</sheetData></worksheet>"
        for i, rows in enumerate(sheets.values(), 1)
    }
    package = "http://schemas.openxmlformats.org/package/2006"
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" '
            f'Type="{rel}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
            "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{rel}"><sheets>{names}</sheets></workbook>',
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{rels}</Relationships>',
            **parts,
        }
    )
