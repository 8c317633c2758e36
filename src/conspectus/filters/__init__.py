"""Views: one index or an index union, with all documents or an index subset, and the remarks to make about it."""

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

REWRITTEN = "Reports that also rely on other documents were rewritten, without a model."
CACHED_VIEWS = 4
"""Maximum number of views of an index that are cached while it is open: a user who compares views alternates a few."""


@dataclass(frozen=True)
class View:
    """An index, and remarks for the readers of its answers on how it was combined or restricted."""

    index: Index
    remarks: tuple[str, ...] = ()
    no_vectors: str = ""
    """Why the view has no vectors although some of its indexes have them; else empty."""
    others: tuple[Mapping[str, Any], ...] = ()
    """The settings that the indexes were built with, if there are several."""
    is_restricted: bool = False
    """Whether the view leaves out some documents and its index has reports."""

    @property
    def built(self) -> tuple[Mapping[str, Any], ...]:
        """The settings that the indexes were built with."""
        return self.others or (self.index.settings,)

    def check(self, needs: Collection[str]) -> None:
        """Raise UsageError if a method with these needs requires vectors, and they were left out."""
        if self.no_vectors and "vectors" in needs:
            raise UsageError(
                f"this method compares vectors, and those of the index cannot be used: {self.no_vectors}"
            )

    def notices(self, reads: Collection[str]) -> tuple[str, ...]:
        """Return the notices, one line each, for an answer by a method that reads these parts of an index."""
        return (*self.remarks, REWRITTEN) if self.is_restricted and "reports" in reads else self.remarks


class Views:
    """A cache of the views of an open index."""

    def __init__(self, _: Index) -> None:
        self.cache: BoundedCache[object, tuple[Sequence[Index], View]] = BoundedCache(CACHED_VIEWS)


def select_view(indexes: Sequence[Index], where: str | Sequence[str] = ()) -> View:
    """Return the union of indexes, restricted to documents that meet all conditions; see `conditions`.

    The view is cached while the indexes are open. Raises UsageError for an invalid condition, NotFound if no document
    meets them.
    """
    if len(indexes) == 1 and not where and not isinstance(where, str):
        return View(indexes[0])
    read = conditions.read(where)
    key = (*map(id, indexes), *read)
    views = indexes[0].derive(Views).cache
    cached = views.get(key)
    if cached is None:  # the cache holds the indexes, so that their ids stay unique
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
        remarks.append(f"Vectors are not used: {no_vectors}")
    index = combining.combine(parts, vectors=not no_vectors, condition=condition)
    settings = tuple(index.settings for index in indexes)
    return View(index, tuple(remarks), no_vectors, settings, matching < total and len(index.reports) > 0)


def _no_vectors(parts: Sequence[Part]) -> str:
    """Return why the vectors of indexes are not comparable (several embedders, or none in some); "" if they are."""
    made = [_embedding_of(part.index) for part in parts]
    if all(made[0][1:] == other[1:] and same_model(made[0][0], other[0]) for other in made):
        return ""
    models = ", ".join(
        f"{part.prefix[:-1]} has {model}" for part, (model, *_) in zip(parts, made, strict=True)
    )
    embedders = [str(part.index.settings.get("vectors", {}).get("embedder") or "") for part in parts]
    embedder = next(filter(None, embedders), "local")
    return f"they cannot be compared ({models}); use one embedder: conspectus.embed('DIR', embedder='{embedder}')"


def _embedding_of(index: Index) -> tuple[str, int, str]:
    """Return the model, the dimension and the passage prefix of the vectors of an index."""
    if "vectors.chunks" not in index.arrays:
        return "none", 0, ""
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    return str(made.get("model")), index.arrays["vectors.chunks"].shape[1], made.get("passage_prefix") or ""


def index_names(folders: Sequence[Path | None]) -> list[str]:
    """Return a short, unique name for each index: that of its folder or, if that is hidden, of the folder around it."""
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
