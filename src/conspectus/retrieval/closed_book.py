"""Baselines that read nothing: what a language model answers by itself (Graph RAG §V: direct, CoT, CoT-SC)."""

from __future__ import annotations

from collections import Counter

from conspectus.errors import NotSupported
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import Model, succeeded
from conspectus.rows import Answer
from conspectus.settings import Settings
from conspectus.tasks import Draft, DraftAnswer
from conspectus.text.language import ENGLISH, language_of
from conspectus.text.words import name_key

UNREAD = wording(ENGLISH).unread


async def direct(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer at once."""
    method = _generative(model, "direct")
    return _told(question, await model.perform(DraftAnswer(question)), method)


async def chain_of_thought(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer after reasoning step by step."""
    method = _generative(model, "cot")
    return _told(question, await model.perform(DraftAnswer(question, stepwise=True)), method)


async def self_consistency(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer what most of several sampled chains of thought come to; of equally many the first.

    Raises the first failure where every chain failed.
    """
    method = _generative(model, "cot-sc")
    samples = range(1, settings.tog.samples + 1)
    replies = await model.perform_all([DraftAnswer(question, stepwise=True, sample=n) for n in samples])
    drafts = succeeded(replies)
    if not drafts:
        raise next(reply for reply in replies if isinstance(reply, Exception))
    votes = Counter(name_key(draft.answer) for draft in drafts)
    most = votes.most_common(1)[0][0]
    return _told(
        question,
        next(d for d in drafts if name_key(d.answer) == most),
        method,
        f"{votes[most]} of {len(drafts)}",
    )


def _generative(model: Model, method: str) -> str:
    if not model.generative:
        raise NotSupported(f"{method} asks for what a language model knows: name one with --model")
    return method


def _told(question: str, draft: Draft, method: str, votes: str = "") -> Answer:
    why = f"{votes} chains of thought say so" if votes else ""
    text = f"{draft.reasoning}\n\n{draft.answer}" if draft.reasoning else draft.answer
    words = wording(language_of([question]))
    return Answer(question, text, method, why=why, notices=(words.written, words.unread), short=(draft.answer,))
