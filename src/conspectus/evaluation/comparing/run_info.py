"""What a comparison was made with: the index, the model and the settings of each condition, kept beside its answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from conspectus import __version__
from conspectus.evaluation.comparing.answers import Work
from conspectus.evaluation.comparing.conditions import snapshot_of
from conspectus.evaluation.comparing.table2 import table2
from conspectus.evaluation.jsonl_table import JsonlTable
from conspectus.index import Index
from conspectus.settings import Settings

IMPORTED = "imported"
_HIDDEN = {
    "llm": {
        *("base_url", "embedder_base_url", "trace", "trace_texts", "concurrency", "requests_per_minute"),
        *("tokens_per_minute", "timeout", "attempts", "retry_seconds", "budget", "budget_tokens"),
        *("index_budget", "index_budget_tokens"),
    },
    "prices": True,
    "model": True,
}
"""Settings that say how and where a run went and not what it found; the model stands beside them."""


@dataclass(frozen=True)
class SetUp:
    """What the answers of one condition were made with; `made_with` is the digest that those answers bear."""

    made_with: str
    condition: str
    method: str
    level: int | None = None
    model: str = ""
    settings: Mapping[str, Any] | None = None
    """Those that are not their default, by dotted key."""
    version: str = ""
    index: Mapping[str, Any] | None = None
    """Figures of the index, see `figures`."""
    table2: tuple[Mapping[str, Any], ...] = ()
    """What global answers from each level of it read (GraphRAG Table 2)."""


def set_ups_in(folder: Path) -> JsonlTable[SetUp]:
    """Return what the answers of a comparison were made with, by condition and digest."""

    def make(**values: Any) -> SetUp:
        return SetUp(table2=tuple(values.pop("table2", ())), **values)

    return JsonlTable(folder / "setups.jsonl", make, lambda row: (row.made_with, row.condition))


def keep_set_up(works: Iterable[Work], index: Index, model: str, folder: Path) -> None:
    """Write down what answers are made with, each condition once."""
    kept = set_ups_in(folder)
    new = {(one.made_with, one.condition.name): one for one in works}
    missing = [one for key, one in new.items() if kept.get(key) is None]
    if missing:
        told, rows = figures(index), tuple(asdict(row) for row in table2(index))
        kept.add_all([_set_up(one, model, told, rows) for one in missing])


def _set_up(work: Work, model: str, told: Mapping[str, Any], rows: tuple[Mapping[str, Any], ...]) -> SetUp:
    what, said = work.condition, changed(work.settings)
    return SetUp(work.made_with, what.name, what.method, what.level, model, said, __version__, told, rows)


def changed(settings: Settings) -> dict[str, Any]:
    """Return the settings that are not their default, by dotted key."""
    return _dotted(settings.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=cast("Any", _HIDDEN)))


def _dotted(values: Mapping[str, Any], head: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict) and key not in ("tasks", "prices"):
            found |= _dotted(cast("dict[str, Any]", value), f"{head}{key}.")
        else:
            found[head + key] = value
    return found


def figures(index: Index) -> dict[str, Any]:
    """Return what an index is, in figures: where it stands, its snapshot, its size, and what it was built by."""
    built: Mapping[str, Any] = index.settings
    return {
        "folder": str(index.folder or ""),
        "snapshot": snapshot_of(index),
        "model": writer_of(index),
        "chunk_tokens": dict(built.get("chunk") or {}).get("tokens"),
        "documents": len(index.documents),
        "chunks": len(index.chunks),
        "tokens": sum(chunk.n_tokens for chunk in index.chunks),
        "entities": len(index.entities),
        "relationships": len(index.relationships),
        "claims": len(index.claims),
        "communities": len(index.communities),
        "reports": len(index.reports),
        "levels": len(index.levels),
        "failures": len(index.failures),
    }


def writer_of(index: Index) -> str:
    """Return the model that an index was written by, `imported` where another tool made it."""
    if "imported" in index.settings:
        return IMPORTED
    return str(index.settings.get("model", "unknown"))
