"""Errors of the library as HTTP responses, all in the same JSON form."""

from __future__ import annotations

from typing import Any

from conspectus import errors
from conspectus.errors import ConspectusError


class Busy(ConspectusError):
    """More questions are waiting than the server accepts."""


class Cancelled(ConspectusError):
    """Another client cancelled an answer that several were waiting for."""


STATUS: tuple[tuple[type[ConspectusError], int], ...] = (
    (errors.NotFound, 404),
    (errors.IndexMissing, 404),
    (errors.UsageError, 400),
    (errors.DocumentError, 422),
    (errors.NothingToIndex, 422),
    (errors.IndexBusy, 409),
    (errors.BudgetReached, 402),
    (errors.RateLimited, 429),
    (errors.TimedOut, 504),
    (errors.ModelError, 502),
    (Busy, 503),
    (Cancelled, 409),
)
"""The HTTP status of each kind of error; the first kind that matches counts."""


def as_error(error: BaseException | None) -> tuple[int, dict[str, Any]]:
    """Return the status and body of an error; for an error that Conspectus did not raise, the body hides the cause."""
    if not isinstance(error, ConspectusError):
        message = "The server failed on this request; its log has the details."
        return 500, {"error": {"type": "InternalError", "message": message}}
    status = next((code for kind, code in STATUS if isinstance(error, kind)), 500)
    near = (
        {"name": error.name, "near": error.near} if isinstance(error, errors.NotFound) and error.near else {}
    )
    return status, {"error": {"type": type(error).__name__, "message": str(error), **near}}
