"""The Python API: build an index, open it, ask and search. Each function has an asynchronous form."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from conspectus import configuration, store, tokens
from conspectus.errors import UsageError
from conspectus.evidence import Evidence
from conspectus.models.base import Model
from conspectus.rows import Answer, Community, Document, Failure, Hit, Skipped
from conspectus.settings import Settings
from conspectus.tables import Index

if TYPE_CHECKING:
    from conspectus.estimate import Estimate
    from conspectus.evaluate.answering import Scored
    from conspectus.evaluate.retrieval import Measured
    from conspectus.index.describe import DescribedGraph
    from conspectus.index.pipeline import Check, Progress
    from conspectus.index.read import Read
    from conspectus.models.check import Checked
    from conspectus.models.opening import Session
    from conspectus.text.lexicon import Lexicon
    from conspectus.tune import Tuned

T = TypeVar("T")
Level = int | Literal["auto"] | None
"""A level of the hierarchy, `auto` to descend from the root where it is relevant, None for the usual one."""
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
    notices: tuple[str, ...] = ()
    """What a language model's replies lacked, and what else is worth knowing, a line each."""

    @property
    def failures(self) -> tuple[Failure, ...]:
        """What could not be done, while the rest was."""
        return tuple(self.index.failures)


@dataclass(frozen=True)
class Preview:
    """What a build would read: counts, what would be passed over, and what could not be read."""

    documents: int
    chunks: int
    tokens: int
    """The sum over the chunks, whose overlaps count twice."""
    skipped: tuple[Skipped, ...] = ()
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Context:
    """What an answer would be made from: the evidence that a method gathers, window by window."""

    question: str
    method: str
    level: int | None
    why: str
    """Why this method was taken, where it was chosen by the question."""
    windows: tuple[Evidence, ...]
    context_tokens: int
    """The same as in the answer."""


def preview(
    sources: str | Path | Sequence[str | Path] = (),
    *,
    documents: Iterable[Any] | None = None,
    settings: Given = None,
) -> Preview:
    """Read and cut what `build` would, and write nothing; raise UsageError and NothingToIndex as it does."""
    from conspectus.index.chunk import chunk

    chosen = resolved(settings)
    read_documents, failures, skipped = _read(sources, documents, chosen)
    chunks = chunk(read_documents, chosen.chunk)
    total = sum(c.n_tokens for c in chunks)
    return Preview(len(read_documents), len(chunks), total, tuple(skipped), tuple(failures))


def estimate(
    sources: str | Path | Sequence[str | Path] = (),
    folder: str | Path = DEFAULT_FOLDER,
    *,
    documents: Iterable[Any] | None = None,
    settings: Given = None,
) -> Estimate:
    """Return what `build` would ask of the language model that the settings name, and ask nothing.

    Replies that are kept in the folder are taken off. Raises UsageError where the model is the extractive one.
    """
    from conspectus.estimate import Estimator
    from conspectus.index.chunk import chunk
    from conspectus.models.opening import opened
    from conspectus.models.replies import FILE_NAME
    from conspectus.text.language import corpus_language

    chosen = resolved(settings)
    if chosen.model == "extractive":
        raise UsageError("the extractive model costs nothing: name a language model to estimate")
    read_documents, _, _ = _read(sources, documents, chosen)
    kept = Path(folder) if (Path(folder) / FILE_NAME).exists() else None

    async def work() -> Estimate:
        async with opened(chosen, kept, to_ask=False) as session:
            chunks = chunk(read_documents, chosen.chunk)
            language = corpus_language(read_documents, chosen.language)
            return Estimator(session.model, session.sender, chosen).build(chunks, language)

    return _run(work())


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
    from conspectus.index.pipeline import build_index  # here, for questions need not wait until it is imported

    chosen = resolved(settings)
    if progress:
        progress.stage("read", 0)
    index_documents, failures, skipped = _read(sources, documents, chosen)
    target = Path(folder)
    with store.writing(target):
        async with _session(chosen, target) as session:
            performer = session.model if session else _fitted
            check = _rest_fits(session, chosen) if session else None
            index = await build_index(index_documents, failures, performer, chosen, progress, check)
            index = replace(index, usage=session.usage if session else {})
            notices = session.notices if session else ()
        snapshot = store.commit(target, index, settings=index.settings, usage=index.usage)
    return Built(replace(index, snapshot=snapshot, folder=target), snapshot, target, tuple(skipped), notices)


def open_index(folder: str | Path = DEFAULT_FOLDER) -> Index:
    """Open the index in a folder; raise IndexMissing where there is none, IndexDamaged where files are not whole."""
    return store.read(Path(folder))


def ask(
    question: str,
    index: Index | str | Path = DEFAULT_FOLDER,
    *,
    method: str = "auto",
    level: Level = None,
    settings: Given = None,
    model: Model | None = None,
    tell: Callable[[str], None] | None = None,
) -> Answer:
    """Answer a question from an index, with citations that lead to characters of the documents.

    `method` is one of `query.METHODS`, or `auto`, which chooses by the question and says why in the answer.
    """
    return _run(aask(question, index, method=method, level=level, settings=settings, model=model, tell=tell))


async def aask(
    question: str,
    index: Index | str | Path = DEFAULT_FOLDER,
    *,
    method: str = "auto",
    level: Level = None,
    settings: Given = None,
    model: Model | None = None,
    tell: Callable[[str], None] | None = None,
) -> Answer:
    """Do what `ask` does, inside a running event loop; `tell` is given the answer's text piece by piece."""
    from conspectus.query import METHODS  # not at the top: building needs none of it
    from conspectus.query.style import Styled
    from conspectus.query.telling import Telling

    began = time.perf_counter()
    opened = index if isinstance(index, Index) else open_index(index)
    method, why, chosen = _chosen(question, opened, method, level, resolved(settings))
    answering = _named(METHODS, method)
    async with _session(chosen, _folder_of(index, opened), model) as session:
        performer = model or (session.model if session else model_of(opened))
        if performer.generative:
            performer = Styled(performer, question, chosen.answer)
        if tell is not None:
            performer = Telling(performer, opened, tell)
        result = await answering(question, opened, performer, chosen)
        usage = session.total if session else result.usage
    reason = "; ".join(part for part in (why, result.why) if part)
    notices = (*missing(opened), *result.notices)
    return replace(result, why=reason, notices=notices, usage=usage, seconds=time.perf_counter() - began)


async def astream(
    question: str,
    index: Index | str | Path = DEFAULT_FOLDER,
    *,
    method: str = "auto",
    level: Level = None,
    settings: Given = None,
    model: Model | None = None,
) -> AsyncGenerator[str | Answer]:
    """Yield the text of an answer piece by piece, with references once they are checked, and last the whole answer."""
    pieces: asyncio.Queue[str | None] = asyncio.Queue()

    async def work() -> Answer:
        try:
            return await aask(
                question, index, method=method, level=level, settings=settings, model=model, tell=pieces.put_nowait
            )
        finally:
            pieces.put_nowait(None)

    answering = asyncio.ensure_future(work())
    try:
        while (piece := await pieces.get()) is not None:
            yield piece
        yield await answering
    finally:
        answering.cancel()


def context(
    question: str,
    index: Index | str | Path = DEFAULT_FOLDER,
    *,
    method: str = "auto",
    level: Level = None,
    settings: Given = None,
) -> Context:
    """Gather what `ask` would answer from, and answer nothing."""
    from conspectus.query import METHODS, bm25, global_, local

    opened = index if isinstance(index, Index) else open_index(index)
    method, why, chosen = _chosen(question, opened, method, level, resolved(settings))
    _named(METHODS, method)
    match method:
        case "global":
            at = global_.level_of(opened, chosen.global_)
            reports = global_.windows_of(opened, at, chosen.global_)
            used = sum(report.n_tokens for window in reports for report in window)
            return Context(question, method, at, why, tuple(Evidence(reports=tuple(w)) for w in reports), used)
        case "local":
            evidence = local.context(question, opened, chosen.local)
            used = tokens.count(evidence.text) if evidence.sources else 0  # without chunks nothing is answered
            return Context(question, method, None, why, (evidence,), used)
        case "bm25":
            chunks = tuple(opened.chunk_of[hit.chunk] for hit in bm25.rank(question, opened, chosen.search))
            used = sum(c.n_tokens for c in chunks)
            return Context(question, method, None, why, (Evidence(sources=chunks),), used)
        case _:
            raise UsageError(f"what an answer by {method} would be made from is only known while it is made")


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
        if k < 1:
            raise UsageError(f"k is the number of chunks to return, at least 1, and not {k}")
        chosen = chosen.model_copy(update={"search": chosen.search.model_copy(update={"k": k})})
    from conspectus.query import RANKINGS

    return _named(RANKINGS, method)(question, opened, chosen)


def evaluate_retrieval(
    folder: str | Path,
    methods: Sequence[str] = ("bm25", "walk"),
    ks: Sequence[int] = (),
    index_folder: str | Path | None = None,
    *,
    settings: Given = None,
    titles: bool = True,
) -> dict[str, Measured]:
    """Rank the passages of a folder in the BEIR layout for each of its questions, and measure each method.

    The index of the passages is built once, in `index_folder` or in the folder itself; `ks` are depths of recall
    beside the usual ones. `as_row` of a result gives its means as they go into JSON.
    """
    from conspectus.evaluate.retrieval import evaluate

    target = None if index_folder is None else Path(index_folder)
    return evaluate(Path(folder), methods, ks, target, resolved(settings), titles)


def evaluate_answers(
    questions: str | Path,
    index: Index | str | Path = DEFAULT_FOLDER,
    methods: Sequence[str] = ("walk",),
    *,
    kind: str = "qa",
    answers: str | Path | None = None,
    limit: int | None = None,
    settings: Given = None,
    model: Model | None = None,
) -> list[Scored]:
    """Answer the questions of a file by each method, and measure the answers: `qa` by EM and F1, `kgqa` by Hits@1.

    `answers` is a file in which every answer is kept: a run that is broken off goes on from there. Failures are
    counted and have no score.
    """
    from conspectus.evaluate import answering
    from conspectus.evaluate.asked import read_questions

    scores = {"qa": answering.answers_qa, "kgqa": answering.answers_kgqa}
    if kind not in scores:
        raise UsageError(f"answers are measured as {' or '.join(scores)}, not as {kind!r}")
    asked = read_questions(Path(questions))[:limit]
    opened = index if isinstance(index, Index) else open_index(index)
    chosen = resolved(settings)
    kept = None if answers is None else Path(answers)

    async def work() -> list[Scored]:
        async with _session(chosen, _folder_of(index, opened), model) as session:
            performer = model or (session.model if session else model_of(opened))
            return await answering.run(asked, methods, opened, performer, chosen, scores[kind], kept)

    return _run(work())


def import_triples(file: str | Path, folder: str | Path = DEFAULT_FOLDER) -> Index:
    """Make the index in a folder from a knowledge graph without text, and return it.

    See `index.triples.read_triples` for the files it takes. What stood in the folder is replaced.
    """
    from conspectus.index.triples import index_of, read_triples

    index = index_of(*read_triples(Path(file)))
    target = Path(folder)
    with store.writing(target):
        store.commit(target, index, settings=index.settings, usage={})
    return open_index(target)


def import_openie(file: str | Path, folder: str | Path = DEFAULT_FOLDER, *, settings: Given = None) -> Index:
    """Give the index in a folder the triples of its passages that a file holds, and return it.

    Where the index has vectors, the triples get them too. Its graph and reports stay what they are.
    """
    from conspectus.index.triples import read_openie, triple_vectors, with_openie
    from conspectus.query.vector import embedder_of, has_vectors

    passages = read_openie(Path(file))
    target = Path(folder)
    open_index(target)  # or else a folder would be made where there is none
    with store.writing(target):
        index = with_openie(open_index(target), passages, str(file))
        if has_vectors(index):
            vectors = triple_vectors(index, embedder_of(index, resolved(settings)))
            index = replace(index, arrays={**index.arrays, **vectors})
        store.commit(target, index, settings=index.settings, usage=index.usage)
    return open_index(target)


def embed(index_folder: str | Path = DEFAULT_FOLDER, embedder: str = "local", *, settings: Given = None) -> Index:
    """Give the index in a folder vectors by an embedder, in place of those it has, and return it.

    Raises UsageError where there is no such embedder or what it needs is missing.
    """
    from conspectus.index.embed import embedded
    from conspectus.models.embedders import open_embedder

    folder = Path(index_folder)
    opened = open_embedder(embedder, resolved(settings).llm, folder)
    if opened is None:
        raise UsageError("name an embedder that makes vectors: local, local:FOLDER or provider/model")
    open_index(folder)  # or else a folder would be made where there is none
    with store.writing(folder):
        index = embedded(open_index(folder), opened, embedder)
        store.commit(folder, index, settings=index.settings, usage=index.usage)
    return open_index(folder)


def tune(
    sources: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    settings: Given = None,
    examples: int = 2,
) -> Tuned:
    """Read a sample of a corpus and write prompts made for it into a folder; see `tune.tune`.

    The replies are kept there too. Raises UsageError where the model is the extractive one, which has no prompts.
    """
    from conspectus.index.chunk import chunk
    from conspectus.models.opening import opened
    from conspectus.text.language import corpus_language
    from conspectus.tune import tune as tuned

    chosen = resolved(settings)
    if chosen.model == "extractive":
        raise UsageError("the extractive model has no prompts to tune: name a language model with --model")
    documents, _, _ = _read(sources, None, chosen)
    language = corpus_language(documents, chosen.language)

    async def work() -> Tuned:
        async with opened(chosen, Path(folder)) as session:
            chunks = chunk(documents, chosen.chunk)
            return await tuned(chunks, session.model, Path(folder), language, examples=examples)

    return _run(work())


def check_models(settings: Given = None) -> list[Checked]:
    """Send one small request of each kind to what is configured, and return what the servers support."""
    from conspectus.models.check import check
    from conspectus.models.opening import opened

    chosen = resolved(settings)
    if chosen.model == "extractive":
        raise UsageError("the extractive model needs no server: name a language model with --model")
    embedder = chosen.vectors.embedder
    remote = "" if embedder.partition(":")[0] in ("none", "local") else embedder

    async def work() -> list[Checked]:
        async with opened(chosen, None) as session:
            return await check(session, chosen, remote)

    return _run(work())


def model_of(index: Index) -> Model:
    """Return the extractive model over an index; it is made once for each index that is open."""
    from conspectus.models.extractive.model import ExtractiveModel

    model = _models.get(id(index))
    if model is None or model[0] is not index:
        _models.clear()
        model = _models[id(index)] = (index, ExtractiveModel.of_index(index))
    return model[1]


_models: dict[int, tuple[Index, Model]] = {}


def resolved(settings: Given) -> Settings:
    """Return settings in full."""
    return settings if isinstance(settings, Settings) else configuration.load(settings).settings


def _read(sources: str | Path | Sequence[str | Path], documents: Iterable[Any] | None, settings: Settings) -> Read:
    from conspectus.index.read import read, read_texts

    paths = [sources] if isinstance(sources, str | Path) else list(sources)
    if bool(paths) == (documents is not None):
        raise UsageError("name files or folders to index, or give documents from memory, and not both")
    return read_texts(documents, settings.read) if documents is not None else read(paths, settings.read)


def _chosen(question: str, index: Index, method: str, level: Level, settings: Settings) -> tuple[str, str, Settings]:
    """Return the method to answer by, why it was taken where `auto` was asked for, and the settings with the level."""
    if not question.strip():
        raise UsageError("the question is empty")
    if level is not None:
        if method not in ("auto", "global"):
            raise UsageError(f"a level goes with the method global, not with {method}")
        if level != "auto" and level < 0:
            raise UsageError(f"levels start at 0, the root; there is no level {level}")
        update = {"descend": True} if level == "auto" else {"level": level, "descend": False}
        settings = settings.model_copy(update={"global_": settings.global_.model_copy(update=update)})
    if method != "auto":
        return method, "", settings
    from conspectus.query import auto

    named, why = ("global", "a level was given") if level is not None else auto.choose(question, index)
    return named, why, settings


def _named(methods: Mapping[str, T], name: str) -> T:
    if name not in methods:
        raise UsageError(f"there is no method {name!r}; there are {', '.join(methods)}")
    return methods[name]


@asynccontextmanager
async def _session(
    settings: Settings, folder: Path | None, given: Model | None = None
) -> AsyncGenerator[Session | None]:
    """Open the language model that the settings name, if they name one and none was given."""
    if given is not None or settings.model == "extractive":
        yield None
        return
    from conspectus.models.opening import opened  # with aiohttp, which nothing else needs

    async with opened(settings, folder) as session:
        yield session


def _rest_fits(session: Session, settings: Settings) -> Check | None:
    """Return what checks the budget when extraction is done, where there is one."""
    if not session.sender.ledger.limited:
        return None
    from conspectus.estimate import NONE, Estimator

    def check(graph: DescribedGraph, communities: Sequence[Community], language: str) -> None:
        rest = Estimator(session.model, session.sender, settings).rest(graph, communities, language)
        session.sender.ledger.check_room(rest.tokens.low, (rest.cost or NONE).low)

    return check


def _fitted(documents: Sequence[Document], lexicon: Lexicon) -> Model:
    from conspectus.models.extractive.model import ExtractiveModel
    from conspectus.models.extractive.passages import Passages

    return ExtractiveModel(Passages.read(documents, lexicon))


def _folder_of(given: Index | str | Path, index: Index) -> Path | None:
    """Return the folder of an index, where it is stored, for the replies that answering buys."""
    return index.folder if isinstance(given, Index) else Path(given)


def missing(index: Index) -> Iterator[str]:
    """Yield a line that tells an answer's reader what the index lacks, if it lacks anything that a model failed on."""
    failed = [failure for failure in index.failures if failure.stage in ("extract", "describe", "reports")]
    if failed:
        why = failed[0].error
        yield f"This index lacks {len(failed)} parts that the model failed on ({why}); index again to ask for them."


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; the result is handed over apart, since asyncio would write a task's result out as text."""
    results: list[T] = []

    async def keep() -> None:
        results.append(await work)

    asyncio.run(keep())
    return results[0]


__all__ = [
    "Built",
    "Context",
    "Preview",
    "aask",
    "abuild",
    "ask",
    "astream",
    "build",
    "check_models",
    "context",
    "embed",
    "estimate",
    "evaluate_answers",
    "evaluate_retrieval",
    "import_openie",
    "import_triples",
    "model_of",
    "open_index",
    "preview",
    "resolved",
    "search",
    "tune",
]
