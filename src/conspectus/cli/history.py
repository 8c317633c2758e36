"""`conspectus status --history` and `conspectus rollback`: the snapshots that an index's folder keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.options import FOLDER, AsJson, IndexFolder, LogFile
from conspectus.errors import ConspectusError

if TYPE_CHECKING:
    from conspectus.index_status import Snapshot


def print_history(folder: Path, json: bool) -> None:
    """Print the snapshots, the newest first."""
    from conspectus.api import history

    kept = history(folder)
    if json:
        show.as_json({"index": str(folder), "snapshots": [asdict(snapshot) for snapshot in kept]})
        return
    show.table(_rows(kept), texts=3)
    if len(kept) > 1:
        show.note("* is the current one; conspectus rollback SNAPSHOT returns to another.")


def _rows(kept: Sequence[Snapshot]) -> Iterator[Sequence[str]]:
    yield ["", "Snapshot", "Created", "Documents", "Entities", "Reports", "Failures", "Calls", "Tokens", "Cost (USD)"]
    for s in kept:
        tokens = s.usage.prompt_tokens + s.usage.completion_tokens
        counts = (s.documents, s.entities, s.reports, s.failures, s.usage.calls, tokens)
        when = s.created.replace("T", " ").replace("+00:00", " UTC")
        cost = f"{s.usage.cost:.4f}" if s.usage.cost else "-"
        yield ["*" if s.current else "", s.snapshot, when, *(f"{count:,}" for count in counts), cost]


def names_of(folder: Path, incomplete: str) -> list[str]:
    """Return the snapshots of a folder but the current one, as far as they begin with what is typed."""
    from conspectus.api import history

    try:
        kept = history(folder)
    except ConspectusError:
        return []
    return [s.snapshot for s in kept if not s.current and s.snapshot.startswith(incomplete)]


def _completed(ctx: typer.Context, incomplete: str) -> list[str]:
    return names_of(ctx.params.get("folder") or FOLDER, incomplete)


def rollback(
    snapshot: Annotated[
        str,
        typer.Argument(
            metavar="SNAPSHOT",
            help="First characters of the snapshot's id (default: the snapshot before the current one).",
            autocompletion=_completed,
            show_default=False,
        ),
    ] = "",
    folder: IndexFolder = FOLDER,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Return to an earlier snapshot of an index.

    The current snapshot stays available, so that you can return to it, too; conspectus status --history lists all.
    Cached model responses stay as well, so that indexing either set of documents again costs nothing.

    Example: conspectus rollback
    Example: conspectus rollback 3f2a9c
    """
    was = api.open_index(folder).snapshot
    index = api.rollback(folder, snapshot)
    if json:
        show.as_json({"index": str(folder), "snapshot": index.snapshot, "was": was})
        return
    documents = show.counted(len(index.documents), "document")
    if index.snapshot == was:
        show.out(f"Snapshot {was} is the current one already ({documents}).")
    else:
        show.out(f"Snapshot {index.snapshot} is current again ({documents}).")
        show.note(f"conspectus rollback {was} returns to the one that was.")
