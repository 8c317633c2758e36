"""The Python API: build an index, open it, ask and search. Each function has an asynchronous form."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from conspectus import configuration, store
from conspectus.errors import UsageError
from conspectus.index.pipeline import Progress, build_index
from conspectus.index.read import read, read_texts
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.models.extractive.passages import Passages
from conspectus.query import METHODS, RANKINGS, auto
from conspectus.rows import Answer, Failure, Hit, Skipped
from conspectus.settings import Settings
from conspectus.tables import Index

T = TypeVar("T")
DEFAULT_FOLDER = ".conspectus"
Given = Settings | Mapping[str, Any] | None
"""Settings as such, or as `{"chunk.tokens": 800}`; None for those of `conspectus.toml` and the environment."""


@dataclass(frozen=True)
class Built:
    """What a build made: the index, its snapshot's id, and what was passed over."""

    index: Index
    snapshot: str
    folder: Path
    skipped: tuple[Skipped, ...] = ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be done, while the rest was."""
        return tuple(self.index.failures)


def build(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    settings: Given = None,
    progress: Progress | None = None,
) -> Built:
    """Read files and folders, or documents from memory, into an index in a folder, and return it.

    `documents` are strings, dicts with `text` (and `title`, `id` or `path`, `date`), or a DataFrame with such columns.
    An index that stands in the folder is replaced when the new one is whole; until then it stays readable.

    Raises UsageError for sources that are not there, NothingToIndex where none can be read, IndexBusy where another
    process writes to the folder.
    """
    return _run(abuild(sources, folder, documents=documents, settings=settings, progress=progress))


async def abuild(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    settings: Given = None,
    progress: Progress | None = None,
) -> Built:
    """Do what `build` does, inside a running event loop."""
    chosen = resolved(settings)
    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    if bool(paths) == (documents is not None):
        raise UsageError("name files or folders to index, or give documents from memory, and not both")
    found = read_texts(documents, chosen.read) if documents is not None else read(paths, chosen.read)
    index_documents, failures, skipped = found
    target = Path(folder)
    with store.writing(target):
        index = await build_index(
            index_documents,
            failures,
            lambda given, lexicon: ExtractiveModel(Passages.read(given, lexicon)),
            chosen,
            progress=progress,
        )
        snapshot = store.commit(target, index, settings=index.settings, usage=index.usage)
    return Built(replace(index, snapshot=snapshot), snapshot, target, tuple(skipped))


def open_index(folder: str | Path = DEFAULT_FOLDER) -> Index:
    """Open the index in a folder; raise IndexMissing where there is none, IndexDamaged where files are not whole."""
    return store.read(Path(folder))


def ask(
    question: str,
    index: Index | str | Path = DEFAULT_FOLDER,
    *,
    method: str = "auto",
    level: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> Answer:
    """Answer a question from an index, with citations that lead to characters of the documents.

    `method` is one of `query.METHODS`, or `auto`, which chooses by the question and says why in the answer.
    """
    return _run(aask(question, index, method=method, level=level, settings=settings, model=model))


async def aask(
    question: str,
    index: Index | str | Path = DEFAULT_FOLDER,
    *,
    method: str = "auto",
    level: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> Answer:
    """Do what `ask` does, inside a running event loop."""
    began = time.perf_counter()
    if not question.strip():
        raise UsageError("the question is empty")
    opened = index if isinstance(index, Index) else open_index(index)
    chosen = resolved(settings)
    if level is not None:
        chosen = chosen.model_copy(update={"global_": chosen.global_.model_copy(update={"level": level})})
    why = ""
    if method == "auto":
        method, why = ("global", "a level was given") if level is not None else auto.choose(question, opened)
    answering = _named(METHODS, method)
    performer = model or model_of(opened)
    result = await answering(question, opened, performer, chosen)
    reason = "; ".join(part for part in (why, result.why) if part)
    return replace(result, why=reason, seconds=time.perf_counter() - began)


def search(
    question: str,
    index: Index | str | Path = DEFAULT_FOLDER,
    *,
    method: str = "bm25",
    k: int | None = None,
    settings: Given = None,
) -> list[Hit]:
    """Return the chunks that rank highest for a question, the best first."""
    opened = index if isinstance(index, Index) else open_index(index)
    chosen = resolved(settings)
    if k is not None:
        chosen = chosen.model_copy(update={"search": chosen.search.model_copy(update={"k": k})})
    return _named(RANKINGS, method)(question, opened, chosen)


def model_of(index: Index) -> Model:
    """Return the extractive model over an index; it is made once for each index that is open."""
    model = _models.get(id(index))
    if model is None or model[0] is not index:
        _models.clear()
        model = _models[id(index)] = (index, ExtractiveModel.of_index(index))
    return model[1]


_models: dict[int, tuple[Index, Model]] = {}


def resolved(settings: Given) -> Settings:
    """Return settings in full."""
    return settings if isinstance(settings, Settings) else configuration.load(settings).settings


def _named(methods: Mapping[str, T], name: str) -> T:
    if name not in methods:
        raise UsageError(f"there is no method {name!r}; there are {', '.join(methods)}")
    return methods[name]


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; the result is handed over apart, since asyncio would write a task's result out as text."""
    results: list[T] = []

    async def keep() -> None:
        results.append(await work)

    asyncio.run(keep())
    return results[0]


__all__ = ["Built", "aask", "abuild", "ask", "build", "model_of", "open_index", "resolved", "search"]
