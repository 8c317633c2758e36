"""`conspectus export`, `map` and `check`: an index for other tools, for eyes, and whether it is what they
expect."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.options import FOLDER, AsJson, IndexFolder, LogFile
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.graph_map.scene import Scene
    from conspectus.tables import Index

FORMATS = {
    "graphml": "graph.graphml",
    "neo4j": "neo4j",
    "cypher": "graph.cypher",
    "json": "index.json",
    "obsidian": "vault",
    "book": "book.md",
    "graphrag": "output",
}
"""What can be written, and where to if nothing is said."""


def _formats(incomplete: str) -> list[str]:
    return [name for name in FORMATS if name.startswith(incomplete)]


Format = Annotated[
    str,
    typer.Argument(
        metavar="FORMAT",
        help="graphml (for Gephi), neo4j (a folder of CSV), cypher, json, obsidian (a folder), "
        "book (Markdown), graphrag (a folder of Parquet).",
        autocompletion=_formats,
    ),
]
Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="PATH", help="Where to write.", show_default=False)]
Level = Annotated[int | None, typer.Option(metavar="N", min=0, help="Level of the hierarchy.", show_default=False)]


def export(
    format: Format, out: Out = None, level: Level = None, folder: IndexFolder = FOLDER, log: LogFile = None
) -> None:
    """Write an index for other tools.

    A file or folder of that name is written over, a vault of another index or of yours is not. --level
    colours GraphML and says how deep the book goes.
    """
    from conspectus.api import open_index

    if format not in FORMATS:
        raise UsageError(f"there is no format {format!r}; there are {', '.join(FORMATS)}")
    index = open_index(folder)
    _known(level, index)
    path = out or Path(FORMATS[format])
    said = _writers(index, level)[format](path)
    show.out(f"{path}: {said}" if said else str(path))


def _writers(index: Index, level: int | None) -> dict[str, Callable[[Path], str]]:
    return {
        "graphml": lambda path: _graphml(index, level or 0, path),
        "neo4j": lambda path: _neo4j(index, path),
        "cypher": lambda path: _cypher(index, path),
        "json": lambda path: _json(index, path),
        "obsidian": lambda path: _obsidian(index, path),
        "book": lambda path: _book(index, level, path),
        "graphrag": lambda path: _graphrag(index, path),
    }


def _graphml(index: Index, level: int, path: Path) -> str:
    from conspectus.graph_map.scene import scene_of
    from conspectus.interchange.graphml import graphml

    _write(path, (line + "\n" for line in graphml(scene_of(index), level)))
    things, edges = len(index.entities), len(index.relationships)
    return f"{show.counted(things, 'entity')}, {show.counted(edges, 'relationship')}"


def _neo4j(index: Index, path: Path) -> str:
    from conspectus.interchange.neo4j import write_csv

    return f"{show.counted(len(write_csv(index, path)), 'file')}; import.txt holds the command that reads them"


def _cypher(index: Index, path: Path) -> str:
    from conspectus.interchange.neo4j import cypher

    _write(path, (line + "\n" for line in cypher(index)))
    return "run it with cypher-shell -f"


def _json(index: Index, path: Path) -> str:
    from conspectus.interchange.as_json import as_json

    _write(path, as_json(index))
    return ""


def _obsidian(index: Index, path: Path) -> str:
    from conspectus.interchange.obsidian import write_vault

    return show.counted(write_vault(index, path), "note")


def _book(index: Index, level: int | None, path: Path) -> str:
    from conspectus.interchange.book import book

    _write(path, (paragraph + "\n\n" for paragraph in book(index, _title(index), level)))
    return ""


def _graphrag(index: Index, path: Path) -> str:
    from conspectus.interchange.graphrag_write import write_graphrag

    return show.counted(len(write_graphrag(index, path)), "table")


def map_(
    out: Out = None,
    level: Level = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed, another layout.")] = 0,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.", show_default=False)] = None,
    width: Annotated[int, typer.Option(metavar="N", min=200, max=20_000, help="Pixels, of a picture.")] = 2000,
    sources: Annotated[bool, typer.Option("--sources/--no-sources", help="Keep the source texts in the page.")] = True,
    font: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="TrueType font for a PNG, for scripts that those of the system lack."),
    ] = None,
    folder: IndexFolder = FOLDER,
    log: LogFile = None,
) -> None:
    """Draw the graph: a page to look around in, or a picture.

    The name of the output says which: .html (map.html by default; one file that needs no network), .svg or
    .png.
    """
    from conspectus.api import open_index

    path = out or Path("map.html")
    if path.suffix not in (".html", ".svg", ".png"):
        raise UsageError(f"a map is written as .html, .svg or .png, and not as {path.name!r}")
    index = open_index(folder)
    _known(level, index)
    if not len(index.entities):
        raise UsageError("this index has no graph to draw")
    from conspectus.graph_map.page import page
    from conspectus.graph_map.picture import png, svg
    from conspectus.graph_map.scene import scene_of

    scene: Scene = scene_of(index, seed)
    match path.suffix:
        case ".html":
            _write(path, [page(scene, title=title or _title(index), level=level or 0, sources=sources)])
        case ".svg":
            _write(path, [svg(scene, level or 0, width)])
        case _:
            png(scene, level or 0, path, width, font)
    show.out(f"{path}: {show.counted(len(index.entities), 'entity')}, {show.size(path.stat().st_size)}")


def check(
    target: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="An output folder of GraphRAG, in place of the index.", show_default=False),
    ] = None,
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Check that an index is whole, and that its tables are what the readers of Microsoft GraphRAG 3.x
    expect.

    Every file is compared with its hash in the manifest, every column with its name, place and type in their
    schema.
    """
    from conspectus import store
    from conspectus.interchange.graphrag_schema import SCHEMA, check_schema

    if target is None:
        store.read(folder, verify=True)
    found = check_schema(target or folder)
    if json:
        show.as_json({"mismatches": found})
    elif not found:
        whole = "every file is what its manifest says; " if target is None else ""
        show.out(f"{whole}{len(SCHEMA)} tables are as GraphRAG 3.x reads them")
    else:
        show.listed(f"{show.counted(len(found), 'column')} differ:", [str(m) for m in found], show.out)
    raise typer.Exit(1 if found else 0)


def _title(index: Index) -> str:
    documents = list(index.documents)
    if len(documents) == 1:
        return documents[0].title
    held = (documents, "document") if documents else (index.entities, "entity")
    return show.counted(len(held[0]), held[1])


def _known(level: int | None, index: Index) -> None:
    if level is not None and level not in index.levels:
        raise UsageError(f"this index has levels 0 to {len(index.levels) - 1}, and no level {level}")


def _write(path: Path, parts: Iterable[str]) -> None:
    """Write a text file; one that cannot be finished is not left half-written under its name."""
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(parts)
        temporary.replace(path)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; name another place with --out") from None
    finally:
        temporary.unlink(missing_ok=True)
