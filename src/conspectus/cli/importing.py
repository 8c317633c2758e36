"""`conspectus import`: an index from what another tool has made."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.guard import WITH_FAILURES
from conspectus.cli.options import FOLDER, AsJson, IndexFolder, LogFile

if TYPE_CHECKING:
    from conspectus.tables import Index

app = typer.Typer(help="Make an index from what another tool has made, or a graph that is given.", no_args_is_help=True)


@app.command("graphrag")
def graphrag(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="Its output folder, or the project that holds it.")],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Read an index of Microsoft GraphRAG (3.x or 2.x): reports, claims and text units included.

    What does not fit is kept, completed or dropped by rules that are told with how often each was applied.
    The index in the folder is replaced when the new one is whole.
    """
    from conspectus import store
    from conspectus.interchange.graphrag import read_graphrag

    imported = read_graphrag(source)
    index = imported.index
    with store.writing(folder):
        snapshot = store.commit(folder, index, settings=index.settings, usage={})
    tables = ("document", "chunk", "entity", "relationship", "claim", "report")
    if json:
        rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
        show.as_json({"index": str(folder), "snapshot": snapshot, "rows": rows, "counts": dict(imported.counts)})
        return
    held = ", ".join(show.counted(len(getattr(index, show.plural(noun))), noun) for noun in tables)
    show.out(f"Imported {held} into {folder}.")
    for line in imported.told():
        show.out(f"  {line}")
    show.out(f"Snapshot: {snapshot}")


@app.command("triples")
def triples(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="Lines head|relation|tail, a .csv or .tsv, or N-Triples (.nt)."),
    ],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Read a knowledge graph without text, to ask it with --method tog.

    The index in the folder is replaced when the new one is whole.
    """
    from conspectus import api

    _told(api.import_triples(file, folder), folder, ("triple", "entity", "relationship"), json)


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


def _told(index: Index, folder: Path, tables: tuple[str, ...], json: bool) -> None:
    """Say what an index of triples holds; end with the code of failures where there were any."""
    failed = [failure for failure in index.failures if failure.stage == "import"]
    rows = {show.plural(noun): len(getattr(index, show.plural(noun))) for noun in tables}
    if json:
        show.as_json({"index": str(folder), "snapshot": index.snapshot, "rows": rows, "failures": failed})
    else:
        held = ", ".join(show.counted(len(getattr(index, show.plural(noun))), noun) for noun in tables)
        show.out(f"Imported into {folder}, which now has {held}.")
        show.out(f"Snapshot: {index.snapshot}")
        show.failures(failed)
    if failed:
        raise typer.Exit(WITH_FAILURES)
