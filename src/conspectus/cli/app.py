"""The `conspectus` command: its subcommands, each imported when it runs, and what holds for all of them."""

from __future__ import annotations

import sys
from collections import UserDict
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from conspectus import __version__
from conspectus.cli import overview
from conspectus.cli.guard import Group
from conspectus.cli.help import HELP_OPTIONS, lay_out
from conspectus.cli.options import start_log


class LazyCommands(UserDict[str, Any]):
    """The commands by name, each imported when it is looked up."""

    def __init__(self) -> None:
        super().__init__(overview.HIDDEN)
        for commands in overview.COMMANDS.values():
            self.data |= {name: target for name, (target, _) in commands.items()}

    def __getitem__(self, name: str) -> Any:
        target = self.data[name]
        if isinstance(target, str):
            self.data[name] = target = _load(name, target)
        return target


def _load(name: str, target: str) -> Any:
    """Return the command or group of commands that a module of this package defines, `target` as `module:name`."""
    module, _, attribute = target.partition(":")
    command: Any = getattr(import_module(f"conspectus.cli.{module}"), attribute)
    parent = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    parent.callback()(lambda: None)  # a parent with one command would be that command otherwise
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name)
    else:
        parent.command(name)(command)
    lay_out(parent)
    group: Any = get_command(parent)
    return group.commands[name]


class Root(Group):
    """All commands, which are listed without importing them."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = LazyCommands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_help(self, ctx: Any) -> str:
        return overview.overview()


app = typer.Typer(
    name="conspectus",
    cls=Root,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich would take as long to import as all else together
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP_OPTIONS, "max_content_width": overview.WIDTH},
)


def print_version() -> None:
    """Show the version of conspectus.

    Example: conspectus version
    """
    typer.echo(f"conspectus {__version__}")


def _version(requested: bool) -> None:
    if requested:
        print_version()
        raise typer.Exit


@app.callback()
def conspectus(
    version: Annotated[
        bool, typer.Option("--version", "-V", help=overview.VERSION_HELP, callback=_version, is_eager=True)
    ] = False,
    log: Annotated[
        Path | None,
        typer.Option("--log", metavar="FILE", envvar="CONSPECTUS_LOG", callback=start_log, help=overview.LOG_HELP),
    ] = None,
) -> None:
    """Run one of the commands; their help is in `overview`."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows `?`
    app(prog_name="conspectus")
