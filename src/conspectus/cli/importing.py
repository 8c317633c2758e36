"""`conspectus import`: an index from what another tool has made."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli import show
from conspectus.cli.options import FOLDER, AsJson, IndexFolder, LogFile

app = typer.Typer(help="Make an index from what another tool has made.", no_args_is_help=True)


@app.command("graphrag")
def graphrag(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="Its output folder, or the project that holds it.")],
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Read an index of Microsoft GraphRAG (3.x or 2.x): reports, claims and text units included.

    What does not fit is kept, completed or dropped by rules that are told with how often each was applied. The index
    in the folder is replaced when the new one is whole.
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
