"""`conspectus index`, `embed` and `tune`: building indexes, embeddings and prompts, and what is printed about them."""

from __future__ import annotations

import gc
import os
import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import conspectus
from conspectus import api
from conspectus.cli import options, show
from conspectus.cli.app import interrupted
from conspectus.cli.options import (
    COST,
    FOLDER,
    MODEL,
    AsJson,
    IndexFolder,
    Quiet,
    Yes,
    argument,
    option,
    takes,
)
from conspectus.errors import ConspectusError, UsageError
from conspectus.rows import OMITTED_KINDS, count_omitted

if TYPE_CHECKING:
    from conspectus.api import Built, Estimate, Preview, Resolved, Status
    from conspectus.settings import Settings

_FRESH = "Rebuild from scratch: ignore the existing index and its communities. Cached model responses are still used."
_DRY_RUN = "Show what would be done and what it would cost, and write nothing."
_SAMPLE = "With --dry-run: send N chunks to the model and estimate the cost from them. Responses are cached."
SAMPLED = 40
"""Number of chunks suggested for `--sample` if a folder has more: one with fewer would be asked as a whole."""
_FAST = (
    "Extract entities and relationships without the model, which then only writes the reports: a third to a fifth of "
    "the calls. The next runs on the index do the same."
)
FAST = {"ExtractGraph": "extractive", "DescribeElement": "extractive"}
"""The tasks that the extractive model performs with --fast."""
_WORKERS = "Number of processes that index a large corpus without a model. It does not change the index."
_SOURCES = "Files, folders, addresses (s3://…, https://…) and data sets (hf:OWNER/NAME)."
Sources = Annotated[list[str], argument("SOURCE...", _SOURCES)]
Fresh = Annotated[bool, option(_FRESH, "--fresh")]
Fast = Annotated[bool, option(_FAST, "--fast", panel=MODEL)]
_CLUSTER = "Address of a Dask scheduler (tcp://HOST:8786) whose workers index in place of processes here."
Cluster = Annotated[str, option(_CLUSTER, metavar="ADDRESS", show_default=False)]
Worker = Annotated[int, option(_WORKERS, metavar="N", min=0, show_default="one per core")]
DryRun = Annotated[bool, option(_DRY_RUN, "--dry-run", panel=COST)]
Sample = Annotated[int, option(_SAMPLE, metavar="N", panel=COST, min=0, show_default=False)]


@takes(
    "--chunk-tokens", "--chunk-overlap", "--text-field", "--title-field", "--follow-symlinks",
    "--exclude", "--include", "--no-gitignore", "--entity-types", "--schema", "--claims", "--model", *options.SERVER,
    *options.INDEX_BUDGETS, "--batch", "--embedder", "--no-reports",
)  # fmt: skip
def index(
    sources: Sources,
    folder: IndexFolder = FOLDER,
    yes: Yes = False,
    fresh: Fresh = False,
    fast: Fast = False,
    dry_run: DryRun = False,
    sample: Sample = 0,
    workers: Worker = 0,
    cluster: Cluster = "",
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    given: options.Given,
) -> None:
    """Build an index of files and folders, or update it.

    Run the same command again after documents were added, edited, renamed or deleted: only what changed is processed,
    and cached model responses are never paid for twice. Questions can be asked of the old index until the new one is
    complete; conspectus rollback returns to it.

    Settings come from the nearest conspectus.toml from the working directory up (see conspectus config), environment
    variables such as CONSPECTUS_CHUNK_TOKENS, --set and the options here; later ones win. An index remembers its model.

    Example: conspectus index docs
    Example: conspectus index docs --model openai/gpt-4.1-mini --budget 2
    Example: conspectus index docs --model openai/gpt-4.1-mini --dry-run
    Example: conspectus index docs --model openai/gpt-4.1-mini --fast
    """
    if fast:
        given = replace(given, flags={**given.flags, "llm.tasks": FAST})
    settings = given.with_index(api.settings_in(folder), does="builds", quiet=quiet)
    if fast and not settings.settings.language_models:
        raise UsageError("--fast has a language model write the reports: name one with --model NAME")
    if sample and not dry_run:
        raise UsageError("--sample goes with --dry-run")
    if dry_run:
        seen = api.preview(sources, folder, settings=settings, fresh=fresh)
        costs = api.costs(settings.settings)
        cost = api.estimate(sources, folder, settings=settings, sample=sample, fresh=fresh) if costs else None
        if json:
            show.as_json(asdict(seen) | ({"estimate": asdict(cost)} if cost else {}))
        else:
            _print_preview(seen, cost, settings.settings, quiet=quiet)
        raise typer.Exit(_code(seen))
    began = time.perf_counter()
    work = _who_works(workers, cluster)
    built = _build(sources, folder, settings, fresh=fresh, quiet=quiet or json, yes=yes, workers=work)
    print_built(built, time.perf_counter() - began, json=json, quiet=quiet)
    raise typer.Exit(_code(built))


def _build(
    sources: list[str],
    folder: Path,
    settings: Resolved,
    *,
    fresh: bool,
    quiet: bool,
    yes: bool,
    workers: int | str | None,
) -> Built:
    gc.disable()  # the process ends after the build
    before = _snapshot(folder)
    llm, free = settings.settings.llm, api.is_free(settings.settings)
    limits_tokens = llm.budget_tokens is not None or llm.index_budget_tokens is not None
    if (llm.budget or llm.index_budget) and free and api.costs(settings.settings) and not quiet:
        show.note("--budget does not limit a model that costs nothing: use --budget-tokens N.")
    try:
        with show.Bars(quiet=quiet) as bars:

            def agree(estimate: Estimate) -> None:
                with bars.paused():
                    options.agree_to(estimate, settings.settings, yes=yes)

            asks = limits_tokens or not free or (options.somebody_is_there() and not yes)
            consent = agree if asks else None
            return api.build(
                sources, folder, settings=settings, progress=bars, fresh=fresh, agree=consent, workers=workers
            )
    except KeyboardInterrupt:
        after = _snapshot(folder)
        state = f"the index in {folder} is unchanged, snapshot {before}"
        if after != before:
            state = f"the build had already finished, with snapshot {after}"
        interrupted(state if after else "no index was written", folder)


def _who_works(workers: int, cluster: str) -> int | str | None:
    if workers and cluster:
        raise UsageError("--workers and --cluster cannot be used together: leave one out")
    return cluster or workers or None


def _snapshot(folder: Path) -> str:
    """Return the id of the snapshot in a folder; empty if there is none, or none that can be read."""
    try:
        return api.open_index(folder).snapshot
    except ConspectusError:
        return ""


def _code(read: Built | Preview) -> int:
    """Return the exit code, which depends on whether there are failures."""
    return options.WITH_FAILURES if read.failures else options.DONE


# What was built


def print_built(built: Built, seconds: float, *, json: bool, quiet: bool) -> None:
    """Print the result of a build."""
    status, update = conspectus.status_of(built.index), built.update
    if json:
        show.as_json(_as_json(built, status) | {"seconds": seconds})
        return
    changed = [f"Documents: {update.changes}."] if update.changes is not None else []
    if update.rebuild_reasons:
        changed.append(f"Rebuilt from scratch: {'; '.join(update.rebuild_reasons)}.")
    if update.up_to_date:
        unchanged = update.changes.unchanged if update.changes else len(built.index.documents)
        show.out(f"Nothing has changed: {show.counted(unchanged, 'document')}, snapshot {built.snapshot}.")
    else:
        levels = f" on {len(status.levels)} levels" if len(status.levels) > 1 else ""
        reports = f"{status.reports:,}{levels}" if status.reports else "none"
        entities = show.counted(status.entities, "entity")
        show.out(f"Indexed {_size(status)} into {built.folder} in {seconds:.1f} s.")
        show.out(f"Graph: {entities}, {show.counted(status.relationships, 'relationship')}.")
        show.out(f"Reports: {reports}.")
        for line in (*changed, f"Snapshot: {status.snapshot}"):
            show.out(line)
    if not quiet:
        _print_unread(built)
        show.listed("Notes:", [notice for notice in built.notices if notice not in changed])
    if not update.up_to_date:
        show.spent(status.usage, show.out, cost=show.money(status.cost))
        if not quiet and sys.stdout.isatty():
            show.listed("Next:", [f"conspectus {command}" for command in _next(built.folder, status)])


def _next(folder: Path, status: Status) -> Iterator[str]:
    """Yield suggestions for the next commands on a built index, complete with its folder if needed."""
    usual = folder == Path(api.DEFAULT_FOLDER) or os.environ.get("CONSPECTUS_INDEX")
    index = "" if usual else f" -i {shlex.quote(str(folder))}"
    yield f'ask "{"What are the main themes?" if status.reports else "Who is ...?"}"{index}'
    if status.reports:
        yield f"report{index}"
    if status.entities:
        yield f"map{index}"


def _as_json(built: Built, status: Status) -> dict[str, Any]:
    update = built.update
    return asdict(status) | {
        "index": str(built.folder),
        "skipped": [asdict(s) for s in built.skipped],
        "left_out": count_omitted(built.skipped),
        "warnings": [asdict(w) for w in built.warnings],
        "notices": built.notices,
        "unchanged": update.up_to_date,
        "changes": asdict(update.changes) if update.changes is not None else None,
        "rebuild_reasons": update.rebuild_reasons,
    }


def _size(counts: Status | Preview) -> str:
    chunks, tokens = show.counted(counts.chunks, "chunk"), show.counted(counts.tokens, "token")
    return f"{show.counted(counts.documents, 'document')} ({chunks}, {tokens})"


def _print_unread(read: Built | Preview) -> None:
    """Print which files were not read, and which characters were damaged."""
    skipped = [(row.document, row.reason) for row in read.skipped if row.kind not in OMITTED_KINDS]
    show.listed(f"Skipped {show.counted(len(skipped), 'file')}:", show.by_reason(skipped))
    omitted: list[str] = []
    for kind, count in count_omitted(read.skipped).items():
        names = [row.document for row in read.skipped if row.kind == kind]
        omitted.append(f"{count:,} {OMITTED_KINDS[kind]} ({show.some(names)})")
    if omitted:
        show.note(f"Left out: {'; '.join(omitted)}.")
    damaged: list[str] = []
    for w in read.warnings:
        if w.invalid_bytes:
            count = show.counted(w.invalid_bytes, "byte")
            damaged.append(f"{w.document}: {count} not valid {w.encoding}, first at byte {w.first_offset:,}")
    heading = f"Damaged characters in {show.counted(len(damaged), 'file')}, each read as U+FFFD (\ufffd):"
    show.listed(heading, damaged)
    guessed = [(w.document, w.encoding) for w in read.warnings if not w.invalid_bytes]
    show.listed("Not UTF-8, their encoding was detected:", show.by_reason(guessed))
    show.failures(read.failures)


# What would be built


def _print_preview(seen: Preview, cost: Estimate | None, settings: Settings, *, quiet: bool) -> None:
    show.out(f"Would index {_size(seen)}.")
    for line in _planned(seen):
        show.out(line)
    if cost and not cost.tasks:
        show.out("No calls are needed: every response is cached.")
    elif cost:
        show.out()
        show.table(show.costs(cost))
    if quiet:
        return
    if cost:
        show.spent(cost.sampling)
    if cost and cost.tasks:
        half = "; half of that, as OpenAI and Azure charge for batches" if settings.llm.batch else ""
        prices = (
            f" Prices: the setting `prices`, then {api.price_source()}{half}." if cost.likely_cost else ""
        )
        show.note(f"It will take {show.estimate_text(cost)}.{prices}")
        if cost.seen:
            chunks = show.counted(cost.seen, "chunk")
            show.note(f"Extraction is estimated from the cached responses on {chunks}.")
        elif settings.model_of("ExtractGraph") != "extractive" and seen.chunks > SAMPLED:
            show.note(
                f"--sample {SAMPLED} sends {SAMPLED} chunks, and estimates extraction from the responses."
            )
    _print_unread(seen)


def _planned(seen: Preview) -> Iterator[str]:
    """Yield lines on what would be updated."""
    if not seen.changes and not seen.rebuild_reasons and not seen.pending and seen.snapshot:
        yield f"Nothing has changed since snapshot {seen.snapshot}."
        return
    if seen.changes is not None:
        yield f"Since snapshot {seen.snapshot}: {seen.changes}."
    if seen.rebuild_reasons:
        yield f"Would rebuild from scratch: {'; '.join(seen.rebuild_reasons)}."
    if seen.pending:
        yield f"Left to do: {', '.join(seen.pending)}."
    if seen.changes is not None and not seen.rebuild_reasons:
        yield f"Chunks to read: {seen.new_chunks:,} of {seen.chunks:,}."


# Vectors and prompts


@takes("--embedder", *options.SERVER, *options.INDEX_BUDGETS)
def embed(
    folder: IndexFolder = FOLDER,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    given: options.Given,
) -> None:
    """Compute embeddings of an index.

    Embeds chunks, sentences, entities and triples, for the methods vector, hybrid, walk, hipporag and local.
    Without --embedder, uses the embedding model of the index, or local. Only new texts are embedded. --embedder none
    removes the embeddings.

    Example: conspectus embed --embedder local
    Example: conspectus embed --embedder openai/text-embedding-3-small --dry-run
    """
    flags = dict(given.flags)
    embedder = str(flags.pop("vectors.embedder", ""))
    settings = options.Given(flags, given.config).resolved()
    task = api.estimate_embedding(folder, embedder, settings=settings)
    estimate = api.Estimate((task,)) if task else None
    if dry_run:
        if json:
            show.as_json({"estimate": asdict(estimate) if estimate else None})
        elif estimate:
            show.table(show.costs(estimate))
        else:
            show.out("It calls no server, and costs nothing.")
        return
    if estimate:
        options.agree_to(estimate, settings.settings, yes=yes)
    with show.Bars(quiet=quiet or json) as bars:
        made = api.embed(folder, embedder, settings=settings, progress=bars)
    figures, used = conspectus.status_of(made), made.usage.get("Embed")
    if json:
        row = {"index": str(folder), "snapshot": made.snapshot, "vectors": figures.vectors, "usage": used}
        show.as_json(row)
        return
    show.out(f"{show.vectors(figures.vectors)}\nSnapshot: {made.snapshot}")
    if used:
        show.spent(used, show.out, cost=show.money(None if figures.cost is None else used.cost))


_PROMPTS, _EXAMPLES = (
    "Folder to write the prompts to.",
    "Number of few-shot examples to make from the corpus.",
)


@takes("--model", "--base-url")
def tune(
    sources: Sources,
    out: Annotated[Path, option(_PROMPTS, "--out", metavar="DIR", panel=options.OUTPUT)] = Path("prompts"),
    examples: Annotated[int, option(_EXAMPLES, metavar="N", min=0)] = 2,
    json: AsJson = False,
    *,
    settings: Settings,
) -> None:
    """Write prompts adapted to a corpus, from a sample of it.

    The prompts describe its domain, its entity types, and contain few-shot examples made from its own texts.

    Example: conspectus tune docs --model openai/gpt-4.1-mini --out prompts
    """
    tuned = api.tune(sources, out, settings=settings, examples=examples)
    if json:
        show.as_json(asdict(tuned) | {"folder": str(out), "files": [str(path) for path in tuned.files]})
        return
    show.out(f"The corpus is about {tuned.profile.domain}; its reader is {tuned.profile.persona}.")
    show.out(f"Types of entity: {', '.join(tuned.profile.entity_types)}. Language: {tuned.language}.")
    made = show.counted(tuned.examples, "example")
    show.out(f"Wrote {show.counted(len(tuned.files), 'file')} with {made} to {out}.")
    show.spent(tuned.usage)
    show.note(f"Use them to index and to ask: conspectus index ... --config {out / 'conspectus.toml'}")
