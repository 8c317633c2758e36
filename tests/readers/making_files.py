"""Small files of many formats, made by hand."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from conspectus.errors import DocumentError
from conspectus.readers import Options, Outcome, ParsedDocument, parse
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
    """Parse a file in this process; return documents, warnings and failures."""
    return list(parse(name, data.encode() if isinstance(data, str) else data, options or Options()))


def document(name: str, data: bytes | str, options: Options | None = None) -> Document:
    """Return the only document of a file."""
    (found,) = [
        outcome for outcome in outcomes(name, data, options) if not isinstance(outcome, EncodingWarning)
    ]
    assert isinstance(found, ParsedDocument)
    return Document("", 0, found.title, found.text, found.path, found.date, found.metadata, found.places)


def reason(name: str, data: bytes | str, options: Options | None = None) -> str:
    """Return the reason why a file cannot be read."""
    with pytest.raises(DocumentError) as raised:
        outcomes(name, data, options)
    return str(raised.value)


def where(document: Document, words: str) -> str:
    """Return the label of the place (page, section) of words in a document."""
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
    """A PDF with these lines of text on its pages; pages for empty texts are blank."""
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
        lines = ") Tj 0 -20 Td (".join(text.split("\n"))
        drawn = f"BT /F1 12 Tf 50 700 Td ({lines}) Tj ET" if text else ""
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


def compound(streams: Mapping[str, bytes]) -> bytes:
    """A compound file (MS-CFB), as old Office writes them; a stream named `a/b` is in a storage `a`."""
    storages = sorted({name.partition("/")[0] for name in streams if "/" in name})
    top = sorted(
        [*storages, *(name for name in streams if "/" not in name)], key=lambda n: (len(n), n.upper())
    )
    names = ["Root Entry", *top, *(name for name in streams if "/" in name)]
    inner = {storage: [n for n in names if n.startswith(f"{storage}/")] for storage in storages}
    size = 2 * 2048  # streams from 4,096 bytes on are in sectors of 512
    contents = {name: data.ljust(size * -(-len(data) // size), b"\0") for name, data in streams.items()}
    directory, start, chains = b"", -(-len(names) // 4), [range(-(-len(names) // 4))]

    def after(group: list[str], name: str) -> int:
        following = group[group.index(name) + 1 :]
        return names.index(following[0]) if following else -1

    for name in names:
        storage, _, own = name.rpartition("/")
        kind, child, first, length = 2, -1, start, len(contents.get(name, b""))
        if name not in contents:
            kind, child, first = (5, 1, -2) if name == names[0] else (1, names.index(inner[name][0]), 0)
        right = -1 if name == names[0] else after(inner.get(storage, top), name)
        wide = own.encode("utf-16-le") + b"\0\0"
        directory += wide.ljust(64, b"\0") + struct.pack(
            "<HBBiii36xIQ", len(wide), kind, 1, -1, right, child, first & 0xFFFFFFFF, length
        )
        if length:
            chains.append(range(start, start := start + length // 512))
    table = [link for chain in chains for link in (*chain[1:], -2)]
    table += [-3] + [-1] * (127 - len(table))  # the sector of the table itself, then free ones
    magic = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
    header = struct.pack("<8s16xHHHHH6xIIIIIiIiI", magic, 62, 3, 0xFFFE, 9, 6, 0, 1, 0, 0, 4096, -2, 0, -2, 0)
    header += struct.pack("<109i", start, *[-1] * 108)
    body = directory.ljust(512 * chains[0].stop, b"\0") + b"".join(
        contents[n] for n in names if n in contents
    )
    return header + body + struct.pack("<128i", *table)


def old_workbook(*cells: str | float) -> bytes:
    """An XLS (BIFF8) with these cells in one column of a sheet."""

    def record(kind: int, data: bytes) -> bytes:
        return struct.pack("<HH", kind, len(data)) + data

    def begin(kind: int) -> bytes:
        return record(0x809, struct.pack("<HHHHII", 0x600, kind, 0, 0, 0, 0))

    end, sheet = record(0x0A, b""), begin(0x10)
    for row, cell in enumerate(cells):
        head = struct.pack("<HHH", row, 0, 0)
        if isinstance(cell, str):
            wide = cell.encode("utf-16-le")
            sheet += record(0x204, head + struct.pack("<HB", len(cell), 1) + wide)
        else:
            sheet += record(0x203, head + struct.pack("<d", cell))
    at = len(begin(5)) + 4 + 8 + 3 + len(end)
    book = begin(5) + record(0x85, struct.pack("<IHBB", at, 0, 3, 0) + b"one") + end + sheet + end
    return compound({"Workbook": book})


def message(subject: str, body: str, attached: str) -> bytes:
    """An Outlook message with an attachment of this name."""
    texts = {
        "0037": subject,
        "1000": body,
        "0C1A": "Ann Lee",
        "0E04": "Bo",
        "007D": "From: Ann <ann@x.org>\n",
    }
    streams = {f"__substg1.0_{tag}001F": text.encode("utf-16-le") for tag, text in texts.items()}
    streams["__attach_version1.0_#00000000/__substg1.0_3707001F"] = attached.encode("utf-16-le")
    return compound(streams)
