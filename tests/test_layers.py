"""Imports point one way: see docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "conspectus"

FORBIDDEN = {
    "algorithms": ("",),
    "rows.py": ("text", "models", "indexing", "retrieval", "storage", "api", "cli"),
    "errors.py": ("",),
    "text": ("models", "indexing", "retrieval", "storage", "evaluation", "api", "cli"),
    "tasks": ("models", "indexing", "retrieval", "storage", "evaluation", "api", "cli"),
    "models": ("retrieval", "evaluation", "api", "cli"),
    "indexing": ("retrieval", "evaluation", "api", "cli"),
    "retrieval": ("indexing", "evaluation", "api", "cli"),
    "filters": ("indexing", "retrieval", "evaluation", "api", "cli"),
    "corrections.py": ("models", "indexing", "retrieval", "evaluation", "api", "cli"),
    "community_context.py": ("models", "indexing", "retrieval", "storage", "evaluation", "api", "cli"),
    "storage/manifests.py": ("models", "indexing", "retrieval", "api", "cli"),
    "evaluation": ("api", "cli"),
    "api": ("cli",),
}
"""What a part may not import; "" stands for everything of ours but the part itself."""


def imported(path: Path) -> Iterator[str]:
    """Yield the names of our modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        yield from (name.removeprefix("conspectus.") for name in names if name.startswith("conspectus."))


@pytest.mark.parametrize("part", FORBIDDEN)
def test_a_part_imports_nothing_that_stands_on_it(part: str) -> None:
    place = PACKAGE / part
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    assert files
    own = part.removesuffix(".py")
    for file in files:
        for name in imported(file):
            head = name.split(".")[0]
            wrong = head != own if FORBIDDEN[part] == ("",) else head in FORBIDDEN[part]
            assert not wrong, f"{file.relative_to(PACKAGE)} imports conspectus.{name}"
