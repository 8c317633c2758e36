"""docs/architecture.md is correct: its code runs, and its table of the layout is complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from making import a_built_index

import conspectus
from conspectus.errors import DocumentError
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.readers import FORMATS, Format
from conspectus.retrieval import unregister

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "conspectus"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")


def example(first_line: str) -> dict[str, Any]:
    """Run the Python block that begins with a given line as a module, and return its names."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    [code] = [block for block in blocks if block.startswith(first_line)]
    module = ModuleType("example")
    sys.modules["example"] = module
    module.__dict__["__name__"] = "example"
    exec(compile(code, "docs/architecture.md", "exec"), module.__dict__)  # noqa: S102
    return module.__dict__


def test_the_example_of_a_method_ranks_and_answers():
    example("# retrieval/longest.py")
    try:
        index = a_built_index(
            "Bees swarm in May.", "Bees swarm in June, and the keeper of Birrin is there to see it."
        )

        assert "June" in conspectus.search("When do bees swarm?", index, method="toy-longest")[0].text
        assert conspectus.ask("When do bees swarm?", index, method="toy-longest").method == "toy-longest"
    finally:
        unregister("toy-longest")


async def test_the_example_of_a_task_is_performed():
    names = example("# tasks/seasons.py")

    season = await ExtractiveModel().perform(names["FindSeason"]("Bees swarm in May and June."))
    assert season.months == ["May", "June"]


def test_the_example_of_a_format_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names = example("# readers/vcf.py")
    monkeypatch.setitem(sys.modules, "conspectus.readers.vcf", sys.modules["example"])
    monkeypatch.setitem(FORMATS, ".vcf", Format("vcf", in_worker=False))
    (tmp_path / "docs").mkdir()
    text = "BEGIN:VCARD\r\nFN:Ada Brook of Birrin\r\nORG:Orran Mill\r\nNOTE:Bees and honey.\r\n"
    (tmp_path / "docs" / "friends.vcf").write_text(text)

    [document] = conspectus.build(tmp_path / "docs", tmp_path / "index").index.documents

    assert document.title == "Ada Brook of Birrin"
    assert "Note: Bees and honey." in document.text
    with pytest.raises(DocumentError, match="no address book"):
        list(names["parse"]("a.vcf", b"none", None))


def test_the_layout_names_every_package_and_only_what_exists():
    table = PAGE[PAGE.index("## Layout") : PAGE.index("Imports point one way")]
    first_cells = "".join(line.split("|")[1] for line in re.findall(r"^\|.*", table, re.MULTILINE))
    named = set(re.findall(r"`([\w/]+(?:\.py)?)`", first_cells))

    assert {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")} <= named
    assert [name for name in named if not (PACKAGE / name).exists()] == []


def test_files_that_the_page_names_exist():
    paths = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.(?:py|md))`", PAGE)) - {"readers/<format>.py"}

    assert [p for p in paths if not any((base / p).exists() for base in (PACKAGE, ROOT))] == []
