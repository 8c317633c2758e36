"""`conspectus eval report`: a comparison as one page and one Markdown file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.help import MODEL, OUTPUT
from conspectus.cli.options import AsJson, ConfigFile, LogFile, Quiet, SetKeys, overrides, settings_of


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
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Write all results of a comparison as one HTML page.

    Contains set-up, cost, context per level, win rates, tests, claims, grounding, loss, human ratings and ablations, as
    far as they exist, and every question with its answers. Also written as Markdown. Works offline; asks no model.

    Example: conspectus eval report comparison
    """
    made = api.write_report(
        folder, out, title=title, judge_model=judge_model, settings=settings_of(overrides(set_), config)
    )
    if json:
        show.as_json({"page": str(made.page), "markdown": str(made.markdown), "missing": made.missing})
        return
    show.out(f"{made.page} ({show.size(made.page.stat().st_size)}) and {made.markdown}")
    if not quiet:
        show.listed("Not there, and said so in the report:", made.missing)
