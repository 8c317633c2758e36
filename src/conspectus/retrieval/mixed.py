"""Mixed: what is read for a fact. Passages by several rankings in turns, and what the graph knows of what is named.

No ranking has all that every question needs: the walk reaches passages that share no word with it, BM25 has those that
share most, and those around the entities that it names have what their descriptions leave out.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, zip_longest

from conspectus.algorithms.ranking import highest
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import bm25, local, method, walk
from conspectus.retrieval.base import answer_within, hit, most_chunks
from conspectus.rows import Answer, Hit
from conspectus.settings import Settings
from conspectus.tasks.base import Context

SHARES = {"entities": 0.05, "relationships": 0.07, "claims": 0.03}
"""Maximum shares of the window for what the graph knows: one or two long descriptions of entities, a dozen lines of
relationships and claims. So all documents behind 34 of the 36 facts of the sample corpus are read; with none of it
behind 35, with 0.25 together behind 33."""


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the first `k` chunks of several rankings in turns; each scores 1 / its place."""
    chunks = rows_for(question, index, settings).sources[: settings.search.k]
    return [hit(chunk.number, 1 / place, index) for place, chunk in enumerate(chunks, 1)]


@method(
    "mixed",
    help="passages by several rankings, and what the graph knows of what the question names",
    reads={"graph", "chunks"},
    rank=rank,
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from one window of passages, entities, relationships and claims."""
    rows = rows_for(question, index, settings)
    return await answer_within(rows, Answer(question, "", "mixed"), index, model, settings.answer)


def rows_for(question: str, index: Index, settings: Settings) -> Context:
    """Return what may be read for a question, the best rows of each table first; `base.pack` cuts it to a window.

    Passages stand in turns: the best of each ranking, then the second.
    """
    rows = local.rows_around(question, index, settings.answer)
    most = most_chunks(settings.answer)
    scored = [walk.scores_of(question, index, settings)] if "walk.names" in index.arrays else []
    scored.append(bm25.scores_of(question, index))
    rankings: list[list[int]] = [
        [n for n in highest(scores, most).tolist() if scores[n] > 0] for scores in scored
    ]
    rankings.append([chunk.number for chunk in rows.sources])
    in_turns = dict.fromkeys(n for turn in zip_longest(*rankings) for n in turn if n is not None)
    best = tuple(index.chunks[number] for number in islice(in_turns, most))
    return replace(rows, reports=(), sources=best, shares=SHARES)
