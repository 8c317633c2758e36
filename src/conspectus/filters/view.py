"""What a question is asked of: one index or several, all of their documents or some, and what to say of that."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conspectus.errors import UsageError
from conspectus.filters import conditions
from conspectus.filters.remapping import LazyReports
from conspectus.index import Index
from conspectus.storage.lazy import BoundedCache

CACHED_VIEWS = 4
"""Views of an index that are kept while it is open."""


@dataclass(frozen=True)
class View:
    """An index, and what who reads its answers should know of how it was made."""

    index: Index
    remarks: tuple[str, ...] = ()
    no_vectors: str = ""
    """Why there are no vectors, where some of its indexes have them."""
    others: tuple[Mapping[str, Any], ...] = ()
    """The settings that its indexes were built by, where there are several."""

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
        return (*self.remarks, *self._of_reports()) if "reports" in reads else self.remarks

    def _of_reports(self) -> Iterator[str]:
        reports = self.index.reports
        whole, written, dropped = reports.counts() if isinstance(reports, LazyReports) and reports.counts else (0, 0, 0)
        if written or dropped:
            parts = [
                f"{whole:,} stand on these documents alone" if whole else "",
                f"{written:,} also stood on others and were written anew from these, by selection and without a model"
                if written
                else "",
                f"{dropped:,} are not used" if dropped else "",
            ]
            yield f"Of the reports, {'; '.join(filter(None, parts))}."


def select_view(indexes: Sequence[Index], where: str | Sequence[str] = ()) -> View:
    """Return several indexes as one, with the documents alone that meet all conditions; see `conditions`.

    It is made once for indexes that are open. Raises UsageError for a condition that makes no sense, NotFound where no
    document meets them.
    """
    if len(indexes) == 1 and not where and not isinstance(where, str):
        return View(indexes[0])
    read = conditions.read(where)
    key = (*map(id, indexes), *read)
    views: BoundedCache[object, tuple[Sequence[Index], View]] = indexes[0].derived.setdefault(
        "views", BoundedCache(CACHED_VIEWS)
    )
    cached = views.get(key)
    if cached is None:  # the indexes are cached too: while they are, no other has their ids
        cached = views.setdefault(key, (list(indexes), _seen(indexes, read)))
    return cached[1]


def _seen(indexes: Sequence[Index], where: Sequence[conditions.Condition]) -> View:
    from conspectus.filters.subset import subset_of
    from conspectus.filters.union import (  # not at the top: most questions are of one whole index
        union_of,
        vectors_differ,
    )

    notices: list[str] = []
    chosen = dict(zip(names_of([index.folder for index in indexes]), indexes, strict=True))
    if where:
        met = conditions.matching([index.documents for index in indexes], where)
        condition = " and ".join(map(str, where))
        count, total = sum(map(sum, met)), sum(map(len, met))
        if count < total:
            notices.append(f"Only {count:,} of {total:,} documents are read: those where {condition}.")
        chosen = {
            name: subset_of(index, mask, f"where {condition}")
            for (name, index), mask in zip(chosen.items(), met, strict=True)
            if any(mask)
        }
    single = len(indexes) == 1
    index = next(iter(chosen.values())) if single else union_of(chosen)
    doubled = sum(len(one.documents) for one in chosen.values()) - len(index.documents)
    if doubled:
        one = doubled == 1
        notices.append(
            f"{doubled:,} document{'' if one else 's'} in several indexes {'is' if one else 'are'} read once."
        )
    no_vectors = _no_vectors(chosen) if vectors_differ(list(chosen.values())) else ""
    notices_text = (*notices, no_vectors) if no_vectors else tuple(notices)
    return View(index, notices_text, no_vectors, tuple(one.settings for one in indexes))


def _no_vectors(indexes: Mapping[str, Index]) -> str:
    from conspectus.filters.union import embedder_of, vectors_differ

    made = {name: embedder_of(index) for name, index in indexes.items()}
    notices_text = ", ".join(
        f"{name} has {f'{by} ({size} numbers)' if by else 'none'}" for name, (by, size) in made.items()
    )
    first = next(name for name, (by, _) in made.items() if by)
    other = next(name for name, index in indexes.items() if vectors_differ([indexes[first], index]))
    by = indexes[first].settings.get("vectors", {}).get("embedder", "local")
    return (
        f"Vectors are left out, since they do not compare ({notices_text}); make them alike: "
        f"conspectus embed --index {indexes[other].folder or 'DIR'} --embedder {by}"
    )


def names_of(folders: Sequence[Path | None]) -> list[str]:
    """Return a short name for each index: that of its folder, or of the one that holds a hidden one; each another."""
    tails: list[tuple[str, ...]] = []
    for position, folder in enumerate(folders, 1):
        parts = folder.resolve().parts if folder else (str(position),)
        while len(parts) > 1 and parts[-1].startswith("."):
            parts = parts[:-1]
        tails.append(parts)
    names: list[str] = []
    for position, parts in enumerate(tails):
        lengths = range(1, len(parts) + 1)
        others = [tail for other, tail in enumerate(tails) if other != position]
        length = next((n for n in lengths if all(tail[-n:] != parts[-n:] for tail in others)), 0)
        names.append("/".join(parts[-length:]) if length else f"{parts[-1]}#{position + 1}")
    return names
