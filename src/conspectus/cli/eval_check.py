"""`conspectus eval claims`, `eval grounding` and `eval loss`: what answers state, what supports it, what gets lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import show
from conspectus.cli.eval_options import (
    Conditions,
    Flags,
    Folder,
    Sample,
    carried_out,
    condition_names,
    ended,
    step,
    table,
)
from conspectus.cli.options import FOLDER, OUTPUT, IndexFolder, parts

if TYPE_CHECKING:
    from conspectus.evaluation.loss import Loss


@step()
def claims(folder: Folder, conditions: Conditions = "", sample: Sample = None, *, flags: Flags) -> None:
    """Count factual claims and their clusters per condition.

    A language model selects sentences with verifiable content, makes them self-contained and splits them into claims;
    each claim counts once. Saved in DIR/claims.jsonl; run it again to continue. If there are judgements, reports how
    often both agree.

    Example: conspectus eval claims comparison --model openai/gpt-4.1-mini
    """
    from conspectus import evaluation
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
    from conspectus import evaluation
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
        Path | None, typer.Option(metavar="DIR", rich_help_panel=OUTPUT, help="Also write every fact to DIR/loss.json.")
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
    from conspectus import evaluation, open_index
    from conspectus.evaluation.claims import CLAIMS_BY_RULES
    from conspectus.evaluation.grounding import GROUNDED_BY_RULES

    opened = open_index(folder)
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
