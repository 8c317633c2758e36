"""`conspectus eval`: a comparison of conditions (questions, answers, judge, statistics, checks, people, report)."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus import evaluation, open_index
from conspectus.cli import show
from conspectus.cli.evaluate import (
    COMPARISON,
    MODELS,
    Conditions,
    Criteria,
    Flags,
    Folder,
    Pairs,
    Sample,
    ShownJudge,
    app,
    carry_out,
    step,
    table,
)
from conspectus.cli.options import (
    DONE,
    FOLDER,
    SERVER,
    WITH_FAILURES,
    AsJson,
    IndexFolder,
    Quiet,
    argument,
    option,
    parts,
)
from conspectus.errors import UsageError
from conspectus.lazy import lazy_module

if TYPE_CHECKING:
    from conspectus.evaluation import charts, judge, people, tables
    from conspectus.evaluation.answers import Answered
    from conspectus.evaluation.claims import ClaimCounts
    from conspectus.evaluation.judge import Comparison
    from conspectus.evaluation.questions import QuestionList
else:
    charts, judge, people, tables = (
        lazy_module(f"conspectus.evaluation.{name}") for name in ("charts", "judge", "people", "tables")
    )

EXAMPLES = 3
"""Number of generated questions that are shown."""
NOTE = (
    "Win rates in %, the row over the column; * differs from 50: p < 0.05 by Wilcoxon's signed-rank test, corrected "
    "(Holm) for the pairs judged by that criterion. r: matched-pairs rank-biserial correlation; "
    "d: Cohen's, of paired scores."
)
people_app = typer.Typer(help="Have people judge blinded pairs of answers.", no_args_is_help=True)
app.add_typer(people_app, name="people")


@app.command("questions")
@step(*MODELS)
def questions(
    description: Annotated[
        str | None, option("Description of the corpus, or a file with it.", metavar="TEXT|FILE")
    ] = None,
    from_: Annotated[
        Path | None,
        option("Use these questions instead: .csv, .json, or one per line.", "--from", metavar="FILE"),
    ] = None,
    users: Annotated[int, option("Number of personas who would ask.", metavar="K", min=1)] = 5,
    tasks: Annotated[int, option("Number of tasks per persona.", metavar="N", min=1)] = 5,
    questions: Annotated[int, option("Number of questions per persona and task.", metavar="M", min=1)] = 5,
    out: Annotated[Path, option("Folder of the comparison.", metavar="DIR")] = COMPARISON,
    *,
    flags: Flags,
) -> None:
    """Write questions that need the whole corpus (GraphRAG §3.2).

    A language model imagines personas who would use the corpus, their tasks, and questions for each task, from a short
    description alone: 5 x 5 x 5 by default. Writes DIR/questions.json and .csv. Run it again to continue.

    Example: conspectus eval questions --description "Minutes of a harbour board" --model ollama/qwen3
    """

    def display(listed: QuestionList) -> None:
        show.out(f"{show.counted(len(listed.questions), 'question')} in {out / 'questions.json'} and .csv:")
        for question in listed.questions[:: max(1, len(listed.questions) // EXAMPLES)][:EXAMPLES]:
            show.out(f"  {show.snippet(question.text)}")

    if (description is None) == (from_ is None):
        raise UsageError(
            "describe the corpus (--description TEXT or a file), or pass questions (--from FILE)"
        )
    if from_ is not None:
        listed = evaluation.list_questions(from_, out)
        show.as_json(listed.as_json()) if flags.json else display(listed)
        show.listed("Notes:", [] if flags.quiet else listed.notices)
        return
    text, counts = _text(description or ""), evaluation.QuestionCounts(users, tasks, questions)
    function = evaluation.generate_questions
    carry_out(
        function, text, out, flags=flags, noun="list of questions", folder=out, display=display, counts=counts
    )


def _text(description: str) -> str:
    """Return a description, or the text of the file that it names."""
    file = Path(description)
    try:
        return file.read_text(encoding="utf-8-sig") if file.is_file() else description
    except (OSError, ValueError):  # too long for a file name, or not a readable text
        return description


@app.command("answers")
@step(*MODELS, "--embedder", "--window", "--response", index="folder")
def answers(
    source: Annotated[
        Path, argument("QUESTIONS", "Folder of a comparison, or a list of questions as for --from.")
    ],
    conditions: Conditions = "",
    folder: IndexFolder = FOLDER,
    out: Annotated[
        Path | None,
        option("Folder of the comparison (default: that of QUESTIONS, or comparison).", metavar="DIR"),
    ] = None,
    sample: Sample = None,
    *,
    flags: Flags,
) -> None:
    """Answer questions under several conditions, to compare them.

    All conditions share one context window; methods that read chunks get as many as fit. Answers are saved in
    DIR/answers.jsonl. Run it again to continue and to retry failures; answers of another index, model or settings are
    replaced.

    Example: conspectus eval answers questions.txt --conditions C0,C2,TS
    """

    def display(done: Answered) -> None:
        table(tables.units(done.table2))
        show.out()
        table(tables.answers(done.conditions))
        show.out(
            f"\n{show.counted(done.questions, 'question')}; answers are in {done.folder / 'answers.jsonl'}."
        )

    in_comparison = source.is_dir() or source.name == "questions.json"
    target = out or ((source if source.is_dir() else source.parent) if in_comparison else COMPARISON)
    carry_out(
        evaluation.answer_questions, source, open_index(folder), target,
        flags=flags, noun="answer", folder=target, display=display,
        conditions=parts(conditions), sample=sample,
    )  # fmt: skip


@app.command("table2")
def table2(folder: IndexFolder = FOLDER, json: AsJson = False) -> None:
    """Show how much text each level reads (GraphRAG Table 2).

    Example: conspectus eval table2
    """
    rows = evaluation.units_read(folder)
    show.as_json(rows) if json else table(tables.units(rows))


@app.command("judge")
@step(*SERVER)
def judge_(
    folder: Folder,
    judge_model: Annotated[
        str | None, option("Language model that judges; better not the one that answered.", metavar="NAME")
    ] = None,
    criteria: Criteria = "",
    pairs: Pairs = "",
    replicates: Annotated[int, option("Number of judgements per comparison.", metavar="N", min=1)] = 5,
    sample: Sample = None,
    *,
    flags: Flags,
) -> None:
    """Judge answers head to head with a language model.

    Every pair of conditions is compared on every question and criterion; each answer comes first half of the time.
    Equal answers are ties, failed answers are left out. Judgements are saved in DIR/judgements.jsonl; run it again to
    continue. Also writes win rates and statistics to DIR.

    Example: conspectus eval judge comparison --judge-model openai/gpt-4.1
    """
    carry_out(
        evaluation.judge_answers, folder,
        flags=replace(flags, settings=judge.judge_settings(flags.settings, judge_model)),
        noun="judgement", folder=folder, display=lambda comparison: _show_judgements(comparison, folder, flags.quiet),
        criteria=parts(criteria), pairs=parts(pairs), replicates=replicates, sample=sample,
    )  # fmt: skip


@app.command("stats")
def stats(folder: Folder, judge_model: ShownJudge = None, json: AsJson = False, quiet: Quiet = False) -> None:
    """Show win rates and tests of saved judgements.

    Wilcoxon signed-rank tests over questions, corrected by Holm. Judgements of answers that changed since do not count.
    Asks no model.

    Example: conspectus eval stats comparison
    """
    comparison = evaluation.judge_statistics(folder, judge_model=judge_model)
    show.as_json(comparison.as_json()) if json else _show_judgements(comparison, folder, quiet)
    raise typer.Exit(WITH_FAILURES if comparison.failed else DONE)


def _show_judgements(comparison: Comparison, folder: Path, quiet: bool) -> None:
    for criterion in comparison.win_rates:
        table(tables.win_rates(comparison, criterion), tables.capital(criterion))
        show.out()
        table(tables.tests(comparison.of(criterion)))
    show.out(f"\n{NOTE} {comparison.normality} {comparison.position_bias}")
    if quiet:
        return
    show.listed("Left out:", comparison.omitted)
    counts = {
        f"by {', '.join(comparison.judges)}": comparison.judgements,
        "ties of equal answers": comparison.equal,
        "not made yet, or of answers that have changed (eval judge makes them)": comparison.missing,
        "failed; the same command tries them again": comparison.failed,
    }
    show.note(f"Judgements: {'; '.join(f'{n:,} {text}' for text, n in counts.items() if n)}.")
    show.note(f"statistics.json and win_rates.json are in {folder}.")
    if not charts.can_draw():
        show.note("Pictures of the win rates need matplotlib: pip install 'conspectus[eval]'")


@app.command("claims")
@step(*MODELS)
def claims(folder: Folder, conditions: Conditions = "", sample: Sample = None, *, flags: Flags) -> None:
    """Count factual claims and their clusters per condition.

    A language model selects sentences with verifiable content, makes them self-contained and splits them into claims;
    each claim counts once. Saved in DIR/claims.jsonl; run it again to continue. If there are judgements, reports how
    often both agree.

    Example: conspectus eval claims comparison --model openai/gpt-4.1-mini
    """

    def display(counts: ClaimCounts) -> None:
        table(tables.claim_averages(counts))
        if counts.differences:
            table(tables.claim_differences(counts.differences), "Differences")
        if counts.agreement:
            table(tables.claim_agreement(counts.agreement), "Agreement with the majority of the judgements")

    carry_out(
        evaluation.extract_claims, folder, flags=flags, noun="answer", folder=folder, display=display,
        conditions=parts(conditions), sample=sample,
    )  # fmt: skip


@app.command("grounding")
@step(*MODELS)
def grounding(folder: Folder, conditions: Conditions = "", sample: Sample = None, *, flags: Flags) -> None:
    """Measure how many sentences follow from what they cite.

    Without a model, a text supports a sentence if it holds most of its words. Saved in DIR/grounding.jsonl.

    Example: conspectus eval grounding comparison
    """
    carry_out(
        evaluation.check_grounding, folder, flags=flags, noun="answer", folder=folder,
        display=lambda shares: table(tables.grounding(shares)), conditions=parts(conditions), sample=sample,
    )  # fmt: skip


@app.command("report")
@step(switches=("json", "quiet"))
def report(
    folder: Annotated[Path, argument("DIR", "Folder of a comparison.")],
    out: Annotated[
        Path | None, option("Write FILE.html and FILE.md (default: DIR/report).", metavar="FILE")
    ] = None,
    title: Annotated[str, option("Title of the report.", metavar="TEXT")] = "",
    judge_model: ShownJudge = None,
    *,
    flags: Flags,
) -> None:
    """Write all results of a comparison as one HTML page.

    Contains set-up, cost, context per level, win rates, tests, claims, grounding, human ratings and ablations, as
    far as they exist, and every question with its answers. Also written as Markdown. Works offline; asks no model.

    Example: conspectus eval report comparison
    """
    made = evaluation.write_report(folder, out, title=title, judge_model=judge_model, settings=flags.settings)
    if flags.json:
        show.as_json({"page": str(made.page), "markdown": str(made.markdown), "missing": made.missing})
        return
    show.out(f"{made.page} ({show.size(made.page.stat().st_size)}) and {made.markdown}")
    show.listed("Missing, as the report says:", [] if flags.quiet else made.missing)


@people_app.command("export")
def export(
    folder: Folder,
    out: Annotated[Path, option("Page and table for raters: FILE.html and FILE.csv.", metavar="FILE")],
    criteria: Criteria = "",
    pairs: Pairs = "",
    sample: Annotated[int, option("Random sample of N questions.", metavar="N", min=1)] = 10,
    title: Annotated[str, option("Title of the page.", metavar="TEXT")] = "Which answer is better?",
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write blinded pairs of answers for people to rate.

    FILE.html works offline: raters choose, save a table and send it back. FILE.csv is for spreadsheets. Neither says
    which condition is which.

    Example: conspectus eval people export comparison --out pairs --sample 20
    """
    made = evaluation.export_pairs(folder, out, parts(criteria), parts(pairs), sample, title)
    if json:
        show.as_json(made.as_json())
        return
    by = ", ".join(made.criteria)
    show.out(f"{show.counted(made.pairs, 'pair')} by {by} in {made.page} and {made.table}.")
    if not quiet:
        if made.equal:
            show.note(f"{show.counted(made.equal, 'pair')} of equal answers are left out: a tie by rule.")
        show.listed("Left out:", made.omitted)


@people_app.command("import")
def import_(
    folder: Folder,
    files: Annotated[list[Path], argument("RATINGS.csv...", "Tables sent back by raters.")],
    rater: Annotated[str | None, option("Name of the rater, if no table states it.", metavar="NAME")] = None,
    json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Read ratings that people sent back, and show agreement.

    Ratings are saved in DIR/ratings.jsonl. Shows how well raters agree with the judge and with each other.

    Example: conspectus eval people import comparison ratings-anna.csv
    """
    ratings = evaluation.import_ratings(folder, files, rater=rater)
    if not quiet:
        show.note(f"Read ratings: {', '.join(f'{n:,} by {name}' for name, n in ratings.items())}.")
    _show_agreement(folder, None, json=json, quiet=quiet)


@people_app.command("agreement")
def agreement(
    folder: Folder, judge_model: ShownJudge = None, json: AsJson = False, quiet: Quiet = False
) -> None:
    """Show how well raters and the judge agree (kappa).

    Example: conspectus eval people agreement comparison
    """
    _show_agreement(folder, judge_model, json=json, quiet=quiet)


def _show_agreement(folder: Path, judge_model: str | None, *, json: bool, quiet: bool) -> None:
    rows = evaluation.rater_agreement(folder, judge_model=judge_model)
    if json:
        show.as_json([asdict(row) for row in rows])
        return
    table(tables.agreements(rows))
    if not quiet:
        show.note(f"\n{people.KAPPA_NOTE}")
