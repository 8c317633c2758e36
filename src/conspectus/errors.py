"""All errors that Conspectus raises, as one tree whose root is `ConspectusError`.

Messages say what happened, to which document or call, and what to do next. A failure that does not stop the rest of
the work is not an exception but a row: see `rows.Failure`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a hint for an error about an unknown name: the most similar known name, "" if none is similar."""
    import difflib  # here, since most commands do not need it

    near = difflib.get_close_matches(name.lower(), list(names), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class ConspectusError(Exception):
    """The base of all errors of Conspectus; catch it to catch them all."""


class UsageError(ConspectusError):
    """An argument or a combination of arguments is invalid; nothing was read or written."""


class SettingsError(UsageError):
    """A setting is unknown, or its value is out of range."""


class DocumentError(ConspectusError):
    """A document cannot be read."""


class EmptyDocument(DocumentError):
    """A document is empty, or contains nothing but whitespace."""


class WorkerEnded(ConspectusError):
    """A worker process ended, with an exit `status`, before its work was done; `late` if it took too long."""

    def __init__(self, message: str, status: int | None = None, *, late: bool = False) -> None:
        super().__init__(message)
        self.status, self.late = status, late


class StoreError(ConspectusError):
    """There is a problem with an index folder."""


class IndexMissing(StoreError):
    """There is no index in the given folder."""


class IndexDamaged(StoreError):
    """A file of the snapshot is missing, or differs from the manifest."""


class RowMissing(IndexDamaged, KeyError):
    """A row or an array of an index is missing although other parts of the index need it."""

    def __str__(self) -> str:
        return f"the index lacks {str(self.args[0])[:80]!r}, which other parts of it need; index again"


class IndexOutdated(StoreError):
    """An earlier Conspectus wrote the index, in a format that is no longer read; a new index may replace it."""


class IndexBusy(StoreError):
    """Another process is writing to the index."""


class ModelError(ConspectusError):
    """A model failed to perform a task."""


class NotSupported(ModelError):
    """This model cannot perform this kind of task at all."""


class Unusable(ModelError):
    """A model cannot be asked any more now: a reason to stop, not a failure of one call."""


class ServerDown(Unusable):
    """No model server answers at the model's address."""


class BadKey(Unusable):
    """The model's server requires a key, a different key, or credit on the account."""


class UnknownModel(Unusable):
    """The model's server does not know the model."""


class BudgetReached(Unusable):
    """The next call would exceed the budget."""


class CacheFailed(Unusable):
    """The replies of a model cannot be stored, so no further calls are paid for."""


class CallFailed(ModelError):
    """One call failed permanently; other calls may succeed.

    `passing` is whether asking again later may help, `charged` whether the call may have to be paid for anyway.
    """

    passing = False
    charged = False
    retry_after: float | None = None
    """Seconds to wait, if the server named a time."""


class ContextTooLong(CallFailed):
    """The request is longer than the model's context."""


class Refused(CallFailed):
    """The server refuses to answer a request."""


class NotAccepted(Refused):
    """The server does not support a `feature` of the request: `json_schema`, `json_object`, `logit_bias`."""

    def __init__(self, message: str, feature: str) -> None:
        super().__init__(message)
        self.feature = feature


class RateLimited(CallFailed):
    """The server's rate limits refused the call, even after backoff."""

    passing = True


class BadReply(CallFailed):
    """The model's reply was cut off, or does not have the requested form and cannot be repaired without guessing."""

    passing = True


class TimedOut(CallFailed):
    """No reply arrived in time."""

    passing = True
    charged = True


class ServerFailed(CallFailed):
    """The server failed, broke the connection, or sent an invalid reply."""

    passing = True


class NotFound(ConspectusError):
    """An index has nothing with the requested name; `near` contains names with a similar spelling."""

    def __init__(self, message: str, name: str = "", near: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.name, self.near = name, tuple(near)


class NothingToIndex(ConspectusError):
    """No document could be read from the sources."""
