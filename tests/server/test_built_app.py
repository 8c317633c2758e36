"""The built files of the web app match its sources and are within their size limits; tested without Node.js."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import conspectus
from conspectus import api

PACKAGE = Path(conspectus.__file__).parent
STATIC, MAP = PACKAGE / "server" / "static", PACKAGE / "interchange" / "map"
WEB = Path(__file__).parents[2] / "web"
REBUILD = "the built web app is not that of web/; `make web` builds it"


def hash_of(files: Mapping[str, Path]) -> str:
    """Return the hash of files with their names, as web/record.mjs computes it."""
    content = sha256()
    for name in sorted(files):
        content.update(name.encode() + b"\0" + files[name].read_bytes() + b"\0")
    return content.hexdigest()


def files_in(folder: Path, prefix: str) -> dict[str, Path]:
    return {f"{prefix}/{p.relative_to(folder).as_posix()}": p for p in folder.rglob("*") if p.is_file()}


def recorded() -> dict[str, str]:
    return json.loads((STATIC / "built.json").read_text("utf-8"))


def test_the_app_was_built_from_its_sources_as_they_are() -> None:
    top = {p.name: p for p in WEB.iterdir() if p.is_file() and re.search(r"\.(html|json|mjs|ts)$", p.name)}
    sources = top | files_in(WEB / "src", "src") | files_in(WEB / "public", "public")
    assert hash_of(sources) == recorded()["sources"], REBUILD


def test_the_built_files_are_those_of_one_build() -> None:
    built = files_in(STATIC, "static") | {f"map/{name}": MAP / name for name in ("map.css", "map.js")}
    del built["static/built.json"]
    assert hash_of(built) == recorded()["built"], REBUILD


def test_every_method_is_explained_in_chinese_too() -> None:
    text = (WEB / "src" / "methods.ts").read_text("utf-8")
    explained = set(re.findall(r'^  "?([\w-]+)"?: "', text, re.MULTILINE))
    assert set(api.METHODS) - explained == set()


def test_the_app_and_the_map_are_small() -> None:
    """The app loads all files but the map at the start; the map is a separate file, and part of the offline page."""

    def size(*paths: Path) -> int:
        return sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths)

    app = [p for p in STATIC.rglob("*") if p.suffix in (".js", ".css", ".html", ".svg")]
    assert size(*app) <= 120_000
    assert size(*(p for p in app if p.name.startswith("map-"))) <= 15_000
