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
    chat,
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
from conspectus.cli.help import HELP_OPTIONS, WIDTH, help_, lay_out
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
    context_settings={"help_option_names": HELP_OPTIONS, "max_content_width": WIDTH},
    epilog=EPILOG,
)

_START, _EXPLORE, _EDIT = "Start here", "Look around", "Edit and exchange"
_MODELS, _INDEX, _MEASURE = "Models and settings", "Look after an index", "Evaluate"

app.command("demo", rich_help_panel=_START)(demo.demo)
app.command("index", rich_help_panel=_START)(index.index)
app.command("ask", rich_help_panel=_START)(ask.ask)
app.command("chat", rich_help_panel=_START)(chat.chat)
app.command("search", rich_help_panel=_START)(ask.search)
app.command("report", rich_help_panel=_EXPLORE)(browse.report)
app.command("entity", rich_help_panel=_EXPLORE)(browse.entity)
app.command("path", rich_help_panel=_EXPLORE)(browse.path)
app.command("map", rich_help_panel=_EXPLORE)(exporting.map_)
app.add_typer(correct.app, name="correct", rich_help_panel=_EDIT)
app.command("export", rich_help_panel=_EDIT)(exporting.export)
app.add_typer(importing.app, name="import", rich_help_panel=_EDIT)
app.command("status", rich_help_panel=_INDEX)(browse.status)
app.command("rollback", rich_help_panel=_INDEX)(history.rollback)
app.command("check", rich_help_panel=_INDEX)(exporting.check)
app.command("cache", rich_help_panel=_INDEX)(models.cache)
app.add_typer(models.app, name="models", rich_help_panel=_MODELS)
app.command("embed", rich_help_panel=_MODELS)(embed.embed)
app.command("tune", rich_help_panel=_MODELS)(models.tune)
app.command("config", rich_help_panel=_MODELS)(config.config)
app.command("init", rich_help_panel=_MODELS)(config.init)
app.add_typer(evaluate.app, name="eval", rich_help_panel=_MEASURE)
app.command("help", hidden=True)(help_)


@app.command("version", hidden=True)
def print_version() -> None:
    """Show the version of conspectus.

    Example: conspectus version
    """
    typer.echo(f"conspectus {__version__}")


lay_out(app)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"conspectus {__version__}")
        raise typer.Exit


@app.callback()
def conspectus(
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option(
            "--log",
            metavar="FILE",
            envvar="CONSPECTUS_LOG",
            callback=start_log,
            help="Write a debug log to this file. Works before and after a command.",
        ),
    ] = None,
) -> None:
    """GraphRAG for a folder of documents: knowledge graph, community reports, answers with citations.

    Works with any language model, or with none.

    Example: conspectus demo
    Example: conspectus index FOLDER
    Example: conspectus ask "What are the main themes?"
    """


def main() -> None:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows `?`
    app(prog_name="conspectus")
