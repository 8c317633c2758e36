"""Stage 1: from files, folders and memory to documents.

Files come in natural order of their paths (`part2` before `part10`, upper and lower case alike), whatever the
order of the sources and of the file system; documents from memory follow in the order they are given.

A file or folder that is named is read whatever it is. Of what is in a folder we leave out, and count:

- `own`: what Conspectus wrote, an index or a file that says so (`readers.GENERATED`);
- `tools`: installed packages and caches (`node_modules`, virtual environments, folders with a CACHEDIR.TAG);
- `hidden`: folders, and files of formats that are read, whose names begin with a dot;
- `ignored`: what `.conspectusignore` and, unless `read.gitignore` is off, `.gitignore` files say: those in the folder
  and below it, and those above it up to the root of its repository;
- `excluded`: what the settings `read.exclude` and `read.include` say.

At an address the patterns of the settings count, and hidden files and folders are left out.

All patterns are those of gitignore(5), relative to where they are written; those of the settings are relative to the
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
from conspectus.readers.records import record
from conspectus.readers.sources import copied, files_at, is_address, parse_file, unreadable
from conspectus.rows import Document, EncodingWarning, Failure, Skipped, content_id
from conspectus.storage.manifests import is_index
from conspectus.text.cleaning import Omitted, examined
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
"""Processes that parse files at once: each takes 22 MB when it starts, and as much as a file needs."""
COPIED_AT_ONCE = 8
"""Files at addresses that are copied at once; twice as many wait on disk: a store takes some 100 ms for a small one."""


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


def read(
    sources: Sources, settings: ReadSettings, progress: Progress | None = None, workers: Workers | None = None
) -> Read:
    """Read all documents of files and folders; objects with fields and rows of data frames are documents.

    Strings are paths or addresses here, `~` stands for the home folder; `read_texts` takes them as documents. A file
    that is named is read whatever it is; what is left out of folders, the head of this module says.

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
    return _numbered(outcomes, paths, settings, workers)


def read_texts(documents: str | Fields | Frame | Iterable[str | Fields], settings: ReadSettings) -> Read:
    """Take documents from memory: texts, or objects with `text`, `title`, `path` or `id`, `date` and others.

    Raises:
        NothingToIndex: not one of them is a document.
    """
    return _numbered(list(_from_memory(_listed(documents), Options.of(settings))), [], settings)


def _listed(sources: Any) -> list[Any]:
    if isinstance(sources, str | Path | Mapping):
        return [cast("Any", sources)]
    # A table; one column of it is a list of texts.
    if hasattr(sources, "to_dict") and getattr(sources, "ndim", 2) > 1:
        return list(sources.to_dict("records"))
    return list(sources)


def _checked(texts: Sequence[str], stored: Any) -> list[tuple[Omitted, str]]:
    """Return what is stored of texts; raise ValueError or TypeError where it is not what `examined` returns."""
    known = [(tuple(map(int, omits)), str(language)) for omits, language in stored]
    for text, (omits, _) in zip(texts, known, strict=True):
        if len(omits) % 2 or any(a >= b for a, b in pairwise((-1, *omits, len(text) + 1))):
            raise ValueError("what is omitted is not in its text")
    return known


def _numbered(
    outcomes: list[Outcome], paths: list[str], settings: ReadSettings, workers: Workers | None = None
) -> Read:
    """Give every document its number, id and language; equal texts are told apart by their order."""
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
    formats = f"what is read are {' '.join(sorted(FORMATS))}"
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
        # as the records of a file
        if names[name] > 1:
            name = f"{name}#{names[name]}"
        yield record(well_formed(name), value, options)
    if equal := [name for name, count in names.items() if count > 1]:
        examples = ", ".join(map(repr, equal[:3]))
        message = (
            f"documents share an id or path ({examples}): the further ones are called {equal[0]}#2 and so on"
        )
        warnings.warn(message, UserWarning, stacklevel=2)


def _as_text(value: Any) -> Any:
    """Return a list, an array or an object as JSON, so that a column of a table is not lost; anything else as it is."""
    # an array of numpy, or one of its numbers
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
    # The names that were given, by real path, so that nothing is read twice.
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
    """Return what sorts paths folder by folder, numbers by their value, upper and lower case alike.
    Before a number stands how many digits it has. One text takes a fifth of the memory that its parts would.
    """
    names = _NUMBER.sub(lambda number: f"\1{chr(len(number[1]))}{number[1]}", path.casefold())
    return names.replace("/", "\0"), path


def _at_address(source: str, settings: ReadSettings) -> Iterator[tuple[str, str] | Skipped]:
    """Yield address and name of every file at an address that is to be read, and what is left out."""
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
    """Yield what comes of each file, in their order; what other processes do is begun before the rest."""
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
    """Yield the copies of files at addresses, by their names, in their order, with a few more under way."""
    folder = stack.enter_context(TemporaryDirectory()) if remote else ""
    threads = stack.enter_context(ThreadPoolExecutor(COPIED_AT_ONCE))
    fetch = ((address, name, folder, options) for name, address in remote.items())
    return Workers(COPIED_AT_ONCE, threads).map(copied, fetch)


def _parsed_by_worker(promised: Future[list[Outcome]], name: str, options: Options) -> list[Outcome]:
    """Return what comes of a file that another process parses, a failure where that gave up or ended."""
    try:
        return promised.result()
    except WorkerEnded as error:
        if error.late:
            took = f"took more than {options.seconds:g} s to parse and was given up"
            reason = f"{took}; split it, or save it as text or in another format"
        elif error.status is None:
            reason = f"was not read: {error}"
        else:
            why = f"it is damaged, or needs over {options.memory / MEGABYTE:,.0f} MB of memory"
            reason = f"ended its parser (exit status {error.status}): {why}; save it again or raise read.max_megabytes"
        return [Failure("read", reason, name)]


def _refusal(real: str, name: str, options: Options) -> Failure | Skipped | None:
    """Return why a file is not read at all, where it is not."""
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
"""What is beside documents that are ours, and that everybody who has it wants there: it is not even counted."""
_TOOLS = frozenset(("node_modules", "bower_components", "__pycache__", "__pypackages__", "site-packages"))
"""What package managers and interpreters call their folders, and nobody calls a folder of documents."""
_MARKERS = ("pyvenv.cfg", "CACHEDIR.TAG")
"""Files that mark a virtual environment, and a cache (https://bford.info/cachedir/)."""
_REASONS = {
    "own": "Conspectus wrote it; name the file itself to read it",
    "tools": "it holds installed packages or a cache",
    "hidden": "it is hidden; name it to read it",
    "ignored": "a .gitignore or .conspectusignore leaves it out; name the file itself to read it, or all by"
    " settings={'read.gitignore': False}",
    "excluded": "the settings leave it out (read.exclude, read.include)",
}
_INSIDE = re.compile(r"/\*\*\s*$")
"""The end of `a/**`: all that is in `a`, but not `a` itself, so that `!a/b` can take some back. `a/*` means the same,
and pathspec takes the latter alone so."""
_NUMBER = re.compile("0*([0-9]+)")

Ignores = tuple[tuple[str, "GitIgnoreSpec"], ...]
"""Folders, and what the ignore files in them say, the nearest last."""


class Walk:
    """The walk through one folder and all that is below it."""

    def __init__(self, root: str, name: str, settings: ReadSettings) -> None:
        self._root = root
        self._settings = settings
        self._excluded = _patterns(settings.exclude, "read.exclude")
        self._included = _patterns(settings.include, "read.include")
        self._folders = [(root, name, _ignores_above(root) if settings.gitignore else ())]
        self._links: list[tuple[str, str]] = []
        # files that Conspectus wrote, by its lists
        self._written: set[str] = set()

    def outcomes(self) -> Iterator[tuple[str, str] | Failure | Skipped]:
        """Yield real path and name of every file that is to be read, and what is left out."""
        seen: set[str] = set()
        while self._folders or self._links:
            # Links last, so that a file that is also there under its own name keeps it.
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
                # a folder may hold 200,000: one at a time
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
        """Return why something in a folder is left out, a key of `_REASONS`; empty where it is not."""
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
        """Tell whether patterns of the settings match, from the folder that is read, or from where we are."""
        here = name.removeprefix("./").lstrip("/") + "/" * path.endswith("/")
        return spec.match_file(_relative(path, self._root)) or spec.match_file(here)

    def _follow(self, link: str, name: str) -> Iterator[tuple[str, str] | Skipped]:
        """Yield a file that a link leads to, or why it is not followed; a folder is looked into later."""
        real = os.path.realpath(link)
        inside = os.path.commonpath([self._root, real]) == self._root
        if not os.path.exists(real):
            yield Skipped(name, "it is a link that leads nowhere", "link")
        elif not (inside or self._settings.follow_symlinks):
            reason = "it is a link that leads out of the folder; name it as a source, or follow links: "
            yield Skipped(name, reason + "settings={'read.follow_symlinks': True}", "link")
        elif os.path.isfile(real):
            yield real, name
        elif os.path.isdir(real) and not inside:  # one inside is read anyway
            self._folders.append((real, name, ()))


def _name(*parts: str) -> str:
    return well_formed(PurePath(*parts).as_posix())


def _relative(path: str, base: str) -> str:
    return well_formed(PurePath(os.path.relpath(path, base)).as_posix()) + "/" * path.endswith("/")


def _is_ours(path: str) -> bool:
    """Tell whether a file says in its first bytes that Conspectus wrote it; what cannot be read does not."""
    if suffix_of(path) not in FORMATS:
        return False
    with suppress(OSError), open(path, "rb", buffering=0) as file:
        return is_generated(file.read(HEAD))
    return False


def _listed_files(folder: str, listing: str) -> Iterator[str]:
    """Yield the files that Conspectus wrote into a folder and below it, by its list of them."""
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
        raise UsageError(f"{setting}: {error}; patterns are those of .gitignore files") from None


def _ignore_file(folder: str, name: str) -> GitIgnoreSpec:
    """Return the patterns of an ignore file, but for lines that are none: version control passes them over, too."""
    from pathspec import GitIgnoreSpec

    spec = GitIgnoreSpec.from_lines([])
    path = Path(folder, name)
    with suppress(OSError):
        for line in path.read_text("utf-8-sig", "replace").splitlines() if path.is_file() else ():
            with suppress(ValueError):
                spec += GitIgnoreSpec.from_lines([_INSIDE.sub("/*", line)])
    return spec


def _is_ignored(path: str, ignores: Ignores) -> bool:
    """Tell whether an ignore file leaves something out; the nearest that says something decides."""
    for base, spec in reversed(ignores):
        if (decided := spec.check_file(_relative(path, base)).include) is not None:
            return decided
    return False


def _ignores_above(root: str) -> Ignores:
    """Return what the .gitignore files above a folder say, from the root of its repository on.
    None of them counts where they leave out the folder itself, or all that is in it: whoever names it wants it read.
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
