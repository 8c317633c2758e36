"""`conspectus eval ablate`: settings are varied, and what that changes is a table and charts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.eval_options import Conditions, DryRun, Questions, Sample, estimates_table, with_progress
from conspectus.cli.options import (
    DONE,
    FOLDER,
    OUTPUT,
    WITH_FAILURES,
    AsJson,
    BaseUrl,
    Budget,
    BudgetTokens,
    ConfigFile,
    IndexFolder,
    LogFile,
    ModelName,
    Quiet,
    Yes,
    confirmed,
    model_flags,
    overrides,
    parts,
    settings_of,
)

if TYPE_CHECKING:
    from conspectus.evaluation.ablation import Ablation, AblationOptions
    from conspectus.settings import Settings


def ablate(
    preset: Annotated[
        str,
        typer.Argument(
            metavar="PRESET",
            help="Preset: figure3 (chunk sizes, gleanings), window (context windows) or communities (Leiden, Louvain).",
        ),
    ] = "",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=V1,V2",
            help="Vary any setting over values separated by commas; a single value is set for all. Repeatable.",
        ),
    ] = None,
    folder: IndexFolder = FOLDER,
    sources: Annotated[
        list[Path] | None,
        typer.Option("--source", metavar="PATH", help="Files and folders to index (default: those of the index)."),
    ] = None,
    questions: Questions = None,
    conditions: Conditions = "",
    sample: Sample = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Random seeds of `communities`.")] = 10,
    out: Annotated[Path, typer.Option(metavar="DIR", rich_help_panel=OUTPUT, help="Folder of the ablation.")] = Path(
        "ablation"
    ),
    model: ModelName = None,
    base_url: BaseUrl = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    log: LogFile = None,
) -> None:
    """Vary settings and measure the effect.

    A setting of indexing is varied by indexing again, any other by answering --questions again. Writes a table (JSON,
    CSV) and charts (extra eval) to DIR; run it again to continue. With questions, DIR can be given to eval judge,
    claims and report.

    Example: conspectus eval ablate --set chunk.tokens=600,1200 --index idx
    """
    from conspectus import evaluation

    given = overrides(set_)
    varied = {key: parts(value) for key, value in given.items() if "," in value}
    fixed = {key: value for key, value in given.items() if key not in varied}
    flags = model_flags(model, base_url, None, budget, budget_tokens)
    settings = settings_of(overrides(None, {**fixed, **flags}), config)
    if preset == "communities":
        with with_progress(out, quiet=quiet or json) as bars:
            done = evaluation.compare_communities(folder, out, seeds=seeds, settings=settings, progress=bars)
        _show(done, json=json, quiet=quiet)
    options = evaluation.AblationOptions(
        preset, varied, tuple(sources or ()), questions or (), parts(conditions), sample
    )
    if dry_run or settings.model != "extractive":
        if _preview(options, folder, out, settings, json=json, dry_run=dry_run, quiet=quiet):
            return
        confirmed(yes=yes)
    with with_progress(out, quiet=quiet or json) as bars:
        done = evaluation.ablate(options, folder, out, settings=settings, progress=bars)
    _show(done, json=json, quiet=quiet)


def _preview(
    options: AblationOptions, index: Path, out: Path, settings: Settings, *, json: bool, dry_run: bool, quiet: bool
) -> bool:
    """Print what is left and what it would take; say whether that is all that was asked for."""
    from conspectus import evaluation

    variants, left, costs = evaluation.preview_ablation(options, index, out, settings=settings)
    if json and dry_run:
        show.as_json({"variants": variants, "left": left, "estimates": costs})
    elif dry_run or not quiet:
        write = show.out if dry_run else show.note
        write(f"{show.counted(variants, 'variant')}, {left:,} of them left.")
        if costs:
            show.table(estimates_table("Variant", costs), write)
    return dry_run


def _show(done: Ablation, *, json: bool, quiet: bool) -> None:
    from conspectus.evaluation import charts, tables

    if json:
        show.as_json({"ablation": done.name, "title": done.title, "rows": done.rows, "notices": done.notices,
                      "errors": done.errors, "files": done.files})  # fmt: skip
    else:
        show.out(f"{show.bold(done.title)}\n")
        if done.rows:
            table = tables.ablation(done.rows)
            show.table(table.plain(), texts=table.texts)
    if not quiet:
        show.listed("Notes:", done.notices)
        show.note(f"Written to {done.folder}: {', '.join(done.files)}")
        if not charts.can_draw():
            show.note("Charts need matplotlib: pip install 'conspectus[eval]'")
        failed = [f"{n:,} x {error}" for error, n in done.errors.items()]
        show.listed(f"Failed {sum(done.errors.values()):,}; the same command tries again:", failed)
        show.spent(done.usage)
    raise typer.Exit(WITH_FAILURES if done.errors else DONE)
