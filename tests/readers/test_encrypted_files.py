"""Tests of documents of Office that are encrypted with a password."""
# msoffcrypto is an extra:
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from making_files import archive, document, docx, paragraph, reason, slides, workbook

from conspectus.indexing.read import read
from conspectus.readers import Options
from conspectus.readers import archive as office_archive
from conspectus.readers.archive import EXCEL_DEFAULT_PASSWORD, OLE
from conspectus.settings import ReadSettings

FILES = {
    "a.docx": docx(paragraph("Bees dance.")),
    "a.pptx": slides("Bees dance."),
    "a.xlsx": workbook(Hives=[["Bees dance."]]),
}


def locked(data: bytes, password: str) -> bytes:
    name = "msoffcrypto.method.ecma376_agile"
    method = pytest.importorskip(name, reason="the extra `passwords` is not installed")
    content = BytesIO(data)
    with ZipFile(content, "a") as file:
        file.comment = b"x" * 5000  # it writes files of less than 4096 bytes wrongly
    content.seek(0)
    return bytes(method.ECMA376Agile.encrypt(password, content))


@pytest.mark.parametrize("name", FILES)
def test_an_encrypted_document_opens_with_its_password(name: str):
    told = document(name, locked(FILES[name], "open sesame"), Options(passwords=("wrong", "open sesame")))

    assert "Bees dance." in told.text


@pytest.mark.parametrize("name", FILES)
def test_an_encrypted_document_says_what_is_lacking(name: str):
    data = locked(FILES[name], "open sesame")

    assert reason(name, data).startswith("is encrypted; put its password on a line of a file")
    assert "no line of the file of passwords" in reason(name, data, Options(passwords=("wrong",)))


def test_what_excel_protects_without_a_password_opens_without_one():
    assert "Bees dance." in document("a.xlsx", locked(FILES["a.xlsx"], EXCEL_DEFAULT_PASSWORD)).text


def test_an_encrypted_document_that_is_cut_off_says_so():
    data = locked(FILES["a.docx"], "x")

    assert "cut off or damaged" in reason("a.docx", data[: len(data) // 2], Options(passwords=("x",)))


@pytest.mark.parametrize("name", FILES)
def test_without_the_extra_its_name_and_the_way_around_it_are_told(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(office_archive, "find_spec", lambda _: None)

    told = reason(name, OLE + "EncryptedPackage".encode("utf-16-le"))

    assert "pip install 'conspectus[passwords]'" in told
    assert "save it without one" in told


def test_a_folder_with_an_encrypted_document_is_read_with_the_rest(tmp_path: Path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.docx").write_bytes(locked(FILES["a.docx"], "open sesame"))
    (tmp_path / "in" / "b.txt").write_text("Bees sleep.")
    (tmp_path / "passwords").write_text("open sesame\n")

    without, (failure,), *_ = read([tmp_path / "in"], ReadSettings())
    both, *_ = read([tmp_path / "in"], ReadSettings(password_file=str(tmp_path / "passwords")))

    assert [d.text for d in without] == ["Bees sleep."]
    assert failure.document.endswith("a.docx")
    assert [d.text for d in both] == ["Bees dance.", "Bees sleep."]


@pytest.mark.parametrize("name", ["a.odt", "a.odp", "a.ods"])
@pytest.mark.parametrize("part", ["content.xml", "encrypted-package"])
def test_an_encrypted_open_document_says_that_passwords_do_not_open_it(name: str, part: str):
    entry = f'<file-entry full-path="{part}"><encryption-data/></file-entry>'
    data = archive({part: b"\x93\x17" * 200, "META-INF/manifest.xml": f"<manifest>{entry}</manifest>"})

    told = reason(name, data, Options(passwords=("open sesame",)))

    assert told.startswith(
        "is encrypted; passwords (read.password_file) open PDF and Microsoft Office, and not OpenDocument"
    )
    assert told.endswith("open it with its password and save it without one")
