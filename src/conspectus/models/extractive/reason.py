"""Reasoning by selection: relations are chosen by paths over the graph, facts by their ends, thoughts by sentences.

Without a language model, this works well over a graph with named relations, where a path often fits the question. Over
open triples or descriptions it only matches words. It concludes nothing: an answer is the name at the end of a path, a
thought is a sentence of a source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from conspectus import tokens
from conspectus.index import Index
from conspectus.lazy import lazy_module
from conspectus.models.base import performs
from conspectus.models.extractive.rank_sentences import chunk_ranks
from conspectus.models.extractive.search import Searcher
from conspectus.models.extractive.sentence_store import name_entities
from conspectus.name_lookup import search_terms
from conspectus.relation_paths import PathFinder
from conspectus.rows import ReasoningPath
from conspectus.tasks import (
    ChooseRelations,
    Draft,
    DraftAnswer,
    Examined,
    ExamineEvidence,
    NameEntities,
    NextThought,
    RecognizeTriples,
    SummarizePassages,
)
from conspectus.text.sentences import sentences
from conspectus.text.words import terms

if TYPE_CHECKING:
    from conspectus.algorithms import similarity
else:
    similarity = lazy_module("conspectus.algorithms.similarity")  # it needs scipy

MAX_STEPS = 3
"""Most steps of a path, as in the paper; with 6, 2 % fewer of MetaQA's three-step questions are answered."""
MAX_ANSWERS = 100
"""Most names in an answer: one of MetaQA's 900 questions has more (118)."""


@performs(ChooseRelations)
def choose_relations(task: ChooseRelations, index: Index) -> tuple[tuple[int, ...], ...]:
    """Choose the edges that continue the best relation paths from the start of each topic's path."""
    finder = index.derive(PathFinder)
    chosen: list[tuple[int, ...]] = []
    scores: list[float] = []
    for topic in task.topics:
        start, walked = _walked(topic.path, finder)
        steps = len(walked)
        paths = finder.paths(task.question, start, MAX_STEPS) if start >= 0 else []
        paths = [path for path in paths if len(path.ways) > steps and path.ways[:steps] == walked]
        best = paths[0].score if paths else 0.0
        edge_of_way = {finder.way(edge.relation, edge.inverse): i for i, edge in enumerate(topic.edges)}
        next_ways = (path.ways[steps] for path in paths if path.score >= best)
        edges = dict.fromkeys(edge_of_way[way] for way in next_ways if way in edge_of_way)
        chosen.append(tuple(edges)[: task.width])
        scores.append(best)
    highest = max(scores, default=0.0)
    return tuple(edges if score >= highest else () for edges, score in zip(chosen, scores, strict=True))


def _walked(path: ReasoningPath, finder: PathFinder) -> tuple[int, tuple[int, ...]]:
    """Return the number of the name at which a path begins, -1 if the graph lacks it, and the ways of its steps."""
    steps = zip(path.names, path.triples, strict=False)
    ways = tuple(finder.way(triple.relation, triple.head != name) for name, triple in steps)
    return finder.graph.number_of.get(path.start, -1), ways


@performs(ExamineEvidence)
def examine(task: ExamineEvidence, index: Index) -> Examined:
    """Answer with the ends of the paths that have followed a best path to its end, and of all that go the same ways."""
    finder = index.derive(PathFinder)
    complete: list[tuple[float, str, int, tuple[int, ...]]] = []
    for path in task.paths:
        start, walked = _walked(path, finder)
        best_paths = finder.paths(task.question, start, MAX_STEPS) if start >= 0 else []
        if best_paths and best_paths[0].ways == walked:
            complete.append((best_paths[0].score, path.end, start, walked))
    if not complete:
        triples = (triple for path in task.paths for triple in path.triples)
        expressed = {term for triple in triples for term in terms(triple.relation.replace("_", " "))}
        clue = " ".join(term for term in terms(task.question) if term not in expressed)
        return Examined((), (clue,) * len(task.paths))
    best = max(score for score, *_ in complete)
    complete = [row for row in complete if row[0] >= best]
    names = [end for _, end, _, _ in complete]
    for _, _, start, walked in complete:
        names += (finder.graph.names[number] for number in finder.ends(start, walked))
    return Examined(tuple(dict.fromkeys(names))[:MAX_ANSWERS])


@performs(NextThought)
def next_thought(task: NextThought, searcher: Searcher) -> str:
    """Return the sentence of the given chunks that contains most of the question and is no thought yet, "" for none.

    Terms are weighted by squared IDF; those of earlier thoughts no longer count.
    """
    earlier = {term for thought in task.thoughts for term in search_terms(thought, searcher.index)}
    new = [term for term in search_terms(task.question, searcher.index) if term not in earlier]
    in_chunks = np.array([*chunk_ranks(task.context.sources, searcher)], np.int64)
    shares = searcher.shares({term: searcher.weight(term) for term in new}, in_chunks)
    ranked = in_chunks[np.argsort(-shares, kind="stable")][: np.count_nonzero(shares)]
    texts = map(searcher.passages.text, ranked.tolist())
    return next((text for text in texts if text not in task.thoughts), "")


@performs(NameEntities)
def entities_named(task: NameEntities) -> tuple[str, ...]:
    """Return the names in the text of the task."""
    return name_entities(task.text)


SUMMARY_TOKENS = 150
"""Approximate length of an extracted summary in tokens: RAPTOR's have 131 on average."""


@performs(SummarizePassages)
def summarize(task: SummarizePassages) -> str:
    """Return the sentences that are most similar to all of them together, in their order, within SUMMARY_TOKENS."""
    texts = task.passages
    candidates = list(dict.fromkeys(text[a:b] for text in texts for a, b in sentences(text)))
    grams = similarity.Grams.of(candidates, 4).matrix
    centrality = np.asarray(grams @ np.asarray(grams.sum(axis=0)).ravel()).ravel()
    chosen: list[int] = []
    used = 0
    order: list[int] = np.argsort(-centrality, kind="stable").tolist()
    for i in order:
        used += tokens.count(candidates[i])
        if chosen and used > SUMMARY_TOKENS:
            break
        chosen.append(i)
    return " ".join(candidates[i] for i in sorted(chosen))


@performs(RecognizeTriples)
def recognize(task: RecognizeTriples) -> tuple[int, ...]:
    """Return the numbers of all triples: nothing is known but that they resemble the question."""
    return tuple(range(1, len(task.triples) + 1))


@performs(DraftAnswer)
def draft_answer(task: DraftAnswer) -> Draft:
    """Answer with the end of the first reasoning path; without a language model, nothing else is known."""
    return Draft(task.paths[0].end if task.paths else "")
