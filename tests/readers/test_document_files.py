"""Tests of PDF, office documents, books and RTF."""

from __future__ import annotations

import pytest
from making_files import DC, archive, document, docx, paragraph, pdf, reason, slides, where

from conspectus.readers import Options, mail_date, pdf_date
from conspectus.rows import Document, Place

# Places


def test_a_span_stands_on_its_page_or_on_the_pages_from_its_first_to_its_last_character():
    pages = (Place(0, "p. 1"), Place(10, "p. 2"), Place(20, "p. 3"))
    report = Document("", 0, "", "x" * 30, "report.pdf", places=pages)

    assert [report.place(*span) for span in ((0, 10), (9, 11), (10, 11), (5, 25), (20, 30))] == [
        "p. 1",
        "pp. 1-2",
        "p. 2",
        "pp. 1-3",
        "p. 3",
    ]


def test_places_that_are_no_pages_are_named_from_the_first_to_the_last():
    book = Document("", 0, "", "x" * 30, "a", places=(Place(5, "“One”"), Place(10, "“Two”")))

    assert [book.place(0, 3), book.place(0, 7), book.place(6, 12)] == ["", "“One”", "“One” to “Two”"]


# PDF


def test_pages_of_a_pdf_are_its_places_and_what_it_states_is_metadata():
    info = "/Title (On bees) /Author (Ann Lee) /CreationDate (D:20240501103000+02'00')"
    report = document("report.pdf", pdf(["Bees dance.", "", "Bees sleep."], info))

    assert report.text == "Bees dance.\n\nBees sleep."
    assert (where(report, "dance"), where(report, "sleep")) == ("p. 1", "p. 3")
    assert (report.title, report.date) == ("On bees", "2024-05-01")
    assert report.metadata == {"author": "Ann Lee", "pages": "3", "pages_without_text": "2"}


def test_running_headers_and_footers_of_a_pdf_are_read_once():
    prices = [40, 7, 310, 22, 5, 61]
    pages = [
        f"Harbour Guide\nChapter of quay {n}\nIt cost {price} pounds.\nPrinted by A. Brook\nPage {n + 2} of 9"
        for n, price in enumerate(prices)
    ]
    text = document("guide.pdf", pdf(pages)).text

    assert text.count("Harbour Guide") == text.count("Printed by A. Brook") == text.count(" of 9") == 1
    assert [f"It cost {price} pounds." in text for price in prices] == [True] * 6
    assert text.index("Harbour Guide") == 0


def test_what_a_few_pages_of_a_pdf_share_stays():
    text = document("guide.pdf", pdf(["The old quay", "The old quay", "The new quay", "The lane"])).text

    assert text.count("The old quay") == 2


def test_a_pdf_that_states_no_title_is_called_as_its_file():
    assert document("x/report.pdf", pdf(["Bees."])).title == "report"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"<html>not a PDF", "is not a PDF"),
        (pdf(["Bees dance."])[:-40], "is cut off: the end of the PDF is missing"),
        (b"%PDF-1.4\n%%EOF", "is damaged"),
        (pdf([""]), "contains neither text"),
    ],
)
def test_a_pdf_that_cannot_be_read_says_why(data: bytes, why: str):
    assert why in reason("a.pdf", data)


@pytest.mark.parametrize(
    ("stated", "date"),
    [
        ("D:20240501103000+02'00'", "2024-05-01"),
        ("D:20240501103000Z00'00'", "2024-05-01"),
        ("D:20240501", "2024-05-01"),
        ("2024", "2024"),
        ("soon", None),
    ],
)
def test_dates_of_pdf_become_iso(stated: str, date: str | None):
    assert pdf_date(stated) == date


def test_dates_of_mail_become_iso_and_what_is_no_date_is_none():
    assert mail_date("Mon, 09 Dec 2024 20:26:59 +0000") == "2024-12-09T20:26:59+00:00"
    assert [mail_date(text) for text in ("2024-12-09", "soon", "")] == ["2024-12-09", None, None]


# DOCX


def test_headings_of_docx_are_places_and_rows_of_tables_are_lines():
    cells = "".join(
        f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in row)}</w:tr>" for row in ("ab", "cd")
    )
    styles = '<w:style w:styleId="Kop1"><w:name w:val="heading 1"/></w:style>'
    body = paragraph("Dances", "Kop1") + paragraph("They waggle.") + f"<w:tbl>{cells}</w:tbl>"
    report = document("report.docx", docx(body, styles=styles))

    assert report.text == "Dances\n\nThey waggle.\n\na | b\nc | d"
    assert (where(report, "waggle"), report.title, report.date) == (
        "“Dances”",
        "On bees",
        "2024-05-01T10:00:00Z",
    )
    assert report.metadata == {"author": "Ann Lee"}


def test_insertions_links_and_text_boxes_are_read_once_and_deletions_are_not():
    box = (
        "<mc:AlternateContent><mc:Choice><w:txbxContent>{0}</w:txbxContent></mc:Choice>"
        "<mc:Fallback>{0}</mc:Fallback></mc:AlternateContent>"
    ).format(paragraph("In a box."))
    body = (
        "<w:p><w:ins><w:r><w:t>Bees </w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>never </w:delText></w:r></w:del>"
        f"<w:hyperlink><w:r><w:t>dance.</w:t></w:r></w:hyperlink></w:p><w:p><w:r>{box}</w:r></w:p>"
    )

    assert document("a.docx", docx(body)).text == "Bees dance.\n\nIn a box."


def test_notes_and_comments_follow_the_text_and_equations_are_kept():
    parts = "<m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>b</m:t></m:r></m:den>"
    maths = f"<w:p><m:oMath><m:f>{parts}</m:f></m:oMath></w:p>"
    note = (
        f'<w:footnote w:type="separator">{paragraph("-")}</w:footnote>'
        f"<w:footnote>{paragraph('See Frisch.')}</w:footnote>"
    )
    comment = f'<w:comment w:author="Bo">{paragraph("Really?")}</w:comment>'
    report = document("a.docx", docx(maths, footnotes=note, comments=comment))

    assert report.text == "a/b\n\nSee Frisch.\n\nBo: Really?"
    assert (where(report, "Frisch"), where(report, "Really")) == ("“Footnotes”", "“Comments”")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (docx(paragraph("Bees"))[:-30], "is cut off or damaged"),
        (b"plain text", "does not match its name"),
        (archive({"readme.txt": "x"}), "not an office document"),
        (docx(" "), "contains no text"),
        (docx("<w:p>"), "not well-formed XML"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 500, "old binary format"),
        (bytes.fromhex("d0cf11e0a1b11ae1") + "EncryptedPackage".encode("utf-16-le"), "is encrypted"),
    ],
)
def test_a_docx_that_cannot_be_read_says_why(data: bytes, why: str):
    assert why in reason("a.docx", data)


# Slides


def test_slides_are_places_with_their_notes_and_without_their_numbers():
    talk = document("talk.pptx", slides("Bees dance", "Bees sleep"))

    assert talk.text == "Bees dance\n\nSpeak slowly.\n\nBees sleep"
    assert [where(talk, words) for words in ("dance", "slowly", "sleep")] == ["slide 1", "slide 1", "slide 2"]


# OpenDocument

ODF = 'xmlns:o="o" xmlns:t="t" xmlns:b="b"'


def test_odt_is_read_with_its_headings_tables_and_notes():
    content = (
        f"<o:document-content {ODF}><o:body><o:text><t:h>Dances</t:h><t:p>They<t:s t:c='2'/>waggle"
        "<t:note><t:note-citation>1</t:note-citation><t:note-body><t:p>See Frisch.</t:p></t:note-body>"
        "</t:note>.</t:p>"
        "<b:table><b:table-row><b:table-cell><t:p>a</t:p></b:table-cell><b:table-cell><t:p>b</t:p></b:table-cell>"
        "</b:table-row></b:table></o:text></o:body></o:document-content>"
    )
    meta = f"<o:meta {DC} {ODF}><dc:title>On bees</dc:title><dc:date>2024-05-01</dc:date></o:meta>"
    report = document("a.odt", archive({"content.xml": content, "meta.xml": meta}))

    assert report.text == "Dances\n\nThey  waggle (See Frisch.).\na | b"
    assert (where(report, "waggle"), report.title, report.date) == ("“Dances”", "On bees", "2024-05-01")


def test_an_encrypted_odt_says_so():
    parts = {
        "content.xml": b"\x93\x01",
        "META-INF/manifest.xml": "<m><file-entry><encryption-data/></file-entry></m>",
    }

    assert "is encrypted" in reason("a.odt", archive(parts))


# EPUB


def epub(**more: str) -> bytes:
    package = (
        f"<package {DC}><metadata><dc:title>On bees</dc:title><dc:creator>Ann</dc:creator>"
        "<dc:date>1923</dc:date></metadata>"
        "<manifest><item id='n' href='nav.xhtml' media-type='application/xhtml+xml' properties='nav'/>"
        "<item id='two' href='text/2.xhtml' media-type='application/xhtml+xml'/>"
        "<item id='one' href='text/1%20a.xhtml' media-type='application/xhtml+xml'/></manifest>"
        "<spine><itemref idref='n'/><itemref idref='one'/><itemref idref='two'/></spine></package>"
    )
    return archive(
        {
            "META-INF/container.xml": "<container><rootfile full-path='OPS/book.opf'/></container>",
            "OPS/book.opf": package,
            "OPS/nav.xhtml": "<html><body>Contents</body></html>",
            "OPS/text/1 a.xhtml": "<?xml version='1.0'?><html><head><title/></head><body><a id='p1'/>"
            "<p>Bees dance.</p></body></html>",
            "OPS/text/2.xhtml": "<html><body><h1>Sleep</h1><p>Bees sleep.</p></body></html>",
            **more,
        }
    )


def test_chapters_of_a_book_come_in_order_and_are_its_places():
    book = document("a.epub", epub())

    assert book.text == "Bees dance.\n\nSleep\n\nBees sleep."
    assert (where(book, "dance"), where(book, "Bees sleep")) == ("chapter 1", "“Sleep”")
    assert (book.title, book.date, book.metadata["author"]) == ("On bees", "1923", "Ann")


def test_a_protected_book_says_so():
    locked = "<encryption><CipherReference URI='OPS/text/2.xhtml'/></encryption>"

    assert "DRM" in reason("a.epub", epub(**{"META-INF/encryption.xml": locked}))


# RTF


def test_rtf_is_read_with_its_accents():
    source = r"{\rtf1\ansi\ansicpg1252{\info{\title On bees}}Bees dance caf\'e9.\par They sleep \u8211?.\par}"

    assert document("a.rtf", source).text == "Bees dance café.\n\nThey sleep –."


def test_rtf_is_read_in_the_encoding_of_each_font():
    fonts = r"{\fonttbl{\f0\fswiss Arial;}{\f1\fnil\fcharset204{\*\panose 02}Arial;}}"

    assert document("a.rtf", rf"{{\rtf1\ansi{fonts}\f1 \'cf\f0 \'cf}}").text == "ПÏ"


def test_rtf_that_is_none_or_is_cut_off_says_so():
    assert "is not RTF" in reason("a.rtf", "plain")
    assert "is cut off" in reason("a.rtf", r"{\rtf1 Bees da")


# All formats


def test_text_that_grows_over_the_limit_is_refused():
    assert "0.001 MB" in reason("a.docx", docx(paragraph("Bees dance. " * 200)), Options(max_bytes=1000))
