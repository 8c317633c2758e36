"""`conspectus eval report`: a comparison as one page and one Markdown file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli import show
from conspectus.cli.options import AsJson, ConfigFile, LogFile, Quiet, SetKeys, overrides, settings_of


def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a comparison.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="FILE.html and FILE.md (DIR/report).", show_default=False)
    ] = None,
    title: Annotated[str, typer.Option(metavar="TEXT", help="Title of the report.", show_default=False)] = "",
    judge_model: Annotated[
        str | None, typer.Option("--judge-model", metavar="NAME", help="Whose judgements, where several judged.")
    ] = None,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Write all that a comparison found as a page that opens in any browser, offline, and as Markdown.

    Set-up, costs, what each level reads (Table 2), win rates, tests (Table 6), claims and clusters (Tables 3 and 4),
    grounding, loss, people and ablations, as far as they are there; and every question with its answers, so that any
    cell can be followed to the judgements behind it. It asks no model.
    """
    from conspectus import api

    made = api.write_report(
        folder, out, title=title, judge_model=judge_model, settings=settings_of(overrides(set_), config)
    )
    if json:
        show.as_json({"page": str(made.page), "markdown": str(made.markdown), "missing": made.missing})
        return
    show.out(f"{made.page} ({show.size(made.page.stat().st_size)}) and {made.markdown}")
    if not quiet:
        show.listed("Not there, and said so in the report:", made.missing)
