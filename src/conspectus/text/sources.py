"""Sources: documents that are parts of one work, such as numbered parts of a transcript, belong together."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence

_PART = re.compile(
    r"[\s_.\-]*(?:part|pt|page|chapter|ch|section|sec|chunk|segment)[\s_.\-]*(\d+)$|[\s_.\-]+(\d{1,4})$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\.[A-Za-z]{1,5}$")
_END = re.compile(r"(?<=[.?!])\s+|(?<=[。！？])")
EDGE = 1500
"""Characters at either end of a document that may stand in its neighbour too."""
TELLING = 40
"""Characters of a sentence that no two documents have by chance."""


def sources(paths: Sequence[str], texts: Sequence[str] = ()) -> list[int]:
    """Return the number of the source of each document, by its path, and by its text where that is given.

    Paths that differ only in the number of a part are one source, if the numbers run from 0 or 1 without many
    gaps (so that dates do not look like parts). A document of another name whose text overlaps with a part, as
    neighbouring parts do, is of that source too: so it stays what it was when it is renamed.
    """
    stems: list[tuple[str, int | None]] = [_split(path) for path in paths]
    counts = Counter(stem for stem, part in stems if part is not None)
    highest: dict[str, int] = {}
    for stem, part in stems:
        if part is not None:
            highest[stem] = max(highest.get(stem, 0), part)
    works = [
        f"{stem}\x00" if part is not None and counts[stem] >= 2 and highest[stem] <= 1.5 * counts[stem] else ""
        for stem, part in stems
    ]
    if texts and any(works) and not all(works):
        works = _overlapping(works, texts)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(work or path, len(numbers)) for work, path in zip(works, paths, strict=True)]


def _split(path: str) -> tuple[str, int | None]:
    stem = _SUFFIX.sub("", path)
    match = _PART.search(stem)
    return (stem[: match.start()], int(match.group(1) or match.group(2))) if match and "#" not in path else (path, None)


def _overlapping(works: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Return the works, and for each document of none the one that it shares most sentences with, if there is one.

    Only a sentence that two documents alone have at their edges counts: others are set phrases.
    """
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for i, text in enumerate(texts):
        for sentence in {*_END.split(text[:EDGE]), *_END.split(text[-EDGE:])}:
            if len(sentence) >= TELLING:
                holders[sentence].append(i)
    shared: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for pair in holders.values():
        if len(pair) == 2:
            alone, work = sorted((works[i], i) for i in pair)
            if work[0] and not alone[0]:
                shared[alone[1]][work[0]] += 1
    return [
        work or min(shared[i], key=lambda name: (-shared[i][name], name), default="") for i, work in enumerate(works)
    ]
