"""The index in a folder: open it, return to an earlier snapshot, count what it holds, and what was spent on it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from conspectus.configuration import load
from conspectus.corrections import is_added_facts, source_documents
from conspectus.errors import IndexDamaged, IndexMissing
from conspectus.index import Index
from conspectus.models.llm.budget import Budget, price_of
from conspectus.models.llm.cache import FILE_NAME, ResponseCache, begun_in
from conspectus.rows import Failure, Usage
from conspectus.runtime import DEFAULT_FOLDER, AnyIndex, opened, path_of, public
from conspectus.settings import Price
from conspectus.storage import manifests, store

if TYPE_CHECKING:
    from conspectus.settings import Settings
    from conspectus.storage.manifests import Manifest


@public
def open_index(folder: str | Path = DEFAULT_FOLDER) -> Index:
    """Open the index in a folder; raise IndexMissing where there is none, IndexDamaged where files are not whole."""
    return store.read(path_of(folder))


@public
def rollback(folder: str | Path = DEFAULT_FOLDER, snapshot: str = "") -> Index:
    """Make a stored snapshot the current one again, and return it; the current one stays stored: see `history`.

    It is named by the first characters of its id; without one it is the snapshot before the current one. Whoever asks
    meanwhile gets the one or the other, whole.

    Raises NotFound where no such snapshot is stored, IndexDamaged where a file of it is not what it was.
    """
    target = path_of(folder)
    store.read(target)  # or else a folder would be made where there is none
    with store.writing(target):
        store.rollback(target, snapshot)
        return store.read(target)


@dataclass(frozen=True, slots=True)
class LevelFigures:
    """One column of the paper's Table 2."""

    level: int
    communities: int
    """Communities with a report in the level's view, among them those above it that are not split further."""
    own: int
    """Those of them that are on this very level."""
    tokens: int
    """Tokens of their reports: what a global answer at this level reads."""
    share: float
    """`tokens` by the tokens of the source."""


@dataclass(frozen=True, slots=True)
class Unsplit:
    """A community without parts that has more entities than asked for, and why it was not split."""

    community: int
    level: int
    size: int
    why: str


@dataclass(frozen=True, slots=True)
class VectorFigures:
    """The vectors of an index, and how the nearest of them are found."""

    embedder: str
    """What makes those of questions, as it is named on the command line."""
    model: str
    dimension: int
    chunks: int
    sentences: int
    unread: float
    """The share of the letters of the texts that the model does not know; `walk` uses no vectors where that is much."""
    recall: float
    """The share of the 10 nearest chunks that is found, measured on a sample; 1 where all are looked at."""
    exact: bool
    many: bool
    """Whether there are enough that looking at all of them takes long."""
    query_prefix: str = ""
    passage_prefix: str = ""
    """What is put before a question and before a passage when they are embedded."""


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds."""

    documents: int
    chunks: int
    tokens: int
    """The sum over the chunks, whose overlaps count twice."""
    entities: int
    relationships: int
    triples: int
    claims: int
    communities: int
    reports: int
    levels: tuple[LevelFigures, ...]
    unsplit: tuple[Unsplit, ...]
    vectors: VectorFigures | None
    failures: tuple[Failure, ...]
    snapshot: str
    usage: Usage
    """The sum over the tasks of the build."""
    cost: float | None = 0.0
    """What the build cost in US dollars; None where a model was asked whose price is not known."""
    languages: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many documents are in each language, the commonest first; by code."""
    left_out: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many files and folders its build left out on purpose, by kind (`rows.OMITTED_KINDS`)."""
    skipped: Mapping[str, int] = field(default_factory=dict[str, int])
    """How many other files its build did not read, by the reason."""
    folders: tuple[str, ...] = ()
    """The folder that holds all documents, as it was named, or else those at the top; none of documents in memory."""


@public
def status_of(index: AnyIndex = DEFAULT_FOLDER) -> Status:
    """Return the figures of an index, or of that in a folder (the levels are GraphRAG's Table 2)."""
    index = opened(index)
    tokens = sum(chunk.n_tokens for chunk in index.chunks)
    return Status(
        documents=len(source_documents(index.documents) if "corrections" in index.origin else index.documents),
        chunks=len(index.chunks),
        tokens=tokens,
        entities=len(index.entities),
        relationships=len(index.relationships),
        triples=len(index.triples),
        claims=len(index.claims),
        communities=len(index.communities),
        reports=len(index.reports),
        levels=tuple(_levels(index, tokens)),
        unsplit=tuple(Unsplit(c.number, c.level, c.size, c.unsplit) for c in index.communities if c.unsplit),
        vectors=_vectors(index),
        failures=tuple(index.failures),
        snapshot=index.snapshot,
        usage=sum(index.usage.values(), Usage()),
        cost=_cost(index.settings, index.usage),
        languages=dict(sorted(Counter(d.language for d in index.documents).items(), key=lambda item: -item[1])),
        left_out=json.loads(index.origin.get("left_out", "{}")),
        skipped=json.loads(index.origin.get("skipped", "{}")),
        folders=tuple(folders_of(document.path for document in source_documents(index.documents))),
    )


def folders_of(paths: Iterable[str]) -> list[str]:
    """Return the folder that holds all files, or else the folders at the top of their paths; none of mere names."""
    folders = {path.parent for path in map(PurePath, paths) if path.name != str(path)}
    if len({folder.anchor for folder in folders}) == 1:
        common = os.path.commonpath(folders)
        if common and common != PurePath(common).anchor:
            return [common]
    return sorted({str(PurePath(*folder.parts[: 1 + folder.is_absolute()])) for folder in folders})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot that an index's folder keeps."""

    snapshot: str
    current: bool
    created: str
    before: str
    """The snapshot in whose place it came; empty for the first one."""
    documents: int
    entities: int
    relationships: int
    communities: int
    reports: int
    failures: int
    usage: Usage
    """What its making took of language models."""
    cost: float | None = 0.0
    """What its making cost in US dollars; None where a model was asked whose price is not known."""


@public
def history(folder: str | Path = DEFAULT_FOLDER) -> list[Snapshot]:
    """Return the snapshots that an index's folder keeps, the newest first; raise IndexMissing where there is none."""
    target = path_of(folder)
    now = manifests.current(target).snapshot
    manifests_kept = manifests.snapshots(target)
    usages = [{task: Usage(**row) for task, row in m.usage.items()} for m in manifests_kept]
    return [
        Snapshot(
            snapshot=m.snapshot,
            current=m.snapshot == now,
            created=m.created,
            before=m.before,
            usage=sum(usage.values(), Usage()),
            cost=_cost(m.settings, usage),
            documents=_documents(target, m),
            **{
                table: m.counts[table]
                for table in ("entities", "relationships", "communities", "reports", "failures")
            },
        )
        for m, usage in zip(manifests_kept, usages, strict=True)
    ]


def _documents(folder: Path, manifest: Manifest) -> int:
    """Return how many documents of a snapshot were read: what people said is the last one, and none of them."""
    count = manifest.counts["documents"]
    if count and "corrections" in manifest.origin:
        with suppress(IndexDamaged):  # a commit has taken it away meanwhile
            return count - is_added_facts(store.read_snapshot(folder, manifest).documents[-1].path)
    return count


@dataclass(frozen=True, slots=True)
class Spending:
    """What one task took of one model in all runs on an index; `cost` is None where the price is not known."""

    task: str
    model: str
    calls: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None


def spending(folder: Path, settings: Settings | None = None) -> list[Spending]:
    """Return what was spent on an index so far, in runs that did not come to their end too.

    Prices are those of the settings, else those that the index was built with, else the published ones.
    """
    if not (folder / FILE_NAME).exists():
        return []
    chosen, built = settings or load().settings, _settings_in(folder)
    base_url = chosen.llm.base_url or built.get("llm", {}).get("base_url", "")
    budget = Budget({**_prices(built), **chosen.prices}, base_url=base_url)
    replies = ResponseCache(folder / FILE_NAME)
    try:
        rows = replies.spent()
    finally:
        replies.close()
    return [
        Spending(
            r.task, r.model, r.calls, r.prompt_tokens, r.completion_tokens,
            budget.cost(r.model, r.prompt_tokens, r.completion_tokens) if budget.price(r.model) else None,
        )
        for r in rows
    ]  # fmt: skip


def _settings_in(folder: Path) -> Mapping[str, Any]:
    """Return the settings that the index in a folder was built with, or that its build began with."""
    try:
        return store.read(folder).settings
    except IndexMissing:
        return begun_in(folder) or {}


def _prices(settings: Mapping[str, Any]) -> dict[str, Price]:
    return {name: Price(**price) for name, price in settings.get("prices", {}).items()}


def _cost(settings: Mapping[str, Any], usage: Mapping[str, Usage]) -> float | None:
    """Return what building an index cost, None where a price is not known."""
    llm = settings.get("llm", {})
    embedder = settings.get("vectors", {}).get("embedder", "")
    models: Mapping[str, str] = {"Embed": embedder, **llm.get("tasks", {})}
    paid = {models.get(task, settings.get("model", "")) for task, u in usage.items() if u.calls and not u.cost}
    if any(price_of(model, _prices(settings), llm.get("base_url", "")) is None for model in paid):
        return None
    return sum(usage.values(), Usage()).cost


def _vectors(index: Index) -> VectorFigures | None:
    if "vectors.chunks" not in index.arrays:
        return None
    from conspectus.algorithms.neighbours import LARGE

    made: Mapping[str, Any] = index.settings.get("vectors", {})
    exact = "vectors.graph" not in index.arrays
    chunks = index.arrays["vectors.chunks"]
    return VectorFigures(
        embedder=made.get("embedder", ""),
        model=made.get("model", ""),
        dimension=int(chunks.shape[1]),
        chunks=len(chunks),
        sentences=len(index.arrays["vectors.sentences"]),
        unread=float(made.get("unread", 0.0)),
        recall=1.0 if exact else float(made["recall"]),
        exact=exact,
        many=chunks.size >= LARGE,
        query_prefix=made.get("query_prefix", ""),
        passage_prefix=made.get("passage_prefix", ""),
    )


def _levels(index: Index, source_tokens: int) -> Iterator[LevelFigures]:
    for level in index.levels:
        reports = index.reports_at(level)
        tokens = sum(report.n_tokens for report in reports)
        own = sum(report.level == level for report in reports)
        yield LevelFigures(level, len(reports), own, tokens, tokens / source_tokens if source_tokens else 0.0)
