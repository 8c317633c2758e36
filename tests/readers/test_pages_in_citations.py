"""Page numbers of files are passed on to the citations of answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from making_files import pdf

import conspectus
from conspectus.rows import passage
from conspectus.settings import Settings

PAGES = [
    "Bees in a hive dance to show other bees the way to flowers that they found.",
    "Karl Frisch studied the dance of bees in Munich and won a prize for the work.",
    "In winter the bees of a hive sit close together and keep their queen warm.",
]


def test_citations_and_hits_name_the_page_after_an_index_was_written_and_opened(tmp_path: Path):
    pytest.importorskip("pypdfium2")
    (tmp_path / "report.pdf").write_bytes(pdf(PAGES))
    settings = Settings.model_validate({"chunk": {"tokens": 20, "overlap": 0}})
    conspectus.build([str(tmp_path / "report.pdf")], tmp_path / "index", settings=settings)
    index = conspectus.open_index(tmp_path / "index")

    best, *_ = conspectus.search("Who won a prize in Munich?", index)
    answer = conspectus.ask("What did Karl Frisch study in Munich?", index, method="bm25")

    assert "p. 2" in best.place or "pp. 1-2" in best.place
    sources = [s for c in answer.citations for s in c.sources]
    assert sources
    for source in sources:
        (page,) = (n for n, text in enumerate(PAGES, start=1) if source.text.strip() in text)
        assert source.place == f"p. {page}"
        assert f"report.pdf, p. {page}, characters" in passage(source)
