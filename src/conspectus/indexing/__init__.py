"""The stages that make an index from documents, each a function from rows to rows."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def paused_garbage_collection() -> Generator[None]:
    """Pause Python's cycle collector: a build makes a million rows that stay, and it would visit them all often.

    Afterwards they count as old, so that it does not visit them at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # what somebody else has frozen stays frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
