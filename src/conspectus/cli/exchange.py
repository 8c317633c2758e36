"""`conspectus export`, `map` and `import`: an index for other tools and for eyes, and from what others have made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import conspectus
from conspectus import api, interchange
from conspectus.cli import show
from conspectus.cli.options import (
    FOLDER,
    OUTPUT,
    WITH_FAILURES,
    AsJson,
    IndexFolder,
    argument,
    option,
    starting,
    takes,
)

if TYPE_CHECKING:
    from conspectus import Index
    from conspectus.interchange.importing import Linked
    from conspectus.settings import Settings


def _formats() -> Iterable[str]:
    from conspectus.interchange.exporting import FORMATS

    return FORMATS


Format = Annotated[
    str,
    argument(
        "FORMAT",
        "Format: parquet, csv, duckdb (the tables), graphml (Gephi, yEd), neo4j (folder of CSV), cypher, "
        "json, obsidian (vault of notes), graphrag (folder of Parquet).",
        autocompletion=starting(_formats),
    ),
]
Out = Annotated[
    Path | None, option("Output file or folder.", "--out", "-o", metavar="PATH", panel=OUTPUT, show_default=False)
]
Level = Annotated[int | None, option("Community level to show.", metavar="N", min=0, show_default=False)]


def export(format: Format, out: Out = None, level: Level = None, folder: IndexFolder = FOLDER) -> None:
    """Export an index for Gephi, Neo4j, Obsidian and others.

    Replaces an output file or folder of the same name, but never a vault that was not exported from this index. --level
    chooses the communities that colour GraphML.

    Example: conspectus export csv -o tables
    Example: conspectus export json -o graph.json
    Example: conspectus export obsidian -o vault
    """
    index = api.open_index(folder)
    path = conspectus.export(index, format, out, level=level)
    folder_of = "a folder of " if path.is_dir() else ""
    show.out(f"{path}: {folder_of}{_summary(index, format, path)}")


def _summary(index: Index, format: str, path: Path) -> str:
    """Return what was written, and how it is read where that is not plain."""
    entities, relationships = len(index.entities), len(index.relationships)
    files = show.counted(sum(p.name[0] != "." for p in path.iterdir()), "file") if path.is_dir() else ""
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
    seed: Annotated[int, option("Random seed of the layout.", metavar="N")] = 0,
    title: Annotated[str | None, option("Title of the page.", metavar="TEXT", show_default=False)] = None,
    width: Annotated[
        int, option("Width of an SVG or PNG in pixels.", metavar="N", panel=OUTPUT, min=200, max=20_000)
    ] = 2000,
    sources: Annotated[
        bool,
        option(
            "Include the source texts in the page, or leave them out to make it smaller.",
            "--sources/--no-sources",
            panel=OUTPUT,
        ),
    ] = True,
    font: Annotated[
        Path | None,
        option("TrueType font for a PNG, for scripts that no system font covers.", metavar="FILE", panel=OUTPUT),
    ] = None,
    folder: IndexFolder = FOLDER,
) -> None:
    """Draw the graph: an interactive HTML page, SVG or PNG.

    The extension of the output file chooses the format. The HTML page is one file that works offline.

    Example: conspectus map -o map.html
    Example: conspectus map -o map.png --width 2400
    """
    index = api.open_index(folder)
    path = conspectus.draw_map(
        index, out or Path("map.html"), level=level or 0, seed=seed, title=title or "", width=width, sources=sources,
        font=font,
    )  # fmt: skip
    show.out(f"{path}: {show.counted(len(index.entities), 'entity')}, {show.size(path.stat().st_size)}")


# Import

app = typer.Typer(help="Import an index or graph of another tool.", no_args_is_help=True)


@app.command("graphrag")
def graphrag(
    source: Annotated[
        Path, argument("DIR", "Output folder of GraphRAG, or the project folder that contains it.")
    ],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
) -> None:
    """Import an index of Microsoft GraphRAG (3.x, 2.x, 1.x).

    Takes over reports, claims and text units. What does not fit is kept, completed or dropped by rules; the output says
    how often each was applied. An existing index in --index is replaced once the new one is complete.

    Example: conspectus import graphrag ragtest/output
    """
    with show.Bars(quiet=json) as bars:
        imported = conspectus.import_graphrag(source, folder, progress=bars)
    index = imported.index
    tables = ("document", "chunk", "entity", "relationship", "claim", "report")
    if json:
        rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
        show.as_json(
            {"index": str(folder), "snapshot": index.snapshot, "rows": rows, "counts": dict(imported.counts)}
        )
        return
    show.out(f"Imported {_sizes(index, tables)} into {folder}.")
    for line in imported.notices():
        show.out(f"  {line}")
    show.out(f"Snapshot: {index.snapshot}")


@app.command("triples")
@takes()
def triples(
    file: Annotated[
        Path,
        argument("FILE", "Triples as lines head|relation|tail, as .csv, .tsv or .jsonl, or as N-Triples (.nt)."),
    ],
    documents: Annotated[
        list[Path] | None, option("File or folder of documents about the entities. Repeatable.", metavar="PATH")
    ] = None,
    links: Annotated[
        Path | None,
        option("With --documents: table that links entities to documents.", metavar="FILE", show_default=False),
    ] = None,
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    *,
    settings: Settings,
) -> None:
    """Import a knowledge graph of triples, for --method tog.

    With --documents, tog reads along the graph the documents that are linked to its entities: by a field `entities` of
    their records, by their titles, or by --links. local, bm25 and walk search the documents alone. An existing index in
    --index is replaced once the new one is complete.

    Example: conspectus import triples graph.tsv --documents articles
    """
    given: list[str | Path] = list(documents or ())
    with show.Bars(quiet=json) as bars:
        index = interchange.import_triples(
            file, folder, documents=given, links=links, settings=settings, progress=bars
        )
    tables = ("triple", "entity", "relationship", *(("document", "chunk") if documents else ()))
    _print_imported(index, folder, tables, json, linked=bool(documents))


@app.command("openie")
def openie(
    file: Annotated[
        Path,
        argument("FILE", "JSON lines with the _id of a passage and its triples, each a list of three strings."),
    ],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
) -> None:
    """Import OpenIE triples of passages already indexed.

    They are used by --method hippo and tog. A passage is the document whose record has the same _id. The graph and its
    reports do not change.

    Example: conspectus import openie triples.jsonl
    """
    _print_imported(api.import_openie(file, folder), folder, ("triple", "document"), json)


def _print_imported(
    index: Index, folder: Path, tables: tuple[str, ...], json: bool, *, linked: bool = False
) -> None:
    """Print what an index of triples holds; end with the code of failures where there were any."""
    stages = ("import", "read") if linked else ("import",)
    failed = [failure for failure in index.failures if failure.stage in stages]
    rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
    from conspectus.interchange.importing import Linked

    if json:
        more = {"linked": Linked.of(index)} if linked else {}
        result = {"index": str(folder), "snapshot": index.snapshot, "rows": rows}
        show.as_json({**result, **more, "failures": failed})
    else:
        show.out(f"Imported into {folder}, which now has {_sizes(index, tables)}.")
        if linked:
            _print_links(index, Linked.of(index))
        show.out(f"Snapshot: {index.snapshot}")
        show.failures(failed)
    if failed:
        raise typer.Exit(WITH_FAILURES)


def _sizes(index: Index, tables: Sequence[str]) -> str:
    return ", ".join(show.counted(len(getattr(index, show.plural(noun))), noun) for noun in tables)


def _print_links(index: Index, counts: Linked) -> None:
    documents, entities = len(index.documents), len(index.entities)
    show.out(
        f"Linked {counts.documents:,} of {show.counted(documents, 'document')} to {counts.entities:,} of "
        f"{show.counted(entities, 'entity')}, by {show.counted(counts.links, 'link')}."
    )
    if not counts.links:
        show.note(
            "Nothing links them: give records a field `entities`, titles that are names of entities, or --links FILE."
        )
