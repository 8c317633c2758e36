"""The index in a folder: open it, return to an earlier snapshot, show its status, and what was spent on it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path, PurePath
from typing import Any

from conspectus.configuration import load
from conspectus.corrections import ADDED_FACTS
from conspectus.index import Index
from conspectus.index_models import has_lists, stored_settings
from conspectus.models.llm.budget import Budget, price_of
from conspectus.models.llm.cache import FILE_NAME, ResponseCache
from conspectus.rows import Failure, Usage, column, language_of
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, opened, path_of, public, settings_in
from conspectus.settings import EXTRACTIVE, Settings
from conspectus.storage import manifests, store
from conspectus.triple_graph import StoredTripleGraph


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """One column of the paper's Table 2."""

    level: int
    communities: int
    """Communities with a report in the level's view, including those of levels above that are not split further."""
    own: int
    """The communities among them that are on this level itself."""
    tokens: int
    """Total tokens of their reports, which a global answer at this level reads."""
    share: float
    """`tokens` divided by the tokens of the sources."""


@dataclass(frozen=True, slots=True)
class Status:
    """The contents of an index in figures."""

    documents: int
    chunks: int
    tokens: int
    """Total tokens of the chunks, whose overlaps count twice."""
    entities: int
    relationships: int
    triples: int
    claims: int
    communities: int
    reports: int
    levels: tuple[LevelFigures, ...]
    vectors: Mapping[str, Any] | None
    """Vectors of the index, None if it has none: the settings that they were made with (`embedder`, `model`; `unread`,
    the share of letters that the model does not know), their `dimension`, the number of `chunks` and `sentences` with
    one, and `in_lists`, the tables whose vectors are also stored in lists for faster search."""
    failures: tuple[Failure, ...]
    snapshot: str
    usage: Usage
    """Total usage of all tasks of the build."""
    cost: float | None = 0.0
    """Cost of the build in US dollars; None if the price of a model is not known."""
    languages: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of documents by language code, the most frequent first."""
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of files and folders that the build left out on purpose, by kind (`rows.OMITTED_KINDS`)."""
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])
    """Number of other files that the build did not read, by reason."""
    folders: tuple[str, ...] = ()
    """The folder of all documents, as it was named, or else the folders at the top; none for documents from memory."""
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Names of the tasks that each model performed for the index, by model; empty for an imported index."""


@public
def status_of(index: AnyIndex = DEFAULT_FOLDER) -> Status:
    """Return the figures of an index, or of the index in a folder (the levels as in GraphRAG's Table 2)."""
    index = opened(index)
    metadata = column(index.documents, "metadata")
    languages = Counter(map(language_of, metadata))
    paths = column(index.documents, "path")
    paths = [path for path in paths if path != ADDED_FACTS]
    graph = StoredTripleGraph.of_file(index) if index.graph_file else None
    tokens = sum(column(index.chunks, "n_tokens"))
    return Status(
        documents=len(paths),
        chunks=len(index.chunks),
        tokens=tokens,
        entities=len(graph.number_of) if graph else len(index.entities),
        relationships=len(index.relationships),
        triples=len(graph) if graph else len(index.triples),
        claims=len(index.claims),
        communities=len(index.communities),
        reports=len(index.reports),
        levels=tuple(_levels(index, tokens)),
        vectors=_vectors(index),
        failures=tuple(index.failures),
        snapshot=index.snapshot,
        usage=sum(index.usage.values(), Usage()),
        cost=_cost(index.settings, index.usage),
        languages=dict(languages.most_common()),
        left_out=json.loads(index.origin.get("left_out", "{}")),
        skipped=json.loads(index.origin.get("skipped", "{}")),
        folders=tuple(folders_of(paths)),
        models=_models(index.settings),
    )


def folders_of(paths: Iterable[str]) -> list[str]:
    """Return the common folder of all files, or else the folders at the top of their paths; none for bare names."""
    folders = {PurePath(folder) for folder in set(map(os.path.dirname, paths)) if folder}
    if len({folder.anchor for folder in folders}) == 1:
        common = os.path.commonpath(folders)
        if common and common != PurePath(common).anchor:
            return [common]
    tops = {PurePath(*folder.parts[: 1 + folder.is_absolute()]) for folder in folders}
    return sorted(map(str, tops))


def _levels(index: Index, source_tokens: int) -> Iterator[LevelFigures]:
    community, *figures = (column(index.reports, name) for name in ("community", "level", "n_tokens"))
    reported = dict(zip(community, zip(*figures, strict=True), strict=True))
    for level in index.levels:
        reports = [reported[number] for number in index.numbers_at(level) if number in reported]
        tokens = sum(size for _, size in reports)
        own = sum(of == level for of, _ in reports)
        share = tokens / source_tokens if source_tokens else 0.0
        yield LevelFigures(level, len(reports), own, tokens, share)


def _models(built: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the tasks that each model performed for an index built with some settings; empty if it was imported."""
    settings = stored_settings(built)
    extract = settings.extract
    triples = extract.style != "graph" and settings.model_of("ExtractTriples") != EXTRACTIVE
    takes = {
        "ExtractGraph": extract.style != "triples" or not triples,
        "ExtractTriples": triples,
        "ExtractClaims": extract.claims and settings.model_of("ExtractClaims") != EXTRACTIVE,
        "DescribeElement": True,
        "WriteReport": settings.reports.write,
    }
    models: dict[str, tuple[str, ...]] = {}
    for task in (task for task, taken in takes.items() if taken and built and "imported" not in built):
        models[settings.model_of(task)] = (*models.get(settings.model_of(task), ()), task)
    return models


def _cost(built: Mapping[str, Any], usage: Mapping[str, Usage]) -> float | None:
    """Return the cost of building an index in US dollars, None if a price is not known."""
    settings = stored_settings(built)
    models = {"Embed": settings.vectors.embedder, **settings.llm.tasks}
    paid = {models.get(task, settings.model) for task, u in usage.items() if u.calls and not u.cost}
    if any(price_of(model, settings.prices, settings.llm.base_url) is None for model in paid):
        return None
    return sum(usage.values(), Usage()).cost


def _vectors(index: Index) -> dict[str, Any] | None:
    if "vectors.chunks" not in index.arrays:
        return None
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    chunks, sentences = index.slices["vectors.chunks"], index.slices["vectors.sentences"]
    counts = {"dimension": int(chunks[:1].shape[1]), "chunks": len(chunks), "sentences": len(sentences)}
    in_lists = [table for table in ("chunks", "sentences", "entities") if has_lists(table, index)]
    return {"model": "", "unread": 0.0, **made, **counts, "in_lists": in_lists}


# Snapshots


@public
def open_index(folder: str | Path = DEFAULT_FOLDER) -> Index:
    """Open the index in a folder; raise IndexMissing if there is none, IndexDamaged if its files are damaged."""
    return store.read(path_of(folder))


@public
def rollback(folder: str | Path = DEFAULT_FOLDER, snapshot: str = "") -> Index:
    """Make a stored snapshot the current one again, and return it; the current one stays stored: see `history`.

    It is named by the first characters of its id; the default is the snapshot before the current one. Concurrent
    questions read either the old or the new snapshot as a whole.

    Raises NotFound if no such snapshot is stored, IndexDamaged if one of its files changed.
    """
    target = path_of(folder)
    store.read(target)  # raises before a missing folder would be created
    with store.writing(target):
        store.rollback(target, snapshot)
        return store.read(target)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that is stored in an index's folder."""

    snapshot: str
    current: bool
    created: str
    before: str
    """The snapshot that it replaced; empty for the first one."""
    documents: int
    entities: int
    relationships: int
    communities: int
    reports: int
    failures: int
    usage: Usage
    """Usage of models by its build."""
    cost: float | None = 0.0
    """Cost of its build in US dollars; None if the price of a model is not known."""
    changed: tuple[str, ...] = ()
    """Differences from the previous snapshot: `documents`, `corrections`, `settings`; empty if that is not stored."""
    models: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Names of the tasks that each model performed for the index, by model; empty for an imported index."""


_PARTS: Mapping[str, Callable[[manifests.Manifest], object]] = {
    "documents": lambda manifest: [path for path in manifest.files if "/documents-" in path],  # with a hash
    "corrections": lambda manifest: manifest.origin.get("corrections", ""),
    "settings": lambda manifest: manifest.settings,
}
COUNTED = ("documents", "entities", "relationships", "communities", "reports", "failures")
"""Tables whose rows `history` counts."""


@public
def history(folder: str | Path = DEFAULT_FOLDER) -> list[Snapshot]:
    """Return the snapshots stored in an index's folder, the newest first; raise IndexMissing if there is none."""
    target = path_of(folder)
    now = manifests.current(target).snapshot
    snapshots: list[Snapshot] = []
    stored = {manifest.snapshot: manifest for manifest in manifests.snapshots(target)}
    for manifest in stored.values():
        before = stored.get(manifest.before, manifest)
        changed = tuple(name for name, part in _PARTS.items() if part(manifest) != part(before))
        usage = manifest.usage
        row = {name: getattr(manifest, name) for name in ("snapshot", "created", "before")}
        row |= {table: manifest.counts[table] for table in COUNTED}
        total, cost = sum(usage.values(), Usage()), _cost(manifest.settings, usage)
        row |= {"usage": total, "cost": cost, "changed": changed, "models": _models(manifest.settings)}
        snapshots.append(Snapshot(current=manifest.snapshot == now, **row))
    return snapshots


@dataclass(frozen=True, slots=True)
class Spending:
    """Usage of one model by one task in all runs on an index; `cost` is None if the price is not known."""

    task: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


def spending(folder: Path, settings: Settings | None = None) -> list[Spending]:
    """Return what was spent on an index so far, including runs that did not finish.

    Prices are those of the settings, else those that the index was built with, else the published ones.
    """
    if not (folder / FILE_NAME).exists():
        return []
    chosen = settings or load().settings
    known = settings_in(folder)
    built = stored_settings(known[0]) if known else Settings()
    base_url = chosen.llm.base_url or built.llm.base_url
    budget = Budget({**built.prices, **chosen.prices}, base_url=base_url)
    with closing(ResponseCache(folder / FILE_NAME)) as replies:
        rows = replies.spent()
    spent: list[Spending] = []
    for (task, model), group in groupby(rows, lambda row: (row.task, row.model)):
        of = list(group)  # at most two: single calls, and batches
        costs = [budget.cost(model, r.prompt_tokens, r.completion_tokens, batched=r.batched) for r in of]
        calls, prompts, replies = (
            sum(c) for c in zip(*((r.calls, r.prompt_tokens, r.completion_tokens) for r in of), strict=True)
        )
        cost = sum(costs) if budget.price(model) else None
        spent.append(Spending(task, model, calls, prompts, replies, cost))
    return spent
