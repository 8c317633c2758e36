"""`conspectus export`, `map` and `check`: an index for other tools, for eyes, and whether it is what they
expect."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.help import OUTPUT
from conspectus.cli.options import FOLDER, AsJson, IndexFolder, LogFile

if TYPE_CHECKING:
    from conspectus.index import Index


def _formats(incomplete: str) -> list[str]:
    from conspectus.interchange.exporting import FORMATS

    return [name for name in FORMATS if name.startswith(incomplete)]


Format = Annotated[
    str,
    typer.Argument(
        metavar="FORMAT",
        help="Format: parquet, csv, duckdb (the tables), graphml (Gephi, yEd), neo4j (folder of CSV), cypher, json, "
        "obsidian (vault of notes), graphrag (folder of Parquet).",
        autocompletion=_formats,
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="PATH", rich_help_panel=OUTPUT, help="Output file or folder.", show_default=False
    ),
]
Level = Annotated[int | None, typer.Option(metavar="N", min=0, help="Community level to show.", show_default=False)]


def export(
    format: Format, out: Out = None, level: Level = None, folder: IndexFolder = FOLDER, log: LogFile = None
) -> None:
    """Export an index for Gephi, Neo4j, Obsidian and others.

    Replaces an output file or folder of the same name, but never a vault that was not exported from this index. --level
    chooses the communities that colour GraphML.

    Example: conspectus export csv -o tables
    Example: conspectus export json -o graph.json
    Example: conspectus export obsidian -o vault
    """
    from conspectus import export as export_index
    from conspectus import open_index

    index = open_index(folder)
    path = export_index(index, format, out, level=level)
    show.out(f"{path}: {_summary(index, format, path)}")


def _summary(index: Index, format: str, path: Path) -> str:
    """Return what was written, and how it is read where that is not plain."""
    entities, relationships = len(index.entities), len(index.relationships)
    files = show.counted(sum(p.is_file() for p in path.iterdir()), "file") if path.is_dir() else ""
    counts = f"{show.counted(entities, 'entity')}, {show.counted(relationships, 'relationship')}"
    match format:
        case "graphml" | "duckdb":
            return counts
        case "cypher":
            return "run it with cypher-shell -f"
        case "neo4j":
            return f"{files}; import.txt holds the command that reads them"
        case "obsidian":
            return show.counted(sum(1 for _ in path.rglob("*.md")), "note")
        case _:
            return files or show.size(path.stat().st_size)


def map_(
    out: Out = None,
    level: Level = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Random seed of the layout.")] = 0,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.", show_default=False)] = None,
    width: Annotated[
        int,
        typer.Option(
            metavar="N", min=200, max=20_000, rich_help_panel=OUTPUT, help="Width of an SVG or PNG in pixels."
        ),
    ] = 2000,
    sources: Annotated[
        bool,
        typer.Option(
            "--sources/--no-sources",
            rich_help_panel=OUTPUT,
            help="Include the source texts in the page, or leave them out to make it smaller.",
        ),
    ] = True,
    font: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="TrueType font for a PNG, for scripts that no system font covers.",
        ),
    ] = None,
    folder: IndexFolder = FOLDER,
    log: LogFile = None,
) -> None:
    """Draw the graph: an interactive HTML page, SVG or PNG.

    The extension of the output file chooses the format. The HTML page is one file that works offline.

    Example: conspectus map -o map.html
    Example: conspectus map -o map.png --width 2400
    """
    from conspectus import draw_map, open_index

    index = open_index(folder)
    path = draw_map(
        index, out or Path("map.html"), level=level or 0, seed=seed, title=title or "", width=width, sources=sources,
        font=font,
    )  # fmt: skip
    show.out(f"{path}: {show.counted(len(index.entities), 'entity')}, {show.size(path.stat().st_size)}")


def check(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR", help="Output folder of Microsoft GraphRAG to check instead of the index.", show_default=False
        ),
    ] = None,
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Check that an index is complete and its tables valid.

    Compares every file with its hash in the manifest, and every column with the schema of Microsoft GraphRAG 3.x.

    Example: conspectus check
    """
    from conspectus.interchange.graphrag_schema import SCHEMA, check_schema
    from conspectus.storage import store

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
