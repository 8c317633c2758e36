"""`conspectus eval ablate`: one thing is varied, and what that changes is a table and a chart."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus.cli import show
from conspectus.cli.comparing import DryRun, Quiet, Yes, condition_names
from conspectus.cli.guard import DONE, INTERRUPTED, WITH_FAILURES
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    BaseUrl,
    Budget,
    BudgetTokens,
    ConfigFile,
    IndexFolder,
    LogFile,
    ModelName,
    SetKeys,
    TraceFile,
    model_flags,
    overrides,
    settings_of,
)
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.ablating import Ablated, AblationPreview
    from conspectus.estimate import Estimate
    from conspectus.evaluate.ablations.experiment import Experiment
    from conspectus.evaluate.ablations.found import Cell
    from conspectus.settings import Settings

app = typer.Typer(help="Vary one thing, keep all else, and measure what it changes.", no_args_is_help=True)

Questions = Annotated[
    Path,
    typer.Option("--questions", metavar="FILE|DIR", help="A list of questions, or the folder of a comparison."),
]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the ablation.")]
OUT = Path("ablation")
Sample = Annotated[int | None, typer.Option(metavar="N", min=1, help="Take only N of them, drawn by a seed.")]


@app.callback()
def ablate() -> None:
    """Vary one thing, keep all else, and measure what it changes.

    DIR gets a table (JSON, CSV) and a chart (SVG, PNG with Pillow). What is found is kept: the same command goes on
    from there. Folders of answers (window, levels, reports) are comparisons: eval judge, claims and report take them.
    """


@app.command("chunks")
def chunks(
    sources: Annotated[
        list[Path] | None, typer.Argument(metavar="[SOURCES]", help="Files and folders; those of --index if none.")
    ] = None,
    folder: IndexFolder = FOLDER,
    sizes: Annotated[str, typer.Option(metavar="NUMBERS", help="Tokens of a chunk.")] = "600,1200,2400",
    rounds: Annotated[int, typer.Option(metavar="N", min=0, help="Rounds of gleaning at the most (models).")] = 3,
    sample: Sample = None,
    out: Out = OUT,
    model: ModelName = None,
    base_url: BaseUrl = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    trace: TraceFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Count the entity references that are found by size of chunks and rounds of gleaning (P1 Figure 3).

    Only extraction is done. Without a language model there is nothing to glean: sizes of chunks only.
    """
    from conspectus import api

    settings = settings_of(overrides(set_, model_flags(model, base_url, None, budget, budget_tokens, trace)), config)
    experiment = api.vary_chunks(
        [str(source) for source in sources or ()], out,
        index=None if sources else folder, sizes=_numbers(sizes, "--sizes"), rounds=rounds, sample=sample,
        settings=settings,
    )  # fmt: skip
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


@app.command("window")
def window(
    questions: Questions,
    folder: IndexFolder = FOLDER,
    conditions: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            autocompletion=condition_names,
            help="Conditions, with commas (the deepest of C0 to C3, TS, local).",
            show_default=False,
        ),
    ] = "",
    windows: Annotated[str, typer.Option(metavar="NUMBERS", help="Tokens of the window.")] = "8000,16000,32000,64000",
    sample: Sample = None,
    out: Out = OUT,
    model: ModelName = None,
    base_url: BaseUrl = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    trace: TraceFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Answer questions under windows of several sizes (P1 appendix C): what is read, cited and claimed."""
    from conspectus import api

    settings = settings_of(overrides(set_, model_flags(model, base_url, None, budget, budget_tokens, trace)), config)
    names = [name.strip() for name in conditions.split(",") if name.strip()]
    sizes = _numbers(windows, "--windows")
    experiment = api.vary_window(
        questions, folder, out, conditions=names, windows=sizes, sample=sample, settings=settings
    )
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


@app.command("levels")
def levels(
    questions: Questions,
    folder: IndexFolder = FOLDER,
    sample: Sample = None,
    out: Out = OUT,
    model: ModelName = None,
    base_url: BaseUrl = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    trace: TraceFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Answer questions from every level of reports, by type of question: the whole, a thing, joining, looking up."""
    from conspectus import api

    settings = settings_of(overrides(set_, model_flags(model, base_url, None, budget, budget_tokens, trace)), config)
    experiment = api.vary_levels(questions, folder, out, sample=sample, settings=settings)
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


@app.command("communities")
def communities(
    folder: IndexFolder = FOLDER,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Seeds that each method is run with.")] = 10,
    out: Out = OUT,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Divide the graph of an index by Leiden and by Louvain: modularity, levels, sizes, what is connected."""
    from conspectus import api

    settings = settings_of(overrides(set_), config)
    experiment = api.vary_communities(folder, out, seeds=seeds, settings=settings)
    _done(experiment, settings, dry_run=False, yes=True, json=json, quiet=quiet)


@app.command("reports")
def reports(
    folder: IndexFolder = FOLDER,
    questions: Annotated[
        Path | None,
        typer.Option("--questions", metavar="FILE|DIR", help="Questions to answer from the reports of both."),
    ] = None,
    level: Annotated[int | None, typer.Option(metavar="N", min=0, help="Level to answer from.")] = None,
    sample: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask only N questions.")] = None,
    checked: Annotated[
        int, typer.Option(metavar="N", min=0, help="Reports of each whose sentences are held against what they cite.")
    ] = 50,
    out: Out = OUT,
    model: ModelName = None,
    base_url: BaseUrl = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    trace: TraceFile = None,
    dry_run: DryRun = False,
    yes: Yes = False,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Compare reports by selection with reports by a language model, of the same communities.

    The model of --model writes them; without it, those of an index that a model wrote (or another tool) are taken.
    """
    from conspectus import api

    settings = settings_of(overrides(set_, model_flags(model, base_url, None, budget, budget_tokens, trace)), config)
    experiment = api.vary_reports(
        folder, out, questions=questions, level=level, sample=sample, checked=checked, settings=settings
    )
    _done(experiment, settings, dry_run=dry_run, yes=yes, json=json, quiet=quiet)


def _numbers(text: str, option: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"{option} takes numbers with commas between, and not {text!r}")
    return found


# Before, and while


def _done(experiment: Experiment, settings: Settings, *, dry_run: bool, yes: bool, json: bool, quiet: bool) -> None:
    from conspectus import api

    if dry_run or settings.model != "extractive":
        seen = api.preview_ablation(experiment)
        if dry_run:
            _previewed(seen, json=json)
            return
        if seen.estimates and not quiet:
            show.table(_estimates(seen), show.note)
            if not yes and sys.stdin.isatty() and sys.stderr.isatty():
                typer.confirm("Go on?", abort=True, err=True)
    from conspectus.cli.progress import Bars

    try:
        with Bars(quiet=quiet or json) as bars:
            done = api.ablate(experiment, progress=bars)
    except KeyboardInterrupt:
        show.note(f"interrupted: what was found is kept in {experiment.folder}; the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    _told(done, json=json, quiet=quiet)


def _previewed(seen: AblationPreview, *, json: bool) -> None:
    if json:
        show.as_json(asdict(seen))
        return
    show.out(f"{show.counted(seen.cells, 'piece')} of work; {seen.cells - seen.left:,} are done, {seen.left:,} left.")
    if seen.estimates:
        show.table(_estimates(seen))


def _estimates(seen: AblationPreview) -> Iterator[Sequence[str]]:
    """Yield what each variant asks: calls, tokens asked and written, and money where the price is known."""
    from conspectus.evaluate.answers_estimate import total

    yield ["", "Calls", "Tokens asked", "Tokens written", "Cost"]
    for name, one in (*seen.estimates.items(), ("All", total(seen.estimates.values()))):
        yield [name, *_figures(one)]


def _figures(estimate: Estimate) -> list[str]:
    cost = show.ranging(estimate.cost, 4) if estimate.cost else "unknown"
    return [*map(show.ranging, (estimate.calls, estimate.prompt_tokens, estimate.completion_tokens)), cost]


# After


def _told(done: Ablated, *, json: bool, quiet: bool) -> None:
    found = done.found
    if json:
        show.as_json(found.as_json())
    else:
        show.out(f"{show.bold(found.title)}\n")
        if found.rows:
            texts = sum(isinstance(value, str) for value in found.rows[0].values())
            show.table(_table(found.rows), texts=max(1, texts))
    if not quiet:
        show.note("")
        for line in found.notices:
            show.note(line)
        show.note(f"Written to {done.folder}: {', '.join(done.files)}")
        if found.panels and not any(name.endswith(".png") for name in done.files):
            show.note("A PNG of the chart needs Pillow: pip install 'conspectus[map]'")
        failed = sum(found.errors.values())
        show.listed(
            f"Failed {failed:,}; the same command tries again:", [f"{n:,} x {e}" for e, n in found.errors.items()]
        )
        show.listed("Of the model's replies:", done.notices)
        show.spent(done.usage)
    raise typer.Exit(WITH_FAILURES if found.errors else DONE)


def _table(rows: Sequence[Any]) -> Iterator[Sequence[str]]:
    columns = list(rows[0])
    yield [heading(column) for column in columns]
    shown: dict[str, Callable[[Cell], str]] = {column: _shower([row[column] for row in rows]) for column in columns}
    for row in rows:
        yield [shown[column](row[column]) for column in columns]


def heading(column: str) -> str:
    """Return the name of a column as a reader sees it: `entities_named_%` is `entities named, %`."""
    name = column.removesuffix("_%").replace("_", " ")
    return f"{name}, %" if column.endswith("_%") else name


def _shower(values: Sequence[Cell]) -> Callable[[Cell], str]:
    """Return how the values of a column are printed: all with as many decimals as the one that has most."""
    decimals = max((len(str(v).partition(".")[2]) for v in values if isinstance(v, float) and v % 1), default=0)

    def shown(value: Cell) -> str:
        if value is None:
            return "-"
        return value if isinstance(value, str) else f"{value:,.{decimals}f}"

    return shown
