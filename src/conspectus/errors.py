"""Every error that Conspectus raises, as one tree whose root is `ConspectusError`.

Messages say what happened, to which document or call, and what to do next. A failure that leaves the rest of the
work standing is not an exception but a row: see `rows.Failure`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return what to add to an error about an unknown name: the known one that it is most like, "" if there is none."""
    import difflib  # here: most commands need not wait for it

    near = difflib.get_close_matches(name.lower(), list(names), n=1)
    return f"; did you mean {near[0]}?" if near else ""


class ConspectusError(Exception):
    """The root of the tree; catch it to catch everything that is ours."""


class UsageError(ConspectusError):
    """What was asked for makes no sense; nothing was read or written."""


class SettingsError(UsageError):
    """A setting is unknown, or its value is out of range."""


class DocumentError(ConspectusError):
    """A document cannot be read."""


class EmptyDocument(DocumentError):
    """A document is empty, or holds nothing but whitespace."""


class WorkerEnded(ConspectusError):
    """A worker process ended, with an exit `status`, before its work was done; `late` where that took too long."""

    def __init__(self, message: str, status: int | None = None, *, late: bool = False) -> None:
        super().__init__(message)
        self.status, self.late = status, late


class StoreError(ConspectusError):
    """Something about an index folder."""


class IndexMissing(StoreError):
    """There is no index where one was named."""


class IndexDamaged(StoreError):
    """A file of the snapshot is missing, or is not what the manifest says it is."""


class RowMissing(IndexDamaged, KeyError):
    """A row or an array of an index is not there, though others of it need it."""

    def __str__(self) -> str:
        return f"the index lacks {str(self.args[0])[:80]!r}, which other parts of it need; index again"


class IndexOutdated(StoreError):
    """An earlier Conspectus wrote the index, in a format that is read no more; a new one may take its place."""


class IndexBusy(StoreError):
    """Another process is writing to the index."""


class ModelError(ConspectusError):
    """A model did not perform a task."""


class NotSupported(ModelError):
    """This model cannot perform this kind of task at all."""


class Unusable(ModelError):
    """Nothing more can be asked of a model now: a reason to stop, not a failure of one call."""


class ServerDown(Unusable):
    """There is no server at the model's address."""


class BadKey(Unusable):
    """The model's server wants a key, another key, or money on the account."""


class UnknownModel(Unusable):
    """The model's server does not know the model."""


class BudgetReached(Unusable):
    """The next call would pass the budget of the run."""


class CacheFailed(Unusable):
    """The replies of a model cannot be stored, so that nothing more is bought."""


class CallFailed(ModelError):
    """One call failed for good; others need not.

    `passing` tells whether asking again later can help, `charged` whether it may have to be paid for all the same.
    """

    passing = False
    charged = False
    retry_after: float | None = None
    """Seconds that the server asked to wait, where it said so."""


class ContextTooLong(CallFailed):
    """The request is longer than the model's context."""


class Refused(CallFailed):
    """The server will not answer a request."""


class NotAccepted(Refused):
    """The server does not take a `feature` of the request: `json_schema`, `json_object`, `logit_bias`."""

    def __init__(self, message: str, feature: str) -> None:
        super().__init__(message)
        self.feature = feature


class RateLimited(CallFailed):
    """The server's limits left no room, however long we waited."""

    passing = True


class BadReply(CallFailed):
    """What the model replied was cut off, or is not what was asked for and cannot be repaired without guessing."""

    passing = True


class TimedOut(CallFailed):
    """No reply came in time."""

    passing = True
    charged = True


class ServerFailed(CallFailed):
    """The server failed, broke the connection, or sent what is no reply."""

    passing = True


class NotFound(ConspectusError):
    """An index has nothing of the name that was asked for; `near` has names that are spelt like it."""

    def __init__(self, message: str, name: str = "", near: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.name, self.near = name, tuple(near)


class NothingToIndex(ConspectusError):
    """No document could be read from the sources."""
