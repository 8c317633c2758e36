"""Reasoning by selection: relations by plans over the graph, facts by where those plans end, thoughts by
sentences.

What it is worth without a language model: over a graph whose relations have names, a plan often reads the
question well. Over open triples or descriptions it is no more than matching words. It concludes nothing: an
answer is the name at a plan's end, a thought is a sentence of a source.
"""

from __future__ import annotations

import numpy as np

from conspectus.algorithms.ranking import Postings, idf
from conspectus.index import Index
from conspectus.models.base import performs
from conspectus.models.extractive.relation_paths import PathFinder, RelationPath
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

DEPTH = 3  # unexplained
"""Steps of a plan at the most."""
CLOSE = 0.1  # unexplained
"""Plans this near to the best one are followed beside it."""
MOST_ANSWERS = 100  # unexplained
PLACE = 0.1  # unexplained
"""What a sentence loses with each place that its chunk stands lower."""


def planner_of(index: Index) -> PathFinder:
    """Return the planner over an index's graph; made once for an open index."""
    return index.derive(_planner)


def _planner(index: Index) -> PathFinder:
    return PathFinder(TripleGraph.of(index))


@performs(ChooseRelations)
def choose_relations(task: ChooseRelations, index: Index) -> tuple[tuple[int, ...], ...]:
    """Choose the edges that continue the plans of where each topic's trail began."""
    planner = planner_of(index)
    chosen: list[tuple[int, ...]] = []
    scores: list[float] = []
    for topic in task.topics:
        start, gone = _gone(topic.path, planner)
        plans = (
            [p for p in planner.feasible(task.question, start, DEPTH) if _continues(p, gone)]
            if start >= 0
            else []
        )
        places = {planner.way(edge.relation, edge.inverse): i for i, edge in enumerate(topic.edges)}
        best = plans[0].score if plans else 0.0
        ways = (p.ways[len(gone)] for p in plans if p.score >= best - CLOSE)
        chosen.append(tuple(dict.fromkeys(places[w] for w in ways if w in places))[: task.width])
        scores.append(best)
    top = max(scores, default=0.0)
    return tuple(places if score >= top - CLOSE else () for places, score in zip(chosen, scores, strict=True))


def _continues(plan: RelationPath, gone: tuple[int, ...]) -> bool:
    return len(plan.ways) > len(gone) and plan.ways[: len(gone)] == gone


def _gone(trail: ReasoningPath, planner: PathFinder) -> tuple[int, tuple[int, ...]]:
    """Return the number of the name that a trail begins at, -1 for none of the graph's, and the ways it has
    gone.
    """
    steps = zip(trail.names, trail.triples, strict=False)
    ways = tuple(planner.way(triple.relation, triple.head != name) for name, triple in steps)
    return planner.graph.number_of.get(trail.start, -1), ways


@performs(ExamineEvidence)
def examine(task: ExamineEvidence, index: Index) -> Examined:
    """Answer with the ends of the trails that have gone a best plan to its end, and of all like them."""
    planner = planner_of(index)
    ends: list[tuple[float, str, int, tuple[int, ...]]] = []
    for trail in task.paths:
        start, gone = _gone(trail, planner)
        plans = planner.feasible(task.question, start, DEPTH) if start >= 0 else []
        if plans and plans[0].ways == gone:
            ends.append((plans[0].score, trail.end, start, gone))
    if not ends:
        return Examined((), _unsaid(task, planner))
    best = max(score for score, *_ in ends)
    names = [end for score, end, _, _ in ends if score >= best]
    for score, _, start, gone in ends:
        if score >= best:
            names += (planner.graph.names[n] for n in planner.ends(start, gone))
    return Examined(tuple(dict.fromkeys(names))[:MOST_ANSWERS])


def _unsaid(task: ExamineEvidence, planner: PathFinder) -> str:
    """Return the words of the question that no relation of the trails says: what is still to be found."""
    said = {
        t for trail in task.paths for triple in trail.triples for t in terms(triple.relation.replace("_", " "))
    }
    return " ".join(t for t in terms(task.question) if t not in said)


@performs(NextThought)
def next_thought(task: NextThought, index: Index) -> str:
    """Return the sentence of the given chunks, best first, that holds most of the question and was not
    thought before.

    Words count by their squared inverse frequency; what earlier thoughts hold is not looked for again.
    """
    number = index.number_of_word
    words = Postings.of(index.arrays, "chunk_terms")
    thought = {t for said in task.thoughts for t in search_terms(said, index)}
    weights = {
        t: idf(len(words.lengths), words.frequency(number[t])) ** 2
        for t in dict.fromkeys(search_terms(task.question, index))
        if t in number and t not in thought
    }
    best, chosen = 0.0, ""
    for place, chunk in enumerate(task.context.sources):
        for start, end in sentences(chunk.text):
            sentence = " ".join(chunk.text[start:end].split())
            held = sum(weights.get(t, 0.0) for t in set(search_terms(sentence, index))) / (1 + PLACE * place)
            if held > best and sentence not in task.thoughts:
                best, chosen = held, sentence
    return chosen


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
