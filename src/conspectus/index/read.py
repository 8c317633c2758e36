"""Stage 1: from files, folders and memory to documents.

Files come in natural order of their paths (`part2` before `part10`, upper and lower case alike), whatever the
order of the sources and of the file system; documents from memory follow in the order they are given.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from conspectus.errors import DocumentError, NothingToIndex, UsageError
from conspectus.formats import FORMATS, lacking, parse, suffix_of
from conspectus.formats.found import Found, Options, Outcome, too_large
from conspectus.formats.records import record
from conspectus.rows import Document, EncodingWarning, Failure, Skipped, content_id
from conspectus.text.language import with_languages
from conspectus.tokens import well_formed

if TYPE_CHECKING:
    from concurrent.futures import Future

    from conspectus.settings import ReadSettings

MANIFEST = "manifest.json"
OWN = ("conspectus.toml", "corrections.toml")
"""Files beside documents that are ours."""
_NUMBER = re.compile("([0-9]+)")


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


def read(sources: Sources, settings: ReadSettings) -> Read:
    """Read all documents of files and folders; objects with fields and rows of data frames are documents.

    Strings are paths here; `read_texts` takes them as documents. Folders are read with all that is in them,
    except hidden files and folders, our own files, indexes, and, without `follow_symlinks`, what links lead to outside.

    Returns:
        The documents, what could not be read and why, what was passed over and why, and files that were not valid
        in their encoding.

    Raises:
        UsageError: a path does not exist.
        NothingToIndex: not one document could be read.
    """
    given = _listed(sources)
    paths = [str(s) for s in given if isinstance(s, str | Path)]
    options = Options.of(settings)
    outcomes = list(_from_files(paths, options, follow=settings.follow_symlinks))
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
    if hasattr(sources, "to_dict"):
        return list(sources.to_dict("records"))
    return list(sources)


def _placed(outcomes: list[Outcome], paths: list[str]) -> Read:
    """Give every document its number, id and language; equal texts are told apart by their order."""
    documents: list[Document] = []
    equal: Counter[str] = Counter()
    for found in (o for o in outcomes if isinstance(o, Found)):
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
    if not reasons:
        named = ", ".join(paths[:3]) or "what was given"
        return f"no document could be read: there is none in {named}; what is read are {_known()}"
    more = [f"and {len(reasons) - 3:,} more"] if len(reasons) > 3 else []
    known = [f"what is read are {_known()}"] if skipped else []
    return "no document could be read:\n" + "\n".join(f"  {line}" for line in reasons[:3] + more + known)


def _known() -> str:
    return " ".join(sorted(FORMATS))


# Memory


def _from_memory(values: Iterable[object], options: Options) -> Iterator[Found | Failure]:
    for number, value in enumerate(values, start=1):
        name = f"memory#{number}"
        if isinstance(value, Mapping):
            fields = dict(cast("Fields", value))
            key = next((k for k in ("path", "id") if fields.get(k) not in (None, "")), None)
            name, value = (str(fields.pop(key)) if key else name), fields
        yield record(well_formed(name), value, options)


# Files


def _from_files(sources: list[str], options: Options, *, follow: bool) -> Iterator[Outcome]:
    for source in sources:
        if not os.path.exists(source):
            shown = source if len(source) <= 200 else source[:200] + "…"
            raise UsageError(f"there is no file or folder {well_formed(shown)!r}; nothing was read")
    files: dict[str, str] = {}  # the names that were given, by real path, so that nothing is read twice
    for source in sources:
        for outcome in _files_of(source, follow=follow):
            if isinstance(outcome, tuple):
                files.setdefault(*outcome)
            else:
                yield outcome
    yield from _parsed(sorted(files.items(), key=lambda item: natural_order(item[1])), options)


def _parsed(files: list[tuple[str, str]], options: Options) -> Iterator[Outcome]:
    """Yield what comes of each file, in their order; what other processes do is begun before the rest."""
    refused = {name: why for real, name in files if (why := _refusal(real, name, options))}
    isolated = [(real, name) for real, name in files if name not in refused and FORMATS[suffix_of(name)].isolated]
    with ExitStack() as stack:
        promised: dict[str, Future[list[Outcome]]] = {}
        if isolated:
            from conspectus.formats.pool import Pool

            pool = stack.enter_context(Pool(options))
            promised = {real: pool.parse(real, name) for real, name in isolated}
        for real, name in files:
            if name in refused:
                yield refused[name]
            elif real in promised:
                yield from promised.pop(real).result()
            else:
                yield from _documents_of(real, name, options)


def _refusal(real: str, name: str, options: Options) -> Failure | Skipped | None:
    """Return why a file is not read at all, where it is not."""
    suffix = suffix_of(name)
    if suffix not in FORMATS:
        kind = f"{suffix} files are" if suffix else "files whose names have no suffix are"
        return Skipped(name, f"{kind} not read")
    if package := lacking(FORMATS[suffix]):
        extra = "pip install 'conspectus[formats]'"
        return Skipped(name, f"{suffix} files are read with the extra `formats` ({package} is missing): {extra}")
    try:
        size = os.path.getsize(real)
    except OSError as error:
        return _unreadable(name, error)
    if size > options.max_bytes:
        return Failure("read", too_large("is larger than {}", options.max_bytes), name)
    return None


def natural_order(path: str) -> tuple[Any, ...]:
    """Return what sorts paths folder by folder, numbers by their value, upper and lower case alike."""
    return [_natural(name) for name in path.casefold().split("/")], path


def _natural(name: str) -> list[Any]:
    parts: list[Any] = _NUMBER.split(name)
    parts[1::2] = map(int, parts[1::2])  # every second one is a number
    return parts


def _documents_of(real: str, name: str, options: Options) -> Iterator[Outcome]:
    try:
        yield from parse(name, Path(real).read_bytes(), options)
    except OSError as error:
        yield _unreadable(name, error)
    except DocumentError as error:
        yield Failure("read", str(error), name)


def _unreadable(name: str, error: OSError) -> Failure:
    return Failure("read", f"cannot be read: {error.strerror or error}; change that, then run again", name)


def _files_of(source: str, *, follow: bool) -> Iterator[tuple[str, str] | Failure | Skipped]:
    """Yield real path and given name of every file of a source, and what keeps others from being read."""
    root = os.path.realpath(source)
    if not os.path.isdir(root):
        yield root, _name(source)
        return
    links: list[tuple[str, str]] = []
    folders = [(root, _name(source))]
    seen: set[str] = set()
    while folders or links:
        if not folders:  # links last, so that a file that is also there under its own name keeps it
            link, name = links.pop(0)
            outcome = _linked(link, root, name, follow=follow)
            if isinstance(outcome, tuple) and os.path.isdir(outcome[0]):
                folders.append(outcome)
            elif outcome:
                yield outcome
            continue
        folder, name = folders.pop()
        if folder in seen:
            continue
        seen.add(folder)
        if is_index(folder):
            yield Skipped(name, "it is an index of Conspectus, not a document")
            continue
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            yield _unreadable(name, error)
            continue
        for entry in entries:
            inner = _name(name, entry.name)
            if entry.name.startswith(".") or entry.name in OWN:
                continue
            if entry.is_symlink():
                links.append((entry.path, inner))
            elif entry.is_dir():
                folders.append((entry.path, inner))
            elif entry.is_file():
                yield entry.path, inner
            else:
                yield Skipped(inner, "it is not a regular file")


def _linked(link: str, root: str, name: str, *, follow: bool) -> tuple[str, str] | Skipped | None:
    """Return where a link leads, or why it is not followed; None where that folder is read anyway."""
    real = os.path.realpath(link)
    if not os.path.exists(real):
        return Skipped(name, "it is a link that leads nowhere")
    inside = os.path.commonpath([root, real]) == root
    if not (inside or follow):
        return Skipped(name, "it is a link that leads out of the folder; name it as a source, or add --follow-symlinks")
    if os.path.isfile(real) or (os.path.isdir(real) and not inside):
        return real, name
    return None


def _name(*parts: str) -> str:
    return well_formed(PurePath(*parts).as_posix())


def is_index(folder: str) -> bool:
    """Return whether a folder is an index: it has a manifest whose format is ours."""
    try:
        manifest = json.loads(Path(folder, MANIFEST).read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    if not isinstance(manifest, dict):
        return False
    fields = cast("dict[str, object]", manifest)
    return str(fields.get("format", "")).startswith("conspectus")
