"""`conspectus index`, `embed` and `tune`: what is made of documents, and what is said of it."""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import conspectus
from conspectus import api
from conspectus.cli import show
from conspectus.cli.app import interrupted
from conspectus.cli.options import (
    COST,
    DONE,
    FOLDER,
    INDEX_BUDGETS,
    OUTPUT,
    SERVER,
    WITH_FAILURES,
    AsJson,
    Given,
    IndexFolder,
    Quiet,
    Yes,
    agree_to,
    argument,
    option,
    somebody_is_there,
    takes,
)
from conspectus.configuration import FILE_NAME, settings_file
from conspectus.errors import ConspectusError, UsageError
from conspectus.rows import OMITTED_KINDS, count_omitted

if TYPE_CHECKING:
    from conspectus.api import Built, Changes, Corrections, Estimate, Preview, Resolved, Status
    from conspectus.rows import EncodingWarning, Skipped
    from conspectus.settings import Settings

STATES = ("applied", "waiting", "failing")
"""The states of corrections, in the order in which they are counted."""


# Index

Fresh = Annotated[
    bool,
    option(
        "Rebuild from scratch: ignore the existing index and compute its communities anew. Cached model "
        "responses are still used.",
        "--fresh",
    ),
]
DryRun = Annotated[
    bool, option("Show what would be done and what it would cost, and write nothing.", "--dry-run", panel=COST)
]
Sample = Annotated[
    int,
    option(
        "With --dry-run: send N chunks to the model and extrapolate the cost from them. Their responses are cached.",
        metavar="N",
        panel=COST,
        min=0,
        show_default=False,
    ),
]


@takes(
    "--chunk-tokens", "--chunk-overlap", "--text-field", "--title-field", "--password-file", "--follow-symlinks",
    "--exclude", "--include", "--no-gitignore", "--entity-types", "--model", *SERVER, *INDEX_BUDGETS, "--embedder",
    "--claims", "--no-reports", "--corrections",
)  # fmt: skip
def index(
    sources: Annotated[list[str], argument("SOURCE...", "Files and folders to read.")],
    folder: IndexFolder = FOLDER,
    yes: Yes = False,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    sample: Sample = 0,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    given: Given,
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
    settings = given.with_index(api.settings_in(folder), does="builds", quiet=quiet)
    if not quiet:
        _warn_of_settings_file(Path(os.path.expanduser(sources[0])), given.config)
    if sample and not dry_run:
        raise UsageError("--sample goes with --dry-run")
    if dry_run:
        seen = api.preview(sources, folder, settings=settings, fresh=fresh)
        cost = None
        if api.costs(settings.settings):
            cost = api.estimate(sources, folder, settings=settings, sample=sample, fresh=fresh)
        _print_preview(seen, cost, settings.settings, json=json, quiet=quiet)
        raise typer.Exit(_code(seen))
    began = time.perf_counter()
    built = _build(sources, folder, settings, fresh=fresh, quiet=quiet or json, yes=yes)
    print_built(built, time.perf_counter() - began, json=json, quiet=quiet)
    raise typer.Exit(_code(built))


def _warn_of_settings_file(source: Path, config: Path | None) -> None:
    """Name a settings file beside the documents that does not count: it did in earlier versions."""
    beside = (source if source.is_dir() else source.parent) / FILE_NAME
    read = config or settings_file()
    if beside.is_file() and not (read and read.exists() and beside.samefile(read)):
        show.note(
            f"{beside} is not read: settings come from the nearest {FILE_NAME} above the working directory"
            f" ({read or 'none'}); --config {beside} names another."
        )


def _build(sources: list[str], folder: Path, settings: Resolved, *, fresh: bool, quiet: bool, yes: bool) -> Built:
    gc.disable()  # the process ends with the build: what it made need not be searched for cycles
    before = _snapshot(folder)
    try:
        with show.Bars(quiet=quiet) as bars:

            def agree(estimate: Estimate) -> None:
                with bars.paused():
                    agree_to(estimate, settings.settings, yes=yes)

            llm = settings.settings.llm
            limited = llm.budget_tokens is not None or llm.index_budget_tokens is not None
            spends = limited or not api.is_free(settings.settings)
            asks = agree if spends or (somebody_is_there() and not yes) else None
            return api.build(sources, folder, settings=settings, progress=bars, fresh=fresh, agree=asks)
    except KeyboardInterrupt:
        after = _snapshot(folder)
        if after != before:
            state = f"it was done already, and the new snapshot {after} stands"
        else:
            state = (
                f"the index in {folder} is what it was, snapshot {before}" if before else "no index was written"
            )
        interrupted(state, folder)


def _snapshot(folder: Path) -> str:
    """Return the id of the snapshot in a folder; empty where there is none that can be read."""
    try:
        return api.open_index(folder).snapshot
    except ConspectusError:
        return ""


def _code(read: Built | Preview) -> int:
    """Return the exit code: there are failures, or files that would be read if a package were installed."""
    incomplete = read.failures or any(row.kind == "package" for row in read.skipped)
    return WITH_FAILURES if incomplete else DONE


# What was built


def print_built(built: Built, seconds: float, *, json: bool, quiet: bool) -> None:
    """Print what a build made."""
    status, update = conspectus.status_of(built.index), built.update
    if json:
        show.as_json(_as_json(built, status, seconds))
        return
    if update.up_to_date:
        unchanged = update.changes.unchanged if update.changes else len(built.index.documents)
        show.out(f"Nothing has changed: {show.counted(unchanged, 'document')}, snapshot {built.snapshot}.")
    else:
        entities, relationships = show.counted(status.entities, "entity"), status.relationships
        levels = ", ".join(f"{r.communities:,}" for r in status.levels) if status.reports else ""
        show.out(f"Indexed {_size(status)} into {built.folder} in {seconds:.1f} s.")
        show.out(f"Graph: {entities}, {show.counted(relationships, 'relationship')}.")
        show.out(f"Reports by level: {levels or 'none'}.")
        for line in (*_changed(built), *corrections_line(corrections_of(built))):
            show.out(line)
        show.out(f"Snapshot: {status.snapshot}")
    if not quiet:
        _print_unread(built)
        show.listed("Worth knowing:", built.notices)
    if not update.up_to_date:
        show.spent(status.usage, show.out, cost=show.dollars(status.cost))
        if not quiet and sys.stdout.isatty():
            show.listed("Next:", _next(status))


def _next(status: Status) -> list[str]:
    """Return commands that have something to show of an index."""
    if status.reports:
        return ['conspectus ask "What are the main themes?"', "conspectus report", "conspectus map"]
    return ['conspectus ask "Who is ...?"', *(["conspectus map"] if status.entities else [])]


def _as_json(built: Built, status: Status, seconds: float) -> dict[str, Any]:
    update = built.update
    return asdict(status) | {
        "index": str(built.folder),
        "skipped": [asdict(s) for s in built.skipped],
        "left_out": count_omitted(built.skipped),
        "warnings": [asdict(w) for w in built.warnings],
        "notices": built.notices,
        "seconds": seconds,
        "corrections": count_corrections(corrections_of(built)),
        "unchanged": update.up_to_date,
        "changes": asdict(update.changes) if update.changes is not None else None,
        "rebuild_reasons": update.rebuild_reasons,
    }


def _size(counts: Status | Preview) -> str:
    chunks, tokens = show.counted(counts.chunks, "chunk"), show.counted(counts.tokens, "token")
    return f"{show.counted(counts.documents, 'document')} ({chunks}, {tokens})"


def _changed(built: Built) -> Iterator[str]:
    """Yield what was updated, in lines."""
    update = built.update
    if update.changes is not None:
        yield f"Documents: {_counts(update.changes)}."
    if update.rebuild_reasons:
        yield f"All was made anew: {'; '.join(update.rebuild_reasons)}."
    elif update.before:
        ids = {community.id for community in update.before.communities}
        same = sum(community.id in ids for community in built.index.communities)
        yield f"Communities: {same:,} of {len(built.index.communities):,} are those of before."


def _counts(changes: Changes) -> str:
    named = [(len(getattr(changes, name)), name) for name in ("added", "edited", "renamed", "deleted")]
    named = [(count, name) for count, name in named if count]
    return ", ".join(f"{count:,} {name}" for count, name in (*named, (changes.unchanged, "unchanged")))


def _print_unread(read: Built | Preview) -> None:
    """Print what was not read, and which characters were not."""
    skipped = [(row.document, row.reason) for row in read.skipped if row.kind not in OMITTED_KINDS]
    show.listed(f"Skipped {show.counted(len(skipped), 'file')}:", show.by_reason(skipped))
    if line := _left_out(read.skipped):
        show.note(f"Left out: {line}.")
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
    groups = {kind: [row.document for row in skipped if row.kind == kind] for kind in OMITTED_KINDS}
    return "; ".join(
        f"{len(names):,} {OMITTED_KINDS[kind]} ({show.some(names)})" for kind, names in groups.items() if names
    )


def _damage(warning: EncodingWarning) -> str:
    many = warning.invalid_bytes
    what, first = ("1 byte is", "at") if many == 1 else (f"{many:,} bytes are", "the first at")
    return f"{warning.document}: {what} not valid {warning.encoding}, {first} offset {warning.first_offset:,}"


# What would be built


def _print_preview(seen: Preview, cost: Estimate | None, settings: Settings, *, json: bool, quiet: bool) -> None:
    if json:
        show.as_json(asdict(seen) | ({"estimate": asdict(cost)} if cost else {}))
        return
    show.out(f"Would index {_size(seen)}.")
    for line in _planned(seen):
        show.out(line)
    if cost and not cost.tasks:
        show.out("It asks for nothing: every reply is kept.")
    elif cost:
        show.out()
        show.table(show.costs(cost))
        if not quiet:
            prices = f" Prices: the setting `prices`, then {api.price_source()}." if cost.likely_cost else ""
            show.note(f"It will take {show.likely(cost)}.{prices}")
            if settings.model != "extractive":
                show.note(_reliability(cost))
    if not quiet:
        _print_unread(seen)


def _planned(seen: Preview) -> Iterator[str]:
    """Yield what would be updated, in lines."""
    if not seen.changes and not seen.rebuild_reasons and not seen.pending and seen.snapshot:
        yield f"Nothing has changed since snapshot {seen.snapshot}."
        return
    if seen.changes is not None:
        yield f"Since snapshot {seen.snapshot}: {_counts(seen.changes)}."
    if seen.rebuild_reasons:
        yield f"All would be made anew: {'; '.join(seen.rebuild_reasons)}."
    if seen.pending:
        yield f"Left to do: {', '.join(seen.pending)}."
    if seen.changes is not None and not seen.rebuild_reasons:
        yield f"Chunks to read: {seen.new_chunks:,} of {seen.chunks:,}."


def _reliability(estimate: Estimate) -> str:
    """Return how far an estimate can be relied on."""
    if estimate.seen:
        return f"Extraction is estimated from the cached responses on {show.counted(estimate.seen, 'chunk')}."
    exact = "What is asked first of each chunk is exact; ranges are by what replies are usually like."
    return f"{exact} --sample 40 asks 40 chunks, caches their responses, and estimates extraction from them."


# Corrections


def corrections_of(built: Built) -> Corrections:
    """Return the corrections that an index was just made with."""
    file = str(built.index.settings.get("store", {}).get("corrections", ""))
    return api.corrections(built.folder, file=file or built.folder / api.CORRECTIONS_FILE)


def corrections_line(corrections: Corrections) -> Iterator[str]:
    """Yield a line that says how many corrections there are, if there are any."""
    counts = count_corrections(corrections)
    parts = [f"{counts[state]:,} {state}" for state in STATES if counts[state]]
    parts += [f"{len(corrections.undone):,} undone since"] if corrections.undone else []
    if parts:
        yield f"Corrections: {', '.join(parts)} ({corrections.file})."


def count_corrections(corrections: Corrections) -> dict[str, Any]:
    """Return the same for machines."""
    states = [row.state for row in corrections.rows]
    return {
        "file": str(corrections.file),
        **{s: states.count(s) for s in STATES},
        "undone": len(corrections.undone),
    }


# Vectors and prompts


@takes("--embedder", *SERVER, *INDEX_BUDGETS)
def embed(
    folder: IndexFolder = FOLDER,
    yes: Yes = False,
    dry_run: DryRun = False,
    json: AsJson = False,
    quiet: Quiet = False,
    *,
    given: Given,
) -> None:
    """Compute embeddings of the chunks and sentences of an index.

    The methods vector, hybrid, walk and hippo use them. Without --embedder, uses the embedding model of the index, or
    local. Only new texts are embedded. --embedder none removes the embeddings.

    Example: conspectus embed --embedder local
    Example: conspectus embed --embedder openai/text-embedding-3-small --dry-run
    """
    flags = dict(given.flags)
    embedder = str(flags.pop("vectors.embedder", ""))
    settings = Given(flags, given.config).settings()
    task = api.estimate_embedding(folder, embedder, settings=settings)
    estimate = api.Estimate((task,)) if task else None
    if dry_run:
        _print_vectors_preview(estimate, json=json)
        return
    if estimate:
        agree_to(estimate, settings, yes=yes)
    with show.Bars(quiet=quiet or json) as bars:
        made = api.embed(folder, embedder, settings=settings, progress=bars)
    figures, used = conspectus.status_of(made), made.usage.get("Embed")
    if json:
        show.as_json({"index": str(folder), "snapshot": made.snapshot, "vectors": figures.vectors, "usage": used})
        return
    show.out(show.vectors(figures.vectors))
    show.out(f"Snapshot: {made.snapshot}")
    if used:
        show.spent(used, show.out, cost=show.dollars(None if figures.cost is None else used.cost))


def _print_vectors_preview(estimate: Estimate | None, *, json: bool) -> None:
    if json:
        show.as_json({"estimate": asdict(estimate) if estimate else None})
    elif estimate:
        show.table(show.costs(estimate))
    else:
        show.out("It asks no server, and costs nothing.")


@takes("--model", "--base-url")
def tune(
    sources: Annotated[list[str], argument("SOURCE...", "Files and folders to read.")],
    out: Annotated[Path, option("Folder to write the prompts to.", "--out", metavar="DIR", panel=OUTPUT)] = Path(
        "prompts"
    ),
    examples: Annotated[
        int, option("Number of few-shot examples to make from the corpus.", metavar="N", min=0)
    ] = 2,
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
