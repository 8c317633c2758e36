"""`conspectus eval judge` and `eval stats`: answers held against each other, and what that says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.guard import INTERRUPTED, WITH_FAILURES
from conspectus.cli.help import COST, MODEL, OUTPUT
from conspectus.cli.options import (
    AsJson,
    LogFile,
    Quiet,
    Yes,
    confirmed,
    parts,
    with_calls,
)
from conspectus.evaluation.drawing import can_draw
from conspectus.evaluation.shown import figure, probability

if TYPE_CHECKING:
    from conspectus.evaluation.judging.compared import Compared, Comparison
    from conspectus.evaluation.judging.judge_folder import JudgingPreview
    from conspectus.evaluation.judging.matrices import Matrix
    from conspectus.evaluation.judging.pairing import LeftOut
    from conspectus.evaluation.judging.verdicts import Position
    from conspectus.settings import Settings

PILOT = 10
"""Questions of a first look at a judge."""
BIASED = 10
"""Percentage points from 50 at which a preference for a place is worth a warning."""

Folder = Annotated[
    Path, typer.Argument(metavar="DIR", help="Folder of a comparison, with questions.json and answers.jsonl.")
]
Criteria = Annotated[
    str,
    typer.Option(
        metavar="NAMES",
        help="Criteria, separated by commas: comprehensiveness, diversity, empowerment, directness "
        '(default: all four), and .toml or .json files of your own, e.g. candour = "Does the answer '
        'say what it cannot tell?"',
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
    typer.Option(metavar="N", min=1, help="Judge a random sample of N questions. A later run may judge more."),
]
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
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", rich_help_panel=COST, help="Show the estimated calls and cost, and ask nothing."),
    ] = False,
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
    chosen: dict[str, Any] = {
        "criteria": parts(criteria),
        "pairs": parts(pairs),
        "sample": sample,
        "judge_model": judge_model,
    }
    seen = api.estimate_judge(folder, replicates=replicates, reasons=reasons, settings=settings, **chosen)
    if dry_run:
        _previewed(seen, json=json)
        return
    if not quiet:
        _announced(seen)
        left_out(seen.left_out)
    if seen.to_ask:
        confirmed(yes=yes)
    from conspectus.cli.progress import Bars

    try:
        with Bars(quiet=quiet or json) as bars:
            judged = api.evaluate_judge(
                folder, replicates=replicates, reasons=reasons, settings=settings, progress=bars, **chosen
            )
    except KeyboardInterrupt:
        show.note(f"interrupted: what was judged is kept in {folder}; the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    _told(judged.comparison, folder, json=json, quiet=quiet)
    if not quiet:
        show.spent(judged.usage)
        show.listed("Of the model's replies:", judged.notices)
    failed = judged.comparison.failed or any(one.error for one in judged.comparison.reasons)
    raise typer.Exit(WITH_FAILURES if failed else 0)


def stats(
    folder: Folder,
    judge_model: Annotated[
        str | None,
        typer.Option(
            "--judge-model",
            metavar="NAME",
            rich_help_panel=MODEL,
            help="Judge whose judgements are shown, if there are several.",
        ),
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
    log: LogFile = None,
) -> None:
    """Show win rates and tests of saved judgements.

    Wilcoxon signed-rank tests over questions, corrected by Holm and Bonferroni. Judgements of answers that changed
    since do not count. Asks no model.

    Example: conspectus eval stats comparison
    """
    found = api.evaluate_statistics(folder, judge_model=judge_model)
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


def left_out(found: Sequence[LeftOut]) -> None:
    """Print the questions that pairs are not compared on."""
    lines = (
        f"{show.counted(one.questions, 'question')} of {':'.join(one.pair)}: no answer of {one.condition} ({one.why})"
        for one in found
    )
    show.listed("Left out:", list(lines))


# After


def _told(found: Comparison, folder: Path, *, json: bool, quiet: bool) -> None:
    if json:
        show.as_json(found.as_json())
        return
    from conspectus.evaluation.judging.matrices import matrices

    for matrix in matrices(found):
        show.out(show.bold(f"{matrix.criterion[:1].upper()}{matrix.criterion[1:]}"))
        show.out()
        show.table(_win_rates(matrix))
        show.out()
        show.table(_tests(found.of(matrix.criterion)))
        show.out()
    show.out(_normality(found))
    show.out(_position(found.position))
    if quiet:
        return
    show.note(_counts(found))
    if found.position.first_wins is not None and abs(found.position.first_wins - 50) >= BIASED:
        show.note("The judge prefers a place, which pulls all win rates towards 50: another judge may tell more.")
    show.note(
        f"Written to {folder}: statistics.json, {', '.join(path.name for path in sorted(folder.glob('win_rates.*')))}"
    )
    if not can_draw():
        show.note("A PNG of the win rates needs Pillow: pip install 'conspectus[map]'")


def _win_rates(matrix: Matrix) -> Iterator[Sequence[str]]:
    """Yield how often the row wins over the column; a star where that differs from 50."""
    yield ["row wins, %", *(f"{name} " for name in matrix.conditions)]
    for name, rates, marks in zip(matrix.conditions, matrix.rates, matrix.significant, strict=True):
        cells = ("-" if rate is None else f"{rate:.0f}" for rate in rates)
        yield [name, *(f"{cell}{'*' if mark else ' '}" for cell, mark in zip(cells, marks, strict=True))]


def _tests(results: Sequence[Compared]) -> Iterator[Sequence[str]]:
    """Yield the paper's Table 6, with an interval and the size of the effect."""
    yield ["pair", "first", "second", "95 % of first", "Z", "p", "p (Holm)", "effect r", "d", "questions"]
    for one in results:
        tested = [figure(one.z, 2), probability(one.p), probability(one.p_holm)] if not one.note else [one.note, "", ""]
        means = [f"{one.mean_first:.2f}", f"{one.mean_second:.2f}", f"{one.low:.1f} to {one.high:.1f}"]
        sizes = [figure(one.rank_biserial, 2), figure(one.cohens_d, 2), f"{one.questions:,}"]
        yield [f"{one.first} - {one.second}", *means, *tested, *sizes]


def _normality(found: Comparison) -> str:
    tested = [one.shapiro_p for one in found.results if one.shapiro_p is not None]
    odd = sum(p < 0.05 for p in tested)
    return (
        "* differs from 50: p < 0.05 by Wilcoxon's signed-rank test, corrected (Holm) for the pairs judged by that "
        f"criterion. By Shapiro and Wilk, {odd} of {len(tested)} comparisons are not normally distributed.\n"
        "effect r: matched-pairs rank-biserial correlation; d: Cohen's, of paired scores."
    )


def _position(found: Position) -> str:
    if found.first_wins is None:
        return "Position bias: no judgement was decided."
    each = (f"{one.condition} {figure(one.first, 0)} first, {figure(one.second, 0)} second" for one in found.conditions)
    decided = show.counted(found.decided, "decided judgement")
    return f"Position bias: the answer shown first won {found.first_wins:.1f} % of {decided} ({'; '.join(each)})."


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
