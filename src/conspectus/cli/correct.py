"""`conspectus correct`: correct the graph, by a file that every run of `conspectus index` applies."""

from __future__ import annotations

import inspect
import time
from dataclasses import MISSING, Field, asdict, fields, replace
from inspect import Parameter
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
    takes,
    with_parameters,
)

if TYPE_CHECKING:
    from conspectus.api import Correction, CorrectionState

app = typer.Typer(
    no_args_is_help=True,
    help="Edit the graph: merge, split, rename, retype, delete, add.\n\nCorrections are saved in a "
    "file, and every run of conspectus index applies them.",
)
WHEN = "This takes effect with the next conspectus index, or at once with conspectus correct apply."
OPTIONS = {"into": "--into", "documents": "--document"}
"""The fields of corrections that are options, and their names; the others are arguments."""

Author = Annotated[str, typer.Option(metavar="NAME", help="Author of the correction.", rich_help_panel=OTHER)]
Note = Annotated[str, typer.Option(metavar="TEXT", help="Reason for the correction.", rich_help_panel=OTHER)]


# A command for each kind


def _save(
    correction: Correction,
    folder: IndexFolder = FOLDER,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
) -> None:
    """Add a correction to the file and show it."""
    saved = api.correct(folder, replace(correction, author=author, note=note))
    if json:
        show.as_json(flat(saved))
    else:
        show.out(f"Correction {saved.number}: {str(saved).rstrip('.。')}.")
        show.note(WHEN)


def _parameter(field: Field[Any], hint: Any) -> Parameter:
    """Return the parameter (argument or option) for a field of a kind of correction."""
    kind, *annotations = get_args(hint)
    about = next(part for part in annotations if getattr(part, "title", ""))
    if field.name in OPTIONS:
        info = typer.Option(
            OPTIONS[field.name], metavar=about.title, help=about.description, show_default=False
        )
    else:
        info = typer.Argument(metavar=about.title, help=about.description, show_default=False)
    if get_origin(kind) is tuple:
        kind = list[str]
    default: Any = Parameter.empty if field.default is MISSING else field.default
    annotation = Annotated[kind, info]
    return Parameter(field.name, Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=annotation)


def _add_command(kind: type[Correction]) -> None:
    """Add the command for a kind of correction: its fields, then the options of `_save`."""
    hints = get_type_hints(kind, include_extras=True)
    own = [_parameter(field, hints[field.name]) for field in fields(kind) if not field.kw_only]
    _, *shared = inspect.signature(_save, eval_str=True, locals={"Correction": Any}).parameters.values()

    def command(**values: Any) -> None:
        _save(kind(**{parameter.name: values.pop(parameter.name) for parameter in own}), **values)

    command.__doc__ = kind.__doc__
    app.command(kind.kind)(with_parameters(command, [*own, *shared]))


for each in api.KINDS.values():
    _add_command(each)


# Listing, undoing and applying


@app.command("list")
def list_(folder: IndexFolder = FOLDER, json: AsJson = False) -> None:
    """List all corrections with their state.

    The state is applied, waiting (for the next conspectus index or correct apply) or failing, in the order in which
    corrections are applied.

    Example: conspectus correct list
    """
    listed = api.corrections(folder)
    if json:
        rows = [flat(row.correction) | {"state": row.state, "reason": row.reason} for row in listed.rows]
        show.as_json({"file": str(listed.file), "corrections": rows})
        return
    if listed.rows:
        show.table([["", "State", "Correction"], *map(_row, listed.rows)], texts=3)
    else:
        show.out("There are no corrections.")
    show.note(f"\nThey are saved in {listed.file}.")
    if any(row.state == "waiting" for row in listed.rows):
        show.note(WHEN)


def flat(correction: Correction) -> dict[str, Any]:
    """Return a correction as a flat object, with its kind under `kind`."""
    return {"number": correction.number, "kind": correction.kind, **asdict(correction)}


def _row(row: CorrectionState) -> list[str]:
    correction = row.correction
    remarks = ", ".join(filter(None, (correction.date, correction.author, correction.note)))
    parts = [str(correction), f"  ({remarks})" if remarks else "", f"; {row.reason}" if row.reason else ""]
    return [str(correction.number), row.state, "".join(parts)]


Number = Annotated[
    int,
    typer.Argument(
        metavar="N", help="Number of the correction, as shown by conspectus correct list.", show_default=False
    ),
]


@app.command()
def undo(number: Number, folder: IndexFolder = FOLDER, json: AsJson = False) -> None:
    """Remove a correction.

    The graph is then what it was before. Communities and reports are carried on from the index as it is, and may
    differ from before; conspectus index SOURCE --fresh computes them as if the correction had never been made.

    Example: conspectus correct undo 2
    """
    correction = api.undo(folder, number)
    if json:
        show.as_json(flat(correction))
    else:
        show.out(f"Undone: {correction.title} ({correction}).")
        show.note(WHEN)


@app.command()
@takes(*SERVER, config=False)
def apply(folder: IndexFolder = FOLDER, json: AsJson = False, quiet: Quiet = False, *, given: Given) -> None:
    """Apply the corrections to the index now.

    Rebuilds the index from the documents that it holds, without reading the files again. Cached model responses are
    reused; only what changes is asked anew.

    Example: conspectus correct apply
    """
    began = time.perf_counter()
    with show.Bars(quiet=quiet or json) as bars:
        built = api.apply_corrections(folder, settings=given.flags, progress=bars)
    print_built(built, time.perf_counter() - began, json=json, quiet=quiet)
    raise typer.Exit(WITH_FAILURES if built.failures else DONE)
