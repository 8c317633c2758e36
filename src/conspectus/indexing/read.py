"""Stage 1: from files, folders and memory to documents.

Files come in natural order of their paths (`part2` before `part10`, ignoring case), regardless of the order of the
sources and of the file system; documents from memory follow in the order in which they are given.

A file or folder that is named as a source is always read. The following contents of folders are left out, and counted:

- `own`: output of Conspectus, an index or a file that says so (`readers.GENERATED`);
- `tools`: installed packages and caches (`node_modules`, virtual environments, folders with a CACHEDIR.TAG);
- `hidden`: folders, and files of supported formats, whose names begin with a dot;
- `ignored`: files and folders that match `.conspectusignore` or, unless `read.gitignore` is off, `.gitignore` files in
  the folder and below it, or `.gitignore` files above it up to the root of its repository;
- `excluded`: files and folders left out by the settings `read.exclude` and `read.include`.

At an address, only the patterns of the settings apply, and hidden files and folders are left out.

All patterns are those of gitignore(5), relative to the folder of their file; those of the settings are relative to the
folder that is read, or to the working directory.
"""

from __future__ import annotations

import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import chain, pairwise
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from conspectus.content import Omitted
from conspectus.errors import NothingToIndex, UsageError, WorkerEnded
from conspectus.readers import (
    FORMATS,
    HEAD,
    LISTINGS,
    MEGABYTE,
    Options,
    Outcome,
    ParsedDocument,
    is_generated,
    suffix_of,
    too_large,
)
from conspectus.readers.cleaning import examined
from conspectus.readers.records import record
from conspectus.readers.sources import copied, files_at, is_address, parse_file, unreadable
from conspectus.rows import Document, EncodingWarning, Failure, Skipped, content_id
from conspectus.storage.manifests import is_index
from conspectus.text.language import with_languages
from conspectus.tokens import well_formed
from conspectus.workers import Processes, Workers

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pathspec import GitIgnoreSpec

    from conspectus.indexing.pipeline import Progress
    from conspectus.models.base import Tick
    from conspectus.settings import ReadSettings

MAX_PARSERS = 4
"""Maximum number of processes that parse files: each takes 22 MB at its start, plus the memory that a file needs."""
COPIED_AT_ONCE = 8
"""Files at addresses that are copied at once: a store takes some 100 ms for a small one. Twice as many wait on disk."""


class Frame(Protocol):
    """A table with a document in each row, such as a pandas DataFrame."""

    def to_dict(self, orient: Any) -> Any: ...


Fields = Mapping[str, Any]
Sources = str | Path | Fields | Frame | Iterable[str | Path | Fields]


class Read(NamedTuple):
    """The documents that were read, and the sources that were not."""

    documents: list[Document]
    failures: list[Failure]
    """Files and records that could not be read, with reasons."""
    skipped: Sequence[Skipped] = ()
    """Files and folders that were left out, with reasons."""
    warnings: Sequence[EncodingWarning] = ()
    """Files whose encoding had to be guessed, or that contain invalid bytes."""


def read(
    sources: Sources, settings: ReadSettings, progress: Progress | None = None, workers: Workers | None = None
) -> Read:
    """Read all documents of files and folders; mappings and rows of data frames are documents themselves.

    Strings are paths or addresses here, with `~` for the home folder; `read_texts` takes them as documents. The module
    docstring says which contents of folders are left out.

    Returns:
        The documents, the sources that could not be read or were left out, with reasons, and files that were not valid
        in their encoding.

    Raises:
        UsageError: a path does not exist.
        NothingToIndex: no document could be read.
    """
    given = _listed(sources)
    paths = [os.path.expanduser(s) for s in given if isinstance(s, str | Path)]
    options = Options.of(settings)
    outcomes = list(_from_files(paths, options, settings, progress))
    outcomes += _from_memory((s for s in given if not isinstance(s, str | Path)), options)
    return _numbered(outcomes, paths, settings, workers)


def read_texts(documents: str | Fields | Frame | Iterable[str | Fields], settings: ReadSettings) -> Read:
    """Read documents from memory: texts, or mappings with `text`, `title`, `path` or `id`, `date` and other fields.

    Raises:
        NothingToIndex: none of them is a document.
    """
    return _numbered(list(_from_memory(_listed(documents), Options.of(settings))), [], settings)


def _listed(sources: Any) -> list[Any]:
    if isinstance(sources, str | Path | Mapping):
        return [cast("Any", sources)]
    # a table; a single column of one is treated as a list of texts
    if hasattr(sources, "to_dict") and getattr(sources, "ndim", 2) > 1:
        return list(sources.to_dict("records"))
    return list(sources)


def _checked(texts: Sequence[str], stored: Any) -> list[tuple[Omitted, str]]:
    """Return stored results of `examined` for texts; raise ValueError or TypeError if they are invalid."""
    known = [(tuple(map(int, omits)), str(language)) for omits, language in stored]
    for text, (omits, _) in zip(texts, known, strict=True):
        if len(omits) % 2 or any(a >= b for a, b in pairwise((-1, *omits, len(text) + 1))):
            raise ValueError("what is omitted is not in its text")
    return known


def _numbered(
    outcomes: list[Outcome], paths: list[str], settings: ReadSettings, workers: Workers | None = None
) -> Read:
    """Create documents with number, id and language from outcomes; the ids of equal texts differ by their order."""
    documents: list[Document] = []
    equal: Counter[str] = Counter()
    readable = [o for o in outcomes if isinstance(o, ParsedDocument)]
    cleaning = str(settings.cleaning)
    parts = (workers or Workers()).map_stored(
        examined,
        [len(parsed.text) for parsed in readable],
        (content_id(parsed.text, cleaning) for parsed in readable),
        lambda shard: ([readable[i].text for i in shard], settings.cleaning),
        lambda stored, shard: _checked([readable[i].text for i in shard], stored),
    )
    known = list(chain.from_iterable(parts))
    for parsed, (omits, _) in zip(readable, known, strict=True):
        id_ = content_id(parsed.text, str(equal[parsed.text]))
        equal[parsed.text] += 1
        stated = (parsed.title, parsed.text, parsed.path, parsed.date, parsed.metadata, parsed.places)
        documents.append(Document(id_, len(documents), *stated, omits))
    failures = [o for o in outcomes if isinstance(o, Failure)]
    skipped = [o for o in outcomes if isinstance(o, Skipped)]
    if not documents:
        raise NothingToIndex(_nothing(failures, skipped, paths))
    warnings = [o for o in outcomes if isinstance(o, EncodingWarning)]
    guesses = [language for _, language in known]
    return Read(with_languages(documents, guesses=guesses), failures, skipped, warnings)


def _nothing(failures: list[Failure], skipped: list[Skipped], paths: list[str]) -> str:
    formats = f"supported are {' '.join(sorted(FORMATS))}"
    reasons = [f"{f.document}: {f.error}" for f in failures] + [f"{s.document}: {s.reason}" for s in skipped]
    if not reasons and not paths:
        return "no document was given: the list of documents is empty"
    if not reasons:
        return f"no document could be read: there is none in {', '.join(paths[:3])}; {formats}"
    lines = reasons[:3]
    if len(reasons) > 3:
        lines.append(f"and {len(reasons) - 3:,} more")
    if skipped:
        lines.append(formats)
    return "\n  ".join(["no document could be read:", *lines])


# Memory


def _from_memory(values: Iterable[object], options: Options) -> Iterator[Outcome]:
    names: Counter[str] = Counter()
    for number, value in enumerate(values, start=1):
        name = f"memory#{number}"
        if isinstance(value, Mapping):
            fields = {
                k: v if k == options.text_field else _as_text(v) for k, v in cast("Fields", value).items()
            }
            key = next((k for k in ("path", "id") if fields.get(k) not in (None, "")), None)
            name, value = (str(fields.pop(key)) if key else name), fields
        names[name] += 1
        # numbered like the records of a file
        if names[name] > 1:
            name = f"{name}#{names[name]}"
        yield record(well_formed(name), value, options)
    if equal := [name for name, count in names.items() if count > 1]:
        examples = ", ".join(map(repr, equal[:3]))
        message = f"documents share an id or path ({examples}): the others are named {equal[0]}#2 and so on"
        warnings.warn(message, UserWarning, stacklevel=2)


def _as_text(value: Any) -> Any:
    """Return a list, array or mapping as JSON, so that no column of a table is lost; anything else unchanged."""
    # a numpy array or number
    if hasattr(value, "tolist"):
        value = value.tolist()
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
        if not os.path.exists(source) and not is_address(source):
            shown = source if len(source) <= 200 else source[:200] + "…"
            raise UsageError(f"there is no file or folder {well_formed(shown)!r}; nothing was read")
    # The given names by real path, so that no file is read twice.
    files: dict[str, str] = {}
    for source in sources:
        root = os.path.realpath(source)
        if is_address(source):
            walk = _at_address(source, settings)
        elif os.path.isdir(root):
            walk = Walk(root, _name(source), settings).outcomes()
        else:
            walk = [(root, _name(source))]
        for outcome in walk:
            if isinstance(outcome, tuple):
                files.setdefault(*outcome)
            else:
                yield outcome
    ordered = sorted(files.items(), key=lambda item: natural_order(item[1]))
    yield from _parsed(ordered, options, progress.stage("read", len(ordered)) if progress else None)


def natural_order(path: str) -> tuple[str, str]:
    """Return a key that sorts paths folder by folder, numbers by value, ignoring case.
    Each number is preceded by its number of digits. A single text takes a fifth of the memory of its parts.
    """
    names = _NUMBER.sub(lambda number: f"\1{chr(len(number[1]))}{number[1]}", path.casefold())
    return names.replace("/", "\0"), path


def _at_address(source: str, settings: ReadSettings) -> Iterator[tuple[str, str] | Skipped]:
    """Yield the address and name of each file to read at an address, and a `Skipped` for each that is left out."""
    excluded = _patterns(settings.exclude, "read.exclude")
    included = _patterns(settings.include, "read.include")
    for address, name in files_at(source):
        below = name.removeprefix(source).lstrip("/")
        if any(part.startswith(".") for part in below.split("/")):
            yield Skipped(name, _REASONS["hidden"], "hidden")
        elif (below and excluded and excluded.match_file(below)) or (
            below and included and not included.match_file(below)
        ):
            yield Skipped(name, _REASONS["excluded"], "excluded")
        else:
            yield address, name


def _parsed(files: list[tuple[str, str]], options: Options, tick: Tick | None) -> Iterator[Outcome]:
    """Yield the outcomes of each file, in order; parsing in other processes starts before the rest."""
    refused = {name: why for real, name in files if (why := _refusal(real, name, options))}
    remote = {name: real for real, name in files if name not in refused and is_address(real)}
    in_workers = {name for _, name in files if name not in refused and FORMATS[suffix_of(name)].in_worker}
    with ExitStack() as stack:
        n = min(MAX_PARSERS, os.cpu_count() or 1)
        pool = stack.enter_context(Processes(n, memory=options.memory, seconds=options.seconds))
        promised = {
            name: pool.submit(parse_file, real, name, options)
            for real, name in files
            if name in in_workers and name not in remote
        }
        copies = _copies(remote, options, stack)
        for real, name in files:
            file = next(copies) if name in remote else real
            if name in refused:
                yield refused[name]
            elif isinstance(file, Failure):
                yield file
            elif name in in_workers:
                promise = promised.pop(name, None) or pool.submit(parse_file, file, name, options)
                yield from _parsed_by_worker(promise, name, options)
            else:
                yield from parse_file(file, name, options)
            if isinstance(file, str) and name in remote:
                os.unlink(file)
            if tick:
                tick()


def _copies(remote: Mapping[str, str], options: Options, stack: ExitStack) -> Iterator[str | Failure]:
    """Yield the local copies of files at addresses (`remote`, by name), in order, while a few more are being copied."""
    folder = stack.enter_context(TemporaryDirectory()) if remote else ""
    threads = stack.enter_context(ThreadPoolExecutor(COPIED_AT_ONCE))
    fetch = ((address, name, folder, options) for name, address in remote.items())
    return Workers(COPIED_AT_ONCE, threads).map(copied, fetch)


def _parsed_by_worker(promised: Future[list[Outcome]], name: str, options: Options) -> list[Outcome]:
    """Return the outcomes of a file that another process parses; a failure if that process timed out or ended."""
    try:
        return promised.result()
    except WorkerEnded as error:
        if error.late:
            took = f"took more than {options.seconds:g} s to parse and was skipped"
            reason = f"{took}; split it, or save it as text or in another format"
        elif error.status is None:
            reason = f"was not read: {error}"
        else:
            why = f"it is damaged, or needs over {options.memory / MEGABYTE:,.0f} MB of memory"
            reason = f"ended its parser (exit status {error.status}): {why}; save it again or raise read.max_megabytes"
        return [Failure("read", reason, name)]


def _refusal(real: str, name: str, options: Options) -> Failure | Skipped | None:
    """Return the reason why a file is not to be parsed at all, or None."""
    suffix = suffix_of(name)
    if suffix not in FORMATS:
        kind = f"{suffix} files are" if suffix else "files whose names have no suffix are"
        return Skipped(name, f"{kind} not read", "format")
    if is_address(real):
        return None
    try:
        size = os.path.getsize(real)
    except OSError as error:
        return unreadable(name, error)
    if not os.path.isfile(real):
        return Skipped(name, "it is not a regular file", "special")
    if size > options.max_bytes:
        return Failure("read", too_large("is larger than {}", options.max_bytes), name)
    return None


# Folders

OWN = (".conspectus", "conspectus.toml", "corrections.toml")
"""Names of our own files and folders beside documents, which are expected there and therefore not even counted."""
_TOOLS = frozenset(("node_modules", "bower_components", "__pycache__", "__pypackages__", "site-packages"))
"""Names that package managers and interpreters give to their folders, and that no folder of documents has."""
_MARKERS = ("pyvenv.cfg", "CACHEDIR.TAG")
"""Files that mark a virtual environment and a cache (https://bford.info/cachedir/)."""
_REASONS = {
    "own": "Conspectus wrote it; name the file itself to read it",
    "tools": "it holds installed packages or a cache",
    "hidden": "it is hidden; name it to read it",
    "ignored": "a .gitignore or .conspectusignore leaves it out; name the file itself to read it, or all by"
    " settings={'read.gitignore': False}",
    "excluded": "the settings leave it out (read.exclude, read.include)",
}
_INSIDE = re.compile(r"/\*\*\s*$")
"""The end of `a/**`, which matches everything in `a` but not `a` itself, so that `!a/b` can re-include a part. `a/*`
means the same, and pathspec only treats the latter in this way."""
_NUMBER = re.compile("0*([0-9]+)")

Ignores = tuple[tuple[str, "GitIgnoreSpec"], ...]
"""Folders and the patterns of the ignore files in them, the nearest last."""


class Walk:
    """A walk through one folder and everything below it."""

    def __init__(self, root: str, name: str, settings: ReadSettings) -> None:
        self._root = root
        self._settings = settings
        self._excluded = _patterns(settings.exclude, "read.exclude")
        self._included = _patterns(settings.include, "read.include")
        self._folders = [(root, name, _ignores_above(root) if settings.gitignore else ())]
        self._links: list[tuple[str, str]] = []
        # files that Conspectus wrote, according to its lists
        self._written: set[str] = set()

    def outcomes(self) -> Iterator[tuple[str, str] | Failure | Skipped]:
        """Yield the real path and name of each file to read, and a `Skipped` or `Failure` for what is not read."""
        seen: set[str] = set()
        while self._folders or self._links:
            # Links last, so that a file that is also found under its own name is read under that.
            if not self._folders:
                yield from self._follow(*self._links.pop(0))
                continue
            path, name, ignores = self._folders.pop()
            if path in seen:
                continue
            seen.add(path)
            if is_index(Path(path)):
                yield Skipped(name, "it is an index of Conspectus, not a document", "own")
                continue
            if path != self._root and any(os.path.exists(os.path.join(path, marker)) for marker in _MARKERS):
                yield Skipped(name, _REASONS["tools"], "tools")
                continue
            try:
                # one entry at a time: a folder may have 200,000
                with os.scandir(path) as entries:
                    yield from self._entries(path, name, ignores, entries)
            except OSError as error:
                yield unreadable(name, error)

    def _entries(
        self, path: str, name: str, ignores: Ignores, entries: Iterable[os.DirEntry[str]]
    ) -> Iterator[tuple[str, str] | Skipped]:
        files = (".gitignore", ".conspectusignore") if self._settings.gitignore else (".conspectusignore",)
        there = [file for file in files if os.path.exists(os.path.join(path, file))]
        ignores = (*ignores, *((path, _ignore_file(path, file)) for file in there))
        for listing in LISTINGS:
            self._written.update(_listed_files(path, listing))
        for entry in entries:
            if entry.name in OWN:
                continue
            own_name, is_folder = _name(name, entry.name), entry.is_dir(follow_symlinks=False)
            kind = self._left_out(entry, own_name, ignores)
            if kind == "hidden" and not is_folder and suffix_of(entry.name) not in FORMATS:
                continue
            if kind:
                yield Skipped(own_name, _REASONS[kind], kind)
            elif entry.is_symlink():
                self._links.append((entry.path, own_name))
            elif is_folder:
                self._folders.append((entry.path, own_name, ignores))
            else:
                yield entry.path, own_name

    def _left_out(self, entry: os.DirEntry[str], name: str, ignores: Ignores) -> str:
        """Return why an entry of a folder is left out, a key of `_REASONS`; "" if it is not."""
        is_folder = entry.is_dir(follow_symlinks=False)
        path = entry.path + "/" * is_folder
        if entry.name.startswith("."):
            return "hidden"
        if is_folder and entry.name in _TOOLS:
            return "tools"
        if self._excluded and self._matches(self._excluded, path, name):
            return "excluded"
        if _is_ignored(path, ignores):
            return "ignored"
        if self._included and not is_folder and not self._matches(self._included, path, name):
            return "excluded"
        if not entry.is_file(follow_symlinks=False):
            return ""
        return "own" if entry.path in self._written or _is_ours(entry.path) else ""

    def _matches(self, spec: GitIgnoreSpec, path: str, name: str) -> bool:
        """Return whether patterns of the settings match, relative to the folder read or to the working directory."""
        here = name.removeprefix("./").lstrip("/") + "/" * path.endswith("/")
        return spec.match_file(_relative(path, self._root)) or spec.match_file(here)

    def _follow(self, link: str, name: str) -> Iterator[tuple[str, str] | Skipped]:
        """Yield the file that a link leads to, or why it is not followed; a folder is queued for the walk."""
        real = os.path.realpath(link)
        inside = os.path.commonpath([self._root, real]) == self._root
        if not os.path.exists(real):
            yield Skipped(name, "it is a broken link", "link")
        elif not (inside or self._settings.follow_symlinks):
            reason = "it is a link that leads out of the folder; name it as a source, or follow links: "
            yield Skipped(name, reason + "settings={'read.follow_symlinks': True}", "link")
        elif os.path.isfile(real):
            yield real, name
        elif os.path.isdir(real) and not inside:  # a folder inside the root is read anyway
            self._folders.append((real, name, ()))


def _name(*parts: str) -> str:
    return well_formed(PurePath(*parts).as_posix())


def _relative(path: str, base: str) -> str:
    return well_formed(PurePath(os.path.relpath(path, base)).as_posix()) + "/" * path.endswith("/")


def _is_ours(path: str) -> bool:
    """Return whether the first bytes of a file say that Conspectus wrote it; False if it cannot be read."""
    if suffix_of(path) not in FORMATS:
        return False
    with suppress(OSError), open(path, "rb", buffering=0) as file:
        return is_generated(file.read(HEAD))
    return False


def _listed_files(folder: str, listing: str) -> Iterator[str]:
    """Yield the files that Conspectus wrote in and below a folder, according to its list of them."""
    path = Path(folder, listing)
    try:
        names = json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError, RecursionError):
        return
    if isinstance(names, list):
        yield from (os.path.join(folder, str(name)) for name in cast("list[object]", names))


# Patterns


def _patterns(lines: Sequence[str], setting: str) -> GitIgnoreSpec | None:
    if not lines:
        return None
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError as error:
        raise UsageError(f"{setting}: {error}; write patterns as in .gitignore files") from None


def _ignore_file(folder: str, name: str) -> GitIgnoreSpec:
    """Return the patterns of an ignore file; invalid lines are ignored, as git does."""
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines([])
    path = Path(folder, name)
    with suppress(OSError):
        for line in path.read_text("utf-8-sig", "replace").splitlines() if path.is_file() else ():
            with suppress(ValueError):
                spec += GitIgnoreSpec.from_lines([_INSIDE.sub("/*", line)])
    return spec


def _is_ignored(path: str, ignores: Ignores) -> bool:
    """Return whether ignore files leave out a path; the nearest file with a matching pattern decides."""
    for base, spec in reversed(ignores):
        if (decided := spec.check_file(_relative(path, base)).include) is not None:
            return decided
    return False


def _ignores_above(root: str) -> Ignores:
    """Return the patterns of the .gitignore files above a folder, from the root of its repository on.
    If they leave out the folder itself or all its contents, they are ignored, since the folder was named explicitly.
    """
    above: list[str] = []
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ()  # in no repository
        above.append(folder := parent)
    ignores = tuple((base, _ignore_file(base, ".gitignore")) for base in reversed(above))
    left_out = _is_ignored(f"{root}/", ignores) or _is_ignored(os.path.join(root, "any"), ignores)
    return () if left_out else ignores
