"""Which sentences of a window answer a question: about what it names, holding the rest of it, giving what it wants.

What a question names ("the Quenda Weir") says where to look, and the rest ("rebuilt", "how many") which sentence there.
A sentence seldom says again what it is about: it is known from the title of its document and the sentences before it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from conspectus.algorithms.ranking import scaled
from conspectus.lazy import lazy_module
from conspectus.models.extractive.search import BESIDE, RankedSentence, Searcher
from conspectus.models.extractive.sentence_store import FIRST_PERSON
from conspectus.rows import Chunk
from conspectus.text.language import ENGLISH
from conspectus.text.mentions import date_spans
from conspectus.text.question import Question, question_pattern
from conspectus.text.sentences import states
from conspectus.text.types import CURRENCIES
from conspectus.text.words import VAGUE, WORD, fold, is_content, name_key, search_terms, stems

if TYPE_CHECKING:
    from conspectus import sentence_graph
else:
    sentence_graph = lazy_module("conspectus.sentence_graph")  # with scipy: only the walk needs it

Floats = np.ndarray[Any, np.dtype[np.float32]]

SUBJECT_WEIGHT, REST_WEIGHT, ANSWER_WEIGHT = 0.2, 0.45, 0.35
"""What it counts to be about what is named, to say the rest, and to give what is asked for. Six quotes hold the answer
of 18 of the sample's 36 facts; with 0.2 for the rest or 0 for the answer, of 16."""
CUE_WEIGHT = 0.3
"""Added where a sentence has what tells an answer to what is asked, as "because" where why is: the first quotation is
from the right passage for 29 % of MedQuAD's first 75 even questions, without it for 24 %."""
CHUNK_RANK_WEIGHT = 0.4
"""What it counts to stand in the best chunk, over the square root of its place in others. The quotations of 58 of
2Wiki's questions 101 to 250 hold the answer; of 42 with 0.1 / place."""
WALK_WEIGHT = 0.4
"""What it counts that a walk among the sentences, from what is named, is on one: six quotes hold the answer of 89 % of
cmrc-zh's first 150 questions and of 18 of the sample's facts; without the walk 87 % and 17, with 0.8 89 % and 16."""
MIN_WALKED = 0.5
"""The root of the walk's share from which on a sentence is read though it shares little: of cmrc-zh 89, not 79 %."""
CARRY_FACTOR = 0.8
"""What is left, one sentence on, of being about something: with nothing 16 of the sample's facts are held, not 18."""
MIN_REST_SHARE = 0.3
"""Least share of the rest of a question to hold with a neighbour; with 0.6 two of the sample's facts fewer are held."""
MIN_SUBJECT_SHARE = 0.4
"""How much of what is named a sentence must be about to be read though it holds less, but for words never heard of."""
UNREADABLE_FACTOR = 0.8
"""What is left of the worth of a sentence that does not read alone: with 1 four fewer of 140 questions are answered."""
OFF_SUBJECT_FACTOR, OFF_POINT_FACTOR = 0.35, 0.5
"""What is left of a sentence that is not about what is named, and of one that has nothing of what is asked of it, as a
date: with 1 the first quotation is from the right passage for 23 % of MedQuAD's even questions, not 27 %."""
PAIR_WEIGHT, TOGETHER = 0.3, 3
"""What it counts to have words within so many that a question has in a row (a sequential dependence model): the first
quotation answers 79 of 140 questions on four corpora, 76 without it."""
OPENING_WEIGHT = 0.3
"""What it counts to open a document or section: the first quotation is right for 38 of MedQuAD's 100, not for 33."""
HEADED = 0.5
"""What the words of a heading, or of a question before an answer, count for the sentence below it, and less for each
one on: 104 of 140 questions are answered by a quotation, 102 without it."""
HEADING_WORDS = 14  # at the most: longer lines without a verb are rows of a table
SHORT_DOCUMENT, SAME_DOCUMENT = 25, 0.5
"""Sentences of a document that is short, and how much each of them is about what another one names: without it the
first quotation answers 83 of 140 questions, not 86."""
_POINTER = re.compile(
    r"\b(?:chapters?|sections?|appendix) \d", re.I
)  # to where something is told: off the point
_SAYS_WHAT = question_pattern(ENGLISH, "says_what", re.VERBOSE)
SAYS_SOMETHING = 0.6
"""Worth of a sentence that says something else of X ("GIMPS is organized as"), where "X is a" at its start has 1."""
_OPENS = question_pattern(ENGLISH, "before_defined")
_VAGUE = stems(VAGUE)


def rank_sentences(
    question: Question, chunks: Sequence[Chunk], named: Collection[int], searcher: Searcher
) -> list[RankedSentence]:
    """Return the sentences of the given chunks (best first) that speak to a question, the best first.

    `named` are the numbers of entities around the question; those that it names say what it is about. Where the corpus
    has none of the names that it asks about, nothing speaks to it.
    """
    if not searcher.may_know(question):
        return []
    subject, rest = split_question(question, named, searcher)
    chunk_rank = chunk_ranks(chunks, searcher)
    sentences = sorted(chunk_rank)
    if not sentences or not (subject or rest):
        return []
    about = _subject_shares(subject, sentences, searcher)
    headed, opens = _headings({**subject, **rest}, sentences, searcher)
    pairs = PAIR_WEIGHT * _pair_shares(question, sentences, searcher)
    walked: Floats = np.sqrt(scaled(sentence_graph.walk_among(question.text, sentences, searcher.index)))
    if rest or question.cues:
        fits = _fits_of_answers(question, rest, (about, walked, headed, opens), sentences, searcher)
    else:
        fits = _fits_of_definitions(subject, headed, sentences, searcher)
    ranked: list[RankedSentence] = []
    for i, fit, share, factor in (f for f in fits if states(searcher.passages.text(sentences[f[0]]))):
        score = SUBJECT_WEIGHT * float(about[i]) + fit + float(pairs[i])
        score += CHUNK_RANK_WEIGHT / math.sqrt(1 + chunk_rank[sentences[i]])
        factor *= OFF_POINT_FACTOR if _POINTER.search(searcher.passages.text(sentences[i])) else 1.0
        quality = searcher.passages.quality(sentences[i])
        score *= factor * (UNREADABLE_FACTOR + (1 - UNREADABLE_FACTOR) * quality)
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
    question: Question, named: Collection[int], searcher: Searcher
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the words of what a question names, and the others that say what it asks, with their weights."""
    index = searcher.index
    every_term = frozenset(question.terms)
    keys = {name_key(term) for name in question.names for term in search_terms(name, index)}
    subject = {term for term in question.terms if name_key(term) in keys}
    concepts: list[frozenset[str]] = []
    for entity in map(index.entities.__getitem__, named):
        forms = (frozenset(searcher.terms_of(form, question)) for form in (entity.name, *entity.aliases))
        form = next((form for form in forms if form and form <= every_term), frozenset[str]())
        if entity.type == "concept":
            concepts.append(form)
        else:
            subject |= form
    # beside a name or the rarest term, others are what is asked of it: how somebody became an astronaut
    if not subject and concepts:
        subject = set(max(concepts, key=lambda form: math.fsum(map(searcher.weight, form))))
    elif not subject and len(question.focus) > 1 and not question.chinese:  # whose terms are pieces of words
        subject = {
            max(question.focus, key=lambda term: searcher.weight(term) * bool(searcher.frequency(term)))
        }
    subject = subject.union(*(form for form in concepts if form & subject))
    others = (term for term in searcher.words(question.focus) if term not in subject)
    rest = [term for term in others if term not in _VAGUE or searcher.frequency(term)]
    if question.asks_definition:
        subject, rest = subject.union(rest), []
    if question.language not in index.languages:  # a name has taken in words around it: "Bankとは"
        subject = {term for term in subject if searcher.frequency(term)}
    if not subject and not rest:
        rest = searcher.words(question.terms)
    return {t: searcher.weight(t) for t in sorted(subject)}, {t: searcher.weight(t) for t in rest}


def _subject_shares(subject: Mapping[str, float], sentences: Sequence[int], searcher: Searcher) -> Floats:
    """Return for each sentence how much of the subject it is about, 0 to 1.

    A sentence is about what it names, about who says "I" in it and, less with each sentence, what those before it are
    about.
    """
    about = np.zeros(len(sentences), np.float32)
    if not subject:
        return about
    passages, weights = searcher.passages, np.array(list(subject.values()), np.float32)
    own = np.stack([searcher.shares({term: 1.0}, np.array(sentences)) for term in subject])
    speakers = list(map(passages.speaker_of, sentences))
    for speaker in {speaker for speaker in speakers if speaker >= 0}:
        named = set(search_terms(passages.names[speaker], searcher.index)).intersection(subject)
        for i in (i for i, other in enumerate(speakers) if named and other == speaker):
            if FIRST_PERSON.search(passages.text(sentences[i])):  # it is about who says "I"
                own[:, i] = np.maximum(own[:, i], [term in named for term in subject])
    documents = passages.document[list(sentences)].tolist()
    carried = np.zeros(len(weights), np.float32)
    for document in (d for d in set(documents) if documents.count(d) <= SHORT_DOCUMENT):
        inside = own[:, np.array(documents) == document]
        own[:, np.array(documents) == document] = np.maximum(
            inside, SAME_DOCUMENT * inside.max(1, keepdims=True)
        )
    for i, sentence in enumerate(sentences):
        follows = i > 0 and documents[i - 1] == documents[i] and sentences[i - 1] == sentence - 1
        carried = np.maximum(carried * CARRY_FACTOR * follows, own[:, i])
        about[i] = carried @ weights
    return about / weights.sum()


def _pair_shares(question: Question, sentences: Sequence[int], searcher: Searcher) -> Floats:
    """Return for each sentence how many of the pairs of words in a row in a question it has together, by weight."""

    def places_of(text: str) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, word in enumerate(WORD.finditer(text)):
            for term in search_terms(word[0], searcher.index)[:1]:
                places.setdefault(term, []).append(place)
        return places

    in_order = [term for term in places_of(question.text) if term in question.focus]
    weights = {pair: min(map(searcher.weight, pair)) for pair in pairwise(in_order)}
    held = {term: searcher.shares({term: 1.0}, np.array(sentences)) > 0 for term in in_order}
    shares = np.zeros(len(sentences), np.float32)
    both = np.any([held[a] & held[b] for a, b in weights] or [shares > 0], axis=0)
    for i in np.flatnonzero(both).tolist():
        places = places_of(searcher.passages.text(sentences[i]))
        for (a, b), weight in weights.items():
            if any(abs(x - y) <= TOGETHER for x in places.get(a, ()) for y in places.get(b, ())):
                shares[i] += weight
    return shares / (math.fsum(weights.values()) or 1.0)


def _headings(
    weights: dict[str, float], sentences: Sequence[int], searcher: Searcher
) -> tuple[Floats, list[bool]]:
    """Return for each sentence how much of a question the heading above it holds, less with each sentence between them,
    and whether it is the first below a heading or of its document, and nobody is known to say it.
    """
    passages, own = searcher.passages, searcher.shares(weights, np.array(sentences))
    shares, opens = np.zeros(len(sentences), np.float32), [False] * len(sentences)
    for i, sentence in enumerate(sentences):
        before = passages.text(sentence - 1) if sentence else ""
        opens[i] = passages.opens_document(sentence)
        if not opens[i] and i and sentences[i - 1] == sentence - 1:
            headed = len(before.split()) <= HEADING_WORDS and before[-1] not in ".:,;" and not states(before)
            opens[i], shares[i] = headed, own[i - 1] if headed else CARRY_FACTOR * shares[i - 1]
        opens[i] = opens[i] and passages.speaker_of(sentence) < 0
    return shares, opens


# How well sentences answer


def _fits_of_answers(
    question: Question,
    rest: dict[str, float],
    near: tuple[Floats, Floats, Floats, Sequence[bool]],
    sentences: Sequence[int],
    searcher: Searcher,
) -> Iterator[tuple[int, float, float, float]]:
    """Yield the place, the fit, the share of the rest of each sentence that says something of what is asked, and what
    is left of its score. `near` is how much each is about what is named, how much a walk from there is on it, how much
    of the question the heading above it holds, and whether it opens a document or section.
    """
    about, walked, headed, opens = near
    own = searcher.shares(rest, np.array(sentences))
    beside = np.float32(BESIDE) * searcher.beside(rest, np.array(sentences))
    with_neighbours = own + np.maximum(beside, np.float32(HEADED) * headed)
    known_weight = sum(weight for term, weight in rest.items() if searcher.frequency(term))
    mostly_unknown = 2 * known_weight < sum(rest.values())
    query_terms = frozenset(search_terms(question.text, searcher.index))
    for i, sentence in enumerate(sentences):
        around = float(with_neighbours[i])
        off_subject = about[i] < MIN_SUBJECT_SHARE and walked[i] < MIN_WALKED
        cued = any(cue.search(searcher.passages.text(sentence)) for cue in question.cues)
        if around < MIN_REST_SHARE and (off_subject or (mostly_unknown and not cued)):
            continue
        answers = list(candidates(question, sentence, query_terms, searcher)) if question.wants else []
        answered = max((weight for _, weight in answers), default=0.0)
        fit = REST_WEIGHT * around + ANSWER_WEIGHT * answered
        if cued:
            fit += CUE_WEIGHT * max(around, float(about[i]))
        if opens[i]:
            gives = 1.0 if cued or not question.wants else answered * float(own[i])
            fit += OPENING_WEIGHT * float(about[i]) * gives
        factor = 1.0
        if not question.joins_facts:
            factor *= OFF_SUBJECT_FACTOR if about[i] < MIN_SUBJECT_SHARE else 1.0
            missing = not answers and (not (around or cued) or question.wants in ("date", "number"))
            factor *= OFF_POINT_FACTOR if missing else 1.0
        yield i, fit + WALK_WEIGHT * float(walked[i]), float(own[i]), factor


def _fits_of_definitions(
    subject: dict[str, float], headed: Floats, sentences: Sequence[int], searcher: Searcher
) -> Iterator[tuple[int, float, float, float]]:
    """Yield the same for the sentences that name what is to be told of; best where they say what it is."""
    shares = np.maximum(searcher.shares(subject, np.array(sentences)), headed)
    for i in np.flatnonzero(shares >= MIN_SUBJECT_SHARE).tolist():
        text = searcher.passages.text(sentences[i])
        words = [w for w in WORD.finditer(text) if subject.keys() & {*search_terms(w[0], searcher.index)}]
        said = (says for word in words if (says := _SAYS_WHAT.match(text, word.end())))
        says_what = max((1.0 if says["what"] else SAYS_SOMETHING for says in said), default=0.0)
        opens = words and _OPENS.fullmatch(text, 0, words[0].start())
        says_what *= 1.0 if opens else SAYS_SOMETHING
        share = float(shares[i])
        yield i, REST_WEIGHT * share + ANSWER_WEIGHT * says_what, share, 1.0


# Short answers

NEAR = 8
"""Words between a candidate and the question's words at which it counts half. With 4 1.4 % fewer of the documents that
answer the sample's facts are quoted; with 16 nothing moves."""
PLAIN = 0.6
"""What a common noun counts beside a name: with half or double nothing moves, with none one of 60 short answers."""

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
    for start, end, weight in _spans_of_kind(question, sentence, text, searcher):
        answer = text[start:end].strip(" ,.;:()")
        if answer and not query_terms.issuperset(search_terms(answer, searcher.index)):
            if positions is None:  # of the query terms in the sentence, in words
                words = ((m.start(), search_terms(m.group(), searcher.index)) for m in WORD.finditer(text))
                positions = [len(text[:at].split()) for at, terms in words if query_terms.intersection(terms)]
            position = len(text[:start].split())
            distance = min((abs(position - other) for other in positions), default=2 * NEAR)
            yield answer, weight / (1 + distance / NEAR)


def _spans_of_kind(
    question: Question, sentence: int, text: str, searcher: Searcher
) -> Iterator[tuple[int, int, float]]:
    """Yield start, end and weight of the things in a sentence that are of the kind that is asked for."""
    match question.wants:
        case "date":
            yield from ((start, end, 1.0) for start, end in date_spans(text))
            yield from ((*m.span(), 1.0) for m in _PERIOD.finditer(text))
        case "number":
            yield from ((start, end, 1.0) for start, end in _numbers(text))
        case "" if not question.asks_name:
            return  # what is asked for is seldom a name
        case wants:
            passages, kind = searcher.passages, _KINDS.get(wants)
            for entity in dict.fromkeys(passages.mentioned(sentence)):
                name, type_ = passages.names[entity], passages.types[entity]
                start = fold(text).find(fold(name))
                if start >= 0 and type_ != "date" and (not kind or type_ == kind):
                    yield start, start + len(name), 1.0 if kind or name[:1].isupper() else PLAIN


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
