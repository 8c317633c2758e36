"""`conspectus eval questions`: what is asked of a whole corpus, made from its description or brought along."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.comparing import COMPARISON, DryRun
from conspectus.cli.guard import DONE, INTERRUPTED, WITH_FAILURES
from conspectus.cli.help import OUTPUT
from conspectus.cli.options import (
    AsJson,
    Quiet,
    with_model,
)
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.api.comparing import Listed
    from conspectus.settings import Settings

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
    if (description is None) == (from_ is None):
        raise UsageError("describe the corpus (--description TEXT or a file), or bring questions (--from FILE)")
    if from_ is not None:
        _listed(api.list_questions(from_, out), json=json, quiet=quiet)
        return
    text = _text(description or "")
    chosen: dict[str, Any] = {"users": users, "tasks": tasks, "questions": questions, "settings": settings}
    if dry_run:
        cost = api.estimate_questions(text, **chosen)
        show.as_json(asdict(cost)) if json else show.table(show.costs(cost))
        return
    from conspectus.cli.progress import Bars

    try:
        with Bars(quiet=quiet or json) as bars:
            listed = api.make_questions(text, out, progress=bars, **chosen)
    except KeyboardInterrupt:
        show.note(f"interrupted: the replies so far are kept in {out}; the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    _listed(listed, json=json, quiet=quiet)


def _text(description: str) -> str:
    """Return the text of a file where a description is the name of one, else the description."""
    file = Path(description)
    try:
        return file.read_text(encoding="utf-8-sig") if file.is_file() else description
    except (OSError, ValueError):  # too long for a name, or not to be read as text
        return description


def _listed(listed: Listed, *, json: bool, quiet: bool) -> None:
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
