"""`conspectus demo`, `init`, `config`, `models` and `cache`: a first look, settings, models, and the response cache."""

from __future__ import annotations

import json as writing
import os
import shlex
import shutil
import time
from contextlib import chdir
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

import conspectus
from conspectus import api, configuration
from conspectus.cli import options, show
from conspectus.cli.options import FOLDER, AsJson, argument, option
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
@options.takes("--model", "--base-url", "--embedder")
def check(json: AsJson = False, *, settings: Settings) -> None:
    """Send one small request of each kind to the language model.

    Reports what the server supports, or what to fix.

    Example: conspectus models check --model openai/gpt-4.1-mini
    """
    checked = api.check_models(settings)
    if json:
        show.as_json({"checks": [asdict(c) for c in checked]})
    else:
        rows = [[c.model, c.kind, SIGNS[c.ok], show.with_options(c.detail)] for c in checked]
        show.table([["Model", "Request", "Works", ""], *rows], texts=4)
    if any(c.ok is False and c.kind in api.NEEDED for c in checked):
        raise typer.Exit(options.WITH_FAILURES)


_OLDER = "Delete responses created more than DAYS days ago."
PruneOlder = Annotated[float | None, option(_OLDER, "--prune-older", metavar="DAYS", min=0)]
PruneBad = Annotated[bool, option("Delete failed and unreadable responses.", "--prune-bad")]


def cache(
    folder: options.IndexFolder = FOLDER,
    prune_older: PruneOlder = None,
    prune_bad: PruneBad = False,
    json: AsJson = False,
) -> None:
    """Show the size of the response cache, or prune it.

    Example: conspectus cache
    Example: conspectus cache --prune-older 90
    """
    file = folder / api.CACHE_FILE
    if not file.exists():
        raise UsageError(f"there are no cached responses of language models in {folder}")
    replies = api.ResponseCache(file)
    try:
        before = 0.0 if prune_older is None else time.time() - prune_older * DAY
        removed = replies.prune(made_before=before, bad=prune_bad)
        stats = replies.stats()
    finally:
        replies.close()
    if json:
        show.as_json(asdict(stats) | {"removed": removed})
        return
    by_status = [f"{n:,} {status}" for status, n in stats.by_status.items()]
    show.out(f"Attempts: {stats.rows:,} ({', '.join(by_status) or 'none'}), {show.size(stats.bytes)}")
    show.out(f"Deleted: {removed:,}")


# Settings

_DEFAULTS = "Also show the default and the description of each setting."


def config(
    show_defaults: Annotated[bool, option(_DEFAULTS, "--show-defaults")] = False,
    json: AsJson = False,
    config: options.ConfigFile = None,
    set_: options.SetKeys = None,
) -> None:
    """Show the settings in force, and where each comes from.

    They come from the defaults, conspectus.toml, environment variables such as CONSPECTUS_CHUNK_TOKENS, and --set;
    later ones win.

    For every command, conspectus.toml is the file named by --config, or else the nearest one from the working directory
    up to the root of its repository or your home folder. An index remembers the models it was built with: they are used
    where none of these sources names one. Keys come from the environment alone.

    Example: conspectus config --show-defaults
    """
    described = configuration.describe(configuration.load(options.overrides(set_), file=config))
    if json:
        show.as_json({"settings": [d._asdict() for d in described]})
        return
    for d in described:
        if show_defaults:
            show.out(f"# {d.description}; default {_value(d.default)}")
        show.out(f"{d.key} = {_value(d.value)}  ({d.origin})" + ("\n" if show_defaults else ""))


def _value(value: object) -> str:
    return "not set" if value is None else writing.dumps(value, ensure_ascii=False)


_PRESET = f"Use the settings of a paper: {', '.join(configuration.PRESETS)}."


def init(
    folder: Annotated[Path, argument("FOLDER", "Folder to write conspectus.toml to.")] = Path(),
    force: Annotated[bool, option("Overwrite an existing conspectus.toml.", "--force")] = False,
    preset: Annotated[str, option(_PRESET, metavar="NAME", show_default=False)] = "",
) -> None:
    """Write a conspectus.toml with every setting, commented out.

    With --preset, the settings of a paper are set, each with the section that states it.

    Example: conspectus init
    Example: conspectus init --preset graphrag-paper
    """
    file = folder / configuration.FILE_NAME
    text = configuration.as_toml(preset)
    try:
        with file.open("w" if force else "x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        raise UsageError(f"{file} already exists; --force overwrites it") from None
    except OSError as error:
        raise ConspectusError(f"{file} cannot be written: {error.strerror}") from None
    chosen = f"set as in {configuration.preset(preset).title}" if preset else "no setting is changed yet"
    show.out(f"Wrote {file} ({chosen}): remove the # before a setting to change it.")


# Demo

DEMO = Path("conspectus-demo")
CORPUS, MODEL_INDEX = "corpus", "model-index"
"""Folders in a demo folder beside its own index: the documents, and the index made with a language model."""
THEMES = "What are the main themes of these documents?"
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("index", CORPUS),
    ("ask", "When was the Maddern Chart made?", "--response", "short answer"),
    ("ask", "Who is Dorothea Quill?"),
    ("ask", THEMES, "--level", "0"),
)
"""The commands of the demo: an index, and questions for a fact, a person, and the whole corpus."""
MODEL_COMMANDS = (
    ("import", "graphrag", f"{MODEL_INDEX}-tables", "--index", MODEL_INDEX),
    ("report", "--index", MODEL_INDEX),
    ("entity", "Tide Watch", "--index", MODEL_INDEX),
)
"""The commands that show the index made with a language model."""
WITHOUT_MODEL = {"index": ("--model", "extractive", "--embedder", "none"), "ask": ("--model", "extractive")}
"""Options given although they are defaults, because a settings file may name a model that costs money."""
NEXT = """
Next:
{enter}
  conspectus ask "{question}"{index}
  conspectus report{index}   # the communities of the graph, each with a report
  conspectus map{index}   # the graph as a page: open map.html in a browser"""
ADDED_BY_A_MODEL = "  conspectus demo --dir . --with-model-index   # what a language model adds"
OWN_DOCUMENTS = '\nYour own documents: conspectus index FOLDER, then conspectus ask "..."'

_MODEL_INDEX = "Also ask an index that was built with a large language model (included)."
_BUNDLED = Path(conspectus.__file__).parent
_HARMLESS = frozenset(("CONSPECTUS_CACHE", "CONSPECTUS_DEBUG", "CONSPECTUS_LOG", "CONSPECTUS_TOKEN"))
"""Environment variables that stay set: they affect neither what is asked of models nor the cost."""


def demo(
    context: typer.Context,
    folder: Annotated[Path, option("Folder to create the demo in.", "--dir", metavar="DIR")] = DEMO,
    with_model_index: Annotated[bool, option(_MODEL_INDEX, "--with-model-index")] = False,
) -> None:
    """Index 43 sample documents and ask three questions.

    Needs no key and no network. The documents (letters, minutes and newspaper pages of an invented harbour town) are
    copied into the folder, so that every citation can be looked up. --with-model-index shows what a model
    adds before you pay for one.

    Example: conspectus demo
    Example: conspectus demo --with-model-index
    """
    folder = folder.expanduser()
    if folder.is_dir() and any(folder.iterdir()) and not (folder / CORPUS / "gazette").is_dir():
        raise UsageError(f"{folder} is not empty and contains no demo; name another folder with --dir")
    no_code = shutil.ignore_patterns("__*")
    shutil.copytree(_BUNDLED / "sample", folder / CORPUS, dirs_exist_ok=True, ignore=no_code)
    for name in [name for name in os.environ if name.startswith("CONSPECTUS_") and name not in _HARMLESS]:
        del os.environ[name]  # a model named there would cost money
    with chdir(folder):
        for command in COMMANDS:
            _run(context, command)
        if with_model_index:
            _show_model_index(context)
    index = f" --index {MODEL_INDEX}" if with_model_index else ""
    question = THEMES if with_model_index else "Who designed the Lapwing turbine?"
    enter = "" if folder == Path() else f"\n  cd {_quoted(str(folder))}"
    show.out(NEXT.format(enter=enter, question=question, index=index))
    if not with_model_index:
        show.out(ADDED_BY_A_MODEL)
    show.out(OWN_DOCUMENTS)


def _run(context: typer.Context, command: tuple[str, ...]) -> None:
    """Print a command and run it; end with its exit code if it fails."""
    show.out(f"\n$ conspectus {' '.join(map(_quoted, command))}")
    args = [*command, *WITHOUT_MODEL.get(command[0], ())]
    code = context.find_root().command.main(args=args, prog_name="conspectus", standalone_mode=False)
    if code:
        raise typer.Exit(code)


def _quoted(argument: str) -> str:
    """Return an argument quoted as people do: in double quotes, if that is safe."""
    return f'"{argument}"' if " " in argument and not set(argument) & set('"$`\\!') else shlex.quote(argument)


def _show_model_index(context: typer.Context) -> None:
    """Import the index made with a model, inspect it without a model, and show the model's own answer."""
    source = Path(f"{MODEL_INDEX}-tables")
    shutil.copytree(_BUNDLED / "sample_index", source, dirs_exist_ok=True)
    show.out("\nThe same documents as a large language model read them: entities, relationships and reports.")
    for command in MODEL_COMMANDS:
        _run(context, command)
    show.out("\nAnd what that model answered from its reports (recorded; no model was called):\n")
    show.markdown((source / "answer.md").read_text(encoding="utf-8"))
