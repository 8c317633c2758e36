"""Work, counted: tests of how it grows depend on no clock."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def calls_of(work: Callable[[], Any]) -> int:
    """Return how many functions, of Python and of C, are called while some work is done in this thread."""
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
    """Tell whether work of `times` the size calls at most 1.5 times as many functions as in proportion."""
    work(size)  # what is made once
    return calls_of(lambda: work(times * size)) <= 1.5 * times * calls_of(lambda: work(size))
