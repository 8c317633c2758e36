"""Write an index for other tools, and draw its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

from conspectus.errors import UsageError
from conspectus.interchange import exports, neo4j, obsidian
from conspectus.interchange.map.page import page
from conspectus.interchange.map.scene import scene_of
from conspectus.runtime import DEFAULT_FOLDER, opened, public

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus import Index

Format = Literal["parquet", "csv", "duckdb", "graphml", "neo4j", "cypher", "json", "obsidian", "graphrag"] | str
FORMATS: Mapping[str, str] = {
    "parquet": "parquet",
    "csv": "csv",
    "duckdb": "index.duckdb",
    "graphml": "graph.graphml",
    "neo4j": "neo4j",
    "cypher": "graph.cypher",
    "json": "index.json",
    "obsidian": "vault",
    "graphrag": "output",
}
"""The formats, each with its default path."""
PICTURE_WIDTH = 2000
"""Pixels: names stay readable in the picture of a graph of some 300 entities, as that of the podcast sample."""


class MapOptions(TypedDict, total=False):
    """Options of a map.

    level: the level of the communities that colour it, 0 by default.
    seed: random seed of the layout.
    title: of the page; by default that of the only document, or the number of documents.
    width: of a picture, in pixels, 2000 by default.
    sources: whether the page contains the source texts, as by default.
    font: a TrueType font of a picture, for scripts that no font of the system covers.
    """

    level: int
    seed: int
    title: str
    width: int
    sources: bool
    font: str | Path | None


@public
def export(
    index: Index | str | Path = DEFAULT_FOLDER,
    format: Format = "parquet",
    path: str | Path | None = None,
    *,
    level: int | None = None,
) -> Path:
    """Write an index in a format of another tool, and return the file or folder.

        export(index, "graphml", "graph.graphml")

    index: an index or its folder.
    format: `parquet` or `csv` (a folder with one file per table), `duckdb` (a database; extra `duckdb`), `graphml` (for
        Gephi; extra `graph`), `neo4j` (a folder of CSV), `cypher`, `json`, `obsidian` (a folder of notes), `graphrag`
        (the tables of Microsoft GraphRAG, with its columns only).
    path: the output; by default the name in `FORMATS`. An existing file or folder is overwritten, except for a vault of
        notes that was not exported from an index.
    level: the level of the communities that colour GraphML.

    Raises UsageError for an unknown format or level, for a missing extra, and if the path cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
    source = opened(index)
    _check_level(source, level)
    target = Path(path) if path is not None else Path(FORMATS[format])
    _writers(source, level)[format](target)
    return target


@public
def draw_map(
    index: Index | str | Path = DEFAULT_FOLDER, path: str | Path = "map.html", **options: Unpack[MapOptions]
) -> Path:
    """Draw the graph of an index as an interactive page or as a picture, and return the file.

        draw_map(index, "map.html")

    index: an index or its folder.
    path: ends in .html (one file that needs no network), .svg or .png.

    Raises UsageError for another suffix, an unknown level, and an index without a graph.
    """
    source, target, level = opened(index), Path(path), options.get("level", 0)
    if target.suffix not in (".html", ".svg", ".png"):
        raise UsageError(f"a map is written as .html, .svg or .png, and not as {target.name!r}")
    _check_level(source, level or None)
    if not len(source.entities):
        raise UsageError("this index has no graph to draw")
    scene = scene_of(source, options.get("seed", 0))
    if target.suffix == ".html":
        title = options.get("title") or _title_of(source)
        _write_file(target, [page(scene, title=title, level=level, sources=options.get("sources", True))])
    else:
        from conspectus.interchange.map.picture import picture  # with libraries of its own

        font, width = options.get("font"), options.get("width", PICTURE_WIDTH)
        _write_file(target, [picture(scene, level, target.suffix[1:], width, Path(font) if font else None)])
    return target


def _check_level(index: Index, level: int | None) -> None:
    """Raise UsageError if an index has no such level."""
    if level is not None and level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {level}")


def _writers(index: Index, level: int | None) -> dict[str, Callable[[Path], object]]:
    return {
        "parquet": lambda path: exports.write_parquet(index, path),
        "csv": lambda path: exports.write_csv(index, path),
        "duckdb": lambda path: exports.write_duckdb(index, path),
        "graphml": lambda path: _write_lines(path, exports.graphml(scene_of(index), level or 0)),
        "neo4j": lambda path: neo4j.write_csv(index, path),
        "cypher": lambda path: _write_lines(path, neo4j.cypher(index)),
        "json": lambda path: _write_file(path, exports.json_parts(index)),
        "obsidian": lambda path: obsidian.write_vault(index, path),
        "graphrag": lambda path: exports.write_graphrag(index, path),
    }


def _title_of(index: Index) -> str:
    """Return the title of a page about an index: that of its only document, or the number of documents."""
    if len(index.documents) == 1:
        return index.documents[0].title
    count, singular, plural = len(index.documents), "document", "documents"
    if not count:
        count, singular, plural = len(index.entities), "entity", "entities"
    return f"{count:,} {singular if count == 1 else plural}"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    _write_file(path, (line + "\n" for line in lines))


def _write_file(path: Path, parts: Iterable[str | bytes]) -> None:
    """Write a file through a temporary one, so that it is never half-written."""
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("wb") as file:
            file.writelines(part.encode() if isinstance(part, str) else part for part in parts)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another path") from None
    finally:
        temporary.unlink(missing_ok=True)
