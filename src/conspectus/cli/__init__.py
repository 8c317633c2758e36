"""The command line: each command parses, calls the API and prints. Nothing heavy is imported before."""

from __future__ import annotations

import os
import signal
import sys

from conspectus.cli.overview import shown_at_once

TYPE_CHECKING = False  # as in `typing`, which takes time to import
if TYPE_CHECKING:
    from types import FrameType


def main() -> None:
    """Run the command line and end the process with its exit code."""
    signal.signal(signal.SIGINT, interrupted_at_start)  # first of all: imports take longest when a machine is busy
    if (code := shown_at_once(sys.argv[1:])) is not None:
        raise SystemExit(code)
    from conspectus.cli.app import main as run

    run()


def interrupted_at_start(signum: int, frame: FrameType | None) -> None:
    """End at once: until a command runs there is nothing to undo, and an import that is broken off shows a traceback.

    `guard.Group` puts a handler in its place that interrupts the command.
    """
    sys.stderr.write("interrupted\n")
    sys.stderr.flush()
    os._exit(130)


__all__ = ["main"]
