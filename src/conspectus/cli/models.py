"""`conspectus models check`, `conspectus cache` and `conspectus tune`: what goes with language models."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from conspectus import api
from conspectus.cli import show
from conspectus.cli.guard import WITH_FAILURES, Group
from conspectus.cli.help import OUTPUT
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    BaseUrl,
    ConfigFile,
    EmbedderName,
    IndexFolder,
    LogFile,
    ModelName,
    SetKeys,
    model_flags,
    overrides,
    settings_of,
)
from conspectus.errors import UsageError

SIGNS = {True: "yes", False: "no", None: "-"}
DAY = 86_400  # seconds

app = typer.Typer(cls=Group, no_args_is_help=True, help="Check the configured language models.")


@app.callback()
def models() -> None:
    """Look at the language models that are configured."""


@app.command()
def check(
    model: ModelName = None,
    base_url: BaseUrl = None,
    embedder: EmbedderName = None,
    json: AsJson = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Send one small request of each kind to the language model.

    Reports what the server supports, or what to fix.

    Example: conspectus models check --model openai/gpt-4.1-mini
    """
    from conspectus.api import check_models
    from conspectus.models.llm.session import NEEDED

    checked = check_models(settings_of(overrides(set_, model_flags(model, base_url, embedder)), config))
    if json:
        show.as_json({"checks": [asdict(c) for c in checked]})
    else:
        rows = [["Model", "Request", "Works", ""]] + [[c.model, c.kind, SIGNS[c.ok], c.detail] for c in checked]
        show.table(rows, texts=4)
    if any(c.ok is False and c.kind in NEEDED for c in checked):
        raise typer.Exit(WITH_FAILURES)


def cache(
    folder: IndexFolder = FOLDER,
    prune_older: Annotated[
        float | None,
        typer.Option("--prune-older", metavar="DAYS", min=0, help="Delete responses created more than DAYS days ago."),
    ] = None,
    prune_unused: Annotated[
        float | None,
        typer.Option("--prune-unused", metavar="DAYS", min=0, help="Delete responses not used for DAYS days."),
    ] = None,
    prune_bad: Annotated[bool, typer.Option("--prune-bad", help="Delete failed and unreadable responses.")] = False,
    json: AsJson = False,
    log: LogFile = None,
) -> None:
    """Show the size of the response cache, or prune it.

    Example: conspectus cache
    Example: conspectus cache --prune-unused 90
    """
    from conspectus.models.llm.cache import FILE_NAME, ResponseCache

    if not (folder / FILE_NAME).exists():
        raise UsageError(f"there are no replies of language models in {folder}")
    replies = ResponseCache(folder / FILE_NAME)
    try:
        now = time.time()
        removed = replies.prune(
            made_before=None if prune_older is None else now - prune_older * DAY,
            unused_since=None if prune_unused is None else now - prune_unused * DAY,
            bad=prune_bad,
        )
        stats = replies.stats()
    finally:
        replies.close()
    if json:
        show.as_json(asdict(stats) | {"removed": removed})
        return
    by_status = ", ".join(f"{n:,} {status}" for status, n in stats.by_status.items()) or "none"
    show.out(f"Attempts: {stats.rows:,} ({by_status}), {show.size(stats.bytes)}")
    show.out("Used again: " + (", ".join(f"{task} {n:,}" for task, n in stats.hits.items() if n) or "none"))
    if prune_older is not None or prune_unused is not None or prune_bad:
        show.out(f"Deleted: {removed:,}")


def tune(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Files and folders to read.")],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", rich_help_panel=OUTPUT, help="Folder to write the prompts to.")
    ] = Path("prompts"),
    examples: Annotated[
        int, typer.Option(metavar="N", min=0, help="Number of few-shot examples to make from the corpus.")
    ] = 2,
    model: ModelName = None,
    base_url: BaseUrl = None,
    json: AsJson = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Write prompts adapted to a corpus, from a sample of it.

    The prompts describe its domain, its entity types, and contain few-shot examples made from its own texts.

    Example: conspectus tune docs --model openai/gpt-4.1-mini --out prompts
    """
    settings = settings_of(overrides(set_, model_flags(model, base_url)), config)
    tuned = api.tune(sources, out, settings=settings, examples=examples)
    if json:
        show.as_json(asdict(tuned) | {"folder": str(out), "files": [str(path) for path in tuned.files]})
        return
    show.out(f"The corpus is about {tuned.profile.domain}; its reader is {tuned.profile.persona}.")
    show.out(f"Types of entity: {', '.join(tuned.profile.entity_types)}. Language: {tuned.language}.")
    examples_made = show.counted(tuned.examples, "example")
    show.out(f"Wrote {show.counted(len(tuned.files), 'file')} with {examples_made} to {out}.")
    show.note(f"Use them to index and to ask: conspectus index ... --config {out / 'conspectus.toml'}")
