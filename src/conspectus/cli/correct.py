"""`conspectus correct`: say what the graph gets wrong, in a file that every run of `conspectus index` applies."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import show
from conspectus.cli.guard import DONE, WITH_FAILURES, Group
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    BaseUrl,
    Budget,
    BudgetTokens,
    IndexFolder,
    LogFile,
    SetKeys,
    TraceFile,
    model_flags,
    overrides,
)
from conspectus.errors import ConspectusError

if TYPE_CHECKING:
    from conspectus.api import Built
    from conspectus.correcting import Corrections, Standing
    from conspectus.corrections import Correction, Entry

STATES = ("applied", "waiting", "failing")

app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    help="Put right what the graph gets wrong: merge, split, rename, retype and delete entities, add facts. Such "
    "corrections are kept in a file, and every run of conspectus index applies them.",
)


def _entities(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the entities whose names begin with what is typed; for completion by the shell."""
    from conspectus.api import open_index

    try:
        index = open_index(ctx.params.get("folder") or FOLDER)
    except ConspectusError:
        return []
    return [e.name for e in index.entities if e.name.lower().startswith(incomplete.lower())][:100]


def _name(metavar: str, text: str) -> Any:
    return typer.Argument(metavar=metavar, help=text, autocompletion=_entities, show_default=False)


File = Annotated[
    Path | None,
    typer.Option(
        "--corrections",
        metavar="FILE",
        help="Where corrections are kept, as beside the corpus; corrections.toml in the index's folder if not given.",
        show_default=False,
    ),
]
Author = Annotated[str, typer.Option(metavar="NAME", help="Who says so.", show_default=False)]
Note = Annotated[str, typer.Option(metavar="TEXT", help="Why, in words.", show_default=False)]


@app.command()
def merge(
    names: Annotated[list[str], _name("NAME...", "Names that are one entity.")],
    into: Annotated[
        str, typer.Option(metavar="NAME", help="What it is called, one of them or another name; the first of them.")
    ] = "",
    folder: IndexFolder = FOLDER,
    corrections: File = None,
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
    corrections: File = None,
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
    corrections: File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Say what an entity is called. The name it had becomes an alias."""
    from conspectus.corrections import Rename

    _keep(Rename(name, to), folder, corrections, author, note, json)


@app.command()
def retype(
    name: Annotated[str, _name("NAME", "An entity.")],
    type: Annotated[str, typer.Argument(metavar="TYPE", help="What it is, as person.", show_default=False)],
    folder: IndexFolder = FOLDER,
    corrections: File = None,
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
    corrections: File = None,
    author: Author = "",
    note: Note = "",
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Say that something is no entity: it goes, with its relationships and claims. The documents stay as they are."""
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
    corrections: File = None,
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


@app.command("list")
def list_(folder: IndexFolder = FOLDER, corrections: File = None, json: AsJson = False, log: LogFile = None) -> None:
    """List the corrections in the order in which they are applied, and what became of each."""
    from conspectus import api

    found = api.corrections(folder, file=corrections or "")
    if json:
        rows = [_flat(row.entry) | {"state": row.state, "why": row.why} for row in found.rows]
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


@app.command()
def undo(
    number: Annotated[int, typer.Argument(metavar="N", help="The number of a correction.", show_default=False)],
    folder: IndexFolder = FOLDER,
    corrections: File = None,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Take a correction away again."""
    from conspectus import api

    entry = api.undo(folder, number, file=corrections or "")
    if json:
        show.as_json(_flat(entry))
    else:
        show.out(f"Undone: {entry}.")
        show.note(WHEN)


@app.command()
def apply(
    folder: IndexFolder = FOLDER,
    corrections: File = None,
    base_url: BaseUrl = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    trace: TraceFile = None,
    json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no notes.")] = False,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Make the index again with the corrections as they are now, from the documents that it holds.

    Documents are not read anew. What language models replied is kept, so that they are asked only for what changes.
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


WHEN = "This takes effect with the next conspectus index, or at once with conspectus correct apply."


def _keep(correction: Correction, folder: Path, file: Path | None, author: str, note: str, json: bool) -> None:
    from conspectus import api

    entry = api.correct(folder, correction, file=file or "", author=author, note=note)
    if json:
        show.as_json(_flat(entry))
    else:
        show.out(f"Correction {entry.number}: {str(entry.correction).rstrip('.。')}.")
        show.note(WHEN)


def _flat(entry: Entry) -> dict[str, Any]:
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
    from conspectus.corrections_file import FILE_NAME

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
