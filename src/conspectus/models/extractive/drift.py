"""Steps of DRIFT without a language model: quotations, and the question crossed with what they name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from conspectus.algorithms.bm25 import idf
from conspectus.messages import wording
from conspectus.models.base import performs
from conspectus.models.extractive.answer import MAX_QUOTES, map_answer, percent, quote, supporting_sentences
from conspectus.models.extractive.report import names_in_title, upper
from conspectus.models.extractive.search import Found, Searcher
from conspectus.references import Reference, write
from conspectus.tasks import FollowUp, MapAnswer, PrimeAnswer, Probe, PursueFollowUp
from conspectus.text.language import language_of
from conspectus.text.words import search_terms

STEP = 10  # unexplained
"""What each place in the order of reports takes from the score of the follow-up that it gives, of 100."""


@performs(PrimeAnswer)
def prime_answer(task: PrimeAnswer, searcher: Searcher) -> Probe:
    """Answer from reports, and cross the question with what the sentences of their communities name."""
    question = searcher.read(task.question)
    partial = map_answer(MapAnswer(task.question, task.context), searcher)
    if question.about_whole:
        heads = (names_in_title(report.title)[0] for report in task.context.reports)
        asked = (FollowUp(_about(head, task.question), 100 - STEP * i) for i, head in enumerate(heads))
        return Probe(partial.text, partial.score, tuple(asked)[: task.count], section_scores=partial.section_scores)
    found = [f for r in task.context.reports for f in searcher.by_community(question, r.level).get(r.community, ())]
    follow_ups = _crossed(task.question, found, searcher, task.count)
    return Probe(partial.text, partial.score, follow_ups, section_scores=partial.section_scores)


@performs(PursueFollowUp)
def follow_up(task: PursueFollowUp, searcher: Searcher) -> Probe:
    """Answer from the chunks of the evidence, under what the question was crossed with, and cross it once more."""
    found = supporting_sentences(task.follow_up, task.context, searcher)[:MAX_QUOTES]
    if not found:
        return Probe("", 0)
    lines = "\n".join(quote(f, searcher) for f in found)
    new = [e for e in task.context.entities if e.name in task.follow_up and e.name not in task.question]
    if new:
        lines = f"### {upper(new[0].name)} {write([Reference('Entities', new[0].number)])}\n\n{lines}"
    score = percent(sum(f.share for f in found) / len(found))
    follow_ups = _crossed(task.question, found, searcher, task.count, (*task.asked, task.follow_up))
    # what a step leads to is worth no more than the step itself
    return Probe(lines, score, tuple(replace(f, score=f.score * score // 100) for f in follow_ups))


def _crossed(
    question: str, found: Iterable[Found], searcher: Searcher, most: int, asked: Sequence[str] = ()
) -> tuple[FollowUp, ...]:
    """Return the question with each name of the sentences found that tells them most from others.

    Names that the question or an earlier follow-up holds, or that share all words with a better one, are left out.
    """
    weights: defaultdict[int, float] = defaultdict(float)
    for f in found:
        for entity in searcher.passages.mentioned(f.sentence):
            weights[entity] += f.score
    frequency = np.bincount(searcher.passages.mentions, minlength=len(searcher.passages.names))
    telling = {e: w * idf(len(searcher.passages), int(frequency[e])) for e, w in weights.items()}
    whole = searcher.read(question).about_whole
    known = [set(search_terms(text, searcher.index)) for text in (question, *asked)]
    chosen: list[FollowUp] = []
    best = max(telling.values(), default=0.0)
    for entity in sorted(telling, key=lambda e: (-telling[e], e)):
        name = searcher.passages.names[entity]
        words = set(search_terms(name, searcher.index))
        if searcher.passages.types[entity] == "date" or any(words <= other or other <= words for other in known):
            continue
        known.append(words)
        asks = _about(name, question) if whole else _with(name, question)
        chosen.append(FollowUp(asks, round(100 * telling[entity] / best)))
        if len(chosen) == most:
            break
    return tuple(chosen)


def _with(name: str, question: str) -> str:
    return wording(language_of([question])).crossed.format(question.rstrip(" ?？؟。."), name)


def _about(name: str, question: str) -> str:
    return wording(language_of([question])).told_of.format(name)
