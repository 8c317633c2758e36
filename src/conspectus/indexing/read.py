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
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

from conspectus.errors import DocumentError, NothingToIndex, UsageError
from conspectus.readers import (
    FORMATS,
    HEAD,
    LISTINGS,
    Options,
    Outcome,
    ParsedDocument,
    is_generated,
    missing_package,
    parse,
    suffix_of,
    too_large,
)
from conspectus.readers.records import record
from conspectus.rows import Document, EncodingWarning, Failure, Skipped, content_id
from conspectus.storage.manifests import is_index
from conspectus.text.language import with_languages
from conspectus.tokens import well_formed

if TYPE_CHECKING:
    from concurrent.futures import Future

    from pathspec import GitIgnoreSpec

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
    if (
        hasattr(sources, "to_dict") and getattr(sources, "ndim", 2) > 1
    ):  # a column of a table is a list of texts
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
    formats = " ".join(sorted(FORMATS))
    reasons = [f"{f.document}: {f.error}" for f in failures] + [f"{s.document}: {s.reason}" for s in skipped]
    if not reasons and not paths:
        return "no document was given: the list of documents is empty"
    if not reasons:
        named = ", ".join(paths[:3])
        return f"no document could be read: there is none in {named}; what is read are {formats}"
    more = [f"and {len(reasons) - 3:,} more"] if len(reasons) > 3 else []
    known = [f"what is read are {formats}"] if skipped else []
    return "no document could be read:\n" + "\n".join(f"  {line}" for line in reasons[:3] + more + known)


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
    """Return a list, an array or an object as JSON, so that a column of a table is not lost; anything else as it is."""
    if hasattr(value, "tolist"):  # an array of numpy, or one of its numbers
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
    isolated = [
        (real, name) for real, name in files if name not in refused and FORMATS[suffix_of(name)].isolated
    ]
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


OWN = (".conspectus", "conspectus.toml", "corrections.toml")
"""What is beside documents that are ours, and that everybody who has it wants there: it is not even counted."""
_TOOLS = frozenset(("node_modules", "bower_components", "__pycache__", "__pypackages__", "site-packages"))
"""What package managers and interpreters call their folders, and nobody calls a folder of documents."""
_MARKERS = ("pyvenv.cfg", "CACHEDIR.TAG")
"""Files that mark a virtual environment, and a cache (https://bford.info/cachedir/)."""
_IGNORES = (".gitignore", ".conspectusignore")
_IGNORED = (
    "a .gitignore or .conspectusignore leaves it out; name the file itself to read it, or all by"
    " settings={'read.gitignore': False}"
)
_INSIDE = re.compile(r"/\*\*\s*$")
"""The end of `a/**`: all that is in `a`, but not `a` itself, so that `!a/b` can take some back. `a/*` means the same,
and pathspec takes the latter alone so."""
_NUMBER = re.compile("([0-9]+)")

FoundFile = tuple[str, str]
"""The real path of a file, and the name by which it was given."""


def natural_order(path: str) -> tuple[Any, ...]:
    """Return what sorts paths folder by folder, numbers by their value, upper and lower case alike."""
    names: list[list[Any]] = [_NUMBER.split(name) for name in path.casefold().split("/")]
    for parts in names:
        parts[1::2] = map(int, parts[1::2])  # every second one is a number
    return names, path


def unreadable(name: str, error: OSError) -> Failure:
    """Return the failure of a file or folder that the system does not let us read."""
    return Failure("read", f"cannot be read: {error.strerror or error}; change that, then run again", name)


@dataclass(frozen=True)
class _Folder:
    """A folder to look into: its real path, the name it was given by, and the ignore files that hold in it."""

    path: str
    name: str
    ignores: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    """Folders above, and what their ignore files say, the nearest last."""

    def ignored(self, path: str) -> bool:
        """Tell whether an ignore file leaves something in this folder out; the nearest that says something decides."""
        for base, spec in reversed(self.ignores):
            if (decided := spec.check_file(_relative(path, base)).include) is not None:
                return decided
        return False


def files_of(source: str, settings: ReadSettings) -> Iterator[FoundFile | Failure | Skipped]:
    """Yield every file of a source that is to be read, and what keeps others from being read."""
    root = os.path.realpath(source)
    if os.path.isdir(root):
        yield from _Walk(root, source, settings).outcomes()
    else:
        yield root, _name(source)


class _Walk:
    """The walk through one folder and all that is below it."""

    def __init__(self, root: str, source: str, settings: ReadSettings) -> None:
        self._root = root
        self._settings = settings
        self._links: list[FoundFile] = []
        self._written: set[str] = set()  # files that Conspectus wrote, by the lists that it left beside them
        above = tuple(_ignores_above(root)) if settings.gitignore else ()
        self._folders = [_Folder(root, _name(source), above)]
        self._excluded = _patterns(settings.exclude, "read.exclude")
        self._included = _patterns(settings.include, "read.include")

    def outcomes(self) -> Iterator[FoundFile | Failure | Skipped]:
        seen: set[str] = set()
        while self._folders or self._links:
            if not self._folders:  # links last, so that a file that is also there under its own name keeps it
                yield from self._follow(*self._links.pop(0))
                continue
            folder = self._folders.pop()
            if folder.path not in seen:
                seen.add(folder.path)
                yield from self._look_into(folder)

    def _look_into(self, folder: _Folder) -> Iterator[FoundFile | Failure | Skipped]:
        if is_index(Path(folder.path)):
            yield Skipped(folder.name, "it is an index of Conspectus, not a document", "own")
            return
        try:
            entries = list(os.scandir(folder.path))
        except OSError as error:
            yield unreadable(folder.name, error)
            return
        names = {entry.name for entry in entries}
        if folder.path != self._root and not names.isdisjoint(_MARKERS):
            yield Skipped(folder.name, "it holds installed packages or a cache", "tools")
            return
        files = names.intersection(_IGNORES if self._settings.gitignore else _IGNORES[1:])
        ignores = ((folder.path, _ignore_file(folder.path, name)) for name in _IGNORES if name in files)
        folder = replace(folder, ignores=(*folder.ignores, *ignores))
        for listing in names.intersection(LISTINGS):
            self._written.update(_listed_files(folder.path, listing))
        for entry in entries:
            if entry.name in OWN:
                continue
            name = _name(folder.name, entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if entry.name.startswith("."):
                if is_folder or suffix_of(entry.name) in FORMATS:
                    yield Skipped(name, "it is hidden; name it to read it", "hidden")
                continue
            if skipped := self._left_out(folder, entry.path + "/" * is_folder, name):
                yield skipped
            elif entry.is_symlink():
                self._links.append((entry.path, name))
            elif is_folder:
                self._folders.append(replace(folder, path=entry.path, name=name))
            elif not entry.is_file():
                yield Skipped(name, "it is not a regular file", "special")
            elif entry.path in self._written or _is_ours(entry.path):
                yield Skipped(name, "Conspectus wrote it; name the file itself to read it", "own")
            else:
                yield entry.path, name

    def _left_out(self, folder: _Folder, path: str, name: str) -> Skipped | None:
        """Return why something is left out by its path (a folder's ends with a slash), None where it is not."""
        is_folder = path.endswith("/")
        if is_folder and os.path.basename(path[:-1]) in _TOOLS:
            return Skipped(name, "it holds installed packages or a cache", "tools")
        if self._excluded and self._matches(self._excluded, path, name):
            return Skipped(name, "it is excluded by the settings (read.exclude)", "excluded")
        if folder.ignored(path):
            return Skipped(name, _IGNORED, "ignored")
        if self._included and not is_folder and not self._matches(self._included, path, name):
            return Skipped(name, "it is not among what the settings include (read.include)", "excluded")
        return None

    def _matches(self, spec: GitIgnoreSpec, path: str, name: str) -> bool:
        """Tell whether patterns of the settings match, from the folder that is read, or from where we are."""
        here = name.removeprefix("./").lstrip("/") + "/" * path.endswith("/")
        return spec.match_file(_relative(path, self._root)) or spec.match_file(here)

    def _follow(self, link: str, name: str) -> Iterator[FoundFile | Skipped]:
        """Yield a file that a link leads to, or why it is not followed; a folder is looked into later."""
        real = os.path.realpath(link)
        inside = os.path.commonpath([self._root, real]) == self._root
        if not os.path.exists(real):
            yield Skipped(name, "it is a link that leads nowhere", "link")
        elif not (inside or self._settings.follow_symlinks):
            reason = "it is a link that leads out of the folder; name it as a source, or follow links: "
            reason += "settings={'read.follow_symlinks': True}"
            yield Skipped(name, reason, "link")
        elif os.path.isfile(real):
            yield real, name
        elif os.path.isdir(real) and not inside:  # one inside is read anyway
            self._folders.append(_Folder(real, name))


def _name(*parts: str) -> str:
    return well_formed(PurePath(*parts).as_posix())


def _relative(path: str, base: str) -> str:
    return well_formed(PurePath(os.path.relpath(path, base)).as_posix()) + "/" * path.endswith("/")


# What Conspectus wrote


def _is_ours(path: str) -> bool:
    """Tell whether a file says in its first bytes that Conspectus wrote it."""
    if suffix_of(path) not in FORMATS:
        return False
    try:
        with open(path, "rb") as file:
            return is_generated(file.read(HEAD))
    except OSError:
        return False  # reading it will say why


def _listed_files(folder: str, listing: str) -> Iterator[str]:
    """Yield the files that Conspectus wrote into a folder and below it, by its list of them."""
    try:
        names = json.loads(Path(folder, listing).read_bytes())
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
    try:
        lines = Path(folder, name).read_text("utf-8-sig", "replace").splitlines()
    except OSError:
        return spec
    for line in lines:
        try:
            spec = spec + GitIgnoreSpec.from_lines([_INSIDE.sub("/*", line)])
        except ValueError:
            continue
    return spec


def _ignores_above(root: str) -> Iterator[tuple[str, GitIgnoreSpec]]:
    """Yield what the .gitignore files above a folder say, from the root of its repository on.

    None of them counts where they leave out the folder itself, or all that is in it: whoever names it wants it read.
    """
    above: list[str] = []
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return  # in no repository
        above.append(folder := parent)
    ignore_files = [(base, _ignore_file(base, ".gitignore")) for base in reversed(above)]
    inside = _Folder(root, "", tuple(ignore_files))
    if not inside.ignored(f"{root}/") and not inside.ignored(os.path.join(root, "any")):
        yield from ignore_files
