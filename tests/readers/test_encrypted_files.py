"""Tests of documents that are encrypted with a password."""

from __future__ import annotations

from pathlib import Path

import pytest
from making_files import archive, reason

from conspectus.indexing.read import read
from conspectus.readers.archive import OLE
from conspectus.settings import ReadSettings

ENCRYPTED = OLE + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(900)
"""The start of an encrypted office document, with the parts that the reader checks."""


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.xls"])
def test_an_encrypted_document_says_what_to_do(name: str):
    assert reason(name, ENCRYPTED) == "is encrypted; open it with its password and save it without one"


def test_a_folder_with_an_encrypted_document_is_read_with_the_rest(tmp_path: Path):
    (tmp_path / "a.docx").write_bytes(ENCRYPTED)
    (tmp_path / "b.txt").write_text("Bees dance.")
    documents, failures, *_ = read([tmp_path], ReadSettings())

    assert [d.text for d in documents] == ["Bees dance."]
    assert [Path(f.document).name for f in failures] == ["a.docx"]


@pytest.mark.parametrize("name", ["a.odt", "a.odp", "a.ods"])
@pytest.mark.parametrize("part", ["content.xml", "encrypted-package"])
def test_an_encrypted_open_document_says_what_to_do(name: str, part: str):
    entry = f'<file-entry full-path="{part}"><encryption-data/></file-entry>'
    data = archive({part: b"\x93\x17" * 200, "META-INF/manifest.xml": f"<manifest>{entry}</manifest>"})

    assert reason(name, data) == "is encrypted; open it with its password and save it without one"
