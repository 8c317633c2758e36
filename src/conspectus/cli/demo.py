"""`conspectus demo`: the bundled corpus, indexed and asked, so that one sees what comes out before reading on."""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import chdir
from pathlib import Path
from typing import Annotated

import typer

import conspectus
from conspectus.cli import show
from conspectus.cli.options import option
from conspectus.errors import UsageError

FOLDER = Path("conspectus-demo")
CORPUS, MODEL_INDEX = "corpus", "model-index"
"""What a demo folder holds beside its own index: the documents, and the index that a language model wrote."""

THEMES = "What are the main themes of these documents?"
QUESTIONS: tuple[tuple[str, ...], ...] = (
    ("When was the Maddern Chart made?", "--response", "short answer"),
    ("Who is Dorothea Quill?",),
    (THEMES, "--level", "0"),
)
"""A fact, a person, and the whole corpus."""

_BUNDLED = Path(conspectus.__file__).parent
_HARMLESS = frozenset(("CONSPECTUS_CACHE", "CONSPECTUS_DEBUG", "CONSPECTUS_LOG"))
"""Environment variables that may stay: they change neither what is asked nor what is paid for."""


def demo(
    context: typer.Context,
    folder: Annotated[Path, option("Folder to create the demo in.", "--dir", metavar="DIR")] = FOLDER,
    with_model_index: Annotated[
        bool,
        option("Also ask an index that was built with a large language model (included).", "--with-model-index"),
    ] = False,
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
        raise UsageError(f"{folder} is not empty and holds no demo; name another folder with --dir")
    shutil.copytree(
        _BUNDLED / "sample", folder / CORPUS, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__*")
    )
    for name in [name for name in os.environ if name.startswith("CONSPECTUS_") and name not in _HARMLESS]:
        del os.environ[name]  # a model named there would be paid for
    with chdir(folder):
        _run(context, "index", CORPUS)
        for question in QUESTIONS:
            _run(context, "ask", *question)
        if with_model_index:
            _with_model_index(context)
    _next(folder, with_model_index)


def _run(context: typer.Context, *arguments: str) -> None:
    """Show a command and run it; end with its exit code if it fails."""
    show.out(f"\n$ conspectus {' '.join(map(_quoted, arguments))}")
    # Given although it is the default, since a settings file may name a model that would be paid for.
    without_model = {"index": ("--model", "extractive", "--embedder", "none"), "ask": ("--model", "extractive")}
    group = context.find_root().command
    code = group.main(
        args=[*arguments, *without_model.get(arguments[0], ())], prog_name="conspectus", standalone_mode=False
    )
    if code:
        raise typer.Exit(code)


def _quoted(argument: str) -> str:
    """Quote an argument as people do: in double quotes, if that is safe."""
    return f'"{argument}"' if " " in argument and not set(argument) & set('"$`\\!') else shlex.quote(argument)


def _with_model_index(context: typer.Context) -> None:
    """Import the index that a model wrote, look into it without a model, and show what the model itself answered."""
    source = Path(MODEL_INDEX + "-tables")
    shutil.copytree(_BUNDLED / "sample_index", source, dirs_exist_ok=True)
    show.out(
        "\nNow the same documents as a large language model read them: its entities, relationships and reports."
    )
    _run(context, "import", "graphrag", str(source), "--index", MODEL_INDEX)
    _run(context, "report", "--index", MODEL_INDEX)
    _run(context, "entity", "Tide Watch", "--index", MODEL_INDEX)
    show.out("\nAnd what that model answered from its reports (recorded; no model was called):\n")
    show.markdown((source / "answer.md").read_text(encoding="utf-8"))


def _next(folder: Path, with_model_index: bool) -> None:
    """Say what to do next."""
    index = f" --index {MODEL_INDEX}" if with_model_index else ""
    question = THEMES if with_model_index else "Who designed the Lapwing turbine?"
    lines = [
        (f"cd {_quoted(str(folder))}", ""),
        (f'conspectus ask "{question}"{index}', "quotes what the model wrote" if with_model_index else ""),
        (f"conspectus report{index}", "its communities and their reports"),
        (f"conspectus map{index}", "the graph as a page: open map.html in a browser"),
    ]
    if not with_model_index:
        lines.append(("conspectus demo --dir . --with-model-index", "what a language model adds"))
    show.out("\nNext:\n")
    for command, what in lines:
        show.out(f"  {command}" + f"   # {what}" * bool(what))
    show.out('\nYour own documents: conspectus index FOLDER, then conspectus ask "..."')
