"""Which sentences of a window answer a question: about what it names, holding the rest of it, giving what it wants.

A sentence seldom says again what it is about: the sentences before it do, and who speaks in the conversation.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from conspectus.algorithms.ranking import scaled
from conspectus.lazy import lazy_module
from conspectus.models.extractive.search import COMPLETE, RankedSentence, Searcher
from conspectus.rows import Chunk
from conspectus.text.mentions import date_spans
from conspectus.text.question import Question
from conspectus.text.sentences import ASKS, CLOSING, states
from conspectus.text.types import CURRENCIES
from conspectus.text.words import SMALL, VAGUE, WORD, fold, is_content, name_key, search_terms, stems

if TYPE_CHECKING:
    from conspectus import sentence_graph
else:
    sentence_graph = lazy_module("conspectus.sentence_graph")  # with scipy: only the walk needs it

Floats = np.ndarray[Any, np.dtype[np.float32]]
Bools = np.ndarray[Any, np.dtype[np.bool_]]

WEIGHTS = np.array([2.1, 1.4, 1.2, 2.0, 1.85, 1.1, -1.15], np.float32)
"""What the features of `_features`, in their order, add to the log of the odds that a sentence answers. By multinomial
logistic regression on every other question of MedQuAD, HotpotQA, CMRC 2018 and of the web pages on mathematics and
society, each set of the same weight (2026-11-23)."""
MIN_WALKED = 0.5
"""The root of the share of the walk on its most visited sentence, from which on one is read though it shares little.
With none by the walk alone, the words of answers on mathematics that are quoted fall from 18 to 13 %."""
CARRY_FACTOR = 0.8
"""What is left, one sentence on, of being about something: with nothing 16 of the sample's facts are held, not 18."""
MIN_SHARE = 0.3
"""Least share of a question that a sentence must hold, with what the sentences before it are about, to speak to it."""
REPLY_WITHIN = 3
"""Sentences behind one that asks among which its reply is: "Yeah." or another question may come first."""
_SAYS_WHAT = re.compile(
    r"(?:['’]s)?[\"”’»)]*"
    r"(?:(?P<what>(?:\s*\([^()]{1,60}\)|,[^,]{1,60},)?\s+(?:is|was|are|were|means)\s+(?:an?|one|any)\b|"
    r"(?:（[^（）]*）)?[，,]?[是为乃指])|"
    r"\s*\(|,\s+(?!said|says|and|or|but|in|on|at|for|to|with|as|by)[a-z]|\s+(?:is|was|are|were|became|has been)\b)"
)
"""What stands behind a name where it is said what it is; other than in `what`, it may be something else of it."""
SAYS_SOMETHING = 0.6
"""What it counts that something else is said of what is to be told of than "X is a": "GIMPS is organized as"."""
_VAGUE = stems(VAGUE)


def rank_sentences(
    question: Question, chunks: Sequence[Chunk], named: Collection[int], searcher: Searcher
) -> list[RankedSentence]:
    """Return the sentences of the given chunks (best first) that speak to a question, the best first.

    `named` are the numbers of entities around the question; those that it names say what it is about. Where the corpus
    has none of the names that it asks about, nothing speaks to it.
    """
    if question.names and not any(searcher.is_known(name) for name in question.names):
        return []
    subject, rest = split_question(question, named, searcher)
    chunk_rank = chunk_ranks(chunks, searcher)
    # The best chunks may be those where somebody speaks most, not is spoken of.
    if named and subject and not rest:
        for sentence in np.flatnonzero(searcher.shares(subject) > COMPLETE).tolist():
            chunk_rank.setdefault(sentence, len(chunks))
    if not chunk_rank or not (subject or rest):
        return []
    sentences, features = _features(question, subject, rest, chunk_rank, searcher)
    log_odds = features @ WEIGHTS
    odds: list[float] = np.exp(log_odds - log_odds.max(initial=-math.inf)).tolist()
    own = searcher.shares(rest or subject)
    best: dict[int, float] = {}
    for sentence, value in zip(sentences, odds, strict=True):
        if (reply := _reply(sentence, searcher)) is not None:
            best[reply] = max(value, best.get(reply, 0.0))
    ranked = (RankedSentence(s, value, float(own[s])) for s, value in best.items())
    return sorted(ranked, key=lambda ranked: (-ranked.score, ranked.sentence))


def _features(
    question: Question,
    subject: dict[str, float],
    rest: dict[str, float],
    chunk_rank: Mapping[int, int],
    searcher: Searcher,
) -> tuple[list[int], Floats]:
    """Return the sentences that may answer, and of each how like the question it is (BM25), how much of the question it
    holds with those before it, how good its chunk is, how much of a walk from what is named is on it, how well it gives
    what is asked for, how much it holds of what is asked of what is named, and whether that is nothing.
    """
    sentences, asked = sorted(chunk_rank), rest or subject
    own = searcher.shares(asked)
    padded = np.pad(own, 1)
    near = np.maximum(own, np.maximum(padded[:-2], padded[2:]))
    context = _shares_in_context(subject | rest, sentences, searcher)
    walk = sentence_graph.walk_among(question.text, sentences, searcher.index)
    walked: Floats = np.sqrt(scaled(walk))
    names = _named_terms(question, searcher)
    read = context >= MIN_SHARE
    read &= _in_documents_on(names, sentences, searcher)
    read |= walked >= MIN_WALKED
    known = sum(weight for term, weight in asked.items() if searcher.frequency(term))
    if 2 * known < sum(asked.values()):  # what is never heard of is not said in other words either
        read &= near[sentences] >= MIN_SHARE
    text = searcher.passages.text
    kept = [i for i in np.flatnonzero(read).tolist() if states(text(sentences[i]))]
    context, walked, sentences = context[kept], walked[kept], [sentences[i] for i in kept]
    terms = set(subject | rest)
    if rest:
        gives = _gives_kind(question, sentences, searcher)
        # the name of who speaks tells the conversation, not the sentence
        terms.difference_update(*_speakers_with(subject, sentences, searcher).values())
    else:
        gives = _says_what(subject, sentences, searcher)
    like = searcher.likeness(terms)
    ranks = [1 / math.sqrt(1 + chunk_rank[s]) for s in sentences]
    off_point = (near[sentences] <= 0) & (gives <= 0)
    columns = (like[sentences], context, ranks, walked, gives, own[sentences], off_point)
    return sentences, np.stack(columns, axis=1, dtype=np.float32, casting="unsafe")


def _in_documents_on(names: set[str], sentences: Sequence[int], searcher: Searcher) -> Bools:
    """Tell which sentences are of documents that have a word of some names, or in which who has it speaks; all where
    no document does.
    """
    passages = searcher.passages
    named = list(_speakers_with(names, sentences, searcher))
    having = (searcher.shares(dict.fromkeys(names, 1.0)) > 0) | np.isin(passages.speaker, named)
    documents = passages.document[np.flatnonzero(having)]
    inside = np.isin(passages.document[list(sentences)], documents)
    return inside if inside.any() else ~inside


def chunk_ranks(chunks: Sequence[Chunk], searcher: Searcher) -> dict[int, int]:
    """Return the sentences of chunks, each with the place of the first chunk that holds it."""
    ranks: dict[int, int] = {}
    for rank, chunk in enumerate(chunks):
        for sentence in searcher.passages.within(chunk):
            ranks.setdefault(sentence, rank)
    return ranks


def _reply(sentence: int, searcher: Searcher) -> int | None:
    """Return a sentence itself, and in place of one that asks the reply to it, None where there is none."""
    passages = searcher.passages
    for s in range(sentence, min(sentence + 1 + REPLY_WITHIN, len(passages))):
        if passages.document[s] != passages.document[sentence]:
            return None
        text = passages.text(s)
        if states(text) and not text.rstrip(CLOSING).endswith(ASKS):
            return s
    return None


# What a question is about, and what it asks


def split_question(
    question: Question, named: Collection[int], searcher: Searcher
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the words of what a question names, and the others that say what it asks, with their weights.

    Words that say too little to ask for anything, as what happened, count where nothing is named, or where a date, a
    number, a person or a place is asked for.
    """
    index = searcher.index
    every_term = frozenset(question.terms)
    subject = _named_terms(question, searcher)
    names = frozenset(subject)
    for entity in map(index.entities.__getitem__, named):
        forms = (frozenset(searcher.terms_of(form, question)) for form in (entity.name, *entity.aliases))
        form = next((form for form in forms if form and form <= every_term), frozenset[str]())
        # beside a name, a term is what is asked of it: how somebody became an astronaut
        if entity.type != "concept" or not names or names & form:
            subject |= form
    others = [term for term in searcher.words(question.focus) if term not in subject]
    rest = [term for term in others if term not in _VAGUE]
    if not rest and (question.wants or not subject):
        rest = others
    if question.language not in index.languages:  # a name has taken in words around it: "Bankとは"
        subject = {term for term in subject if searcher.frequency(term)}
    if not subject and not rest:
        rest = searcher.words(question.terms)
    return {t: searcher.weight(t) for t in sorted(subject)}, {t: searcher.weight(t) for t in rest}


def _named_terms(question: Question, searcher: Searcher) -> set[str]:
    """Return the words of the names in a question."""
    keys = {name_key(term) for name in question.names for term in search_terms(name, searcher.index)}
    return {term for term in question.terms if name_key(term) in keys}


def _shares_in_context(weights: Mapping[str, float], sentences: Sequence[int], searcher: Searcher) -> Floats:
    """Return for each sentence how much of the terms it is about, 0 to 1.

    A sentence is about what it says, about who says it and, less with each sentence, what those before it are about.
    """
    about = np.zeros(len(sentences), np.float32)
    passages, weight = searcher.passages, np.array(list(weights.values()), np.float32)
    own = np.stack([searcher.shares({term: 1.0})[list(sentences)] for term in weights])
    speakers, documents = passages.speaker[list(sentences)], passages.document[list(sentences)]
    for speaker, terms in _speakers_with(weights, sentences, searcher).items():
        named = np.array([term in terms for term in weights])[:, None]
        with_them = CARRY_FACTOR * np.isin(documents, documents[speakers == speaker])
        own = np.maximum(own, named * np.maximum(with_them, speakers == speaker))
    carried = np.zeros(len(weight), np.float32)
    for i, sentence in enumerate(sentences):
        follows = i > 0 and documents[i - 1] == documents[i] and sentences[i - 1] == sentence - 1
        carried = np.maximum(carried * CARRY_FACTOR * follows, own[:, i])
        about[i] = carried @ weight
    return about / weight.sum()


def _speakers_with(
    terms: Collection[str], sentences: Sequence[int], searcher: Searcher
) -> dict[int, set[str]]:
    """Return who says any of some sentences and has a name with one of the terms, with those terms."""
    speakers: list[int] = np.unique(searcher.passages.speaker[list(sentences)]).tolist()
    names = ((s, search_terms(searcher.passages.names[s], searcher.index)) for s in speakers if s >= 0)
    return {s: named for s, words in names if (named := set(words).intersection(terms))}


# How well sentences answer


def _gives_kind(question: Question, sentences: Sequence[int], searcher: Searcher) -> Floats:
    """Return how well each sentence gives a thing of the kind that is asked for, 0 to 1."""
    terms = frozenset(search_terms(question.text, searcher.index))
    best = np.zeros(len(sentences), np.float32)
    for i, sentence in enumerate(sentences):
        for _, weight in candidates(question, sentence, terms, searcher):
            best[i] = max(best[i], weight)
    return best


def _says_what(subject: Mapping[str, float], sentences: Sequence[int], searcher: Searcher) -> Floats:
    """Return how well each sentence says what the subject is, 0 to 1."""
    best = np.zeros(len(sentences), np.float32)
    for i, sentence in enumerate(sentences):
        text = searcher.passages.text(sentence)
        first: re.Match[str] | None = None
        for word in WORD.finditer(text):
            if subject.keys().isdisjoint(search_terms(word.group(), searcher.index)):
                continue
            first = first or word
            if says := _SAYS_WHAT.match(text, word.end()):
                defines = says["what"] and first.start() <= len("The ")
                best[i] = max(best[i], 1 if defines else SAYS_SOMETHING)
        if first and searcher.passages.opens_document(sentence):
            best[i] += 1
    return best


# Short answers

NEAR = 8  # unexplained
"""Words between a candidate and the question's words at which it counts half."""
PLAIN = 0.6  # unexplained
"""What a common noun counts beside a name."""

_NUMBER = re.compile(
    r"(?:[£$€¥]\s?)?\d[\d,.]*\d|(?:[£$€¥]\s?)?\d|[一二两三四五六七八九十百千万萬亿億]+(?=[个名位次年岁公里米元分钟吨人部集座])|"
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|"
    r"thousand|million|half|twice|once)\b",
    re.IGNORECASE,
)
_JOINED = re.compile(r"[A-Za-zÀ-ʯ]{1,20}-?$")
_UNIT = re.compile(
    r"\s?(?:%|per cent|percent|(?:hundred|thousand|million|billion)\b(?:\s[^\W\d_A-Z]{3,})?|[^\W\d_A-Z]{2,}\b"
    r"|[万亿千百]*[个名位次年岁公里米元分钟吨人部集座]{0,2})"
)
_KINDS = {"person": "person", "place": "location"}
_WHERE = re.compile(rf"\b(?:in|at|near|from|of) (?:the )?([^\W\d_{SMALL}][\w'’-]+)")
"""What is taken for a place where nobody has told the kinds of names."""


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
        case "number":
            yield from ((start, end, 1.0) for start, end in _numbers(text))
        case "" if not question.asks_name:
            return  # what is asked for is seldom a name, and the sentence says it
        case "place" if not searcher.passages.names:
            yield from ((*m.span(1), PLAIN) for m in _WHERE.finditer(text))
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
