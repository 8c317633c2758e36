"""The expected result for each file of `messy`, noted by a reader of the files."""

from __future__ import annotations

from pathlib import Path

import pytest

from conspectus.indexing.read import Read, read
from conspectus.settings import ReadSettings

TEXTS = [  # the file, its title, words in it, and their place
    (
        "haystack/paul_graham_superlinear.html",
        "Superlinear Returns",
        "the returns for performance are superlinear",
        "",
    ),
    ("haystack/paul_graham_superlinear.html", "Superlinear Returns", "Thanks to Trevor Blackwell", ""),
    ("haystack/sample.md", "What to build with Haystack", "Latest models", "“Core Features”"),
    ("haystack/sample_pdf_1.pdf", "sample_pdf", "Adobe Systems made the PDF specification", "p. 1"),
    ("haystack/sample_pdf_1.pdf", "sample_pdf", "the page 3 is empty", "p. 4"),
    ("markitdown/REPAIR-2022-INV-001_multipage.pdf", "REPAIR-2022-INV-001_multipage", "Gabriel Diaz", "p. 1"),
    ("markitdown/REPAIR-2022-INV-001_multipage.pdf", "REPAIR-2022-INV-001_multipage", "Bruce Wayne", "p. 2"),
    ("markitdown/equations.docx", "equations", "=2.2×10^-4", ""),
    ("markitdown/test_mskanji.csv#1", "佐藤太郎", "東京", ""),
    ("markitdown/test_mskanji.csv#3", "髙橋淳", "名古屋", ""),
    (
        "markitdown/test_outlook_msg.msg",
        "Test Email Message",
        "This is the body of the test email message",
        "",
    ),
    ("markitdown/test_outlook_msg.msg", "Test Email Message", "To: test.recipient@example.com", ""),
    (
        "markitdown/test_rss.xml#7",
        "Microsoft names Jay Parikh as a member of the senior leadership team",
        "Jay",
        "",
    ),
    ("markitdown/test_wikipedia.html", "Microsoft - Wikipedia", "Key people | Satya Nadella", "“Microsoft”"),
    ("markitdown/test_wikipedia.html", "Microsoft - Wikipedia", "Traf-O-Data", "“1972–1985: Founding”"),
    (
        "markitdown/test_with_comment.docx",
        "AutoGen: Enabling Next-Gen LLM Applications via Multi-Agent Conversation",
        "13 | 14 | 49e168b7-d2ae-407f-a055-2167576f39a1 | 15 | 16 | 17",
        "“d666f1f7-46cb-42bd-9a39-9a39cf2a509f”",
    ),
    (
        "markitdown/test_with_comment.docx",
        "AutoGen: Enabling Next-Gen LLM Applications via Multi-Agent Conversation",
        "This is a test comment. 12df-321a",
        "“Comments”",
    ),
    ("pypdf/Seige_of_Vicksburg_Sample_OCR.pdf", "Binder1.pdf", "dangerous for use", "p. 1"),
    ("pypdf/Seige_of_Vicksburg_Sample_OCR.pdf", "Binder1.pdf", "54 THE SIEGE OF VICKSBURG", "p. 5"),
    ("pypdf/issue-297.pdf", "issue-297", "test example", "p. 1"),
    ("pypdf/r6-empty-password.pdf", "r6-empty-password", "pdf encryption test", "p. 1"),
    ("pypdf/toy.pdf", "toy", "Single quote operator", "p. 1"),
    ("pypdf/two-different-pages.pdf", "Untitled document", "2", "p. 2"),
]
REASONS = {
    "derived/truncated_40pct_multi-column-2p.pdf": "is cut off",
    "derived/zero_bytes.pdf": "is empty",
    "haystack/LICENSE": "no suffix",
    "haystack/non_text_searchable.pdf": "is scanned: 1 page of pictures without text; OCR is not",
    "markitdown/LICENSE": "no suffix",
    "markitdown/MEDRPT-2024-PAT-3847_medical_report_scan.pdf": "is scanned: 3 pages",
    "markitdown/random.bin": ".bin files are not read",
    "pypdf/LICENSE": "no suffix",
    "pypdf/libreoffice-writer-password.pdf": "is encrypted; open it with its password",
    "pypdf/r6-user-password.pdf": "is encrypted",
}
UNSAID = {  # boilerplate, such as navigation
    "markitdown/test_wikipedia.html": [
        "Create account",
        "Donate",
        "Edit links",
        "Jump to content",
        "Main page",
        "Privacy policy",
        'Retrieved from "https',
    ],
    "haystack/paul_graham_superlinear.html": ["csell_env", "<font"],
}


@pytest.fixture(scope="module")
def messy(shared: Path) -> Path:
    return shared / "messy"


@pytest.fixture(scope="module")
def outcome(messy: Path) -> Read:
    return read([messy], ReadSettings(text_field="住所", title_field="名前"))


@pytest.mark.parametrize(("file", "title", "words", "place"), TEXTS)
def test_a_messy_file_yields_its_text(
    outcome: Read, messy: Path, file: str, title: str, words: str, place: str
):
    (found,) = (d for d in outcome[0] if d.path == (messy / file).as_posix())
    start = found.text.index(words)

    assert (found.title, found.place(start, start + len(words))) == (title, place)


@pytest.mark.parametrize("file", REASONS)
def test_a_messy_file_that_cannot_be_read_says_why(outcome: Read, messy: Path, file: str):
    _, failures, skipped, _ = outcome
    reasons = {f.document: f.error for f in failures} | {s.document: s.reason for s in skipped}

    assert REASONS[file] in reasons[(messy / file).as_posix()]


@pytest.mark.parametrize("file", UNSAID)
def test_navigation_is_not_read(outcome: Read, messy: Path, file: str):
    (found,) = (d for d in outcome[0] if d.path == (messy / file).as_posix())

    assert [words for words in UNSAID[file] if words in found.text] == []


def test_every_messy_file_is_a_document_or_has_a_reason(outcome: Read, messy: Path):
    documents, failures, skipped, _ = outcome
    told = {d.path.split("#")[0] for d in documents}
    told |= {f.document for f in failures} | {s.document for s in skipped}

    assert told == {file.as_posix() for file in messy.rglob("*") if file.is_file()}
    assert {Path(path).relative_to(messy).as_posix().split("#")[0] for path in told} == {
        *REASONS,
        *(file.split("#")[0] for file, *_ in TEXTS),
    }


def test_a_messy_table_is_read_row_by_row_where_no_field_is_named(messy: Path):
    (document,), *_ = read([messy / "markitdown" / "test_mskanji.csv"], ReadSettings())

    assert document.text.startswith("名前 | 年齢 | 住所\n佐藤太郎 | 30 | 東京\n")
