"""IRCoT: retrieval interleaved with a chain of thought, around any method that ranks (Trivedi et al., 2023).

With a language model a thought is the next step of its reasoning. Without one it is the best sentence found
that was not thought before: no reasoning, but a query that names what the first chunks name, which helps
where the second passage is called by a name that only the first one gives, and else adds noise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval.base import extractive, run_ready
from conspectus.retrieval.bm25 import answer_from
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import NextThought
from conspectus.tasks.context import Context

Ranker = Callable[[str, Index, Settings], list[Hit]]

_DONE = re.compile(r"\bso,? the answer is\b|因此,?，?答案是", re.IGNORECASE)


def rank(question: str, index: Index, settings: Settings, ranker: Ranker) -> list[Hit]:
    """Do what `rank_with` does without a language model."""
    return run_ready(rank_with(question, index, extractive(index), settings, ranker))


async def rank_with(question: str, index: Index, model: Model, settings: Settings, ranker: Ranker) -> list[Hit]:
    """Return the `k` chunks of the best score over the steps; each step's are taken over its highest."""
    return (await steps(question, index, model, settings, ranker))[0]


async def steps(
    question: str, index: Index, model: Model, settings: Settings, ranker: Ranker
) -> tuple[list[Hit], tuple[str, ...]]:
    """Return the ranking and the thoughts: until one states the answer, none comes, or the steps end."""
    found: dict[str, Hit] = {}
    _add(found, ranker(question, index, settings))
    thoughts: tuple[str, ...] = ()
    for _ in range(settings.ircot.steps):
        read = tuple(index.chunk_of[hit.chunk] for hit in _best(found, settings.search.k))
        if not read:
            break
        thought = (await model.perform(NextThought(question, Context(sources=read), thoughts))).strip()
        if not thought or thought in thoughts:
            break
        thoughts = (*thoughts, thought)
        if _DONE.search(thought):
            break
        _add(found, ranker(thought, index, settings))
    return _best(found, settings.search.k), thoughts


def _add(found: dict[str, Hit], hits: Sequence[Hit]) -> None:
    highest = max((hit.score for hit in hits), default=0.0) or 1.0
    for hit in hits:
        score = hit.score / highest
        if hit.chunk not in found or score > found[hit.chunk].score:
            found[hit.chunk] = replace(hit, score=score)


def _best(found: dict[str, Hit], k: int) -> list[Hit]:
    return sorted(found.values(), key=lambda hit: -hit.score)[:k]  # of equal scores the one found first


async def answer(question: str, index: Index, model: Model, settings: Settings, ranker: Ranker) -> Answer:
    """Answer from the best chunks; the thoughts are told as the reason."""
    hits, thoughts = await steps(question, index, model, settings, ranker)
    result = await answer_from(hits, question, index, model, method="ircot")
    return replace(result, why=f"{settings.ircot.retriever}, by way of: {' '.join(thoughts)}" if thoughts else "")
