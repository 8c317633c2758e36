"""Counting function calls, so that tests of how work grows do not depend on the clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many Python and C functions are called while `work` runs in this thread."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def grows_linearly(work: Callable[[int], Any], size: int, times: int = 4) -> bool:
    """Return whether work of `times` the size makes at most 1.5 * `times` as many function calls."""
    work(size)  # fills caches
    return calls_of(lambda: work(times * size)) <= 1.5 * times * calls_of(lambda: work(size))
