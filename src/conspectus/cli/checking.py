"""`conspectus eval claims`, `eval grounding` and `eval loss`: what answers state, what supports it, what gets lost."""

from __future__ import annotations

import json as writing
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from conspectus import api
from conspectus.cli import check_tables as tables
from conspectus.cli import show
from conspectus.cli.comparing import DryRun, condition_names
from conspectus.cli.guard import DONE, INTERRUPTED, WITH_FAILURES
from conspectus.cli.help import OUTPUT
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    IndexFolder,
    Quiet,
    Yes,
    confirmed,
    parts,
    with_model,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conspectus.api.checking import Checked, CheckPreview
    from conspectus.cli.progress import Bars
    from conspectus.settings import Settings

T = TypeVar("T")
RULES = {
    "claims": "Without a language model a claim is a sentence as it stands, where it names something or gives a number "
    "and can be read alone; nothing is taken apart.",
    "support": "Without a language model a sentence counts as supported by a text that holds 70 % of its words and all "
    "of its numbers: what is said in other words is missed, so the shares are floors.",
}
FACTS_FILE = "loss.json"

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of a comparison, with questions.json and answers.jsonl.")
]
Conditions = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        autocompletion=condition_names,
        help="Conditions to check, separated by commas (default: all).",
        show_default=False,
    ),
]
Sample = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Check the answers to a random sample of N questions. A later run may check more."
    ),
]


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
    chosen: dict[str, Any] = {"conditions": parts(conditions), "sample": sample, "settings": settings}
    seen = api.estimate_claims(folder, **chosen)
    if dry_run:
        _previewed(seen, "answer", json=json)
        return
    _announced(seen, "answer", quiet=quiet, yes=yes)
    checked = _run(lambda bars: api.evaluate_claims(folder, progress=bars, **chosen), folder, quiet=quiet or json)
    if json:
        show.as_json(checked.found.as_json())
    else:
        tables.claims(checked.found)
    _ended(checked, checked.found.errors, checked.found.found_by, "claims", quiet=quiet)


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
    chosen: dict[str, Any] = {"conditions": parts(conditions), "sample": sample, "settings": settings}
    seen = api.estimate_grounding(folder, **chosen)
    if dry_run:
        _previewed(seen, "answer", json=json)
        return
    _announced(seen, "answer", quiet=quiet, yes=yes)
    checked = _run(lambda bars: api.evaluate_grounding(folder, progress=bars, **chosen), folder, quiet=quiet or json)
    if json:
        show.as_json(checked.found.as_json())
    else:
        tables.grounding(checked.found)
    _ended(checked, checked.found.errors, checked.found.found_by, "support", quiet=quiet)


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
    from conspectus.readers import list_generated

    opened = api.open_index(folder)
    chosen: dict[str, Any] = {"chunks": chunks, "conditions": parts(conditions), "seed": seed, "settings": settings}
    if dry_run or settings.model != "extractive":
        seen = api.estimate_loss(opened, **chosen)
        if dry_run:
            _previewed(seen, "chunk", json=json)
            return
        _announced(seen, "chunk", quiet=quiet, yes=yes)
    checked = _run(lambda bars: api.evaluate_loss(opened, progress=bars, **chosen), folder, quiet=quiet or json)
    told = checked.found.as_json()
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        list_generated(out, [FACTS_FILE])
        (out / FACTS_FILE).write_text(writing.dumps(told, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    if json:
        show.as_json(told)
    else:
        tables.loss(checked.found)
        if out is not None:
            show.out(f"\nEvery fact is in {out / FACTS_FILE}.")
    errors = dict.fromkeys(checked.found.failures, 1)
    if not quiet:
        show.listed("Of the stages:", checked.found.notices)
    _ended(checked, errors, (checked.found.found_by,), "claims", "support", quiet=quiet)


# Before, and while


def _previewed(seen: CheckPreview, noun: str, *, json: bool) -> None:
    if json:
        show.as_json(asdict(seen))
        return
    show.out(f"{_size(seen, noun)}.")
    if seen.estimate:
        show.out()
        show.table(show.costs(seen.estimate))


def _size(seen: CheckPreview, noun: str) -> str:
    done = seen.all - seen.left
    return show.counted(seen.all, noun) + (f"; {done:,} are checked, {seen.left:,} are left" if done else "")


def _announced(seen: CheckPreview, noun: str, *, quiet: bool, yes: bool) -> None:
    """Say what is about to be spent, and ask whether to, where somebody is there to be asked."""
    if seen.estimate is None or not seen.estimate.tasks or quiet:
        return
    show.note(f"{_size(seen, noun)}.")
    show.table(show.costs(seen.estimate), show.note)
    confirmed(yes=yes)


def _run(work: Callable[[Bars], Checked[T]], folder: Path, *, quiet: bool) -> Checked[T]:
    from conspectus.cli.progress import Bars

    try:
        with Bars(quiet=quiet) as bars:
            return work(bars)
    except KeyboardInterrupt:
        show.note(f"interrupted: what was found is kept in {folder}; the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None


# After


def _ended(checked: Checked[Any], errors: Mapping[str, int], by: Sequence[str], *rules: str, quiet: bool) -> None:
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
