"""Baselines that read nothing: what a language model answers by itself (Graph RAG §V: direct, CoT, CoT-SC)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model, succeeded
from conspectus.retrieval import Answering, method
from conspectus.rows import Answer
from conspectus.settings import Settings
from conspectus.tasks import Draft, DraftAnswer
from conspectus.text.language import ENGLISH, language_of
from conspectus.text.words import name_key

UNREAD = wording(ENGLISH).unread
SAMPLES = 5
"""Number of sampled chains of thought that vote."""


def _closed_book(name: str, does: str) -> Callable[[Answering], Answering]:
    """Register a method that reads nothing and needs a language model."""
    reason = f"{name} reads nothing: it asks for what a language model knows"
    return method(name, help=does, reads=(), needs={"model"}, no_preview=reason)


@_closed_book("direct", "the model answers without reading anything")
async def direct(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer at once."""
    return _answer(question, await model.perform(DraftAnswer(question)), "direct")


@_closed_book("cot", "the same, with step-by-step reasoning")
async def chain_of_thought(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer after reasoning step by step."""
    return _answer(question, await model.perform(DraftAnswer(question, stepwise=True)), "cot")


@_closed_book("cot-sc", "the majority of several such chains of thought")
async def self_consistency(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer what most of several sampled chains of thought come to; of equally many the first.

    Raises the first failure where every chain failed.
    """
    samples = range(1, SAMPLES + 1)
    replies = await model.perform_all([DraftAnswer(question, stepwise=True, sample=n) for n in samples])
    drafts = succeeded(replies)
    if not drafts:
        raise next(reply for reply in replies if isinstance(reply, Exception))
    votes = Counter(name_key(draft.answer) for draft in drafts)
    most = votes.most_common(1)[0][0]
    first = next(draft for draft in drafts if name_key(draft.answer) == most)
    return _answer(question, first, "cot-sc", f"{votes[most]} of {len(drafts)} chains of thought say so")


def _answer(question: str, draft: Draft, method: str, why: str = "") -> Answer:
    text = f"{draft.reasoning}\n\n{draft.answer}" if draft.reasoning else draft.answer
    words = wording(language_of([question]))
    return Answer(
        question, text, method, why=why, notices=(words.uncited, words.unread), short=(draft.answer,)
    )
