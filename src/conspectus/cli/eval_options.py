"""What `conspectus eval` commands have in common: their options, and how a step is announced, run and ended."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.options import (
    COST,
    DONE,
    INTERRUPTED,
    MODEL,
    SERVER,
    WITH_FAILURES,
    AsJson,
    Given,
    Quiet,
    Yes,
    confirmed,
    parts,
    takes,
)

if TYPE_CHECKING:
    from conspectus.cli.show import Bars
    from conspectus.evaluation.run import Preview, Result
    from conspectus.evaluation.tables import Table
    from conspectus.indexing.estimate import Estimate
    from conspectus.settings import Settings

T = TypeVar("T")
COMPARISON = Path("comparison")


def condition_names(incomplete: str) -> list[str]:
    """Return what a list of conditions may go on with; for completion by the shell."""
    from conspectus.evaluation.conditions import PAPER

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in (*PAPER, *api.METHODS) if name.startswith(last)]


Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of a comparison, with questions.json and answers.jsonl.")
]
Conditions = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        autocompletion=condition_names,
        help="Conditions, separated by commas: C0, C1, ... (reports of a level), TS (map-reduce over source texts), SS "
        "(vector search) or any method (default: all that there are).",
        show_default=False,
    ),
]
Questions = Annotated[
    Path | None,
    typer.Option("--questions", metavar="FILE|DIR", help="List of questions, or the folder of a comparison."),
]
Criteria = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Criteria, separated by commas: comprehensiveness, diversity, empowerment, directness (default: all four),"
        ' and .toml or .json files of your own, e.g. candour = "Does the answer say what it cannot tell?"',
        show_default=False,
    ),
]
Pairs = Annotated[
    str,
    typer.Option(
        metavar="A:B,..",
        help="Pairs of conditions to compare, e.g. C0:TS,C2:SS (default: all).",
        show_default=False,
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Take a random sample of N questions. A later run may take more."),
]
DryRun = Annotated[
    bool,
    typer.Option("--dry-run", rich_help_panel=COST, help="Show the estimated calls and cost, and ask nothing."),
]
ShownJudge = Annotated[
    str | None,
    typer.Option(
        "--judge-model",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="Judge whose judgements are shown, if there are several.",
    ),
]


# The options of a step


STEP = {"dry_run": DryRun, "yes": Yes, "json": AsJson, "quiet": Quiet}
"""The switches of a step that asks a model."""


@dataclass(frozen=True)
class Flags:
    """What the options say that `step` adds to a command."""

    settings: Settings
    dry_run: bool = False
    yes: bool = False
    json: bool = False
    quiet: bool = False
    varied: Mapping[str, list[str]] | None = None
    """The values that `--set` gives with commas, where a command varies settings."""


def step(
    *names: str, switches: Sequence[str] = tuple(STEP), index: str = "", vary: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command its parameter `flags` from switches of STEP, the options of models, and others of `FLAGS`.

    `index` is its parameter with the folder (or folders) of an index, whose models are used unless others are named.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        hints = get_type_hints(command, localns={"Flags": Flags}, include_extras=True)
        parameters = inspect.signature(command).parameters.values()
        own = [p.replace(annotation=hints[p.name]) for p in parameters if p.name != "flags"]
        own += [Parameter(n, Parameter.KEYWORD_ONLY, default=False, annotation=STEP[n]) for n in switches]

        @functools.wraps(command)
        def run(given: Given, **arguments: Any) -> None:
            chosen = {name: arguments.pop(name) for name in switches}
            varied = {key: parts(value) for key, value in given.flags.items() if vary and "," in str(value)}
            fixed = {key: value for key, value in given.flags.items() if key not in varied}
            built = _built(arguments.get(index))
            quiet = bool(chosen.get("quiet") or chosen.get("json"))
            settings = Given(fixed, given.config).with_index(built, quiet=quiet or not built).settings
            command(**arguments, flags=Flags(settings, varied=varied, **chosen))

        own.append(Parameter("given", Parameter.KEYWORD_ONLY, annotation=Given))
        run.__signature__ = inspect.Signature(own)  # pyright: ignore[reportAttributeAccessIssue]
        run.__annotations__ = {p.name: p.annotation for p in own}
        return takes("--model", *SERVER, *names)(run)

    return decorate


def _built(index: Path | list[Path] | None) -> list[Mapping[str, Any]]:
    """Return the settings that the indexes in folders were built by."""
    folders = index if isinstance(index, list) else [index] if index else []
    return [settings for folder in folders for settings in api.settings_in(folder)]


# How a step runs


def carried_out(
    preview: Callable[[], Preview], work: Callable[[Bars], T], noun: str, folder: Path, flags: Flags
) -> T:
    """Show what a step would take and ask whether to go on, then do it; a dry run ends after the first."""
    if flags.dry_run or flags.settings.model != "extractive":
        seen = preview()
        done = seen.total - seen.left
        size = show.counted(seen.total, noun) + (f"; {done:,} are done, {seen.left:,} are left" if done else "")
        if flags.dry_run and flags.json:
            show.as_json(asdict(seen))
        elif flags.dry_run or (seen.estimate and seen.estimate.tasks and not flags.quiet):
            write = show.out if flags.dry_run else show.note
            write(f"{size}.")
            if seen.estimate:
                show.table(show.costs(seen.estimate), write)
        if flags.dry_run:
            raise typer.Exit
        if seen.estimate and seen.estimate.tasks and not flags.quiet:
            confirmed(yes=flags.yes)
    with with_progress(folder, quiet=flags.quiet or flags.json) as bars:
        return work(bars)


def ended(done: Result[Any], errors: Mapping[str, int], rules: Sequence[str], flags: Flags) -> None:
    """Say by which rules it was done, what failed and what it took; end with the exit code of that."""
    if not flags.quiet:
        if rules:
            show.note("\n" + "\n".join(rules))
        failed = [f"{n:,} x {error}" for error, n in errors.items()]
        show.listed(f"Failed {sum(errors.values()):,}; the same command tries again:", failed)
        show.listed("Of the model's replies:", done.notices)
        show.spent(done.usage)
    raise typer.Exit(WITH_FAILURES if errors else DONE)


@contextmanager
def with_progress(folder: Path, *, quiet: bool) -> Generator[Bars]:
    """Show progress bars; an interruption ends the command and says where the results so far are."""
    try:
        with show.Bars(quiet=quiet) as bars:
            yield bars
    except KeyboardInterrupt:
        show.note(f"interrupted: the results so far are saved in {folder}; the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None


def table(shown: Table, title: str = "", *, caption: bool = True) -> None:
    """Print a table of an evaluation under a title, with its caption."""
    if title:
        show.out(f"\n{show.bold(title)}\n")
    show.table(shown.plain(), texts=shown.texts)
    if caption and shown.caption:
        show.out(f"\n{shown.caption}")


def estimates_table(head: str, estimates: Mapping[str, Estimate]) -> Iterator[Sequence[str]]:
    """Yield what each of several runs would take, and all together."""
    from conspectus.evaluation.run import total

    yield [head, "Calls", "Tokens asked", "Tokens written", "Cost (USD)"]
    for name, one in (*estimates.items(), ("All", total(estimates.values()))):
        cost = show.ranging(one.cost, 4) if one.cost else "unknown"
        yield [name, *map(show.ranging, (one.calls, one.prompt_tokens, one.completion_tokens)), cost]
