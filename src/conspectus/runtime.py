"""What building and asking share: where an index stands, which settings and model go with it, how work is run."""

from __future__ import annotations

import asyncio
import difflib
import gc
import inspect
import os
import sys
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypedDict, TypeVar, cast

from conspectus import configuration
from conspectus.configuration import Resolved
from conspectus.errors import BadKey, ServerDown, StoreError, UnknownModel, Unusable, UsageError
from conspectus.index import Index
from conspectus.index_models import advice, with_index_models
from conspectus.models.base import Model
from conspectus.rows import Usage
from conspectus.settings import Settings
from conspectus.storage import manifests

if TYPE_CHECKING:
    from conspectus.indexing.pipeline import Progress
    from conspectus.indexing.read import Read
    from conspectus.models.llm.adapters import ChatFunction, EmbedFunction
    from conspectus.models.llm.session import Session

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])
DEFAULT_FOLDER = ".conspectus"
LEAST_WORDS = 4
"""Words of a source that is not there from which on it is taken for a text, and no name of a file."""
EVERY = 0.1
"""Seconds between two updates of a line of progress."""
Given = Settings | Resolved | Mapping[str, Any] | None
"""Settings as such, with where they come from, or as `{"chunk.tokens": 800}`; None for those of `conspectus.toml` and
the environment. Only of a mapping and of None is it known what the caller did not say, which an index may add to."""


class Options(TypedDict, total=False):
    """What every function takes that may ask a model.

    settings: settings as such, or as `{"chunk.tokens": 800}`; left out, those of `conspectus.toml` and the environment.
    model: the language model. A name (`openai/gpt-4.1-mini`; `extractive` for none), a function from messages
        (dictionaries with `role` and `content`) to the text of the reply, asynchronous or not, or a `Model`.
    base_url: the address of the server that is asked.
    embedder: who makes vectors. A name (`local`, `openai/text-embedding-3-small`; `none` for nobody), or a function
        from texts to vectors, asynchronous or not.
    """

    settings: Given
    model: str | ChatFunction | Model | None
    base_url: str | None
    embedder: str | EmbedFunction | None


def check_names(options: Options) -> None:
    """Raise TypeError for an option that there is not."""
    if unknown := sorted(set(options) - set(Options.__annotations__)):
        near = difflib.get_close_matches(unknown[0], Options.__annotations__, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(Options.__annotations__)}"
        raise TypeError(f"unexpected argument {unknown[0]!r}; {hint}")


def known_by(
    options: Options,
    built: Sequence[Mapping[str, Any]] = (),
    *,
    language_model: bool | None = True,
    builds: bool = False,
) -> tuple[Resolved, Model | None]:
    """Return the settings in full that options make, and the model where one was given that is no name or function.

    They are completed by what indexes remember that were built by the settings `built`; see `index_models.with_memory`
    for the rest. Without a word on `language_model` it is remembered where it reranks.

    Raises TypeError for an option that there is not, SettingsError for a value that is not allowed.
    """
    check_names(options)
    model = options.get("model")
    performer = None if model is None or isinstance(model, str) or not hasattr(model, "perform") else model
    given = {
        "model": None if performer else _named_model(model),
        "llm.base_url": options.get("base_url"),
        "vectors.embedder": _named_model(options.get("embedder")),
    }
    more = {key: value for key, value in given.items() if value is not None}
    settings = options.get("settings")
    if not isinstance(settings, Settings | Resolved):
        told = configuration.load({**(settings or {}), **more})
        asks = language_model if language_model is not None else told.settings.rerank.by == "model"
        known = with_index_models(told, built, language_model=asks and performer is None, builds=builds)
    else:
        known = configuration.completed(resolved_for(settings, ()), more, "given")
    return known, cast("Model | None", performer)


def with_options(function: F) -> F:
    """Let the help and the completion of a function show each of the `Options` that it takes as `**options`."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind.__forward_arg__)
        for name, kind in Options.__annotations__.items()
    ]
    function.__signature__ = signature.replace(parameters=[*own, *more])  # pyright: ignore[reportFunctionMemberAccess]
    function.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n{inspect.cleandoc(Options.__doc__ or '')}"
    return function


def _named_model(model: object) -> str | None:
    """Return the name of a model or an embedder; a function gets one."""
    if model is None or isinstance(model, str):
        return model
    if not callable(model):
        raise UsageError(f"a model is a name, a function or a `Model`, and not {model!r}")
    from conspectus.models.llm.adapters import register

    return register(model)


def resolved(settings: Given) -> Settings:
    """Return settings in full."""
    return resolved_for(settings, ()).settings


def resolved_for(
    settings: Given, built: Sequence[Mapping[str, Any]], *, language_model: bool = True, builds: bool = False
) -> Resolved:
    """Return settings in full, completed by what indexes remember that were built by the settings `built`.

    See `index_models.with_memory` for the rest. Settings that are given in full are taken as they are.
    """
    if isinstance(settings, Resolved):
        return settings
    if isinstance(settings, Settings):
        return Resolved(settings, {})
    return with_index_models(configuration.load(settings), built, language_model=language_model, builds=builds)


def settings_in(folder: Path) -> list[Mapping[str, Any]]:
    """Return the settings that the index in a folder was built by; none where there is no index that can be read."""
    try:
        return [manifests.current(folder).settings]
    except StoreError:
        return []


def path_of(given: str | Path) -> Path:
    """Return a path, `~` at its start as the home folder: shells leave it alone in quotes and after `=`."""
    return Path(os.path.expanduser(given))


def read_sources(
    sources: str | Path | Sequence[str | Path],
    documents: Iterable[Any] | None,
    settings: Settings,
    progress: Progress | None = None,
) -> Read:
    from conspectus.indexing.read import read, read_texts

    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    _check_are_paths(paths)
    if bool(paths) == (documents is not None):
        raise UsageError("name files or folders to index, or give documents from memory, and not both")
    if documents is None:
        return read(paths, settings.read, progress)
    if progress:
        progress.stage("read", 0)
    return read_texts(documents, settings.read)


LONGEST_QUESTION = 20_000
"""Characters of a question at most: some 5,000 tokens, five pages. What a question costs grows with its length (480,000
characters took more than 9 minutes; 8,000 took 1 s by most methods, 11 s by tog), and a longer text is a document.
"""


def check_question(question: str) -> None:
    """Raise UsageError for a question that is empty or too long, before anything is opened or read."""
    if not question.strip():
        raise UsageError("the question is empty")
    if len(question) > LONGEST_QUESTION:
        raise UsageError(
            f"the question has {len(question):,} characters, and at most {LONGEST_QUESTION:,} are read: "
            "index a longer text as a document, and ask about it"
        )


def _check_are_paths(sources: Sequence[object]) -> None:
    """Raise UsageError where texts, records or a table were given in the place of files."""
    for source in sources:
        words = source.split() if isinstance(source, str) else ()
        text = len(words) >= LEAST_WORDS and not os.path.exists(str(source))
        if text or not isinstance(source, str | Path):
            shown = " ".join(words)[:60] if text else type(source).__name__
            raise UsageError(
                f"files or folders are expected first, and {shown!r} is none; texts from memory are given as"
                " documents: build(documents=[...])"
            )


def named(methods: Mapping[str, T], name: str) -> T:
    if name not in methods:
        raise UsageError(f"there is no method {name!r}; there are {', '.join(methods)}")
    return methods[name]


@asynccontextmanager
async def session_for(
    settings: Settings, folder: Path | None, given: Model | None = None, *, remembered: bool = False
) -> AsyncGenerator[Session | None]:
    """Open the language model that the settings name, if they name one and none was given.

    Where they name it only because an index remembers it, an error says so, and how to go on without it.
    """
    if given is not None or settings.model == "extractive":
        yield None
        return
    from conspectus.models.llm.session import open_session  # with aiohttp, which nothing else needs

    async with AsyncExitStack() as stack:
        try:
            session = await stack.enter_async_context(open_session(settings, folder))
        except (Unusable, UsageError) as error:
            raise type(error)(f"{error}; {advice(settings.model)}") if remembered else error from None
        try:
            yield session
        except (ServerDown, BadKey, UnknownModel) as error:
            raise type(error)(f"{error}; {advice(settings.model)}") if remembered else error from None


def is_index(folder: Path) -> bool:
    """Tell whether there is an index in a folder; none is where no folder can be, as a long question for a name."""
    return os.path.isfile(folder / manifests.NAME)


def folder_of(given: Index | str | Path, index: Index) -> Path | None:
    """Return the folder of an index, where it is stored, for the replies that answering buys."""
    return index.folder if isinstance(given, Index) else path_of(given)


def run_sync(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end, also where the caller is inside an event loop, as every cell of a notebook is.

    It then runs in a loop of another thread; an interrupt of the caller ends it. The result is handed over apart, since
    asyncio would write a task's result out as text.
    """
    results: list[T] = []

    async def keep() -> None:
        results.append(await work)

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(keep())
        return results[0]
    loop = asyncio.new_event_loop()
    task = loop.create_task(keep())
    with ThreadPoolExecutor(1, thread_name_prefix="conspectus") as thread:
        done = thread.submit(_run_in, loop, task)
        try:
            done.result()
        except BaseException:
            if not done.done():  # the caller was interrupted while it waited
                loop.call_soon_threadsafe(task.cancel)
            raise
    return results[0]


def _run_in(loop: asyncio.AbstractEventLoop, task: asyncio.Task[None]) -> None:
    """Run a task in its loop and close the loop as `asyncio.run` does."""
    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(task)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
        asyncio.set_event_loop(None)
        loop.close()


@contextmanager
def shown(progress: Progress | bool | None) -> Generator[Progress | None]:
    """Yield what shows the progress of work: for True a line on standard error, which is closed at the end."""
    if progress is not True:
        yield progress or None
        return
    line = ProgressLine(sys.stderr)
    try:
        yield line
    finally:
        line.close()


class ProgressLine:
    """Shows on one line how far a stage is, in terminals and notebooks; elsewhere a line for each stage when it ends.

    It is an `index.pipeline.Progress`.
    """

    shown = True

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty() or type(stream).__module__.startswith("ipykernel")
        self._stage = ""
        self._total = self._done = self._width = 0
        self._began = self._drawn = 0.0
        self._usage: Callable[[], Usage] | None = None

    def stage(self, name: str, total: int) -> Callable[[], None]:
        """Open a stage and close the one before."""
        self.close()
        self._stage, self._total, self._done, self._began = name, total, 0, time.monotonic()
        self._draw()
        return self._tick

    def note(self, text: str) -> None:
        """Print a line of its own."""
        self._clear()
        self._stream.write(f"{text}\n")
        self._draw()

    def watch(self, usage: Callable[[], Usage]) -> None:
        """Show calls, tokens and money of a stage at its end."""
        self._usage = usage

    def close(self) -> None:
        """Write the last state of the stage, and end its line."""
        if self._stage:
            self._clear()
            count = self._total or self._done
            told = f" {count:,}" if count > 1 else ""
            used = self._usage() if self._usage else None
            if used and used.calls:
                money = f", {used.cost:.4f} spent" if used.cost else ""
                told += f": {used.calls:,} calls, {used.prompt_tokens + used.completion_tokens:,} tokens so far{money}"
            self._stream.write(f"{self._stage}{told} ({time.monotonic() - self._began:.1f} s)\n")
            self._stage = ""

    def _tick(self) -> None:
        self._done += 1
        if time.monotonic() - self._drawn > EVERY:
            self._draw()

    def _draw(self) -> None:
        if not self._live or not self._stage:
            return
        self._drawn = time.monotonic()
        of = f"/{self._total:,}" if self._total else ""
        text = f"{self._stage} {self._done:,}{of}" if self._done else f"{self._stage} …"
        self._stream.write("\r" + text.ljust(self._width))
        self._stream.flush()
        self._width = len(text)

    def _clear(self) -> None:
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
        self._width = 0


@contextmanager
def paused_garbage_collection() -> Generator[None]:
    """Hold back Python's cycle collector: a build makes a million rows that live, and it would visit them all often.

    Afterwards they count as old, so that it does not visit them at once.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if not gc.get_freeze_count():  # what somebody else has frozen stays frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
