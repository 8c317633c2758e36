"""Every error that Conspectus raises, as one tree.

    ConspectusError
     ├── UsageError            what was asked for makes no sense; nothing was read or written
     │    └── SettingsError    a setting is unknown or out of range
     ├── DocumentError         a document cannot be read; names it and why
     ├── IndexError_           something about an index folder
     │    ├── IndexMissing     there is no index where one was named
     │    ├── IndexDamaged     a file of the snapshot is missing or is not what the manifest says
     │    └── IndexBusy        another process is writing to it
     ├── ModelError            a model did not perform a task
     │    └── NotSupported     this model cannot perform this kind of task at all
     └── NothingToIndex        no document could be read from the sources

Messages say what happened, to which document or call, and what to do next. A failure that leaves the rest of the
work standing is not an exception but a row: see `rows.Failure`.
"""


class ConspectusError(Exception):
    """The root of the tree; catch it to catch everything that is ours."""


class UsageError(ConspectusError):
    """What was asked for makes no sense; nothing was read or written."""


class SettingsError(UsageError):
    """A setting is unknown, or its value is out of range."""


class DocumentError(ConspectusError):
    """A document cannot be read."""


class IndexError_(ConspectusError):
    """Something about an index folder (the underscore keeps Python's own `IndexError` in reach)."""


class IndexMissing(IndexError_):
    """There is no index where one was named."""


class IndexDamaged(IndexError_):
    """A file of the snapshot is missing, or is not what the manifest says it is."""


class IndexBusy(IndexError_):
    """Another process is writing to the index."""


class ModelError(ConspectusError):
    """A model did not perform a task."""


class NotSupported(ModelError):
    """This model cannot perform this kind of task at all."""


class NothingToIndex(ConspectusError):
    """No document could be read from the sources."""
