"""`conspectus import`: an index from what another tool has made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus import api, interchange
from conspectus.cli import show
from conspectus.cli.guard import WITH_FAILURES
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    IndexFolder,
    LogFile,
    with_settings,
)

if TYPE_CHECKING:
    from conspectus.index import Index
    from conspectus.settings import Settings

app = typer.Typer(help="Import an index or graph of another tool.", no_args_is_help=True)


@app.command("graphrag")
def graphrag(
    source: Annotated[
        Path, typer.Argument(metavar="DIR", help="Output folder of GraphRAG, or the project folder that contains it.")
    ],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Import an index of Microsoft GraphRAG (3.x, 2.x, 1.x).

    Takes over reports, claims and text units. What does not fit is kept, completed or dropped by rules; the output says
    how often each was applied. An existing index in --index is replaced once the new one is complete.

    Example: conspectus import graphrag ragtest/output
    """
    from conspectus.cli.progress import Bars

    with Bars(quiet=json) as bars:
        imported = interchange.import_graphrag(source, folder, progress=bars)
    index = imported.index
    tables = ("document", "chunk", "entity", "relationship", "claim", "report")
    if json:
        rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
        show.as_json({"index": str(folder), "snapshot": index.snapshot, "rows": rows, "counts": dict(imported.counts)})
        return
    held = ", ".join(show.counted(len(getattr(index, show.plural(noun))), noun) for noun in tables)
    show.out(f"Imported {held} into {folder}.")
    for line in imported.notices():
        show.out(f"  {line}")
    show.out(f"Snapshot: {index.snapshot}")


@app.command("triples")
@with_settings
def triples(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Triples as lines head|relation|tail, as .csv, .tsv or .jsonl, or as N-Triples (.nt)."
        ),
    ],
    documents: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="File or folder of documents about the entities. Repeatable."),
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="With --documents: table that links entities to documents.", show_default=False
        ),
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
    from conspectus.cli.progress import Bars

    given: list[str | Path] = list(documents or ())
    with Bars(quiet=json) as bars:
        index = interchange.import_triples(file, folder, documents=given, links=links, settings=settings, progress=bars)
    tables = ("triple", "entity", "relationship", *(("document", "chunk") if documents else ()))
    _told(index, folder, tables, json, linked=bool(documents))


@app.command("openie")
def openie(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="JSON lines with the _id of a passage and its triples, each a list of three strings."
        ),
    ],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Import OpenIE triples of passages already indexed.

    They are used by --method hippo and tog. A passage is the document whose record has the same _id. The graph and its
    reports do not change.

    Example: conspectus import openie triples.jsonl
    """
    _told(api.import_openie(file, folder), folder, ("triple", "document"), json)


def _told(index: Index, folder: Path, tables: tuple[str, ...], json: bool, *, linked: bool = False) -> None:
    """Say what an index of triples holds; end with the code of failures where there were any."""
    stages = ("import", "read") if linked else ("import",)
    failed = [failure for failure in index.failures if failure.stage in stages]
    rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
    said: dict[str, object] = {"index": str(folder), "snapshot": index.snapshot, "rows": rows}
    if json:
        if linked:
            from conspectus.interchange.importing import Linked

            said["linked"] = Linked.of(index)
        show.as_json({**said, "failures": failed})
    else:
        held = ", ".join(show.counted(len(getattr(index, show.plural(noun))), noun) for noun in tables)
        show.out(f"Imported into {folder}, which now has {held}.")
        if linked:
            _linked(index)
        show.out(f"Snapshot: {index.snapshot}")
        show.failures(failed)
    if failed:
        raise typer.Exit(WITH_FAILURES)


def _linked(index: Index) -> None:
    from conspectus.interchange.importing import Linked

    counts = Linked.of(index)
    documents, entities = len(index.documents), len(index.entities)
    show.out(
        f"Linked {counts.documents:,} of {show.counted(documents, 'document')} to {counts.entities:,} of "
        f"{show.counted(entities, 'entity')}, by {show.counted(counts.links, 'link')}."
    )
    if not counts.links:
        show.note(
            "Nothing links them: give records a field `entities`, titles that are names of entities, or --links FILE."
        )
