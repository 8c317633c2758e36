"""How help is laid out: usage, examples, options in groups; and hints for the words of other tools."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from gettext import gettext
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

EXAMPLE = "Example: "
"""A line of a docstring that begins with this is an example: shown in a section of its own, never wrapped."""
OWN, READING, MODEL, COST, OUTPUT, OTHER = "Options", "Reading", "Model", "Cost", "Output", "Other options"
PANELS = (OWN, READING, MODEL, COST, OUTPUT, OTHER)
"""The groups of options, in the order in which they are shown (`rich_help_panel`)."""
METHODS_LISTED, RANKINGS_LISTED = "{methods}", "{rankings}"
"""In the help of an option: the methods that answer, or those that rank, each with what it does."""
HELP_OPTIONS = ["-h", "--help"]

ASK = 'conspectus ask "..."'
_NO_SERVER = 'there is no server yet; conspectus ask --json "..." can be called, and so can Python: conspectus.ask.'
COMMANDS: Mapping[str, str] = {
    "query": f"graphrag query is {ASK} here; --method global, local or drift chooses how.",
    "insert": "documents are added with conspectus index FOLDER, run again whenever they change.",
    "add": "documents are added with conspectus index FOLDER, run again whenever they change.",
    "build": "an index is built with conspectus index FOLDER.",
    "update": "conspectus index FOLDER, run again, updates an index and pays for what changed alone.",
    "delete": "delete the file, then run conspectus index FOLDER again; correct delete removes an entity.",
    "serve": _NO_SERVER,
    "server": _NO_SERVER,
    "webui": _NO_SERVER,
    "mcp": _NO_SERVER,
    "ui": "conspectus map writes one HTML page of the graph that opens in any browser.",
    "visualize": "conspectus map draws the graph: an HTML page, SVG or PNG.",
    "prompt-tune": "prompts are adapted to a corpus with conspectus tune FOLDER.",
    "sample": "the bundled sample corpus is conspectus demo.",
    "settings": "conspectus config shows the settings, conspectus init writes a file of them.",
}
"""Commands of Microsoft GraphRAG, LightRAG and like tools, and what does the same here."""
SEARCH_K = "-k N of conspectus search; for ask: --set search.k=N"
OPTIONS: Mapping[str, str] = {
    "--top-k": SEARCH_K,
    "--topk": SEARCH_K,
    "--limit": SEARCH_K,
    "--mode": "--method NAME, as --method local, global, drift, hippo or bm25",
    "--root": "--index DIR, the folder of the index (default: .conspectus)",
    "--data": "--index DIR, the folder of the index",
    "--working-dir": "--index DIR, the folder of the index",
    "--output": "-o PATH of map and export; of index: --index DIR",
    "--query": f"a question without an option: {ASK}",
    "--question": f"a question without an option: {ASK}",
    "--stream": "nothing: answers of a language model are streamed to a terminal anyway",
    "--streaming": "nothing: answers of a language model are streamed to a terminal anyway",
    "--response-type": "--response TEXT",
    "--community-level": "--level N",
    "--provider": "--model PROVIDER/NAME, as --model openai/gpt-4.1-mini",
    "--llm": "--model PROVIDER/NAME, as --model openai/gpt-4.1-mini",
    "--api-key": "an environment variable: OPENAI_API_KEY, or CONSPECTUS_API_KEY with --base-url",
    "--api-base": "--base-url URL",
    "--force": "--fresh, which rebuilds an index from scratch",
    "--verbose": "--log FILE, which writes a debug log",
}
"""Options of such tools, and what is meant by them here."""


def described(text: str | None) -> tuple[str, tuple[str, ...]]:
    """Return a docstring without its examples, and those, each a command line."""
    lines = (text or "").splitlines()
    examples = tuple(line.strip().removeprefix(EXAMPLE) for line in lines if line.strip().startswith(EXAMPLE))
    return "\n".join(line for line in lines if not line.strip().startswith(EXAMPLE)).strip(), examples


def summary(command: Any) -> str:
    """Return what a command does in one line: the first paragraph of its help."""
    first = described(command.help)[0].partition("\n\n")[0]
    return " ".join(first.split()).removesuffix(".")


def in_panels(rows: Iterable[tuple[str, tuple[str, str]]], order: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """Return rows by their panel, the panels in an order, those that it lacks before its last."""
    *first, last = order
    panels: dict[str, list[tuple[str, str]]] = {name: [] for name in first}
    for panel, row in rows:
        panels.setdefault(panel, []).append(row)
    panels[last] = panels.pop(last, [])
    return {name: listed for name, listed in panels.items() if listed}


class _Laid:
    """What commands and groups have in common."""

    params: list[Any]
    help: str | None
    options_metavar: str | None

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        arguments = [p for p in self.params if isinstance(p, TyperArgument) and not p.hidden]
        pieces = [_written(p) if p.required else f"[{_written(p)}]" for p in arguments]
        return [self.options_metavar or "", *pieces]

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        text, examples = described(self.help)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(text)
        if examples:
            with formatter.section(gettext("Examples")):
                formatter.write(textwrap.indent("\n".join(examples), " " * formatter.current_indent) + "\n")

    def write_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the options by their groups."""
        params: list[Any] = getattr(self, "get_params")(ctx)  # noqa: B009 - of the class that this is mixed into
        records = [(param, _filled(record)) for param in params if (record := param.get_help_record(ctx))]
        arguments = [(_written(p), record[1]) for p, record in records if isinstance(p, TyperArgument)]
        options = [(_panel_of(p), record) for p, record in records if not isinstance(p, TyperArgument)]
        for title, rows in {"Arguments": arguments, **in_panels(options, PANELS)}.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class Command(_Laid, TyperCommand):
    """A command whose help shows examples and groups of options."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.write_options(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; an option of another tool is answered with what does the same here."""
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            if hint := OPTIONS.get(getattr(error, "option_name", "")):
                error.message += f"; use {hint}"
                vars(error)["possibilities"] = None
            raise


class Group(_Laid, TyperGroup):
    """A group of commands, each with its whole summary."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*super().collect_usage_pieces(ctx), self.subcommand_metavar]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write what can be done before the options of all of it."""
        shown = [(n, c) for n in self.list_commands(ctx) if (c := self.get_command(ctx, n)) and not c.hidden]
        rows = [(getattr(c, "rich_help_panel", None) or "Commands", (name, summary(c))) for name, c in shown]
        for title, listed in in_panels(rows, ["Commands"]).items():
            with formatter.section(title):
                formatter.write_dl(listed)
        self.write_options(ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse; without any argument, print the help to where it can be piped from."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            typer.echo(ctx.get_help())
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; the name of one of another tool is answered with what does the same here."""
        if args and args[0] not in self.commands and args[0] in COMMANDS and ctx.parent is None:
            ctx.fail(f"No such command {args[0]!r}: {COMMANDS[args[0]]}")
        return super().resolve_command(ctx, args)


def _written(argument: Any) -> str:
    return argument.metavar or str(argument.name).upper()


def _filled(record: tuple[str, str]) -> tuple[str, str]:
    """Fill in the methods where a help text lists them: they are looked up for help alone, to start quickly."""
    option, text = record
    for placeholder in (METHODS_LISTED, RANKINGS_LISTED):
        if placeholder in text:
            from conspectus.retrieval import METHODS

            listed = [METHODS[name] for name in METHODS]
            shown = [m for m in listed if placeholder == METHODS_LISTED or m.rank is not None]
            text = text.replace(placeholder, "; ".join(f"{m.name}: {m.help}" for m in shown))
    return option, text


def _panel_of(option: Any) -> str:
    named = getattr(option, "rich_help_panel", None)
    last = "--help" in option.opts or "completion" in str(option.name)
    return named or (OTHER if last else OWN)


def lay_out(app: typer.Typer) -> None:
    """Give the commands of an app this look, those of its groups as well."""
    for command in app.registered_commands:
        command.cls = Command
    for group in app.registered_groups:
        group.cls = Group
        if group.typer_instance is not None:
            lay_out(group.typer_instance)


def help_(
    ctx: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="COMMAND...", help="A command, e.g. index or eval judge.")
    ] = None,
) -> None:
    """Show the help of conspectus, or of one of its commands.

    Example: conspectus help ask
    """
    found: Any = ctx.find_root()
    for name in names or ():
        command = found.command.get_command(found, name) if isinstance(found.command, TyperGroup) else None
        if command is None:
            found.fail(f"No such command {name!r}.")
        found = type(found)(command, info_name=name, parent=found)
    typer.echo(found.get_help())
