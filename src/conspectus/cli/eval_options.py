"""Options that several `conspectus eval` commands have, and what they do alike."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.guard import INTERRUPTED
from conspectus.cli.help import COST, MODEL
from conspectus.cli.options import confirmed

if TYPE_CHECKING:
    from conspectus.cli.progress import Bars
    from conspectus.evaluation.judge import LeftOut
    from conspectus.evaluation.run import Preview
    from conspectus.evaluation.tables import Table
    from conspectus.indexing.estimate import Estimate

COMPARISON = Path("comparison")


def condition_names(incomplete: str) -> list[str]:
    """Return what a list of conditions may go on with; for completion by the shell."""
    from conspectus.evaluation.conditions import PAPER
    from conspectus.retrieval import METHODS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in (*PAPER, *METHODS) if name.startswith(last)]


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
        metavar="A:B,..", help="Pairs of conditions to compare, e.g. C0:TS,C2:SS (default: all).", show_default=False
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Take a random sample of N questions. A later run may take more."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", rich_help_panel=COST, help="Show the estimated calls and cost, and ask nothing.")
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


@contextmanager
def with_progress(folder: Path, *, quiet: bool) -> Generator[Bars]:
    """Show progress bars; an interruption ends the command and says where the results so far are."""
    from conspectus.cli.progress import Bars

    try:
        with Bars(quiet=quiet) as bars:
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


def previewed(preview: Preview, noun: str, *, json: bool) -> None:
    """Print what a run would do and take."""
    if json:
        show.as_json(asdict(preview))
        return
    show.out(f"{_size(preview, noun)}.")
    if preview.estimate:
        show.out()
        show.table(show.costs(preview.estimate))


def announced(preview: Preview, noun: str, *, quiet: bool, yes: bool) -> None:
    """Say what is about to be spent, and ask whether to, where somebody is there to be asked."""
    if preview.estimate is None or not preview.estimate.tasks or quiet:
        return
    show.note(f"{_size(preview, noun)}.")
    show.table(show.costs(preview.estimate), show.note)
    confirmed(yes=yes)


def _size(preview: Preview, noun: str) -> str:
    done = preview.total - preview.left
    return show.counted(preview.total, noun) + (f"; {done:,} are done, {preview.left:,} are left" if done else "")


def left_out(rows: Sequence[LeftOut]) -> None:
    """Print the questions that pairs are not compared on."""
    lines = (
        f"{show.counted(one.questions, 'question')} of {':'.join(one.pair)}: no answer of {one.condition} ({one.why})"
        for one in rows
    )
    show.listed("Left out:", list(lines))
