"""Regular expressions support all alphabets, except for texts that are English or machine-readable."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "conspectus"
ALLOWED = {
    "cli/show.py": "names of arguments and settings",
    "configuration.py": "names of settings",
    "errors.py": "keys of servers",
    "evaluation/charts.py": "tags of HTML",
    "interchange/obsidian.py": "tags of HTML",
    "readers": "addresses, tags, declarations and bytes of files",
    "models/llm": "escapes of JSON, names of fields",
    "models/extractive/rank_sentences.py": "units and numerals of English, and how it says what a thing is",
    "storage/arrays.py": "names of our arrays",
    "storage/manifests.py": "names of our files",
    "storage/store.py": "names of our files",
    "tasks/base.py": "names of classes",
    "text/language.py": "codes of languages",
}
"""Files or folders whose patterns may use ASCII letters only, and the texts that they match."""
ALLOWED_DATA = {
    ("cleaning", "reference"): "letters behind a year",
    ("cleaning", "year"): "letters behind a year",
    ("sentence_table", "file_name"): "names of files",
    ("lexicon", "part"): "names of files",
}
"""Patterns of `text/data/patterns.toml` that may use ASCII letters only, by table and name, and what they match."""
ENGLISH_ALONE = re.compile(r"a-z(?![ßµ]|A-ZÀ)|A-Z(?!À)")


def patterns(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield the literal patterns in calls of `re`, and uses of `re.ASCII`, with their line numbers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "re":
            if node.attr in ("ASCII", "A"):
                yield node.lineno, "a-z"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node.args:
            for part in ast.walk(node.args[0]):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def is_allowed(file: str) -> bool:
    return any(file == name or file.startswith(f"{name}/") for name in ALLOWED)


def test_letters_are_those_of_any_alphabet():
    files = {str(path.relative_to(SOURCE)): path for path in sorted(SOURCE.rglob("*.py"))}
    found = [
        f"{file}:{line}: {pattern}"
        for file, path in files.items()
        if not is_allowed(file)
        for line, pattern in patterns(ast.parse(path.read_text(encoding="utf-8")))
        if ENGLISH_ALONE.search(pattern)
    ]

    assert found == []


def test_letters_of_patterns_that_are_data_are_those_of_any_alphabet():
    tables = tomllib.loads((SOURCE / "text/data/patterns.toml").read_text(encoding="utf-8"))
    english = {
        (table, name)
        for table, named in tables.items()
        for name, pattern in named.items()
        if ENGLISH_ALONE.search(pattern if isinstance(pattern, str) else "|".join(pattern))
    }

    assert english == ALLOWED_DATA.keys()


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_there(name: str):
    assert (SOURCE / name).exists()
