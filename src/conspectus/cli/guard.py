"""What becomes of errors: one line for ours, a request for a report for those that nobody foresaw."""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import typer

from conspectus.cli import help as laid
from conspectus.cli import interrupted_at_start
from conspectus.cli.show import line, note
from conspectus.errors import ConspectusError, UsageError

DONE, FAILED, USAGE, WITH_FAILURES, INTERRUPTED, NO_READER = 0, 1, 2, 3, 130, 141
"""Exit codes; the last two are those of a process that is ended by SIGINT and by SIGPIPE."""

_OF_THE_SYSTEM = frozenset(
    (
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.ENOTDIR,
        errno.EISDIR,
        errno.ENAMETOOLONG,
    )
)
"""What a file system refuses or has no room for: nothing to report to us."""

log = logging.getLogger("conspectus")
log.addHandler(logging.NullHandler())  # without one, Python itself shows what is logged, tracebacks too


class Group(laid.Group):
    """Runs a command and turns errors into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        if signal.getsignal(signal.SIGINT) is interrupted_at_start:  # not where the commands are run from Python
            signal.signal(signal.SIGINT, _interrupt)
        with reported():
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a reader that is gone is known for what it is
            return result


def _interrupt(signum: int, frame: FrameType | None) -> None:
    """Interrupt at once: after Python's own handler asyncio waits until the work does, maybe to its end."""
    raise KeyboardInterrupt


def interrupted(state: str = "", folder: Path | None = None) -> NoReturn:
    """End with what an interrupt leaves: how things stand, and how many replies of language models are cached.

    They are counted in the folder of an index where one is given, else those of this run are.
    """
    cached = 0
    if cache := sys.modules.get("conspectus.models.llm.cache"):  # else no model was asked
        cached = cache.cached_in(folder) if folder else cache.cached_by_this_process()
    parts = [state] if state else []
    if cached:
        count = "1 reply of a language model is" if cached == 1 else f"{cached:,} replies of language models are"
        where = f" in {folder}" if folder else ""
        parts.append(f"{count} cached{where}, and the same command goes on from there")
    typer.echo(": ".join(filter(None, ("interrupted", "; ".join(parts)))), err=True)
    raise typer.Exit(INTERRUPTED) from None


def one_line(error: Exception) -> str:
    """Return the message of an error on one line, those of a list after its head, with `;` between them."""
    head, *rest = (line.strip() for line in str(error).splitlines() or [""])
    return f"{head} {'; '.join(rest)}".strip()


@contextmanager
def reported() -> Generator[None]:
    """Print an error as one line and end with its exit code."""
    try:
        yield
    except ConspectusError as error:
        log.debug("ended by an error", exc_info=True)
        note(f"error: {one_line(error)}")
        raise typer.Exit(USAGE if isinstance(error, UsageError) else FAILED) from None
    except KeyboardInterrupt:
        log.debug("interrupted", exc_info=True)
        interrupted()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left to flush goes nowhere
        raise typer.Exit(NO_READER) from None
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except OSError as error:
        if error.errno not in _OF_THE_SYSTEM:
            _unforeseen(error)
        log.debug("ended by the file system", exc_info=True)
        place = f"{error.filename} cannot be read or written" if error.filename else "a file cannot be written"
        note(f"error: {line(place)}: {error.strerror}")
        raise typer.Exit(FAILED) from None
    except Exception as error:
        _unforeseen(error)


def _unforeseen(error: Exception) -> NoReturn:
    """Ask for a report of an error, and end; with CONSPECTUS_DEBUG, raise it."""
    log.critical("ended by an unforeseen error", exc_info=True)
    if os.environ.get("CONSPECTUS_DEBUG"):
        raise error
    note(f"error: {type(error).__name__}: {one_line(error)}".rstrip(": "))
    note(
        "This should not have happened; please report it, with what CONSPECTUS_DEBUG=1 or --log FILE "
        "shows for the same command."
    )
    raise typer.Exit(FAILED) from None
