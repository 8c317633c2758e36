"""Reasoning by selection: relations by paths over the graph, facts by where those paths end, thoughts by sentences.

What it is worth without a language model: over a graph whose relations have names, a path often reads the question
well. Over open triples or descriptions it is no more than matching words. It concludes nothing: an answer is the name
at the end of a path, a thought is a sentence of a source.
"""

from __future__ import annotations

import numpy as np

from conspectus.algorithms.ranking import Postings, idf
from conspectus.index import Index
from conspectus.models.base import performs
from conspectus.models.extractive.relation_paths import PathFinder
from conspectus.rows import ReasoningPath
from conspectus.tasks import (
    ChooseRelations,
    Draft,
    DraftAnswer,
    Examined,
    ExamineEvidence,
    NameEntities,
    NextThought,
)
from conspectus.text.mentions import find_mentions
from conspectus.text.sentences import sentences
from conspectus.text.vocabulary import read_vocabulary
from conspectus.text.words import search_terms, terms
from conspectus.triple_graph import TripleGraph

MAX_STEPS = 3  # unexplained
"""Steps of a path at the most."""
CLOSE_SCORES = 0.1  # unexplained
"""Paths this near to the best one are followed beside it."""
MAX_ANSWERS = 100  # unexplained
RANK_DISCOUNT = 0.1  # unexplained
"""What a sentence loses with each place that its chunk stands lower."""


def _path_finder(index: Index) -> PathFinder:
    return PathFinder(TripleGraph.of(index))


@performs(ChooseRelations)
def choose_relations(task: ChooseRelations, index: Index) -> tuple[tuple[int, ...], ...]:
    """Choose the edges that continue the best paths from where the path of each topic began."""
    finder = index.derive(_path_finder)
    chosen: list[tuple[int, ...]] = []
    scores: list[float] = []
    for topic in task.topics:
        start, walked = _walked(topic.path, finder)
        steps = len(walked)
        paths = finder.paths(task.question, start, MAX_STEPS) if start >= 0 else []
        paths = [path for path in paths if len(path.ways) > steps and path.ways[:steps] == walked]
        best = paths[0].score if paths else 0.0
        edge_of_way = {finder.way(edge.relation, edge.inverse): i for i, edge in enumerate(topic.edges)}
        next_ways = (path.ways[steps] for path in paths if path.score >= best - CLOSE_SCORES)
        edges = dict.fromkeys(edge_of_way[way] for way in next_ways if way in edge_of_way)
        chosen.append(tuple(edges)[: task.width])
        scores.append(best)
    highest = max(scores, default=0.0)
    return tuple(
        edges if score >= highest - CLOSE_SCORES else () for edges, score in zip(chosen, scores, strict=True)
    )


def _walked(path: ReasoningPath, finder: PathFinder) -> tuple[int, tuple[int, ...]]:
    """Return the number of the name that a path begins at, -1 for none of the graph's, and the ways of its steps."""
    steps = zip(path.names, path.triples, strict=False)
    ways = tuple(finder.way(triple.relation, triple.head != name) for name, triple in steps)
    return finder.graph.number_of.get(path.start, -1), ways


@performs(ExamineEvidence)
def examine(task: ExamineEvidence, index: Index) -> Examined:
    """Answer with the ends of the paths that have followed a best path to its end, and of all like them."""
    finder = index.derive(_path_finder)
    complete: list[tuple[float, str, int, tuple[int, ...]]] = []
    for path in task.paths:
        start, walked = _walked(path, finder)
        best_paths = finder.paths(task.question, start, MAX_STEPS) if start >= 0 else []
        if best_paths and best_paths[0].ways == walked:
            complete.append((best_paths[0].score, path.end, start, walked))
    if not complete:
        triples = (triple for path in task.paths for triple in path.triples)
        expressed = {term for triple in triples for term in terms(triple.relation.replace("_", " "))}
        return Examined((), " ".join(term for term in terms(task.question) if term not in expressed))
    best = max(score for score, *_ in complete)
    complete = [row for row in complete if row[0] >= best]
    names = [end for _, end, _, _ in complete]
    for _, _, start, walked in complete:
        names += (finder.graph.names[number] for number in finder.ends(start, walked))
    return Examined(tuple(dict.fromkeys(names))[:MAX_ANSWERS])


@performs(NextThought)
def next_thought(task: NextThought, index: Index) -> str:
    """Return the sentence of the given chunks, best first, that holds most of the question and was no thought before.

    Words count by their squared inverse frequency; what earlier thoughts hold is not looked for again.
    """
    number_of_word = index.number_of_word
    postings = Postings.of(index.arrays, "chunk_terms")
    earlier = {term for thought in task.thoughts for term in search_terms(thought, index)}
    weights = {
        term: idf(len(postings.lengths), postings.frequency(number_of_word[term])) ** 2
        for term in dict.fromkeys(search_terms(task.question, index))
        if term in number_of_word and term not in earlier
    }
    best_score, best = 0.0, ""
    for rank, chunk in enumerate(task.context.sources):
        for start, end in sentences(chunk.text):
            sentence = " ".join(chunk.text[start:end].split())
            score = sum(weights.get(term, 0.0) for term in set(search_terms(sentence, index)))
            score /= 1 + RANK_DISCOUNT * rank
            if score > best_score and sentence not in task.thoughts:
                best_score, best = score, sentence
    return best


def name_entities(text: str) -> tuple[str, ...]:
    """Return what a text names by its capitals, dates and quotations, as keys."""
    vocabulary = read_vocabulary([text])
    opening = np.ones(len(vocabulary.form), bool)
    return tuple(dict.fromkeys(key for _, key in find_mentions([text], vocabulary, opening)))


@performs(NameEntities)
def entities_named(task: NameEntities) -> tuple[str, ...]:
    """Return what the text of the task names."""
    return name_entities(task.text)


@performs(DraftAnswer)
def draft_answer(task: DraftAnswer) -> Draft:
    """Answer with the ends of the given trails; without a model nothing is known beside them."""
    return Draft(task.paths[0].end if task.paths else "")
