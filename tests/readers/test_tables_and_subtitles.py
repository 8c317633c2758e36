"""Tests of spreadsheets, separated values, Markdown with front matter, and subtitles."""

from __future__ import annotations

import pytest
from making_files import document, outcomes, reason, where, workbook

from conspectus.readers import Options, ParsedDocument
from conspectus.readers.records import delimiter_of


def test_rows_of_a_workbook_are_lines_and_its_sheets_are_places():
    book = document(
        "a.xlsx", workbook(Hives=[["Name", "Bees"], ["North", 3.0], ["", ""]], Notes=[["All well", 1.5]])
    )

    assert book.text == "Name | Bees\nNorth | 3\n\nAll well | 1.5"
    assert (where(book, "North"), where(book, "well")) == ("sheet Hives", "sheet Notes")


def test_a_workbook_with_a_column_of_texts_is_records():
    found = outcomes(
        "a.xlsx",
        workbook(Hives=[["title", "text", "n"], ["One", "Bees dance.", 3.0], ["Two", "Sleep.", 4.0]]),
    )

    assert [(f.path, f.title, f.text) for f in found if isinstance(f, ParsedDocument)] == [
        ("a.xlsx#1", "One", "Bees dance."),
        ("a.xlsx#2", "Two", "Sleep."),
    ]


def test_a_workbook_that_cannot_be_read_says_why():
    assert "is cut off or damaged" in reason("a.xlsx", workbook(A=[["x"]])[:-30])
    assert "contains no text" in reason("a.xlsx", workbook(A=[[""]]))
    assert "is not a workbook" in reason("a.xlsx", "plain")
    assert "unpacks to more than 0.001 MB" in reason(
        "a.xlsx", workbook(A=[["x" * 5000]]), Options(max_bytes=1000)
    )


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_whatever_separates_values_is_found(delimiter: str):
    table = "id{0}text{0}note\n1{0}Bees, they dance; all day{0}x\n2{0}Sleep{0}y\n"
    if delimiter in ",;":
        table = table.replace("Bees, they dance; all day", '"Bees, they dance; all day"')
    found = outcomes("a.csv", table.format(delimiter))

    assert [(f.text, dict(f.metadata)) for f in found if isinstance(f, ParsedDocument)] == [
        ("Bees, they dance; all day", {"id": "1", "note": "x"}),
        ("Sleep", {"id": "2", "note": "y"}),
    ]


def test_one_column_has_no_delimiter_and_excel_may_state_one():
    assert delimiter_of("text\nBees; they dance\n", "text") == ","
    assert document("a.csv", "sep=;\ntext;n\nBees, they dance;3\n").text == "Bees, they dance"


def test_a_table_in_utf_16_or_an_old_encoding_is_read():
    table = "名前;text\n佐藤太郎;ミツバチは仲間に花の場所を伝えるために踊ります。\n"

    for encoding in ("utf-16", "cp932"):
        found = document("a.csv", table.encode(encoding))
        assert (found.text[:5], found.metadata) == ("ミツバチは", {"名前": "佐藤太郎"})


def test_quotation_marks_in_tsv_may_be_mere_characters():
    assert document("a.tsv", 'id\ttext\n1\t"Bees" she said\n').text == '"Bees" she said'


# Markdown


def test_front_matter_becomes_metadata_and_leaves_the_text():
    found = document(
        "a.md",
        '---\ntitle: "On bees: a note"\nauthor: Ann Lee\ndate: 2024-05-01\n'
        'tags: [bees, "dance"]\n'
        "list:\n  - one\n  - two\ndraft: true # for now\n---\n\n"
        "# Dances\n\nThey waggle.\n\n## Sleep\n\nThey do.\n",
    )

    assert found.text.startswith("# Dances")
    assert (found.title, found.date) == ("On bees: a note", "2024-05-01")
    assert found.metadata == {"author": "Ann Lee", "tags": "bees, dance", "list": "one, two", "draft": "true"}
    assert (where(found, "waggle"), where(found, "They do")) == ("“Dances”", "“Sleep”")


@pytest.mark.parametrize(
    "text", ["---\nBees dance.\n---\nThey sleep.\n", "---\n\nBees\n", "Bees\n---\na: b\n---\n"]
)
def test_what_is_no_front_matter_stays_in_the_text(text: str):
    assert document("a.md", text).text == text


# Subtitles

SRT = (
    "1\n00:00:01,000 --> 00:00:02,500\n<i>Bees</i>\ndance.\n\n2\n01:02:03,000 --> 01:02:04,000\nThey sleep.\n"
)
VTT = """WEBVTT

NOTE made by hand

00:01.000 --> 00:02.500 align:start
<v Ann>Bees dance.

00:03.000 --> 00:04.000
Bees dance.

1:00:03.000 --> 1:00:04.000
Bees dance."""


def test_cues_are_lines_and_their_times_are_places():
    film = document("a.srt", SRT.replace("\n", "\r\n"))

    assert film.text == "Bees dance.\nThey sleep."
    assert (where(film, "dance"), where(film, "sleep")) == ("0:00:01", "1:02:03")


def test_speakers_of_cues_are_kept_and_repeated_cues_are_not():
    assert document("a.vtt", VTT).text == "Ann: Bees dance.\nBees dance."


def test_subtitles_without_a_time_say_so():
    assert "has no subtitles" in reason("a.srt", "Bees dance.")


def test_a_long_table_without_texts_is_several_documents_with_its_header(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("conspectus.readers.records.MOST_ROWS", 3)
    rows = [f"{n},Ann{n}" for n in range(1, 8)]
    found = outcomes("a.csv", "\n".join(["id,name", *rows]))

    assert [(f.path, f.text) for f in found if isinstance(f, ParsedDocument)] == [
        ("a.csv#1-3", "id | name\n1 | Ann1\n2 | Ann2\n3 | Ann3"),
        ("a.csv#4-6", "id | name\n4 | Ann4\n5 | Ann5\n6 | Ann6"),
        ("a.csv#7-7", "id | name\n7 | Ann7"),
    ]
    assert document("a.csv", "\n".join(["id,name", *rows[:3]])).path == "a.csv"


def test_a_table_whose_first_field_is_long_is_read():
    cell = "bees dance " * 20_000

    assert document("a.csv", f"{cell},text\nx,Bees sleep.\n").text == "Bees sleep."
