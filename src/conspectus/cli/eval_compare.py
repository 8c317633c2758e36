"""`conspectus eval`: a comparison of conditions (questions, answers, judge, statistics, people, report)."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import show
from conspectus.cli.eval_options import (
    COMPARISON,
    Conditions,
    Criteria,
    DryRun,
    Flags,
    Folder,
    Pairs,
    Sample,
    ShownJudge,
    carried_out,
    step,
    table,
    with_progress,
)
from conspectus.cli.options import (
    DONE,
    FOLDER,
    WITH_FAILURES,
    AsJson,
    IndexFolder,
    LogFile,
    Quiet,
    Yes,
    argument,
    option,
    parts,
    with_calls,
    with_settings,
)
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.cli.show import Bars
    from conspectus.evaluation.answers import Answered
    from conspectus.evaluation.questions import QuestionList
    from conspectus.evaluation.run import Preview, Result
    from conspectus.evaluation.verdicts import Comparison
    from conspectus.settings import Settings

EXAMPLES = 3
"""Questions that are shown of those that were made."""
NOTE = (
    "Win rates in %, the row over the column; * differs from 50: p < 0.05 by Wilcoxon's signed-rank test, corrected "
    "(Holm) for the pairs judged by that criterion. r: matched-pairs rank-biserial correlation; "
    "d: Cohen's, of paired scores."
)
BIASED = 10
"""Percentage points from 50 at which a preference for the answer shown first is worth a warning."""
people = typer.Typer(help="Have people judge blinded pairs of answers.", no_args_is_help=True)


@step()
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
    from conspectus import evaluation

    if (description is None) == (from_ is None):
        raise UsageError("describe the corpus (--description TEXT or a file), or bring questions (--from FILE)")
    if from_ is not None:
        _show_questions(evaluation.list_questions(from_, out), out, flags)
        return
    text = _text(description or "")
    counts = evaluation.QuestionCounts(users, tasks, questions)
    if flags.dry_run:
        cost = evaluation.preview_questions(text, counts=counts, settings=flags.settings)
        show.as_json(cost) if flags.json else show.table(show.costs(cost))
        return
    with with_progress(out, quiet=flags.quiet or flags.json) as bars:
        listed = evaluation.generate_questions(text, out, counts=counts, settings=flags.settings, progress=bars)
    _show_questions(listed, out, flags)


def _text(description: str) -> str:
    """Return the text of a file where a description is the name of one, else the description."""
    file = Path(description)
    try:
        return file.read_text(encoding="utf-8-sig") if file.is_file() else description
    except (OSError, ValueError):  # too long for a name, or not to be read as text
        return description


def _show_questions(listed: QuestionList, folder: Path, flags: Flags) -> None:
    if flags.json:
        show.as_json([asdict(question) for question in listed.questions])
    else:
        show.out(f"{show.counted(len(listed.questions), 'question')} in {folder / 'questions.json'} and .csv:")
        for question in listed.questions[:: max(1, len(listed.questions) // EXAMPLES)][:EXAMPLES]:
            show.out(f"  {show.snippet(question.text)}")
    if not flags.quiet:
        show.listed("Of the questions:", listed.notices)
        show.spent(listed.usage)
    raise typer.Exit(WITH_FAILURES if listed.failed else DONE)


@step("--embedder", index="folder")
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
    samples: Annotated[
        int, option("Extra answers per question, for self-consistency (with a model).", metavar="N", min=0)
    ] = 0,
    window: Annotated[
        int | None, option("Context window of all conditions in tokens.", metavar="N", min=500)
    ] = None,
    response: Annotated[
        str | None, option("Length and format of every answer (with a model).", metavar="TEXT")
    ] = None,
    *,
    flags: Flags,
) -> None:
    """Answer questions under several conditions, to compare them.

    All conditions share one context window; methods that read chunks get as many as fit. Answers are saved in
    DIR/answers.jsonl. Run it again to continue and to retry failures; answers of another index, model or settings are
    replaced.

    Example: conspectus eval answers questions.txt --conditions C0,C2,TS
    """
    from conspectus import evaluation, open_index
    from conspectus.evaluation.ablation import with_values

    values = {"answer.context_tokens": window, "answer.response": response}
    settings = with_values(flags.settings, {key: value for key, value in values.items() if value is not None})
    in_comparison = source.is_dir() or source.name == "questions.json"
    target = out or ((source if source.is_dir() else source.parent) if in_comparison else COMPARISON)
    options: dict[str, Any] = {"conditions": parts(conditions), "sample": sample, "samples": samples}
    options |= {"settings": settings}
    index = open_index(folder)

    def preview() -> Preview:
        return evaluation.preview_answers(source, index, target, **options)

    def work(bars: Bars) -> Answered:
        return evaluation.answer_questions(source, index, target, **options, progress=bars)

    done = carried_out(preview, work, "answer", target, replace(flags, settings=settings))
    _show_answers(done, flags)


def _show_answers(done: Answered, flags: Flags) -> None:
    from conspectus.evaluation import tables

    if flags.json:
        show.as_json(asdict(done) | {"folder": str(done.folder)})
    else:
        table(tables.units([asdict(row) for row in done.table2]), caption=False)
        show.out()
        table(tables.answers(done.conditions), caption=False)
        show.out(f"\n{show.counted(done.questions, 'question')}; answers are in {done.folder / 'answers.jsonl'}.")
    if not flags.quiet:
        show.listed("Notes:", done.notices)
        show.spent(done.usage)
    raise typer.Exit(WITH_FAILURES if any(one.failed for one in done.conditions) else DONE)


def table2(folder: IndexFolder = FOLDER, json: AsJson = False, log: LogFile = None) -> None:
    """Show how much text each level reads (GraphRAG Table 2).

    Example: conspectus eval table2
    """
    from conspectus import evaluation
    from conspectus.evaluation import tables

    rows = [asdict(row) for row in evaluation.units_read(folder)]
    show.as_json(rows) if json else table(tables.units(rows), caption=False)


@with_calls
def judge(
    folder: Folder,
    judge_model: Annotated[
        str | None, option("Language model that judges; better not the one that answered.", metavar="NAME")
    ] = None,
    criteria: Criteria = "",
    pairs: Pairs = "",
    replicates: Annotated[int, option("Number of judgements per comparison.", metavar="N", min=1)] = 5,
    sample: Sample = None,
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
    continue. Also writes win rates and statistics to DIR.

    Example: conspectus eval judge comparison --judge-model openai/gpt-4.1
    """
    from conspectus import evaluation
    from conspectus.evaluation.judge import judge_settings

    flags = Flags(judge_settings(settings, judge_model), dry_run, yes, json, quiet)
    options: dict[str, Any] = {"criteria": parts(criteria), "pairs": parts(pairs), "replicates": replicates}
    options |= {"sample": sample, "settings": flags.settings}

    def preview() -> Preview:
        return evaluation.preview_judging(folder, **options)

    def work(bars: Bars) -> Result[Comparison]:
        return evaluation.judge_answers(folder, **options, progress=bars)

    done = carried_out(preview, work, "judgement", folder, flags)
    _show_judgements(done.value, folder, json=json, quiet=quiet)
    if not quiet:
        show.spent(done.usage)
        show.listed("Of the model's replies:", done.notices)
    raise typer.Exit(WITH_FAILURES if done.value.failed else DONE)


def stats(
    folder: Folder,
    judge_model: ShownJudge = None,
    json: AsJson = False,
    quiet: Quiet = False,
    log: LogFile = None,
) -> None:
    """Show win rates and tests of saved judgements.

    Wilcoxon signed-rank tests over questions, corrected by Holm. Judgements of answers that changed since do not count.
    Asks no model.

    Example: conspectus eval stats comparison
    """
    from conspectus import evaluation

    comparison = evaluation.judge_statistics(folder, judge_model=judge_model)
    _show_judgements(comparison, folder, json=json, quiet=quiet)
    raise typer.Exit(WITH_FAILURES if comparison.failed else DONE)


def _show_judgements(comparison: Comparison, folder: Path, *, json: bool, quiet: bool) -> None:
    from conspectus.evaluation import charts, tables

    if json:
        show.as_json(comparison.as_json())
    else:
        for criterion in comparison.win_rates:
            table(tables.win_rates(comparison, criterion), tables.capital(criterion))
            show.out()
            table(tables.tests(comparison.of(criterion)))
        show.out(f"\n{NOTE} {comparison.normality} {comparison.position_bias}")
    if quiet:
        return
    show.listed("Left out:", comparison.omitted)
    show.note(_judgements(comparison))
    first_wins = comparison.position.first_wins
    if first_wins is not None and abs(first_wins - 50) >= BIASED:
        show.note("The judge prefers a position, which pulls all win rates towards 50: try another judge.")
    show.note(f"statistics.json and win_rates.json are in {folder}.")
    if not charts.can_draw():
        show.note("Pictures of the win rates need matplotlib: pip install 'conspectus[eval]'")


def _judgements(comparison: Comparison) -> str:
    by = ", ".join(comparison.judges) or "hand"
    counts = {
        f"by {by}": comparison.judgements,
        "ties of equal answers": comparison.equal,
        "not made yet, or of answers that have changed (eval judge makes them)": comparison.missing,
        "failed, which the same command asks again": comparison.failed,
    }
    return f"Judgements: {'; '.join(f'{n:,} {text}' for text, n in counts.items() if n)}."


@with_settings
def report(
    folder: Annotated[Path, argument("DIR", "Folder of a comparison.")],
    out: Annotated[
        Path | None, option("Write FILE.html and FILE.md (default: DIR/report).", metavar="FILE")
    ] = None,
    title: Annotated[str, option("Title of the report.", metavar="TEXT")] = "",
    judge_model: ShownJudge = None,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
) -> None:
    """Write all results of a comparison as one HTML page.

    Contains set-up, cost, context per level, win rates, tests, claims, grounding, loss, human ratings and ablations, as
    far as they exist, and every question with its answers. Also written as Markdown. Works offline; asks no model.

    Example: conspectus eval report comparison
    """
    from conspectus import evaluation

    made = evaluation.write_report(folder, out, title=title, judge_model=judge_model, settings=settings)
    if json:
        show.as_json({"page": str(made.page), "markdown": str(made.markdown), "missing": made.missing})
        return
    show.out(f"{made.page} ({show.size(made.page.stat().st_size)}) and {made.markdown}")
    if not quiet:
        show.listed("Not there, and said so in the report:", made.missing)


@people.callback()
def _people() -> None:
    """Have people judge blinded pairs, and see how far they agree with the judge and with each other."""


@people.command("export")
def export(
    folder: Folder,
    out: Annotated[Path, option("Page and table for raters: FILE.html and FILE.csv.", metavar="FILE")],
    criteria: Criteria = "",
    pairs: Pairs = "",
    sample: Annotated[int, option("Random sample of N questions.", metavar="N", min=1)] = 10,
    seed: Annotated[int, option("Random seed of the order of pairs.", metavar="N", min=0)] = 0,
    title: Annotated[str, option("Title of the page.", metavar="TEXT")] = "Which answer is better?",
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

    blinded = evaluation.blinded(folder, parts(criteria), parts(pairs), sample, seed)
    files = evaluation.export_pairs(folder, out, blinded, title=title)
    key = blinded.key
    if json:
        paths = {name: str(path) for name, path in asdict(files).items()}
        show.as_json({**paths, "export": key.export, "pairs": len(key.items), "criteria": list(key.criteria)})
        return
    by = ", ".join(key.criteria)
    show.out(f"{show.counted(len(key.items), 'pair')} by {by} in {files.page} and {files.table}.")
    if not quiet:
        if blinded.equal:
            show.note(f"{show.counted(blinded.equal, 'pair')} of equal answers are left out: a tie by rule.")
        show.note(f"Which condition is which is in {files.key}: keep it from raters.")
        show.listed("Left out:", blinded.omitted)


@people.command("import")
def import_(
    folder: Folder,
    files: Annotated[list[Path], argument("RATINGS.csv...", "Tables sent back by raters.")],
    rater: Annotated[str | None, option("Name of the rater, if no table states it.", metavar="NAME")] = None,
    json: AsJson = False,
    quiet: Quiet = False,
    log: LogFile = None,
) -> None:
    """Read ratings that people sent back, and show agreement.

    Ratings are saved in DIR/ratings.jsonl. Shows how well raters agree with the judge and with each other.

    Example: conspectus eval people import comparison ratings-anna.csv
    """
    from conspectus import evaluation

    ratings = evaluation.import_ratings(folder, files, rater=rater)
    if not quiet:
        show.note(f"Read ratings: {', '.join(f'{n:,} by {name}' for name, n in ratings.items())}.")
    agreement(folder, None, json=json, quiet=quiet)


@people.command("agreement")
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
    from conspectus.evaluation import people as ratings
    from conspectus.evaluation import tables

    rows = evaluation.rater_agreement(folder, judge_model=judge_model)
    if json:
        show.as_json([asdict(row) for row in rows])
        return
    table(tables.agreements(rows))
    if not quiet:
        show.note(f"\n{ratings.KAPPA_NOTE}")
