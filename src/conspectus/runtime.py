"""Shared by building and asking: arguments and options, the settings and model of a run, sync wrappers, progress."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TextIO, TypedDict, TypeVar, cast

from conspectus import configuration
from conspectus.configuration import INDEX, Resolved
from conspectus.errors import (
    BadKey,
    ConspectusError,
    IndexMissing,
    ServerDown,
    StoreError,
    UnknownModel,
    Unusable,
    UsageError,
    did_you_mean,
)
from conspectus.index import Index
from conspectus.index_models import FUNCTION, with_index_models
from conspectus.models import llm
from conspectus.models.base import Model, Performing, Performs, run_sync
from conspectus.rows import Usage, snippet
from conspectus.settings import EXTRACTIVE, Settings
from conspectus.storage import manifests, store

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress
    from conspectus.indexing.read import Read
    from conspectus.models.llm.adapters import ChatFunction, EmbedFunction
    from conspectus.models.llm.model import Session
    from conspectus.workers import Workers

T = TypeVar("T")
P = ParamSpec("P")
F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_FOLDER = ".conspectus"
LEAST_WORDS = 4
"""Minimum number of words for a source that does not exist to be taken for a text instead of a file name."""
LONGEST_QUESTION = 20_000
"""Maximum characters of a question: some 5,000 tokens or five pages, which take up to 4 CPU s (Chinese; English 1). A
longer text should be a document."""
QUESTION_CHARACTERS = 2.5
"""The maximum per token of evidence (`answer.context_tokens`, by default 8,000), if that allows more characters."""
WIDTH = 40
"""Minimum width of a progress line, in columns: wider than any count of a stage, which the line overwrites."""
EVERY = 0.1
"""Seconds between two updates of a progress line: ten updates a second look smooth and cost nothing."""
Given = Settings | Resolved | Mapping[str, Any] | None
"""Settings as an object, with their origins, or as `{"chunk.tokens": 800}`; None for those of `conspectus.toml` and the
environment. Models of an index are added only to a mapping or None, because only these show what the caller omitted."""


# Arguments of the public functions


class Options(TypedDict, total=False):
    """Options of every function that may ask a model.

    settings: a `Settings` object or `{"chunk.tokens": 800}`; by default those of `conspectus.toml` and the environment.
    model: the language model. A name (`openai/gpt-4.1-mini`; `extractive` for none), a function from messages
        (dictionaries with `role` and `content`) to the text of the reply, sync or async, or an object with `perform`.
    base_url: the address of the model server.
    embedder: the embedding model. A name (`local`, `openai/text-embedding-3-small`; `none` for no vectors), or a
        function from texts to vectors, sync or async.
    """

    settings: Given
    model: str | ChatFunction | Performs | None
    base_url: str | None
    embedder: str | EmbedFunction | None


def public(function: F) -> F:
    """Decorate a public function: check its arguments, and list its `**options` in its signature and docstring."""
    signature = inspect.signature(function)
    doc = function.__doc__
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if len(own) < len(signature.parameters):
        kind: str = function.__annotations__["options"]
        names_of_module = inspect.unwrap(function).__globals__
        options: Any = names_of_module[kind.removeprefix("Unpack[").removesuffix("]")]
        names = sorted(options.__annotations__, key=lambda name: name in Options.__annotations__)
        hints = {name: options.__annotations__[name].__forward_arg__ for name in names}
        own += [
            inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hints[n])
            for n in names
        ]
        more = options is not Options and "model" in options.__annotations__
        docs = (doc, options.__doc__, Options.__doc__ if more else "")
        doc = "\n\n".join(inspect.cleandoc(text) for text in docs if text)
    name = function.__qualname__.removesuffix(".__init__")
    shown_signature = signature.replace(parameters=own)

    def check(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        given = [_index_in(value) for value in args]
        named = {key: _index_in(value) for key, value in kwargs.items()}
        _check_arguments(name, shown_signature, given, named)
        return given, named

    @functools.wraps(function)
    async def checked_async(*args: Any, **kwargs: Any) -> Any:
        given, named = check(args, kwargs)
        return await function(*given, **named)

    @functools.wraps(function)
    def checked_sync(*args: Any, **kwargs: Any) -> Any:
        given, named = check(args, kwargs)
        try:
            return function(*given, **named)
        except ConspectusError as error:  # a notebook would show a hundred lines of event loops
            raise error.with_traceback(None)  # noqa: B904

    checked: Any = checked_async if inspect.iscoroutinefunction(function) else checked_sync
    checked.__doc__ = doc
    checked.__signature__ = shown_signature
    return checked


class WithIndex:
    """A base class of results that are accepted in place of their `index`, like the result of `build`."""

    index: Index


AnyIndex = Index | WithIndex | str | Path
"""An index, a result of `build`, or the folder of an index."""


def _index_in(value: Any) -> Any:
    """Replace a result of `build` by its index, also inside lists; return anything else unchanged."""
    if isinstance(value, WithIndex):
        return value.index
    return [_index_in(part) for part in value] if type(value) in (list, tuple) else value


def synchronous(function: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return the synchronous form of a public asynchronous function, for example `ask` for `aask`."""
    inner: Callable[P, Coroutine[Any, Any, T]] = inspect.unwrap(function)

    @functools.wraps(inner)
    def work(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_sync(inner(*args, **kwargs))

    work.__name__ = work.__qualname__ = inner.__name__.removeprefix("a")
    return public(work)


def _check_arguments(
    name: str, signature: inspect.Signature, args: Sequence[object], kwargs: Mapping[str, object]
) -> None:
    """Raise TypeError for an unknown argument, UsageError for an index, a text or a value in the wrong position."""
    parameters = {n: p for n, p in signature.parameters.items() if n != "self"}
    for unknown in (n for n in kwargs if n not in parameters):
        keys = [key for key in configuration.FIELDS if unknown in (key, key.rpartition(".")[2])]
        advice = did_you_mean(unknown, parameters) or f"; there are {', '.join(parameters)}"
        if keys:
            advice = f"; it is a setting: settings={{{keys[0]!r}: ...}}"
        raise TypeError(f"{name}() has no argument {unknown!r}{advice}")
    positional = [n for n, p in parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
    call = f"{name}({', '.join(positional)})"
    try:
        given = signature.bind_partial(*args, **kwargs).arguments
    except TypeError as error:
        raise UsageError(f"{call}: {error}; pass the others by name, and several indexes as a list") from None
    for parameter, value in given.items():
        is_index = isinstance(value, Index)
        if is_index and parameter not in ("self", "index", "folder", "correction"):
            first = f"the {positional[0]} comes first: {call}"
            raise UsageError(f"{first}; {value!r} was given as {parameter}")
        is_text = isinstance(value, str)
        names_index = is_text and os.path.isfile(os.path.join(value, manifests.NAME))
        if parameter == "question" and (names_index or not is_text):
            raise UsageError(f"the question comes first: {call}; it must be a text, not {value!r}")
        annotation = str(parameters[parameter].annotation) if parameter in parameters else ""
        takes_path = parameter in ("folder", "path", "file") or annotation == "str | Path"
        if takes_path and not (is_index or isinstance(value, str | os.PathLike | None)):
            raise UsageError(f"{call}: the {parameter} must be a path, not {type(value).__name__}")
        if parameter in ("folder", "path", "index") and value == "":
            raise UsageError(f"{call}: the {parameter} is empty; '.' is the working directory")
        is_list = parameter in ("sources", "documents", "where") and annotation != "bool"
        if is_list and isinstance(value, int | float):
            raise UsageError(f"{call}: the {parameter} cannot be {value!r}")


def check_question(question: str, context_tokens: int = 0) -> None:
    """Raise UsageError if a question is empty, or too long for answers from `context_tokens` tokens of evidence."""
    if not question.strip():
        raise UsageError("the question is empty")
    longest = max(LONGEST_QUESTION, int(QUESTION_CHARACTERS * context_tokens))
    if len(question) > longest:
        advice = "index a longer text as a document, or raise answer.context_tokens"
        raise UsageError(f"the question has {len(question):,} characters, more than {longest:,}: {advice}")


RENAMED = {
    "hippo": "its default form is now the method combined, and those of the papers are hipporag and hipporag2"
}
"""The earlier names of methods, each with a message that explains the new ones."""


def named(methods: Mapping[str, T], name: str) -> T:
    """Return a method by its name; raise UsageError if there is none."""
    if name not in methods:
        new = RENAMED.get(str(name))
        near = f": {new}" if new else did_you_mean(str(name), methods)
        raise UsageError(f"there is no method {name!r}{near}; there are {', '.join(methods)}")
    return methods[name]


# Indexes and sources


def path_of(target: object) -> Path:
    """Return the path of a folder or index, with `~` expanded (shells do not expand it in quotes and after `=`).

    Raises UsageError if an index is not stored in a folder.
    """
    if isinstance(target, Index):
        if target.folder is None:
            raise UsageError("this index is not stored in a folder: build it into one")
        return target.folder
    if not isinstance(target, str | os.PathLike):
        raise UsageError(f"expected one index or its folder, not {type(target).__name__}")
    return Path(os.path.expanduser(target))


def opened(index: object) -> Index:
    """Return an index, opening it if a folder is given; raise the same errors as `open_index`."""
    return index if isinstance(index, Index) else store.read(path_of(index))


def settings_in(folder: Path) -> list[Mapping[str, Any]]:
    """Return a list with the settings that the index in a folder was built with; empty if no index can be read.

    If there is no index yet, they are those of an interrupted build whose replies are cached in the folder.
    """
    try:
        return [manifests.current(folder).settings]
    except IndexMissing:
        # imported here, so that it costs no time if there is an index
        from conspectus.models.llm.cache import begun_in

        begun = begun_in(folder)
        return [begun] if begun else []
    except StoreError:
        return []


def read_sources(
    sources: str | Path | Sequence[str | Path],
    documents: Iterable[Any] | None,
    settings: Settings,
    progress: Progress | None = None,
    workers: Workers | None = None,
    index: Path | None = None,
) -> Read:
    """Read files and folders, or documents from memory. Raises UsageError if one is given in place of the other, or
    if the folder of the `index` is itself a source.
    """
    from conspectus.indexing.read import read, read_texts

    is_table = hasattr(sources, "to_dict")  # iterating over it would yield its columns
    paths: list[Any] = (
        [sources] if is_table or isinstance(sources, str | Path | Mapping) else [*(sources or ())]
    )
    for path in paths:
        if not isinstance(path, str | Path) or _is_text(path):
            what = repr(snippet(path)) if isinstance(path, str) else type(path).__name__
            raise UsageError(
                f"the first argument must be files or folders, not {what}; pass texts and tables from memory"
                " as documents: build(documents=[...])"
            )
    if bool(paths) == (documents is not None):
        raise UsageError(
            "name either files or folders to index, build('my-documents'), or documents from memory,"
            " build(documents=[...])"
        )
    if index and os.path.realpath(index) in map(os.path.realpath, paths):
        raise UsageError(
            f"{index} contains the documents: name another folder for the index, as {index / DEFAULT_FOLDER}"
        )
    if documents is None:
        return read(paths, settings.read, progress, workers)
    if isinstance(documents, str | Path) and not _is_text(documents):
        raise UsageError(f"documents are texts; build({str(documents)!r}) reads a file or folder")
    if progress:
        progress.stage("read", 0)
    return read_texts(documents, settings.read)


def _is_text(source: str | Path) -> bool:
    """Return whether a source is a text and not the path of a file: it has several words, and no such file exists."""
    has_words = isinstance(source, str) and len(source.split()) >= LEAST_WORDS
    return has_words and not os.path.exists(source)


# Settings and model


@dataclass(frozen=True)
class Run(Resolved):
    """The settings that result from the options of a call, and the model if it is neither a name nor a function."""

    model: Model | None = None

    @asynccontextmanager
    async def session(
        self, folder: Path | None, settings: Settings | None = None, *, to_ask: bool = True
    ) -> AsyncGenerator[Session | None]:
        """Open the language model that the settings name; yield None if they name none, or one was given as an object.

        If the name only comes from an index, an error message says so, and how to continue without a model.
        """
        settings = settings or self.settings
        if self.model is not None or not settings.language_models:
            yield None
            return
        of_model: tuple[type[ConspectusError], ...] = (Unusable, UsageError)
        try:
            async with llm.open_session(settings, folder, to_ask=to_ask) as session:
                of_model = (ServerDown, BadKey, UnknownModel)
                yield session
        except of_model as error:
            if self.origins.get("model") != INDEX:
                raise
            reason = f"this index was built with {settings.model}"
            raise type(error)(f"{error}; {reason}: model={EXTRACTIVE!r} continues without a model") from None


def run_of(
    options: Options,
    built: Sequence[Mapping[str, Any]] = (),
    *,
    language_model: bool | None = True,
    builds: bool = False,
    overrides: Mapping[str, Any] | None = None,
) -> Run:
    """Return the complete settings that result from options, and the model; `overrides` that are None are ignored.

    Models of indexes are added, whose settings are `built`; see `index_models.with_index_models`. `language_model` says
    whether that includes the language model; None means: only if it reranks. Nothing is added to a `Settings` object,
    which is complete.

    Raises SettingsError for a value that is not allowed.
    """
    model, settings = cast("Any", options.get("model")), cast("Any", options.get("settings"))
    performer = Performing(model) if hasattr(model, "perform") else None
    performer = model if isinstance(model, Model) else performer
    by_object = f"{FUNCTION}{performer.name}" if performer and builds else None
    given = {
        "model": by_object if performer else named_model(model),
        "llm.base_url": options.get("base_url"),
        "vectors.embedder": named_model(options.get("embedder")),
        **(overrides or {}),
    }
    given = {key: value for key, value in given.items() if value is not None}
    if isinstance(settings, Settings):
        complete = configuration.completed(Resolved(settings, {}), given, "given")
        return Run(complete.settings, complete.origins, performer)
    if isinstance(settings, Resolved):
        loaded = configuration.completed(settings, given, "given")
    elif isinstance(settings, Mapping | None):
        loaded = configuration.load({**(settings or {}), **given})
    else:
        raise UsageError(f"pass settings as {{'chunk.tokens': 800}}, not as {settings!r}")
    if language_model is None:
        language_model = loaded.settings.rerank.by == "model"
    asks = language_model and performer is None
    loaded = with_index_models(loaded, built, language_model=asks, builds=builds)
    return Run(loaded.settings, loaded.origins, performer)


def named_model(model: object) -> str | None:
    """Return the name of a model or an embedder; a function is registered under a new name."""
    if model is None or isinstance(model, str):
        return model
    if not callable(model):
        raise UsageError(f"a model must be a name, a function or a `Model`, not {model!r}")
    return llm.register(model)


def resolved(settings: Given) -> Settings:
    """Return complete settings."""
    return run_of({"settings": settings}).settings


# Running


@contextmanager
def shown(progress: Progress | bool | None) -> Generator[Progress | None]:
    """Yield an object that shows progress: for True, a line on standard error, which is closed at the end."""
    if progress is not True:
        yield progress or None
        return
    line = ProgressLine(sys.stderr)
    try:
        yield line
    except BaseException:
        line.close(stopped=True)
        raise
    line.close()


class ProgressLine:
    """An `indexing.pipeline.Progress` that prints a line when a stage ends.

    In terminals and notebooks it also shows a running count.
    """

    shown = True

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty() or type(stream).__module__.startswith("ipykernel")
        self._stage = ""
        self._total = self._done = 0
        self._began = self._drawn = 0.0
        self._usage: Callable[[], Usage] = Usage

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Open a stage and close the previous one."""
        self.close()
        self._stage, self._total, self._done, self._began = name, total, 0, time.monotonic()

        def tick() -> None:
            self._done += self._stage == name  # descriptions end while reports are written
            if self._live and time.monotonic() - self._drawn > EVERY:
                of = f"/{self._total:,}" if self._total else ""
                self._stream.write(f"\r{self._stage} {self._done:,}{of}")
                self._stream.flush()
                self._drawn = time.monotonic()

        return tick

    def note(self, text: str) -> None:
        """Print a text on a line of its own, overwriting the running count if there is one."""
        self._stream.write(f"\r{text:<{WIDTH}}\n" if self._live else f"{text}\n")

    def watch(self, usage: Callable[[], Usage]) -> None:
        """Show the calls, tokens and cost so far at the end of each stage."""
        self._usage = usage

    def close(self, *, stopped: bool = False) -> None:
        """Write the final state of the stage and end its line; `stopped` means that the stage was interrupted."""
        if not self._stage:
            return
        count, used = self._total or self._done, self._usage()
        line = f"{self._stage} {count:,}"
        if stopped:
            line = f"{self._stage} stopped after {self._done:,}"
        if used.calls:
            line += f": {used.calls:,} calls, {used.tokens:,} tokens, {used.cost:.4f} USD so far"
        self.note(f"{line} ({time.monotonic() - self._began:.1f} s)")
        self._stage = ""
