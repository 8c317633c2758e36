"""`conspectus correct`: correct the graph, in a file that every run of `conspectus index` applies."""

from __future__ import annotations

import inspect
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
    from conspectus.api import Correction, CorrectionState, Entry

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


def _name(metavar: str, text: str) -> Any:
    return typer.Argument(metavar=metavar, help=text, autocompletion=entity_names, show_default=False)


def _text(metavar: str, text: str) -> Any:
    return typer.Argument(metavar=metavar, help=text, show_default=False)


def _option(metavar: str, text: str, **more: Any) -> Any:
    return typer.Option(metavar=metavar, help=text, show_default=False, **more)


Author = Annotated[str, _option("NAME", "Author of the correction, kept with it.", rich_help_panel=OTHER)]
Note = Annotated[str, _option("TEXT", "Reason for the correction, kept with it.", rich_help_panel=OTHER)]
EntityName = Annotated[str, _name("NAME", "Name of the entity.")]
Documents = Annotated[
    list[str] | None,
    typer.Option(
        "--document",
        metavar="PATH",
        help="Document in which NAME means the entity that is split off: a path, the end of a path or a pattern such "
        "as 'planets/*'. Repeatable.",
    ),
]
Aliases = Annotated[
    list[str] | None,
    typer.Option(
        "--alias", metavar="NAME", help="Alias that belongs to the entity that is split off. Repeatable."
    ),
]
Strength = Annotated[
    float, typer.Option(metavar="N", min=1, max=10, help="Strength of the relationship, 1 to 10.")
]
Create = Annotated[bool, typer.Option("--create", help="Create the entities if they do not exist yet.")]


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
    entry = api.correct(folder, correction, file=corrections or "", author=author, note=note)
    if json:
        show.as_json(flat(entry))
    else:
        show.out(f"Correction {entry.number}: {str(entry.correction).rstrip('.。')}.")
        show.note(WHEN)


def _command(declared: Callable[..., None]) -> None:
    """Add the command of a kind of corrections: a function declares its help and its parameters, which are the fields
    of the correction; the options of `_save` come after them.
    """
    kind = declared.__name__.replace("_", "-")
    own = inspect.signature(declared, eval_str=True).parameters
    _, *shared = inspect.signature(_save, eval_str=True, locals={"Correction": Any}).parameters.values()

    def command(**values: Any) -> None:
        fields = {name: value for name in own if (value := values.pop(name)) is not None}
        _save(api.KINDS[kind](**fields), **values)

    command.__doc__ = declared.__doc__
    vars(command)["__signature__"] = inspect.Signature([*own.values(), *shared])
    app.command(kind)(command)


@_command
def merge(
    names: Annotated[list[str], _name("NAME...", "Two or more names of the same entity.")],
    into: Annotated[str, _option("NAME", "Name of the merged entity (default: the first NAME).")] = "",
) -> None:
    """Merge entities: several names are one entity.

    The merged entity has the mentions, descriptions, relationships and claims of all.

    Example: conspectus correct merge "D. Quill" "Miss Quill" --into "Dorothea Quill"
    """


@_command
def split(
    name: EntityName,
    into: Annotated[str, _option("NAME", "Name of the entity that is split off, new or existing.")],
    documents: Documents = None,
    aliases: Aliases = None,
) -> None:
    """Split an entity: one name stands for two entities.

    --document or --alias says which mentions belong to the entity that is split off.

    Example: conspectus correct split Mercury --into "Mercury (planet)" --document "planets/*"
    """


@_command
def rename(name: EntityName, to: Annotated[str, _text("TO", "The new name.")]) -> None:
    """Rename an entity; the old name becomes an alias.

    Example: conspectus correct rename "Sallow Quay" "Port Sallow Quay"
    """


@_command
def retype(
    name: EntityName, type: Annotated[str, _text("TYPE", "Entity type, e.g. person, organization or place.")]
) -> None:
    """Change the type of an entity.

    Example: conspectus correct retype "Teal Maid" vessel
    """


def _note_new_type(type: str, folder: Path) -> None:
    """Say so where no entity is of a type yet: it may be misspelt."""
    types = Counter(entity.type for entity in api.open_index(folder).entities)
    if type not in types:
        known = ", ".join(f"{known} ({count:,})" for known, count in types.most_common(show.LINES))
        show.note(f"No entity is of type {type} so far; there are {known}.")


@_command
def delete(name: EntityName) -> None:
    """Delete an entity, with its relationships and claims.

    The documents stay as they are.

    Example: conspectus correct delete FYI
    """


@_command
def add_fact(
    source: Annotated[str, _name("SOURCE", "Name of the entity.")],
    target: Annotated[str, _name("TARGET", "Name of the other entity.")],
    description: Annotated[
        str, _text("FACT", "The fact as a sentence, e.g. 'Anselm Vickery taught Maeve Tully.'")
    ],
    strength: Strength = 8.0,
    quote: Annotated[str, _option("TEXT", "Passage of a document to cite for the fact, word for word.")] = "",
    document: Annotated[str, _option("PATH", "Document of the quote, given by the end of its path.")] = "",
    create: Create = False,
) -> None:
    """Add a relationship between two entities.

    With --quote the fact cites that passage of a document. Without, answers that use it say that a person stated it and
    that no document does.

    Example: conspectus correct add-fact "Ada King" "Lord Byron" "Ada King is a daughter of Lord Byron."
    """


@app.command("list")
def list_(folder: IndexFolder = FOLDER, corrections: File = None, json: AsJson = False) -> None:
    """List all corrections with their state.

    The state is applied, waiting (for the next conspectus index or correct apply) or failing, in the order in which
    corrections are applied.

    Example: conspectus correct list
    """
    listed = api.corrections(folder, file=corrections or "")
    if json:
        rows = [flat(row.entry) | {"state": row.state, "reason": row.reason} for row in listed.rows]
        show.as_json({"file": str(listed.file), "corrections": rows, "undone": listed.undone})
        return
    if listed.rows:
        show.table([["", "State", "Correction"], *map(_row, listed.rows)], texts=3)
        for row in listed.rows:
            if row.reason:
                show.out(f"\n{row.entry.number} is not in force, or not wholly: {row.reason}.")
    else:
        show.out("There are no corrections.")
    if listed.undone:
        show.out(f"\nUndone or edited, and still in the index as it was: {', '.join(map(str, listed.undone))}.")
    show.note(f"\nThey are kept in {listed.file}.")
    if listed.undone or any(row.state == "waiting" for row in listed.rows):
        show.note(WHEN)


@app.command()
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
) -> None:
    """Remove a correction.

    The graph is then what it was before. Communities and reports are carried on from the index as it is, and may
    differ from before; conspectus index SOURCE --fresh computes them as if the correction had never been made.

    Example: conspectus correct undo 2
    """
    entry = api.undo(folder, number, file=corrections or "")
    if json:
        show.as_json(flat(entry))
    else:
        show.out(f"Undone: {entry}.")
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


def _row(row: CorrectionState) -> list[str]:
    remarks = ", ".join(part for part in (row.entry.date, row.entry.author, row.entry.note) if part)
    return [str(row.entry.number), row.state, f"{row.entry.correction}" + (f"  ({remarks})" if remarks else "")]
