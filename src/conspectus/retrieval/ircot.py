"""IRCoT: retrieval interleaved with a chain of thought, around any method that ranks (Trivedi et al., 2023).

With a language model, a thought is the next step of its reasoning. Without one, it is the best retrieved sentence that
was not used as a thought before: no reasoning, but a query with the names in the first chunks. It helps if only the
first passage names what the second one is about, and otherwise adds noise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from conspectus.errors import UsageError
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import METHODS, RANKINGS, AskingRanking, method
from conspectus.retrieval.base import answer_from, pack
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks import NextThought
from conspectus.tasks.base import Context

THOUGHT_CHUNKS = 10
"""Maximum number of chunks for a thought: the paper reads 2 to 8 for each step; the answer reads all that fit."""
_DONE = re.compile(r"\bso,? the answer is\b|因此,?，?答案是", re.IGNORECASE)


def ranking_of(settings: Settings) -> AskingRanking:
    """Return the ranking that `ircot.retriever` names; raise UsageError if there is none of that name."""
    name = settings.ircot.retriever
    ranking = METHODS[name].rank_with if name in RANKINGS and name != "ircot" else None
    if ranking is None:
        others = ", ".join(other for other in RANKINGS if other != "ircot")
        raise UsageError(f"ircot needs a method that ranks chunks: {others}; not {name!r}")
    return ranking


async def steps(
    question: str, index: Index, model: Model, settings: Settings, ranker: AskingRanking
) -> tuple[list[Hit], tuple[str, ...]]:
    """Return the ranking and the thoughts; stop when a thought states the answer, none is new, or the steps end."""
    best_hits: dict[str, Hit] = {}
    _add(best_hits, await ranker(question, index, model, settings))
    thoughts: tuple[str, ...] = ()
    for _ in range(settings.ircot.steps):
        best = _best(best_hits, min(THOUGHT_CHUNKS, settings.search.k))
        if not best:
            break
        rows = Context(sources=tuple(index.chunk_of[hit.chunk] for hit in best))
        window = pack(rows, settings.answer.context_tokens)
        thought = (await model.perform(NextThought(question, window, thoughts))).strip()
        if not thought or thought in thoughts:
            break
        thoughts = (*thoughts, thought)
        if _DONE.search(thought):
            break
        _add(best_hits, await ranker(thought, index, model, settings))
    return _best(best_hits, settings.search.k), thoughts


def _add(best_hits: dict[str, Hit], hits: Sequence[Hit]) -> None:
    highest = max((hit.score for hit in hits), default=0.0) or 1.0
    for hit in hits:
        score = hit.score / highest
        if hit.chunk not in best_hits or score > best_hits[hit.chunk].score:
            best_hits[hit.chunk] = replace(hit, score=score)


def _best(best_hits: dict[str, Hit], k: int) -> list[Hit]:
    return sorted(best_hits.values(), key=lambda hit: -hit.score)[:k]  # of equal scores, the earliest first


async def rank(question: str, index: Index, model: Model, settings: Settings) -> list[Hit]:
    """Return the `k` chunks with the best scores over all steps."""
    return (await steps(question, index, model, settings, ranking_of(settings)))[0]


@method("ircot", help="alternates between retrieving and reasoning (IRCoT)", rank=rank)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from the best chunks; the thoughts are given as the reason."""
    hits, thoughts = await steps(question, index, model, settings, ranking_of(settings))
    result = await answer_from(hits, question, index, model, settings, method="ircot")
    return replace(
        result, why=f"{settings.ircot.retriever}, by way of: {' '.join(thoughts)}" if thoughts else ""
    )
