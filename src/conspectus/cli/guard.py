"""What becomes of errors: one line for ours, a request for a report for those that nobody foresaw."""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

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


class Group(TyperGroup):
    """Runs a command and turns errors into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        with reported():
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a reader that is gone is known for what it is
            return result


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
        typer.echo(f"error: {one_line(error)}", err=True)
        raise typer.Exit(USAGE if isinstance(error, UsageError) else FAILED) from None
    except KeyboardInterrupt:
        log.debug("interrupted", exc_info=True)
        typer.echo("interrupted: nothing was written", err=True)
        raise typer.Exit(INTERRUPTED) from None
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
        typer.echo(f"error: {place}: {error.strerror}", err=True)
        raise typer.Exit(FAILED) from None
    except Exception as error:
        _unforeseen(error)


def _unforeseen(error: Exception) -> NoReturn:
    """Ask for a report of an error, and end; with CONSPECTUS_DEBUG, raise it."""
    log.critical("ended by an unforeseen error", exc_info=True)
    if os.environ.get("CONSPECTUS_DEBUG"):
        raise error
    typer.echo(f"error: {type(error).__name__}: {one_line(error)}".rstrip(": "), err=True)
    typer.echo(
        "This should not have happened; please report it, with what CONSPECTUS_DEBUG=1 or --log FILE "
        "shows for the same command.",
        err=True,
    )
    raise typer.Exit(FAILED) from None
