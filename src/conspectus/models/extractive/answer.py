"""Answers assembled from quotations: reports open sections, sentences of their communities fill them."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from conspectus.algorithms.ranking import idf
from conspectus.messages import wording
from conspectus.models.base import performs
from conspectus.models.extractive.rank_sentences import asks_for_definition, candidates, rank_sentences
from conspectus.models.extractive.report import names_in_title, upper
from conspectus.models.extractive.search import RankedSentence, Searcher
from conspectus.models.extractive.statements import reading, split, subject_terms, words_of
from conspectus.references import Reference, strip, write
from conspectus.rows import Chunk, Report
from conspectus.tasks import (
    AnswerFromContext,
    FollowUp,
    MapAnswer,
    PartialAnswer,
    PrimeAnswer,
    Probe,
    PursueFollowUp,
    RateReport,
    ReduceAnswer,
    is_short,
)
from conspectus.tasks.base import Context
from conspectus.text.language import ENGLISH, language_of, question_language
from conspectus.text.question import Question
from conspectus.text.words import CJK, fold, search_terms, terms

NOTICE = wording(ENGLISH).assembled
MAX_QUOTES = 4  # unexplained
"""Quotations in a section at the most."""
MAX_SECTIONS = 6  # unexplained
"""Sections of a whole answer at the most."""
MAX_OVERVIEW_SECTIONS = 10  # unexplained
MAX_OVERVIEW_QUOTES = 2  # unexplained
"""The same for a question about the whole corpus: more themes, fewer quotations of each."""
SOMEWHAT_HELPFUL = 50
"""The helpfulness, 1 to 100, of an overview of texts: nothing tells which of them matter."""
MAX_SHARED_TERMS = 0.45  # unexplained
"""Share of the smaller one's terms that two quotations in an answer may have in common."""
MAX_SHARED_TERMS_OF_FACT = 0.7  # unexplained
"""The same where a fact is asked for, of all terms: a sentence that answers seldom adds more than the answer."""
MIN_SHARE_OF_BEST = 0.5  # unexplained
"""A section, or a quotation in one, is kept where its score is at least this share of the best one's."""
MIN_SHARE_OF_BEST_DEFINING = 0.4  # unexplained
"""The same for a quotation of an answer that only has to tell of something."""
_ITEM = re.compile(r"^[-*•–]\s+")
_SECTION = re.compile(r"^### ", re.MULTILINE)


@performs(MapAnswer)
def map_answer(task: MapAnswer, searcher: Searcher) -> PartialAnswer:
    """Answer from one window: sections for its relevant reports (or chunks), best first; score 0 for none."""
    question = searcher.read(task.question)
    if question.about_whole and task.context.reports:
        return _overview(task.context.reports, searcher)
    found = searcher.find(question)
    if question.about_whole and not found:
        return _overview_of_sources(task.context.sources, searcher)
    if task.context.sources:
        return _from_sources(found, task.context.sources, searcher)
    deepest = max((report.level for report in task.context.reports), default=0)
    sections: list[tuple[float, str]] = []
    for report in task.context.reports:
        inside = _inside(question, report, deepest, searcher)
        if inside:
            sections.append((_relevance(question, report, inside), _section(report, inside, searcher)))
    sections.sort(key=lambda s: -s[0])
    sections = [
        (score, section)
        for score, section in sections[:MAX_SECTIONS]
        if score >= MIN_SHARE_OF_BEST * sections[0][0]
    ]
    text = "\n\n".join(section for _, section in sections)
    scores = tuple(score for score, _ in sections)
    return PartialAnswer(text, percent(scores[0]) if scores else 0, section_scores=scores)


def _inside(question: Question, report: Report, deepest: int, searcher: Searcher) -> list[RankedSentence]:
    """Return the sentences of a report's community, in the view of the deepest level that holds it."""
    level = report.level if report.children else max(deepest, report.level)
    return list(deduplicate(searcher.by_community(question, level).get(report.community, ()), searcher))


def relevance(question: Question, report: Report, searcher: Searcher) -> float:
    """Return how relevant a report is to a question by the sentences of its community; 0 for none, seldom above 1."""
    inside = _inside(question, report, report.level, searcher)
    return _relevance(question, report, inside) if inside else 0.0


def _relevance(question: Question, report: Report, inside: Sequence[RankedSentence]) -> float:
    """Rate a report for a question: by its community's best sentences, and what its title names of it."""
    best = [f.score for f in inside[:MAX_QUOTES]]
    title = reading(report.title)[1]
    named = len(title & set(question.focus)) / max(len(question.focus), 1)
    return 0.4 * best[0] + 0.6 * sum(best) / MAX_QUOTES + 0.3 * named


def percent(score: float) -> int:
    """Return a score as a helpfulness, 1 to 100."""
    return max(1, min(100, round(70 * score)))


def _section(report: Report, inside: Sequence[RankedSentence], searcher: Searcher) -> str:
    lines = [quote(f, searcher) for f in inside]
    return f"### {report.title} {write([Reference('Reports', report.number)])}\n\n" + "\n".join(lines)


def deduplicate(
    found: Sequence[RankedSentence],
    searcher: Searcher,
    most: int = 3 * MAX_QUOTES,
    terms_of: Callable[[str], frozenset[str]] = lambda text: reading(text)[1],
    alike: float = MAX_SHARED_TERMS,
    weak: float = MIN_SHARE_OF_BEST,
) -> Iterator[RankedSentence]:
    """Yield the sentences, best first, that do not say again what an earlier one said."""
    said: list[frozenset[str]] = []
    for f in found:
        if f.score < weak * found[0].score:
            return
        words = terms_of(searcher.passages.quoted(f.sentence))
        if words and not _is_repeated(words, said, alike):
            said.append(words)
            yield f
            if len(said) == most:
                return


def _is_repeated(words: frozenset[str], said: Sequence[frozenset[str]], alike: float = MAX_SHARED_TERMS) -> bool:
    return any(len(words & other) > alike * min(len(words), len(other)) for other in said)


def quote(found: RankedSentence, searcher: Searcher) -> str:
    """Return a sentence as an item of a list, with the reference to its chunk."""
    text = _ITEM.sub("", searcher.passages.quoted(found.sentence))
    return f"- {text} {write(_source(found.sentence, searcher))}"


def _source(sentence: int, searcher: Searcher) -> list[Reference]:
    """Return the chunk that holds a sentence."""
    span = searcher.passages.span(sentence)
    chunk = searcher.chunk_at(span)
    return [Reference("Sources", chunk)] if chunk is not None else []


def _from_sources(found: Sequence[RankedSentence], sources: Sequence[Chunk], searcher: Searcher) -> PartialAnswer:
    """Answer from chunks: the sentences found that lie in them."""
    held = {sentence for chunk in sources for sentence in searcher.passages.within(chunk)}
    inside = [f for f in found if f.sentence in held]
    if not inside:
        return PartialAnswer("", 0)
    text = "\n".join(quote(f, searcher) for f in deduplicate(inside, searcher))
    return PartialAnswer(text, percent(inside[0].score))


def _overview(given: Sequence[Report], searcher: Searcher) -> PartialAnswer:
    """Answer a question about the whole: the reports that matter most, by their first findings.

    The first report of every part of the root goes before the second of any, so that all of the corpus has
    its say.
    """
    level = max((report.level for report in given), default=0)
    ranks = searcher.rank_among_parts(level)
    scores = {r.number: 1 + r.rating / 100 - min(ranks.get(r.number, 0), 20) / 40 for r in given}
    reports = sorted(given, key=lambda r: (-scores[r.number], r.number))[:MAX_OVERVIEW_SECTIONS]
    sections: list[str] = []
    for report in reports:
        cited = write([Reference("Reports", report.number)])
        language = language_of([report.summary], searcher.index.languages)
        lines = [f"- {split(strip(f.explanation), language)[0]} {cited}" for f in report.findings[:MAX_QUOTES]]
        sections.append(f"### {report.title} {cited}\n\n" + "\n".join(lines))
    return PartialAnswer(
        "\n\n".join(sections),
        round(10 * max((r.rating for r in given), default=0)),
        section_scores=tuple(scores[r.number] for r in reports),
    )


def _overview_of_sources(sources: Sequence[Chunk], searcher: Searcher) -> PartialAnswer:
    """Answer a question about the whole where there are no reports: by the sentences of each text that read best."""
    sections: list[str] = []
    for chunk in sources[:MAX_OVERVIEW_SECTIONS]:
        best = sorted(searcher.passages.within(chunk), key=lambda s: -searcher.passages.quality(s))
        lines = [quote(RankedSentence(s, 1.0, 1.0), searcher) for s in sorted(best[:MAX_OVERVIEW_QUOTES])]
        if lines:
            sections.append(f"### {searcher.index.document_of[chunk.document_id].title}\n\n" + "\n".join(lines))
    return PartialAnswer("\n\n".join(sections), SOMEWHAT_HELPFUL if sections else 0)


@performs(ReduceAnswer)
def reduce_answer(task: ReduceAnswer, searcher: Searcher) -> str:
    """Put the sections of all partial answers into one, the most relevant first, nothing said twice."""
    whole = searcher.read(task.question).about_whole
    most_sections, most_quotes = (
        (MAX_OVERVIEW_SECTIONS, MAX_OVERVIEW_QUOTES) if whole else (MAX_SECTIONS, MAX_QUOTES)
    )
    merged: dict[str, tuple[str, list[str]]] = {}
    said: list[frozenset[str]] = []
    asked = set(searcher.read(task.question).focus)
    for heading, lines in _ordered(task):
        under = strip(heading)
        kept = merged[under][1] if under in merged else []
        for line in lines:
            words = subject_terms(words_of(strip(line).removeprefix("- "))) - asked  # all of them have those
            if words and len(kept) < most_quotes and not _is_repeated(words, said):
                kept.append(line)
                said.append(words)
        if kept:
            merged.setdefault(under, (heading, kept))
        if len(merged) == most_sections:
            break
    body = "\n\n".join(
        f"{heading}\n\n" + "\n".join(lines) if heading else "\n".join(lines) for heading, lines in merged.values()
    )
    return f"{_notice(task.question, searcher)}\n\n{body}"


def _notice(question: str, searcher: Searcher) -> str:
    index = searcher.index
    words = wording(question_language(question, index))
    by_model = "imported" in index.settings or index.settings.get("model", "extractive") != "extractive"
    return f"*{words.assembled_with_reports if by_model and index.reports else words.assembled}*"


def _ordered(task: ReduceAnswer) -> list[tuple[str, list[str]]]:
    """Return the sections of all answers by their scores.

    A section without one counts by the helpfulness of its answer and its place in it.
    """
    rated: list[tuple[float, tuple[str, list[str]]]] = []
    for answer in task.answers:
        sections = list(_sections(answer.text))
        scores: Sequence[float] = answer.section_scores
        if len(scores) != len(sections):
            scores = [answer.score / 70 / (1 + place) for place in range(len(sections))]
        rated += zip(scores, sections, strict=True)
    best = max((score for score, _ in rated), default=0.0)
    return [section for score, section in sorted(rated, key=lambda r: -r[0]) if score >= MIN_SHARE_OF_BEST * best]


def _sections(text: str) -> Iterator[tuple[str, list[str]]]:
    for part in _SECTION.split(text):
        head, _, rest = part.partition("\n\n")
        if not head.startswith("- ") and rest:
            yield f"### {head}", rest.strip().splitlines()
        elif part.strip():
            yield "", part.strip().splitlines()


@performs(AnswerFromContext)
def answer_from_context(task: AnswerFromContext, searcher: Searcher) -> str:
    """Answer from a window of rows: the sentences of its chunks that hold most of what is asked."""
    question = searcher.read(task.question)
    if is_short(task.response) and not question.about_whole:
        short = short_answer(task.question, task.context, searcher)
        return f"{short[0]} {write(_source(short[1].sentence, searcher))}" if short else ""
    if question.about_whole and task.context.reports:
        return f"{_notice(task.question, searcher)}\n\n{_overview(task.context.reports, searcher).text}"
    lines = [quote(f, searcher) for f in supporting_sentences(task.question, task.context, searcher)]
    return f"{_notice(task.question, searcher)}\n\n" + "\n".join(lines) if lines else ""


def supporting_sentences(question: str, evidence: Context, searcher: Searcher) -> list[RankedSentence]:
    """Return the sentences of a window's chunks that hold most of what is asked, the best first, none said twice."""
    named = {entity.number for entity in evidence.entities}
    asked = searcher.read(question)
    found = rank_sentences(asked, evidence.sources, named, searcher)
    weak = MIN_SHARE_OF_BEST_DEFINING if asks_for_definition(asked, named, searcher) else MIN_SHARE_OF_BEST
    # Here an "I" may speak too: the question says what it is about, and the citation who it is.
    return list(
        deduplicate(
            found, searcher, most=2 * MAX_QUOTES, terms_of=_every_term, alike=MAX_SHARED_TERMS_OF_FACT, weak=weak
        )
    )


def _every_term(said: str) -> frozenset[str]:
    """Return all terms of a sentence: where a fact is asked for, a number is what it adds to what was said."""
    return frozenset(terms(fold(said)))


MAX_SENTENCES_READ = 12  # unexplained
"""Sentences that are read."""

_CLAUSE = re.compile(r"[^，。；！？,;.!?]+")


def short_answer(question_text: str, evidence: Context, searcher: Searcher) -> tuple[str, RankedSentence] | None:
    """Return the answer alone and the sentence that it stands in, None where no sentence speaks to the question."""
    question = searcher.read(question_text)
    found = rank_sentences(question, evidence.sources, {entity.number for entity in evidence.entities}, searcher)[
        :MAX_SENTENCES_READ
    ]
    asked = frozenset(search_terms(question_text, searcher.index))
    best: tuple[float, str, RankedSentence] | None = None
    for f in found:
        for answer, weight in candidates(question, f.sentence, asked, searcher):
            if best is None or f.score * weight > best[0]:
                best = f.score * weight, answer, f
    if best is not None:
        return best[1], best[2]
    clauses = ((clause, f) for f in found for clause in _clauses(searcher.passages.text(f.sentence)))
    return max(clauses, key=lambda pair: _weight_of_asked(pair[0], asked, searcher), default=None)


def _clauses(text: str) -> list[str]:
    """Return the clauses of a sentence; in scripts with spaces, the whole of it."""
    return [m.group().strip() for m in _CLAUSE.finditer(text)] if CJK.search(text) else [text]


def _weight_of_asked(clause: str, asked: frozenset[str], searcher: Searcher) -> float:
    return math.fsum(searcher.weight(term) for term in asked.intersection(search_terms(clause, searcher.index)))


SOMEWHAT_RELEVANT, MOST_RELEVANT = 2, 5  # unexplained
FULL_RELEVANCE = 0.6  # unexplained
"""The relevance from which on a report is rated best."""


@performs(RateReport)
def rate_report(task: RateReport, searcher: Searcher) -> int:
    """Return 0 to 5; for a question about the whole, everything is somewhat relevant."""
    question = searcher.read(task.question)
    if not question.terms or question.about_whole:
        return SOMEWHAT_RELEVANT
    return min(
        MOST_RELEVANT, math.ceil(MOST_RELEVANT * relevance(question, task.report, searcher) / FULL_RELEVANCE)
    )


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
        return Probe(
            partial.text, partial.score, tuple(asked)[: task.count], section_scores=partial.section_scores
        )
    found = [
        f for r in task.context.reports for f in searcher.by_community(question, r.level).get(r.community, ())
    ]
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
    question: str, found: Iterable[RankedSentence], searcher: Searcher, most: int, asked: Sequence[str] = ()
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
