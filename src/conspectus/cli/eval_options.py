"""What `conspectus eval` commands have in common: their options, and how a step is announced, run and ended."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

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
    argument,
    confirmed,
    option,
    parts,
    takes,
)

if TYPE_CHECKING:
    from conspectus.evaluation.run import Result, StepFunction
    from conspectus.evaluation.tables import Table
    from conspectus.settings import Settings

COMPARISON = Path("comparison")


def condition_names(incomplete: str) -> list[str]:
    """Return what a list of conditions may go on with; for completion by the shell."""
    before, comma, last = incomplete.rpartition(",")
    names = ("C0", "C1", "C2", "C3", "TS", "SS", *api.METHODS)
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


Folder = Annotated[Path, argument("DIR", "Folder of a comparison, with questions.json and answers.jsonl.")]
Conditions = Annotated[
    str,
    option(
        "Conditions, separated by commas: C0, C1, ... (reports of a level), TS (map-reduce over source texts), SS "
        "(vector search) or any method (default: all that there are).",
        metavar="NAMES",
        autocompletion=condition_names,
        show_default=False,
    ),
]
Questions = Annotated[
    Path | None, option("List of questions, or the folder of a comparison.", "--questions", metavar="FILE|DIR")
]
Criteria = Annotated[
    str,
    option(
        "Criteria, separated by commas: comprehensiveness, diversity, empowerment, directness (default: all four),"
        ' and .toml or .json files of your own, e.g. candour = "Does the answer say what it cannot tell?"',
        metavar="NAMES",
        show_default=False,
    ),
]
Pairs = Annotated[
    str,
    option(
        "Pairs of conditions to compare, e.g. C0:TS,C2:SS (default: all).",
        metavar="A:B,..",
        show_default=False,
    ),
]
Sample = Annotated[
    int | None, option("Take a random sample of N questions. A later run may take more.", metavar="N", min=1)
]
DryRun = Annotated[
    bool, option("Show the estimated calls and cost, and ask nothing.", "--dry-run", panel=COST)
]
ShownJudge = Annotated[
    str | None, option("Judge whose judgements are shown, if there are several.", metavar="NAME", panel=MODEL)
]
STEP = {"dry_run": DryRun, "yes": Yes, "json": AsJson, "quiet": Quiet}
"""The switches of a step that asks a model."""
SHOW = ("json", "quiet")
"""Those of a command that asks none."""


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
    """Give a command its parameter `flags` from switches of STEP, and options of `FLAGS`.

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
            folder: Any = arguments.get(index, [])
            folders: list[Path] = [*folder] if isinstance(folder, list) else [folder]
            built = [settings for folder in folders for settings in api.settings_in(folder)]
            quiet = bool(chosen.get("quiet") or chosen.get("json"))
            settings = Given(fixed, given.config).with_index(built, quiet=quiet or not built).settings
            command(**arguments, flags=Flags(settings, varied=varied, **chosen))

        own.append(Parameter("given", Parameter.KEYWORD_ONLY, annotation=Given))
        run.__signature__ = inspect.Signature(own)  # pyright: ignore[reportAttributeAccessIssue]
        run.__annotations__ = {p.name: p.annotation for p in own}
        return takes(*names)(run)

    return decorate


MODELS = ("--model", *SERVER)
"""Options of FLAGS for a step that asks a model."""


# How a step runs


def carry_out(
    function: StepFunction[..., Any],
    *arguments: Any,
    flags: Flags,
    noun: str,
    folder: Path,
    display: Callable[[Any], None],
    **options: Any,
) -> None:
    """Show what a step would take and ask whether to go on, run it, show the result, and end with its exit code.

    A dry run ends after the first. `folder` is where the results are, `noun` what the pieces of work are called.
    """
    options["settings"] = flags.settings
    if flags.dry_run or flags.settings.model != "extractive":
        preview = function.preview(*arguments, **options)
        estimate = preview.estimate if preview.estimate and preview.estimate.tasks else None
        write = show.out if flags.dry_run else show.note
        if flags.dry_run and flags.json:
            show.as_json(preview)
        elif flags.dry_run or (estimate and not flags.quiet):
            done = preview.total - preview.remaining
            size = f"; {done:,} are done, {preview.remaining:,} are left" if done else ""
            write(f"{show.counted(preview.total, noun)}{size}.")
            if preview.estimate:
                show.table(show.costs(preview.estimate), write)
        if flags.dry_run:
            raise typer.Exit
        if estimate and not flags.quiet:
            confirmed(yes=flags.yes)
    try:
        with show.Bars(quiet=flags.quiet or flags.json) as bars:
            result = function(*arguments, progress=bars, **options)
    except KeyboardInterrupt:
        show.note(
            f"interrupted: the results so far are saved in {folder}; the same command goes on from there"
        )
        raise typer.Exit(INTERRUPTED) from None
    ended(result, display, flags)


def ended(result: Result[Any], display: Callable[[Any], None], flags: Flags) -> None:
    """Show the result of a step, what failed and what it took; end with the exit code of that."""
    if flags.json:
        show.as_json(result.value.as_json())
    else:
        display(result.value)
    if not flags.quiet:
        failed = [f"{n:,} x {error}" for error, n in result.errors.items()]
        show.listed(f"Failed {sum(result.errors.values()):,}; the same command tries again:", failed)
        show.listed("Notes:", result.notices)
        show.spent(result.usage)
    raise typer.Exit(WITH_FAILURES if result.errors else DONE)


def table(shown: Table, title: str = "", *, caption: bool = True) -> None:
    """Print a table of an evaluation under a title, with its caption."""
    if title:
        show.out(f"\n{show.bold(title)}\n")
    show.table(shown.plain(), texts=shown.texts)
    if caption and shown.caption:
        show.out(f"\n{shown.caption}")
