"""What `conspectus index` says of an index that stood in its folder: what changed, and what is done again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from conspectus.api import Built, Preview
    from conspectus.indexing.estimate import Redone
    from conspectus.indexing.update import Changes, Update


def as_json(update: Update) -> dict[str, Any]:
    """Return what there is to say of it for machines."""
    changes = asdict(update.changes) if update.changes is not None else None
    return {"unchanged": update.up_to_date, "changes": changes, "rebuild_reasons": update.rebuild_reasons}


def done(built: Built) -> Iterator[str]:
    """Yield what was updated, in lines."""
    update = built.update
    if update.changes is not None:
        yield f"Documents: {_changed(update.changes)}."
    if update.rebuild_reasons:
        yield f"All was made anew: {'; '.join(update.rebuild_reasons)}."
    elif update.before:
        ids = {community.id for community in update.before.communities}
        kept = sum(community.id in ids for community in built.index.communities)
        yield f"Communities: {kept:,} of {len(built.index.communities):,} are those of before."


def planned(seen: Preview) -> Iterator[str]:
    """Yield what would be updated, in lines."""
    if not seen.changes and not seen.rebuild_reasons and not seen.pending and seen.snapshot:
        yield f"Nothing has changed since snapshot {seen.snapshot}."
        return
    if seen.changes is not None:
        yield f"Since snapshot {seen.snapshot}: {_changed(seen.changes)}."
    if seen.rebuild_reasons:
        yield f"All would be made anew: {'; '.join(seen.rebuild_reasons)}."
    if seen.pending:
        yield f"Left to do: {', '.join(seen.pending)}."
    if seen.redone:
        yield f"Chunks to read: {_part(seen.redone.chunks)}."
        parts = (f"{name} {_part(getattr(seen.redone, name))}" for name in ("descriptions", "communities", "reports"))
        yield f"To make again, as far as it can be told before reading: {', '.join(parts)}."


def _changed(changes: Changes) -> str:
    named = (("added", changes.added), ("edited", changes.edited), ("renamed", changes.renamed))
    told = [f"{len(paths):,} {name}" for name, paths in (*named, ("deleted", changes.deleted)) if paths]
    return ", ".join([*told, f"{changes.unchanged:,} unchanged"])


def _part(part: Redone) -> str:
    many = f"{part.low:,}" if part.low == part.high else f"{part.low:,} to {part.high:,}"
    return f"{many} of {part.total:,}"
