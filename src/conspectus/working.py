"""What building and asking share: where an index stands, which settings and model go with it, how work is run."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import AsyncGenerator, Coroutine, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from conspectus import configuration
from conspectus.errors import UsageError
from conspectus.models.base import Model
from conspectus.settings import Settings
from conspectus.tables import Index

if TYPE_CHECKING:
    from conspectus.index.read import Read
    from conspectus.models.opening import Session

T = TypeVar("T")
DEFAULT_FOLDER = ".conspectus"
Given = Settings | Mapping[str, Any] | None
"""Settings as such, or as `{"chunk.tokens": 800}`; None for those of `conspectus.toml` and the environment."""


def resolved(settings: Given) -> Settings:
    """Return settings in full."""
    return settings if isinstance(settings, Settings) else configuration.load(settings).settings


def path_of(given: str | Path) -> Path:
    """Return a path, `~` at its start as the home folder: shells leave it alone in quotes and after `=`."""
    return Path(os.path.expanduser(given))


def read_sources(
    sources: str | Path | Sequence[str | Path], documents: Iterable[Any] | None, settings: Settings
) -> Read:
    from conspectus.index.read import read, read_texts

    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    if bool(paths) == (documents is not None):
        raise UsageError("name files or folders to index, or give documents from memory, and not both")
    return read_texts(documents, settings.read) if documents is not None else read(paths, settings.read)


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


def named(methods: Mapping[str, T], name: str) -> T:
    if name not in methods:
        raise UsageError(f"there is no method {name!r}; there are {', '.join(methods)}")
    return methods[name]


@asynccontextmanager
async def session_for(
    settings: Settings, folder: Path | None, given: Model | None = None
) -> AsyncGenerator[Session | None]:
    """Open the language model that the settings name, if they name one and none was given."""
    if given is not None or settings.model == "extractive":
        yield None
        return
    from conspectus.models.opening import opened  # with aiohttp, which nothing else needs

    async with opened(settings, folder) as session:
        yield session


def folder_of(given: Index | str | Path, index: Index) -> Path | None:
    """Return the folder of an index, where it is stored, for the replies that answering buys."""
    return index.folder if isinstance(given, Index) else path_of(given)


def run(work: Coroutine[Any, Any, T]) -> T:
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
def no_collector() -> Generator[None]:
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
