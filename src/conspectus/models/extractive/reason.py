"""Reasoning by selection: relations by paths over the graph, facts by where those paths end, thoughts by sentences.

What it is worth without a language model: over a graph whose relations have names, a path often reads the question
well. Over open triples or descriptions it is no more than matching words. It concludes nothing: an answer is the name
at the end of a path, a thought is a sentence of a source.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from conspectus import tokens
from conspectus.index import Index
from conspectus.lazy import lazy_module
from conspectus.models.base import performs
from conspectus.models.extractive.rank_sentences import (
    candidates,
    chunk_ranks,
    sentence_graph,
    split_question,
)
from conspectus.models.extractive.relation_paths import PathFinder
from conspectus.models.extractive.search import RankedSentence, Searcher
from conspectus.models.extractive.sentence_store import (
    TOO_ALIKE_FOR_FACTS,
    all_terms,
    is_repeated,
    name_entities,
)
from conspectus.rows import Chunk, ReasoningPath
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
from conspectus.tasks.base import Context
from conspectus.text.question import Question
from conspectus.text.sentences import sentences, states
from conspectus.text.words import search_terms, terms
from conspectus.triple_graph import TripleGraph

if TYPE_CHECKING:
    from conspectus.algorithms import similarity
else:
    similarity = lazy_module("conspectus.algorithms.similarity")  # it needs scipy

MAX_STEPS = 3
"""Steps of a path at the most, as in the paper; with 6, 2 % fewer of MetaQA's questions of three are answered."""
MAX_ANSWERS = 100
"""Names in an answer at the most: one of MetaQA's 900 questions has more (118)."""


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
        next_ways = (path.ways[steps] for path in paths if path.score >= best)
        edges = dict.fromkeys(edge_of_way[way] for way in next_ways if way in edge_of_way)
        chosen.append(tuple(edges)[: task.width])
        scores.append(best)
    highest = max(scores, default=0.0)
    return tuple(edges if score >= highest else () for edges, score in zip(chosen, scores, strict=True))


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
        clue = " ".join(term for term in terms(task.question) if term not in expressed)
        return Examined((), (clue,) * len(task.paths))
    best = max(score for score, *_ in complete)
    complete = [row for row in complete if row[0] >= best]
    names = [end for _, end, _, _ in complete]
    for _, _, start, walked in complete:
        names += (finder.graph.names[number] for number in finder.ends(start, walked))
    return Examined(tuple(dict.fromkeys(names))[:MAX_ANSWERS])


HOPS = (1, 3, 1, 1)
"""Sentences of each passage of a chain: the first names the next, which mostly answers. Six of 2Wiki's first 150 hold
the answer for 75 %; of MuSiQue's first 50, 56 %. With (2, 2, 1, 1) 70 and 56 %, with (1, 1, 1, 1, 1, 1) 65 and 58 %,
and the six that the walk is on most 57 and 54 %."""
WALK_WEIGHT, KIND_WEIGHT, REST_WEIGHT, LEAD_WEIGHT = 0.5, 1.0, 0.5, 0.5
"""What it counts in a passage that the walk is on a sentence, to hold the kind of thing that is asked for, the words
that are asked beside names, and to open a document, which says who or what it is about. Without the walk 8 points of
HotpotQA's are lost, without the kind 5 of 2Wiki's, without the words 8 of HotpotQA's, without openings 6 of 2Wiki's."""
SHORT_PASSAGE = 10
"""Sentences of a passage, on average, up to which a chain goes by whole passages: those of Wikipedia's introductions
have 4 or 5. Where chunks have 20 (web pages, minutes, letters), half of what the best sentences hold is lost by it."""
ANSWERED = 0.4
"""The share of what is asked, by weight of its words, from which on the first passage of a chain answers by itself."""


def follow_chain(question: Question, context: Context, searcher: Searcher) -> list[RankedSentence]:
    """Return sentences that lead from what a question names to what it asks for, those of one passage together.

    The passages are those that a walk from its names is on most, in that order; of each the sentences that it needs.
    Nothing is returned where passages are long, or the question neither joins facts nor is answered by the first.
    """
    passages = _walked_passages(question, context.sources, searcher)
    if not passages or not searcher.may_know(question):
        return []
    subject, asked = split_question(question, context.entities, searcher)
    walked = [sentence for passage in passages for sentence in passage]
    rest = dict(zip(walked, searcher.shares(asked, np.array(walked)).tolist(), strict=True))
    answered = max(rest[s] for s in passages[0])
    if not question.joins_facts and not (subject and asked and answered < ANSWERED):
        return []
    query_terms = frozenset(search_terms(question.text, searcher.index))
    chain: list[RankedSentence] = []
    used: list[frozenset[str]] = []
    # what one passage lacks, the next one has
    for mass, room in zip(passages, accumulate(HOPS), strict=False):
        hop: list[RankedSentence] = []
        for sentence, share in ((s, m) for s, m in mass.items() if states(searcher.passages.text(s))):
            score = WALK_WEIGHT * share + REST_WEIGHT * rest[sentence]
            score += KIND_WEIGHT * any(candidates(question, sentence, query_terms, searcher))
            score += LEAD_WEIGHT * searcher.passages.opens_document(sentence)
            hop.append(RankedSentence(sentence, score, rest[sentence]))
        new: list[RankedSentence] = []
        for ranked in sorted(hop, key=lambda s: -s.score):
            words = all_terms(searcher.passages.text(ranked.sentence))
            if words and len(chain) + len(new) < room and not is_repeated(words, used, TOO_ALIKE_FOR_FACTS):
                new.append(ranked)
                used.append(words)
        chain += sorted(new, key=lambda s: s.sentence)
    return chain


def _walked_passages(
    question: Question, chunks: Sequence[Chunk], searcher: Searcher
) -> list[dict[int, float]]:
    """Return the passages that a walk from what a question names is on most, each as its sentences with the walk's
    share of the most on any of them; none where passages are long.
    """
    rank_of = chunk_ranks(chunks, searcher)
    if len(rank_of) > SHORT_PASSAGE * len(set(rank_of.values())):
        return []
    walked: list[float] = sentence_graph.walk_among(question.text, list(rank_of), searcher.index).tolist()
    passages: dict[int, dict[int, float]] = {}
    for (sentence, rank), mass in zip(rank_of.items(), walked, strict=True):
        passages.setdefault(rank, {})[sentence] = mass
    best = sorted(passages.values(), key=lambda passage: -math.fsum(passage.values()))[: len(HOPS)]
    return [{s: mass / (max(passage.values()) or 1.0) for s, mass in passage.items()} for passage in best]


@performs(NextThought)
def next_thought(task: NextThought, searcher: Searcher) -> str:
    """Return the sentence of the given chunks, best first, that holds most of the question and was no thought before.

    Words count by their squared inverse frequency; what earlier thoughts hold is not looked for again.
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
    """Return what the text of the task names."""
    return name_entities(task.text)


SUMMARY_TOKENS = 150
"""Approximate length of an extracted summary in tokens: RAPTOR's are of 131 on average."""


@performs(SummarizePassages)
def summarize(task: SummarizePassages) -> str:
    """Return the sentences most like all of them together, in their order, within SUMMARY_TOKENS."""
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
    """Keep every triple: that they are like the question is all that is known."""
    return tuple(range(1, len(task.triples) + 1))


@performs(DraftAnswer)
def draft_answer(task: DraftAnswer) -> Draft:
    """Answer with the ends of the given trails; without a model nothing is known beside them."""
    return Draft(task.paths[0].end if task.paths else "")
