"""`conspectus eval ablate`: settings are varied, and what that changes is a table and charts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import show
from conspectus.cli.eval_options import Conditions, Flags, Questions, Sample, estimates_table, step, with_progress
from conspectus.cli.options import DONE, FOLDER, OUTPUT, WITH_FAILURES, IndexFolder, confirmed, parts

if TYPE_CHECKING:
    from conspectus.evaluation.ablation import Ablation


@step(index="folder", vary=True)
def ablate(
    preset: Annotated[
        str,
        typer.Argument(
            metavar="PRESET",
            help="Preset: figure3 (chunk sizes, gleanings), window (context windows) or communities (Leiden, Louvain).",
        ),
    ] = "",
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
    *,
    flags: Flags,
) -> None:
    """Vary settings and measure the effect.

    --set KEY=V1,V2 varies any setting, and may be repeated; a single value is set for all. A setting of indexing is
    varied by indexing again, any other by answering --questions again. Writes a table (JSON, CSV) and charts (extra
    eval) to DIR; run it again to continue. With questions, DIR can be given to eval judge, claims and report.

    Example: conspectus eval ablate --set chunk.tokens=600,1200 --index idx
    """
    from conspectus import evaluation

    if preset == "communities":
        _show(evaluation.compare_communities(folder, out, seeds=seeds, settings=flags.settings), flags)
    options: Any = {
        "preset": preset,
        "varied": flags.varied,
        "settings": flags.settings,
        "sources": sources or (),
        "questions": questions or (),
        "conditions": parts(conditions),
        "sample": sample,
    }
    _announce(folder, out, options, flags)
    with with_progress(out, quiet=flags.quiet or flags.json) as bars:
        done = evaluation.ablate(folder, out, progress=bars, **options)
    _show(done, flags)


def _announce(folder: Path, out: Path, options: Any, flags: Flags) -> None:
    """Show what is left and what it would take, and ask whether to go on; a dry run ends there."""
    from conspectus import evaluation

    if not flags.dry_run and flags.settings.model == "extractive":
        return
    variants, left, costs = evaluation.preview_ablation(folder, out, **options)
    if flags.dry_run and flags.json:
        show.as_json({"variants": variants, "left": left, "estimates": costs})
    elif flags.dry_run or not flags.quiet:
        write = show.out if flags.dry_run else show.note
        write(f"{show.counted(variants, 'variant')}, {left:,} of them left.")
        if costs:
            show.table(estimates_table("Variant", costs), write)
    if flags.dry_run:
        raise typer.Exit
    confirmed(yes=flags.yes)


def _show(done: Ablation, flags: Flags) -> None:
    """Print the table and what there is to say; end with the exit code of that."""
    from conspectus.evaluation import charts, tables

    if flags.json:
        names = ("title", "rows", "notices", "errors", "files")
        show.as_json({"ablation": done.name} | {name: getattr(done, name) for name in names})
    else:
        show.out(f"{show.bold(done.title)}\n")
        table = tables.ablation(done.rows)
        show.table(table.plain(), texts=table.texts)
    if not flags.quiet:
        show.listed("Notes:", done.notices)
        show.note(f"Written to {done.folder}: {', '.join(done.files)}")
        if not charts.can_draw():
            show.note("Charts need matplotlib: pip install 'conspectus[eval]'")
        failed = [f"{n:,} x {error}" for error, n in done.errors.items()]
        show.listed(f"Failed {sum(done.errors.values()):,}; the same command tries again:", failed)
        show.spent(done.usage)
    raise typer.Exit(WITH_FAILURES if done.errors else DONE)
