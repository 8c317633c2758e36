"""Ask an index, search it, and show what an answer would be made from."""

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
from conspectus.text.language import question_language
from conspectus.text.question import is_short

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from conspectus.indexing import embed as embedding
    from conspectus.models.llm.model import Session
else:  # a question seldom needs any of indexing
    embedding = lazy_module("conspectus.indexing.embed")

IndexLike = AnyIndex | View | Sequence[AnyIndex]
"""What a question is asked of: an index, what `build` returned, or a folder; or several, which are asked as one."""


MethodName = (
    Literal[
        "auto", "global", "local", "rollup", "drilldown", "drift", "source-summary", "bm25", "vector", "hybrid",
        "semantic-search",
        "mixed", "walk", "hipporag", "hipporag2", "combined", "ircot", "tog", "tog1", "raptor", "propositions",
        "direct", "cot", "cot-sc",
    ]
    | str
)  # fmt: skip
"""The methods of answering, spelt out for the completion of editors; others may be registered."""
RankingName = (
    Literal[
        "bm25", "vector", "hybrid", "mixed", "walk", "hipporag", "hipporag2", "combined", "ircot", "tog", "raptor",
        "propositions",
    ]
    | str
)  # fmt: skip
"""The methods of searching."""


class AskOptions(Options, total=False):
    """Options of every function that answers.

    method: `auto`, the default, chooses by the question and says why in the answer (`why`). Over the whole: `global`
        (map-reduce over community reports), `rollup`, `drilldown`, `drift`, `source-summary`,
        `semantic-search`. Over parts: `local` (around the entities that are named), `mixed` (facts), `bm25`,
        `vector`, `hybrid`, `walk`, `hipporag`, `hipporag2`, `combined`, `ircot`, `tog`, `tog1`, `raptor`,
        `propositions`. Without reading: `direct`, `cot`, `cot-sc` (language models only).
    level: the level of the hierarchy that `global` reads, 0 the root; `auto` descends from there where it is relevant.
    where: conditions on the documents that it is answered from, as `folder=reports/2024` or `date>=2024-01`.
    """

    method: MethodName
    level: int | Literal["auto"] | None
    where: str | Sequence[str]


@dataclass(frozen=True, repr=False)
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
    """Answer a question from an index, with citations that lead to characters of the documents.

        print(ask("What are the main themes?"))
        ask("Who founded Tarn Works?", "my_index", method="local", model="openai/gpt-4.1-mini")

    `aask` does inside a running event loop what `ask` does.

    question: what is asked.
    index: an index or its folder, or several of them, which answer as one; paths then begin with the name of the index.
    on_text: is given the text of the answer piece by piece, as it is written.
    on_method: is given the method and why it was chosen, before anything is read; again where another takes its place,
        or where evidence was missing and it looks again, with what for.

    Raises UsageError for what makes no sense, IndexMissing where there is no index, ModelError where a model fails.

    Where no model is named, in settings, `conspectus.toml` or the environment either, it is the one that the index was
    built with (see `index_models`); `model="extractive"` answers without one.
    """
    return await answer_question(Request.of(question, index, options), on_text, on_method)


ask = synchronous(aask)
"""Answer a question from an index; see `aask`."""


@public
async def astream(
    question: str, index: IndexLike = DEFAULT_FOLDER, **options: Unpack[AskOptions]
) -> AsyncGenerator[str | Answer]:
    """Yield the text of an answer piece by piece, with references once they are checked, and last the whole answer.

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
    """Gather what `ask` would answer from, and answer nothing; `acontext` does so inside a running event loop.

    A language model is asked for what a method needs on the way, as the ratings of reports. Raises UsageError where
    a method has nothing to show before its answer.
    """
    return await Request.of(question, index, options).context()


context = synchronous(acontext)
"""Gather what `ask` would answer from; see `acontext`."""


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
    """Return the chunks that rank highest for a question, the best first, of documents that meet all conditions.

    `asearch` does inside a running event loop what `search` does.

    method: `mixed`, `bm25`, `vector`, `hybrid`, `walk`, `hipporag`, `hipporag2`, `combined`, `ircot`, `tog`,
        `raptor` or `propositions`.
    k: how many chunks, at least 1; left out, as many as the settings say (`search.k`).
    where: conditions on the documents, as of `ask`.
    """
    named_model(options.get("embedder"))
    view = viewed(index, where)
    if method in METHODS and method not in RANKINGS:
        raise UsageError(f"{method} ranks no chunks; these do: {', '.join(RANKINGS)}")
    ranking = named(RANKINGS, method)
    view.check(METHODS[method].needs)
    settings = run_of(options, view.built, language_model=None, overrides={"search.k": k}).settings
    check_question(question, settings.answer.context_tokens)
    return await rank_reranked(ranking, question, view.index, settings)


search = synchronous(asearch)
"""Return the chunks that rank highest for a question; see `asearch`."""


@dataclass(frozen=True)
class Request:
    """A question with what it is asked of, the method that answers it, and the settings and model of the run."""

    question: str
    view: View
    method: Method
    why: str
    """Why this method was taken, where it was chosen by the question."""
    run: Run
    began: float

    @classmethod
    def of(cls, question: str, index: IndexLike, options: AskOptions) -> Request:
        """Check a question and its options, open what it is asked of, and choose the method."""
        began = time.perf_counter()
        return cls.on(question, *opened_for(index, options), options, began)

    @classmethod
    def on(cls, question: str, view: View, run: Run, options: AskOptions, began: float) -> Request:
        """Check a question of an open index, and choose the method."""
        check_question(question, run.settings.answer.context_tokens)
        name, level, why = options.get("method") or "auto", options.get("level"), ""
        if level is not None and name not in ("auto", "global"):
            raise UsageError(f"a level goes with the method global, not with {name}")
        if name == "auto" and level is not None:
            name, why = "global", "a level was given"
        elif name == "auto":
            name, why = auto.choose(question, view.index)
        method = named(METHODS, name)
        view.check(method.needs)
        return cls(question, view, method, why, run, began)

    @asynccontextmanager
    async def session(self) -> AsyncGenerator[tuple[Session | None, Model]]:
        """Open the model that answers: the one that was given, of the settings, or the extractive one of the index."""
        index, answer = self.view.index, self.run.settings.answer
        async with self.run.session(index.folder) as session:
            model = extractive(index)
            model = self.run.model or (session.model_with(model) if session else model)
            if writes(model, AnswerFromContext) or is_short(answer.response):
                model = WithAnswerOptions(model, self.question, answer, index.languages)
            yield session, model

    async def context(self) -> QuestionContext:
        """Gather what it would be answered from; raises as `acontext` does."""
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

        Where the settings name a reranker, the answer is written from the chunks that it ranks highest; the model that
        the caller gave may rate them.
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
    """Open what options ask, and return it with their settings and model."""
    named_model(options.get("embedder"))  # a function is known from here on
    view = viewed(index, options.get("where") or ())
    return view, run_of(options, view.built, overrides={"global.level": options.get("level")})


async def answer_question(
    request: Request,
    on_text: Callable[[str], None] | None = None,
    on_method: Callable[[str, str], None] | None = None,
) -> Answer:
    """Answer a request, and add to the answer what its reader should know of the index."""
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
        # a short answer has no room for what opens the others
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
    """Answer a request; where `auto` chose the method, search for what is missing and answer again (`auto.rounds`).

    Where a further round fails, as for want of budget, the answer before it stands, with a notice.
    """
    question, settings = request.question, request.run.settings
    # without a language model nothing says what is missing
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
    """Yield what an answer's reader should know that the index lacks: a function as its model, or failed parts."""
    name = str(index.settings.get("model", ""))
    if name.startswith(FUNCTION) and run.model is None and run.origins.get("model") == "default":
        yield f"The index was built with the function {name}, which is not stored: model=... answers with it again."
    failed = [failure for failure in index.failures if failure.stage in ("extract", "describe", "reports")]
    if failed:
        first = failed[0].error.partition(": ")[0]
        of = f" of {failed[0].document}" if failed[0].document else ""
        lost = f"This index lacks {counted(len(failed), 'part')} that the model failed on ({first}{of})."
        yield f"{lost} Status lists all; index again to add them."


def viewed(index: IndexLike = DEFAULT_FOLDER, where: str | Sequence[str] = ()) -> View:
    """Open what a question is asked of: several indexes as one, and of their documents those that meet all conditions.

    Vectors of a function that this process does not have are left out. Raises UsageError where a condition makes no
    sense, NotFound where no document meets them, and what `open_index` does.
    """
    if isinstance(index, View):
        if where:
            raise UsageError("conditions are given when a view is opened, not when it is asked")
        return index
    given = cast("object", index)
    if not given or not isinstance(given, Index | str | Path | Sequence):
        raise UsageError(f"an index, its folder or a list of them is asked, and not {given!r}")
    indexes = [index] if isinstance(index, Index | WithIndex | str | Path) else index
    readable: list[Index] = []
    reason = ""
    for whole in map(opened, indexes):
        name = own_embedder(whole)
        forgotten = name.startswith(FUNCTION) and not is_registered(name)
        if forgotten:
            reason = f"the function {name} that made them is not here; give it as embedder=..."
        readable.append(whole.derive(embedding.without_vectors) if forgotten else whole)
    view = select_view(readable, where)
    if reason:
        view = replace(view, remarks=(*view.remarks, f"Vectors are left out: {reason}"), no_vectors=reason)
    return view
