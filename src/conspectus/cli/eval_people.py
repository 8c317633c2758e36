"""`conspectus eval people`: blinded pairs for raters, and how far what they say agrees with the judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.eval_options import Criteria, Folder, Pairs, ShownJudge, left_out, table
from conspectus.cli.help import OUTPUT
from conspectus.cli.options import AsJson, LogFile, Quiet, parts

if TYPE_CHECKING:
    from conspectus.evaluation.people import Agreements

app = typer.Typer(help="Have people judge blinded pairs of answers.", no_args_is_help=True)
MINUTES = 2
"""That a pair takes by all criteria, about."""


@app.callback()
def people() -> None:
    """Have people judge blinded pairs, and see how far they agree with the judge and with each other."""


@app.command("export")
def export(
    folder: Folder,
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE", rich_help_panel=OUTPUT, help="Page and table for raters: writes FILE.html and FILE.csv."
        ),
    ],
    criteria: Criteria = "",
    pairs: Pairs = "",
    sample: Annotated[int, typer.Option(metavar="N", min=1, help="Random sample of N questions.")] = 10,
    seed: Annotated[int, typer.Option(metavar="N", min=0, help="Random seed of the order of pairs.")] = 0,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title of the page.")] = "Which answer is better?",
    json: AsJson = False,
    quiet: Quiet = False,
    log: LogFile = None,
) -> None:
    """Write blinded pairs of answers for people to rate.

    FILE.html works offline: raters choose, save a table and send it back. FILE.csv is for spreadsheets. The key to the
    blinding stays in DIR/people; do not hand it out.

    Example: conspectus eval people export comparison --out pairs --sample 20
    """
    from conspectus import evaluation

    pairs_to_rate = evaluation.blinded(folder, parts(criteria), parts(pairs), sample, seed)
    made = evaluation.export_pairs(folder, out, pairs_to_rate, title=title)
    if json:
        show.as_json({**{name: str(getattr(made, name)) for name in ("page", "table", "key")}, "pairs": made.pairs,
                      "export": made.id, "criteria": made.criteria, "equal": made.equal})  # fmt: skip
        return
    by = show.counted(len(made.criteria), "criterion") if len(made.criteria) == 1 else f"{len(made.criteria)} criteria"
    show.out(f"{show.counted(made.pairs, 'pair')} by {by} in {made.page} and {made.table}.")
    if not quiet:
        show.note(f"At {MINUTES} minutes each that takes a rater {MINUTES * made.pairs / 60:.1f} hours.")
        if made.equal:
            show.note(f"{show.counted(made.equal, 'pair')} of equal answers are left out: a tie by rule.")
        show.note(f"Which condition is which is in {made.key}: keep it from raters.")
        left_out(made.left_out)


@app.command("import")
def import_(
    folder: Folder,
    files: Annotated[list[Path], typer.Argument(metavar="RATINGS.csv...", help="Tables sent back by raters.")],
    rater: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the rater, if the tables do not state it.")
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
    log: LogFile = None,
) -> None:
    """Read ratings that people sent back, and show agreement.

    Ratings are saved in DIR/ratings.jsonl. Shows how well raters agree with the judge and with each other.

    Example: conspectus eval people import comparison ratings-anna.csv
    """
    from conspectus import evaluation

    read = evaluation.import_ratings(folder, files, rater=rater)
    if not quiet:
        told = ", ".join(f"{n:,} by {name}" for name, n in read.raters.items())
        empty = f"; {show.counted(read.empty, 'row')} without a choice" if read.empty else ""
        show.note(f"Read {show.counted(sum(read.raters.values()), 'rating')}: {told}{empty}.")
    _told(evaluation.rater_agreement(folder), json=json, quiet=quiet)


@app.command("agreement")
def agreement(
    folder: Folder,
    judge_model: ShownJudge = None,
    json: AsJson = False,
    quiet: Quiet = False,
    log: LogFile = None,
) -> None:
    """Show how well raters and the judge agree (kappa).

    Example: conspectus eval people agreement comparison
    """
    from conspectus import evaluation

    _told(evaluation.rater_agreement(folder, judge_model=judge_model), json=json, quiet=quiet)


def _told(found: Agreements, *, json: bool, quiet: bool) -> None:
    if json:
        show.as_json(found.as_json())
        return
    from conspectus.evaluation import tables
    from conspectus.evaluation.people import KAPPA_NOTE

    if found.with_judge:
        title = f"Agreement with the judge ({found.judge}, majority of its replicates)"
        table(tables.agreements(found.with_judge, raters=False), title)
    else:
        show.out("There are no judgements of these pairs to agree with: conspectus eval judge makes them.")
    if found.between:
        table(tables.agreements(found.between, raters=True), "Agreement between raters")
    if found.together:
        table(tables.fleiss(found.together), "All raters together")
    if not quiet:
        show.note(f"\n{KAPPA_NOTE}")
