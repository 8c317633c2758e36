"""Stage 1: from files, folders and memory to documents.

Files come in natural order of their paths (`part2` before `part10`, upper and lower case alike), whatever the
order of the sources and of the file system; documents from memory follow in the order they are given.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol, cast

from conspectus.errors import DocumentError, NothingToIndex, UsageError
from conspectus.index.formats import PARSERS, Found, parse, record
from conspectus.rows import Document, Failure, Skipped, content_id
from conspectus.tokens import well_formed

if TYPE_CHECKING:
    from conspectus.settings import ReadSettings

MANIFEST = "manifest.json"
_NUMBER = re.compile("([0-9]+)")


class Frame(Protocol):
    """A table of documents, a row for each: what pandas calls a DataFrame."""

    def to_dict(self, orient: Any) -> Any: ...


Fields = Mapping[str, Any]
Sources = str | Path | Fields | Frame | Iterable[str | Path | Fields]
Read = tuple[list[Document], list[Failure], list[Skipped]]


def read(sources: Sources, settings: ReadSettings) -> Read:
    """Read all documents of files and folders; objects with fields and rows of data frames are documents.

    Strings are paths here; `read_texts` takes them as documents. Folders are read with all that is in them,
    except hidden files and folders, what links lead to outside of them, and indexes.

    Returns:
        The documents, what could not be read and why, and what was passed over and why.

    Raises:
        UsageError: a path does not exist.
        NothingToIndex: not one document could be read.
    """
    given = _listed(sources)
    paths = [str(s) for s in given if isinstance(s, str | Path)]
    outcomes = list(_from_files(paths, settings))
    outcomes += _from_memory((s for s in given if not isinstance(s, str | Path)), settings)
    return _placed(outcomes, paths)


def read_texts(documents: str | Fields | Frame | Iterable[str | Fields], settings: ReadSettings) -> Read:
    """Take documents from memory: texts, or objects with `text`, `title`, `path` or `id`, `date` and others.

    Raises:
        NothingToIndex: not one of them is a document.
    """
    return _placed(list(_from_memory(_listed(documents), settings)), [])


def _listed(sources: Any) -> list[Any]:
    if isinstance(sources, str | Path | Mapping):
        return [cast("Any", sources)]
    if hasattr(sources, "to_dict"):
        return list(sources.to_dict("records"))
    return list(sources)


def _placed(outcomes: list[Found | Failure | Skipped], paths: list[str]) -> Read:
    """Give every document its number and id; equal texts are told apart by their order."""
    documents: list[Document] = []
    equal: Counter[str] = Counter()
    for found in (o for o in outcomes if isinstance(o, Found)):
        id_ = content_id(found.text, str(equal[found.text]))
        equal[found.text] += 1
        documents.append(
            Document(id_, len(documents), found.title, found.text, found.path, found.date, found.metadata)
        )
    failures = [o for o in outcomes if isinstance(o, Failure)]
    skipped = [o for o in outcomes if isinstance(o, Skipped)]
    if not documents:
        raise NothingToIndex(_nothing(failures, skipped, paths))
    return documents, failures, skipped


def _nothing(failures: list[Failure], skipped: list[Skipped], paths: list[str]) -> str:
    reasons = [f"{f.document}: {f.error}" for f in failures] + [f"{s.document}: {s.reason}" for s in skipped]
    if not reasons:
        named = ", ".join(paths[:3]) or "what was given"
        return f"no document could be read: there is none in {named}; what is read are {_known()}"
    more = [f"and {len(reasons) - 3:,} more"] if len(reasons) > 3 else []
    return "no document could be read:\n" + "\n".join(f"  {line}" for line in reasons[:3] + more)


def _known() -> str:
    return " ".join(sorted(PARSERS))


# Memory


def _from_memory(values: Iterable[object], settings: ReadSettings) -> Iterator[Found | Failure]:
    for number, value in enumerate(values, start=1):
        name = f"memory#{number}"
        if isinstance(value, Mapping):
            fields = dict(cast("Fields", value))
            key = next((k for k in ("path", "id") if fields.get(k) not in (None, "")), None)
            name, value = (str(fields.pop(key)) if key else name), fields
        yield record(well_formed(name), value, settings)


# Files


def _from_files(sources: list[str], settings: ReadSettings) -> Iterator[Found | Failure | Skipped]:
    for source in sources:
        if not os.path.exists(source):
            shown = source if len(source) <= 200 else source[:200] + "…"
            raise UsageError(f"there is no file or folder {well_formed(shown)!r}; nothing was read")
    files: dict[str, str] = {}  # the names that were given, by real path, so that nothing is read twice
    for source in sources:
        for outcome in _files_of(source):
            if isinstance(outcome, tuple):
                files.setdefault(*outcome)
            else:
                yield outcome
    for real, name in sorted(files.items(), key=lambda item: natural_order(item[1])):
        yield from _documents_of(real, name, settings)


def natural_order(path: str) -> tuple[Any, ...]:
    """Return what sorts paths folder by folder, numbers by their value, upper and lower case alike."""
    return [_natural(name) for name in path.casefold().split("/")], path


def _natural(name: str) -> list[Any]:
    parts: list[Any] = _NUMBER.split(name)
    parts[1::2] = map(int, parts[1::2])  # every second one is a number
    return parts


def _documents_of(real: str, name: str, settings: ReadSettings) -> Iterator[Found | Failure | Skipped]:
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in PARSERS:
        kind = f"{suffix} files are" if suffix else "files whose names have no suffix are"
        yield Skipped(name, f"{kind} not read; what is read are {_known()}")
        return
    try:
        yield from parse(name, Path(real).read_bytes(), settings)
    except OSError as error:
        yield _unreadable(name, error)
    except DocumentError as error:
        yield Failure("read", str(error), name)


def _unreadable(name: str, error: OSError) -> Failure:
    return Failure("read", f"cannot be read: {error.strerror or error}; change that, then run again", name)


def _files_of(source: str) -> Iterator[tuple[str, str] | Failure | Skipped]:
    """Yield real path and given name of every file of a source, and what keeps others from being read."""
    root, name = os.path.realpath(source), _name(source)
    if not os.path.isdir(root):
        yield root, name
        return
    links: list[str] = []
    folders = [root]
    while folders:
        folder = folders.pop()
        shown = _name(source, os.path.relpath(folder, root))
        if is_index(folder):
            yield Skipped(shown, "it is an index of Conspectus, not a document")
            continue
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            yield _unreadable(shown, error)
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                links.append(entry.path)
            elif entry.is_dir():
                folders.append(entry.path)
            elif entry.is_file():
                yield entry.path, _name(source, entry.path[len(root) :].lstrip(os.sep))
            else:
                yield Skipped(_name(shown, entry.name), "it is not a regular file")
    for link in links:  # last, so that a file that is also there under its own name keeps it
        yield from _linked(link, root, _name(source, os.path.relpath(link, root)))


def _linked(link: str, root: str, name: str) -> Iterator[tuple[str, str] | Skipped]:
    real = os.path.realpath(link)
    if not os.path.exists(real):
        yield Skipped(name, "it is a link that leads nowhere")
    elif os.path.commonpath([root, real]) != root:
        yield Skipped(name, "it is a link that leads out of the folder; name it as a source to have it read")
    elif os.path.isfile(real):
        yield real, name


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
