"""Mixed: the walk and similarity (BM25, with vectors `hybrid`), weighted by the question; answers add the graph.

The walk reaches passages that share no word with the question; similarity is better if there are no links to follow.
Answers also use passages around the entities that the question names, and the rows of the graph about them.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice, zip_longest

from conspectus.algorithms.ranking import highest, scaled
from conspectus.index import Index
from conspectus.models.base import Model
from conspectus.retrieval import bm25, local, method, walk
from conspectus.retrieval.base import answer_within, first_chunks, hits_of, most_chunks
from conspectus.rows import Answer, Hit
from conspectus.sentence_graph import Seeds, SentenceEntityGraph, seeds_of
from conspectus.settings import Settings
from conspectus.tasks.base import Context

SHARES = {"entities": 0.05, "relationships": 0.07, "claims": 0.03}
"""Maximum shares of the window for tables of the graph: one or two long descriptions of entities, a dozen lines of
relationships and claims. With these, all documents behind 34 of the sample corpus's 36 facts are read; with no rows of
the graph, behind 35; with 0.25 for all together, behind 33."""
COMMON = 0.4
"""Walk and similarity weigh the same if n**COMMON of n chunks have the rarest name: 16 of 1,000, 40 of 10,000. From
0.33 to 0.5 recall@5 of none of seven sets moves by more than a point; at 0.2 society loses 6, at 0.6 mathematics."""
STEEPNESS = 8
"""Power of the share of a question that a name's chunks cover: 92 % count half. With 4, musique loses 0.5 points."""


def rank(question: str, index: Index, settings: Settings) -> list[Hit]:
    """Return the `k` chunks that score highest."""
    return hits_of(scores_of(question, index, settings), index, settings.search.k)


def scores_of(question: str, index: Index, settings: Settings) -> walk.Floats:
    """Return the score of every chunk, 0 to 1: the mean of walk and similarity, weighted by the question."""
    if "walk.names" not in index.arrays:
        return scaled(bm25.scores_of(question, index))
    graph = SentenceEntityGraph.of(index)
    seeds = seeds_of(question, graph)
    walked, likeness, weights = walk.walked(question, seeds, index, settings)
    weight = weight_of_likeness(seeds, weights.answered, index, graph)
    return (1 - weight) * scaled(walked) + weight * likeness


def weight_of_likeness(seeds: Seeds, answered: float, index: Index, graph: SentenceEntityGraph) -> float:
    """Return the weight of similarity against the walk, 0 to 1.

    The walk is for questions with a rare name whose chunks lack the rest of the question. Similarity weighs 1 without
    a name, and at least `answered` if the chunks of that name cover the rest.
    """
    if not len(seeds.names):
        return 1.0
    frequency = graph.frequency[seeds.names]
    rarest = int(frequency.argmin())
    common = 1 / (1 + (len(graph.first) ** COMMON / frequency[rarest]) ** 2)
    covered = walk.coverage(seeds.rest, index, graph)
    best = covered[graph.passages_with(int(seeds.names[rarest]))].max(initial=0)
    share = best / covered.max() if covered.any() else 1
    return max(float(common), answered * float(share) ** STEEPNESS)


@method(
    "mixed",
    help="walk and BM25 (and vectors) weighed by the question; answers also read the graph",
    reads={"graph", "chunks"},
    rank=rank,
)
async def answer(question: str, index: Index, model: Model, settings: Settings) -> Answer:
    """Answer from one window of passages, entities, relationships and claims."""
    rows = rows_for(question, index, settings)
    return await answer_within(rows, Answer(question, "", "mixed"), index, model, settings)


def rows_for(question: str, index: Index, settings: Settings) -> Context:
    """Return the rows to read for a question, the best of each table first; `base.pack` cuts them to a window.

    The passages of the two rankings (mixed, and around the entities) alternate: the best of each, then the second.
    """
    rows = local.rows_around(question, index, settings.answer, with_reports=False)
    most = most_chunks(settings.answer)
    scores = scores_of(question, index, settings)
    best: list[int] = [n for n in highest(scores, most).tolist() if scores[n] > 0]
    around = (chunk.number for chunk in rows.sources)
    in_turns = dict.fromkeys(n for turn in zip_longest(best, around) for n in turn if n is not None)
    sources = first_chunks(islice(in_turns, most), index, settings.answer)
    return replace(rows, sources=sources, shares=SHARES)
