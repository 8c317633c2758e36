"""What a question is asked of: one index or several, all of their documents or some, and what to say of that."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.errors import UsageError
from conspectus.filters import conditions
from conspectus.index import Index
from conspectus.models.embedders import same_model
from conspectus.storage.lazy import BoundedCache

if TYPE_CHECKING:
    from conspectus.filters.combine import CombinedReports

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
    reports: CombinedReports | None = None
    """The reports of the index, where it is not a whole one."""

    @property
    def built(self) -> tuple[Mapping[str, Any], ...]:
        """The settings that its indexes were built by."""
        return self.others or (self.index.settings,)

    def check(self, needs: Collection[str]) -> None:
        """Raise UsageError where a method, of which this is what it needs, lacks vectors that were left out."""
        if self.no_vectors and "vectors" in needs:
            raise UsageError(self.no_vectors)

    def notices(self, reads: Collection[str]) -> tuple[str, ...]:
        """Return what to say of an answer by a method that reads these parts of an index, a line each."""
        unchanged, written, dropped = self.reports.counts() if self.reports and "reports" in reads else (0, 0, 0)
        if not written and not dropped:
            return self.remarks
        counted = {
            f"{unchanged:,} stand on these documents alone": unchanged,
            f"{written:,} also stood on others and were written anew from these, "
            "by selection and without a model": written,
            f"{dropped:,} are not used": dropped,
        }
        return (*self.remarks, f"Of the reports, {'; '.join(text for text, count in counted.items() if count)}.")


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
    if cached is None:  # the indexes are cached too: while they are, no other has their ids
        cached = views.setdefault(key, (list(indexes), _view(indexes, read)))
    return cached[1]


def _view(indexes: Sequence[Index], where: Sequence[conditions.Condition]) -> View:
    from conspectus.filters.combine import combine  # not at the top: most questions are of one whole index
    from conspectus.filters.part import Part

    documents = [index.documents for index in indexes]
    masks = conditions.matching(documents, where) if where else [[True] * len(rows) for rows in documents]
    condition = " and ".join(map(str, where))
    matching, total = sum(map(sum, masks)), sum(map(len, masks))
    remarks: list[str] = []
    if matching < total:
        remarks.append(f"Only {matching:,} of {total:,} documents are read: those where {condition}.")
    elif len(indexes) == 1:
        return View(indexes[0])
    parts: list[Part] = []
    seen: set[str] = set()
    for name, index, mask in zip(index_names([index.folder for index in indexes]), indexes, masks, strict=True):
        new = [met and row.id not in seen for met, row in zip(mask, index.documents, strict=True)]
        seen.update(row.id for met, row in zip(new, index.documents, strict=True) if met)
        if any(new) or (not new and not where):  # a graph without text has no documents
            parts.append(Part(index, new, f"{name}:" if len(indexes) > 1 else ""))
    if doubled := matching - len(seen):
        documents_are = "document in several indexes is" if doubled == 1 else "documents in several indexes are"
        remarks.append(f"{doubled:,} {documents_are} read once.")
    no_vectors = _no_vectors({part.prefix: part.index for part in parts})
    index = combine(parts, vectors=not no_vectors, condition=f"where {condition}" if matching < total else "")
    reports: Any = index.reports
    settings = tuple(index.settings for index in indexes)
    return View(index, (*remarks, *filter(None, [no_vectors])), no_vectors, settings, reports)


def _no_vectors(indexes: Mapping[str, Index]) -> str:
    """Return why vectors of some indexes do not compare: by several embedders, or not in all; "" where they do."""
    made = {name: _embedding(index) for name, index in indexes.items()}
    first = next((embedding for embedding in made.values() if embedding[0]), ("", 0, ""))
    differing = [n for n, (model, *form) in made.items() if not same_model(model, first[0]) or form != [*first[1:]]]
    if not differing:
        return ""
    embedders = ", ".join(
        f"{name.rstrip(':')} has {f'{model} ({size} numbers)' if model else 'none'}"
        for name, (model, size, _) in made.items()
    )
    by = next(index for index in indexes.values() if _embedding(index) == first).settings["vectors"].get("embedder")
    return (
        f"Vectors are left out, since they do not compare ({embedders}); make them alike: "
        f"conspectus embed --index {indexes[differing[0]].folder or 'DIR'} --embedder {by or 'local'}"
    )


def _embedding(index: Index) -> tuple[str, int, str]:
    """Return the model of an index's vectors, how many numbers they have, and what stood before the texts."""
    if "vectors.chunks" not in index.arrays:
        return "", 0, ""
    made: Mapping[str, Any] = index.settings.get("vectors", {})
    return str(made.get("model")), int(index.arrays["vectors.chunks"].shape[1]), str(made.get("passage_prefix") or "")


def index_names(folders: Sequence[Path | None]) -> list[str]:
    """Return a short name for each index: that of its folder, or of the one that holds a hidden one; each another."""
    paths = [tuple(_shown(folder)) if folder else (str(number),) for number, folder in enumerate(folders, 1)]
    for length in range(1, max(map(len, paths)) + 1):
        names = ["/".join(parts[-length:]) for parts in paths]
        if len(set(names)) == len(names):
            return names
    return [f"{parts[-1]}#{number}" for number, parts in enumerate(paths, 1)]


def _shown(folder: Path) -> Iterator[str]:
    parts = folder.resolve().parts
    hidden = next((i for i, part in enumerate(reversed(parts)) if not part.startswith(".")), 0)
    yield from parts[: len(parts) - hidden]
