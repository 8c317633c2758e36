"""Ask an index, search it, and show what an answer would be made from."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from conspectus.api.building import open_index
from conspectus.corrections import added_fact_notices
from conspectus.errors import UsageError
from conspectus.filters.view import View, select_view
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import METHODS, RANKINGS, auto
from conspectus.retrieval import Method as AnsweringMethod
from conspectus.retrieval.base import extractive, unknown_name_notice
from conspectus.retrieval.model_wrappers import ContextRecorder, StreamingModel, WithAnswerOptions
from conspectus.retrieval.rerank import answer_reranked, rank_reranked, reranker_for
from conspectus.rows import Answer, Hit
from conspectus.runtime import (
    DEFAULT_FOLDER,
    Options,
    check_names,
    check_question,
    is_index,
    known_by,
    named,
    run_sync,
    session_for,
    with_options,
)
from conspectus.settings import Settings
from conspectus.tasks import is_short
from conspectus.tasks.context import Context

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.models.llm.session import Session

Asked = Index | View | str | Path | Sequence[Index | str | Path]
"""What a question is asked of: an index or its folder, or several of them, which are then asked as one."""
Level = int | Literal["auto"] | None
"""A level of the hierarchy, `auto` to descend from the root where it is relevant, None for the usual one."""
Method = (
    Literal[
        "auto", "global", "local", "rollup", "drilldown", "drift", "source-summary", "bm25", "vector", "hybrid", "walk",
        "hippo", "ircot", "tog", "tog1", "raptor", "propositions", "direct", "cot", "cot-sc",
    ]
    | str
)  # fmt: skip
"""The methods of answering, spelt out for the completion of editors; others may be registered."""
RankingMethod = Literal["bm25", "vector", "hybrid", "walk", "hippo", "ircot", "tog", "raptor", "propositions"] | str
"""The methods of searching."""
NAMED = 3
"""Failures that an answer names, of those that the index was made with."""


@dataclass(frozen=True)
class QuestionContext:
    """What an answer would be made from: the evidence that a method gathers, window by window."""

    question: str
    method: str
    level: int | None
    why: str
    """Why this method was taken, where it was chosen by the question, and what it did, as in the answer."""
    windows: tuple[Context, ...]
    context_tokens: int
    """The same as in the answer."""


@with_options
def ask(
    question: str,
    index: Asked = DEFAULT_FOLDER,
    *,
    method: Method = "auto",
    level: Level = None,
    where: str | Sequence[str] = (),
    tell: Callable[[str], None] | None = None,
    **options: Unpack[Options],
) -> Answer:
    """Answer a question from an index, with citations that lead to characters of the documents.

        print(ask("What are the main themes?"))
        ask("Who founded Tarn Works?", "my_index", method="local", model="openai/gpt-4.1-mini")

    question: what is asked.
    index: an index or its folder, or several of them, which answer as one; paths then begin with the name of the index.
    method: `auto` chooses by the question and says why in the answer (`why`). Over the whole: `global` (map-reduce over
        community reports), `rollup`, `drilldown`, `drift`, `source-summary`. Over parts: `local` (around the entities
        that are named), `bm25`, `vector`, `hybrid`, `walk`, `hippo`, `ircot`, `tog`, `tog1`, `raptor`, `propositions`.
        Without reading: `direct`, `cot`, `cot-sc` (language models only).
    level: the level of the hierarchy that `global` reads, 0 the root; `auto` descends from there where it is relevant.
    where: conditions on the documents that it is answered from, as `folder=reports/2024` or `date>=2024-01`.
    tell: is given the text of the answer piece by piece, as it is written.

    Raises UsageError for what makes no sense, IndexMissing where there is no index, ModelError where a model fails.

    Where no model is named, in settings, `conspectus.toml` or the environment either, it is the one that the index was
    built with (see `index_models`); `model="extractive"` answers without one.
    """
    asked = aask(question, index, method=method, level=level, where=where, tell=tell, **options)
    return run_sync(asked)


@with_options
async def aask(
    question: str,
    index: Asked = DEFAULT_FOLDER,
    *,
    method: Method = "auto",
    level: Level = None,
    where: str | Sequence[str] = (),
    tell: Callable[[str], None] | None = None,
    **options: Unpack[Options],
) -> Answer:
    """Do what `ask` does, inside a running event loop."""
    began = time.perf_counter()
    _check_order(question, index)
    check_question(question)
    check_names(options)
    view = viewed(index, where)
    opened = view.index
    known, model = known_by(options, view.built)
    method, why, chosen = _chosen(question, opened, method, level, known.settings)
    answering = named(METHODS, method)
    view.check(answering.needs)
    async with session_for(chosen, opened.folder, model, remembered=known.remembers_model) as session:
        performer = model or (session.model if session else model_of(opened))
        if performer.generative or is_short(chosen.answer.response):
            performer = WithAnswerOptions(performer, question, chosen.answer, opened.languages)
        if tell is not None:
            performer = StreamingModel(performer, opened, tell)
        result = await _answer(answering, question, opened, performer, chosen, model=model, session=session)
    reason = "; ".join(part for part in (why, result.why) if part)
    absent = unknown_name_notice(question, opened) if answering.reads else ()
    facts = added_fact_notices(result.citations)
    notices = (*view.notices(answering.reads), *absent, *missing(opened), *facts, *result.notices)
    language, seconds = opened.language_of(question), time.perf_counter() - began
    return replace(result, why=reason, notices=notices, seconds=seconds, language=language)


@with_options
async def astream(
    question: str,
    index: Asked = DEFAULT_FOLDER,
    *,
    method: Method = "auto",
    level: Level = None,
    where: str | Sequence[str] = (),
    **options: Unpack[Options],
) -> AsyncGenerator[str | Answer]:
    """Yield the text of an answer piece by piece, with references once they are checked, and last the whole answer.

    async for piece in conspectus.astream("What are the main themes?"):
        if isinstance(piece, str):
            print(piece, end="")
    """
    pieces: asyncio.Queue[str | None] = asyncio.Queue()

    async def work() -> Answer:
        try:
            return await aask(
                question, index, method=method, level=level, where=where, tell=pieces.put_nowait, **options
            )  # fmt: skip
        finally:
            pieces.put_nowait(None)

    answering = asyncio.ensure_future(work())
    try:
        while (piece := await pieces.get()) is not None:
            yield piece
        yield await answering
    finally:
        answering.cancel()


@with_options
def context(
    question: str,
    index: Asked = DEFAULT_FOLDER,
    *,
    method: Method = "auto",
    level: Level = None,
    where: str | Sequence[str] = (),
    **options: Unpack[Options],
) -> QuestionContext:
    """Gather what `ask` would answer from, and answer nothing.

    A language model is asked for what a method needs on the way, as the ratings of reports. Raises UsageError where
    a method has nothing to show before its answer.
    """
    return run_sync(acontext(question, index, method=method, level=level, where=where, **options))


@with_options
async def acontext(
    question: str,
    index: Asked = DEFAULT_FOLDER,
    *,
    method: Method = "auto",
    level: Level = None,
    where: str | Sequence[str] = (),
    **options: Unpack[Options],
) -> QuestionContext:
    """Do what `context` does, inside a running event loop."""
    _check_order(question, index)
    check_question(question)
    check_names(options)
    view = viewed(index, where)
    opened = view.index
    known, model = known_by(options, view.built)
    method, why, chosen = _chosen(question, opened, method, level, known.settings)
    answering = named(METHODS, method)
    view.check(answering.needs)
    if answering.no_preview:
        raise UsageError(answering.no_preview)
    async with session_for(chosen, opened.folder, model, remembered=known.remembers_model) as session:
        performer = model or (session.model if session else model_of(opened))
        if performer.generative:
            performer = WithAnswerOptions(performer, question, chosen.answer, opened.languages)
        recorder = ContextRecorder(performer)
        result = await _answer(answering, question, opened, recorder, chosen, model=model, session=session)
    reason = "; ".join(part for part in (why, result.why) if part)
    return QuestionContext(question, method, result.level, reason, tuple(recorder.windows), result.context_tokens)


@with_options
def search(
    question: str,
    index: Asked = DEFAULT_FOLDER,
    *,
    method: RankingMethod = "bm25",
    k: int | None = None,
    where: str | Sequence[str] = (),
    **options: Unpack[Options],
) -> list[Hit]:
    """Return the chunks that rank highest for a question, the best first, of documents that meet all conditions.

    method: `bm25`, `vector`, `hybrid`, `walk`, `hippo`, `ircot`, `tog`, `raptor` or `propositions`.
    k: how many chunks, at least 1; left out, as many as the settings say (`search.k`).
    """
    return run_sync(asearch(question, index, method=method, k=k, where=where, **options))


@with_options
async def asearch(
    question: str,
    index: Asked = DEFAULT_FOLDER,
    *,
    method: RankingMethod = "bm25",
    k: int | None = None,
    where: str | Sequence[str] = (),
    **options: Unpack[Options],
) -> list[Hit]:
    """Do what `search` does, inside a running event loop."""
    _check_order(question, index)
    check_question(question)
    check_names(options)
    view = viewed(index, where)
    ranking = named(RANKINGS, method)
    view.check(METHODS[method].needs)
    known, _ = known_by(options, view.built, language_model=None)
    chosen = known.settings
    if k is not None:
        if k < 1:
            raise UsageError(f"k is the number of chunks to return, at least 1, and not {k}")
        chosen = chosen.model_copy(update={"search": chosen.search.model_copy(update={"k": k})})
    if not chosen.rerank.enabled:
        return ranking(question, view.index, chosen)
    return await rank_reranked(ranking, question, view.index, chosen)


async def _answer(
    method: AnsweringMethod,
    question: str,
    index: Index,
    performer: Model,
    settings: Settings,
    *,
    model: Model | None,
    session: Session | None,
) -> Answer:
    """Answer by a method, with the usage of the session or of the reranker.

    Where the settings name a reranker, the answer is written from the chunks that it ranks highest; `model` is the one
    that the caller gave, which may rate them.
    """
    if not settings.rerank.enabled:
        answer = await method(question, index, performer, settings)
        return replace(answer, usage=session.total) if session else answer
    async with reranker_for(method.name, settings, index.folder, model=model, session=session) as reranker:
        answer = await answer_reranked(method, question, index, performer, settings, reranker)
        usage = session.total if session else reranker.usage if reranker else answer.usage
        return replace(answer, usage=usage)


def viewed(index: Asked = DEFAULT_FOLDER, where: str | Sequence[str] = ()) -> View:
    """Open what a question is asked of: several indexes as one, and of their documents those that meet all conditions.

    Raises UsageError where a condition makes no sense, NotFound where no document meets them, and what `open_index`
    does.
    """
    if isinstance(index, View):
        if where:
            raise UsageError("conditions are given when a view is opened, not when it is asked")
        return index
    given = [index] if isinstance(index, Index | str | Path) else list(index)
    if not given:
        raise UsageError("name an index to ask")
    return select_view([one if isinstance(one, Index) else open_index(one) for one in given], where)


def model_of(index: Index) -> Model:
    """Return the extractive model over an index; the index owns it, so that it is made once while the index is open."""
    return extractive(index)


def _check_order(question: object, index: object) -> None:
    """Raise UsageError where question and index were given in the other order."""
    swapped = isinstance(question, Index | View | Path) or (
        isinstance(question, str) and _is_index(question) and isinstance(index, str) and not _is_index(index)
    )
    if swapped:
        raise UsageError(f"the question comes first, then the index: ask(question, index); got {question!r} first")
    if not isinstance(question, str):
        raise UsageError(f"a question is a text, and not {type(question).__name__}")


def _is_index(name: str) -> bool:
    return is_index(Path(name))


def _chosen(question: str, index: Index, method: str, level: Level, settings: Settings) -> tuple[str, str, Settings]:
    """Return the method to answer by, why it was taken where `auto` was asked for, and the settings with the level."""
    if level is not None:
        if method not in ("auto", "global"):
            raise UsageError(f"a level goes with the method global, not with {method}")
        if level != "auto" and level < 0:
            raise UsageError(f"levels start at 0, the root; there is no level {level}")
        update = {"descend": True} if level == "auto" else {"level": level, "descend": False}
        settings = settings.model_copy(update={"global_": settings.global_.model_copy(update=update)})
    if method != "auto":
        return method, "", settings
    choice, why = ("global", "a level was given") if level is not None else auto.choose(question, index)
    return choice, why, settings


def missing(index: Index) -> Iterator[str]:
    """Yield a line that tells an answer's reader what the index lacks, if it lacks anything that a model failed on."""
    failed = [failure for failure in index.failures if failure.stage in ("extract", "describe", "reports")]
    if failed:
        heads = [f.error.partition(": ")[0] + (f" of {f.document}" if f.document else "") for f in failed[:NAMED]]
        told = "; ".join(heads) + (f"; and {len(failed) - NAMED} more" if len(failed) > NAMED else "")
        count = "a part" if len(failed) == 1 else f"{len(failed)} parts"
        yield f"This index lacks {count} that the model failed on: {told}. Status tells why; index again to mend that."
