"""Imports point one way: see docs/architecture.md. Imports inside functions and for type checking count, too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import conspectus

PACKAGE = Path(__file__).parents[1] / "src" / "conspectus"

VALUES = {"errors", "messages", "references", "rows", "settings", "tokens"}
"""Rows, numbers, texts and settings, which know of nothing that is done with them."""
OPENED = VALUES | {"community_context", "configuration", "index", "triple_graph"}
"""And an index as it is opened."""
ENGINE = OPENED | {"algorithms", "text", "tasks", "models", "storage", "index_models", "corrections"}
PUBLIC = {*conspectus.__all__, "__version__", "errors", "rows", "settings"}
"""What is built on the public interface imports: its names, and what its functions take, return and raise."""

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "algorithms": set(),
    "messages": set(),
    "rows": {"errors", "display"},
    "settings": {"errors"},
    "tokens": {"errors"},
    "references": {"rows"},
    "text": {"algorithms", "errors", "rows"},
    "tasks": {"references", "rows"},
    "storage": VALUES | {"index"},
    "readers": VALUES,
    "models": VALUES | {"algorithms", "text", "tasks", "index", "triple_graph"},
    "corrections": VALUES | {"storage", "text"},
    "filters": ENGINE,
    "indexing": ENGINE | {"readers", "__version__"},
    "retrieval": ENGINE,
    "api": ENGINE
    | {"readers", "filters", "indexing", "retrieval", "runtime", "explore", "index_status", "conversation"},
    "evaluation": PUBLIC,
    "interchange": PUBLIC,
    "cli": PUBLIC,
    "server": PUBLIC,
}
"""What a package or module may import beside itself."""

REMAINING: dict[str, set[str]] = {
    "filters": {"readers"},
    "evaluation": {
        "algorithms",
        "api",
        "index_status",
        "indexing",
        "messages",
        "models",
        "readers",
        "references",
        "retrieval",
        "runtime",
        "storage",
        "tasks",
        "text",
        "tokens",
    },
    "interchange": {
        "indexing",
        "readers",
        "references",
        "retrieval",
        "runtime",
        "storage",
        "text",
        "tokens",
    },
    "cli": {
        "api",
        "configuration",
        "evaluation",
        "indexing",
        "interchange",
        "retrieval",
        "runtime",
    },
}
"""Imports against the order that are still there. It only shrinks: a new one fails, and so does one that is gone."""


def imported(path: Path) -> Iterator[str]:
    """Yield the packages, modules and public names of ours that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "conspectus":
            names = [f"conspectus.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        yield from (name.split(".")[1] for name in names if name.startswith("conspectus."))


def beyond(part: str) -> set[str]:
    """Return what the files of a part import that it may not."""
    folder = PACKAGE / part
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [PACKAGE / f"{part}.py"]
    return {name for file in files if file.exists() for name in imported(file)} - ALLOWED[part] - {part}


@pytest.mark.parametrize("part", ALLOWED)
def test_a_part_imports_only_what_it_stands_on(part: str) -> None:
    new = beyond(part) - REMAINING.get(part, set())
    assert not new, f"{part} imports {new}, which it may not"


@pytest.mark.parametrize("part", REMAINING)
def test_what_no_longer_breaks_the_order_is_not_listed_as_breaking_it(part: str) -> None:
    gone = REMAINING[part] - beyond(part)
    assert not gone, f"{part} no longer imports {gone}: delete that from REMAINING"


def test_every_package_has_its_place() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages <= ALLOWED.keys()


def test_nothing_imports_the_command_line() -> None:
    files = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] not in ("cli", "__main__.py")]
    assert [path for path in files if "cli" in imported(path)] == []
