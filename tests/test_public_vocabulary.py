"""Public names consist of standard terms and contain no words of the old private vocabulary.

The terms to use are in the glossary of docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from conspectus.cli.app import app
from conspectus.settings import Settings

PACKAGE = Path(__file__).parents[1] / "src" / "conspectus"
OLD = frozenset(
    "said says told tells held holds kept keeps found gone left standing stands place places gathering gather gathered "
    "descent descend furniture unsaid worth anew telling watching knowing settled asked".split()
)
"""Words that had a private meaning here, such as `found` for results and `told` for messages."""
ALLOWED = {
    r"errors\.NotFound": "what Python and HTTP call it",
    r"rows\.(\w+\.places?|Place)|readers\.__init__\.ParsedDocument\.places|storage\.tables\.PLACES": "a stored "
    "column: the page or section of a document",
    r"(filters|retrieval\.rerank)\..*places|filters\..*Places": "the same, through an index subset or union",
    r"text\..*places?|models\.extractive\.reason\.PLACE": "geographical names",
}
"""Patterns of names that may contain such a word, and the reason."""
REMAINING = {
    "evaluation": 0, "index_status": 1, "indexing": 1, "messages": 2, "models": 2, "settings": 0, "tasks": 5, "text": 2,
}  # fmt: skip
"""Number of names that are still to be changed, by package; it may only decrease."""


def words(name: str) -> set[str]:
    """Return the words of a name in snake_case, camelCase or kebab-case."""
    return {
        word.lower()
        for part in re.split(r"[_\W]+", name)
        for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", part)
    }


def defined(node: ast.Module | ast.ClassDef, prefix: str) -> Iterator[str]:
    """Yield the public classes, functions, constants, methods and fields of a module or class."""
    for child in node.body:
        names: list[str] = []
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [child.name]
        elif isinstance(child, ast.Assign):
            names = [target.id for target in child.targets if isinstance(target, ast.Name)]
        elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
            names = [child.target.id]
        for name in names:
            if not name.startswith("_"):
                yield f"{prefix}.{name}"
                if isinstance(child, ast.ClassDef):
                    yield from defined(child, f"{prefix}.{name}")


def names_in_code() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        yield module.removesuffix(".__init__")
        yield from defined(ast.parse(path.read_text("utf-8")), module)


def settings_keys(settings: type[Settings] = Settings, prefix: str = "settings") -> Iterator[str]:
    for name, field in settings.model_fields.items():
        key = f"{prefix}.{field.alias or name}"
        yield key
        if isinstance(field.annotation, type) and hasattr(field.annotation, "model_fields"):
            yield from settings_keys(field.annotation, key)


def options(command: Any, path: str) -> Iterator[str]:
    yield path
    yield from (f"{path} {option}" for parameter in command.params for option in parameter.opts)
    if hasattr(command, "list_commands"):
        context = command.make_context(path, [], resilient_parsing=True)
        for name in command.list_commands(context):
            yield from options(command.get_command(context, name), f"{path} {name}")


def offending(names: Iterator[str]) -> list[str]:
    """Return the names whose last part contains an old word."""
    allowed = re.compile("|".join(f"(?:{pattern})" for pattern in ALLOWED), re.IGNORECASE)
    return [
        name for name in names if words(re.split(r"[. ]", name)[-1]) & OLD and not allowed.fullmatch(name)
    ]


def test_no_name_of_the_code_has_an_old_word():
    by_package: dict[str, list[str]] = {}
    for name in offending(names_in_code()):
        by_package.setdefault(name.split(".")[0], []).append(name)

    assert {
        package: names for package, names in by_package.items() if len(names) > REMAINING.get(package, 0)
    } == {}


def test_no_key_of_the_settings_has_an_old_word():
    assert len(offending(settings_keys())) <= REMAINING["settings"]


def test_no_command_or_option_has_an_old_word():
    assert offending(options(typer.main.get_command(app), "conspectus")) == []
