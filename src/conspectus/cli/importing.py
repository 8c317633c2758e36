"""`conspectus import`: an index from what another tool has made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.guard import WITH_FAILURES
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    IndexFolder,
    LogFile,
)
from conspectus.cli.settled import with_settings

if TYPE_CHECKING:
    from conspectus.settings import Settings
    from conspectus.tables import Index

app = typer.Typer(help="Make an index from what another tool has made, or a graph that is given.", no_args_is_help=True)


@app.command("graphrag")
def graphrag(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="Its output folder, or the project that holds it.")],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Read an index of Microsoft GraphRAG (3.x, 2.x or 1.x): reports, claims and text units included.

    What does not fit is kept, completed or dropped by rules that are told with how often each was applied.
    The index in the folder is replaced when the new one is whole.
    """
    from conspectus import api
    from conspectus.cli.progress import Bars

    with Bars(quiet=json) as bars:
        imported = api.import_graphrag(source, folder, progress=bars)
    index = imported.index
    tables = ("document", "chunk", "entity", "relationship", "claim", "report")
    if json:
        rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
        show.as_json({"index": str(folder), "snapshot": index.snapshot, "rows": rows, "counts": dict(imported.counts)})
        return
    held = ", ".join(show.counted(len(getattr(index, show.plural(noun))), noun) for noun in tables)
    show.out(f"Imported {held} into {folder}.")
    for line in imported.told():
        show.out(f"  {line}")
    show.out(f"Snapshot: {index.snapshot}")


@app.command("triples")
@with_settings
def triples(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Lines head|relation|tail, a .csv, .tsv or .jsonl, or N-Triples (.nt)."),
    ],
    documents: Annotated[
        list[Path] | None,
        typer.Option(metavar="PATH", help="File or folder of documents about its entities; may be repeated."),
    ] = None,
    links: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --documents: a table of entities and documents.", show_default=False),
    ] = None,
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    *,
    settings: Settings,
) -> None:
    """Read a knowledge graph, to ask it with --method tog; and documents about what is in it.

    A document is linked to the entities that its record lists in a field `entities`, to the one that its title
    names, and to those that --links gives it. tog then goes along the graph and reads what is linked to where
    it arrives; local, bm25 and walk read the documents.

    The index in the folder is replaced when the new one is whole.
    """
    from conspectus import api
    from conspectus.cli.progress import Bars

    given: list[str | Path] = list(documents or ())
    with Bars(quiet=json) as bars:
        index = api.import_triples(file, folder, documents=given, links=links, settings=settings, progress=bars)
    tables = ("triple", "entity", "relationship", *(("document", "chunk") if documents else ()))
    _told(index, folder, tables, json, linked=bool(documents))


@app.command("openie")
def openie(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="JSON lines: _id of a passage, triples as lists of three texts."),
    ],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Read triples of passages that are indexed already, for --method hippo and tog.

    A passage is the document whose record had its _id. Its graph and reports stay what they are.
    """
    from conspectus import api

    _told(api.import_openie(file, folder), folder, ("triple", "document"), json)


def _told(index: Index, folder: Path, tables: tuple[str, ...], json: bool, *, linked: bool = False) -> None:
    """Say what an index of triples holds; end with the code of failures where there were any."""
    stages = ("import", "read") if linked else ("import",)
    failed = [failure for failure in index.failures if failure.stage in stages]
    rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
    said: dict[str, object] = {"index": str(folder), "snapshot": index.snapshot, "rows": rows}
    if json:
        if linked:
            from conspectus.interchange.linked import Linked

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
    from conspectus.interchange.linked import Linked

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
