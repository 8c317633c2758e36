"""What a question is asked of: one index or several, all of their documents or some, and what to say of that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.errors import UsageError
from conspectus.index import BoundedCache, Index
from conspectus.lazy import lazy_module
from conspectus.models.embedders import same_model

if TYPE_CHECKING:
    from conspectus.filters import combine as combining
    from conspectus.filters import conditions
    from conspectus.filters import part as parting
    from conspectus.filters.part import Part
else:  # most questions are of one whole index
    combining, conditions, parting = map(
        lazy_module,
        ("conspectus.filters.combine", "conspectus.filters.conditions", "conspectus.filters.part"),
    )

REWRITTEN = "Reports that also rest on other documents were written anew, without a model."
CACHED_VIEWS = 4
"""Views of an index that are cached while it is open: a user who compares asks a few in turn."""


@dataclass(frozen=True)
class View:
    """An index, and what who reads its answers should know of how it was made."""

    index: Index
    remarks: tuple[str, ...] = ()
    no_vectors: str = ""
    """Why there are no vectors, where some of its indexes have them."""
    others: tuple[Mapping[str, Any], ...] = ()
    """The settings that its indexes were built by, where there are several."""
    is_restricted: bool = False
    """Whether some documents of its indexes are not read, and there are reports."""

    @property
    def built(self) -> tuple[Mapping[str, Any], ...]:
        """The settings that its indexes were built by."""
        return self.others or (self.index.settings,)

    def check(self, needs: Collection[str]) -> None:
        """Raise UsageError where a method, of which this is what it needs, lacks vectors that were left out."""
        if self.no_vectors and "vectors" in needs:
            raise UsageError(
                f"this method compares vectors, and those of the index are of no use: {self.no_vectors}"
            )

    def notices(self, reads: Collection[str]) -> tuple[str, ...]:
        """Return what to say of an answer by a method that reads these parts of an index, a line each."""
        return (*self.remarks, REWRITTEN) if self.is_restricted and "reports" in reads else self.remarks


class Views:
    """The views that were made of an open index."""

    def __init__(self, _: Index) -> None:
        self.cache: BoundedCache[object, tuple[Sequence[Index], View]] = BoundedCache(CACHED_VIEWS)


def select_view(indexes: Sequence[Index], where: str | Sequence[str] = ()) -> View:
    """Return several indexes as one, with the documents alone that meet all conditions; see `conditions`.

    It is made once for indexes that are open. Raises UsageError for a condition that makes no sense, NotFound where no
    document meets them.
    """
    if len(indexes) == 1 and not where and not isinstance(where, str):
        return View(indexes[0])
    read = conditions.read(where)
    key = (*map(id, indexes), *read)
    views = indexes[0].derive(Views).cache
    cached = views.get(key)
    if cached is None:  # cached indexes keep their ids
        cached = views.setdefault(key, (list(indexes), _view(indexes, read)))
    return cached[1]


def _view(indexes: Sequence[Index], where: Sequence[conditions.Condition]) -> View:
    documents = [index.documents for index in indexes]
    masks = conditions.matching(documents, where) if where else [[True] * len(rows) for rows in documents]
    matching, total = sum(map(sum, masks)), sum(map(len, masks))
    if matching == total and len(indexes) == 1:
        return View(indexes[0])
    remarks: list[str] = []
    condition = ""
    if matching < total:
        condition = f"where {' and '.join(map(str, where))}"
        verb = "is" if matching == 1 else "are"
        remarks.append(f"Only {matching:,} of {total:,} documents {verb} read: those {condition}.")
    parts: list[Part] = []
    seen: set[str] = set()
    names = index_names([index.folder for index in indexes])
    for name, index, mask in zip(names, indexes, masks, strict=True):
        new = [met and row.id not in seen for met, row in zip(mask, index.documents, strict=True)]
        seen.update(row.id for row in compress(index.documents, new))
        if any(new) or (not new and not where):  # a graph without text has no documents
            parts.append(parting.Part(index, new, f"{name}:" if len(indexes) > 1 else ""))
    if doubled := matching - len(seen):
        subject = "document in several indexes is" if doubled == 1 else "documents in several indexes are"
        remarks.append(f"{doubled:,} {subject} read once.")
    no_vectors = _no_vectors(parts)
    if no_vectors:
        remarks.append(f"Vectors are left out: {no_vectors}")
    index = combining.combine(parts, vectors=not no_vectors, condition=condition)
    settings = tuple(index.settings for index in indexes)
    return View(index, tuple(remarks), no_vectors, settings, matching < total and len(index.reports) > 0)


def _no_vectors(parts: Sequence[Part]) -> str:
    """Return why vectors of some indexes do not compare: by several embedders, or not in all; "" where they do."""
    made = [_embedding_of(part.index) for part in parts]
    if all(made[0][1:] == other[1:] and same_model(made[0][0], other[0]) for other in made):
        return ""
    models = ", ".join(
        f"{part.prefix[:-1]} has {model}" for part, (model, *_) in zip(parts, made, strict=True)
    )
    embedders = [str(part.index.settings.get("vectors", {}).get("embedder") or "") for part in parts]
    embedder = next(filter(None, embedders), "local")
    return f"they do not compare ({models}); make them alike: conspectus.embed('DIR', embedder='{embedder}')"


def _embedding_of(index: Index) -> tuple[str, int, str]:
    """Return what the vectors of an index were made by: a model, how many numbers they have, what was put before."""
    if "vectors.chunks" not in index.arrays:
        return "none", 0, ""
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    return str(made.get("model")), index.arrays["vectors.chunks"].shape[1], made.get("passage_prefix") or ""


def index_names(folders: Sequence[Path | None]) -> list[str]:
    """Return a short name for each index: that of its folder, or of the one that holds a hidden one; each another."""
    paths: list[list[str]] = []
    for number, folder in enumerate(folders, 1):
        parts = list(folder.resolve().parts) if folder else [str(number)]
        while len(parts) > 1 and parts[-1].startswith("."):
            parts.pop()
        paths.append(parts)
    for length in range(1, max(map(len, paths)) + 1):
        names = ["/".join(parts[-length:]) for parts in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{parts[-1]}#{number}" for number, parts in enumerate(paths, 1)]
