"""The `conspectus` command: its subcommands, each imported when it runs, their help, and what errors become."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import re
import signal
import sys
import textwrap
from collections import UserDict
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from gettext import gettext
from importlib import import_module
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command

from conspectus import __version__, api, cli
from conspectus.cli import options, show
from conspectus.errors import BudgetReached, CacheFailed, ConspectusError, Unusable, UsageError

EXAMPLE = "Example: "
"""A line of a docstring that begins with this is an example: shown in a section of its own, never wrapped."""
METHODS_LISTED, RANKINGS_LISTED = "{methods}", "{rankings}"
"""In the help of an option: the methods that answer, or those that rank, each with what it does."""
HELP_OPTIONS = ["-h", "--help"]

log = logging.getLogger("conspectus")
log.addHandler(show.Warnings())

OTHER_COMMANDS: Mapping[str, str] = {
    "query": 'graphrag query is conspectus ask "..." here; --method global, local or drift chooses how.',
    "insert add": "documents are added with conspectus index FOLDER, run again whenever they change.",
    "build": "an index is built with conspectus index FOLDER.",
    "update": "conspectus index FOLDER, run again, updates an index and pays for what changed alone.",
    "delete": "delete the file, then run conspectus index FOLDER again; correct delete removes an entity.",
    "serve server webui mcp": 'there is no server yet; conspectus ask --json "..." can be called, and so can Python: '
    "conspectus.ask.",
    "ui": "conspectus map writes one HTML page of the graph that opens in any browser.",
    "visualize": "conspectus map draws the graph: an HTML page, SVG or PNG.",
    "prompt-tune": "prompts are adapted to a corpus with conspectus tune FOLDER.",
    "sample": "the bundled sample corpus is conspectus demo.",
    "settings": "conspectus config shows the settings, conspectus init writes a file of them.",
}
"""Commands of Microsoft GraphRAG, LightRAG and like tools, and what does the same here."""
OTHER_OPTIONS: Mapping[str, str] = {
    "--top-k --topk --limit": "-k N of conspectus search; for ask: --set search.k=N",
    "--mode": "--method NAME, as --method local, global, drift, hippo or bm25",
    "--root --data --working-dir": "--index DIR, the folder of the index (default: .conspectus)",
    "--chat --interactive": "the command conspectus chat",
    "--output": "-o PATH of map and export; of index: --index DIR",
    "--query --question": 'a question without an option: conspectus ask "..."',
    "--stream --streaming": "nothing: answers of a language model are streamed to a terminal anyway",
    "--response-type": "--response TEXT",
    "--community-level": "--level N",
    "--provider --llm": "--model PROVIDER/NAME, as --model openai/gpt-4.1-mini",
    "--api-key": "an environment variable: OPENAI_API_KEY, or CONSPECTUS_API_KEY with --base-url",
    "--api-base": "--base-url URL",
    "--force": "--fresh, which rebuilds an index from scratch",
    "--verbose": "--log FILE, which writes a debug log",
}
"""Options of such tools, and what is meant by them here."""


def hint(name: str, hints: Mapping[str, str]) -> str:
    """Return what does here what a command or an option of another tool does; empty where that is not known."""
    return next((text for names, text in hints.items() if name in names.split()), "")


# Help


def described(text: str | None) -> tuple[str, tuple[str, ...]]:
    """Return a docstring without its examples, and those, each a command line."""
    lines = (text or "").splitlines()
    examples = tuple(line.strip().removeprefix(EXAMPLE) for line in lines if line.strip().startswith(EXAMPLE))
    return "\n".join(line for line in lines if not line.strip().startswith(EXAMPLE)).strip(), examples


def summary(command: Any) -> str:
    """Return what a command does in one line: the first paragraph of its help."""
    first = described(command.help)[0].partition("\n\n")[0]
    return " ".join(first.split()).removesuffix(".")


class _Laid:
    """The layout of the help of commands and groups: usage, examples, options in panels."""

    params: list[Any]
    help: str | None
    options_metavar: str | None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [
            (_name(p), p.required) for p in self.params if isinstance(p, TyperArgument) and not p.hidden
        ]
        return [
            self.options_metavar or "",
            *(name if required else f"[{name}]" for name, required in arguments),
        ]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        text, examples = described(self.help)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)
        if examples:
            with formatter.section(gettext("Examples")):
                formatter.write(textwrap.indent("\n".join(examples), " " * formatter.current_indent) + "\n")

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands of a group by their panels, then the arguments, then the options by theirs."""
        panels: dict[str, list[Any]] = {"Commands": [], "Arguments": []} | {
            name: [] for name in options.PANELS
        }
        for name, command in getattr(self, "commands", {}).items():
            panels["Commands"].append((name, summary(command)))
        for param in getattr(self, "get_params")(ctx):  # noqa: B009 - of the class that this is mixed into
            if not (record := param.get_help_record(ctx)):
                continue
            names, text = record
            last = "--help" in param.opts or "completion" in str(param.name)
            panel = getattr(param, "rich_help_panel", None) or (options.OTHER if last else options.OWN)
            if isinstance(param, TyperArgument):
                names, panel = _name(param), "Arguments"
            panels[panel].append((names, _filled(text)))
        for title, rows in panels.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Command(_Laid, TyperCommand):
    """A command whose help shows examples and panels of options."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; refuse an output whose folder does not exist before anything is read or spent."""
        out = ctx.params.get("out")
        if out and not out.parent.is_dir():
            raise UsageError(f"{out} cannot be written: there is no folder {out.parent}; make it first")
        return super().invoke(ctx)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; an option of another tool is answered with what does the same here."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            if text := hint(getattr(error, "option_name", ""), OTHER_OPTIONS):
                error.message += f"; use {text}"
                vars(error)["possibilities"] = None
            raise


class Group(_Laid, TyperGroup):
    """A group of commands, each with its whole summary."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), self.subcommand_metavar]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; without any argument, print the help to where it can be piped from."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit(2 if ctx.parent else 0)
        return super().parse_args(ctx, args)


def _name(argument: Any) -> str:
    return argument.metavar or str(argument.name).upper()


def _filled(text: str) -> str:
    """Fill in the methods where a help text lists them: they are looked up for help alone, to start quickly.

    That a count is 0 or more goes without saying.
    """
    text = re.sub(r"  \[x>=[01]\]|; x>=[01](?=\])", "", text)
    if METHODS_LISTED in text or RANKINGS_LISTED in text:
        methods = [api.METHODS[name] for name in api.METHODS]
        text = text.replace(METHODS_LISTED, "; ".join(f"{m.name}: {m.help}" for m in methods))
        ranking = [f"{m.name}: {m.help}" for m in methods if m.rank is not None]
        text = text.replace(RANKINGS_LISTED, "; ".join(ranking))
    return text


# Commands


class LazyCommands(UserDict[str, Any]):
    """The commands by name, each imported when it is looked up."""

    def __init__(self) -> None:
        super().__init__(cli.HIDDEN)
        for commands in cli.COMMANDS.values():
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
    _lay_out(parent)
    group: Any = get_command(parent)
    return group.commands[name]


def _lay_out(parent: typer.Typer) -> None:
    """Give the commands of an app this look and the option --log, those of its groups as well."""
    for command in parent.registered_commands:
        command.cls = Command
        if command.callback is not None:
            command.callback = _logging(command.callback)
    for group in parent.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            _lay_out(group.typer_instance)


def _logging(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the option --log, whose callback starts the log."""
    parameters = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "log"]

    @functools.wraps(command)
    def run(*args: Any, log: Path | None = None, **arguments: Any) -> Any:
        return command(*args, **arguments)

    log = inspect.Parameter("log", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=options.LogFile)
    return options.with_parameters(run, [*parameters, log])


class Root(Group):
    """All commands, which are listed without importing them; errors of any become messages and exit codes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = LazyCommands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def get_help(self, ctx: Any) -> str:
        return cli.overview()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; the name of one of another tool is answered with what does the same here."""
        if args and args[0] not in self.commands and (text := hint(args[0], OTHER_COMMANDS)):
            ctx.fail(f"No such command {args[0]!r}: {text}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        with reported():
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a reader that is gone is known for what it is
            return result


app = typer.Typer(
    name="conspectus",
    cls=Root,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich would take as long to import as all else together
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP_OPTIONS, "max_content_width": cli.WIDTH},
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


def help_(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, options.argument("COMMAND...", "A command, e.g. index or eval judge.")
    ] = None,
) -> None:
    """Show the help of conspectus, or of one of its commands.

    Example: conspectus help ask
    """
    context: Any = ctx.find_root()
    for name in names or ():
        command = (
            context.command.get_command(context, name) if isinstance(context.command, TyperGroup) else None
        )
        if command is None:
            context.fail(f"No such command {name!r}.")
        context = type(context)(command, info_name=name, parent=context)
    typer.echo(context.get_help())


Version = Annotated[
    bool, options.option(cli.VERSION_HELP, "--version", "-V", callback=_version, is_eager=True)
]
RootLog = Annotated[
    Path | None,
    options.option(cli.LOG_HELP, "--log", metavar="FILE", envvar="CONSPECTUS_LOG", callback=options.start_log),
]


@app.callback()
def conspectus(version: Version = False, log: RootLog = None) -> None:
    """Run one of the commands; their help is in `conspectus.cli`."""


def main() -> None:
    """Run the command line and end the process with its exit code."""
    signal.signal(signal.SIGINT, _interrupt)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character shows `?`
    app(prog_name="conspectus")


# Errors


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Interrupt at once: after Python's own handler asyncio waits until the work does, maybe to its end."""
    raise KeyboardInterrupt


def interrupted(state: str = "", folder: Path | None = None) -> NoReturn:
    """End with what an interrupt leaves: how things stand, and how many replies of language models are cached.

    They are counted in the folder of an index where one is given, else those of this run are.
    """
    parts = filter(None, (state, _cached(folder)))
    show.note(": ".join(filter(None, ("interrupted", "; ".join(parts)))))
    raise typer.Exit(options.INTERRUPTED) from None


def _cached(folder: Path | None = None) -> str:
    """Return how many replies of language models are cached, in a folder or by this run, if there are any."""
    cached = 0
    if cache := sys.modules.get("conspectus.models.llm.cache"):  # else no model was asked
        cached = cache.cached_in(folder) if folder else cache.cached_by_this_process()
    if not cached:
        return ""
    count = "1 reply of a language model is" if cached == 1 else f"{cached:,} replies of language models are"
    where = f" in {folder}" if folder else ""
    return f"{count} cached{where}, and the same command goes on from there"


def one_line(error: Exception) -> str:
    """Return the message of an error on one line, those of a list after its head, with `;` between them."""
    head, *rest = (line.strip() for line in str(error).splitlines() or [""])
    return f"{head} {'; '.join(rest)}".strip()


@contextmanager
def reported() -> Generator[None]:
    """Print an error as one line and end with its exit code."""
    try:
        yield
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to flush goes nowhere
        raise typer.Exit(options.NO_READER) from None
    except (ConspectusError, OSError) as error:
        log.debug("ended by an error", exc_info=True)
        message = one_line(error)
        if isinstance(error, OSError):
            file = (
                f"{error.filename} cannot be read or written" if error.filename else "a file cannot be written"
            )
            message = f"{show.line(file)}: {error.strerror}"
        elif isinstance(error, Unusable) and not isinstance(error, (BudgetReached, CacheFailed)):
            message = "; ".join(filter(None, (message, _cached())))
        show.note(f"error: {message}")
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
            "This should not have happened; please report it, with what CONSPECTUS_DEBUG=1 or --log FILE "
            "shows for the same command."
        )
        raise typer.Exit(options.FAILED) from None
