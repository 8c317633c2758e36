"""Assemble answers from quotations: each relevant report gives a section, filled with sentences of its community."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import chain, zip_longest

import numpy as np

from conspectus.algorithms.ranking import idf
from conspectus.index import Index
from conspectus.messages import wording
from conspectus.models.base import performs
from conspectus.models.extractive.graph import upper
from conspectus.models.extractive.rank_sentences import (
    candidates,
    chunk_ranks,
    follow_chain,
    rank_sentences,
    split_question,
)
from conspectus.models.extractive.search import COMPLETE, Ranked, RankedSentence, Searcher
from conspectus.models.extractive.sentence_store import (
    TOO_ALIKE,
    TOO_ALIKE_FOR_FACTS,
    SentenceStore,
    all_terms,
    is_repeated,
    reading,
    reads_alone,
    split,
    subject_terms,
    words_of,
)
from conspectus.name_lookup import entities_with, question_language, search_terms
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
)
from conspectus.tasks.base import Context
from conspectus.text.language import language_of
from conspectus.text.question import Question, is_short
from conspectus.text.sentences import ASKS, CLOSING, states
from conspectus.text.words import WORD, name_key

MAX_QUOTES = 4
"""Most quotations in a section. With 2, answers of `drift` quote 63 % of the documents that answer the sample's facts
rather than 70 %; with 8, they are 8 % longer and contain as much."""
MAX_QUOTES_OF_FACT = 6
"""Most quotations in an answer without sections. With 3, 5.6 % fewer of the documents that answer the sample's facts
are quoted; with 12, 2.5 % more, and 10 % more of the right passages elsewhere, in longer answers."""
MAX_PASSAGE_CHARS, FEWER_CHARS = 900, 200
"""Most characters of the best quotation with the sentences that follow, and how many fewer each further one has. Of 400
questions 288 have the answer quoted, with 900 and 300 282. Of 360, with 600 and 200 243, with 900 260, 1,400 263."""
MIN_SHARE_BESIDE = 0.15
"""Least share of what is asked, by weight of terms, that the sentence before one of the best must add to be quoted with
it. Of 360 questions, 250 have the answer in the first two quotations, without such sentences 244."""
MAX_LIST_CHARS = 600
"""Most characters of a quotation that announces a list, with its items. Of 917 such sentences of medquad, 94 % have
at most this with their items, 76 % at most half. Without items, 5 of 120 answers have one that ends in a colon."""
MAX_SECTIONS = 6
"""Most sections of a whole answer. With 3, F1 of the sample's global answers is 0.8 points lower, with 12 the same."""
MAX_OVERVIEW_SECTIONS, MAX_OVERVIEW_QUOTES = 10, 2
"""Most sections, and quotations in each, for a question about the whole corpus: more themes, fewer quotations. With 5
sections, F1 loses 1.7, with one quotation 1.0; with twice as many, it gains 0.1 and 0.4."""
SOMEWHAT_HELPFUL = 50
"""The helpfulness, 1 to 100, of an overview of sources: nothing indicates which of them matter."""
MIN_SHARE_OF_BEST = 0.5
"""Least score of a section, or of a quotation in one, as a share of the best one's. With half, global answers quote
4.5 % more of the documents that answer the sample's facts and are 29 % longer; with 1, they quote 10.5 % fewer."""
MIN_SHARE_OF_FACT, RISE_OF_SHARE = 0.65, 0.06
"""The same for a quotation if one fact is asked for, and its rise with each better sentence. Of 680 questions, 456 have
the answer in the first two quotations and 476 in any; with 0.04 457 and 482 with 15 % more quotations."""
_ITEM = re.compile(r"^[-*•–]\s+")
_ENDED = re.compile(r"[.!?…。！？；]\W*\d{0,2}$")  # also with the number of a footnote
_OWNED = re.compile(r"(?:[^\W\d_]\w* )*?\w+['’]s ")
"""A name and its possessive: in "What does Bayes's theorem say", it is nobody who says something."""
_SECTION = re.compile(r"^### ", re.MULTILINE)
_Section = tuple[float, str, Sequence[str]]
"""The score, the heading and the lines of a section."""


@performs(MapAnswer)
def map_answer(task: MapAnswer, searcher: Searcher) -> PartialAnswer:
    """Answer from one context: sections for relevant reports, or quotations of chunks, best first; score 0 for none."""
    question = searcher.read(task.question)
    reports = task.context.reports
    if question.about_whole and reports:
        return _overview(reports, searcher)
    ranked = searcher.find(question)
    if question.about_whole and not ranked:
        return _overview_of_sources(task.context.sources, searcher)
    if task.context.sources:
        in_sources = chunk_ranks(task.context.sources, searcher)
        ranked = [sentence for sentence in ranked if sentence.sentence in in_sources]
        text = "\n".join(quote(sentence, searcher) for sentence in deduplicate(ranked, searcher))
        return PartialAnswer(text, percent(ranked[0].score) if text else 0)
    deepest = max((report.level for report in reports), default=0)
    sections: list[_Section] = []
    for report in reports:
        if inside := _sentences_of(report, question, deepest, searcher):
            lines = [quote(sentence, searcher) for sentence in inside]
            heading = f"{report.title} {write([Reference('Reports', report.number)])}"
            sections.append((_relevance(question, report, inside), heading, lines))
    sections.sort(key=lambda section: -section[0])
    sections = [s for s in sections[:MAX_SECTIONS] if s[0] >= MIN_SHARE_OF_BEST * sections[0][0]]
    return _in_sections(sections, percent(sections[0][0]) if sections else 0)


def _in_sections(sections: Sequence[_Section], helpfulness: int) -> PartialAnswer:
    """Return an answer that consists of some sections."""
    texts = (f"### {heading}\n\n" + "\n".join(lines) for _, heading, lines in sections)
    scores = tuple(score for score, _, _ in sections)
    return PartialAnswer("\n\n".join(texts), helpfulness, section_scores=scores)


def _sentences_of(report: Report, question: Question, deepest: int, searcher: Searcher) -> Ranked:
    """Return the relevant sentences of a report's community, at the deepest level that contains the community."""
    level = report.level if report.children else max(deepest, report.level)
    return list(deduplicate(searcher.by_community(question, level).get(report.community, ()), searcher))


def _relevance(question: Question, report: Report, inside: Sequence[RankedSentence]) -> float:
    """Return a report's relevance: by its community's best sentences, and the share of the question in its title."""
    best = [sentence.score for sentence in inside[:MAX_QUOTES]]
    named = len(reading(report.title)[1].intersection(question.focus)) / max(len(question.focus), 1)
    return 0.4 * best[0] + 0.6 * sum(best) / MAX_QUOTES + 0.3 * named


def percent(score: float) -> int:
    """Return a score as a helpfulness, 1 to 100."""
    return max(1, min(100, round(70 * score)))


def deduplicate(
    ranked: Sequence[RankedSentence],
    searcher: Searcher,
    most: int = 3 * MAX_QUOTES,
    terms_of: Callable[[str], frozenset[str]] = lambda text: reading(text)[1],
    alike: float = TOO_ALIKE,
) -> Iterator[RankedSentence]:
    """Yield the ranked sentences, best first, that repeat no earlier one: at most `most`, none far below the best."""
    used: list[frozenset[str]] = []
    for sentence in ranked:
        if sentence.score < MIN_SHARE_OF_BEST * ranked[0].score or len(used) == most:
            return
        terms = terms_of(searcher.passages.quoted(sentence.sentence))
        if terms and not is_repeated(terms, used, alike):
            used.append(terms)
            yield sentence


def quote(ranked: RankedSentence | range, searcher: Searcher, dated: bool = False) -> str:
    """Return consecutive sentences as a list item with the reference to their chunk; `dated`, after their day."""
    row = ranked if isinstance(ranked, range) else range(ranked.sentence, ranked.sentence + 1)
    text = _ITEM.sub("", searcher.passages.quoted(row[0], row[-1]))
    if dated and (day := searcher.passages.day(row[0])):
        text = f"{day}: {text}"
    return f"- {text} {_reference(row, searcher)}"


def _reference(row: range, searcher: Searcher) -> str:
    """Return the reference to the chunk that contains consecutive sentences, or else the first character of them."""
    span = searcher.passages.span(row[0], row[-1])
    chunks = (searcher.chunk_at(span._replace(end=end)) for end in (span.end, span.start + 1))
    return write([Reference("Sources", chunk) for chunk in chunks if chunk is not None][:1])


def in_context(
    ranked: Sequence[RankedSentence], searcher: Searcher, asked: Sequence[str] = ()
) -> list[range]:
    """Return the given sentences as ranges, best first, with the lists that they announce or belong to and with
    neighbours: sentences that follow, to which a pronoun refers, or that have more of the `asked` terms.
    """
    passages = searcher.passages
    text, speaker = passages.text, passages.speaker_of
    numbers = [r.sentence for r in ranked]
    lists = {number: _list_of(number, passages) for number in numbers}
    items = {item for row in lists.values() for item in row[1:]}

    # whether sentences continue each other in one chunk, by one speaker, who may be interrupted ("Right.")
    def joined(first: int, last: int) -> bool:
        for n in range(first + 1, last + 1):
            continued = speaker(n) == speaker(first) or text(n - 1).endswith(("--", "—", "–"))
            if not continued and _is_sentence(text(n)):
                return False
            if n not in items and not passages.continues(n):
                return False
        return searcher.chunk_at(passages.span(first, last)) is not None

    weights = {term: searcher.weight(term) for term in asked}
    nearby = {n for number, row in lists.items() for n in row if n < number}
    for rank, number in enumerate(numbers):
        near = _nearby(number, rank, items, weights, searcher)
        nearby.update(n for n in near if joined(*sorted((n, number))))
    chosen = nearby.union(numbers, items)
    rows: list[range] = []
    quoted: set[str] = set()
    for number in numbers:
        if any(number in row for row in rows):
            continue
        first = last = number
        # the best sentence comes first, unless the one before it belongs to it
        while first - 1 in (chosen if rows else nearby) and joined(first - 1, last):
            first -= 1
        while last + 1 in chosen and joined(first, last + 1):
            last += 1
        own = (
            n for n in range(last, number, -1) if speaker(n) == speaker(number) and text(n)[-1:] not in ":："
        )
        last = next((n for n in own if n in items or _ENDED.search(text(n))), number)
        # documents that overlap, as parts of one source do, contain the same sentences
        new = [n for n in range(first, last + 1) if text(n) not in quoted]
        if new:
            rows.append(range(new[0], new[-1] + 1))
            quoted.update(text(n) for n in rows[-1])
    return rows


def _nearby(
    number: int, rank: int, items: Set[int], weights: Mapping[str, float], searcher: Searcher
) -> Iterator[int]:
    """Yield the sentences near one to quote with it: the one before if it is needed to understand this one or, for the
    best, has further terms of the question, and those that follow the best.
    """
    passages, text = searcher.passages, searcher.passages.text
    limit = MAX_PASSAGE_CHARS - FEWER_CHARS * rank
    if passages.follows(number) and _is_sentence(text(number - 1)):
        new = set(search_terms(text(number - 1), searcher.index))
        new -= set(search_terms(text(number), searcher.index))
        further = math.fsum(weights[term] for term in weights.keys() & new)
        adds = further >= MIN_SHARE_BESIDE * math.fsum(weights.values()) > 0
        if adds or not reads_alone(text(number)):
            yield number - 1
    for after in range(number + 1, len(passages)):
        heading = not _is_sentence(text(after)) and passages.speaker_of(after) == passages.speaker_of(number)
        ended = heading or after in items or not passages.follows(after)
        if ended or len(text(number, after)) > limit:
            return
        yield after


def _is_sentence(text: str) -> bool:
    """Return whether a text states or asks something, unlike a heading or "Right."."""
    return states(text) or text.rstrip(CLOSING).endswith(ASKS)


def _items(number: int, passages: SentenceStore) -> Iterator[int]:
    """Yield the items of the list that a sentence announces, without an end ("They may include") or with a colon."""
    text, colons = passages.text, (":", "：")
    for after in range(number + 1, len(passages)):
        gap = text(after - 1, after)[len(text(after - 1)) : -len(text(after))]
        announced = f"{text(after - 1)}{gap}".rstrip(" -*•–").endswith(colons)
        marked = passages.is_item(after)
        if after == number + 1:
            announced |= marked and not (passages.is_item(number) or _ENDED.search(text(number)))
            ended = not announced and not text(after).endswith(colons)
        else:  # an item without a mark is no whole sentence
            whole = passages.continues(after) and not marked and text(after).endswith((".", "。"))
            ended = not announced and (whole or bool(WORD.search(gap)))
        if ended or not passages.follows(after) or len(text(number, after)) > MAX_LIST_CHARS:
            return
        yield after


def _list_of(number: int, passages: SentenceStore) -> range:
    """Return a sentence with the list that it announces, or with the one that it is an item of, up to it."""
    first = number
    while first and passages.is_item(first):
        first -= 1
    items = [first, *_items(first, passages)]
    last = items[-1] if first == number else number
    return range(first if number in items else number, last + 1)


def _overview(given: Sequence[Report], searcher: Searcher) -> PartialAnswer:
    """Answer a question about the whole corpus from the reports that matter most, by their first findings.

    A report scores lower by its rank under its root community, so that all parts of the corpus are represented.
    """
    given = [report for report in given if not report.brief] or given
    ranks = searcher.rank_among_parts(max((report.level for report in given), default=0))
    scores = {r.number: 1 + r.rating / 100 - min(ranks.get(r.number, 0), 20) / 40 for r in given}
    reports = sorted(given, key=lambda r: (-scores[r.number], r.number))[:MAX_OVERVIEW_SECTIONS]
    sections: list[_Section] = []
    for report in reports:
        reference = write([Reference("Reports", report.number)])
        language = language_of([report.summary], searcher.index.languages)
        texts = [f.explanation for f in report.findings[:MAX_QUOTES] if f.explanation]
        first = [split(strip(t), language)[0] for t in texts] or strip(report.summary).splitlines()[:1]
        lines = [f"- {sentence} {reference}" for sentence in first]
        sections.append((scores[report.number], f"{report.title} {reference}", lines))
    return _in_sections(sections, round(10 * max((report.rating for report in given), default=0)))


def _overview_of_sources(sources: Sequence[Chunk], searcher: Searcher) -> PartialAnswer:
    """Answer a question about the whole corpus without reports: by the sentences of each chunk that read best."""
    sections: list[_Section] = []
    for rank, chunk in enumerate(sources[:MAX_OVERVIEW_SECTIONS]):
        best = sorted(searcher.passages.within(chunk), key=lambda s: -searcher.passages.quality(s))
        lines = [quote(range(s, s + 1), searcher) for s in sorted(best[:MAX_OVERVIEW_QUOTES])]
        if lines:
            document = searcher.index.document_of[chunk.document_id]
            sections.append((1 / (1 + rank), document.title or document.path, lines))
    return _in_sections(sections, SOMEWHAT_HELPFUL if sections else 0)


@performs(ReduceAnswer)
def reduce_answer(task: ReduceAnswer, searcher: Searcher) -> str:
    """Merge the sections of all partial answers, the most relevant first, without repetitions."""
    question = searcher.read(task.question)
    most_sections, most_quotes = MAX_SECTIONS, MAX_QUOTES
    if question.about_whole:
        most_sections, most_quotes = MAX_OVERVIEW_SECTIONS, MAX_OVERVIEW_QUOTES
    merged: dict[str, tuple[str, list[str]]] = {}
    used: list[frozenset[str]] = []
    for heading, lines in _sections_by_score(task):
        title = strip(heading)
        quotes = merged[title][1] if title in merged else []
        for line in lines:
            # without the terms of the question, which all quotations contain
            terms = subject_terms(words_of(strip(line).removeprefix("- "))).difference(question.focus)
            if terms and len(quotes) < most_quotes and not is_repeated(terms, used, TOO_ALIKE):
                quotes.append(line)
                used.append(terms)
        if quotes:
            merged.setdefault(title, (heading, quotes))
        if len(merged) == most_sections:
            break
    sections = ("\n".join(lines) for lines in ([h, "", *q] if h else q for h, q in merged.values()))
    notice = f"*{assembled_notice(task.question, searcher.index)}*"
    return "\n\n".join((notice, *sections)) if merged else ""


def assembled_notice(question: str, index: Index) -> str:
    """Return the notice that an answer is assembled from quotations."""
    words = wording(question_language(question, index))
    by_model = "imported" in index.settings or index.settings.get("model", "extractive") != "extractive"
    return words.assembled_with_reports if by_model and index.reports else words.assembled


def _sections_by_score(task: ReduceAnswer) -> list[tuple[str, list[str]]]:
    """Return heading and lines of the sections of all answers, best first, without those far worse than the best.

    A section without a score is scored by the helpfulness of its answer and its position in the answer.
    """
    rated: list[tuple[float, tuple[str, list[str]]]] = []
    for answer in task.answers:
        sections: list[tuple[str, list[str]]] = []
        for part in _SECTION.split(answer.text):
            head, _, rest = part.partition("\n\n")
            if not head.startswith("- ") and rest:
                sections.append((f"### {head}", rest.strip().splitlines()))
            elif part.strip():
                sections.append(("", part.strip().splitlines()))
        scores: Sequence[float] = answer.section_scores
        if len(scores) != len(sections):
            scores = [answer.score / 70 / (1 + rank) for rank in range(len(sections))]
        rated += zip(scores, sections, strict=True)
    best = max((score for score, _ in rated), default=0.0)
    return [
        section for score, section in sorted(rated, key=lambda r: -r[0]) if score >= MIN_SHARE_OF_BEST * best
    ]


@performs(AnswerFromContext)
def answer_from_context(task: AnswerFromContext, searcher: Searcher) -> str:
    """Answer from one context: with the sentences of its chunks that contain most of what is asked."""
    question = searcher.read(task.question)
    if is_short(task.response) and not question.about_whole:
        short = short_answer(task.question, task.context, searcher)
        return f"{short[0]} {_reference(range(n := short[1].sentence, n + 1), searcher)}" if short else ""
    if question.about_whole and task.context.reports:
        text = _overview(task.context.reports, searcher).text
    else:
        supporting = supporting_sentences(task.question, task.context, searcher)
        rows = in_context(supporting, searcher, searcher.words(question.focus))
        text = "\n".join(quote(row, searcher, dated=question.asks_change) for row in rows)
    return f"*{assembled_notice(task.question, searcher.index)}*\n\n{text}" if text else ""


def supporting_sentences(question_text: str, context: Context, searcher: Searcher) -> Ranked:
    """Return the sentences of a context's chunks that contain most of what is asked, best first, without repetitions.

    For a question that joins several, they are taken in turn from those for all of it, for its first part, and for each
    other part, which is read with the subject of the first.
    """
    question = searcher.read(question_text)
    first, *others = map(searcher.read, question.parts)
    parts = [question, first] if others else [question]
    subject = split_question(first, context.entities, searcher)[0] if others else {}
    for other in others:
        parts.append(replace(other, terms=(*subject, *other.terms), focus=(*subject, *other.focus)))
    ranked = [_supporting(part, context, searcher) for part in parts]
    best: dict[int, RankedSentence] = {}
    for sentence in filter(None, chain.from_iterable(zip_longest(*ranked))):
        best.setdefault(sentence.sentence, sentence)
    return list(best.values())[:MAX_QUOTES_OF_FACT]


def _supporting(question: Question, context: Context, searcher: Searcher) -> Ranked:
    """Return the sentences that contain most of what one question asks; see `supporting_sentences`."""
    ranked = _by_speaker(question, context, searcher)
    if ranked is None:
        if linked := follow_chain(question, context, searcher):
            return linked
        ranked = rank_sentences(question, context, searcher)
    half = MIN_SHARE_OF_BEST * max((r.score for r in ranked), default=0.0)
    # sentences in the question's language come first, unless they are far worse
    language = searcher.passages.language
    ranked = sorted(ranked, key=lambda r: r.score < half or language(r.sentence) != question.language)
    best = list(deduplicate(ranked, searcher, MAX_QUOTES_OF_FACT, all_terms, TOO_ALIKE_FOR_FACTS))
    if question.asks_change:
        return sorted(best, key=lambda ranked: searcher.passages.day(ranked.sentence))
    shares = (MIN_SHARE_OF_FACT + RISE_OF_SHARE * i for i in range(len(best)))
    chosen = [s for s, least in zip(best, shares, strict=True) if s.score >= least * best[0].score]
    if not question.asks_relation:
        return chosen
    # a sentence that names all of them says how they are related
    asked, rows = dict.fromkeys(question.focus, 1.0), np.array([s.sentence for s in chosen], np.int64)
    named = searcher.shares(asked, rows) > COMPLETE
    return [s for s, all_named in zip(chosen, named, strict=True) if all_named] or chosen


def _by_speaker(question: Question, context: Context, searcher: Searcher) -> Ranked | None:
    """Return what a person named in the question says about what is asked, None if it names nobody who says something.
    If nobody of that name speaks, return what is in documents with the name in their titles, or else what mentions, or
    follows what mentions, the person.
    """
    passages, before = searcher.passages, name_key(_OWNED.sub("", question.teller)).split()
    teller = {name for name in question.names if name in before}
    if not teller:
        return None
    speakers = searcher.speakers_named([" ".join(teller)])
    named = entities_with(teller, searcher.index)
    # a name is a concept where nothing indicates its type
    people = {name for name in named if passages.types[name] in ("person", "concept")}
    candidates = searcher.find(question, speakers)
    titled = not speakers and any(searcher.is_titled(r.sentence, teller) for r in candidates)
    if not (speakers or titled or people):
        return None

    def mentions_them(sentence: int) -> bool:
        return not people.isdisjoint(passages.mentioned(sentence))

    def is_theirs(ranked: RankedSentence) -> bool:
        if speakers:
            return passages.speaker_of(ranked.sentence) in speakers
        if titled:
            return searcher.is_titled(ranked.sentence, teller)
        return mentions_them(ranked.sentence)

    theirs = list(filter(is_theirs, candidates))
    if speakers and not theirs:
        return []
    ranked = rank_sentences(question, context, searcher, [r.sentence for r in theirs])
    theirs = [r for r in ranked if is_theirs(r) and (speakers or r.share)] or theirs
    # a quotation may follow the sentence that names who says it
    follow = (r for r in ranked if r.share and passages.follows(r.sentence))
    return theirs or [r for r in follow if mentions_them(r.sentence - 1)]


def short_answer(
    question_text: str, context: Context, searcher: Searcher
) -> tuple[str, RankedSentence] | None:
    """Return the answer alone and the sentence that contains it, None if no sentence is relevant to the question."""
    question = searcher.read(question_text)
    linked = sorted(follow_chain(question, context, searcher), key=lambda s: -s.score)
    ranked = linked or rank_sentences(question, context, searcher)[: 2 * MAX_QUOTES_OF_FACT]
    query_terms = frozenset(search_terms(question_text, searcher.index))
    answers: list[tuple[float, str, RankedSentence]] = []
    # "Who is Ada Byrne?" is not answered by another name beside hers, but by a sentence
    if question.wants not in ("", "person") or split_question(question, context.entities, searcher)[1]:
        most = 0.0 if linked else max((sentence.share for sentence in ranked), default=0.0)
        # where other sentences contain what is asked, a name in one that contains little of it is no answer
        for sentence in (s for s in ranked if s.share >= MIN_SHARE_OF_BEST * most):
            for answer, weight in candidates(question, sentence.sentence, query_terms, searcher):
                answers.append((sentence.score * weight * (1 + sentence.share), answer, sentence))
    if answers:
        _, answer, sentence = max(answers, key=lambda a: a[0])
        return answer, sentence
    texts = ((_ITEM.sub("", searcher.passages.text(s.sentence)), s) for s in ranked)
    # a text that only repeats terms of the question, such as the heading "Budget", is no answer
    others = (
        (text, s) for text, s in texts if not query_terms.issuperset(search_terms(text, searcher.index))
    )
    return next(others, None)


SOMEWHAT_RELEVANT, MOST_RELEVANT = 2, 5  # on the same scale that the task's prompt gives language models


@performs(RateReport)
def rate_report(task: RateReport, searcher: Searcher) -> int:
    """Rate a report, 0 to 5; for a question about the whole corpus, every report is somewhat relevant."""
    question = searcher.read(task.question)
    if not question.terms or question.about_whole:
        return SOMEWHAT_RELEVANT
    inside = _sentences_of(task.report, question, task.report.level, searcher)
    relevance = _relevance(question, task.report, inside) if inside else 0.0
    return min(MOST_RELEVANT, math.ceil(MOST_RELEVANT * relevance))


@performs(PrimeAnswer)
def prime_answer(task: PrimeAnswer, searcher: Searcher) -> Probe:
    """Answer from reports, and ask the question again with names from the sentences of their communities."""
    question = searcher.read(task.question)
    reports = task.context.reports
    partial = map_answer(MapAnswer(task.question, task.context), searcher)
    if question.about_whole:
        words = wording(language_of([task.question]))
        heads = [re.split(": |：", report.title)[0] for report in reports[: task.count]]
        follow_ups = tuple(FollowUp(words.told_of.format(h), 100 - i) for i, h in enumerate(heads))
    else:
        by_level = (searcher.by_community(question, report.level) for report in reports)
        of_reports = (
            ranked.get(report.community, ()) for ranked, report in zip(by_level, reports, strict=True)
        )
        follow_ups = _crossed(task.question, chain.from_iterable(of_reports), searcher, task.count)
    return Probe(partial.text, partial.score, follow_ups, section_scores=partial.section_scores)


@performs(PursueFollowUp)
def follow_up(task: PursueFollowUp, searcher: Searcher) -> Probe:
    """Answer from a context's chunks, headed by the name added to the question, and add further names to it."""
    best = supporting_sentences(task.follow_up, task.context, searcher)[:MAX_QUOTES]
    if not best:
        return Probe("", 0)
    lines = "\n".join(quote(sentence, searcher) for sentence in best)
    new = [e for e in task.context.entities if e.name in task.follow_up and e.name not in task.question]
    if new:
        lines = f"### {upper(new[0].name)} {write([Reference('Entities', new[0].number)])}\n\n{lines}"
    score = percent(sum(sentence.share for sentence in best) / len(best))
    follow_ups = _crossed(task.question, best, searcher, task.count, (*task.asked, task.follow_up))
    # a follow-up question scores no higher than the answer that led to it
    return Probe(lines, score, tuple(replace(f, score=f.score * score // 100) for f in follow_ups))


def _crossed(
    question: str,
    ranked: Iterable[RankedSentence],
    searcher: Searcher,
    most: int,
    earlier: Sequence[str] = (),
) -> tuple[FollowUp, ...]:
    """Return follow-up questions: the question with each of the names that most distinguish the ranked sentences.

    Names whose terms contain, or are among, those of the question, an earlier follow-up or a better name are left out.
    """
    passages, index = searcher.passages, searcher.index
    weights: defaultdict[int, float] = defaultdict(float)
    for sentence in ranked:
        for entity in passages.mentioned(sentence.sentence):
            weights[entity] += sentence.score
    frequency = np.bincount(passages.mentions[:], minlength=len(passages.names))
    scores = {e: weight * idf(len(passages), int(frequency[e])) for e, weight in weights.items()}
    words = wording(language_of([question]))
    whole = searcher.read(question).about_whole
    known = [set(search_terms(text, index)) for text in (question, *earlier)]
    chosen: list[FollowUp] = []
    best, asked = max(scores.values(), default=0.0), question.rstrip(" ?？؟。.")
    for entity in sorted(scores, key=lambda e: (-scores[e], e)):
        name = passages.names[entity]
        terms = set(search_terms(name, index))
        if passages.types[entity] != "date" and not any(terms <= other or other <= terms for other in known):
            known.append(terms)
            text = words.told_of.format(name) if whole else words.crossed.format(asked, name)
            chosen.append(FollowUp(text, round(100 * scores[entity] / best)))
        if len(chosen) == most:
            break
    return tuple(chosen)
