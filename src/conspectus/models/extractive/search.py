"""Which sentences of the corpus speak to a question, and how well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from conspectus.algorithms.ranking import Postings, idf
from conspectus.index import Index
from conspectus.models.extractive.sentence_store import SentenceStore
from conspectus.rows import Chunk, Span
from conspectus.text.question import Question, other_forms, read_question
from conspectus.text.words import PAIRED, UNSPACED, entity_keys, name_key, search_terms, terms

Floats = np.ndarray[Any, np.dtype[np.float32]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

SHARE = 0.34  # unexplained
"""Least share of a question's content that a sentence must hold, measured in squared IDF; its rarest known
word will do.
"""
STRICT_SHARE = 0.45  # unexplained
"""The same where most of a question's words, beside names, are never used by the corpus."""
MANY = 60  # unexplained
"""Sentences that hold more of a question than others, from which on the others are left out."""
BESIDE = 0.35  # unexplained
"""What a sentence beside it holds counts for one that holds less."""
QUESTIONS = 64
"""Questions (and follow-up questions) whose sentences are cached: one answer asks for those of at most about 20 (DRIFT:
its primer and 3 steps of 5 follow-ups), often; a question holds up to 400 sentences, some 60 kB.
"""
CANDIDATES = 400  # unexplained
"""Sentences that are read for one question at the most."""
FEEDBACK = 40  # unexplained
"""Best sentences whose further words may add weight to others."""
RELATED = 12  # unexplained
"""Words so gained at the most, what one weighs beside a word of the question, and share that all may add."""
RELATED_WEIGHT, RELATED_MOST = 0.12, 0.3  # unexplained
MIN_GAINED_WEIGHT = 12.0  # unexplained
"""Least weight of a word that may be gained."""


@dataclass(frozen=True)
class RankedSentence:
    """A sentence that speaks to a question; `share` of the question's content it holds itself, 0 to 1."""

    sentence: int
    score: float
    share: float


class Searcher:
    """Finds sentences of one index."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.passages = SentenceStore.of_index(index)
        self._postings = Postings.of(index.arrays, "sentence_terms")
        self.find = lru_cache(QUESTIONS)(self._find)
        self.by_community = lru_cache(QUESTIONS)(self._by_community)
        self.rank_among_parts = lru_cache(QUESTIONS)(self._rank_among_parts)

    @cached_property
    def context(self) -> tuple[Ints, Ints]:
        """Starts and mentions of every sentence; where it has none, of the nearest sentence before it."""
        sizes = np.diff(self.passages.mention_starts)
        document = self.passages.document
        own = np.where(sizes > 0, np.arange(len(sizes)), -1)
        last = np.maximum.accumulate(own) if len(own) else own
        last[(last >= 0) & (document[last] != document)] = -1
        size = np.where(last >= 0, sizes[last], 0)
        starts = np.concatenate(([0], np.cumsum(size)))
        begin = np.where(last >= 0, self.passages.mention_starts[:-1][last], 0)
        take = np.repeat(begin - starts[:-1], size) + np.arange(int(starts[-1]))
        return starts, self.passages.mentions[take].astype(np.int64)

    def weight(self, term: str) -> float:
        """Return the squared IDF of a term over sentences, that of a new word where the corpus never uses it.

        Squared, for of several words the rarest says best what is asked: it is not made up for by common
        ones.
        """
        return idf(len(self._postings.lengths), self.frequency(term)) ** 2

    def read(self, question: str) -> Question:
        """Read a question in the languages of the index; of stems in others than its own those that the corpus has.

        A verb that the corpus has in another form alone stands in that.
        A question in a language that no document is in shares only names with them: of its other words those that the
        corpus lacks are left out, since no sentence can be expected to have them.
        """
        read = read_question(question, *self.index.languages)
        read = replace(read, terms=self._in_use(read.terms, read), focus=self._in_use(read.focus, read))
        foreign = read.language not in self.index.languages
        if len(self.index.languages) < 2 and not foreign:
            return read
        own = frozenset(t for name in read.names for t in search_terms(name, self.index)) if foreign else None
        own = frozenset(terms(question, read.language)) if own is None else own

        def known(stems: Sequence[str]) -> tuple[str, ...]:
            return tuple(stem for stem in stems if stem in own or self.frequency(stem))

        focus = known(read.focus)
        if not foreign:
            return replace(read, terms=known(read.terms), focus=focus)
        if not any(map(self.frequency, focus)):
            return read
        runs = (tuple(word for word in run if known(search_terms(word, self.index))) for run in read.runs)
        return replace(read, terms=known(read.terms), focus=focus, runs=tuple(run for run in runs if run))

    def _in_use(self, stems: Sequence[str], read: Question) -> tuple[str, ...]:
        forms = ((stem, *other_forms(stem, read.language)) for stem in stems)
        return tuple(next(filter(self.frequency, verb), verb[0]) for verb in forms)

    def _terms(self, sentence: int) -> list[str]:
        return terms(self.passages.text(sentence), self.passages.language(sentence))

    def frequency(self, term: str) -> int:
        """Return how many sentences hold a term."""
        number = self.index.number_of_word.get(term)
        in_sentences = number is not None and number + 1 < len(self._postings.starts)
        return self._postings.frequency(number) if number is not None and in_sentences else 0

    def is_known(self, name: str) -> bool:
        """Tell whether the corpus has any word of a name, given by its key."""
        return name in self.index.derive(entity_keys) or any(map(self.frequency, search_terms(name, self.index)))

    def words(self, asked: Sequence[str]) -> list[str]:
        """Return terms without those that the corpus never has of scripts that are searched by pieces of words."""
        return [t for t in asked if self.frequency(t) or not (UNSPACED.search(t) or PAIRED.search(t))]

    def _find(self, question: Question) -> list[RankedSentence]:
        """Return the sentences that hold a good share of what a question asks for, the best first."""
        units = segment_query(question, self)
        total = sum(unit.weight for unit in units)
        if not total or not any(is_known(unit, self) for unit in units):
            return []
        named = {t for name in question.names for t in search_terms(name, self.index)}
        telling = [u for u in units if not named.issuperset(u.terms) and not u.terms[0].isdigit()]
        known = [u for u in telling if is_known(u, self)]
        least = STRICT_SHARE
        if 2 * len(known) >= len(telling):  # the others are another way to say it, and held against no sentence
            units = [u for u in units if is_known(u, self)]
            total = sum(unit.weight for unit in units)
            least = min(SHARE, max(unit.weight for unit in units) / total)
        own, around = self._own_and_around(units, total)
        most = float(np.partition(around, -MANY)[-MANY]) if len(around) > MANY else 0.0
        passing = np.flatnonzero((own >= least - 1e-6) & (around >= most))
        asked = {term for unit in units for term in (*unit.terms, *unit.others)}
        related = self._related(passing[np.argsort(-own[passing], kind="stable")], asked)
        rank = around + np.minimum(self._sum(related) / total, RELATED_MOST)
        best = passing[np.argsort(-rank[passing], kind="stable")][: 2 * CANDIDATES]
        names = set(question.names)
        found: list[RankedSentence] = []
        for i in best.tolist():
            lost = self._lost(i, units, names) / total
            if own[i] - lost >= least - 1e-6:
                score = (float(rank[i]) - lost) * (0.3 + 0.7 * self.passages.quality(i))
                found.append(RankedSentence(i, score, float(own[i]) - lost))
        return sorted(found, key=lambda f: (-f.score, f.sentence))[:CANDIDATES]

    def _own_and_around(self, units: Sequence[QueryPhrase], total: float) -> tuple[Floats, Floats]:
        """Return for each sentence the share of what is asked that it holds, and that share with its neighbours'."""
        own = np.zeros(len(self._postings.lengths), np.float32)
        around = np.zeros_like(own)
        for unit in units:
            share = coverage(unit, self)
            own += unit.weight / total * share
            around += unit.weight / total * np.maximum(share, BESIDE * self._next_to(share))
        return own, around

    def _next_to(self, held: Floats) -> Floats:
        """Return for each sentence what the better one of its neighbours in the document holds."""
        same = self.passages.document[1:] == self.passages.document[:-1]
        beside = np.zeros_like(held)
        beside[1:] = held[:-1] * same
        beside[:-1] = np.maximum(beside[:-1], held[1:] * same)
        return beside

    def _lost(self, sentence: int, units: Sequence[QueryPhrase], asked: set[str]) -> float:
        """Return the weight of what a sentence holds only inside names that the question does not ask about."""
        gone = self._in_names(sentence, asked)
        if not gone:
            return 0.0
        terms = set(self._terms(sentence))
        return sum(unit.weight * (unit.share(terms) - unit.share(terms - gone)) for unit in units)

    def _in_names(self, sentence: int, asked: set[str]) -> set[str]:
        """Return the terms that a sentence holds only inside names that the question does not ask about.

        "Children of Time" says nothing of children, nor Moore's Law of the law.
        """
        names = [self.passages.names[m] for m in self.passages.mentioned(sentence)]
        inside: Counter[str] = Counter()
        for name in names:
            words = name.split()
            if len(words) > 1 and words[0][:1].isupper() and asked.isdisjoint(name_key(name).split()):
                inside.update(search_terms(name, self.index))
        if not inside:
            return set()
        held = Counter(self._terms(sentence))
        return {term for term, count in inside.items() if held[term] <= count}

    def chunk_at(self, span: Span) -> int | None:
        """Return the number of the first chunk that holds a span, None where a chunk's edge cuts it."""
        for chunk in self._chunks.get(span.document_id, ()):
            if chunk.start <= span.start and span.end <= chunk.end:
                return chunk.number
        return None

    @cached_property
    def _chunks(self) -> dict[str, list[Chunk]]:
        chunks: dict[str, list[Chunk]] = {}
        for chunk in self.index.chunks:
            chunks.setdefault(chunk.document_id, []).append(chunk)
        return chunks

    def _sum(self, weights: dict[str, float]) -> Floats:
        """Return for each sentence the weights of the terms that it holds, each counted once."""
        scores = np.zeros(len(self._postings.lengths), np.float32)
        for term, weight in weights.items():
            number = self.index.number_of_word.get(term)
            if number is not None and number + 1 < len(self._postings.starts):
                low, high = self._postings.starts[number], self._postings.starts[number + 1]
                scores[self._postings.texts[low:high]] += weight
        return scores

    def shares(self, weights: dict[str, float]) -> Floats:
        """Return for each sentence the share it holds of the weights of some terms."""
        return self._sum(weights) / (sum(weights.values()) or 1.0)

    def _related(self, best: Ints, asked: set[str]) -> dict[str, float]:
        """Return the words that stand in the best sentences far more than elsewhere, with weights."""
        counts: Counter[str] = Counter()
        distinct = dict.fromkeys(tuple(self._terms(i)) for i in best[: 2 * FEEDBACK].tolist())
        for found in list(distinct)[:FEEDBACK]:  # parts of a work repeat each other
            counts.update(set(found) - asked)
        bound = {
            t: n * self.weight(t) for t, n in counts.items() if n >= 3 and self.weight(t) > MIN_GAINED_WEIGHT
        }
        chosen = sorted(bound, key=lambda t: (-bound[t], t))[:RELATED]
        return {t: RELATED_WEIGHT * self.weight(t) for t in chosen}

    def _by_community(self, question: Question, level: int) -> dict[int, list[RankedSentence]]:
        """Return the sentences that speak to a question, by the community that they mostly mention."""
        starts, mentions = self.context
        owner = self._owner(level)
        grouped: dict[int, list[RankedSentence]] = {}
        for f in self.find(question):
            owners: Counter[int] = Counter(owner[mentions[starts[f.sentence] : starts[f.sentence + 1]]].tolist())
            if owners:
                grouped.setdefault(owners.most_common(1)[0][0], []).append(f)
        return grouped

    def _owner(self, level: int) -> Ints:
        """Return the community of each entity in the view of a level."""
        owner = np.full(len(self.index.entities), -1, np.int64)
        for community in self.index.communities_at(level):
            owner[list(community.entity_numbers)] = community.number
        return owner

    def _rank_among_parts(self, level: int) -> dict[int, int]:
        """Return the rank by rating of each report of a level, among those under the same root."""
        seen: Counter[int] = Counter()
        ranks: dict[int, int] = {}
        for report in sorted(self.index.reports_at(level), key=lambda r: (-r.rating, r.number)):
            root = report.community
            while self.index.communities[root].parent >= 0:
                root = self.index.communities[root].parent
            ranks[report.number] = seen[root]
            seen[root] += 1
        return ranks


MIN_COHESION = 0.2  # unexplained
"""Share of the rarer one's sentences, two at least, from which on two neighbours of a question are one thing."""
COMPLETE = 0.999
"""What is held from which on all of it is, in floats."""


@dataclass(frozen=True)
class QueryPhrase:
    """One thing that a question asks for: its terms, those of another name for it, and how much it counts."""

    terms: tuple[str, ...]
    others: tuple[str, ...]
    weight: float

    def share(self, terms: Collection[str]) -> float:
        """Return how far a sentence with some terms holds it, as `held` does for all sentences."""
        if self.others and all(term in terms for term in self.others):
            return 1.0
        return (sum(term in terms for term in self.terms) / len(self.terms)) ** 2


def segment_query(question: Question, searcher: Searcher) -> list[QueryPhrase]:
    """Return what a question asks for; the focus of its words, each in one unit."""
    units: list[QueryPhrase] = []
    for words in (part for run in question.runs for part in _cohesive(run, searcher)):
        terms = tuple(dict.fromkeys(term for word in words for term in search_terms(word, searcher.index)))
        others = _other_name(" ".join(words), searcher.index)
        units.append(QueryPhrase(terms, others, _phrase_weight(terms, others, searcher)))
    inside = {term for unit in units for term in unit.terms}
    rest = (term for term in searcher.words(question.focus) if term not in inside)
    return units + [QueryPhrase((term,), (), searcher.weight(term)) for term in rest]


def coverage(unit: QueryPhrase, searcher: Searcher) -> Floats:
    """Return for each sentence how far it holds a unit: 1 for all of it, less than in proportion for a part.

    "Remotely surprised" says little of remote work.
    """
    share = searcher.shares(dict.fromkeys(unit.terms, 1.0)) ** 2
    if unit.others:
        share[searcher.shares(dict.fromkeys(unit.others, 1.0)) > COMPLETE] = 1
    return share


def is_known(unit: QueryPhrase, searcher: Searcher) -> bool:
    """Tell whether the corpus ever uses a word of it."""
    return any(map(searcher.frequency, (*unit.terms, *unit.others)))


def is_acronym(short: str, long: str) -> bool:
    """Tell whether a name is made of the letters that the words of another one begin with."""
    words = long.replace("-", " ").split()
    initials = "".join(word[0].upper() for word in words if len(word) > 1)
    return len(short) > 1 and short == initials and short not in words


def _cohesive(run: Sequence[str], searcher: Searcher) -> Iterator[list[str]]:
    """Yield the parts of a run of words in which each often stands with the next, as of "public health care"."""
    part = [run[0]]
    for one, other in pairwise(run):
        if _together(one, other, searcher):
            part.append(other)
            continue
        yield part
        part = [other]
    yield part


def _together(one: str, other: str, searcher: Searcher) -> bool:
    terms = {*search_terms(one, searcher.index), *search_terms(other, searcher.index)}
    both = int(np.count_nonzero(searcher.shares(dict.fromkeys(terms, 1.0)) > COMPLETE))
    return both >= max(2, MIN_COHESION * min(map(searcher.frequency, terms)))


def _other_name(name: str, index: Index) -> tuple[str, ...]:
    """Return the terms of the acronym of a name that the graph joins with it, or of what an acronym stands for."""
    number = index.derive(entity_keys).get(name_key(name))
    if number is None:
        return ()
    own = index.entities[number].name
    for edge in map(index.relationships.__getitem__, index.edges_of(number)):
        other = edge.target if edge.source == own else edge.source
        if is_acronym(own, other) or is_acronym(other, own):
            return tuple(dict.fromkeys(search_terms(other, index)))
    return ()


def _phrase_weight(terms: tuple[str, ...], others: tuple[str, ...], searcher: Searcher) -> float:
    if len(terms) == 1 and not others:
        return searcher.weight(terms[0])
    found = coverage(QueryPhrase(terms, others, 0.0), searcher)
    return idf(len(found), int(np.count_nonzero(found > COMPLETE))) ** 2
