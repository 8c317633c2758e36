"""The `conspectus` command, its subcommands in their order, and what goes for all of them."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from conspectus import __version__
from conspectus.cli import (
    ask,
    browse,
    config,
    correct,
    demo,
    embed,
    evaluate,
    exporting,
    history,
    importing,
    index,
    models,
)
from conspectus.cli.guard import Group
from conspectus.cli.options import start_log

EPILOG = (
    "Exit codes: 0 done, 1 error, 2 usage, 3 done with failures that are listed. "
    "Results go to standard output, progress and notes to standard error."
)

app = typer.Typer(
    name="conspectus",
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich would take as long to import as all else together
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=EPILOG,
)
app.command("index")(index.index)
app.command("ask")(ask.ask)
app.command("search")(ask.search)
app.command("status")(browse.status)
app.command("rollback")(history.rollback)
app.command("report")(browse.report)
app.command("entity")(browse.entity)
app.command("path")(browse.path)
app.add_typer(correct.app, name="correct")
app.command("map")(exporting.map_)
app.command("export")(exporting.export)
app.add_typer(importing.app, name="import")
app.command("check")(exporting.check)
app.add_typer(evaluate.app, name="eval")
app.add_typer(models.app, name="models")
app.command("cache")(models.cache)
app.command("embed")(embed.embed)
app.command("tune")(models.tune)
app.command("config")(config.config)
app.command("init")(config.init)
app.command("demo")(demo.demo)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"conspectus {__version__}")
        raise typer.Exit


@app.callback()
def conspectus(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_version, is_eager=True)
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            metavar="FILE",
            envvar="CONSPECTUS_LOG",
            callback=start_log,
            help="Write a debug log to a file; it may also stand behind a command.",
        ),
    ] = None,
) -> None:
    """Read a corpus, build a graph of it, and answer questions about all of it or any part, with citations.

    It starts with `conspectus index FOLDER`, then `conspectus ask QUESTION`.
    """


def main() -> None:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows `?`
    app(prog_name="conspectus")
