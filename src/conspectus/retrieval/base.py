"""What the methods share: packing of contexts, map-reduce, and the final task with its checked citations."""

from __future__ import annotations

import difflib
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from conspectus import tokens
from conspectus.algorithms.ranking import highest
from conspectus.errors import ModelError, NotSupported
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.models.extractive.model import ExtractiveModel
from conspectus.references import removed_by_model
from conspectus.retrieval.citations import cite
from conspectus.rows import Answer, Chunk, Claim, Entity, Hit, Relationship, Report
from conspectus.settings import AnswerSettings
from conspectus.tasks import AnswerFromContext, MapAnswer, PartialAnswer, ReduceAnswer, Task
from conspectus.tasks.base import Context, Row, render
from conspectus.text.language import ENGLISH, question_language
from conspectus.text.question import read_question
from conspectus.text.words import entity_keys, name_key, search_terms

NOTHING = wording(ENGLISH).nothing
WRITTEN = wording(ENGLISH).written


async def finish(task: Task[str], draft: Answer, index: Index, model: Model) -> Answer:
    """Perform the final task, and return the draft of the answer with its text, citations and notices."""
    lost_before: list[int] = []  # references that the model did not pass on; `cite` counts the others
    token = removed_by_model.set(lost_before)
    try:
        reply = await model.perform(task)
    finally:
        removed_by_model.reset(token)
    text, citations, removed = cite(reply, index)
    words = wording(question_language(draft.question, index))
    if not text.strip():
        return replace(draft, text=words.nothing, notices=())
    notices = draft.notices
    if model.generative:
        notices = (*notices, words.written if citations else words.uncited)
    return replace(
        draft,
        text=text.strip(),
        citations=citations,
        removed_references=removed + sum(lost_before),
        notices=notices,
    )


def empty_answer(
    question: str, index: Index, *, method: str, level: int | None = None, context_tokens: int = 0
) -> Answer:
    """Return the answer of a method that found nothing: it says so and cites nothing."""
    words = wording(question_language(question, index)).nothing
    return Answer(question, words, method, level=level, context_tokens=context_tokens)


async def map_reduce(
    draft: Answer, windows: Sequence[Context], index: Index, model: Model, settings: AnswerSettings
) -> Answer:
    """Answer the question of a draft from each window, score that, and write one answer from the most helpful.

    Raises ModelError where no window could be answered.
    """
    question = draft.question
    replies = await model.perform_all([MapAnswer(question, window) for window in windows])
    failed = [reply for reply in replies if isinstance(reply, ModelError)]
    if failed and len(failed) == len(replies):
        raise failed[0]
    partial = [reply for reply in replies if not isinstance(reply, ModelError) and reply.score > 0]
    if failed:
        notice = f"{len(failed)} of {len(windows)} windows could not be read: {failed[0]}"
        draft = replace(draft, notices=(*draft.notices, notice))
    if not partial:
        return replace(draft, text=wording(question_language(question, index)).nothing)
    return await reduce(partial, draft, index, model, settings)


async def reduce(
    answers: Sequence[PartialAnswer], draft: Answer, index: Index, model: Model, settings: AnswerSettings
) -> Answer:
    """Write one answer from partial ones: the most helpful, as many as fit a window, one at least."""
    fitting: list[PartialAnswer] = []
    used = 0
    for partial in sorted(answers, key=lambda partial: -partial.score):
        used += tokens.count(partial.text)
        if fitting and used > settings.context_tokens:
            break
        fitting.append(partial)
    return await finish(ReduceAnswer(draft.question, tuple(fitting)), draft, index, model)


RowT = TypeVar("RowT", bound=Row)
REPORT_SHARE, ENTITY_SHARE, RELATIONSHIP_SHARE, CLAIM_SHARE = 0.15, 0.15, 0.2, 0.1
"""Maximum shares of a local context for each table; chunks get what these leave, 0.4 at least."""


def pack_rows(
    limit: int,
    *,
    reports: Iterable[Report] = (),
    entities: Iterable[Entity] = (),
    relationships: Iterable[Relationship] = (),
    claims: Iterable[Claim] = (),
    sources: Iterable[Chunk] = (),
) -> Context:
    """Return the first rows of each table that fit its share of a window of `limit` tokens; chunks get the rest."""
    fitting_reports, room = _fit(reports, REPORT_SHARE * limit, limit)
    fitting_entities, room = _fit(entities, ENTITY_SHARE * limit, room)
    fitting_relationships, room = _fit(relationships, RELATIONSHIP_SHARE * limit, room)
    fitting_claims, room = _fit(claims, CLAIM_SHARE * limit, room)
    chunks, _ = _fit(sources, room, room)
    return Context(fitting_reports, fitting_entities, fitting_relationships, fitting_claims, chunks)


def _fit(rows: Iterable[RowT], part: float, room: float) -> tuple[tuple[RowT, ...], float]:
    """Return the first rows that fit a part of the window together, and what they leave of it.

    They are one at least, unless the part is nothing.
    """
    fitting: list[RowT] = []
    used = 0
    for row in rows if part > 0 else ():
        size = tokens.count(render(row, 100))
        if fitting and used + size > part:
            break
        fitting.append(row)
        used += size
    return tuple(fitting), room - used


ALIKE = 0.8
"""How like a known word a name has to be to be taken for it misspelt."""


def unknown_names(question: str, index: Index) -> list[str]:
    """Return the capitalised words inside a question that neither the documents nor the graph have."""
    vocabulary, words_of_names = index.number_of_word, index.derive(_words_of_names)
    return [
        name
        for name in read_question(question, *index.languages).written_names
        if not any(term in vocabulary for term in search_terms(name, index))
        and name_key(name) not in index.derive(entity_keys)
        and name_key(name) not in words_of_names
    ]


def _words_of_names(index: Index) -> dict[str, str]:
    """Return the words of the names of entities by what their spellings have in common, so Kovač by kovac."""
    words = {name_key(word): word for entity in index.entities for word in entity.name.split()}
    words.pop("", None)
    return words


def unknown_name_notice(question: str, index: Index) -> Iterator[str]:
    """Yield a notice of the names that are absent, if any, each with the known one that it is most like."""
    if absent := unknown_names(question, index):
        words = index.derive(_words_of_names)
        shown: list[str] = []
        for name in absent:
            near = difflib.get_close_matches(name_key(name), words, n=1, cutoff=ALIKE)
            shown.append(f"{name} ({words[near[0]]}?)" if near else name.removesuffix("."))
        texts = wording(question_language(question, index))
        yield texts.absent.format(texts.comma.join(shown))


T = TypeVar("T")


def run_ready(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that nothing makes wait; NotSupported where something does."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value
    work.close()
    raise NotSupported("a ranking cannot wait for a language model here: use the method's asynchronous form")


def extractive(index: Index) -> Model:
    """Return the extractive model of an open index: the one that all who ask the index share, also from threads."""
    return index.derive(ExtractiveModel.of_index)


def hit(chunk: int, score: float, index: Index) -> Hit:
    """Return a chunk as a hit of a ranking."""
    row = index.chunks[chunk]
    document = index.document_of[row.document_id]
    where = document.place(row.start, row.end)
    return Hit(document.path, document.title, row.id, row.start, row.end, score, row.text, where)


def hits_of(scores: np.ndarray[Any, Any], index: Index, k: int) -> list[Hit]:
    """Return the `k` chunks of the highest scores above 0."""
    return [hit(int(i), float(scores[i]), index) for i in highest(scores, k) if scores[i] > 0]


async def answer_from(
    hits: Sequence[Hit], question: str, index: Index, model: Model, *, method: str
) -> Answer:
    """Answer from the chunks of a ranking, whatever method made it."""
    if not hits:
        return empty_answer(question, index, method=method)
    chunks = tuple(index.chunk_of[h.chunk] for h in hits)
    task = AnswerFromContext(question, Context(sources=chunks))
    used = sum(chunk.n_tokens for chunk in chunks)
    return await finish(task, Answer(question, "", method, context_tokens=used), index, model)
