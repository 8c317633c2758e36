"""The end of every method: one final task, whose references are checked before anyone reads them."""

from __future__ import annotations

from collections.abc import Sequence

from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model
from conspectus.retrieval.citations import cite
from conspectus.rows import Answer
from conspectus.tasks import Task
from conspectus.text.language import ENGLISH

NOTHING = wording(ENGLISH).nothing
WRITTEN = wording(ENGLISH).written


async def finish(
    task: Task[str],
    question: str,
    index: Index,
    model: Model,
    *,
    method: str,
    level: int | None = None,
    context_tokens: int = 0,
    notices: Sequence[str] = (),
) -> Answer:
    """Perform the final task and return the answer with its citations."""
    text, citations, removed = cite(await model.perform(task), index)
    if not text.strip():
        return nothing_found(question, index, method=method, level=level, context_tokens=context_tokens)
    if model.generative:
        words = wording(index.language_of(question))
        notices = (*notices, words.written if citations else words.uncited)
    return Answer(
        question, text.strip(), method, citations, level,
        context_tokens=context_tokens, removed_references=removed, notices=tuple(notices),
    )  # fmt: skip


def nothing_found(
    question: str, index: Index, *, method: str, level: int | None = None, context_tokens: int = 0
) -> Answer:
    """Return the answer of a method that found nothing: it says so and cites nothing."""
    said = wording(index.language_of(question)).nothing
    return Answer(question, said, method, level=level, context_tokens=context_tokens)
