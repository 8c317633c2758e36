"""Which sentences of a window answer a question: about what it names, holding the rest of it, giving what it wants.

What a question names ("the Quenda Weir") says where to look, and the rest ("rebuilt", "how many") which sentence there.
A sentence seldom says again what it is about: it is known from the title of its document and the sentences before it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from conspectus.models.extractive.search import BESIDE, RankedSentence, Searcher
from conspectus.rows import Chunk
from conspectus.text.mentions import date_spans, find_dates
from conspectus.text.question import Question
from conspectus.text.sentences import ASKS, CLOSING
from conspectus.text.types import CURRENCIES
from conspectus.text.words import CJK, VAGUE, WORD, fold, name_key, search_terms, stems

Floats = np.ndarray[Any, np.dtype[np.float32]]

SUBJECT_WEIGHT, REST_WEIGHT, ANSWER_WEIGHT, CHUNK_RANK_WEIGHT = 0.2, 0.45, 0.35, 0.1  # unexplained
"""What it counts to be about what is named, to say the rest, to give what is asked for, to stand in the best chunk."""
OTHER_SUBJECT_FACTOR = 0.6  # unexplained
"""What is left of what a sentence says and gives where it is about something else."""
CARRY_FACTOR = 0.8  # unexplained
"""What is left, one sentence on, of being about something."""
TITLE_SHARE = 0.9  # unexplained
"""How much a sentence is about what the title of its document names."""
MIN_REST_SHARE = 0.3  # unexplained
"""Least share of the rest of a question that a sentence and its neighbour must hold."""
MIN_SUBJECT_SHARE = 0.4  # unexplained
"""How much of what is named a sentence must be about to be read though it holds less, but for words never heard of."""
UNREADABLE_FACTOR = 0.8  # unexplained
"""What is left of the worth of a sentence that does not read alone at all."""
UNREADABLE_DEFINITION_FACTOR = 0.2  # unexplained
"""The same where nothing is asked but to be told of something: there most sentences that name it say little of it."""
QUESTION_FACTOR = 0.5  # unexplained
"""What is left of the worth of a question: it answers none."""
COMPLETE = 0.999
"""The share of what is named from which on all of it is, in floats."""
NOT_OPPOSED_FACTOR = 0.5  # unexplained
"""What is left of what a sentence says that does not say "against" where the question does."""
OTHER_OFFICE_FACTOR = 0.5  # unexplained
"""What is left of a sentence that has the words asked for in compounds alone: a vice-chairman is not the chairman."""
OTHER_DATE_FACTOR = 0.3  # unexplained
"""What is left of the worth of a sentence whose dates are others than the one that a question names."""
_COMPOUND = re.compile(r"\w+(?:-\w+)+")
_PART_OF_DATE = re.compile(r"\d+|[^\W\d_]+")
_OPPOSITION = re.compile(r"\b(?:against|not|never|without|n['’]t)\b|反对|不|没", re.IGNORECASE)
_SAYS_WHAT = re.compile(
    r"(?:['’]s)?[\"”’»)]*(?:\s*\(|,\s+(?!said|says|and|or|but|in|on|at|for|to|with|as|by)[a-z]|"
    r"\s+(?:is|was|are|were|means|became|has been)\b|(?:（[^（）]*）)?[，,]?[是为乃指])"
)
"""What stands behind a name where it is said what it is."""
_VAGUE = stems(VAGUE)
_OF_TIME = stems(["date", "day", "month", "year"])
_OF_MONEY = stems(["cost", "costs", "price", "priced"])
"""What an amount of money seldom says of itself."""
_TOGETHER = stems(
    "connect connected connection link linked tie tied relationship together common share both "
    "agree disagree differ argue quarrel dispute discuss talk compare".split()
)
"""What asks how several things that are named go together: what names them all says it."""


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
    place: dict[int, int] = {}
    for rank, chunk in enumerate(chunks):
        for sentence in searcher.passages.within(chunk):
            place.setdefault(sentence, rank)
    if (
        named and subject and not rest
    ):  # the best chunks may be those where it speaks most, and is never spoken of
        for sentence in np.flatnonzero(searcher.shares(subject) > COMPLETE).tolist():
            place.setdefault(sentence, len(chunks))
    rows = sorted(place)
    if not rows or not (subject or rest):
        return []
    about = subject_share(subject, rows, searcher)
    fits = (
        rank_answers(question, rest, about, rows, searcher) if rest else rank_definitions(subject, rows, searcher)
    )
    floor = UNREADABLE_FACTOR if rest else UNREADABLE_DEFINITION_FACTOR
    dates = list(_dates(question.text, question.language))
    found: list[RankedSentence] = []
    for i, fit, share in fits:
        score = SUBJECT_WEIGHT * float(about[i]) + fit + CHUNK_RANK_WEIGHT / (1 + place[rows[i]])
        worth = floor + (1 - floor) * searcher.passages.quality(rows[i])
        if searcher.passages.text(rows[i]).rstrip(CLOSING).endswith(ASKS):
            worth *= QUESTION_FACTOR
        if dates and _is_of_other_dates(dates, rows[i], searcher):
            worth *= OTHER_DATE_FACTOR
        found.append(RankedSentence(rows[i], score * worth, share))
    return sorted(found, key=lambda f: (-f.score, f.sentence))


def _dates(text: str, language: str) -> Iterator[frozenset[str]]:
    """Yield the dates of a text, each as its numbers and names."""
    return (frozenset(_PART_OF_DATE.findall(fold(date))) for date in find_dates(text, language))


def _is_of_other_dates(dates: Sequence[frozenset[str]], sentence: int, searcher: Searcher) -> bool:
    """Tell whether a sentence gives dates, and none that may be one of these: 2 February is one of February 2020."""
    own = list(_dates(searcher.passages.text(sentence), searcher.passages.language(sentence)))
    return bool(own) and not any(date <= other or other <= date for date in dates for other in own)


def asks_for_definition(question: Question, named: Collection[int], searcher: Searcher) -> bool:
    """Whether nothing is asked but to be told of what is named."""
    subject, rest = split_question(question, named, searcher)
    return bool(subject) and not rest


def rank_answers(
    question: Question, rest: dict[str, float], about: Floats, rows: Sequence[int], searcher: Searcher
) -> Iterator[tuple[int, float, float]]:
    """Yield the sentences that say something of what is asked: their places in `rows`, how well, and what they hold."""
    around, own = rest_share(rest, rows, searcher)
    known = sum(weight for term, weight in rest.items() if searcher.frequency(term))
    mostly_unknown = 2 * known < sum(rest.values())
    asked = frozenset(search_terms(question.text, searcher.index))
    named = bool(about.any())
    opposed = bool(_OPPOSITION.search(question.text))
    is_person = question.wants == "person" and not _COMPOUND.search(question.text)
    for i, sentence in enumerate(rows):
        if around[i] >= MIN_REST_SHARE or (about[i] >= MIN_SUBJECT_SHARE and not mostly_unknown):
            text = searcher.passages.text(sentence)
            offers = candidates(question, sentence, asked, searcher) if question.wants else ()
            fit = REST_WEIGHT * float(around[i]) + ANSWER_WEIGHT * max(
                (weight for _, weight in offers), default=0.0
            )
            if is_person and _is_compound(text, rest, searcher):
                fit *= OTHER_OFFICE_FACTOR
            if opposed and not _OPPOSITION.search(text):
                fit *= NOT_OPPOSED_FACTOR
            here = OTHER_SUBJECT_FACTOR + (1 - OTHER_SUBJECT_FACTOR) * float(about[i]) if named else 1.0
            yield i, fit * here, float(own[i])


def _is_compound(text: str, rest: Mapping[str, float], searcher: Searcher) -> bool:
    """Tell whether a sentence has the words that are wanted in compounds with a hyphen alone."""
    if not _COMPOUND.search(text):
        return False
    apart = search_terms(_COMPOUND.sub(" ", text), searcher.index)
    return not rest.keys().isdisjoint(search_terms(text, searcher.index)) and rest.keys().isdisjoint(apart)


def rank_definitions(
    subject: dict[str, float], rows: Sequence[int], searcher: Searcher
) -> Iterator[tuple[int, float, float]]:
    """Yield the sentences that name what is to be told of, as `rank_answers` does; best where they say what it is."""
    share = searcher.shares(subject)[list(rows)]
    for i in np.flatnonzero(share >= MIN_SUBJECT_SHARE).tolist():
        text = searcher.passages.text(rows[i])
        ends = (
            m.end() for m in WORD.finditer(text) if subject.keys() & set(search_terms(m.group(), searcher.index))
        )
        says = any(_SAYS_WHAT.match(text, end) for end in ends)
        yield i, REST_WEIGHT * float(share[i]) + ANSWER_WEIGHT * says, float(share[i])


def split_question(
    question: Question, named: Collection[int], searcher: Searcher
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the words of what a question names, and the others that say what it asks, with their weights.

    Words that say too little to ask for anything, as what happened, count where nothing is named, or where a date, a
    number, a person or a place is asked for.
    """
    every = frozenset(question.terms)
    said = {name_key(t) for name in question.names for t in search_terms(name, searcher.index)}
    subject = {t for t in every if name_key(t) in said}
    several = 0
    for entity in named:
        row = searcher.index.entities[entity]
        forms = (frozenset(search_terms(form, searcher.index)) for form in (row.name, *row.aliases))
        if words := next((form for form in forms if form and form <= every), None):
            subject |= words
            several += 1
    kind = (
        _OF_TIME if question.wants == "date" else frozenset[str]()
    )  # "on what date": no date says that it is one
    kind |= _OF_MONEY if question.wants == "number" else frozenset[str]()
    if max(several, _runs_of_names(question)) > 1:
        kind |= _TOGETHER
    beside = [t for t in searcher.words(question.focus) if t not in subject | kind]
    joined = {
        t for run in question.runs if len(run) > 1 for word in run for t in search_terms(word, searcher.index)
    }
    rest = [t for t in beside if t not in _VAGUE or t in joined]  # a line says little, a bottling line much
    if not rest and (question.wants or not subject):
        rest = beside
    if not subject and not rest:
        rest = searcher.words(question.terms)
    return {t: searcher.weight(t) for t in sorted(subject)}, {t: searcher.weight(t) for t in rest}


def _runs_of_names(question: Question) -> int:
    """Return how many names of one or more words stand apart in a question."""
    names = set(question.written_names)
    inside = [word.strip(CLOSING + ",;:?") in names for word in question.text.split()]
    return sum(is_one and not before for before, is_one in pairwise([False, *inside]))


def subject_share(subject: Mapping[str, float], rows: Sequence[int], searcher: Searcher) -> Floats:
    """Return for each sentence how much of what is named it is about, 0 to 1."""
    if not subject:
        return np.zeros(len(rows), np.float32)
    weights = np.array(list(subject.values()), np.float32)
    held = np.stack([searcher.shares({term: 1.0})[list(rows)] for term in subject])
    titles: dict[int, Floats] = {}
    carried = np.zeros(len(weights), np.float32)
    about = np.zeros(len(rows), np.float32)
    before, at = -2, -1
    for i, sentence in enumerate(rows):
        document = int(searcher.passages.document[sentence])
        if document not in titles:
            said = set(search_terms(searcher.index.documents[document].title, searcher.index))
            titles[document] = np.array([TITLE_SHARE * (t in said) for t in subject], np.float32)
        carried = carried * CARRY_FACTOR if document == at and sentence == before + 1 else np.zeros_like(carried)
        carried = np.maximum(np.maximum(carried, titles[document]), held[:, i])
        about[i] = carried @ weights
        before, at = sentence, document
    return about / weights.sum()


def rest_share(rest: dict[str, float], rows: Sequence[int], searcher: Searcher) -> tuple[Floats, Floats]:
    """Return for each sentence the share of the rest that it and its neighbours hold, and that it holds itself."""
    own = searcher.shares(rest)
    around: Floats = np.pad(own, 1)
    places = list(rows)
    beside: Floats = np.maximum(around[:-2], around[2:])
    return (own + np.float32(BESIDE) * beside)[places], own[places]


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
_UNIT = re.compile(
    r"\s?(?:%|per cent|percent|(?:hundred|thousand|million|billion)\b(?:\s[^\W\d_A-Z]{3,})?|[^\W\d_A-Z]{2,}\b"
    r"|[万亿千百]*[个名位次年岁公里米元分钟吨人部集座]{0,2})"
)
_ASKS_MONEY = re.compile(
    r"\b(?:cost|price|pa(?:y|id)|earn|worth|spen[dt]|charge|budget|salary|wages?)|多少钱|价格|费用", re.IGNORECASE
)
_CURRENCY = re.compile(
    rf"[£$€¥]|\b(?:{'|'.join(sorted(CURRENCIES))})\b|"
    r"\b(?:dollar|euro|pound|cent|pence|yen|yuan|kron[ae]r?|franc|rupee)|[元块]"
)
NO_MONEY = 0.3  # unexplained
"""What a number that is no amount of money counts where money is asked for."""
_KINDS = {"person": "person", "place": "location"}


def candidates(
    question: Question, sentence: int, asked: frozenset[str], searcher: Searcher
) -> Iterator[tuple[str, float]]:
    """Yield what may be the answer of a sentence, and what it counts, at most 1: the more, the nearer to words `asked`.

    What says nothing beside the question's own words is no answer.
    """
    text = searcher.passages.text(sentence)
    places: Sequence[int] | None = None
    for start, end, weight in _of_kind(question, sentence, text, searcher):
        answer = text[start:end].strip(" ,.;:()")
        if answer and not asked.issuperset(search_terms(answer, searcher.index)):
            places = _places(text, asked, searcher) if places is None else places
            gap = min((abs(len(text[:start].split()) - place) for place in places), default=2 * NEAR)
            yield answer, weight / (1 + gap / NEAR)


def _of_kind(
    question: Question, sentence: int, text: str, searcher: Searcher
) -> Iterator[tuple[int, int, float]]:
    """Yield where things of the kind that is asked for stand in a sentence, and what they count."""
    match question.wants:
        case "date":
            yield from ((start, end, 1.0) for start, end in date_spans(text))
        case "number":
            dates = list(date_spans(text))
            money = bool(_ASKS_MONEY.search(question.text))
            for m in _NUMBER.finditer(text):
                if not any(start <= m.start() < end for start, end in dates):
                    unit = _UNIT.match(text, m.end())
                    end = unit.end() if unit else m.end()
                    plain = money and not _CURRENCY.search(text, max(0, m.start() - 5), end + 12)
                    yield m.start(), end, NO_MONEY if plain else 1.0
        case "" if CJK.search(question.text):
            return  # what is asked for is seldom a name, and the clause says it
        case wants:
            passages, kind = searcher.passages, _KINDS.get(wants)
            for entity in dict.fromkeys(passages.mentioned(sentence)):
                name, type_ = passages.names[entity], passages.types[entity]
                start = fold(text).find(fold(name))
                if start < 0 or type_ == "date" or (kind and type_ != kind):
                    continue
                yield start, start + len(name), 1.0 if kind or name[:1].isupper() else PLAIN


def _places(text: str, asked: frozenset[str], searcher: Searcher) -> Sequence[int]:
    """Return the places, in words, of the question's words in a sentence."""
    words = ((m, search_terms(m.group(), searcher.index)) for m in WORD.finditer(text))
    return [len(text[: m.start()].split()) for m, said in words if asked.intersection(said)]
