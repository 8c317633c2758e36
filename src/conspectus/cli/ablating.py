"""`conspectus eval ablate`: one thing is varied, and what that changes is a table and a chart."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus import api
from conspectus.cli import ablation_tables as tables
from conspectus.cli import show
from conspectus.cli.comparing import DryRun, condition_names
from conspectus.cli.guard import INTERRUPTED
from conspectus.cli.help import MODEL, OUTPUT
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    IndexFolder,
    Quiet,
    Yes,
    confirmed,
    parts,
    with_model,
    with_settings,
)
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.evaluation.ablations.found import Experiment
    from conspectus.settings import Settings

app = typer.Typer(help="Ablations: vary one setting and measure the effect.", no_args_is_help=True)

Questions = Annotated[
    Path,
    typer.Option("--questions", metavar="FILE|DIR", help="List of questions, or the folder of a comparison."),
]
Out = Annotated[Path, typer.Option(metavar="DIR", rich_help_panel=OUTPUT, help="Folder of the ablation.")]
OUT = Path("ablation")
Sample = Annotated[int | None, typer.Option(metavar="N", min=1, help="Take a random sample of N.")]


@app.callback()
def ablate() -> None:
    """Ablations: vary one setting and measure the effect.

    Writes a table (JSON, CSV) and a chart (SVG; PNG with Pillow) to DIR. Results are saved; run it again to continue.
    Folders of answers (window, levels, reports) can be given to eval judge, claims and report.
    """


@app.command("chunks")
@with_model
def chunks(
    sources: Annotated[
        list[Path] | None,
        typer.Argument(metavar="SOURCE...", help="Files and folders to read (default: the documents of --index)."),
    ] = None,
    folder: IndexFolder = FOLDER,
    sizes: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Chunk sizes in tokens, separated by commas.")
    ] = "600,1200,2400",
    rounds: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, rich_help_panel=MODEL, help="Maximum number of gleanings. Requires a language model."
        ),
    ] = 3,
    sample: Sample = None,
    out: Out = OUT,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Entity references by chunk size and gleanings.

    Reproduces GraphRAG Figure 3. Runs only the extraction. Without a language model there are no gleanings: chunk sizes
    only.

    Example: conspectus eval ablate chunks docs --sizes 600,1200
    """
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
            help="Conditions to compare, separated by commas (default: the deepest of C0 to C3, TS, local).",
            show_default=False,
        ),
    ] = "",
    windows: Annotated[
        str, typer.Option(metavar="NUMBERS", help="Context window sizes in tokens, separated by commas.")
    ] = "8000,16000,32000,64000",
    sample: Sample = None,
    out: Out = OUT,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Answers by context window size (GraphRAG appendix C).

    Example: conspectus eval ablate window --questions questions.txt --windows 8000,16000
    """
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
    """Answers by community level and type of question.

    Example: conspectus eval ablate levels --questions questions.txt
    """
    experiment = api.vary_levels(questions, folder, out, sample=sample, settings=settings)
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


@app.command("communities")
@with_settings
def communities(
    folder: IndexFolder = FOLDER,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Number of random seeds per algorithm.")] = 10,
    out: Out = OUT,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Leiden against Louvain: modularity, levels, sizes.

    Example: conspectus eval ablate communities --seeds 10
    """
    experiment = api.vary_communities(folder, out, seeds=seeds, settings=settings)
    _done(experiment, settings, dry_run=False, yes=True, json=json, quiet=quiet)


@app.command("reports")
@with_model
def reports(
    folder: IndexFolder = FOLDER,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", metavar="FILE|DIR", help="List of questions to answer from both sets of reports."),
    ] = None,
    level: Annotated[int | None, typer.Option(metavar="N", min=0, help="Community level to answer from.")] = None,
    sample: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask a random sample of N questions.")] = None,
    checked: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, help="Number of reports per set whose sentences are checked against what they cite."
        ),
    ] = 50,
    out: Out = OUT,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Extractive reports against reports by a language model.

    Both describe the same communities. --model writes the second set; without it, the reports of an index that a model
    (or another tool) wrote are used.

    Example: conspectus eval ablate reports --model openai/gpt-4.1-mini
    """
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
