"""`conspectus index`: read, build, and say what came of it."""

from __future__ import annotations

import gc
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conspectus import api
from conspectus.cli import changes, show
from conspectus.cli.correct import counted as correction_counts
from conspectus.cli.correct import of_built as corrections_of
from conspectus.cli.correct import summary as correction_summary
from conspectus.cli.guard import DONE, WITH_FAILURES, interrupted
from conspectus.cli.help import COST, MODEL, OTHER, READING
from conspectus.cli.options import (
    FOLDER,
    AsJson,
    BaseUrl,
    Budget,
    BudgetTokens,
    ConfigFile,
    EmbedderName,
    IndexBudget,
    IndexBudgetTokens,
    IndexFolder,
    LogFile,
    ModelName,
    Quiet,
    SetKeys,
    TraceFile,
    Yes,
    agree_to,
    model_flags,
    overrides,
    settings_with_index,
)
from conspectus.configuration import FILE_NAME, settings_file
from conspectus.errors import ConspectusError, UsageError
from conspectus.rows import LEFT_OUT, left_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conspectus.api import Built, Preview
    from conspectus.configuration import Resolved
    from conspectus.index_status import Status
    from conspectus.indexing.estimate import Estimate
    from conspectus.rows import EncodingWarning, Skipped


def index(
    sources: Annotated[list[str], typer.Argument(metavar="SOURCE...", help="Files and folders to read.")],
    folder: IndexFolder = FOLDER,
    chunk_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N", rich_help_panel=READING, help="Size of a chunk in tokens (default: 600).", show_default=False
        ),
    ] = None,
    chunk_overlap: Annotated[
        int | None,
        typer.Option(
            metavar="N", rich_help_panel=READING, help="Tokens that neighbouring chunks share (default: 100)."
        ),
    ] = None,
    text_field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel=READING, help="Field of JSON and CSV records that holds the text."
        ),
    ] = None,
    title_field: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel=READING, help="Field of JSON and CSV records that holds the title."
        ),
    ] = None,
    password_file: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", rich_help_panel=READING, help="File with passwords for encrypted documents, one per line."
        ),
    ] = None,
    follow_symlinks: Annotated[
        bool | None,
        typer.Option(
            "--follow-symlinks", rich_help_panel=READING, help="Follow symbolic links that lead out of a folder."
        ),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            rich_help_panel=READING,
            help="Leave out files and folders, e.g. drafts/ or '*.log'. Repeatable.",
        ),
    ] = None,
    include: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN",
            rich_help_panel=READING,
            help="Read only these files of folders, e.g. '*.md'. Repeatable.",
        ),
    ] = None,
    no_gitignore: Annotated[
        bool,
        typer.Option("--no-gitignore", rich_help_panel=READING, help="Also read files that .gitignore leaves out."),
    ] = False,
    entity_types: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            rich_help_panel=MODEL,
            help="Entity types to extract, separated by commas, e.g. person,organization,place.",
        ),
    ] = None,
    model: ModelName = None,
    base_url: BaseUrl = None,
    embedder: EmbedderName = None,
    claims: Annotated[
        bool | None,
        typer.Option(
            "--claims",
            rich_help_panel=MODEL,
            help="Also extract claims (covariates) about entities. Requires a language model.",
        ),
    ] = None,
    no_reports: Annotated[
        bool,
        typer.Option(
            "--no-reports",
            rich_help_panel=MODEL,
            help="Skip community reports. --method rollup then writes the ones that a question needs.",
        ),
    ] = False,
    corrections: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=OTHER,
            help="File of corrections to apply (default: corrections.toml in the index folder; see conspectus "
            "correct).",
        ),
    ] = None,
    budget: Budget = None,
    budget_tokens: BudgetTokens = None,
    index_budget: IndexBudget = None,
    index_budget_tokens: IndexBudgetTokens = None,
    yes: Yes = False,
    trace: TraceFile = None,
    fresh: Annotated[
        bool,
        typer.Option(
            "--fresh",
            help="Rebuild from scratch: ignore the existing index and compute its communities anew. Cached "
            "model responses are still used.",
        ),
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", rich_help_panel=COST, help="Show what would be read and what it would cost, and write nothing."
        ),
    ] = False,
    sample: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            show_default=False,
            rich_help_panel=COST,
            help="With --dry-run: send N chunks to the model and extrapolate the cost from them. Their "
            "responses are cached.",
        ),
    ] = 0,
    json: AsJson = False,
    quiet: Quiet = False,
    config: ConfigFile = None,
    set_: SetKeys = None,
    log: LogFile = None,
) -> None:
    """Build an index of files and folders, or update it.

    Run the same command again after documents were added, edited, renamed or deleted: only what changed is processed,
    and cached model responses are never paid for twice. Questions can be asked of the old index until the new one is
    complete; conspectus rollback returns to it.

    Settings come from the nearest conspectus.toml from the working directory up (see conspectus config), environment
    variables such as CONSPECTUS_CHUNK_TOKENS, --set and the options here; later ones win. An index keeps its models.

    Example: conspectus index docs
    Example: conspectus index docs --model openai/gpt-4.1-mini --budget 2
    Example: conspectus index docs --model openai/gpt-4.1-mini --dry-run
    """
    from conspectus.runtime import settings_in

    flags = {
        "chunk.tokens": chunk_tokens,
        "chunk.overlap": chunk_overlap,
        "read.text_field": text_field,
        "read.title_field": title_field,
        "read.password_file": password_file,
        "read.follow_symlinks": follow_symlinks,
        "read.exclude": exclude,
        "read.include": include,
        "read.gitignore": False if no_gitignore else None,
        "extract.entity_types": entity_types,
        "extract.claims": claims,
        "reports.write": False if no_reports else None,
        "store.corrections": corrections,
        **model_flags(model, base_url, embedder, budget, budget_tokens, trace, index_budget, index_budget_tokens),
    }
    built = settings_in(folder)
    known = settings_with_index(overrides(set_, flags), config, built, does="builds", quiet=quiet)
    if not quiet:
        _unread_settings(Path(os.path.expanduser(sources[0])), config)
    if dry_run:
        _preview(sources, folder, known, sample, fresh=fresh, json=json, quiet=quiet)
        return
    if sample:
        raise UsageError("--sample goes with --dry-run")
    began = time.perf_counter()
    built = _build(sources, folder, known, fresh=fresh, quiet=quiet or json, yes=yes)
    tell(built, time.perf_counter() - began, json=json, quiet=quiet)
    raise typer.Exit(_code(built))


def _unread_settings(source: Path, config: Path | None) -> None:
    """Name a settings file beside the documents that does not count: it did in earlier versions."""
    beside = (source if source.is_dir() else source.parent) / FILE_NAME
    read = config or settings_file()
    if beside.is_file() and not (read and read.exists() and beside.samefile(read)):
        found = f"{read}" if read else "none"
        show.note(
            f"{beside} is not read: settings come from the nearest {FILE_NAME} above the working directory ({found});"
            f" --config {beside} names another."
        )


def _build(sources: list[str], folder: Path, settings: Resolved, *, fresh: bool, quiet: bool, yes: bool) -> Built:
    from conspectus.cli.progress import Bars

    gc.disable()  # the process ends with the build: what it made need not be searched for cycles
    before = _snapshot(folder)
    try:
        with Bars(quiet=quiet) as bars:

            def agree(estimate: Estimate) -> None:
                with bars.paused():
                    agree_to(estimate, settings.settings, yes=yes)

            asks = None if api.is_free(settings.settings) else agree
            return api.build(sources, folder, settings=settings, progress=bars, fresh=fresh, agree=asks)
    except KeyboardInterrupt:
        after = _snapshot(folder)
        if after != before:
            stands = f"it was done already, and the new snapshot {after} stands"
        else:
            stands = f"the index in {folder} is what it was, snapshot {before}" if before else "no index was written"
        interrupted(stands, folder)


def _snapshot(folder: Path) -> str:
    """Return the id of the snapshot in a folder; empty where there is none that can be read."""
    from conspectus.api import open_index

    try:
        return open_index(folder).snapshot
    except ConspectusError:
        return ""


def tell(built: Built, seconds: float, *, json: bool, quiet: bool) -> None:
    """Say what a build made."""
    from conspectus.index_status import status_of

    if built.update.up_to_date and not json:
        unchanged = built.update.changes.unchanged if built.update.changes else len(built.index.documents)
        documents = show.counted(unchanged, "document")
        show.out(f"Nothing has changed: {documents}, snapshot {built.snapshot}.")
        if not quiet:
            _not_read(built)
        return
    status = status_of(built.index)
    if json:
        more = {
            "index": str(built.folder),
            "skipped": [asdict(s) for s in built.skipped],
            "left_out": left_out(built.skipped),
            "warnings": [asdict(w) for w in built.warnings],
            "notices": built.notices,
            "seconds": seconds,
            "corrections": correction_counts(corrections_of(built)),
        }
        show.as_json(asdict(status) | more | changes.as_json(built.update))
        return
    graph = f"{show.counted(status.entities, 'entity')}, {show.counted(status.relationships, 'relationship')}"
    where = f"into {built.folder} in {seconds:.1f} s"
    show.out(f"Indexed {_read(status)} {where}.")
    show.out(f"Graph: {graph}.")
    levels = ", ".join(f"{r.communities:,}" for r in status.levels) if status.reports else ""
    show.out(f"Reports by level: {levels or 'none'}.")
    for line in (*changes.done(built), *correction_summary(corrections_of(built))):
        show.out(line)
    show.out(f"Snapshot: {status.snapshot}")
    if not quiet:
        _not_read(built)
        show.listed("Worth knowing:", built.notices)
    show.spent(status.usage, show.out, cost=show.dollars(status.cost))
    if not quiet and sys.stdout.isatty():
        show.note('Next: conspectus ask "What are the main themes?", conspectus report, conspectus map')


def _preview(
    sources: list[str], folder: Path, settings: Resolved, sample: int, *, fresh: bool, json: bool, quiet: bool
) -> None:
    from conspectus.api import costs, estimate, preview

    seen = preview(sources, folder, settings=settings, fresh=fresh)
    cost = (
        estimate(sources, folder, settings=settings, sample=sample, fresh=fresh) if costs(settings.settings) else None
    )
    if json:
        show.as_json(asdict(seen) | ({"estimate": asdict(cost)} if cost else {}))
    else:
        show.out(f"Would index {_read(seen)}.")
        for line in changes.planned(seen):
            show.out(line)
        if cost and not cost.tasks:
            show.out("It asks for nothing: every reply is kept.")
        elif cost:
            show.out()
            show.table(show.costs(cost), texts=2)
        if not quiet:
            if cost and cost.tasks:
                show.note(f"It will take {show.likely(cost)}." + _priced(cost))
            if cost and cost.tasks and settings.settings.model != "extractive":
                show.note(_stands_on(cost))
            _not_read(seen)
    raise typer.Exit(_code(seen))


def _priced(estimate: Estimate) -> str:
    """Say where prices come from, if there are any."""
    from conspectus.models.llm import budget

    return f" Prices: the setting `prices`, then {budget.price_source()}." if estimate.likely_cost else ""


def _stands_on(estimate: Estimate) -> str:
    """Say how far an estimate can be relied on."""
    if estimate.seen:
        return f"Extraction is told from the kept replies on {show.counted(estimate.seen, 'chunk')}."
    exact = "What is asked first of each chunk is exact; ranges are by what replies are usually like."
    return f"{exact} --sample 40 asks 40 chunks, keeps their replies, and tells extraction from them."


def _read(counts: Status | Preview) -> str:
    chunks, tokens = show.counted(counts.chunks, "chunk"), show.counted(counts.tokens, "token")
    return f"{show.counted(counts.documents, 'document')} ({chunks}, {tokens})"


def _not_read(read: Built | Preview) -> None:
    """Print what was not read, and which characters were not."""
    passed = [(row.document, row.reason) for row in read.skipped if row.kind not in LEFT_OUT]
    show.listed(f"Skipped {show.counted(len(passed), 'file')}:", show.by_reason(passed))
    if told := _left_out(read.skipped):
        show.note(f"Left out: {told}.")
    damaged = [w for w in read.warnings if w.invalid_bytes]
    heading = f"Damaged characters in {show.counted(len(damaged), 'file')}, each read as U+FFFD (\ufffd):"
    show.listed(heading, [_damage(w) for w in damaged])
    guessed: dict[str, list[str]] = {}
    for warning in read.warnings:
        if not warning.invalid_bytes:
            guessed.setdefault(warning.encoding, []).append(warning.document)
    lines = [f"{encoding}: {show.some(files)}" for encoding, files in sorted(guessed.items())]
    show.listed("Not UTF-8, their encoding was detected:", lines)
    show.failures(read.failures)


def _left_out(skipped: Sequence[Skipped]) -> str:
    """Return in one line what was left out on purpose, and why."""
    groups: dict[str, list[str]] = {}
    for row in skipped:
        if row.kind in LEFT_OUT:
            groups.setdefault(row.kind, []).append(row.document)
    return "; ".join(
        f"{len(names):,} {LEFT_OUT[kind]} ({show.some(names)})"
        for kind, names in sorted(groups.items(), key=lambda item: list(LEFT_OUT).index(item[0]))
    )


def _code(read: Built | Preview) -> int:
    """Return the exit code: there are failures, or files that would be read if a package were installed."""
    incomplete = read.failures or any(row.kind == "package" for row in read.skipped)
    return WITH_FAILURES if incomplete else DONE


def _damage(warning: EncodingWarning) -> str:
    many = warning.invalid_bytes
    what = "1 byte is" if many == 1 else f"{many:,} bytes are"
    first = "at" if many == 1 else "the first at"
    return f"{warning.document}: {what} not valid {warning.encoding}, {first} offset {warning.first_offset:,}"
