"""Odd input gives a result or one of our errors: huge numbers, broken parts, empty paths, control codes, formulas."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from readers.making_files import docx, paragraph
from typer.testing import CliRunner

import conspectus
from conspectus.cli.app import app
from conspectus.errors import ConspectusError, UsageError
from conspectus.references import find
from conspectus.rows import Document

HUGE = "9" * 5000
"""More digits than Python converts to an int."""
FILES = {
    "a.json": f'{{"text": "Ada met Bo.", "n": {HUGE}}}',
    "a.jsonl": f'{{"text": "Ada met Bo.", "n": {HUGE}}}\n',
    "a.csv": f"text,n\nAda met Bo.,{HUGE}\n",
    "a.srt": f"1\n{HUGE}:00:01,000 --> 00:00:02,000\nNo time.\n\n2\n00:00:01,000 --> 00:00:02,000\nAda met Bo.\n",
    "a.rtf": f"{{\\rtf1 \\u{HUGE}? Ada met Bo.}}",
    "a.md": f"# A\n\n{HUGE}. Ada met Bo. <data-{HUGE}> [Data: Reports ({HUGE})]\n\nOne ..... {HUGE}\n",
    "a.html": f"<p>Ada met Bo. &#{HUGE};</p>",
}


def read(path: Path) -> list[Document]:
    return list(conspectus.build(path, path.parent / "index").index.documents)


@pytest.mark.parametrize("name", FILES)
def test_a_number_of_5000_digits_fails_no_file(name: str, tmp_path: Path):
    (tmp_path / name).write_text(FILES[name])
    assert any("Ada met Bo." in document.text for document in read(tmp_path / name))


def test_a_reference_of_5000_digits_leads_nowhere():
    assert [reference.number for reference in find(f"[Data: Reports ({HUGE}, 3)]")][1:] == [3]


def test_a_damaged_part_with_the_properties_costs_the_properties_alone(tmp_path: Path):
    with zipfile.ZipFile(io.BytesIO(docx(paragraph("Ada met Bo.")))) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as damaged:
        for name, data in {**parts, "docProps/core.xml": b"<a>\xff\x00<b></a>"}.items():
            damaged.writestr(name, data)
    assert "Ada met Bo." in read(tmp_path / "a.docx")[0].text


def mail(body: str, **headers: str) -> EmailMessage:
    message = EmailMessage()
    for name, value in headers.items():
        message[name] = value
    message.set_content(body)
    return message


def test_messages_attached_to_a_message_are_read(tmp_path: Path):
    inner, middle = mail("Bo sold the mill.", Subject="Sale"), mail("See below.", Subject="Fwd: Sale")
    middle.add_attachment(inner)
    outer = mail("Please read on.", Subject="Fwd: Fwd: Sale", From="ada@example.org")
    outer.add_attachment(middle)
    (tmp_path / "a.eml").write_bytes(bytes(outer))
    text = read(tmp_path / "a.eml")[0].text
    assert (
        text.index("Please read on.") < text.index("Subject: Fwd: Sale\n") < text.index("Bo sold the mill.")
    )
    assert text.count("Bo sold the mill.") == 1


def test_an_encrypted_message_is_named_as_one(tmp_path: Path):
    (tmp_path / "a.eml").write_text(
        "Subject: S\nContent-Type: multipart/encrypted; boundary=x\n\n--x\nContent-Type: application/pgp-encrypted\n\n"
        "Version: 1\n--x\nContent-Type: application/octet-stream\n\n-----BEGIN PGP MESSAGE-----\n--x--\n"
    )
    with pytest.raises(ConspectusError, match="encrypted"):
        read(tmp_path / "a.eml")


MISUSES: dict[str, Callable[[], Any]] = {
    "no sources": lambda: conspectus.build(None),  # pyright: ignore[reportArgumentType]
    "a number for sources": lambda: conspectus.build(5),  # pyright: ignore[reportArgumentType]
    "a number for documents": lambda: conspectus.build(documents=5, folder="x"),  # pyright: ignore[reportArgumentType]
    "an empty folder": lambda: conspectus.build(documents=["Ada met Bo."], folder=""),
    "an empty path": lambda: conspectus.open_index(""),
}


@pytest.mark.parametrize("misuse", MISUSES)
def test_what_is_not_to_be_given_is_refused_by_name(
    misuse: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        MISUSES[misuse]()
    assert not list(tmp_path.iterdir())


def test_an_empty_folder_is_none_on_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("Ada met Bo.")
    result = CliRunner().invoke(app, ["index", "a.txt", "--index", ""], prog_name="conspectus")
    assert result.exit_code
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


CONTROLS = "\x1b]8;;http://x.example\x07link\x1b]8;;\x07 \x1b]52;c;aGk=\x07 \x9b31m \x07 \x85 \x1b[31m"


def test_no_control_character_of_a_document_or_a_name_is_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.txt").write_text(
        f"Ada Byrne {CONTROLS} bought Lune Mills. Lune Mills {CONTROLS} is old."
    )
    (tmp_path / "docs/b\nerror: forged \x1b]52;c;aGk=\x07.txt").write_text(
        "Bo Quill met Ada Byrne at Lune Mills."
    )
    (tmp_path / "docs/c\nerror: forged.pdf").write_bytes(b"%PDF-1.4")
    commands = (
        ["index", "docs"], ["ask", "Who bought Lune Mills?"], ["ask", "Who bought Lune Mills?", "--json"],
        ["search", "Lune Mills"], ["report", "0"], ["entity", "Ada Byrne"], ["status"], ["check"],
    )  # fmt: skip
    for command in commands:
        result = CliRunner().invoke(app, command, prog_name="conspectus")
        shown = result.stdout + result.stderr
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", shown), command
        assert not re.search("^error: forged", shown, re.MULTILINE), command


def test_notes_of_a_vault_load_nothing_from_elsewhere(tmp_path: Path):
    text = 'Ada Byrne bought Lune Mills. <iframe src="http://x.example"></iframe> ![a](http://x.example/a.png) 1 < 2.'
    index = conspectus.build(
        documents=[text, text + " Bo Quill sold Lune Mills."], folder=tmp_path / "i"
    ).index
    conspectus.export(index, "obsidian", tmp_path / "vault")
    notes = "\n".join(path.read_text("utf-8") for path in (tmp_path / "vault").rglob("*.md"))
    assert not re.search(r"<iframe|(?<!\\)!\[", notes)
    assert "1 < 2." in notes


def test_no_cell_for_neo4j_is_a_formula(tmp_path: Path):
    made = [{"title": "=HYPERLINK(1)", "text": "=2+3 Ada Byrne bought Lune Mills. Lune Mills is old."}]
    index = conspectus.build(documents=made, folder=tmp_path / "i").index
    conspectus.export(index, "neo4j", tmp_path / "neo4j")
    for path in (tmp_path / "neo4j").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            assert not [cell for row in csv.reader(file) for cell in row if cell.startswith("=")]


def test_a_lone_surrogate_in_triples_becomes_a_replacement_character(tmp_path: Path):
    (tmp_path / "t.jsonl").write_text('{"head": "Ada \\ud800", "relation": "met", "tail": "Bo"}\n')
    command = ["import", "triples", str(tmp_path / "t.jsonl"), "--index", str(tmp_path / "i")]
    assert CliRunner().invoke(app, command, prog_name="conspectus").exit_code == 0
    assert "Ada \ufffd" in {entity.name for entity in conspectus.open_index(tmp_path / "i").entities}
