"""`conspectus eval judge` and `eval stats`: answers held against each other, and what that says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.eval_options import (
    Criteria,
    DryRun,
    Folder,
    Pairs,
    Sample,
    ShownJudge,
    left_out,
    table,
    with_progress,
)
from conspectus.cli.guard import WITH_FAILURES
from conspectus.cli.help import MODEL, OUTPUT
from conspectus.cli.options import (
    AsJson,
    ConfigFile,
    LogFile,
    Quiet,
    SetKeys,
    Yes,
    confirmed,
    overrides,
    parts,
    settings_of,
    with_calls,
)

if TYPE_CHECKING:
    from conspectus.evaluation.judging import JudgingPreview
    from conspectus.evaluation.verdicts import Comparison
    from conspectus.settings import Settings

PILOT = 10
"""Questions of a first look at a judge."""
NOTE = (
    "Win rates in %, the row over the column; * differs from 50: p < 0.05 by Wilcoxon's signed-rank test, corrected "
    "(Holm) for the pairs judged by that criterion. r: matched-pairs rank-biserial correlation; "
    "d: Cohen's, of paired scores."
)
BIASED = 10
"""Percentage points from 50 at which a preference for a place is worth a warning."""

JudgeModel = Annotated[
    str | None,
    typer.Option(
        "--judge-model",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="Language model that judges, preferably not the one that answered.",
    ),
]


@with_calls
def judge(
    folder: Folder,
    judge_model: JudgeModel = None,
    criteria: Criteria = "",
    pairs: Pairs = "",
    replicates: Annotated[int, typer.Option(metavar="N", min=1, help="Number of judgements per comparison.")] = 5,
    sample: Sample = None,
    reasons: Annotated[bool, typer.Option(rich_help_panel=OUTPUT, help="Also summarise the judge's reasons.")] = True,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Judge answers head to head with a language model.

    Every pair of conditions is compared on every question and criterion; each answer comes first half of the time.
    Equal answers are ties, failed answers are left out. Judgements are saved in DIR/judgements.jsonl; run it again to
    continue. Also writes win rates, statistics and reasons to DIR.

    Example: conspectus eval judge comparison --judge-model openai/gpt-4.1
    """
    from conspectus import evaluation

    options = evaluation.JudgeOptions(parts(criteria), parts(pairs), replicates, sample, reasons)
    seen = evaluation.preview_judging(folder, options=options, judge_model=judge_model, settings=settings)
    if dry_run:
        _previewed(seen, json=json)
        return
    if not quiet:
        _announced(seen)
        left_out(seen.left_out)
    if seen.to_ask:
        confirmed(yes=yes)
    with with_progress(folder, quiet=quiet or json) as bars:
        judged = evaluation.judge_answers(
            folder, options=options, judge_model=judge_model, settings=settings, progress=bars
        )
    _told(judged.value, folder, json=json, quiet=quiet)
    if not quiet:
        show.spent(judged.usage)
        show.listed("Of the model's replies:", judged.notices)
    failed = judged.value.failed or any(one.error for one in judged.value.reasons)
    raise typer.Exit(WITH_FAILURES if failed else 0)


def stats(
    folder: Folder,
    judge_model: ShownJudge = None,
    json: AsJson = False,
    quiet: Quiet = False,
    log: LogFile = None,
) -> None:
    """Show win rates and tests of saved judgements.

    Wilcoxon signed-rank tests over questions, corrected by Holm and Bonferroni. Judgements of answers that changed
    since do not count. Asks no model.

    Example: conspectus eval stats comparison
    """
    from conspectus import evaluation

    found = evaluation.judge_statistics(folder, judge_model=judge_model)
    if not quiet:
        left_out(found.left_out)
    _told(found, folder, json=json, quiet=quiet)
    raise typer.Exit(WITH_FAILURES if found.failed else 0)


# Before


def _previewed(seen: JudgingPreview, *, json: bool) -> None:
    if json:
        show.as_json(seen)
        return
    show.out(_size(seen))
    show.out()
    show.table(show.costs(seen.estimate))
    left_out(seen.left_out)


def _size(seen: JudgingPreview) -> str:
    sizes = (
        show.counted(seen.questions, "question"),
        show.counted(seen.pairs, "pair"),
        show.counted(len(seen.criteria), "criterion") if len(seen.criteria) == 1 else f"{len(seen.criteria)} criteria",
        show.counted(seen.replicates, "replicate"),
    )
    made = seen.judgements - seen.to_ask - seen.ties
    rest = [f"{made:,} are there"] if made else []
    rest += [f"{seen.ties:,} are ties of equal answers"] if seen.ties else []
    rest.append(f"{seen.to_ask:,} are to be asked of {seen.judge}" if seen.to_ask else "nothing is left to ask")
    said = f"{' x '.join(sizes)}: {show.counted(seen.judgements, 'judgement')}; {', '.join(rest)}."
    if seen.to_ask and seen.questions > PILOT:
        fewer = seen.judgements // seen.questions * PILOT
        said += f" A pilot of {PILOT} questions takes {fewer:,} of them (--sample {PILOT}), and more may follow later."
    return said


def _announced(seen: JudgingPreview) -> None:
    """Say what is about to be spent."""
    show.note(_size(seen))
    if not seen.to_ask:
        return
    tokens, cost = seen.estimate.tokens, seen.estimate.cost
    money = (
        f"; it will cost about {show.ranging(cost, 2)} USD" if cost else "; its price is not known (setting `prices`)"
    )
    show.note(f"That takes {show.ranging(seen.estimate.calls)} calls and {show.ranging(tokens)} tokens{money}.")


# After


def _told(found: Comparison, folder: Path, *, json: bool, quiet: bool) -> None:
    if json:
        show.as_json(found.as_json())
        return
    from conspectus.evaluation import charts, tables
    from conspectus.evaluation.verdicts import matrices

    for matrix in matrices(found):
        table(tables.win_rates(matrix), tables.capital(matrix.criterion))
        show.out()
        table(tables.tests(found.of(matrix.criterion)))
    show.out(f"\n{NOTE} {found.normality}")
    if bias := tables.position(found.position):
        table(bias, "Position bias")
    if quiet:
        return
    show.note(_counts(found))
    if found.position.first_wins is not None and abs(found.position.first_wins - 50) >= BIASED:
        show.note("The judge prefers a place, which pulls all win rates towards 50: another judge may tell more.")
    show.note(
        f"Written to {folder}: statistics.json, {', '.join(path.name for path in sorted(folder.glob('win_rates.*')))}"
    )
    if not charts.can_draw():
        show.note("Pictures of the win rates need matplotlib: pip install 'conspectus[eval]'")


def _counts(found: Comparison) -> str:
    said = [f"{show.counted(found.judgements, 'judgement')} by {', '.join(found.judges) or 'hand'}"]
    said += [f"{found.equal:,} ties of equal answers"] if found.equal else []
    said += [f"{found.missing:,} not made yet, or of answers that have changed (eval judge makes them)"] * bool(
        found.missing
    )
    said += [f"{found.failed:,} failed, which the same command asks again"] if found.failed else []
    unsummed = [one.error for one in found.reasons if one.error]
    said += [f"{len(unsummed):,} of the summaries of reasons failed ({unsummed[0]})"] if unsummed else []
    return "; ".join(said) + "."


# The report


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a comparison.")],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Write FILE.html and FILE.md (default: DIR/report).",
            show_default=False,
        ),
    ] = None,
    title: Annotated[
        str, typer.Option(metavar="TEXT", rich_help_panel=OUTPUT, help="Title of the report.", show_default=False)
    ] = "",
    judge_model: ShownJudge = None,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Write all results of a comparison as one HTML page.

    Contains set-up, cost, context per level, win rates, tests, claims, grounding, loss, human ratings and ablations, as
    far as they exist, and every question with its answers. Also written as Markdown. Works offline; asks no model.

    Example: conspectus eval report comparison
    """
    from conspectus import evaluation

    made = evaluation.write_report(
        folder, out, title=title, judge_model=judge_model, settings=settings_of(overrides(set_), config)
    )
    if json:
        show.as_json({"page": str(made.page), "markdown": str(made.markdown), "missing": made.missing})
        return
    show.out(f"{made.page} ({show.size(made.page.stat().st_size)}) and {made.markdown}")
    if not quiet:
        show.listed("Not there, and said so in the report:", made.missing)
