"""What became of the documents since an index was made, told by their content and not by their dates."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace

from conspectus.rows import Document

_RECORD = re.compile(r"#\d+$")
"""The number of a record in the path of a document."""


@dataclass(frozen=True, slots=True)
class Changes:
    """Documents by their paths; a renamed one by the path it had and the one it has."""

    added: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    deleted: tuple[str, ...] = ()
    unchanged: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.edited or self.renamed or self.deleted)


def changes_of(before: Sequence[Document], now: Sequence[Document]) -> Changes:
    """Compare the documents of an index with those that were read now.

    A document is unchanged that has the same path and says and states the same (of the records of one file, whichever
    number they have now); renamed where its text has another path; edited where its path has another text, or other
    facts are stated with it (its date, its pages).
    """
    old, new = list(before), list(now)
    unchanged = len(_paired(old, new, _stated)) + len(_paired(old, new, _stated_in_file))
    restated = _paired(old, new, lambda d: (d.path, d.text))
    renamed = _paired(old, new, lambda d: d.text)
    rewritten = _paired(old, new, lambda d: d.path)
    edited = sorted((d.number, d.path) for _, d in (*restated, *rewritten))
    return Changes(
        added=tuple(d.path for d in new),
        edited=tuple(path for _, path in edited),
        renamed=tuple((one.path, other.path) for one, other in renamed),
        deleted=tuple(d.path for d in old),
        unchanged=unchanged,
    )


def _stated(d: Document) -> Hashable:
    return d.path, d.text, d.title, d.date, tuple(sorted(d.metadata.items())), d.places


def _stated_in_file(d: Document) -> Hashable:
    return _stated(replace(d, path=_RECORD.sub("", d.path)))


def _paired(
    old: list[Document], new: list[Document], key: Callable[[Document], Hashable]
) -> list[tuple[Document, Document]]:
    """Take pairs with equal keys out of both lists, in their order, each document once."""
    waiting: defaultdict[Hashable, deque[Document]] = defaultdict(deque)
    for document in old:
        waiting[key(document)].append(document)
    pairs: list[tuple[Document, Document]] = []
    left: list[Document] = []
    for document in new:
        alike = waiting.get(key(document))
        if alike:
            pairs.append((alike.popleft(), document))
        else:
            left.append(document)
    taken = {document.number for document, _ in pairs}
    old[:], new[:] = [d for d in old if d.number not in taken], left
    return pairs
