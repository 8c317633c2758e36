"""Write an index for other tools, and draw its graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from conspectus.api.building import open_index
from conspectus.errors import UsageError
from conspectus.runtime import DEFAULT_FOLDER

if TYPE_CHECKING:
    from conspectus.index import Index

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
"""What can be written, and where to if nothing is said."""


def export(
    index: Index | str | Path = DEFAULT_FOLDER,
    format: Format = "parquet",
    path: str | Path | None = None,
    *,
    level: int | None = None,
) -> Path:
    """Write an index for other tools, and return the file or folder.

        export(index, "graphml", "graph.graphml")

    index: an index or its folder.
    format: `parquet` or `csv` (a folder with a file for each table), `duckdb` (a database; extra `duckdb`), `graphml`
        (for Gephi), `neo4j` (a folder of CSV), `cypher`, `json`, `obsidian` (a folder of notes), `graphrag` (the tables of Microsoft GraphRAG, with its columns alone).
    path: where to; left out, the name that `FORMATS` has. What is there is written over, but for a vault of notes that
        is not of this index.
    level: the level of the hierarchy that colours GraphML.

    Raises UsageError for a format or a level that there is not, and where the path cannot be written.
    """
    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
    opened = index if not isinstance(index, str | Path) else open_index(index)
    check_level(opened, level)
    target = Path(path) if path is not None else Path(FORMATS[format])
    _writers(opened, level)[format](target)
    return target


def draw_map(
    index: Index | str | Path = DEFAULT_FOLDER,
    path: str | Path = "map.html",
    *,
    level: int = 0,
    seed: int = 0,
    title: str = "",
    width: int = 2000,
    sources: bool = True,
    font: str | Path | None = None,
) -> Path:
    """Draw the graph of an index, and return the file: a page to look around in, or a picture.

        draw_map(index, "map.html")

    path: ends in .html (one file that needs no network), .svg or .png (extra `map`).
    level: the level of the hierarchy whose communities are coloured.
    seed: another one, another layout.
    width: of a picture, in pixels.
    font: a TrueType font for a PNG, for scripts that those of the system lack.
    sources: whether the page holds the texts that the graph stands on.

    Raises UsageError for another kind of file, a level that there is not, and an index without a graph.
    """
    opened = index if not isinstance(index, str | Path) else open_index(index)
    target = Path(path)
    check_drawable(opened, target, level)
    from conspectus.interchange.map.page import page
    from conspectus.interchange.map.picture import png, svg
    from conspectus.interchange.map.scene import scene_of

    scene = scene_of(opened, seed)
    match target.suffix:
        case ".html":
            write_text(target, [page(scene, title=title or title_of(opened), level=level, sources=sources)])
        case ".svg":
            write_text(target, [svg(scene, level, width)])
        case _:
            png(scene, level, target, width, Path(font) if font else None)
    return target


def check_drawable(index: Index, path: Path, level: int | None) -> None:
    """Raise UsageError where an index cannot be drawn into a file."""
    if path.suffix not in (".html", ".svg", ".png"):
        raise UsageError(f"a map is written as .html, .svg or .png, and not as {path.name!r}")
    check_level(index, level or None)
    if not len(index.entities):
        raise UsageError("this index has no graph to draw")


def check_level(index: Index, level: int | None) -> None:
    """Raise UsageError for a level that an index does not have."""
    if level is not None and level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {level}")


def _writers(index: Index, level: int | None) -> dict[str, Callable[[Path], object]]:
    from conspectus.interchange import as_json, graphml, graphrag_write, neo4j, obsidian, plain_tables

    def graph(path: Path) -> None:
        from conspectus.interchange.map.scene import scene_of

        write_text(path, (line + "\n" for line in graphml.graphml(scene_of(index), level or 0)))

    return {
        "parquet": lambda path: plain_tables.write_parquet(index, path),
        "csv": lambda path: plain_tables.write_csv(index, path),
        "duckdb": lambda path: plain_tables.write_duckdb(index, path),
        "graphml": graph,
        "neo4j": lambda path: neo4j.write_csv(index, path),
        "cypher": lambda path: write_text(path, (line + "\n" for line in neo4j.cypher(index))),
        "json": lambda path: write_text(path, as_json.as_json(index)),
        "obsidian": lambda path: obsidian.write_vault(index, path),
        "graphrag": lambda path: graphrag_write.write_graphrag(index, path),
    }


def title_of(index: Index) -> str:
    """Return what a page about an index is called: its only document, or how many it has."""
    if len(index.documents) == 1:
        return index.documents[0].title
    count, one, many = len(index.documents), "document", "documents"
    if not count:
        count, one, many = len(index.entities), "entity", "entities"
    return f"{count:,} {one if count == 1 else many}"


def write_text(path: Path, parts: Iterable[str]) -> None:
    """Write a text file; one that cannot be finished is not left half-written under its name."""
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(parts)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another path") from None
    finally:
        temporary.unlink(missing_ok=True)
