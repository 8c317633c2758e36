"""`conspectus export`, `map` and `import`: an index for other tools and for eyes, and from what others have made."""

from __future__ import annotations

from collections.abc import Iterable
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
from conspectus.lazy import lazy_module

if TYPE_CHECKING:
    from conspectus import Index
    from conspectus.interchange import exporting, importing
    from conspectus.settings import Settings
else:
    exporting = lazy_module("conspectus.interchange.exporting")
    importing = lazy_module("conspectus.interchange.importing")


def _formats() -> Iterable[str]:
    return exporting.FORMATS


_FORMAT = (
    "Format: parquet, csv (the tables), graphml (Gephi, yEd), neo4j (folder of CSV), json, "
    "obsidian (vault of notes), graphrag (folder of Parquet)."
)
_TRIPLES = "Triples as lines head|relation|tail, as .csv, .tsv or .jsonl, or as N-Triples (.nt)."
_SOURCES = "Include the source texts in the page, or leave them out to make it smaller."
_LINKS = "With --documents: table that links entities to documents."
Format = Annotated[str, argument("FORMAT", _FORMAT, autocompletion=starting(_formats))]
Out = Annotated[
    Path | None,
    option("Output file or folder.", "--out", "-o", metavar="PATH", panel=OUTPUT, show_default=False),
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
    if path.is_dir():
        files = [p for p in path.rglob("*") if p.is_file() and p.name[0] != "."]
        more = "; import.txt holds the command that reads them" if format == "neo4j" else ""
        show.out(f"{path}: a folder of {show.counted(len(files), 'file')}{more}")
    else:
        show.out(f"{path}: {_sizes(index, 'entity', 'relationship')}, {show.size(path.stat().st_size)}")


def map_(
    out: Out = None,
    level: Level = None,
    seed: Annotated[int, option("Random seed of the layout.", metavar="N")] = 0,
    title: Annotated[str | None, option("Title of the page.", metavar="TEXT", show_default=False)] = None,
    sources: Annotated[bool, option(_SOURCES, "--sources/--no-sources", panel=OUTPUT)] = True,
    folder: IndexFolder = FOLDER,
) -> None:
    """Draw the graph as an interactive HTML page.

    The page is one file that works offline.

    Example: conspectus map -o map.html
    Example: conspectus map --level 1 --no-sources
    """
    index = api.open_index(folder)
    out = out or Path("map.html")
    path = conspectus.draw_map(index, out, level=level or 0, seed=seed, title=title or "", sources=sources)
    show.out(f"{path}: {_sizes(index, 'entity')}, {show.size(path.stat().st_size)}")


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
    """Import an index of Microsoft GraphRAG (3.x, 2.x).

    Takes over reports, claims and text units. What does not fit is kept, completed or dropped by rules; the output says
    how often each was applied. An existing index in --index is replaced once the new one is complete.

    Example: conspectus import graphrag ragtest/output
    """
    with show.Bars(quiet=json) as bars:
        imported = conspectus.import_graphrag(source, folder, progress=bars)
    tables = ("document", "chunk", "entity", "relationship", "claim", "report")
    if json:
        _print_as_json(imported.index, folder, tables, counts=dict(imported.counts))
        return
    show.out(f"Imported {_sizes(imported.index, *tables)} into {folder}.")
    for line in imported.notices():
        show.out(f"  {line}")
    show.out(f"Snapshot: {imported.index.snapshot}")


@app.command("triples")
@takes()
def triples(
    file: Annotated[Path, argument("FILE", _TRIPLES)],
    documents: Annotated[
        list[Path] | None,
        option("File or folder of documents about the entities. Repeatable.", metavar="PATH"),
    ] = None,
    links: Annotated[Path | None, option(_LINKS, metavar="FILE", show_default=False)] = None,
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
        argument(
            "FILE", "JSON lines with the _id of a passage and its triples, each a list of three strings."
        ),
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
    counts = importing.Linked.of(index)
    if json:
        _print_as_json(index, folder, tables, **({"linked": counts} if linked else {}), failures=failed)
    else:
        show.out(f"Imported into {folder}, which now has {_sizes(index, *tables)}.")
        if linked:
            show.out(
                f"Linked {counts.documents:,} of {_sizes(index, 'document')} to {counts.entities:,} of "
                f"{_sizes(index, 'entity')}, by {show.counted(counts.links, 'link')}."
            )
        if linked and not counts.links:
            ways = "a field `entities` in records, titles that are names of entities, or --links FILE"
            show.note(f"Nothing links them; what would: {ways}.")
        show.out(f"Snapshot: {index.snapshot}")
        show.failures(failed)
    if failed:
        raise typer.Exit(WITH_FAILURES)


def _print_as_json(index: Index, folder: Path, tables: tuple[str, ...], **more: object) -> None:
    rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
    show.as_json({"index": str(folder), "snapshot": index.snapshot, "rows": rows, **more})


def _sizes(index: Index, *nouns: str) -> str:
    return ", ".join(show.counted(len(getattr(index, show.plural(noun))), noun) for noun in nouns)
