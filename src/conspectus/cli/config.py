"""`conspectus config`, `init`, `models check` and `cache`: settings, the models that they name, and cached replies."""

from __future__ import annotations

import json as writing
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from conspectus import api, configuration
from conspectus.cli import show
from conspectus.cli.options import (
    FOLDER,
    WITH_FAILURES,
    AsJson,
    ConfigFile,
    IndexFolder,
    SetKeys,
    argument,
    option,
    overrides,
    takes,
)
from conspectus.errors import ConspectusError, UsageError
from conspectus.settings import Settings

SIGNS = {True: "yes", False: "no", None: "-"}
DAY = 86_400
"""Seconds."""

app = typer.Typer(no_args_is_help=True, help="Check the configured language models.")


@app.callback()
def models() -> None:
    """Look at the language models that are configured."""


@app.command()
@takes("--model", "--base-url", "--embedder")
def check(json: AsJson = False, *, settings: Settings) -> None:
    """Send one small request of each kind to the language model.

    Reports what the server supports, or what to fix.

    Example: conspectus models check --model openai/gpt-4.1-mini
    """
    checked = api.check_models(settings)
    if json:
        show.as_json({"checks": [asdict(c) for c in checked]})
    else:
        rows = [["Model", "Request", "Works", ""]] + [[c.model, c.kind, SIGNS[c.ok], c.detail] for c in checked]
        show.table(rows, texts=4)
    if any(c.ok is False and c.kind in api.NEEDED for c in checked):
        raise typer.Exit(WITH_FAILURES)


def cache(
    folder: IndexFolder = FOLDER,
    prune_older: Annotated[
        float | None,
        option("Delete responses created more than DAYS days ago.", "--prune-older", metavar="DAYS", min=0),
    ] = None,
    prune_unused: Annotated[
        float | None, option("Delete responses not used for DAYS days.", "--prune-unused", metavar="DAYS", min=0)
    ] = None,
    prune_bad: Annotated[bool, option("Delete failed and unreadable responses.", "--prune-bad")] = False,
    json: AsJson = False,
) -> None:
    """Show the size of the response cache, or prune it.

    Example: conspectus cache
    Example: conspectus cache --prune-unused 90
    """
    file = folder / api.CACHE_FILE
    if not file.exists():
        raise UsageError(f"there are no cached responses of language models in {folder}")
    replies = api.ResponseCache(file)
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


# Settings


def config(
    show_defaults: Annotated[
        bool, option("Also show the default and the description of each setting.", "--show-defaults")
    ] = False,
    json: AsJson = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
) -> None:
    """Show the settings in force, and where each comes from.

    They come from the defaults, conspectus.toml, environment variables such as CONSPECTUS_CHUNK_TOKENS, and --set;
    later ones win.

    For every command, conspectus.toml is the file named by --config, or else the nearest one from the working directory
    up to the root of its repository or your home folder. An index remembers the models it was built with: they are used
    where none of these sources names one. Keys come from the environment alone.

    Example: conspectus config --show-defaults
    """
    described = configuration.describe(configuration.load(overrides(set_), file=config))
    if json:
        show.as_json({"settings": [d._asdict() for d in described]})
        return
    for d in described:
        if show_defaults:
            show.out(f"# {d.description}; default {_value(d.default)}")
        show.out(f"{d.key} = {_value(d.value)}  ({d.origin})" + ("\n" if show_defaults else ""))


def _value(value: object) -> str:
    return "not set" if value is None else writing.dumps(value, ensure_ascii=False)


def init(
    folder: Annotated[Path, argument("FOLDER", "Folder to write conspectus.toml to.")] = Path(),
    force: Annotated[bool, option("Overwrite an existing conspectus.toml.", "--force")] = False,
) -> None:
    """Write a conspectus.toml with every setting, commented out.

    Example: conspectus init
    """
    file = folder / configuration.FILE_NAME
    text = configuration.as_toml(Settings(), commented=True)
    try:
        with file.open("w" if force else "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise UsageError(f"{file} is there already, and stays as it is; --force replaces it") from None
    except OSError as error:
        raise ConspectusError(f"{file} cannot be written: {error.strerror}") from None
    show.out(f"Wrote {file}: take away the # before a setting to change it.")
