"""`conspectus correct`: say what the graph gets wrong, in a file that every run of `conspectus index` applies."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import corrections as kept
from conspectus.cli import show
from conspectus.cli.guard import Group
from conspectus.cli.options import FOLDER, AsJson, IndexFolder, LogFile, entity_names

if TYPE_CHECKING:
    from conspectus.corrections import Correction

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Put right what the graph gets wrong: merge, split, rename, retype and delete entities, add facts. Such "
    "corrections are kept in a file, and every run of conspectus index applies them.",
)


def _name(metavar: str, text: str) -> Any:
    return typer.Argument(metavar=metavar, help=text, autocompletion=entity_names, show_default=False)


Author = Annotated[str, typer.Option(metavar="NAME", help="Who says so.", show_default=False)]
Note = Annotated[str, typer.Option(metavar="TEXT", help="Why, in words.", show_default=False)]


@app.command()
def merge(
    names: Annotated[list[str], _name("NAME...", "Names that are one entity.")],
    into: Annotated[
        str, typer.Option(metavar="NAME", help="What it is called, one of them or another name; the first of them.")
    ] = "",
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Say that several names are one entity.

    It has the places, descriptions, relationships and claims of all.
    """
    from conspectus.corrections import Merge

    _keep(Merge(tuple(names), into), folder, corrections, author, note, json)


@app.command()
def split(
    name: Annotated[str, _name("NAME", "An entity that is two.")],
    into: Annotated[str, typer.Option(metavar="NAME", help="What the other one is called; it may be there already.")],
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where",
            metavar="CONDITION",
            help="In which documents it is the other one, as path~planets* or date>=2023; several all have to hold.",
        ),
    ] = None,
    alias: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="By which of its names it is the other one; repeatable.")
    ] = None,
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Say that one name stands for two entities, and which is which.

    The rest stays what it is. What is split off may also go to an entity that is there.
    """
    from conspectus.corrections import Split

    _keep(Split(name, into, tuple(where or ()), tuple(alias or ())), folder, corrections, author, note, json)


@app.command()
def rename(
    name: Annotated[str, _name("NAME", "An entity.")],
    to: Annotated[str, typer.Argument(metavar="TO", help="What it is called.", show_default=False)],
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Say what an entity is called.

    The name it had becomes an alias.
    """
    from conspectus.corrections import Rename

    _keep(Rename(name, to), folder, corrections, author, note, json)


@app.command()
def retype(
    name: Annotated[str, _name("NAME", "An entity.")],
    type: Annotated[str, typer.Argument(metavar="TYPE", help="What it is, as person.", show_default=False)],
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Say of which type an entity is."""
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
    name: Annotated[str, _name("NAME", "What is no entity.")],
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Say that something is no entity.

    It goes, with its relationships and claims. The documents stay as they are.
    """
    from conspectus.corrections import Delete

    _keep(Delete(name), folder, corrections, author, note, json)


@app.command("add-fact")
def add_fact(
    source: Annotated[str, _name("SOURCE", "An entity.")],
    target: Annotated[str, _name("TARGET", "Another one.")],
    description: Annotated[
        str, typer.Argument(metavar="FACT", help="How they are related, as a sentence.", show_default=False)
    ],
    strength: Annotated[float, typer.Option(metavar="N", min=1, max=10, help="How strongly, 1 to 10.")] = 8.0,
    quote: Annotated[
        str, typer.Option(metavar="TEXT", help="Words of a document that say so.", show_default=False)
    ] = "",
    document: Annotated[
        str, typer.Option(metavar="PATH", help="The document of the quote, by the end of its path.", show_default=False)
    ] = "",
    create: Annotated[bool, typer.Option("--create", help="Make an entity of an end that is none.")] = False,
    folder: IndexFolder = FOLDER,
    corrections: kept.File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Say how two entities are related.

    With --quote the fact is cited by these words of a document. Without, answers that stand on it say that a person
    said so, and that no document does.
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
