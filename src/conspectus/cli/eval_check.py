"""`conspectus eval claims`, `grounding`, `loss` and `ablate`: checks of answers and indexes, and varied settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus import api, evaluation
from conspectus.cli import show
from conspectus.cli.eval_options import (
    Conditions,
    Flags,
    Folder,
    Questions,
    Sample,
    carried_out,
    condition_names,
    ended,
    estimates_table,
    step,
    table,
    with_progress,
)
from conspectus.cli.options import DONE, FOLDER, OUTPUT, WITH_FAILURES, IndexFolder, confirmed, parts

if TYPE_CHECKING:
    from conspectus.evaluation.ablation import Ablation
    from conspectus.evaluation.loss import Loss


@step()
def claims(folder: Folder, conditions: Conditions = "", sample: Sample = None, *, flags: Flags) -> None:
    """Count factual claims and their clusters per condition.

    A language model selects sentences with verifiable content, makes them self-contained and splits them into claims;
    each claim counts once. Saved in DIR/claims.jsonl; run it again to continue. If there are judgements, reports how
    often both agree.

    Example: conspectus eval claims comparison --model openai/gpt-4.1-mini
    """
    from conspectus.evaluation import tables
    from conspectus.evaluation.claims import CLAIMS_BY_RULES

    def display(counts: Any) -> None:
        table(tables.claim_averages(counts))
        if counts.differences:
            table(tables.claim_differences(counts.differences), "Differences")
        if counts.agreement:
            table(tables.claim_agreement(counts.agreement), "Agreement with the majority of the judgements")

    options: Any = {"conditions": parts(conditions), "sample": sample, "settings": flags.settings}
    done = carried_out(
        lambda: evaluation.preview_claims(folder, **options),
        lambda bars: evaluation.extract_claims(folder, progress=bars, **options),
        "answer",
        folder,
        flags,
    )
    _display(done.value, display, flags)
    ended(done, done.value.errors, [CLAIMS_BY_RULES] if "extractive" in done.value.found_by else [], flags)


@step()
def grounding(folder: Folder, conditions: Conditions = "", sample: Sample = None, *, flags: Flags) -> None:
    """Measure how many sentences follow from what they cite.

    With extra answers per question (eval answers --samples N), also measures self-consistency: invented statements
    differ from sample to sample. Saved in DIR/grounding.jsonl.

    Example: conspectus eval grounding comparison
    """
    from conspectus.evaluation import tables
    from conspectus.evaluation.grounding import GROUNDED_BY_RULES

    options: Any = {"conditions": parts(conditions), "sample": sample, "settings": flags.settings}
    done = carried_out(
        lambda: evaluation.preview_grounding(folder, **options),
        lambda bars: evaluation.check_grounding(folder, progress=bars, **options),
        "answer",
        folder,
        flags,
    )
    _display(done.value, lambda shares: table(tables.grounding(shares)), flags)
    ended(done, done.value.errors, [GROUNDED_BY_RULES] if "extractive" in done.value.found_by else [], flags)


@step(index="folder")
def loss(
    folder: IndexFolder = FOLDER,
    chunks: Annotated[
        int, typer.Option(metavar="N", min=1, help="Number of randomly chosen chunks to take facts from.")
    ] = 50,
    conditions: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            autocompletion=condition_names,
            help="Conditions that are asked about the entities of each chunk, e.g. local,C0. Empty for none.",
        ),
    ] = "local",
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", rich_help_panel=OUTPUT, help="Also write every fact to DIR/loss.json."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the sample.")] = 0,
    *,
    flags: Flags,
) -> None:
    """Trace facts through the index: where are they lost?

    For facts of sampled chunks, counts how many follow from the extraction, the descriptions, the reports of each
    level, and from the answer to a question about them. Run it again to continue.

    Example: conspectus eval loss --chunks 20
    """
    from conspectus.evaluation.claims import CLAIMS_BY_RULES
    from conspectus.evaluation.grounding import GROUNDED_BY_RULES

    opened = api.open_index(folder)
    options: Any = {"chunks": chunks, "conditions": parts(conditions), "seed": seed, "settings": flags.settings}
    done = carried_out(
        lambda: evaluation.preview_loss(opened, **options),
        lambda bars: evaluation.measure_loss(opened, progress=bars, **options),
        "chunk",
        folder,
        flags,
    )
    found = done.value
    file = found.write(out) if out else None
    _display(found, _show_loss, flags)
    if file and not flags.json:
        show.out(f"\nEvery fact is in {file}.")
    if not flags.quiet:
        show.listed("Of the stages:", found.notices)
    rules = [CLAIMS_BY_RULES, GROUNDED_BY_RULES] if found.found_by == "extractive" else []
    ended(done, dict.fromkeys(found.failures, 1), rules, flags)


def _show_loss(loss: Loss) -> None:
    """Print the share of facts that each stage has, and some of those that it lost."""
    from conspectus.evaluation import tables

    show.out(f"{show.counted(len(loss.facts), 'fact')} of {show.counted(loss.chunks, 'chunk')}:\n")
    table(tables.loss(loss.as_json()["stages"]))
    for stage in loss.stages:
        if examples := loss.lost(stage.stage):
            show.out(f"\n{show.bold(f'Lost at {stage.stage}')}, for example:")
            for fact in examples:
                show.out(f"  {show.snippet(fact.text, 240)} ({fact.document}, chunk {fact.chunk})")


def _display(value: Any, display: Callable[[Any], None], flags: Flags) -> None:
    show.as_json(value.as_json()) if flags.json else display(value)


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
        typer.Option(
            "--source", metavar="PATH", help="Files and folders to index (default: those of the index)."
        ),
    ] = None,
    questions: Questions = None,
    conditions: Conditions = "",
    sample: Sample = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Random seeds of `communities`.")] = 10,
    out: Annotated[
        Path, typer.Option(metavar="DIR", rich_help_panel=OUTPUT, help="Folder of the ablation.")
    ] = Path("ablation"),
    *,
    flags: Flags,
) -> None:
    """Vary settings and measure the effect.

    --set KEY=V1,V2 varies any setting, and may be repeated; a single value is set for all. A setting of indexing is
    varied by indexing again, any other by answering --questions again. Writes a table (JSON, CSV) and charts (extra
    eval) to DIR; run it again to continue. With questions, DIR can be given to eval judge, claims and report.

    Example: conspectus eval ablate --set chunk.tokens=600,1200 --index idx
    """
    if preset == "communities":
        _show_ablation(evaluation.compare_communities(folder, out, seeds=seeds, settings=flags.settings), flags)
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
    _show_ablation(done, flags)


def _announce(folder: Path, out: Path, options: Any, flags: Flags) -> None:
    """Show what is left and what it would take, and ask whether to go on; a dry run ends there."""
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


def _show_ablation(done: Ablation, flags: Flags) -> None:
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
