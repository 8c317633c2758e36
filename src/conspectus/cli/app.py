"""The `conspectus` command: its subcommands, each imported when it runs, their help, and the handling of errors."""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import textwrap
import time
from _thread import interrupt_main
from collections import UserDict
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from threading import Timer
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from conspectus import __version__, api, cli
from conspectus.cli import options, show
from conspectus.errors import BudgetReached, CacheFailed, ConspectusError, Unusable, UsageError

EXAMPLE = "Example: "
"""The prefix of a docstring's line that is an example: examples have a section of their own and are never wrapped."""
METHODS_LISTED, RANKINGS_LISTED = "{methods}", "{rankings}"
"""Placeholders in the help of an option for the methods that answer and those that rank, each with its description."""
WIDTH = 100
"""Maximum columns of help, even on a wider terminal: longer lines are hard to read."""
REPEATED_INTERRUPT = 0.5
"""Seconds after an interrupt within which another one is taken to be the same: a key pressed twice, or held down."""
HINTS: Mapping[str, str] = {
    "query": 'conspectus ask "..."',
    "insert": "conspectus index FOLDER",
    "update": "conspectus index FOLDER, run again: it pays only for what changed",
    "prompt-tune": "conspectus tune FOLDER",
    "--top-k": "-k N of conspectus search; for ask: --set answer.context_tokens=N",
    "--mode": "--method NAME",
    "--root": "--index DIR",
    "--output": "-o PATH of map and export; of index: --index DIR",
    "-o": "--index DIR",
    "--community-level": "--level N",
    "--api-key": "an environment variable: OPENAI_API_KEY, or CONSPECTUS_API_KEY with --base-url",
    "--force": "--fresh",
    "--verbose": "--log FILE",
}
"""Commands and options of Microsoft GraphRAG, LightRAG and similar tools, and their equivalents here."""

log = logging.getLogger("conspectus")
log.addHandler(show.Warnings())


# Help


def described(text: str | None) -> tuple[str, tuple[str, ...]]:
    """Return a docstring without its examples, and the examples, each a command line."""
    lines = (text or "").splitlines()
    examples = tuple(line.strip().removeprefix(EXAMPLE) for line in lines if line.strip().startswith(EXAMPLE))
    return "\n".join(line for line in lines if not line.strip().startswith(EXAMPLE)).strip(), examples


def summary(command: Any) -> str:
    """Return the summary of a command on one line: the first paragraph of its help."""
    first = described(command.help)[0].partition("\n\n")[0]
    return " ".join(first.split()).removesuffix(".")


class _Layout:
    """The layout of the help of commands and groups: usage, examples, options in panels."""

    params: list[Any]
    help: str | None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = (param for param in self.params if isinstance(param, TyperArgument))
        return ["[OPTIONS]", *(_name(own) if own.required else f"[{_name(own)}]" for own in arguments)]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        text, examples = described(self.help)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)
        if examples:
            with formatter.section("Examples"):
                formatter.write(textwrap.indent("\n".join(examples), " " * formatter.current_indent) + "\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of a group, then the arguments, then the options by their panels."""
        panels: dict[str, list[Any]] = {name: [] for name in ("Commands", "Arguments", *options.PANELS)}
        for name, command in getattr(self, "commands", {}).items():
            panels["Commands"].append((name, summary(command)))
        for param in getattr(self, "get_params")(ctx):  # noqa: B009 - of the class that this is mixed into
            if not (record := param.get_help_record(ctx)):
                continue
            names, text = record
            if isinstance(param, TyperArgument):
                panels["Arguments"].append((_name(param), _filled(text)))
            else:
                panel = getattr(param, "rich_help_panel", None) or options.OTHER
                panels[panel].append((names, _filled(text)))
        for title, rows in panels.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Command(_Layout, TyperCommand):
    """A command whose help shows examples and panels of options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; refuse an output whose folder does not exist before anything is read or spent."""
        out = ctx.params.get("out")
        if out and not out.parent.is_dir():
            raise UsageError(f"{out} cannot be written: there is no folder {out.parent}; create it first")
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; if an option is that of another tool, the error names the equivalent."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            name = getattr(error, "option_name", "")
            if name in HINTS:
                ctx.fail(f"No such option: {name}; use {HINTS[name]}")
            raise


class Group(_Layout, TyperGroup):
    """A group of commands, whose help shows each with its whole summary."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), self.subcommand_metavar]


def _name(argument: Any) -> str:
    return argument.metavar or str(argument.name).upper()


def _filled(text: str) -> str:
    """Return a help text with its placeholders for methods filled in, which is done only for help, to start quickly.

    The range of options that are 0 or more is left out, because it is obvious.
    """
    text = re.sub(r"  \[x>=[01]\]|; x>=[01](?=\])", "", text)
    for listed, names in ((METHODS_LISTED, api.METHODS), (RANKINGS_LISTED, api.RANKINGS)):
        if listed in text:
            lines = [f"{name}: {api.METHODS[name].help}" for name in names]
            text = text.replace(listed, "; ".join(lines))
    return text


# Commands


class LazyCommands(UserDict[str, Any]):
    """The commands by name, each imported when it is looked up."""

    def __init__(self) -> None:
        super().__init__()
        for commands in cli.COMMANDS.values():
            self.data |= {name: target for name, (target, _) in commands.items()}

    def __getitem__(self, name: str) -> Any:
        return _load(name, self.data[name])


@cache
def _load(name: str, target: str) -> Any:
    """Return the command or group of commands that a module of this package defines, `target` as `module:name`."""
    module, _, attribute = target.partition(":")
    command: Any = getattr(import_module(f"conspectus.cli.{module}"), attribute)
    parent = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    parent.callback()(lambda: None)  # otherwise a parent with one command would be that command
    if isinstance(command, typer.Typer):
        parent.add_typer(command, name=name)
    else:
        parent.command(name)(command)
    _lay_out(parent)
    group: Any = get_command(parent)
    return group.commands[name]


def _lay_out(parent: typer.Typer) -> None:
    """Give the commands of an app, and those of its groups, the layout of this module."""
    for command in parent.registered_commands:
        command.cls = Command
    for group in parent.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            _lay_out(group.typer_instance)


class Root(Group):
    """All commands, which are listed without being imported; their errors become messages and exit codes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = LazyCommands()

    def get_help(self, ctx: Any) -> str:
        return cli.overview()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments; `help COMMAND` and `version` also work as options, and --log may follow a command."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        elif args == ["version"]:
            args = ["--version"]
        for n, argument in enumerate(args):
            if argument == "--log" or argument.startswith("--log="):
                end = n + 1 + (argument == "--log")
                args = [*args[n:end], *args[:n], *args[end:]]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return a command; if the name is that of another tool, the error names the equivalent."""
        if args and args[0] not in self.commands and args[0] in HINTS:
            ctx.fail(f"No such command {args[0]!r}; use {HINTS[args[0]]}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with reported():
            result = super().invoke(ctx)
            sys.stdout.flush()  # flush here, where a closed pipe is handled
            return result


app = typer.Typer(
    name="conspectus",
    cls=Root,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich would take as long to import as everything else together
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": WIDTH},
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"conspectus {__version__}")
        raise typer.Exit


_VERSION = options.option("Show the version and exit.", "--version", "-V", callback=_version, is_eager=True)
_LOG = options.option(
    "Write a debug log to this file. Works before and after a command.", "--log", metavar="FILE",
    envvar="CONSPECTUS_LOG", callback=options.start_log,
)  # fmt: skip


@app.callback()
def conspectus(version: Annotated[bool, _VERSION] = False, log: Annotated[Path | None, _LOG] = None) -> None:
    """Run one of the commands; their help is in `conspectus.cli`."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    signal.signal(signal.SIGINT, Interrupts())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that cannot show a character shows `?`
    app(prog_name="conspectus")


# Interrupts and errors


class Interrupts:
    """Raises KeyboardInterrupt between two tasks of the event loop: raised elsewhere, it can lose the wake-up of a task
    or leave a lock taken, and then the loop never closes. It is raised at once if no loop runs, or if the loop is busy
    for longer than REPEATED_INTERRUPT. Python's own handler would cancel the task, which may then run to its end.
    """

    ended = False
    """Whether the last message has been printed: another interrupt then ends the process, whatever its threads do."""
    _last = -REPEATED_INTERRUPT
    _asked: Any = None
    _again = Timer(0, interrupt_main)

    def __call__(self, signum: int, frame: FrameType | None) -> None:
        if self.ended:
            os._exit(options.INTERRUPTED)
        now = time.monotonic()
        if now - self._last <= REPEATED_INTERRUPT:
            return
        self._last = now
        logging.getLogger("asyncio").disabled = True  # it would print a traceback of each task that is ended
        loop = sys.modules["asyncio"]._get_running_loop() if "asyncio" in sys.modules else None
        if loop is None or self._asked is not None:
            self._interrupt()
        self._asked = loop.call_soon_threadsafe(self._interrupt)
        self._again = Timer(1.1 * REPEATED_INTERRUPT, interrupt_main)
        self._again.start()

    def _interrupt(self) -> NoReturn:
        self._again.cancel()
        if self._asked is not None:
            self._asked.cancel()
        self._asked = None
        raise KeyboardInterrupt


def interrupted(state: str = "", folder: Path | None = None) -> NoReturn:
    """End after an interrupt, with a message on the state of the work and the number of cached model replies.

    Replies are counted in the folder of an index if one is given, else those of this run are.
    """
    parts = filter(None, (state, _cached(folder)))
    show.note(": ".join(filter(None, ("interrupted", "; ".join(parts)))))
    if isinstance(handler := signal.getsignal(signal.SIGINT), Interrupts):
        handler.ended = True
    raise typer.Exit(options.INTERRUPTED) from None


def _cached(folder: Path | None = None) -> str:
    """Return a sentence on how many model replies are cached, in a folder or by this run; empty if there are none."""
    cached = 0
    if cache := sys.modules.get("conspectus.models.llm.cache"):  # if it was not imported, no model was asked
        cached = cache.cached_in(folder) if folder else cache.cached_by_this_process()
    if not cached:
        return ""
    count = "1 reply of a language model is" if cached == 1 else f"{cached:,} replies of language models are"
    where = f" in {folder}" if folder else ""
    return f"{count} cached{where}, and the same command continues from there"


def one_line(error: Exception) -> str:
    """Return the message of an error on one line; further lines follow the first, separated by `;`."""
    head, *rest = (line.strip() for line in str(error).splitlines() or [""])
    return f"{head} {'; '.join(rest)}".strip()


_NO_MEMORY = (
    "there is not enough memory. A million tokens (about 4 MB of text) take some 350 MB while they are indexed: index "
    "parts of the documents into separate indexes, and ask them together with --index A --index B."
)


def _message(error: ConspectusError | OSError | MemoryError) -> str:
    """Return the message for an error, on one line."""
    if isinstance(error, MemoryError):
        return _NO_MEMORY
    if isinstance(error, OSError):
        file = f"{error.filename} cannot be read or written" if error.filename else "a file cannot be written"
        return f"{show.line(file)}: {error.strerror}"
    if isinstance(error, Unusable) and not isinstance(error, (BudgetReached, CacheFailed)):
        return "; ".join(filter(None, (one_line(error), _cached())))
    return one_line(error)


@contextmanager
def reported() -> Generator[None]:
    """Print an error as one line and end with its exit code."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discards what is left to flush
        raise typer.Exit(options.NO_READER) from None
    except (ConspectusError, OSError, MemoryError) as error:
        log.debug("ended by an error", exc_info=True)
        show.note(f"error: {_message(error)}")
        raise typer.Exit(options.USAGE if isinstance(error, UsageError) else options.FAILED) from None
    except KeyboardInterrupt:
        log.debug("interrupted", exc_info=True)
        interrupted()
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except Exception as error:
        log.critical("ended by an unforeseen error", exc_info=True)
        if os.environ.get("CONSPECTUS_DEBUG"):
            raise
        show.note(f"error: {type(error).__name__}: {one_line(error)}".rstrip(": "))
        show.note(
            "This is a bug; please report it, with the output of the same command with CONSPECTUS_DEBUG=1 "
            "or --log FILE."
        )
        raise typer.Exit(options.FAILED) from None
