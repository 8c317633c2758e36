"""Stage 1: from files, folders and memory to documents.

Files come in natural order of their paths (`part2` before `part10`, upper and lower case alike), whatever the
order of the sources and of the file system; documents from memory follow in the order they are given.
"""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from conspectus.errors import DocumentError, NothingToIndex, UsageError
from conspectus.indexing.files import files_of, natural_order, unreadable
from conspectus.readers import FORMATS, missing_package, parse, suffix_of
from conspectus.readers.base import Options, Outcome, ParsedDocument, too_large
from conspectus.readers.records import record
from conspectus.rows import Document, EncodingWarning, Failure, Skipped, content_id
from conspectus.text.language import with_languages
from conspectus.tokens import well_formed

if TYPE_CHECKING:
    from concurrent.futures import Future

    from conspectus.indexing.pipeline import Progress
    from conspectus.models.base import Tick
    from conspectus.settings import ReadSettings


class Frame(Protocol):
    """A table of documents, a row for each: what pandas calls a DataFrame."""

    def to_dict(self, orient: Any) -> Any: ...


Fields = Mapping[str, Any]
Sources = str | Path | Fields | Frame | Iterable[str | Path | Fields]


class Read(NamedTuple):
    """What was read, and what became of the rest."""

    documents: list[Document]
    failures: list[Failure]
    """What could not be read, and why."""
    skipped: Sequence[Skipped] = ()
    """What was passed over, and why."""
    warnings: Sequence[EncodingWarning] = ()
    """Files whose encoding had to be guessed, or that hold invalid bytes."""


def read(sources: Sources, settings: ReadSettings, progress: Progress | None = None) -> Read:
    """Read all documents of files and folders; objects with fields and rows of data frames are documents.

    Strings are paths here, `~` stands for the home folder; `read_texts` takes them as documents. A file that is named
    is read whatever it is; what is left out of folders, `files.files_of` says.

    Returns:
        The documents, what could not be read and why, what was passed over and why, and files that were not valid
        in their encoding.

    Raises:
        UsageError: a path does not exist.
        NothingToIndex: not one document could be read.
    """
    given = _listed(sources)
    paths = [os.path.expanduser(s) for s in given if isinstance(s, str | Path)]
    options = Options.of(settings)
    outcomes = list(_from_files(paths, options, settings, progress))
    outcomes += _from_memory((s for s in given if not isinstance(s, str | Path)), options)
    return _placed(outcomes, paths)


def read_texts(documents: str | Fields | Frame | Iterable[str | Fields], settings: ReadSettings) -> Read:
    """Take documents from memory: texts, or objects with `text`, `title`, `path` or `id`, `date` and others.

    Raises:
        NothingToIndex: not one of them is a document.
    """
    return _placed(list(_from_memory(_listed(documents), Options.of(settings))), [])


def _listed(sources: Any) -> list[Any]:
    if isinstance(sources, str | Path | Mapping):
        return [cast("Any", sources)]
    if hasattr(sources, "to_dict") and getattr(sources, "ndim", 2) > 1:  # a column of a table is a list of texts
        return list(sources.to_dict("records"))
    return list(sources)


def _placed(outcomes: list[Outcome], paths: list[str]) -> Read:
    """Give every document its number, id and language; equal texts are told apart by their order."""
    documents: list[Document] = []
    equal: Counter[str] = Counter()
    for found in (o for o in outcomes if isinstance(o, ParsedDocument)):
        id_ = content_id(found.text, str(equal[found.text]))
        equal[found.text] += 1
        stated = (found.title, found.text, found.path, found.date, found.metadata, found.places)
        documents.append(Document(id_, len(documents), *stated))
    failures = [o for o in outcomes if isinstance(o, Failure)]
    skipped = [o for o in outcomes if isinstance(o, Skipped)]
    if not documents:
        raise NothingToIndex(_nothing(failures, skipped, paths))
    warnings = [o for o in outcomes if isinstance(o, EncodingWarning)]
    return Read(with_languages(documents), failures, skipped, warnings)


def _nothing(failures: list[Failure], skipped: list[Skipped], paths: list[str]) -> str:
    reasons = [f"{f.document}: {f.error}" for f in failures] + [f"{s.document}: {s.reason}" for s in skipped]
    if not reasons and not paths:
        return "no document was given: the list of documents is empty"
    if not reasons:
        named = ", ".join(paths[:3])
        return f"no document could be read: there is none in {named}; what is read are {_known()}"
    more = [f"and {len(reasons) - 3:,} more"] if len(reasons) > 3 else []
    known = [f"what is read are {_known()}"] if skipped else []
    return "no document could be read:\n" + "\n".join(f"  {line}" for line in reasons[:3] + more + known)


def _known() -> str:
    return " ".join(sorted(FORMATS))


# Memory


def _from_memory(values: Iterable[object], options: Options) -> Iterator[Outcome]:
    names: Counter[str] = Counter()
    for number, value in enumerate(values, start=1):
        name = f"memory#{number}"
        if isinstance(value, Mapping):
            fields = {k: v if k == options.text_field else _as_text(v) for k, v in cast("Fields", value).items()}
            key = next((k for k in ("path", "id") if fields.get(k) not in (None, "")), None)
            name, value = (str(fields.pop(key)) if key else name), fields
        names[name] += 1
        if names[name] > 1:  # as the records of a file
            name = f"{name}#{names[name]}"
        yield record(well_formed(name), value, options)
    if equal := [name for name, count in names.items() if count > 1]:
        examples = ", ".join(map(repr, equal[:3]))
        message = (
            f"documents share an id or path ({examples}): the further ones are called {equal[0]}#2 and so on"
        )
        warnings.warn(message, UserWarning, stacklevel=2)


def _as_text(value: Any) -> Any:
    """Return a list or an object as JSON, so that a column of a table is not lost; anything else as it is."""
    return (
        json.dumps(value, ensure_ascii=False, default=str)
        if value and isinstance(value, list | tuple | dict)
        else value
    )


# Files


def _from_files(
    sources: list[str], options: Options, settings: ReadSettings, progress: Progress | None
) -> Iterator[Outcome]:
    for source in sources:
        if not os.path.exists(source):
            shown = source if len(source) <= 200 else source[:200] + "…"
            raise UsageError(f"there is no file or folder {well_formed(shown)!r}; nothing was read")
    files: dict[str, str] = {}  # the names that were given, by real path, so that nothing is read twice
    for source in sources:
        for outcome in files_of(source, settings):
            if isinstance(outcome, tuple):
                files.setdefault(*outcome)
            else:
                yield outcome
    ordered = sorted(files.items(), key=lambda item: natural_order(item[1]))
    yield from _parsed(ordered, options, progress.stage("read", len(ordered)) if progress else None)


def _parsed(files: list[tuple[str, str]], options: Options, tick: Tick | None) -> Iterator[Outcome]:
    """Yield what comes of each file, in their order; what other processes do is begun before the rest."""
    refused = {name: why for real, name in files if (why := _refusal(real, name, options))}
    isolated = [(real, name) for real, name in files if name not in refused and FORMATS[suffix_of(name)].isolated]
    with ExitStack() as stack:
        promised: dict[str, Future[list[Outcome]]] = {}
        if isolated:
            from conspectus.readers.pool import Pool

            pool = stack.enter_context(Pool(options))
            promised = {real: pool.parse(real, name) for real, name in isolated}
        for real, name in files:
            if name in refused:
                yield refused[name]
            elif real in promised:
                yield from promised.pop(real).result()
            else:
                yield from _documents_of(real, name, options)
            if tick:
                tick()


def _refusal(real: str, name: str, options: Options) -> Failure | Skipped | None:
    """Return why a file is not read at all, where it is not."""
    suffix = suffix_of(name)
    if suffix not in FORMATS:
        kind = f"{suffix} files are" if suffix else "files whose names have no suffix are"
        return Skipped(name, f"{kind} not read", "format")
    if package := missing_package(FORMATS[suffix]):
        install = f"pip install {package.replace('_', '-')}"
        return Skipped(
            name, f"{suffix} files are read with {package}, which is not installed: {install}", "package"
        )
    try:
        size = os.path.getsize(real)
    except OSError as error:
        return unreadable(name, error)
    if size > options.max_bytes:
        return Failure("read", too_large("is larger than {}", options.max_bytes), name)
    return None


def _documents_of(real: str, name: str, options: Options) -> Iterator[Outcome]:
    try:
        yield from parse(name, Path(real).read_bytes(), options)
    except OSError as error:
        yield unreadable(name, error)
    except DocumentError as error:
        yield Failure("read", str(error), name)
