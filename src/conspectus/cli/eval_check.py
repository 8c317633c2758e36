"""`conspectus eval claims`, `eval grounding` and `eval loss`: what answers state, what supports it, what gets lost."""

from __future__ import annotations

import json as writing
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from conspectus.cli import show
from conspectus.cli.eval_options import (
    Conditions,
    DryRun,
    Folder,
    Sample,
    announced,
    condition_names,
    previewed,
    table,
    with_progress,
)
from conspectus.cli.guard import DONE, WITH_FAILURES
from conspectus.cli.help import OUTPUT
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    IndexFolder,
    Quiet,
    Yes,
    parts,
    with_model,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conspectus.evaluation.claims import ClaimCounts
    from conspectus.evaluation.loss import Loss
    from conspectus.evaluation.run import Result
    from conspectus.settings import Settings

T = TypeVar("T")
RULES = {
    "claims": "Without a language model a claim is a sentence as it stands, where it names something or gives a number "
    "and can be read alone; nothing is taken apart.",
    "support": "Without a language model a sentence counts as supported by a text that holds 70 % of its words and all "
    "of its numbers: what is said in other words is missed, so the shares are floors.",
}


@with_model
def claims(
    folder: Folder,
    conditions: Conditions = "",
    sample: Sample = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Count factual claims and their clusters per condition.

    A language model selects sentences with verifiable content, makes them self-contained and splits them into claims;
    each claim counts once. Saved in DIR/claims.jsonl; run it again to continue. If there are judgements, reports how
    often both agree.

    Example: conspectus eval claims comparison --model openai/gpt-4.1-mini
    """
    from conspectus import evaluation

    chosen: dict[str, Any] = {"conditions": parts(conditions), "sample": sample, "settings": settings}
    seen = evaluation.preview_claims(folder, **chosen)
    if dry_run:
        previewed(seen, "answer", json=json)
        return
    announced(seen, "answer", quiet=quiet, yes=yes)
    with with_progress(folder, quiet=quiet or json) as bars:
        checked = evaluation.extract_claims(folder, progress=bars, **chosen)
    if json:
        show.as_json(checked.value.as_json())
    else:
        _claims(checked.value)
    _ended(checked, checked.value.errors, checked.value.found_by, "claims", quiet=quiet)


@with_model
def grounding(
    folder: Folder,
    conditions: Conditions = "",
    sample: Sample = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Measure how many sentences follow from what they cite.

    With extra answers per question (eval answers --samples N), also measures self-consistency: invented statements
    differ from sample to sample. Saved in DIR/grounding.jsonl.

    Example: conspectus eval grounding comparison
    """
    from conspectus import evaluation
    from conspectus.evaluation import tables

    chosen: dict[str, Any] = {"conditions": parts(conditions), "sample": sample, "settings": settings}
    seen = evaluation.preview_grounding(folder, **chosen)
    if dry_run:
        previewed(seen, "answer", json=json)
        return
    announced(seen, "answer", quiet=quiet, yes=yes)
    with with_progress(folder, quiet=quiet or json) as bars:
        checked = evaluation.check_grounding(folder, progress=bars, **chosen)
    if json:
        show.as_json(checked.value.as_json())
    else:
        table(tables.grounding(checked.value))
    _ended(checked, checked.value.errors, checked.value.found_by, "support", quiet=quiet)


@with_model
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
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Trace facts through the index: where are they lost?

    For facts of sampled chunks, counts how many follow from the extraction, the descriptions, the reports of each
    level, and from the answer to a question about them. Run it again to continue.

    Example: conspectus eval loss --chunks 20
    """
    from conspectus import evaluation, open_index
    from conspectus.evaluation.loss import LOSS_FILE
    from conspectus.readers import list_generated

    opened = open_index(folder)
    chosen: dict[str, Any] = {"chunks": chunks, "conditions": parts(conditions), "seed": seed, "settings": settings}
    if dry_run or settings.model != "extractive":
        seen = evaluation.preview_loss(opened, **chosen)
        if dry_run:
            previewed(seen, "chunk", json=json)
            return
        announced(seen, "chunk", quiet=quiet, yes=yes)
    with with_progress(folder, quiet=quiet or json) as bars:
        checked = evaluation.measure_loss(opened, progress=bars, **chosen)
    told = checked.value.as_json()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        list_generated(out, [LOSS_FILE])
        (out / LOSS_FILE).write_text(writing.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if json:
        show.as_json(told)
    else:
        _loss(checked.value)
        if out is not None:
            show.out(f"\nEvery fact is in {out / LOSS_FILE}.")
    errors = dict.fromkeys(checked.value.failures, 1)
    if not quiet:
        show.listed("Of the stages:", checked.value.notices)
    _ended(checked, errors, (checked.value.found_by,), "claims", "support", quiet=quiet)


# After


def _ended(checked: Result[Any], errors: Mapping[str, int], by: Sequence[str], *rules: str, quiet: bool) -> None:
    """Say how it was found, what failed and what it took; end with the exit code of that."""
    if not quiet:
        if "extractive" in by:
            show.note("\n" + "\n".join(RULES[rule] for rule in rules))
        failed = sum(errors.values())
        show.listed(
            f"Failed {failed:,}; the same command tries again:", [f"{n:,} x {why}" for why, n in errors.items()]
        )
        show.listed("Of the model's replies:", checked.notices)
        show.spent(checked.usage)
    raise typer.Exit(WITH_FAILURES if errors else DONE)


def _claims(counts: ClaimCounts) -> None:
    """Print averages, differences and agreement with the judge."""
    from conspectus.evaluation import tables

    table(tables.claim_averages(counts))
    if counts.differences:
        table(tables.claim_differences(counts.differences), "Differences")
    if counts.agreement:
        table(tables.claim_agreement(counts.agreement), "Agreement with the majority of the judgements")


def _loss(loss: Loss) -> None:
    """Print the share of facts that each stage has, and some of those that it lost."""
    from conspectus.evaluation import tables

    show.out(f"{show.counted(len(loss.facts), 'fact')} of {show.counted(loss.chunks, 'chunk')}:\n")
    table(tables.loss(loss.as_json()["stages"]))
    for stage in loss.stages:
        if examples := loss.lost(stage.stage):
            show.out(f"\n{show.bold(f'Lost at {stage.stage}')}, for example:")
            for fact in examples:
                show.out(f"  {show.snippet(fact.text, 240)} ({fact.document}, chunk {fact.chunk})")
