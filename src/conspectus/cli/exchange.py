"""`conspectus export`, `map` and `import`: an index for other tools and as a picture, and indexes of other tools."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import conspectus
from conspectus import api, interchange
from conspectus.cli import options, show
from conspectus.cli.options import FOLDER, OUTPUT, AsJson, IndexFolder, argument, option
from conspectus.lazy import lazy_module

if TYPE_CHECKING:
    from conspectus import Index
    from conspectus.interchange import exporting, importing
    from conspectus.settings import Settings
else:
    exporting = lazy_module("conspectus.interchange.exporting")
    importing = lazy_module("conspectus.interchange.importing")

_FORMAT = (
    "Format: parquet, csv, duckdb (the tables; extra duckdb), graphml (Gephi, yEd; extra graph), neo4j (folder of "
    "CSV), json, obsidian (vault of notes), graphrag (folder of Parquet)."
)
_TITLE = "Title of the page."
_SOURCES = "Include the source texts in the page, or leave them out to make it smaller."
_THEIRS = "Output folder of GraphRAG, or the project folder that contains it."
_TRIPLES = "Triples as lines head|relation|tail, as .csv, .tsv or .jsonl, or as N-Triples (.nt; extra graph)."
_DOCUMENTS = "File or folder of documents about the entities. Repeatable."
_LINKS = "With --documents: table that links entities to documents."
_OPENIE = "JSON lines with the _id of a passage and its triples, each a list of three strings."
_formats = options.starting(lambda: exporting.FORMATS)
Format = Annotated[str, argument("FORMAT", _FORMAT, autocompletion=_formats)]
_out = option("Output file or folder.", "--out", "-o", metavar="PATH", panel=OUTPUT, show_default=False)
Out = Annotated[Path | None, _out]
Level = Annotated[int | None, option("Community level to show.", metavar="N", min=0, show_default=False)]
Documents = Annotated[list[Path] | None, option(_DOCUMENTS, metavar="PATH")]


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
        more = "; import.txt has the command that reads them" if format == "neo4j" else ""
        show.out(f"{path}: a folder of {show.counted(len(files), 'file')}{more}")
    else:
        show.out(f"{path}: {_sizes(index, 'entity', 'relationship')}, {show.size(path.stat().st_size)}")


def map_(
    out: Out = None,
    level: Level = None,
    title: Annotated[str | None, option(_TITLE, metavar="TEXT", show_default=False)] = None,
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
    path = conspectus.draw_map(index, out, level=level or 0, title=title or "", sources=sources)
    show.out(f"{path}: {_sizes(index, 'entity')}, {show.size(path.stat().st_size)}")


# Import

app = typer.Typer(help="Import an index or graph of another tool.", no_args_is_help=True)


@app.command("graphrag")
def graphrag(
    source: Annotated[Path, argument("DIR", _THEIRS)], folder: IndexFolder = FOLDER, json: AsJson = False
) -> None:
    """Import an index of Microsoft GraphRAG (3.x, 2.x).

    Takes over reports, claims and text units. What does not fit is kept, completed or dropped by rules; the output says
    how often each was applied. An existing index in --index is replaced once the new one is complete.

    Example: conspectus import graphrag ragtest/output
    """
    with show.Bars(quiet=json) as bars:
        imported = conspectus.import_graphrag(source, folder, progress=bars)
    nouns = ("document", "chunk", "entity", "relationship", "claim", "report")
    more = {"counts": dict(imported.counts)}
    _print_imported(imported.index, folder, nouns, [f"  {line}" for line in imported.notices()], json, more)


@app.command("triples")
@options.takes()
def triples(
    file: Annotated[Path, argument("FILE", _TRIPLES)],
    documents: Documents = None,
    links: Annotated[Path | None, option(_LINKS, metavar="FILE", show_default=False)] = None,
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    *,
    settings: Settings,
) -> None:
    """Import a knowledge graph of triples, for --method tog.

    With --documents, tog also reads the documents that are linked to entities of the graph: by a field `entities` of
    their records, by their titles, or by --links. local, bm25 and walk search the documents alone. An existing index in
    --index is replaced once the new one is complete.

    A compressed file (.gz, .bz2) is read as a stream, and its triples stay on disk: tables of three columns, and
    Wikidata's dumps, latest-truthy.nt and latest-all.json, with labels in the language of the settings.

    Example: conspectus import triples graph.tsv --documents articles
    Example: conspectus import triples latest-truthy.nt.bz2 --index wikidata
    """
    with show.Bars(quiet=json) as bars:
        index = interchange.import_triples(
            file, folder, documents=[*(documents or ())], links=links, settings=settings, progress=bars
        )
    nouns = ["triple", "entity", "relationship"]
    stored = index.settings.get("imported", {}).get("stored", 0)
    lines = [f"The graph has {show.counted(stored, 'triple')}, which stay on disk."] if stored else []
    if not documents:
        _print_imported(
            index, folder, nouns[: 0 if stored else None], lines, json, {"stored": stored} if stored else {}
        )
        return
    linked = importing.Linked.of(index)
    line = (
        f"Linked {linked.documents:,} of {_sizes(index, 'document')} to {linked.entities:,} of "
        f"{_sizes(index, 'entity')}, by {show.counted(linked.links, 'link')}."
    )
    if not linked.links:
        line += (
            "\nNothing links them. These would: a field `entities` in records, titles that are names of entities, or "
            "--links FILE."
        )
    _print_imported(index, folder, [*nouns, "document", "chunk"], [*lines, line], json, {"linked": linked})


@app.command("openie")
def openie(
    file: Annotated[Path, argument("FILE", _OPENIE)], folder: IndexFolder = FOLDER, json: AsJson = False
) -> None:
    """Import OpenIE triples of passages already indexed.

    They are used by --method hipporag and tog. A passage is the document whose record has the same _id. The graph
    and its reports do not change.

    Example: conspectus import openie triples.jsonl
    """
    _print_imported(api.import_openie(file, folder), folder, ("triple", "document"), [], json, {})


def _print_imported(
    index: Index,
    folder: Path,
    nouns: Sequence[str],
    lines: Sequence[str],
    json: bool,
    more: Mapping[str, object],
) -> None:
    """Print the contents of an imported index; end with the exit code for failures if there were any."""
    stages = ("import", "read") if "linked" in more else ("import",)
    failed = [failure for failure in index.failures if failure.stage in stages]
    if json:
        rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in nouns}
        head = {"index": str(folder), "snapshot": index.snapshot, "rows": rows}
        show.as_json({**head, **more, "failures": failed})
    else:
        for line in (
            f"Imported into {folder}: {_sizes(index, *nouns) or 'a graph'}.",
            *lines,
            f"Snapshot: {index.snapshot}",
        ):
            show.out(line)
        show.failures(failed)
    if failed:
        raise typer.Exit(options.WITH_FAILURES)


def _sizes(index: Index, *nouns: str) -> str:
    return ", ".join(show.counted(len(getattr(index, show.plural(noun))), noun) for noun in nouns)
