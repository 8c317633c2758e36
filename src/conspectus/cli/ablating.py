"""`conspectus eval ablate`: one thing is varied, and what that changes is a table and a chart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import ablation_tables as tables
from conspectus.cli import show
from conspectus.cli.comparing import DryRun, condition_names
from conspectus.cli.guard import INTERRUPTED
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    IndexFolder,
    Quiet,
    Yes,
    confirmed,
    parts,
)
from conspectus.cli.settled import with_model, with_settings
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.evaluate.ablations.found import Experiment
    from conspectus.settings import Settings

app = typer.Typer(help="Vary one thing, keep all else, and measure what it changes.", no_args_is_help=True)

Questions = Annotated[
    Path,
    typer.Option("--questions", metavar="FILE|DIR", help="A list of questions, or the folder of a comparison."),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the ablation.")]
OUT = Path("ablation")
Sample = Annotated[int | None, typer.Option(metavar="N", min=1, help="Take only N of them, drawn by a seed.")]


@app.callback()
def ablate() -> None:
    """Vary one thing, keep all else, and measure what it changes.

    DIR gets a table (JSON, CSV) and a chart (SVG, PNG with Pillow). What is found is kept: the same command goes on
    from there. Folders of answers (window, levels, reports) are comparisons: eval judge, claims and report take them.
    """


@app.command("chunks")
@with_model
def chunks(
    sources: Annotated[
        list[Path] | None, typer.Argument(metavar="[SOURCES]", help="Files and folders; those of --index if none.")
    ] = None,
    folder: IndexFolder = FOLDER,
    sizes: Annotated[str, typer.Option(metavar="NUMBERS", help="Tokens of a chunk.")] = "600,1200,2400",
    rounds: Annotated[int, typer.Option(metavar="N", min=0, help="Rounds of gleaning at the most (models).")] = 3,
    sample: Sample = None,
    out: Out = OUT,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Count the entity references that are found by size of chunks and rounds of gleaning (P1 Figure 3).

    Only extraction is done. Without a language model there is nothing to glean: sizes of chunks only.
    """
    from conspectus import api

    experiment = api.vary_chunks(
        [str(source) for source in sources or ()], out,
        index=None if sources else folder, sizes=_numbers(sizes, "--sizes"), rounds=rounds, sample=sample,
        settings=settings,
    )  # fmt: skip
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


@app.command("window")
@with_model
def window(
    questions: Questions,
    folder: IndexFolder = FOLDER,
    conditions: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            autocompletion=condition_names,
            help="Conditions, with commas (the deepest of C0 to C3, TS, local).",
            show_default=False,
        ),
    ] = "",
    windows: Annotated[str, typer.Option(metavar="NUMBERS", help="Tokens of the window.")] = "8000,16000,32000,64000",
    sample: Sample = None,
    out: Out = OUT,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Answer questions under windows of several sizes (P1 appendix C): what is read, cited and claimed."""
    from conspectus import api

    names = parts(conditions)
    sizes = _numbers(windows, "--windows")
    experiment = api.vary_window(
        questions, folder, out, conditions=names, windows=sizes, sample=sample, settings=settings
    )
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


@app.command("levels")
@with_model
def levels(
    questions: Questions,
    folder: IndexFolder = FOLDER,
    sample: Sample = None,
    out: Out = OUT,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Answer questions from every level of reports, by type of question: the whole, a thing, joining, looking up."""
    from conspectus import api

    experiment = api.vary_levels(questions, folder, out, sample=sample, settings=settings)
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


@app.command("communities")
@with_settings
def communities(
    folder: IndexFolder = FOLDER,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Seeds that each method is run with.")] = 10,
    out: Out = OUT,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Divide the graph of an index by Leiden and by Louvain: modularity, levels, sizes, what is connected."""
    from conspectus import api

    experiment = api.vary_communities(folder, out, seeds=seeds, settings=settings)
    _done(experiment, settings, dry_run=False, yes=True, json=json, quiet=quiet)


@app.command("reports")
@with_model
def reports(
    folder: IndexFolder = FOLDER,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", metavar="FILE|DIR", help="Questions to answer from the reports of both."),
    ] = None,
    level: Annotated[int | None, typer.Option(metavar="N", min=0, help="Level to answer from.")] = None,
    sample: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask only N questions.")] = None,
    checked: Annotated[
        int, typer.Option(metavar="N", min=0, help="Reports of each whose sentences are held against what they cite.")
    ] = 50,
    out: Out = OUT,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Compare reports by selection with reports by a language model, of the same communities.

    The model of --model writes them; without it, those of an index that a model wrote (or another tool) are taken.
    """
    from conspectus import api

    experiment = api.vary_reports(
        folder, out, questions=questions, level=level, sample=sample, checked=checked, settings=settings
    )
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


def _numbers(text: str, option: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"{option} takes numbers with commas between, and not {text!r}")
    return found


# Before, and while


def _done(experiment: Experiment, settings: Settings, *, dry_run: bool, yes: bool, json: bool, quiet: bool) -> None:
    from conspectus import api

    if dry_run or settings.model != "extractive":
        seen = api.preview_ablation(experiment)
        if dry_run:
            tables.preview(seen, json=json)
            return
        if seen.estimates and not quiet:
            show.table(tables.estimates(seen), show.note)
            confirmed(yes=yes)
    from conspectus.cli.progress import Bars

    try:
        with Bars(quiet=quiet or json) as bars:
            done = api.ablate(experiment, progress=bars)
    except KeyboardInterrupt:
        show.note(f"interrupted: what was found is kept in {experiment.folder}; the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    tables.told(done, json=json, quiet=quiet)
