"""`conspectus correct list`, `undo` and `apply`, and what other commands say of the corrections of an index."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import show
from conspectus.cli.guard import DONE, WITH_FAILURES
from conspectus.cli.help import OTHER
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    BaseUrl,
    Budget,
    BudgetTokens,
    IndexFolder,
    LogFile,
    Quiet,
    SetKeys,
    TraceFile,
    model_flags,
    overrides,
)

if TYPE_CHECKING:
    from conspectus.api import Built
    from conspectus.api.correcting import Corrections, Standing
    from conspectus.corrections import Entry

STATES = ("applied", "waiting", "failing")
WHEN = "This takes effect with the next conspectus index, or at once with conspectus correct apply."
CARRIED_ON = (
    "The graph will be as before; communities and reports are carried on and may differ. For those as before, too: "
    "conspectus index SOURCE --fresh."
)
"""A build begins its communities with those of the index that it replaces, so that few reports are written again."""

File = Annotated[
    Path | None,
    typer.Option(
        "--corrections",
        metavar="FILE",
        rich_help_panel=OTHER,
        help="File of corrections, e.g. beside the corpus (default: corrections.toml in the index folder).",
        show_default=False,
    ),
]


def list_(folder: IndexFolder = FOLDER, corrections: File = None, json: AsJson = False, log: LogFile = None) -> None:
    """List all corrections with their state.

    The state is applied, waiting (for the next conspectus index or correct apply) or failing, in the order in which
    corrections are applied.

    Example: conspectus correct list
    """
    from conspectus import api

    found = api.corrections(folder, file=corrections or "")
    if json:
        rows = [flat(row.entry) | {"state": row.state, "why": row.why} for row in found.rows]
        show.as_json({"file": str(found.file), "corrections": rows, "undone": found.undone})
        return
    if found.rows:
        show.table([["", "State", "Correction"], *(_row(row) for row in found.rows)], texts=3)
        for row in found.rows:
            if row.why:
                show.out(f"\n{row.entry.number} is not in force, or not wholly: {row.why}.")
    else:
        show.out("There are no corrections.")
    if found.undone:
        show.out(f"\nUndone or edited, and still in the index as it was: {', '.join(map(str, found.undone))}.")
    show.note(f"\nThey are kept in {found.file}.")
    if found.undone or any(row.state == "waiting" for row in found.rows):
        show.note(WHEN)


def undo(
    number: Annotated[
        int,
        typer.Argument(
            metavar="N", help="Number of the correction, as shown by conspectus correct list.", show_default=False
        ),
    ],
    folder: IndexFolder = FOLDER,
    corrections: File = None,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Remove a correction.

    The graph is then what it was before. Communities and reports are carried on from the index as it is, and may
    differ from before; conspectus index SOURCE --fresh computes them as if the correction had never been made.

    Example: conspectus correct undo 2
    """
    from conspectus import api

    entry = api.undo(folder, number, file=corrections or "")
    if json:
        show.as_json(flat(entry))
    else:
        show.out(f"Undone: {entry}.")
        show.note(WHEN)
        show.note(CARRIED_ON)


def apply(
    folder: IndexFolder = FOLDER,
    corrections: File = None,
    base_url: BaseUrl = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    trace: TraceFile = None,
    json: AsJson = False,
    quiet: Quiet = False,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Apply the corrections to the index now.

    Rebuilds the index from the documents that it holds, without reading the files again. Cached model responses are
    reused; only what changes is asked anew.

    Example: conspectus correct apply
    """
    from conspectus import api
    from conspectus.cli.index import tell  # which says of corrections what is here
    from conspectus.cli.progress import Bars

    said = overrides(set_, model_flags(None, base_url, None, budget, budget_tokens, trace))
    began = time.perf_counter()
    with Bars(quiet=quiet or json) as bars:
        built = api.apply_corrections(folder, file=corrections or "", settings=said, progress=bars)
    tell(built, time.perf_counter() - began, json=json, quiet=quiet)
    raise typer.Exit(WITH_FAILURES if built.failures else DONE)


def flat(entry: Entry) -> dict[str, Any]:
    """Return a correction as one object, its kind under `kind`."""
    return {
        "number": entry.number,
        "kind": entry.correction.kind,
        **asdict(entry.correction),
        "date": entry.date,
        "author": entry.author,
        "note": entry.note,
    }


def _row(row: Standing) -> Sequence[str]:
    said = ", ".join(part for part in (row.entry.date, row.entry.author, row.entry.note) if part)
    return [str(row.entry.number), row.state, f"{row.entry.correction}" + (f"  ({said})" if said else "")]


def of_built(built: Built) -> Corrections:
    """Return the corrections that an index was just made with."""
    from conspectus.api import corrections
    from conspectus.corrections.file import FILE_NAME

    kept = str(built.index.settings.get("store", {}).get("corrections", ""))
    return corrections(built.folder, file=kept or built.folder / FILE_NAME)


def summary(found: Corrections) -> Iterator[str]:
    """Yield a line that says how many corrections there are, if there are any."""
    counts = Counter(row.state for row in found.rows)
    told = [f"{counts[state]:,} {state}" for state in STATES if counts[state]]
    told += [f"{len(found.undone):,} undone since"] if found.undone else []
    if told:
        yield f"Corrections: {', '.join(told)} ({found.file})."


def counted(found: Corrections) -> dict[str, Any]:
    """Return the same for machines."""
    counts = Counter(row.state for row in found.rows)
    return {"file": str(found.file), **{state: counts[state] for state in STATES}, "undone": len(found.undone)}
