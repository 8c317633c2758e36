"""`conspectus eval answers` and `eval table2`: the answers of conditions, and what these read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.guard import DONE, INTERRUPTED, WITH_FAILURES
from conspectus.cli.help import COST, MODEL, OUTPUT
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    BaseUrl,
    Budget,
    BudgetTokens,
    ConfigFile,
    EmbedderName,
    IndexFolder,
    LogFile,
    ModelName,
    Quiet,
    SetKeys,
    TraceFile,
    Yes,
    confirmed,
    model_flags,
    overrides,
    parts,
    settings_of,
)

if TYPE_CHECKING:
    from conspectus.api.comparing import Answered, AnswersPreview
    from conspectus.evaluation.comparing.table2 import Units
    from conspectus.indexing.estimate import Estimate

COMPARISON = Path("comparison")

DryRun = Annotated[
    bool, typer.Option("--dry-run", rich_help_panel=COST, help="Show the estimated calls and cost, and ask nothing.")
]


def condition_names(incomplete: str) -> list[str]:
    """Return what a list of conditions may go on with; for completion by the shell."""
    from conspectus.evaluation.comparing.conditions import PAPER
    from conspectus.retrieval import METHODS

    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in (*PAPER, *METHODS) if name.startswith(last)]


def answers(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="QUESTIONS", help="Folder of a comparison, or a list of questions: .json, .csv, or one per line."
        ),
    ],
    conditions: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            autocompletion=condition_names,
            help="Conditions to compare, separated by commas: C0, C1, ... (reports of a level), TS "
            "(map-reduce over source texts), SS (vector search) or any method. Default: "
            "C0,C1,C2,C3,TS,SS, as far as the index supports them.",
            show_default=False,
        ),
    ] = "",
    folder: IndexFolder = FOLDER,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=OUTPUT,
            help="Folder of the comparison (default: that of QUESTIONS, or comparison).",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Ask a random sample of N questions. A later run may ask more."),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            rich_help_panel=MODEL,
            help="Number of extra answers per question, for self-consistency. Requires a language model.",
        ),
    ] = 0,
    window: Annotated[
        int | None,
        typer.Option(metavar="N", min=500, help="Context window of every condition in tokens (default: 8000)."),
    ] = None,
    response: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", rich_help_panel=MODEL, help="Length and format of every answer. Requires a language model."
        ),
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    embedder: EmbedderName = None,
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
    """Answer questions under several conditions, to compare them.

    All conditions share one context window; methods that read chunks get as many as fit. Answers are saved in
    DIR/answers.jsonl. Run it again to continue and to retry failures; answers of another index, model or settings are
    replaced.

    Example: conspectus eval answers questions.txt --conditions C0,C2,TS
    """
    flags = model_flags(model, base_url, embedder, budget, budget_tokens, trace)
    flags |= {"global.context_tokens": window, "answer.response": response}
    settings = settings_of(overrides(set_, flags), config)
    target = out or _folder_of(source)
    names = parts(conditions)
    opened = api.open_index(folder)
    chosen: dict[str, Any] = {"sample": sample, "samples": samples, "settings": settings}
    language_model = settings.model != "extractive"
    if dry_run or language_model:
        seen = api.estimate_answers(source, opened, names, target, **chosen)
        if dry_run:
            _previewed(seen, json=json)
            return
        if not quiet and any(seen.left.values()):
            show.table(_estimates(seen), show.note)
            confirmed(yes=yes)
    from conspectus.cli.progress import Bars

    try:
        with Bars(quiet=quiet or json) as bars:
            answered = api.answer_questions(source, opened, names, target, progress=bars, **chosen)
    except KeyboardInterrupt:
        show.note(f"interrupted: the answers so far are kept in {target}; the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    _answered(answered, json=json, quiet=quiet)


def _folder_of(source: Path) -> Path:
    if source.is_dir():
        return source
    return source.parent if source.name == "questions.json" else COMPARISON


def _previewed(seen: AnswersPreview, *, json: bool) -> None:
    if json:
        show.as_json(asdict(seen))
        return
    show.out(
        f"{show.counted(seen.questions, 'question')}; {seen.kept:,} answers are kept, {sum(seen.left.values()):,} left."
    )
    show.table(_estimates(seen))
    show.listed("Of the conditions:", seen.notices)


def _estimates(seen: AnswersPreview) -> Iterator[Sequence[str]]:
    """Yield a row for each condition: answers, calls, tokens asked and written, and money where the price is known."""
    from conspectus.evaluation.comparing.answers_estimate import total

    if not seen.estimates:
        yield ["Condition", "Answers"]
        yield from ([name, f"{n:,}"] for name, n in seen.left.items())
        return
    yield ["Condition", "Answers", "Calls", "Tokens asked", "Tokens written", "Cost (USD)"]
    for name, n in seen.left.items():
        if n:
            yield [name, f"{n:,}", *_figures(seen.estimates[name])]
    yield ["All", f"{sum(seen.left.values()):,}", *_figures(total(seen.estimates.values()))]


def _figures(estimate: Estimate) -> list[str]:
    cost = show.ranging(estimate.cost, 4) if estimate.cost else "unknown"
    return [*map(show.ranging, (estimate.calls, estimate.prompt_tokens, estimate.completion_tokens)), cost]


def _answered(answered: Answered, *, json: bool, quiet: bool) -> None:
    if json:
        show.as_json(asdict(answered) | {"folder": str(answered.folder)})
    else:
        show.table(_units(answered.table2))
        show.out()
        show.table(_taken(answered))
        show.out(
            f"\n{show.counted(answered.questions, 'question')}; answers are in {answered.folder / 'answers.jsonl'}."
        )
    if not quiet:
        show.listed("Notes:", answered.notices)
        show.spent(answered.usage)
    raise typer.Exit(WITH_FAILURES if any(one.failed for one in answered.conditions) else DONE)


def _taken(answered: Answered) -> Iterator[Sequence[str]]:
    """Yield a row for each condition: what came of it, means of an answer, and what all answers took together."""
    asked = any(one.calls for one in answered.conditions)
    spent = ["Calls", "Tokens asked", "Tokens written", "Seconds waited"] if asked else ["CPU s"]
    yield ["Condition", "Answers", "Nothing", "Failed", "Units", "Tokens read", "Answer tokens", "Citations", *spent]
    for one in answered.conditions:
        counts = [f"{n:,}" for n in (one.answers, one.nothing, one.failed)]
        means = [f"{n:,.1f}" for n in (one.units, one.context_tokens, one.answer_tokens, one.citations)]
        books = [f"{n:,}" for n in (one.calls, one.prompt_tokens, one.completion_tokens)] if asked else []
        yield [one.condition, *counts, *means, *books, f"{one.seconds:,.2f}"]


def table2(folder: IndexFolder = FOLDER, json: AsJson = False, log: LogFile = None) -> None:
    """Show how much text each level reads (GraphRAG Table 2).

    Example: conspectus eval table2
    """
    rows = api.table2(folder)
    if json:
        show.as_json([asdict(row) for row in rows])
    else:
        show.table(_units(rows))


def _units(rows: Sequence[Units]) -> Iterator[Sequence[str]]:
    yield ["Condition", "Units", "Tokens", "% of TS", "Projected", "% of entities"]
    for row in rows:
        figures = [f"{row.units:,}", f"{row.tokens:,}", f"{100 * row.share:.1f}", f"{row.projected:,}"]
        yield [row.condition, *figures, f"{100 * row.entities:.1f}"]
