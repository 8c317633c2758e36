"""Which sentences of a window answer a question: about what it names, holding the rest of it, giving what it wants.

What a question names ("the Quenda Weir") says where to look, and the rest ("rebuilt", "how many") which sentence there.
A sentence seldom says again what it is about: it is known from the title of its document and the sentences before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from conspectus.algorithms.ranking import Floats, scaled
from conspectus.lazy import lazy_module
from conspectus.models.extractive.search import BESIDE, COMPLETE, RankedSentence, Searcher
from conspectus.models.extractive.sentence_store import (
    TOO_ALIKE_FOR_FACTS,
    VAGUE_STEMS,
    all_terms,
    is_repeated,
)
from conspectus.rows import Chunk, Entity
from conspectus.tasks.base import Context
from conspectus.text.language import ENGLISH
from conspectus.text.mentions import date_spans
from conspectus.text.question import Question, question_pattern
from conspectus.text.sentences import states
from conspectus.text.types import CURRENCIES
from conspectus.text.words import WORD, fold, is_content, name_key, search_terms

if TYPE_CHECKING:
    from conspectus import sentence_graph
else:
    sentence_graph = lazy_module("conspectus.sentence_graph")  # with scipy: only the walk needs it


SUBJECT_WEIGHT, REST_WEIGHT, ANSWER_WEIGHT = 0.2, 0.45, 0.35
"""What it counts to be about what is named, to say the rest, and to give what is asked for. Six quotes hold the answer
of 18 of the sample's 36 facts; with 0.2 for the rest or 0 for the answer, of 16."""
LIKENESS_WEIGHT, MIN_LIKENESS = 2.5, 0.4
"""What the cosine of question and sentence counts, and from which on one is read though it shares no words. On 16
questions on constellations and PNG 82.5 % of the words that answer are quoted, with 1.5 78.0. Of society's odd
questions the first quotation is from a right page for 53 % with 1.5, 55 with 3, without vectors 37."""
CUE_WEIGHT = 0.3
"""Added where a sentence has what tells an answer to what is asked, as "because" where why is: the first quotation is
from the right passage for 29 % of MedQuAD's first 75 even questions, without it for 24 %."""
CHUNK_RANK_WEIGHT = 0.4
"""What it counts to stand in the best chunk, over the square root of its place in others. The quotations of 58 of
2Wiki's questions 101 to 250 hold the answer; of 42 with 0.1 / place, of 57 where five chunks alone are read."""
DEFINITION_RANK_WEIGHT = 0.1
"""The same where a definition is asked for, which may stand in any chunk. With 0.4, what asthma is came after five
sentences on its treatment (MedQuAD)."""
WALK_WEIGHT = 0.4
"""What it counts that a walk among the sentences, from what is named, is on one: six quotes hold the answer of 89 % of
cmrc-zh's first 150 questions and of 18 of the sample's facts; without the walk 87 % and 17, with 0.8 89 % and 16."""
MIN_WALKED = 0.5
"""The root of the share of the walk on its most visited sentence, from which on one is read though it shares little:
with 0.25 90 % of cmrc-zh's, with none by the walk alone 79 %."""
CARRY_FACTOR = 0.8
"""What is left, one sentence on, of being about something: with nothing 16 of the sample's facts are held, not 18."""
MIN_REST_SHARE = 0.3
"""Least share of the rest of a question that a sentence and its neighbour must hold: with 0.6 16 of the sample's facts
are held, with 0.15 20, by more quotes that are beside the point."""
MIN_SUBJECT_SHARE = 0.4
"""How much of what is named a sentence must be about to be read though it holds less, but for words never heard of.
With 0.8 17 of the sample's facts are held, with 0.2 19, and a point less of the words of society's answers."""
UNREADABLE_FACTOR = 0.8
"""What is left of the worth of a sentence that does not read alone at all. With 0.5 the answer of 4 % fewer of
cmrc-zh's questions 151 to 300 is held, and 3 % fewer words of answers from wild/mathematics."""
OFF_SUBJECT_FACTOR, OFF_POINT_FACTOR = 0.35, 0.5
"""What is left of a sentence that is not about what is named, and of one that has nothing of what is asked of it, as a
date: with 1 the first quotation is from the right passage for 23 % of MedQuAD's even questions (27 %), of all 17 % are
(21 %). With 0.5 for both, sentences on another disease answer of the treatment of one of which little is known."""
OWN_TITLE, OTHERS_FACTOR = 0.5, 0.7
"""How much a text is about what its title names, and what is left of what others say of one who speaks, too, as they
introduce a guest: 62 of 113 sentences that answer a question are its first quotation, with 1 for the second 58."""
_SAYS_WHAT = question_pattern(ENGLISH, "says_what", re.VERBOSE)
SAYS_SOMETHING = 0.6
"""Worth of a sentence that says something else of X ("GIMPS is organized as"), where "X is a" at its start has 1."""
APART = 3
"""Characters between two words of one name at the most: the mark in "Lucas-Lehmer", or a quotation mark."""
_OPENS = question_pattern(ENGLISH, "before_defined")


def rank_sentences(
    question: Question, context: Context, searcher: Searcher, also: Iterable[int] = ()
) -> list[RankedSentence]:
    """Return the sentences of the chunks of a context (best first) that speak to a question, the best first.

    `also` are sentences of other chunks. Those entities of the context that the question names say what it is about.
    Where the corpus has none of the names that it asks about, nothing speaks to it. Where the question has a vector,
    sentences are compared by theirs, too.
    """
    if not searcher.may_know(question):
        return []
    subject, rest = split_question(question, context.entities, searcher)
    chunk_rank = chunk_ranks(context.sources, searcher)
    # The best chunks may be those where somebody speaks most, not is spoken of.
    if context.entities and subject and not rest:
        holding, share = searcher.holding(subject)
        also = (*also, *holding[share > COMPLETE].tolist())
    for sentence in also:
        chunk_rank.setdefault(sentence, len(context.sources))
    sentences = sorted(chunk_rank)
    if not sentences or not (subject or rest):
        return []
    defines = question.asks_definition
    about = _subject_shares(subject, sentences, searcher, by_speaker=not defines)
    likeness = np.zeros(len(sentences), np.float32)
    if context.vectors is not None:
        rows = searcher.index.slices["vectors.sentences"][sentences]
        likeness = rows.astype(np.float32) @ context.vectors[0]
    walked: Floats = np.sqrt(scaled(sentence_graph.walk_among(question.text, sentences, searcher.index)))
    if rest or question.cues:
        fits = _fits_of_answers(question, rest, (about, walked, likeness), sentences, searcher)
    else:
        # what stands right behind all of the subject may define it, as below a heading in a glossary
        carried = about * (about.round(2) >= CARRY_FACTOR * defines)
        fits = _fits_of_definitions(subject, carried, sentences, searcher)
    weight = DEFINITION_RANK_WEIGHT if defines else CHUNK_RANK_WEIGHT
    # who somebody is, others say
    speakers = searcher.speakers_named(question.people if not defines else ())
    ranked: list[RankedSentence] = []
    for i, fit, share, factor in (f for f in fits if states(searcher.passages.text(sentences[f[0]]))):
        score = SUBJECT_WEIGHT * float(about[i]) + fit
        score += weight / math.sqrt(1 + chunk_rank[sentences[i]])
        quality = searcher.passages.quality(sentences[i])
        score *= factor * (UNREADABLE_FACTOR + (1 - UNREADABLE_FACTOR) * quality)
        if speakers and searcher.passages.speaker_of(sentences[i]) not in speakers:
            score *= OTHERS_FACTOR
        score += LIKENESS_WEIGHT * float(likeness[i])
        ranked.append(RankedSentence(sentences[i], score, share))
    return sorted(ranked, key=lambda ranked: (-ranked.score, ranked.sentence))


def chunk_ranks(chunks: Sequence[Chunk], searcher: Searcher) -> dict[int, int]:
    """Return the sentences of chunks, each with the place of the first chunk that holds it."""
    ranks: dict[int, int] = {}
    for rank, chunk in enumerate(chunks):
        for sentence in searcher.passages.within(chunk):
            ranks.setdefault(sentence, rank)
    return ranks


# What a question is about, and what it asks


def split_question(
    question: Question, entities: Sequence[Entity], searcher: Searcher
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the words of what a question names, and the others that say what it asks, with their weights."""
    index = searcher.index
    every_term = frozenset(question.terms)
    keys = {name_key(term) for name in question.names for term in search_terms(name, index)}
    subject = {term for term in question.terms if name_key(term) in keys}
    concepts: list[frozenset[str]] = []
    for entity in entities:
        forms = (frozenset(searcher.terms_of(form, question)) for form in (entity.name, *entity.aliases))
        form = next((form for form in forms if form and form <= every_term), frozenset[str]())
        if entity.type == "concept":
            concepts.append(form)
        else:
            subject |= form
    # beside a name, others are what is asked of it: how somebody became an astronaut
    if not subject and concepts:
        subject = set(max(concepts, key=lambda form: math.fsum(map(searcher.weight, form))))
    subject = subject.union(*(form for form in concepts if form & subject))
    others = (term for term in searcher.words(question.focus) if term not in subject)
    rest = [term for term in others if term not in VAGUE_STEMS or searcher.frequency(term)]
    if question.asks_definition:
        subject, rest = subject.union(rest), []
    if question.language not in index.languages:  # a name has taken in words around it: "Bankとは"
        subject = {term for term in subject if searcher.frequency(term)}
    if not subject and not rest:
        rest = searcher.words(question.terms)
    return {t: searcher.weight(t) for t in sorted(subject)}, {t: searcher.weight(t) for t in rest}


def _subject_shares(
    subject: Mapping[str, float], sentences: Sequence[int], searcher: Searcher, by_speaker: bool
) -> Floats:
    """Return for each sentence how much of the subject it is about, 0 to 1.

    A sentence is about what it names, less about what the title of its document names, and less, with each sentence,
    about what those before it are about. With `by_speaker` it is about who says it, too.
    """
    about = np.zeros(len(sentences), np.float32)
    if not subject:
        return about
    passages, weights = searcher.passages, np.array(list(subject.values()), np.float32)
    own = np.stack([searcher.shares({term: 1.0}, np.array(sentences)) for term in subject])
    speakers, documents = (column[list(sentences)] for column in (passages.speaker, passages.document))
    sources = [(documents == i, passages.title_of(i), OWN_TITLE) for i in np.unique(documents).tolist()]
    for speaker in np.unique(speakers[speakers >= 0]) if by_speaker else ():
        sources.append((speakers == speaker, passages.names[int(speaker)], 1.0))
    for rows, name, worth in sources:
        terms = search_terms(name, searcher.index)
        floor = np.array([worth * (term in terms) for term in subject], np.float32)
        own[:, rows] = np.maximum(own[:, rows], floor[:, None])
    carried = np.zeros(len(weights), np.float32)
    for i, sentence in enumerate(sentences):
        follows = i > 0 and documents[i - 1] == documents[i] and sentences[i - 1] == sentence - 1
        carried = np.maximum(carried * CARRY_FACTOR * follows, own[:, i])
        about[i] = carried @ weights
    return about / weights.sum()


# How well sentences answer


def _fits_of_answers(
    question: Question,
    rest: dict[str, float],
    near: tuple[Floats, Floats, Floats],
    sentences: Sequence[int],
    searcher: Searcher,
) -> Iterator[tuple[int, float, float, float]]:
    """Yield the place, the fit, the share of the rest of each sentence that says something of what is asked, and what
    is left of its score. `near` is how much each is about what is named, its share of the walk, and its likeness.
    """
    about, walked, likeness = near
    own = searcher.shares(rest, np.array(sentences))
    nearby = own + BESIDE * searcher.beside(rest, np.array(sentences))
    known = [weight for term, weight in rest.items() if searcher.frequency(term)]
    few = 2 * len(known) <= len(rest)
    unknown = few and 2 * sum(known) < sum(rest.values())
    query_terms = frozenset(search_terms(question.text, searcher.index))
    for i, sentence in enumerate(sentences):
        around = float(nearby[i])
        off_subject = about[i] < MIN_SUBJECT_SHARE and walked[i] < MIN_WALKED
        cued = any(cue.search(searcher.passages.text(sentence)) for cue in question.cues)
        off_topic = off_subject or (unknown and not cued)
        unlike = around < MIN_REST_SHARE and likeness[i] < MIN_LIKENESS
        if unlike and off_topic:
            continue
        answers = list(candidates(question, sentence, query_terms, searcher)) if question.wants else []
        fit = REST_WEIGHT * around + ANSWER_WEIGHT * max((weight for _, weight in answers), default=0.0)
        if cued:
            fit += CUE_WEIGHT * max(around, float(about[i]))
        factor = OFF_SUBJECT_FACTOR if about[i] < MIN_SUBJECT_SHARE else 1.0
        missing = not answers and (not (around or cued) or question.wants in ("date", "number"))
        factor *= OFF_POINT_FACTOR if missing else 1.0
        yield i, fit + WALK_WEIGHT * float(walked[i]), float(own[i]), factor


def _fits_of_definitions(
    subject: dict[str, float], about: Floats, sentences: Sequence[int], searcher: Searcher
) -> Iterator[tuple[int, float, float, float]]:
    """Yield the same for sentences that name, or are `about`, what is to be told of; best where they say what it is."""
    shares = np.maximum(searcher.shares(subject, np.array(sentences)), about)
    for i in np.flatnonzero(shares >= MIN_SUBJECT_SHARE).tolist():
        text = searcher.passages.text(sentences[i])
        says_what, name, start, end = 0.0, set[str](), 0, -APART - 1
        for word in WORD.finditer(text):
            terms = subject.keys() & set(search_terms(word.group(), searcher.index))
            if not terms:
                continue
            if word.start() - end > APART:
                name, start = set[str](), word.start()
            name |= terms
            end = word.end()
            if says := _SAYS_WHAT.match(text, end):
                worth = math.fsum(subject[term] for term in name) / math.fsum(subject.values())
                worth *= 1.0 if says["what"] else SAYS_SOMETHING
                worth *= 1.0 if _OPENS.fullmatch(text, 0, start) else SAYS_SOMETHING
                says_what = max(says_what, worth)
        share = float(shares[i])
        yield i, REST_WEIGHT * share + ANSWER_WEIGHT * says_what, share, 1.0


# Short answers

NEAR = 8
"""Words between a candidate and the question's words at which it counts half. With 4 1.4 % fewer of the documents that
answer the sample's facts are quoted; with 16 nothing moves."""
_NUMBER = question_pattern(ENGLISH, "number_given")
_UNIT = question_pattern(ENGLISH, "unit_given", re.NOFLAG)
_PERIOD = question_pattern(ENGLISH, "period_given", re.NOFLAG)
_JOINED = re.compile(r"(?:[A-Za-zÀ-ʯ]{1,20}-?|[/#])$")
_KINDS = {"person": "person", "place": "location"}


def candidates(
    question: Question, sentence: int, query_terms: frozenset[str], searcher: Searcher
) -> Iterator[tuple[str, float]]:
    """Yield what may be the answer in a sentence, and its weight, at most 1: the more, the nearer to query terms.

    What says nothing beside the question's own words is no answer.
    """
    text = searcher.passages.text(sentence)
    positions: list[int] | None = None
    for start, end in _spans_of_kind(question, sentence, text, searcher):
        answer = text[start:end].strip(" ,.;:()")
        if answer and not query_terms.issuperset(search_terms(answer, searcher.index)):
            if positions is None:  # of the query terms in the sentence, in words
                words = ((m.start(), search_terms(m.group(), searcher.index)) for m in WORD.finditer(text))
                positions = [len(text[:at].split()) for at, terms in words if query_terms.intersection(terms)]
            position = len(text[:start].split())
            distance = min((abs(position - other) for other in positions), default=2 * NEAR)
            yield answer, 1 / (1 + distance / NEAR)


def _spans_of_kind(
    question: Question, sentence: int, text: str, searcher: Searcher
) -> Iterator[tuple[int, int]]:
    """Yield start and end of the things in a sentence that are of the kind that is asked for."""
    match question.wants:
        case "date":
            yield from date_spans(text)
            yield from (m.span() for m in _PERIOD.finditer(text))
        case "number":
            yield from _numbers(text)
        case "" if not question.asks_name:
            return  # what is asked for is seldom a name
        case wants:
            passages, kind = searcher.passages, _KINDS.get(wants)
            for entity in dict.fromkeys(passages.mentioned(sentence)):
                name, type_ = passages.names[entity], passages.types[entity]
                start = fold(text).find(fold(name))
                if start >= 0 and type_ != "date" and (not kind or type_ == kind):
                    yield start, start + len(name)


def _numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the numbers in a text with their units, but for dates."""
    dates = list(date_spans(text))
    for number in _NUMBER.finditer(text):
        if any(start <= number.start() < end for start, end in dates):
            continue
        joined = _JOINED.search(text, 0, number.start())
        if joined and joined.group() not in CURRENCIES:  # the P7 is no number, EUR84 is
            continue
        unit = _UNIT.match(text, number.end())
        is_unit = unit and is_content(fold(unit.group().strip()))  # "84,000 for" has none
        end = unit.end() if unit and is_unit else number.end()
        yield number.start(), end


# Chains: sentences that lead from one passage to the next

HOPS = (1, 3, 1, 1)
"""Sentences of each passage of a chain: the first names the next, which mostly answers. Six of 2Wiki's first 150 hold
the answer for 75 %; of MuSiQue's first 50, 56 %. With (2, 2, 1, 1) 70 and 56 %, with (1, 1, 1, 1, 1, 1) 65 and 58 %,
and the six that the walk is on most 57 and 54 %."""
KIND_WEIGHT, LEAD_WEIGHT = 0.8, 0.4
"""What it counts in a passage to hold the kind of thing that is asked for, and to open a document, which says who or
what it is about. Without the walk 8 points of HotpotQA's are lost, without the kind 5 of 2Wiki's, without the words
that are asked beside names 8 of HotpotQA's, without openings 6 of 2Wiki's."""
SHORT_PASSAGE = 10
"""Sentences of a passage, on average, up to which a chain goes by whole passages: those of Wikipedia's introductions
have 4 or 5. Where chunks have 20 (web pages, minutes, letters), half of what the best sentences hold is lost by it."""
ANSWERED = 0.4
"""The share of what is asked, by weight of its words, from which on the first passage of a chain answers by itself, or
a sentence that holds all names: without such sentences 115, not 120, of 300 answers on diseases begin right."""


def follow_chain(question: Question, context: Context, searcher: Searcher) -> list[RankedSentence]:
    """Return sentences that lead from what a question names to what it asks for, those of one passage together.

    The passages are those that a walk from its names is on most, in that order; of each the sentences that it needs.
    Nothing is returned where passages are long, or where a question that joins no facts is answered without.
    """
    passages = _walked_passages(question, context.sources, searcher)
    if not passages or not searcher.may_know(question):
        return []
    subject, asked = split_question(question, context.entities, searcher)
    walked = [sentence for passage in passages for sentence in passage]
    rest = dict(zip(walked, searcher.shares(asked, np.array(walked)).tolist(), strict=True))
    inside = np.array([*chunk_ranks(context.sources, searcher)])
    named = searcher.shares(subject, inside) > COMPLETE
    alone = searcher.shares(asked, inside[named])
    answered = max(*(rest[s] for s in passages[0]), alone.max(initial=0.0))
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
