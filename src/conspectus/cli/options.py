"""The options that several commands have, and what they say together."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import platform
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from conspectus import __version__
from conspectus.cli import show
from conspectus.cli.help import COST, MODEL, OTHER, OUTPUT, READING
from conspectus.errors import ConspectusError, UsageError

if TYPE_CHECKING:
    from conspectus.configuration import Resolved
    from conspectus.indexing.estimate import Estimate
    from conspectus.settings import Settings

FOLDER = Path(".conspectus")
FOLDERS = [FOLDER]

ASK_ABOVE_USD = 1.0
"""US dollars that `index` and `embed` spend without asking: a try with a cheap model on a few dozen documents (the
sample corpus with one of 0.4 and 1.6 USD for a million tokens takes 0.3) should not be held up."""
ASK_ABOVE_TOKENS = 1_000_000
"""Tokens of a model without a known price that are spent without asking: about ASK_ABOVE_USD at the prices of small
models, 0.4 USD for a million read and 1.6 for a million written, a fifth of them written."""


def start_log(file: Path | None) -> Path | None:
    """Write everything that is logged from now on to a file, after what is in it."""
    if file is None:
        return None
    from conspectus.models.llm.providers import redact

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
    from conspectus.retrieval import METHODS

    return [name for name in ("auto", *METHODS) if name.startswith(incomplete)]


def embedders(incomplete: str) -> list[str]:
    """Return the names of embedders that begin with what is typed; for completion by the shell."""
    known = ("none", "local", "openai/text-embedding-3-small", "ollama/nomic-embed-text")
    return [name for name in known if name.startswith(incomplete)]


def rerankers(incomplete: str) -> list[str]:
    """Return the names of rerankers that begin with what is typed; for completion by the shell."""
    return [name for name in ("none", "local", "model", "cohere/rerank-v3.5") if name.startswith(incomplete)]


def entity_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the entities whose names begin with what is typed; for completion by the shell."""
    from conspectus.api import open_index

    try:
        index = open_index(ctx.params.get("folder") or FOLDER)
    except ConspectusError:
        return []
    return [e.name for e in index.entities if e.name.lower().startswith(incomplete.lower())][:100]


def _expanded(path: str | Path) -> Path:
    """Return a path with `~` as the home folder, which no shell puts into `--index=~/x`."""
    return Path(os.path.expanduser(path))


IndexFolder = Annotated[
    Path,
    typer.Option(
        "--index",
        "-i",
        parser=_expanded,
        metavar="DIR",
        envvar="CONSPECTUS_INDEX",
        help="Folder of the index.",
    ),
]
IndexFolders = Annotated[
    list[Path],
    typer.Option(
        "--index",
        "-i",
        parser=_expanded,
        metavar="DIR",
        envvar="CONSPECTUS_INDEX",
        help="Folder of the index. Give it several times to query several indexes together.",
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        rich_help_panel=READING,
        help="Use only documents that match, e.g. 'folder=reports/2024', 'date>=2023-01-01', 'author~Quill' (contains) "
        "or 'path~*.pdf'. If repeated, all conditions must hold.",
    ),
]
Rerank = Annotated[
    str | None,
    typer.Option(
        "--rerank",
        metavar="NAME",
        autocompletion=rerankers,
        rich_help_panel=MODEL,
        help="Reranker for the best chunks: local (a cross-encoder, extra `embed`), local:FOLDER, model (the language "
        "model), PROVIDER/NAME (e.g. cohere/rerank-v3.5) or the URL of a rerank server.",
    ),
]
AsJson = Annotated[
    bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print the result as JSON instead of text.")
]
LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log", metavar="FILE", callback=start_log, rich_help_panel=OTHER, help="Append a debug log to this file."
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        rich_help_panel=OTHER,
        help="Settings file to use instead of the nearest conspectus.toml.",
    ),
]
SetKeys = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        rich_help_panel=OTHER,
        help="Change any setting for this run, e.g. --set chunk.mode=sentence. Repeatable. "
        "conspectus config lists all settings.",
    ),
]

ModelName = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        rich_help_panel=MODEL,
        help="Language model, e.g. openai/gpt-4.1-mini or ollama/qwen3. 'extractive' works without a language model. "
        "By default the one that the index was built with.",
    ),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        metavar="URL",
        rich_help_panel=MODEL,
        help="Base URL of an OpenAI-compatible server for the language model, e.g. http://localhost:8000/v1.",
    ),
]
EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        autocompletion=embedders,
        rich_help_panel=MODEL,
        help="Embedding model: local (ONNX, extra `embed`), local:FOLDER, PROVIDER/NAME (e.g. "
        "openai/text-embedding-3-small) or none.",
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        metavar="USD",
        min=0,
        rich_help_panel=COST,
        help="Maximum spend of this run in US dollars. Stops before the call that would exceed it.",
    ),
]
BudgetTokens = Annotated[
    int | None,
    typer.Option(
        "--budget-tokens",
        metavar="N",
        min=0,
        rich_help_panel=COST,
        help="Maximum number of tokens of this run, input and output together.",
    ),
]
IndexBudget = Annotated[
    float | None,
    typer.Option(
        "--index-budget",
        metavar="USD",
        min=0,
        rich_help_panel=COST,
        help="Maximum spend in US dollars of all runs on this index together, by what its response cache records.",
    ),
]
IndexBudgetTokens = Annotated[
    int | None,
    typer.Option(
        "--index-budget-tokens",
        metavar="N",
        min=0,
        rich_help_panel=COST,
        help="Maximum number of tokens of all runs on this index together.",
    ),
]
TraceFile = Annotated[
    str | None,
    typer.Option(
        "--trace",
        metavar="FILE",
        rich_help_panel=OTHER,
        help="Append every model call to this file as a line of JSON (tokens, seconds, errors).",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", rich_help_panel=OUTPUT, help="Hide progress bars and notes.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", rich_help_panel=COST, help="Go on without asking for confirmation.")]


def model_flags(
    model: str | None = None,
    base_url: str | None = None,
    embedder: str | None = None,
    budget: float | None = None,
    budget_tokens: int | None = None,
    trace: str | None = None,
    index_budget: float | None = None,
    index_budget_tokens: int | None = None,
) -> dict[str, Any]:
    """Return what the flags of language models say, by dotted key."""
    return {
        "model": model,
        "llm.base_url": base_url,
        "vectors.embedder": embedder,
        "llm.budget": budget,
        "llm.budget_tokens": budget_tokens,
        "llm.index_budget": index_budget,
        "llm.index_budget_tokens": index_budget_tokens,
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
    """Ask whether to go on, where somebody is there to be asked; end the command where the answer is no."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    agreed = False
    with suppress(typer.Abort):  # Ctrl-C and Ctrl-D answer no
        agreed = typer.confirm("Go on?", err=True)
    if not agreed:
        show.note("Stopped before anything was spent or written.")
        raise typer.Exit(1)


def agree_to(estimate: Estimate, settings: Settings, *, yes: bool) -> None:
    """Show what is to be spent and ask whether to go on; nothing is asked below the thresholds or of what is free.

    Without a terminal `yes` or a budget stands for the answer.

    Raises:
        UsageError: there is no terminal to ask at, and neither `yes` nor a budget is given.
        typer.Exit: the answer is no.
    """
    cost, used = estimate.likely_cost, estimate.likely_tokens
    if used <= ASK_ABOVE_TOKENS if cost is None else cost <= ASK_ABOVE_USD:
        return
    llm = settings.llm
    limits = (llm.budget, llm.budget_tokens, llm.index_budget, llm.index_budget_tokens)
    limited = any(limit is not None for limit in limits)
    likely = show.likely(estimate)
    if yes or limited:
        show.note(f"This will take {likely}.")
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(
            f"this will take {likely}, and there is no terminal to ask whether to go on: pass --yes to go on, or"
            " --budget USD or --budget-tokens N for a maximum (--dry-run shows the estimate)"
        )
    show.table(show.costs(estimate), show.note, texts=2)
    show.note(f"This will take {likely}.")
    confirmed(yes=False)


def settings_of(said: Mapping[str, Any], file: Path | None) -> Settings:
    """Return the settings of all sources, and log them."""
    from conspectus import configuration

    return _logged(configuration.load(said, file=file)).settings


def settings_with_index(
    said: Mapping[str, Any],
    file: Path | None,
    built: Sequence[Mapping[str, Any]],
    *,
    does: str = "answers",
    language_model: bool = True,
    quiet: bool = False,
) -> Resolved:
    """Return the settings of all sources, completed by what indexes remember of their models, and say which those are.

    `built` holds the settings that they were built by; `does` is what the command does with a model.
    """
    from conspectus import configuration
    from conspectus.index_models import describe_models, with_index_models

    resolved = configuration.load(said, file=file)
    asks = language_model or resolved.settings.rerank.by == "model"
    resolved = _logged(with_index_models(resolved, built, language_model=asks, builds=does == "builds"))
    if asks and not quiet and (line := describe_models(resolved, built, does)):
        show.note(line)
    return resolved


def _logged(resolved: Resolved) -> Resolved:
    from conspectus import configuration

    for key, value, default, origin, _ in configuration.describe(resolved):
        if value != default:
            logging.getLogger("conspectus").debug("setting %s = %r (%s)", key, value, origin)
    return resolved


CALLS = {"base_url": BaseUrl, "budget": Budget, "budget_tokens": BudgetTokens, "trace": TraceFile}
"""Flags of calls to a server, as `model_flags` takes them."""
SOURCES = {"config": ConfigFile, "set_": SetKeys, "log": LogFile}


def settled(**flags: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command its parameter `settings` from `flags` (see `model_flags`), `--config` and `--set`.

    The command line has those flags in its place, after the command's own.
    """

    def given(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        kinds = get_type_hints(command, localns={"Settings": object}, include_extras=True)  # imported for types only
        own = [p.replace(annotation=kinds[p.name]) for p in signature.parameters.values() if p.name != "settings"]
        more = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in (flags | SOURCES).items()
        ]

        @functools.wraps(command)
        def run(**said: Any) -> None:
            chosen = {name: said.pop(name) for name in flags}
            config, pairs, _ = (said.pop(name) for name in SOURCES)
            command(**said, settings=settings_of(overrides(pairs, model_flags(**chosen)), config))

        run.__signature__ = signature.replace(parameters=[*own, *more])  # pyright: ignore[reportAttributeAccessIssue]
        run.__annotations__ = {p.name: p.annotation for p in (*own, *more)}
        return run

    return given


with_model = settled(model=ModelName, **CALLS)
"""For commands of which a language model may do a part."""
with_calls = settled(**CALLS)
"""For commands that name their model in another way."""
with_settings = settled()
