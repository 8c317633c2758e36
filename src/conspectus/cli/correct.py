"""`conspectus correct`: say what the graph gets wrong, in a file that every run of `conspectus index` applies."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import corrections as kept
from conspectus.cli import show
from conspectus.cli.guard import Group
from conspectus.cli.help import OTHER
from conspectus.cli.options import FOLDER, AsJson, IndexFolder, LogFile, entity_names

if TYPE_CHECKING:
    from conspectus.corrections import Correction

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Edit the graph: merge, split, rename, retype, delete, add.\n\nCorrections are saved in a "
    "file, and every run of conspectus index applies them.",
)


def _name(metavar: str, text: str) -> Any:
    return typer.Argument(metavar=metavar, help=text, autocompletion=entity_names, show_default=False)


Author = Annotated[
    str,
    typer.Option(
        metavar="NAME", rich_help_panel=OTHER, help="Author of the correction, kept with it.", show_default=False
    ),
]
Note = Annotated[
    str,
    typer.Option(
        metavar="TEXT", rich_help_panel=OTHER, help="Reason for the correction, kept with it.", show_default=False
    ),
]


@app.command()
def merge(
    names: Annotated[list[str], _name("NAME...", "Two or more names of the same entity.")],
    into: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Name of the merged entity, one of NAME or a new one (default: the first NAME)."
        ),
    ] = "",
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Merge entities: several names are one entity.

    The merged entity has the mentions, descriptions, relationships and claims of all.

    Example: conspectus correct merge "D. Quill" "Miss Quill" --into "Dorothea Quill"
    """
    from conspectus.corrections import Merge

    _keep(Merge(tuple(names), into), folder, corrections, author, note, json)


@app.command()
def split(
    name: Annotated[str, _name("NAME", "The entity to split.")],
    into: Annotated[str, typer.Option(metavar="NAME", help="Name of the entity that is split off, new or existing.")],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="Documents in which NAME means the entity that is split off, e.g. 'path~planets*' or "
            "'date>=2023'. If repeated, all conditions must hold.",
        ),
    ] = None,
    alias: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Alias that belongs to the entity that is split off. Repeatable."),
    ] = None,
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Split an entity: one name stands for two entities.

    --where or --alias says which mentions belong to the entity that is split off.

    Example: conspectus correct split Mercury --into "Mercury (planet)" --where "path~planets*"
    """
    from conspectus.corrections import Split

    _keep(Split(name, into, tuple(where or ()), tuple(alias or ())), folder, corrections, author, note, json)


@app.command()
def rename(
    name: Annotated[str, _name("NAME", "Name of the entity.")],
    to: Annotated[str, typer.Argument(metavar="TO", help="The new name.", show_default=False)],
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Rename an entity; the old name becomes an alias.

    Example: conspectus correct rename "Sallow Quay" "Port Sallow Quay"
    """
    from conspectus.corrections import Rename

    _keep(Rename(name, to), folder, corrections, author, note, json)


@app.command()
def retype(
    name: Annotated[str, _name("NAME", "Name of the entity.")],
    type: Annotated[
        str, typer.Argument(metavar="TYPE", help="Entity type, e.g. person, organization or place.", show_default=False)
    ],
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Change the type of an entity.

    Example: conspectus correct retype "Teal Maid" vessel
    """
    from conspectus.corrections import Retype

    if not json:
        _tell_types(type, folder)
    _keep(Retype(name, type), folder, corrections, author, note, json)


def _tell_types(type: str, folder: Path) -> None:
    """Say so where no entity is of a type yet: it may be misspelt."""
    from conspectus.api import open_index

    types = Counter(entity.type for entity in open_index(folder).entities)
    if type not in types:
        known = ", ".join(f"{known} ({count:,})" for known, count in types.most_common(show.LINES))
        show.note(f"No entity is of type {type} so far; there are {known}.")


@app.command()
def delete(
    name: Annotated[str, _name("NAME", "Name of the entity to delete.")],
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Delete an entity, with its relationships and claims.

    The documents stay as they are.

    Example: conspectus correct delete FYI
    """
    from conspectus.corrections import Delete

    _keep(Delete(name), folder, corrections, author, note, json)


@app.command("add-fact")
def add_fact(
    source: Annotated[str, _name("SOURCE", "Name of the entity.")],
    target: Annotated[str, _name("TARGET", "Name of the other entity.")],
    description: Annotated[
        str,
        typer.Argument(
            metavar="FACT", help="The fact as a sentence, e.g. 'Anselm Vickery taught Maeve Tully.'", show_default=False
        ),
    ],
    strength: Annotated[
        float, typer.Option(metavar="N", min=1, max=10, help="Strength of the relationship, 1 to 10.")
    ] = 8.0,
    quote: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="Passage of a document to cite for the fact, word for word.", show_default=False
        ),
    ] = "",
    document: Annotated[
        str,
        typer.Option(metavar="PATH", help="Document of the quote, given by the end of its path.", show_default=False),
    ] = "",
    create: Annotated[bool, typer.Option("--create", help="Create the entities if they do not exist yet.")] = False,
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Add a relationship between two entities.

    With --quote the fact cites that passage of a document. Without, answers that use it say that a person stated it and
    that no document does.

    Example: conspectus correct add-fact "Ada King" "Lord Byron" "Ada King is a daughter of Lord Byron."
    """
    from conspectus.corrections import AddFact

    fact = AddFact(source, target, description, strength, quote, document, create)
    _keep(fact, folder, corrections, author, note, json)


def _keep(correction: Correction, folder: Path, file: Path | None, author: str, note: str, json: bool) -> None:
    from conspectus import api

    entry = api.correct(folder, correction, file=file or "", author=author, note=note)
    if json:
        show.as_json(kept.flat(entry))
    else:
        show.out(f"Correction {entry.number}: {str(entry.correction).rstrip('.。')}.")
        show.note(kept.WHEN)


app.command("list")(kept.list_)
app.command()(kept.undo)
app.command()(kept.apply)
