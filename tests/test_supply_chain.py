"""Installed packages are the locked ones, by their hashes, and have licences that users of Conspectus can accept."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "uv.lock"
pytestmark = pytest.mark.skipif(not LOCK.exists(), reason="needs uv.lock, which only a checkout has")

ALLOWED = frozenset(
    "0BSD Apache-2.0 BSD-2-Clause BSD-3-Clause CC0-1.0 ISC MIT MIT-0 MIT-CMU MPL-2.0 PSF-2.0 Zlib".split()
)
"""Accepted licences by their SPDX names. All are permissive except MPL-2.0, which requires that changes of its files
are published."""
CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""SPDX names of the licences that packages without an SPDX expression state."""
STATED = {"pypdfium2": "BSD-3-Clause AND Apache-2.0"}
"""Licences of packages whose metadata describe them in prose, from the licence files beside their code."""
EXTRAS = ("graph", "duckdb", "eval", "embed", "remote", "langchain", "llama-index", "serve", "native")


def locked() -> list[dict[str, Any]]:
    return tomllib.loads(LOCK.read_text("utf-8"))["package"]


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name: str, extras: Sequence[str], seen: dict[str, metadata.Distribution]) -> None:
    """Add a package and its dependencies, recursively, if they are installed."""
    if normalized(name) in seen and not extras:
        return
    try:
        seen[normalized(name)] = distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return
    for requirement in distribution.requires or ():
        spec, _, marker = requirement.partition(";")
        only = re.search(r"extra\s*==\s*['\"]([\w.-]+)['\"]", marker)
        parts = re.match(r"([\w.-]+)\s*(?:\[([\w,\s.-]+)\])?", spec)
        if parts and (not only or only[1] in extras):
            needed(parts[1], re.findall(r"[\w.-]+", parts[2] or ""), seen)


def packages() -> dict[str, metadata.Distribution]:
    seen: dict[str, metadata.Distribution] = {}
    needed("conspectus", EXTRAS, seen)
    return seen


def licences(name: str, distribution: metadata.Distribution) -> Iterator[str]:
    """Yield the names of a package's licences; with a choice, all alternatives."""
    about: Any = distribution.metadata  # an `email` message, whose type lacks some of its methods
    expression = STATED.get(name) or str(about.get("License-Expression") or "")
    if not expression:
        classifiers = [
            text.split(" :: ")[-1] for text in about.get_all("Classifier") or () if "License" in text
        ]
        if classifiers:
            yield from (CLASSIFIERS.get(text, str(text)) for text in classifiers)
            return
        expression = str(about.get("License") or "not stated")
    yield from re.split(r"\s+(?:AND|OR)\s+|, ", expression.strip("() "))


def test_every_file_of_a_locked_package_has_a_hash():
    files = [
        (package["name"], file)
        for package in locked()
        for file in (*package.get("wheels", ()), *filter(None, [package.get("sdist")]))
    ]

    assert len(files) > 500
    assert [name for name, file in files if not file.get("hash", "").startswith("sha256:")] == []


def test_every_package_is_locked_from_an_index_but_our_own():
    sources = {package["name"]: set(package["source"]) for package in locked()}

    assert [name for name, source in sources.items() if source != {"registry"}] == ["conspectus"]


def test_what_is_installed_has_a_licence_that_is_allowed():
    found = {name: set(licences(name, distribution)) for name, distribution in packages().items()}

    assert len(found) > 40
    assert {name: names - ALLOWED for name, names in found.items() if names - ALLOWED} == {}


def test_every_required_package_is_on_the_page_of_dependencies():
    page = (ROOT / "docs" / "dependencies.md").read_text("utf-8").lower()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [re.split(r"[\[>=;]", requirement)[0].lower() for requirement in project["dependencies"]]

    assert [name for name in names if name not in page] == []
