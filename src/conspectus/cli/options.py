"""The options that several commands share, each declared once; settings from all sources; consent to spending."""

from __future__ import annotations

import functools
import inspect
import logging
import os
import platform
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from inspect import Parameter
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from conspectus import __version__, api, configuration
from conspectus.cli import show
from conspectus.errors import UsageError

if TYPE_CHECKING:
    from conspectus.api import Estimate, Resolved
    from conspectus.settings import Settings

DONE, FAILED, USAGE, WITH_FAILURES, INTERRUPTED, NO_READER = 0, 1, 2, 3, 130, 141
"""Exit codes; the last two are those of a process that SIGINT or SIGPIPE ended."""
OWN, READING, MODEL, COST, OUTPUT, OTHER = "Options", "Reading", "Model", "Cost", "Output", "Other options"
PANELS = (OWN, READING, MODEL, COST, OUTPUT, OTHER)
"""The groups of options in the order of the help (`rich_help_panel`)."""
FOLDER = Path(".conspectus")
FOLDERS = [FOLDER]
ASK_ABOVE_USD = 1.0
"""US dollars that `index` and `embed` spend without asking, so that a try with a cheap model on a few dozen documents
is not held up: the sample corpus takes 0.3 with a model of 0.4 and 1.6 USD for a million tokens read and written."""
ASK_ABOVE_TOKENS = 1_000_000
"""Tokens of a model without a known price that are spent without asking: about ASK_ABOVE_USD at the prices of small
models, 0.4 USD for a million tokens read and 1.6 for a million written, if a fifth of them are written."""


def starting(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """Return a function that completes a word from some names, which are looked up only when it is called."""
    return lambda incomplete: [name for name in names() if name.startswith(incomplete)]


# Options that are not settings


def option(text: str, *names: str, metavar: str = "", panel: str = OWN, **more: Any) -> Any:
    """Return an option with a help text and, if they differ from its parameter's, names."""
    return typer.Option(*names, metavar=metavar or None, rich_help_panel=panel, help=text, **more)


def argument(metavar: str, text: str, **more: Any) -> Any:
    """Return an argument with its name in the usage and a help text."""
    return typer.Argument(metavar=metavar, help=text, show_default=False, **more)


def _expanded(path: str | Path) -> Path:
    if not str(path):
        raise typer.BadParameter("it is empty; . is the working directory")
    return Path(os.path.expanduser(path))  # the shell does not expand it in `--index=~/x`


def _folder(text: str) -> Any:
    return option(text, "--index", "-i", metavar="DIR", parser=_expanded, envvar="CONSPECTUS_INDEX")


IndexFolder = Annotated[Path, _folder("Folder of the index.")]
_TO_QUERY = "Folder of the index. Give it several times to query several indexes together."
IndexFolders = Annotated[list[Path], _folder(_TO_QUERY)]
_TO_SERVE = "Folder of the index. Give it several times to serve several indexes, each under its name."
ServedFolders = Annotated[list[Path], _folder(_TO_SERVE)]
_WHERE = (
    "Use only documents that match, e.g. 'folder=reports/2024', 'date>=2023-01-01', 'author~Quill' (contains) or "
    "'path~*.pdf'. If repeated, all conditions must hold."
)
Where = Annotated[list[str] | None, option(_WHERE, "--where", metavar="CONDITION", panel=READING)]
AsJson = Annotated[bool, option("Print the result as JSON instead of text.", "--json", panel=OUTPUT)]
Quiet = Annotated[bool, option("Hide progress bars and notes.", "--quiet", "-q", panel=OUTPUT)]
Yes = Annotated[bool, option("Go on without asking for confirmation.", "--yes", "-y", panel=COST)]
_CONFIG = "Settings file to use instead of the nearest conspectus.toml."
ConfigFile = Annotated[Path | None, option(_CONFIG, "--config", metavar="FILE", panel=OTHER)]
_SET = "Change any setting for this run, e.g. --set extract.style=triples. Repeatable. conspectus config lists them."
SetKeys = Annotated[list[str] | None, option(_SET, "--set", metavar="KEY=VALUE", panel=OTHER)]


def start_log(file: Path | None) -> None:
    """Append everything that is logged from now on to a file."""
    if file is None:
        return
    try:
        handler = logging.FileHandler(file, encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be written: {error.strerror}") from None
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("conspectus")
    # those of the command that ran this one
    for old in [h for h in logger.handlers if isinstance(h, logging.FileHandler)]:
        logger.removeHandler(old)
        old.close()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    given = api.redact(shlex.join(sys.argv[1:]))
    logger.debug("conspectus %s, Python %s: %s", __version__, platform.python_version(), given)


# Options that are settings


@dataclass(frozen=True)
class Flag:
    """An option that changes a setting, or turns it off if it begins with `--no-`."""

    key: str
    metavar: str = ""
    panel: str = OWN
    help: str = ""
    """The help text; if empty, the description of the setting is used."""
    many: bool = False
    """Whether the option may be repeated."""


_NO_REPORTS = "Skip community reports. --method rollup then writes the ones that a question needs."
_MODEL = (
    "Language model, e.g. openai/gpt-4.1-mini or ollama/qwen3. 'extractive' works without a language model. "
    "The default is the model that the index was built with."
)
_BUDGET = "Maximum spend of this run in US dollars. Stops before the call that would exceed it."
_BATCH = (
    "Send the model's calls as batches, in OpenAI's format: half the price, but up to 24 hours each. After Ctrl-C, "
    "run it again to continue."
)
_RESPONSE = "Length and format of the answer: 'short answer', or, with a language model, any text."
FLAGS: Mapping[str, Flag] = {
    "--chunk-tokens": Flag("chunk.tokens", "N", READING),
    "--chunk-overlap": Flag("chunk.overlap", "N", READING),
    "--text-field": Flag("read.text_field", "NAME", READING),
    "--title-field": Flag("read.title_field", "NAME", READING),
    "--follow-symlinks": Flag("read.follow_symlinks", "", READING),
    "--exclude": Flag("read.exclude", "PATTERN", READING, many=True),
    "--include": Flag("read.include", "PATTERN", READING, many=True),
    "--no-gitignore": Flag("read.gitignore", "", READING, "Also read files that .gitignore leaves out."),
    "--entity-types": Flag("extract.entity_types", "A,B", MODEL),
    "--schema": Flag("extract.graph_schema", "FILE", MODEL),
    "--claims": Flag("extract.claims", "", MODEL),
    "--no-reports": Flag("reports.write", "", MODEL, _NO_REPORTS),
    "--model": Flag("model", "NAME", MODEL, _MODEL),
    "--base-url": Flag("llm.base_url", "URL", MODEL),
    "--embedder": Flag("vectors.embedder", "NAME", MODEL),
    "--rerank": Flag("rerank.by", "NAME", MODEL),
    "--budget": Flag("llm.budget", "USD", COST, _BUDGET),
    "--budget-tokens": Flag("llm.budget_tokens", "N", COST),
    "--index-budget": Flag("llm.index_budget", "USD", COST),
    "--index-budget-tokens": Flag("llm.index_budget_tokens", "N", COST),
    "--batch": Flag("llm.batch", "", COST, _BATCH),
    "--response": Flag("answer.response", "TEXT", OUTPUT, _RESPONSE),
    "--window": Flag("answer.context_tokens", "N", OWN),
    "--trace": Flag("llm.trace", "FILE", OTHER),
}
show.OPTION_OF.update({flag.key: name for name, flag in FLAGS.items()})
SERVER = ("--base-url", "--budget", "--budget-tokens", "--trace")
"""Flags that concern calls to a server."""
INDEX_BUDGETS = ("--index-budget", "--index-budget-tokens")


@dataclass(frozen=True)
class Given:
    """The settings on a command line: its flags and --set, and the file of --config."""

    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Values by dotted key of the setting."""
    config: Path | None = None

    def settings(self) -> Settings:
        """Return the settings from all sources, and log them."""
        return self.resolved().settings

    def resolved(self) -> Resolved:
        """Return the settings from all sources with the source of each, and log them."""
        return _logged(configuration.load(self.flags, file=self.config))

    def with_index(
        self,
        built: Sequence[Mapping[str, Any]],
        *,
        does: str = "answers",
        language_model: bool = True,
        quiet: bool = False,
    ) -> Resolved:
        """Return the settings from all sources, completed by the models that indexes remember, and print the models.

        `built` are the settings with which the indexes were built; `does` is what the command does with a model.
        """
        resolved = configuration.load(self.flags, file=self.config)
        asks = language_model or resolved.settings.rerank.by == "model"
        resolved = _logged(
            api.with_index_models(resolved, built, language_model=asks, builds=does == "builds")
        )
        if asks and not quiet and (line := api.describe_models(resolved, built, does)):
            show.note(line)
        return resolved


def with_parameters(function: Callable[..., Any], parameters: Sequence[Parameter]) -> Callable[..., Any]:
    """Return a function with its signature replaced by some parameters."""
    vars(function)["__signature__"] = inspect.Signature(parameters)
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    return function


def takes(*names: str, config: bool = True) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command some of FLAGS, --set and, with `config`, --config."""
    kinds = {name.removeprefix("--").replace("-", "_"): _flag(name) for name in names} | {"set_": SetKeys}
    if config:
        kinds["config"] = ConfigFile

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command).parameters
        hints = get_type_hints(command, localns={"Settings": object, "Given": object}, include_extras=True)

        @functools.wraps(command)
        def run(**arguments: Any) -> None:
            *flags, pairs = (arguments.pop(name) for name in kinds if name != "config")
            given = Given(
                overrides(pairs, dict(zip(names, flags, strict=True))), arguments.pop("config", None)
            )
            if "settings" in own:
                command(**arguments, settings=given.settings())
            else:
                command(**arguments, given=given)

        parameters = [
            p.replace(annotation=hints[n]) for n, p in own.items() if n not in ("given", "settings")
        ]
        for name, kind in kinds.items():
            parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind))
        return with_parameters(run, parameters)

    return decorate


def _flag(name: str) -> Any:
    """Return the annotation of a flag's parameter: a switch, a list or a text, which the settings parse."""
    flag, info = FLAGS[name], configuration.FIELDS[FLAGS[name].key]
    is_switch = info.annotation is bool
    text = flag.help or f"{info.description}."
    if isinstance(info.default, int) and not is_switch:
        text = f"{text.removesuffix('.')} (default: {info.default})."
    declared = [name, "-m"] if name == "--model" else [name]
    about = option(text, *declared, metavar=flag.metavar, panel=flag.panel, show_default=False)
    kind: Any = bool | None if is_switch else list[str] | None if flag.many else str | None
    return Annotated[kind, about]


def overrides(pairs: Sequence[str] | None, flags: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return the settings from `--set` and the given flags, by dotted key; flags take precedence."""
    values: dict[str, Any] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals:
            raise UsageError(f"--set takes KEY=VALUE, e.g. --set extract.style=triples, not {pair!r}")
        values[key.strip()] = value.strip()
    for name, value in (flags or {}).items():
        if value is not None:
            values[FLAGS[name].key] = not value if name.startswith("--no-") else value
    return values


def _logged(resolved: Resolved) -> Resolved:
    for key, value, default, origin, _ in configuration.describe(resolved):
        if value != default:
            logging.getLogger("conspectus").debug("setting %s = %r (%s)", key, value, origin)
    return resolved


def parts(text: str) -> list[str]:
    """Return the items of a comma-separated list, without empty ones."""
    return [part.strip() for part in text.split(",") if part.strip()]


# Consent to spending


def somebody_is_there() -> bool:
    """Return whether there is a terminal to ask at."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def confirmed(*, yes: bool) -> None:
    """Ask for consent to continue if there is a terminal to ask at; end the command if the answer is no."""
    if yes or not somebody_is_there():
        return
    agreed = False
    with suppress(typer.Abort):  # Ctrl-C and Ctrl-D answer no
        agreed = typer.confirm("Go on?", err=True)
    if not agreed:
        show.note("Stopped before anything was spent or written.")
        raise typer.Exit(FAILED)


def agree_to(estimate: Estimate, settings: Settings, *, yes: bool) -> None:
    """Show an estimate and ask for consent; nothing is asked below the thresholds, or if the work costs nothing.

    Without a terminal, `yes` or a budget replaces the answer.

    Raises:
        UsageError: there is no terminal to ask at, and neither `yes` nor a budget is given.
        typer.Exit: the answer is no.
    """
    llm = settings.llm
    usd, most = (
        min((limit for limit in limits if limit is not None), default=inf)
        for limits in ((llm.budget, llm.index_budget), (llm.budget_tokens, llm.index_budget_tokens))
    )
    least = f"{estimate.tokens.low:,.0f} tokens" if most < estimate.tokens.low else ""
    if estimate.cost is not None and usd < estimate.cost.low:
        least = show.money(estimate.cost.low)
    if least:
        show.note(f"This will take at least {least}: the budget will stop it before the end.")
    cost, tokens = estimate.likely_cost, estimate.likely_tokens
    if tokens <= ASK_ABOVE_TOKENS if cost is None else cost <= ASK_ABOVE_USD:
        if estimate.replaced_documents:
            confirmed(yes=yes)
        return
    likely = f"This will take {show.estimate_text(estimate)}"
    if yes or min(usd, most) < inf:
        show.note(f"{likely}.")
        return
    if not somebody_is_there():
        raise UsageError(
            f"{likely}, and there is no terminal to ask: pass --yes to go on, or --budget USD or --budget-tokens N for "
            "a maximum (--dry-run shows the estimate)"
        )
    show.table(show.costs(estimate), show.note)
    show.note(f"{likely}.")
    confirmed(yes=False)
