"""Ask an index, search it, and show the context that an answer would be made from."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

from conspectus import tokens
from conspectus.errors import ModelError, UsageError
from conspectus.filters import View, select_view
from conspectus.index import Index
from conspectus.index_models import FUNCTION, own_embedder
from conspectus.lazy import lazy_module
from conspectus.messages import is_empty_answer
from conspectus.models.base import Model, writes
from conspectus.models.extractive.answer import assembled_notice
from conspectus.models.llm.adapters import is_registered
from conspectus.models.rerankers import open_reranker
from conspectus.name_lookup import question_language
from conspectus.retrieval import METHODS, RANKINGS, Method, auto
from conspectus.retrieval.base import extractive, unknown_name_notice
from conspectus.retrieval.model_wrappers import AnsweringModel, ContextRecorder, WithAnswerOptions
from conspectus.retrieval.rerank import answer_reranked, rank_reranked
from conspectus.rows import Answer, Hit, counted, plain
from conspectus.runtime import (
    DEFAULT_FOLDER,
    AnyIndex,
    Options,
    Run,
    WithIndex,
    check_question,
    named,
    named_model,
    opened,
    public,
    run_of,
    synchronous,
)
from conspectus.tasks import AnswerFromContext
from conspectus.tasks.base import Context
from conspectus.text.question import is_short

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.indexing import embed as embedding
    from conspectus.models.llm.model import Session
else:  # a question seldom needs any of indexing
    embedding = lazy_module("conspectus.indexing.embed")

IndexLike = AnyIndex | View | Sequence[AnyIndex]
"""What a question is asked of: an index, the result of `build`, or a folder; or several of these, asked as one."""


MethodName = (
    Literal[
        "auto", "global", "local", "rollup", "drilldown", "drift", "source-summary", "bm25", "vector", "hybrid",
        "semantic-search",
        "mixed", "walk", "hipporag", "hipporag2", "combined", "ircot", "tog", "tog1", "raptor", "propositions",
        "direct", "cot", "cot-sc",
    ]
    | str
)  # fmt: skip
"""The methods of answering, listed for completion in editors; others may be registered."""
RankingName = (
    Literal[
        "bm25", "vector", "hybrid", "mixed", "walk", "hipporag", "hipporag2", "combined", "ircot", "tog", "raptor",
        "propositions",
    ]
    | str
)  # fmt: skip
"""The methods of searching, listed for completion in editors; others may be registered."""


class AskOptions(Options, total=False):
    """Options of every function that answers.

    method: `auto`, the default, chooses by the question and gives the reason in the answer (`why`). For questions about
        the whole corpus: `global` (map-reduce over community reports), `rollup`, `drilldown`, `drift`,
        `source-summary`, `semantic-search`. For specific questions: `local` (around the entities that are named),
        `mixed` (facts), `bm25`, `vector`, `hybrid`, `walk`, `hipporag`, `hipporag2`, `combined`, `ircot`, `tog`,
        `tog1`, `raptor`, `propositions`. Closed-book: `direct`, `cot`, `cot-sc` (language models only).
    level: the level of the hierarchy that `global` reads, 0 being the root; `auto` goes down along relevant reports.
    where: conditions on the documents to answer from, such as `folder=reports/2024` or `date>=2024-01`.
    """

    method: MethodName
    level: int | Literal["auto"] | None
    where: str | Sequence[str]


@dataclass(frozen=True, repr=False)
class QuestionContext:
    """The context that an answer would be made from: the evidence that a method gathers, window by window."""

    question: str
    method: str
    level: int | None
    why: str
    """Why the method was chosen, if the question decided, and what the method did; as in the answer."""
    windows: tuple[Context, ...]
    context_tokens: int
    """Tokens of the evidence, as in the answer."""

    def __repr__(self) -> str:
        """Return the method and the size of the evidence on one line."""
        windows = counted(len(self.windows), "window")
        return f"<QuestionContext by {self.method}: {windows}, {self.context_tokens:,} tokens>"

    def __str__(self) -> str:
        """Return the text of all windows, as a language model would read it, without control characters."""
        return plain("\n\n".join(window.text.strip() for window in self.windows))


@public
async def aask(
    question: str,
    index: IndexLike = DEFAULT_FOLDER,
    *,
    on_text: Callable[[str], None] | None = None,
    on_method: Callable[[str, str], None] | None = None,
    **options: Unpack[AskOptions],
) -> Answer:
    """Answer a question from an index, with citations that lead to the characters of the documents.

        print(ask("What are the main themes?"))
        ask("Who founded Tarn Works?", "my_index", method="local", model="openai/gpt-4.1-mini")

    `aask` is the asynchronous form of `ask`, for use inside a running event loop.

    question: the question.
    index: an index or its folder, or several of them, asked as one; paths then begin with the name of the index.
    on_text: called with each piece of the answer's text as it is written.
    on_method: called with the method and the reason for it, before anything is read; called again if another method
        replaces it, or if evidence was missing and a further round starts, with the clue query.

    Raises UsageError for invalid arguments, IndexMissing if there is no index, ModelError if a model fails.

    If no model is named here, in settings, `conspectus.toml` or the environment, the model that the index was built
    with is used (see `index_models`); `model="extractive"` answers without a language model.
    """
    return await answer_question(Request.of(question, index, options), on_text, on_method)


ask = synchronous(aask)
"""Answer a question from an index; see `aask`."""


@public
async def astream(
    question: str, index: IndexLike = DEFAULT_FOLDER, **options: Unpack[AskOptions]
) -> AsyncGenerator[str | Answer]:
    """Yield the text of an answer piece by piece, with checked references, and finally the whole answer.

    async for piece in conspectus.astream("What are the main themes?"):
        if isinstance(piece, str):
            print(piece, end="")
    """
    pieces: asyncio.Queue[str | None] = asyncio.Queue()

    async def work() -> Answer:
        try:
            return await aask(question, index, on_text=pieces.put_nowait, **options)
        finally:
            pieces.put_nowait(None)

    answering = asyncio.ensure_future(work())
    try:
        while (piece := await pieces.get()) is not None:
            yield piece
        yield await answering
    finally:
        answering.cancel()


@public
async def acontext(
    question: str, index: IndexLike = DEFAULT_FOLDER, **options: Unpack[AskOptions]
) -> QuestionContext:
    """Gather the context that `ask` would answer from, without answering; `acontext` is the asynchronous form.

    A language model still performs the tasks before the answer, such as rating reports. Raises UsageError if the method
    has nothing to show before its answer.
    """
    return await Request.of(question, index, options).context()


context = synchronous(acontext)
"""Gather the context that `ask` would answer from; see `acontext`."""


@public
async def asearch(
    question: str,
    index: IndexLike = DEFAULT_FOLDER,
    *,
    method: RankingName = "mixed",
    k: int | None = None,
    where: str | Sequence[str] = (),
    **options: Unpack[Options],
) -> list[Hit]:
    """Return the chunks that rank highest for a question, the best first, from documents that meet all conditions.

    `asearch` is the asynchronous form of `search`, for use inside a running event loop.

    method: `mixed`, `bm25`, `vector`, `hybrid`, `walk`, `hipporag`, `hipporag2`, `combined`, `ircot`, `tog`,
        `raptor` or `propositions`.
    k: the number of chunks, at least 1; by default that of the settings (`search.k`).
    where: conditions on the documents, as in `ask`.
    """
    named_model(options.get("embedder"))
    view = viewed(index, where)
    if method in METHODS and method not in RANKINGS:
        raise UsageError(f"{method} does not rank chunks; these do: {', '.join(RANKINGS)}")
    ranking = named(RANKINGS, method)
    view.check(METHODS[method].needs)
    settings = run_of(options, view.built, language_model=None, overrides={"search.k": k}).settings
    check_question(question, settings.answer.context_tokens)
    return await rank_reranked(ranking, question, view.index, settings)


search = synchronous(asearch)
"""Return the chunks that rank highest for a question; see `asearch`."""


@dataclass(frozen=True)
class Request:
    """A question with the view that it is asked of, its method, and the settings and model of the run."""

    question: str
    view: View
    method: Method
    why: str
    """Why the method was chosen, if the question decided; else empty."""
    run: Run
    began: float

    @classmethod
    def of(cls, question: str, index: IndexLike, options: AskOptions) -> Request:
        """Check a question and its options, open its indexes, and choose the method."""
        began = time.perf_counter()
        return cls.on(question, *opened_for(index, options), options, began)

    @classmethod
    def on(cls, question: str, view: View, run: Run, options: AskOptions, began: float) -> Request:
        """Check a question to an open view, and choose the method."""
        check_question(question, run.settings.answer.context_tokens)
        name, level, why = options.get("method") or "auto", options.get("level"), ""
        if level is not None and name not in ("auto", "global"):
            raise UsageError(f"a level can be used only with the method global, not with {name}")
        if name == "auto" and level is not None:
            name, why = "global", "a level was given"
        elif name == "auto":
            name, why = auto.choose(question, view.index)
        method = named(METHODS, name)
        view.check(method.needs)
        return cls(question, view, method, why, run, began)

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[tuple[Session | None, Model]]:
        """Open the model that answers: the given one, that of the settings, or the index's extractive model."""
        index, answer = self.view.index, self.run.settings.answer
        async with self.run.session(index.folder) as session:
            model = extractive(index)
            model = self.run.model or (session.model_with(model) if session else model)
            if writes(model, AnswerFromContext) or is_short(answer.response):
                model = WithAnswerOptions(model, self.question, answer, index.languages)
            yield session, model

    async def context(self) -> QuestionContext:
        """Gather the context that the question would be answered from; raises as `acontext` does."""
        if self.method.no_preview:
            raise UsageError(self.method.no_preview)
        async with self.session() as (session, model):
            recorder = ContextRecorder(model)
            answer = await self.answer(recorder, session)
        reason = "; ".join(part for part in (self.why, answer.why) if part)
        windows = tuple(recorder.windows)
        return QuestionContext(
            self.question, self.method.name, answer.level, reason, windows, answer.context_tokens
        )

    async def answer(self, model: Model, session: Session | None) -> Answer:
        """Answer by the method, with the usage of the session or of the reranker.

        If the settings name a reranker, the answer is written from the chunks that it ranks highest; a model that the
        caller gave may rate them.
        """
        question, index, settings = self.question, self.view.index, self.run.settings
        if not settings.rerank.enabled:
            answer = await self.method(question, index, model, settings)
            return replace(answer, usage=session.total) if session else answer
        opening = open_reranker(settings, index.folder, model=self.run.model, session=session)
        async with opening if self.method.rank else nullcontext() as reranker:
            answer = await answer_reranked(self.method, question, index, model, settings, reranker)
            usage = session.total if session else reranker.usage if reranker else answer.usage
            return replace(answer, usage=usage)


def opened_for(index: IndexLike, options: AskOptions) -> tuple[View, Run]:
    """Return the view of an index that options select, and the run with their settings and model."""
    named_model(options.get("embedder"))  # registers a function
    view = viewed(index, options.get("where") or ())
    return view, run_of(options, view.built, overrides={"global.level": options.get("level")})


async def answer_question(
    request: Request,
    on_text: Callable[[str], None] | None = None,
    on_method: Callable[[str, str], None] | None = None,
) -> Answer:
    """Answer a request, and add notices about the index to the answer."""
    question, index, settings = request.question, request.view.index, request.run.settings
    tell: Callable[[str, str], None] = on_method or (lambda _method, _why: None)
    tell(request.method.name, request.why)
    async with request.session() as (session, model):
        result = await _answer_in_rounds(request, model, session, on_text, tell)
        over_all = request.method.name in ("global", "rollup") and settings.global_.level is None
        if request.why and over_all and not result.sufficient:
            method = named(METHODS, auto.without_reports(index))
            request = replace(request, method=method, why=f"{request.why}, and no report says anything on it")
            tell(method.name, request.why)
            result = await _answer_in_rounds(request, model, session, on_text, tell)
        spending = session.budget_notices if session else ()
        # a short answer lacks the notice that opens the others
        is_bare = bool(result.citations) and not result.notices and not result.text.startswith("*")
        quoted = is_bare and not writes(model, AnswerFromContext) and is_short(settings.answer.response)
    reads = request.method.reads
    notices = (
        *request.view.notices(reads),
        *(unknown_name_notice(question, index) if reads else ()),
        *_lacks(index, request.run),
        *spending,
        *result.notices,
        *((assembled_notice(question, index),) if quoted else ()),
    )
    why = "; ".join(part for part in (request.why, result.why) if part)
    seconds = time.perf_counter() - request.began
    language = question_language(question, index)
    return replace(result, why=why, notices=notices, seconds=seconds, language=language)


async def _answer_in_rounds(
    request: Request,
    model: Model,
    session: Session | None,
    on_text: Callable[[str], None] | None,
    tell: Callable[[str, str], None],
) -> Answer:
    """Answer a request; if `auto` chose the method, search for missing evidence and answer again (`auto.rounds`).

    If a further round fails, e.g. because the budget is reached, the previous answer is returned with a notice.
    """
    question, settings = request.question, request.run.settings
    # without a language model, nothing names missing evidence
    rounds = settings.auto.rounds if request.why and model.generative else 1
    if rounds == 1 and not on_text:
        return await request.answer(model, session)
    window = settings.answer.context_tokens
    answering = AnsweringModel(model, question, request.view.index, on_text, rounds, window)
    answer = await request.answer(answering, session)
    while len(answer.clues) == answer.rounds < rounds:
        clue = answer.clues[-1]
        again = f"looking again, for “{clue}”"
        tell(request.method.name, again)
        answering.cited = {citation.id for citation in answer.citations}
        try:
            later = await replace(request, question=f"{question} {clue}").answer(answering, session)
        except ModelError as error:
            if answering.shown:
                raise
            notice = f"What is missing ({clue}) was not searched for: {error}"
            answer = replace(answer, notices=(*answer.notices, notice))
            break
        answer = replace(
            answer if is_empty_answer(later.text) else later,
            question=question,
            why="; ".join(part for part in (answer.why, again) if part),
            sufficient=later.sufficient,
            rounds=answer.rounds + 1,
            clues=(*answer.clues, *later.clues),
            context_tokens=answer.context_tokens + tokens.count(answering.context.text),
            read=answering.context.read,
            usage=later.usage,
        )
    if on_text and answering.shown == "":
        on_text(answer.text)
    return answer


def _lacks(index: Index, run: Run) -> Iterator[str]:
    """Yield notices of what the index lacks: the function that was its model, and parts that failed."""
    name = str(index.settings.get("model", ""))
    if name.startswith(FUNCTION) and run.model is None and run.origins.get("model") == "default":
        yield f"The index was built with the function {name}, which is not stored: pass it again as model=..."
    failed = [failure for failure in index.failures if failure.stage in ("extract", "describe", "reports")]
    if failed:
        first = failed[0].error.partition(": ")[0]
        of = f" of {failed[0].document}" if failed[0].document else ""
        lost = f"This index lacks {counted(len(failed), 'part')} that the model failed on ({first}{of})."
        yield f"{lost} Status lists all; index again to add them."


def viewed(index: IndexLike = DEFAULT_FOLDER, where: str | Sequence[str] = ()) -> View:
    """Return one view of one or several indexes, restricted to documents that meet all conditions.

    Vectors by a function that this process does not have are left out. Raises UsageError if a condition is invalid,
    NotFound if no document meets them, and what `open_index` raises.
    """
    if isinstance(index, View):
        if where:
            raise UsageError("pass conditions when opening a view, not when asking it")
        return index
    given = cast("object", index)
    if not given or not isinstance(given, Index | str | Path | Sequence):
        raise UsageError(f"expected an index, its folder or a list of them, not {given!r}")
    indexes = [index] if isinstance(index, Index | WithIndex | str | Path) else index
    readable: list[Index] = []
    reason = ""
    for whole in map(opened, indexes):
        name = own_embedder(whole)
        forgotten = name.startswith(FUNCTION) and not is_registered(name)
        if forgotten:
            reason = f"the function {name} that made them is not available; pass it as embedder=..."
        readable.append(whole.derive(embedding.without_vectors) if forgotten else whole)
    view = select_view(readable, where)
    if reason:
        view = replace(view, remarks=(*view.remarks, f"Vectors are not used: {reason}"), no_vectors=reason)
    return view
