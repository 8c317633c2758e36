"""The options that several commands have, and what they say together."""

from __future__ import annotations

import logging
import platform
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conspectus import __version__
from conspectus.errors import ConspectusError, UsageError

if TYPE_CHECKING:
    from conspectus.settings import Settings

FOLDER = Path(".conspectus")
FOLDERS = [FOLDER]


def start_log(file: Path | None) -> Path | None:
    """Write everything that is logged from now on to a file, after what is in it."""
    if file is None:
        return None
    from conspectus.models.server.faults import redact

    try:
        handler = logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("conspectus")
    for old in logger.handlers:
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    given = redact(shlex.join(sys.argv[1:]))
    logger.debug("conspectus %s, Python %s: %s", __version__, platform.python_version(), given)
    return file


def methods(incomplete: str) -> list[str]:
    """Return the methods of answering that begin with what is typed; for completion by the shell."""
    from conspectus.query import METHODS

    return [name for name in ("auto", *METHODS) if name.startswith(incomplete)]


def embedders(incomplete: str) -> list[str]:
    """Return the names of embedders that begin with what is typed; for completion by the shell."""
    known = ("none", "local", "openai/text-embedding-3-small", "ollama/nomic-embed-text")
    return [name for name in known if name.startswith(incomplete)]


def entity_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the entities whose names begin with what is typed; for completion by the shell."""
    from conspectus.api import open_index

    try:
        index = open_index(ctx.params.get("folder") or FOLDER)
    except ConspectusError:
        return []
    return [e.name for e in index.entities if e.name.lower().startswith(incomplete.lower())][:100]


IndexFolder = Annotated[
    Path, typer.Option("--index", metavar="DIR", envvar="CONSPECTUS_INDEX", help="Folder of the index.")
]
IndexFolders = Annotated[
    list[Path],
    typer.Option(
        "--index",
        metavar="DIR",
        envvar="CONSPECTUS_INDEX",
        help="Folder of the index; given several times, they are asked as one.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Documents to read alone, as folder=reports/2024, date>=2023-01-01, author~Quill or path~*.pdf; "
        "several all have to hold.",
    ),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="NAME",
        help="Who looks again at the best chunks: local, local:FOLDER, cohere/…, the address of a server, or model.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
LogFile = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE", callback=start_log, help="Write a debug log to a file."),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="Settings file, in place of the conspectus.toml that is found."),
]
SetKeys = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any setting, as chunk.mode=sentence; may be repeated."),
]

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model", metavar="NAME", help="Language model, as openai/gpt-4.1-mini or ollama/qwen3 (extractive: none)."
    ),
]
BaseUrl = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="Address of an OpenAI-compatible server for it.")
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        autocompletion=embedders,
        help="Who makes vectors: local, local:FOLDER, or provider/model as openai/text-embedding-3-small.",
    ),
]
Budget = Annotated[
    float | None, typer.Option("--budget", metavar="MONEY", help="Stop before the call that would pass it.")
]
BudgetTokens = Annotated[int | None, typer.Option("--budget-tokens", metavar="N", help="The same in tokens.")]
TraceFile = Annotated[
    str | None, typer.Option("--trace", metavar="FILE", help="Write every call of a model as a JSON line.")
]


def model_flags(
    model: str | None = None,
    base_url: str | None = None,
    embedder: str | None = None,
    budget: float | None = None,
    budget_tokens: int | None = None,
    trace: str | None = None,
) -> dict[str, Any]:
    """Return what the flags of language models say, by dotted key."""
    return {
        "model": model,
        "llm.base_url": base_url,
        "vectors.embedder": embedder,
        "llm.budget": budget,
        "llm.budget_tokens": budget_tokens,
        "llm.trace": trace,
    }


def overrides(pairs: Sequence[str] | None, flags: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return what `--set` and the flags that were given say, by dotted key; flags go before `--set`."""
    said: dict[str, Any] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUE, as --set chunk.mode=sentence, and not {pair!r}")
        said[key.strip()] = value.strip()
    return said | {key: value for key, value in (flags or {}).items() if value is not None}


def parts(text: str) -> list[str]:
    """Return what a list with commas names."""
    return [part.strip() for part in text.split(",") if part.strip()]


def confirmed(*, yes: bool) -> None:
    """Ask whether to go on, where somebody is there to be asked; abort where not."""
    if not yes and sys.stdin.isatty() and sys.stderr.isatty():
        typer.confirm("Go on?", abort=True, err=True)


def settings_of(said: Mapping[str, Any], file: Path | None, beside: Path | None = None) -> Settings:
    """Return the settings of all sources, and log them."""
    from conspectus import configuration

    resolved = configuration.load(said, file=file, beside=beside)
    for key, value, default, origin, _ in configuration.describe(resolved):
        if value != default:
            logging.getLogger("conspectus").debug("setting %s = %r (%s)", key, value, origin)
    return resolved.settings
