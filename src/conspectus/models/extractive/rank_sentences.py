"""Rank the sentences of a context by how well they answer a question.

The subject, i.e. what a question names ("the Quenda Weir"), shows where to look, the rest ("rebuilt", "how many") which
sentence to choose. Sentences seldom repeat their subject: it is also taken from titles and from preceding sentences.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from conspectus.algorithms.ranking import Floats, Ints
from conspectus.lazy import lazy_module
from conspectus.models.extractive.search import COMPLETE, RankedSentence, Searcher
from conspectus.models.extractive.sentence_store import (
    TOO_ALIKE_FOR_FACTS,
    VAGUE_STEMS,
    all_terms,
    is_repeated,
)
from conspectus.name_lookup import search_terms
from conspectus.rows import Chunk, Entity
from conspectus.tasks.base import Context
from conspectus.text.language import ENGLISH
from conspectus.text.mentions import date_spans
from conspectus.text.question import Question, question_pattern
from conspectus.text.sentences import states
from conspectus.text.types import CURRENCIES
from conspectus.text.words import WORD, fold, is_content, name_key

if TYPE_CHECKING:
    from conspectus import sentence_graph
else:
    sentence_graph = lazy_module("conspectus.sentence_graph")  # with scipy: only the walk needs it


ABOUT_WEIGHT, OWN_WEIGHT, NEAR_WEIGHT = 0.64, 1.25, 0.48
"""Weights of the share of the subject that a sentence is about; the rest of the question in it, as a share of the whole
question; the share of the rest in it or a neighbour. Fitted, as others, to the answers to 670 questions (listwise
logistic regression); cross-validated, 330 of 463 have the answer in the first two quotations, without fitting 307."""
ANSWER_WEIGHT, CUE_WEIGHT, READABLE_WEIGHT = 0.42, 0.31, 0.21
"""Weights of something of the requested type, of wording that is typical of an answer, and of reading well. Fitted."""
OFF_SUBJECT_COST, OTHERS_COST, NO_DATE_COST = 0.24, 0.24, 1.0
"""What a sentence loses if it is not about the subject; if others say it though the named person speaks, too; if it has
no date though one is requested. All but the last are fitted: with its fitted 0.14, repeated words outweigh a date."""
SHARE_WEIGHT, DEFINES_WEIGHT, SUBJECT_WEIGHT = 0.45, 0.35, 0.2
"""Weights for a definition: of the subject's terms (of others in a chain), of saying what it is, of being about it."""
LIKENESS_WEIGHT, MIN_LIKENESS = 1.4, 0.4
"""Weight of the cosine of question and sentence, and least cosine to consider one that shares no words. Of 360
questions, 248 have the answer in the first two quotations, with 1.0 247, with 1.8 244, with 2.5 239, without 239."""
CHUNK_RANK_WEIGHT = 0.4
"""Score in the best chunk, else divided by the root of its rank. Of 2Wiki's 150, 58 are answered, by 0.1 / rank 42."""
DEFINITION_RANK_WEIGHT = 0.1
"""The same for definitions, which any chunk may have. With 0.4, what asthma is came after its treatment (MedQuAD)."""
WALK_WEIGHT = 0.4
"""Weight of the score that a walk from the question's names gives a sentence of a chain: with 0, 50 of MuSiQue's 100
questions have the answer in six quotations, not 55. Elsewhere, 132 rather than 137 of 232 are answered well with it."""
CARRY_FACTOR = 0.8
"""Factor by which a subject fades with each sentence. With 0, 16 of the sample's facts are quoted, not 18."""
MIN_REST_SHARE = 0.3
"""Least share of the rest of a question in a sentence or beside it. With half, of 480 questions one more has the answer
in the first two quotations, with 0.5 two fewer; with 0, little-known things are answered with other ones."""
MIN_SUBJECT_SHARE = 0.4
"""Least share of the subject that suffices without the rest, unless most of that is unknown; 0.3 is as good."""
OWN_TITLE = 0.5
"""How much a document is about what its title names. With 0.8, of 480 questions one more has the answer quoted."""
SAYS_SOMETHING = 0.6
"""Factor for a sentence that says something else of X ("GIMPS is organized as"), and for one that begins otherwise."""
APART = 3
"""Most characters between two words of one name: the hyphen in "Lucas-Lehmer", or a quotation mark."""


def rank_sentences(
    question: Question, context: Context, searcher: Searcher, also: Iterable[int] = ()
) -> list[RankedSentence]:
    """Return the sentences of a context's chunks (given best first) that are relevant to a question, the best first.

    `also` are sentences of other chunks. Entities of the context that the question names belong to its subject. If the
    corpus has none of the names in the question, no sentence is relevant. If the context has the question's vector,
    sentence vectors are compared, too.
    """
    if not searcher.may_know(question):
        return []
    subject, rest = split_question(question, context.entities, searcher)
    chunk_rank = chunk_ranks(context.sources, searcher)
    # The best chunks may be those in which a person speaks most, rather than those about that person.
    if context.entities and subject and not rest:
        holding, share = searcher.holding(subject)
        also = (*also, *holding[share > COMPLETE].tolist())
    for sentence in also:
        chunk_rank.setdefault(sentence, len(context.sources))
    if not chunk_rank or not (subject or rest):
        return []
    sentences = np.array(sorted(chunk_rank))
    searcher = searcher.with_other_names(question, context.entities, chunk_rank)
    defines, passages = question.asks_definition, searcher.passages
    about, in_chunk = _subject_shares(subject, chunk_rank, searcher, by_speaker=not defines)
    likeness = np.zeros(len(sentences), np.float32)
    if context.vectors is not None:
        likeness = _likeness(context.vectors[0], sentences, searcher)
    if rest or question.cues:
        near = about, in_chunk, likeness
        fits = _fits_of_answers(question, (subject, rest), near, sentences, searcher)
    else:
        fits = _fits_of_definitions(question, subject, about, sentences, searcher)
    weight = DEFINITION_RANK_WEIGHT if defines else CHUNK_RANK_WEIGHT
    # who a person is, others say: definitions do not prefer the person's own sentences
    speakers = searcher.speakers_named(question.people if not defines else ())
    ranked: list[RankedSentence] = []
    for i, fit, share in fits:
        sentence = int(sentences[i])
        if not states(passages.text(sentence)):
            continue
        score = fit + weight / math.sqrt(1 + chunk_rank[sentence])
        score += READABLE_WEIGHT * passages.quality(sentence)
        score += LIKENESS_WEIGHT * float(likeness[i])
        if speakers and passages.speaker_of(sentence) not in speakers:
            score -= OTHERS_COST
        ranked.append(RankedSentence(sentence, score, share))
    return sorted(ranked, key=lambda ranked: (-ranked.score, ranked.sentence))


def _likeness(question: Floats, sentences: Ints, searcher: Searcher) -> Floats:
    """Return the cosine of a question and each sentence, or the sentence and the next one if that is higher.
    With pairs, 234 rather than 222 of 390 first quotations have the answer; with three to five sentences, 232 to 234.
    """
    own = searcher.index.slices["vectors.sentences"][sentences].astype(np.float32)
    likeness = own @ question
    both = own[:-1] + own[1:]
    sizes = np.maximum(np.linalg.norm(both, axis=1), 1e-6)
    # both numbers rise where a document begins
    order = sentences + searcher.passages.document[sentences]
    pairs = both @ question / sizes * (np.diff(order) == 1)
    likeness[:-1] = np.maximum(likeness[:-1], pairs)
    return likeness


def chunk_ranks(chunks: Sequence[Chunk], searcher: Searcher) -> dict[int, int]:
    """Return the sentences of some chunks, each with the index of the first chunk that contains it."""
    ranks: dict[int, int] = {}
    for rank, chunk in enumerate(chunks):
        for sentence in searcher.passages.within(chunk):
            ranks.setdefault(sentence, rank)
    return ranks


# The subject of a question, and the rest


def split_question(
    question: Question, entities: Sequence[Entity], searcher: Searcher
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the terms of a question's subject, and the other terms, which say what is asked, with their weights."""
    index = searcher.index
    keys = {name_key(term) for name in question.names for term in search_terms(name, index)}
    subject = {term for term in question.terms if name_key(term) in keys}
    concepts: list[frozenset[str]] = []
    for entity in entities:
        form = searcher.form_in(question, entity)
        if entity.type == "concept":
            concepts.append(form)
        else:
            subject |= form
    # beside a name, concepts are part of what is asked: how somebody became an astronaut
    if not subject and concepts:
        subject = set(max(concepts, key=lambda form: math.fsum(map(searcher.weight, form))))
    subject = subject.union(*(form for form in concepts if form & subject))
    others = (term for term in searcher.words(question.focus) if term not in subject)
    rest = [term for term in others if term not in VAGUE_STEMS or searcher.frequency(term)]
    if question.asks_definition:
        subject, rest = subject.union(rest), []
    if question.language not in index.languages:  # a name may include the words around it: "Bankとは"
        subject = {term for term in subject if searcher.frequency(term)}
    if not subject and not rest:
        rest = searcher.words(question.terms)
    return {t: searcher.weight(t) for t in sorted(subject)}, {t: searcher.weight(t) for t in rest}


def _subject_shares(
    subject: Mapping[str, float], chunk_of: Mapping[int, int], searcher: Searcher, by_speaker: bool
) -> tuple[Floats, Floats]:
    """Return for each sentence, in order, how much of the subject it is about, and how much its chunk names, 0 to 1.
    A sentence is about what it names, less about what the title of its document names, and about what the sentences
    before it are about, less with each sentence. With `by_speaker`, it is about its speaker, too.
    """
    sentences = sorted(chunk_of)
    about = np.zeros(len(sentences), np.float32)
    if not subject:
        return about, about
    passages, weights = searcher.passages, np.array(list(subject.values()), np.float32)
    own = np.stack([searcher.shares({term: 1.0}, np.array(sentences)) for term in subject])
    in_chunk = np.zeros_like(about)
    chunks = np.array([chunk_of[n] for n in sentences])
    for rows in (chunks == chunk for chunk in np.unique(chunks)):
        in_chunk[rows] = own[:, rows].max(axis=1) @ weights / weights.sum()
    speakers, documents = (column[sentences] for column in (passages.speaker, passages.document))
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
    return about / weights.sum(), in_chunk


# How well sentences answer


def _fits_of_answers(
    question: Question,
    parts: tuple[dict[str, float], dict[str, float]],
    near: tuple[Floats, Floats, Floats],
    sentences: Ints,
    searcher: Searcher,
) -> Iterator[tuple[int, float, float]]:
    """Yield index, fit and share of the rest of each sentence that says something about what is asked.
    `near` is how much of the subject each is about, how much its chunk names, and its likeness to the question.
    """
    subject, rest = parts
    about, in_chunk, likeness = near
    own = searcher.shares(rest, sentences)
    around = searcher.shares_around(rest, sentences)
    mass = math.fsum(rest.values())
    fits = ABOUT_WEIGHT * about + NEAR_WEIGHT * around
    fits += OWN_WEIGHT * own * (mass / (mass + math.fsum(subject.values()) or 1.0))
    fits -= OFF_SUBJECT_COST * (np.maximum(about, in_chunk) < MIN_SUBJECT_SHARE)
    enough = (around >= MIN_REST_SHARE) | (likeness >= MIN_LIKENESS)
    known = [weight for term, weight in rest.items() if searcher.frequency(term)]
    unknown = 2 * len(known) <= len(rest) and 2 * sum(known) < mass
    query_terms = frozenset(search_terms(question.text, searcher.index))
    for i in np.flatnonzero(enough | (about >= MIN_SUBJECT_SHARE)).tolist():
        sentence = int(sentences[i])
        cued = any(cue.search(searcher.passages.text(sentence)) for cue in question.cues)
        if unknown and not (enough[i] or cued):
            continue
        answers = list(candidates(question, sentence, query_terms, searcher)) if question.wants else []
        fit = float(fits[i]) + CUE_WEIGHT * cued
        fit += ANSWER_WEIGHT * max((weight for _, weight in answers), default=0.0)
        fit -= NO_DATE_COST * (question.wants == "date" and not answers)
        yield i, fit, float(own[i])


def _fits_of_definitions(
    question: Question, subject: dict[str, float], about: Floats, sentences: Ints, searcher: Searcher
) -> Iterator[tuple[int, float, float]]:
    """Yield the same for sentences that name, or right after all of, the subject; best if they say what it is."""
    language = question.language if question.asks_definition else ENGLISH
    says_something = question_pattern(language, "says_what", re.VERBOSE)
    opens = question_pattern(language, "before_defined")
    # the sentence right after one that names all of the subject may define it, as below a heading in a glossary
    after = about * (about.round(2) >= CARRY_FACTOR * question.asks_definition)
    shares = np.maximum(searcher.shares(subject, sentences), after)
    for i in np.flatnonzero(shares >= MIN_SUBJECT_SHARE).tolist():
        text = searcher.passages.text(int(sentences[i]))
        says_what, name, start, end = 0.0, set[str](), 0, -APART - 1
        for word in WORD.finditer(text):
            terms = subject.keys() & set(search_terms(word.group(), searcher.index))
            if not terms:
                continue
            if word.start() - end > APART:
                name, start = set[str](), word.start()
            name |= terms
            end = word.end()
            if says := says_something.match(text, end):
                worth = math.fsum(subject[term] for term in name) / math.fsum(subject.values())
                worth *= 1.0 if says["what"] else SAYS_SOMETHING
                worth *= 1.0 if opens.fullmatch(text, 0, start) else SAYS_SOMETHING
                says_what = max(says_what, worth)
        share = float(shares[i])
        fit = SUBJECT_WEIGHT * float(about[i]) + SHARE_WEIGHT * share + DEFINES_WEIGHT * says_what
        yield i, fit, share


# Short answers

NEAR = 8
"""Distance in words to the nearest query term at which a candidate's weight is halved. With 4, 1.4 % fewer of the
documents that answer the sample's facts are quoted; with 16, nothing changes."""
_NUMBER = question_pattern(ENGLISH, "number_given")
_UNIT = question_pattern(ENGLISH, "unit_given", re.NOFLAG)
_PERIOD = question_pattern(ENGLISH, "period_given", re.NOFLAG)
_CITED = question_pattern(ENGLISH, "cited", re.NOFLAG)
_JOINED = re.compile(r"(?:[A-Za-zÀ-ʯ]{1,20}-?|[/#])$")
_KINDS = {"person": "person", "place": "location"}


def candidates(
    question: Question, sentence: int, query_terms: frozenset[str], searcher: Searcher
) -> Iterator[tuple[str, float]]:
    """Yield candidate answers in a sentence, other than query terms, with weights: up to 1 right beside query terms."""
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
    """Yield start and end of the spans of a sentence that are of the requested type."""
    match question.wants:
        case "date":
            cited = {year.end(1) for year in _CITED.finditer(text)}
            for start, end in date_spans(text):
                if end not in cited:
                    yield start, end
            yield from (m.span() for m in _PERIOD.finditer(text))
        case "number":
            yield from _numbers(text)
        case "" if not question.asks_name:
            return  # the answer is seldom a name
        case wants:
            passages, kind = searcher.passages, _KINDS.get(wants)
            for entity in dict.fromkeys(passages.mentioned(sentence)):
                name, type_ = passages.names[entity], passages.types[entity]
                start = fold(text).find(fold(name))
                if start >= 0 and type_ != "date" and (not kind or type_ == kind):
                    yield start, start + len(name)


def _numbers(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the numbers in a text ("EUR84", "US$25", not "P7") with their units, except for dates."""
    dates = list(date_spans(text))
    for number in _NUMBER.finditer(text):
        if any(start <= number.start() < end for start, end in dates):
            continue
        joined = _JOINED.search(text, 0, number.start())
        in_currency = number.group()[0] in "£$€¥"
        if joined and not in_currency and joined.group() not in CURRENCIES:
            continue
        unit = _UNIT.match(text, number.end())
        is_unit = unit and is_content(fold(unit.group().strip()))  # "84,000 for" has none
        end = unit.end() if unit and is_unit else number.end()
        yield number.start(), end


# Chains: sentences that lead from one passage to the next

HOPS = (1, 3, 1, 1)
"""Sentences of each passage of a chain. They contain the answer to 75 % of 2Wiki's first 150 questions and 56 % of
MuSiQue's first 50; with (2, 2, 1, 1) 70 and 56 %, with one of six 65 and 58 %, the six most visited 57 and 54 %."""
KIND_WEIGHT, LEAD_WEIGHT = 0.8, 0.4
"""Score added to a sentence of a chain for something of the requested type, and for opening a document, which says who
or what it is about. 2Wiki loses 5 points without the type and 6 without openings."""
SHORT_PASSAGE = 10
"""Average sentences of a passage up to which there are chains: Wikipedia's introductions have 5; at 20, chains lose."""
ANSWERED = 0.4
"""The share of what is asked, by weight of terms, at which the first passage of a chain, or a sentence with all names,
answers by itself. Without such sentences, 115 rather than 120 of 300 answers on diseases begin correctly."""


def follow_chain(question: Question, context: Context, searcher: Searcher) -> list[RankedSentence]:
    """Return sentences that lead from what a question names to what it asks for, grouped by passage.
    The passages are those that a walk from the question's names visits most, in that order; each gives its best
    sentences. Return nothing if passages are long, or if a question that joins no facts is answered without a chain.
    """
    passages = _walked_passages(question, context.sources, searcher)
    if not passages or not searcher.may_know(question):
        return []
    subject, asked = split_question(question, context.entities, searcher)
    walked = [sentence for passage in passages for sentence in passage]
    rest = dict(zip(walked, searcher.shares(asked, np.array(walked)).tolist(), strict=True))
    inside = np.array([*chunk_ranks(context.sources, searcher)])
    naming = inside[searcher.shares(subject, inside) > COMPLETE]
    most = searcher.shares(asked, naming).max(initial=0.0)
    answered = max(*(rest[s] for s in passages[0]), most)
    texts = map(searcher.passages.text, naming.tolist())
    cued = any(cue.search(text) for text in texts for cue in question.cues)
    alone = cued or answered >= ANSWERED or not (subject and asked)
    if alone and not question.joins_facts:
        return []
    query_terms = frozenset(search_terms(question.text, searcher.index))
    chain: list[RankedSentence] = []
    used: list[frozenset[str]] = []
    # sentences that one passage lacks are taken from the next one
    for mass, room in zip(passages, accumulate(HOPS), strict=False):
        hop: list[RankedSentence] = []
        for sentence, share in ((s, m) for s, m in mass.items() if states(searcher.passages.text(s))):
            score = WALK_WEIGHT * share + SHARE_WEIGHT * rest[sentence]
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
    """Return the passages that a walk from the question's names visits most, none if passages are long. Each maps its
    sentences to their share of the walk, divided by the highest in the passage.
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
