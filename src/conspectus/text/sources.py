"""Sources: documents that are parts of one work, such as numbered parts of a transcript, belong together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_PART = re.compile(
    r"[\s_.\-]*(?:part|pt|page|chapter|ch|section|sec|chunk|segment)[\s_.\-]*(\d+)$|[\s_.\-]+(\d{1,4})$",
    re.IGNORECASE,
)
_SUFFIX = re.compile(r"\.[A-Za-z]{1,5}$")


def sources(paths: Sequence[str]) -> list[int]:
    """Return the number of the source of each document, by its path.

    Paths that differ only in the number of a part are one source, if the numbers run from 0 or 1 without many
    gaps (so that dates do not look like parts).
    """
    stems: list[tuple[str, int | None]] = [_split(path) for path in paths]
    counts = Counter(stem for stem, part in stems if part is not None)
    highest: dict[str, int] = {}
    for stem, part in stems:
        if part is not None:
            highest[stem] = max(highest.get(stem, 0), part)
    numbers: dict[str, int] = {}
    result: list[int] = []
    for path, (stem, part) in zip(paths, stems, strict=True):
        grouped = part is not None and counts[stem] >= 2 and highest[stem] <= 1.5 * counts[stem]
        key = f"{stem}\x00" if grouped else path
        result.append(numbers.setdefault(key, len(numbers)))
    return result


def _split(path: str) -> tuple[str, int | None]:
    stem = _SUFFIX.sub("", path)
    match = _PART.search(stem)
    return (stem[: match.start()], int(match.group(1) or match.group(2))) if match and "#" not in path else (path, None)
