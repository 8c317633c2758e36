"""`conspectus eval answers` and `eval table2`: the answers of conditions, and what these read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus.cli import show
from conspectus.cli.eval_options import (
    COMPARISON,
    Conditions,
    DryRun,
    Sample,
    estimates_table,
    table,
    with_progress,
)
from conspectus.cli.guard import DONE, WITH_FAILURES
from conspectus.cli.help import MODEL, OUTPUT
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
    settings_with_index,
    with_model,
)
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.evaluation.answers import Answered, AnswersPreview
    from conspectus.evaluation.questions import QuestionList
    from conspectus.settings import Settings


def answers(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="QUESTIONS", help="Folder of a comparison, or a list of questions: .json, .csv, or one per line."
        ),
    ],
    conditions: Conditions = "",
    folder: IndexFolder = FOLDER,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            rich_help_panel=OUTPUT,
            help="Folder of the comparison (default: that of QUESTIONS, or comparison).",
        ),
    ] = None,
    sample: Sample = None,
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
    from conspectus import evaluation, open_index

    flags = model_flags(model, base_url, embedder, budget, budget_tokens, trace)
    flags |= {"global.context_tokens": window, "answer.response": response}
    opened = open_index(folder)
    given = overrides(set_, flags)
    settings = settings_with_index(given, config, [opened.settings], quiet=quiet or json).settings
    target = out or _folder_of(source)
    names = parts(conditions)
    options = evaluation.AnswerOptions(names, sample, samples)
    if dry_run or settings.model != "extractive":
        preview = evaluation.preview_answers(source, opened, target, options=options, settings=settings)
        if dry_run:
            _previewed(preview, json=json)
            return
        if not quiet and any(preview.left.values()):
            show.table(_estimates(preview), show.note)
            confirmed(yes=yes)
    with with_progress(target, quiet=quiet or json) as bars:
        answered = evaluation.answer_questions(
            source, opened, target, options=options, settings=settings, progress=bars
        )
    _answered(answered, json=json, quiet=quiet)


def _folder_of(source: Path) -> Path:
    if source.is_dir():
        return source
    return source.parent if source.name == "questions.json" else COMPARISON


def _previewed(preview: AnswersPreview, *, json: bool) -> None:
    if json:
        show.as_json(asdict(preview))
        return
    show.out(
        f"{show.counted(preview.questions, 'question')}; {preview.cached:,} answers are there, "
        f"{sum(preview.left.values()):,} left."
    )
    show.table(_estimates(preview))
    show.listed("Of the conditions:", preview.notices)


def _estimates(preview: AnswersPreview) -> Iterator[Sequence[str]]:
    """Yield a row for each condition: answers, and what they would take where a language model is asked."""
    left = {name: n for name, n in preview.left.items() if n or not preview.estimates}
    counts = [f"{n:,}" for n in (*left.values(), sum(left.values()))]
    if not preview.estimates:
        yield ["Condition", "Answers"]
        yield from zip(left, counts, strict=False)
        return
    head, *rows = estimates_table("Condition", {name: preview.estimates[name] for name in left})
    yield [head[0], "Answers", *head[1:]]
    yield from ([row[0], count, *row[1:]] for row, count in zip(rows, counts, strict=True))


def _answered(answered: Answered, *, json: bool, quiet: bool) -> None:
    from conspectus.evaluation import tables

    if json:
        show.as_json(asdict(answered) | {"folder": str(answered.folder)})
    else:
        table(tables.units([asdict(row) for row in answered.table2]), caption=False)
        show.out()
        table(tables.answers(answered.conditions), caption=False)
        show.out(
            f"\n{show.counted(answered.questions, 'question')}; answers are in {answered.folder / 'answers.jsonl'}."
        )
    if not quiet:
        show.listed("Notes:", answered.notices)
        show.spent(answered.usage)
    raise typer.Exit(WITH_FAILURES if any(one.failed for one in answered.conditions) else DONE)


def table2(folder: IndexFolder = FOLDER, json: AsJson = False, log: LogFile = None) -> None:
    """Show how much text each level reads (GraphRAG Table 2).

    Example: conspectus eval table2
    """
    from conspectus import evaluation
    from conspectus.evaluation import tables

    rows = [asdict(row) for row in evaluation.units_read(folder)]
    if json:
        show.as_json(rows)
    else:
        table(tables.units(rows), caption=False)


# Questions


PREVIEWED = 3
"""Questions that are shown of those that were made."""


@with_model
def questions(
    description: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|FILE",
            help="Description of the corpus in a few sentences, or a file with it. Nothing else is read.",
        ),
    ] = None,
    from_: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Use these questions instead: one per line, a .csv with a column question or question_text, "
            "or a .json list.",
        ),
    ] = None,
    users: Annotated[
        int, typer.Option(metavar="K", min=1, help="Number of personas who would ask about the corpus.")
    ] = 5,
    tasks: Annotated[int, typer.Option(metavar="N", min=1, help="Number of tasks per persona.")] = 5,
    questions: Annotated[int, typer.Option(metavar="M", min=1, help="Number of questions per persona and task.")] = 5,
    out: Annotated[
        Path, typer.Option(metavar="DIR", rich_help_panel=OUTPUT, help="Folder of the comparison.")
    ] = COMPARISON,
    dry_run: DryRun = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    settings: Settings,
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
        _listed(evaluation.list_questions(from_, out), json=json, quiet=quiet)
        return
    text = _text(description or "")
    counts = evaluation.QuestionCounts(users, tasks, questions)
    if dry_run:
        cost = evaluation.preview_questions(text, counts=counts, settings=settings)
        show.as_json(asdict(cost)) if json else show.table(show.costs(cost))
        return
    with with_progress(out, quiet=quiet or json) as bars:
        listed = evaluation.generate_questions(text, out, counts=counts, settings=settings, progress=bars)
    _listed(listed, json=json, quiet=quiet)


def _text(description: str) -> str:
    """Return the text of a file where a description is the name of one, else the description."""
    file = Path(description)
    try:
        return file.read_text(encoding="utf-8-sig") if file.is_file() else description
    except (OSError, ValueError):  # too long for a name, or not to be read as text
        return description


def _listed(listed: QuestionList, *, json: bool, quiet: bool) -> None:
    if json:
        show.as_json([asdict(question) for question in listed.questions])
    else:
        show.out(f"{show.counted(len(listed.questions), 'question')} in {listed.folder / 'questions.json'} and .csv.")
        personas = len({question.persona for question in listed.questions} - {""})
        if personas:
            show.out(f"They are of {show.counted(personas, 'user')}; such as:")
        for question in listed.questions[:: max(1, len(listed.questions) // PREVIEWED)][:PREVIEWED]:
            show.out(f"  {show.snippet(question.text)}")
    if not quiet:
        show.listed("Of the questions:", listed.notices)
        show.spent(listed.usage)
    raise typer.Exit(WITH_FAILURES if listed.failed else DONE)
