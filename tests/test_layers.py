"""Imports point one way: see docs/architecture.md. Imports inside functions and for type checking count, too."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

import conspectus

PACKAGE = Path(__file__).parents[1] / "src" / "conspectus"

VALUES = {"content", "errors", "lazy", "messages", "references", "rows", "settings", "tokens"}
"""Modules of rows, numbers, texts and settings, which depend on nothing that uses them."""
OPENED = VALUES | {
    "community_context",
    "configuration",
    "index",
    "name_lookup",
    "relation_paths",
    "sentence_graph",
    "triple_graph",
}
"""These, and the modules of an open index."""
ENGINE = OPENED | {"algorithms", "text", "tasks", "models", "storage", "index_models", "corrections"}
PUBLIC = {*conspectus.__all__, "__version__", "errors", "lazy", "rows", "settings"}
"""The public interface: its names, and the types that its functions accept, return and raise."""

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "algorithms": set(),
    "messages": set(),
    "lazy": {"errors"},
    "rows": {"errors", "messages"},
    "settings": {"errors"},
    "tokens": {"errors"},
    "references": {"rows"},
    "content": {"rows"},
    "text": {"algorithms", "content", "errors", "lazy", "rows"},
    "name_lookup": {"algorithms", "index", "rows", "text"},
    "relation_paths": {"index", "text", "triple_graph"},
    "tasks": {"references", "rows"},
    "storage": VALUES | {"index"},
    "readers": VALUES | {"text"},
    "models": VALUES
    | {"algorithms", "text", "tasks", "index"}
    | {"name_lookup", "relation_paths", "sentence_graph", "triple_graph"},
    "corrections": VALUES | {"storage", "text"},
    "filters": ENGINE,
    "workers": {"errors", "lazy", "rows", "__version__"},
    "indexing": ENGINE | {"readers", "workers", "__version__"},
    "retrieval": ENGINE,
    "api": ENGINE
    | {
        "readers",
        "filters",
        "indexing",
        "retrieval",
        "runtime",
        "explore",
        "index_status",
        "conversation",
        "workers",
    },
    "evaluation": PUBLIC,
    "interchange": PUBLIC | {"algorithms", "content"},
    "cli": PUBLIC | {"server"},
    "server": PUBLIC | {"api", "evaluation", "interchange"},
}
"""The packages and modules that each part may import, besides itself."""

REMAINING: dict[str, set[str]] = {
    "filters": {"readers"},
    "evaluation": {
        "algorithms",
        "api",
        "index_models",
        "index_status",
        "indexing",
        "messages",
        "models",
        "readers",
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
        "interchange",
    },
}
"""Remaining imports that violate the order. The table only shrinks: new violations fail, and so do removed ones."""


@cache
def statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Return all import statements of a file, including those in functions."""
    text = path.read_text(encoding="utf-8")
    try:
        tree = ast.parse(text)
    except SystemError:  # "recursion depth mismatch": a bug of CPython 3.11, seen once
        tree = ast.parse(text)
    return [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]


def imported(path: Path) -> Iterator[str]:
    """Yield our packages, modules and public names that a file imports anywhere."""
    for node in statements(path):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif node.module == "conspectus":
            names = [f"conspectus.{alias.name}" for alias in node.names]
        elif node.module:
            names = [node.module]
        yield from (name.split(".")[1] for name in names if name.startswith("conspectus."))


def beyond(part: str) -> set[str]:
    """Return the forbidden imports in the files of a part."""
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
    files = [
        path
        for path in PACKAGE.rglob("*.py")
        if path.relative_to(PACKAGE).parts[0] not in ("cli", "__main__.py")
    ]
    assert [path for path in files if "cli" in imported(path)] == []


def imports_of_modules() -> dict[str, set[str]]:
    """Return the modules of ours that each module imports anywhere.

    The package itself is left out: it imports the modules of its public names when these are used.
    """
    paths = {module_of(path): path for path in PACKAGE.rglob("*.py")}
    imports: dict[str, set[str]] = {}
    for module, path in paths.items():
        names: list[str] = []
        for node in statements(path):
            if isinstance(node, ast.Import):
                names += [alias.name for alias in node.names]
            elif node.module:
                parts = [f"{node.module}.{alias.name}" for alias in node.names]
                names += [part if part in paths else node.module for part in parts]
        imports[module] = {name for name in names if name in paths} - {module, "conspectus"}
    return imports


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def circles(imports: dict[str, set[str]]) -> set[str]:
    """Return the import cycles, each as a text with its modules."""
    reached: dict[str, set[str]] = {}
    for module in imports:
        seen, ahead = set[str](), [module]
        while ahead:
            new = imports[ahead.pop()] - seen
            seen |= new
            ahead += new
        reached[module] = seen
    return {
        " ".join(sorted({other for other in reached[module] if module in reached[other]}))
        for module in imports
        if module in reached[module]
    }


def test_no_modules_import_each_other() -> None:
    assert not circles(imports_of_modules())


def test_every_module_is_imported_without_any_extra() -> None:
    """The library of an extra is imported only when it is used, not when our modules are imported."""
    project = tomllib.loads((PACKAGE.parents[1] / "pyproject.toml").read_text("utf-8"))["project"]
    core, extra = (set(map(distribution, lines)) for lines in (project["dependencies"], optional(project)))
    provided = packages_distributions()
    blocked = [
        name
        for name, owners in provided.items()
        if {o.lower().replace("_", "-") for o in owners} & extra - core
    ]
    modules = [module_of(path) for path in PACKAGE.rglob("*.py") if path.stem != "__main__"]
    modules = [
        name for name in modules if not name.startswith("conspectus.server.")
    ]  # the whole package belongs to the extra `serve`
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({blocked!r}))\nfor m in {modules!r}: __import__(m)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def distribution(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


def optional(project: dict[str, Any]) -> list[str]:
    return [line for lines in project["optional-dependencies"].values() for line in lines]
