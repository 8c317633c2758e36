"""`conspectus correct`: correct the graph, in a file that every run of `conspectus index` applies."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, asdict, fields
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin, get_type_hints

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.index import print_built
from conspectus.cli.options import (
    DONE,
    FOLDER,
    OTHER,
    SERVER,
    WITH_FAILURES,
    AsJson,
    Given,
    IndexFolder,
    Quiet,
    entity_names,
    takes,
)

if TYPE_CHECKING:
    from conspectus.api import Correction, CorrectionState

app = typer.Typer(
    no_args_is_help=True,
    help="Edit the graph: merge, split, rename, retype, delete, add.\n\nCorrections are saved in a "
    "file, and every run of conspectus index applies them.",
)
WHEN = "This takes effect with the next conspectus index, or at once with conspectus correct apply."
CARRIED_ON = (
    "The graph will be as before; communities and reports are carried on and may differ. For those as before, too: "
    "conspectus index SOURCE --fresh."
)
"""A build begins its communities with those of the index that it replaces, so that few reports are written again."""
OPTIONS = {"into": "--into", "documents": "--document", "aliases": "--alias"}
"""Fields that are options though they are required, or of which each option gives one value."""
METAVARS = {
    "names": "NAME...", "description": "FACT", "into": "NAME", "documents": "PATH", "aliases": "NAME", "strength": "N",
    "quote": "TEXT", "document": "PATH",
}  # fmt: skip

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
Author = Annotated[str, typer.Option(metavar="NAME", help="Author of the correction.", rich_help_panel=OTHER)]
Note = Annotated[str, typer.Option(metavar="TEXT", help="Reason for the correction.", rich_help_panel=OTHER)]


# A command for each kind


def _save(
    correction: Correction,
    folder: IndexFolder = FOLDER,
    corrections: File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
) -> None:
    """Add a correction to the file and show it."""
    if correction.kind == "retype" and not json:
        _note_new_type(vars(correction)["type"], folder)
    correction = api.correct(folder, correction, file=corrections or "")
    if json:
        show.as_json(flat(correction))
    else:
        show.out(f"Correction {correction.number}: {str(correction).rstrip('.。')}.")
        show.note(WHEN)


def _note_new_type(type: str, folder: Path) -> None:
    """Say so where no entity is of a type yet: it may be misspelt."""
    types = Counter(entity.type for entity in api.open_index(folder).entities)
    if type not in types:
        others = ", ".join(f"{other} ({count:,})" for other, count in types.most_common(show.LINES))
        show.note(f"No entity is of type {type} so far; there are {others}.")


def _parameters(kind: type[Correction]) -> Iterator[Parameter]:
    """Yield the arguments and options that give the fields of a kind of corrections."""
    hints = get_type_hints(kind, include_extras=True)
    for field in (field for field in fields(kind) if not field.kw_only):
        type_, *about = get_args(hints[field.name])
        help_ = next(filter(None, (getattr(part, "description", None) for part in reversed(about))))
        many, required = get_origin(type_) is tuple, field.default is MISSING
        metavar = METAVARS.get(field.name, field.name.upper())
        if required and field.name not in OPTIONS:
            complete = entity_names if field.name in ("name", "names", "source", "target") else None
            info = typer.Argument(metavar=metavar, help=help_, autocompletion=complete, show_default=False)
        else:
            option = OPTIONS.get(field.name, f"--{field.name}")
            metavar = None if type_ is bool else metavar
            info = typer.Option(
                option, metavar=metavar, help=help_, show_default=isinstance(field.default, float)
            )
        annotation = Annotated[list[str] if many else type_, info]
        default: Any = None if many else field.default
        if required:
            default = Parameter.empty
        yield Parameter(
            field.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=default,
            annotation=annotation,
        )


def _add_command(kind: type[Correction]) -> None:
    """Add the command of a kind of corrections: its fields, then the options of `_save`."""
    own = list(_parameters(kind))
    _, *shared = inspect.signature(_save, eval_str=True, locals={"Correction": Any}).parameters.values()

    def command(**values: Any) -> None:
        given = {p.name: value for p in own if (value := values.pop(p.name)) is not None}
        _save(kind(**given, author=values["author"], note=values["note"]), **values)

    command.__doc__ = kind.__doc__
    vars(command)["__signature__"] = inspect.Signature([*own, *shared])
    app.command(kind.kind)(command)


for each in api.KINDS.values():
    _add_command(each)


# Listing, undoing and applying


@app.command("list")
def list_(folder: IndexFolder = FOLDER, corrections: File = None, json: AsJson = False) -> None:
    """List all corrections with their state.

    The state is applied, waiting (for the next conspectus index or correct apply) or failing, in the order in which
    corrections are applied.

    Example: conspectus correct list
    """
    listed = api.corrections(folder, file=corrections or "")
    if json:
        rows = [flat(row.correction) | {"state": row.state, "reason": row.reason} for row in listed.rows]
        show.as_json({"file": str(listed.file), "corrections": rows, "undone": listed.undone})
        return
    if listed.rows:
        show.table([["", "State", "Correction"], *map(_row, listed.rows)], texts=3)
        for row in listed.rows:
            if row.reason:
                show.out(f"\n{row.correction.number} is not in force, or not wholly: {row.reason}.")
    else:
        show.out("There are no corrections.")
    if listed.undone:
        show.out(
            f"\nUndone or edited, and still in the index as it was: {', '.join(map(str, listed.undone))}."
        )
    show.note(f"\nThey are kept in {listed.file}.")
    if listed.undone or any(row.state == "waiting" for row in listed.rows):
        show.note(WHEN)


def flat(correction: Correction) -> dict[str, Any]:
    """Return a correction as one object, its kind under `kind`."""
    return {"number": correction.number, "kind": correction.kind, **asdict(correction)}


def _row(row: CorrectionState) -> list[str]:
    correction = row.correction
    remarks = ", ".join(part for part in (correction.date, correction.author, correction.note) if part)
    return [str(correction.number), row.state, f"{correction}" + (f"  ({remarks})" if remarks else "")]


Number = Annotated[
    int,
    typer.Argument(
        metavar="N", help="Number of the correction, as shown by conspectus correct list.", show_default=False
    ),
]


@app.command()
def undo(number: Number, folder: IndexFolder = FOLDER, corrections: File = None, json: AsJson = False) -> None:
    """Remove a correction.

    The graph is then what it was before. Communities and reports are carried on from the index as it is, and may
    differ from before; conspectus index SOURCE --fresh computes them as if the correction had never been made.

    Example: conspectus correct undo 2
    """
    correction = api.undo(folder, number, file=corrections or "")
    if json:
        show.as_json(flat(correction))
    else:
        show.out(f"Undone: {correction.title} ({correction}).")
        show.note(WHEN)
        show.note(CARRIED_ON)


@app.command()
@takes(*SERVER, config=False)
def apply(
    folder: IndexFolder = FOLDER,
    corrections: File = None,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    given: Given,
) -> None:
    """Apply the corrections to the index now.

    Rebuilds the index from the documents that it holds, without reading the files again. Cached model responses are
    reused; only what changes is asked anew.

    Example: conspectus correct apply
    """
    began = time.perf_counter()
    undone = api.corrections(folder, file=corrections or "").undone
    with show.Bars(quiet=quiet or json) as bars:
        built = api.apply_corrections(folder, file=corrections or "", settings=given.flags, progress=bars)
    print_built(built, time.perf_counter() - began, json=json, quiet=quiet)
    if undone and not json:
        show.note(CARRIED_ON)
    raise typer.Exit(WITH_FAILURES if built.failures else DONE)
