"""Find the sentences of the corpus that are relevant to a question, and score them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from copy import copy
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from conspectus.algorithms.ranking import Floats, Ints, Postings, idf, positions
from conspectus.index import Index, all_speakers
from conspectus.models.extractive.sentence_store import SentenceStore, title_words
from conspectus.name_lookup import entities_with, entity_of_key, search_terms
from conspectus.rows import Entity, Span, column
from conspectus.text.question import Question, other_forms, read_question
from conspectus.text.sentences import states
from conspectus.text.words import PAIRED, UNSPACED, name_key, stem, terms

SHARE = 0.34
"""Least share, by squared IDF, of a question's content in a sentence; its rarest known term alone suffices. With 0.17,
61 % of answers on mathematics quote a page that answers, not 52 %, but 13.5 % of the quotations do, not 14.7."""
MANY = 60
"""A sentence is left out if this many others contain more of the question; with 30 or 120, hardly anything changes."""
BESIDE = 0.35
"""Weight of what a neighbouring sentence contains, for a sentence that contains less. With 0, 48 % of answers on
mathematics quote a page that answers, not 52 %."""
QUESTIONS = 64
"""Questions whose sentences are cached, 60 kB each: an answer requests those of up to 20 (DRIFT) repeatedly."""
TERMS = 1 << 12
"""Terms of questions whose numbers are cached: a question has some 10, each looked up by many functions."""
COMPLETE = 0.999
"""The share from which on a sentence contains all of some terms: 1, allowing for rounding."""
_PIECE = re.compile(f"^.$|{UNSPACED.pattern}|{PAIRED.pattern}")
CANDIDATES = 400
"""Most sentences read for one question: millions may have its only word. Half or double changes no measured answer."""


@dataclass(frozen=True)
class RankedSentence:
    """A sentence that is relevant to a question; it contains `share` of the question's content itself, 0 to 1."""

    sentence: int
    score: float
    share: float


Ranked = list[RankedSentence]
"""Sentences that are relevant to a question, the best first."""


class Searcher:
    """Searches the sentences of one index."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.passages = SentenceStore.of_index(index)
        self._postings = Postings.of(index.slices, "sentence_terms")
        self.numbers = lru_cache(TERMS)(self._numbers)
        self._texts = lru_cache(TERMS)(self._read_texts)
        self.find = lru_cache(QUESTIONS)(self._find)
        self.by_community = lru_cache(QUESTIONS)(self._by_community)
        self.rank_among_parts = lru_cache(QUESTIONS)(self._rank_among_parts)
        self._by_other_names: Mapping[str, list[Ints]] = {}

    def form_in(self, question: Question, entity: Entity) -> frozenset[str]:
        """Return the terms of all names of an entity that a question has completely; none if it has none."""
        forms = (frozenset(self.terms_of(n, question)) for n in (entity.name, *entity.aliases))
        return frozenset[str]().union(*(f for f in forms if f <= {*question.terms}))

    def with_other_names(
        self, question: Question, entities: Iterable[Entity], sentences: Iterable[int]
    ) -> Searcher:
        """Return a searcher to which sentences, and those beside them, that mention an entity have the asked name."""
        mentioned: dict[int, list[int]] = {}
        for sentence in sentences:
            for near in range(max(sentence - 1, 0), sentence + 2):
                if near not in mentioned and near < len(self.passages):
                    mentioned[near] = self.passages.mentioned(near)
        searcher = copy(self)
        searcher._by_other_names = named = defaultdict[str, list[Ints]](list)
        for entity in (entity for entity in entities if entity.aliases):
            naming = [n for n, names in mentioned.items() if entity.number in names]
            for term in self.form_in(question, entity):
                named[term].append(np.array(sorted(naming), np.int32))
        return searcher

    def chunk_at(self, span: Span) -> int | None:
        """Return the number of the first chunk that contains a span, None where a chunk boundary cuts it."""
        document = self.index.number_of_document.get(span.document_id, -1)
        numbers = self.index.listed("chunk", document) if document >= 0 else ()
        chunks = map(self.index.chunks.__getitem__, numbers)
        return next((c.number for c in chunks if c.start <= span.start and span.end <= c.end), None)

    # Terms

    def frequency(self, term: str) -> int:
        """Return how many sentences contain a term, in its most frequent form."""
        return max(map(self._postings.frequency, self.numbers(term)), default=0)

    def _numbers(self, term: str) -> set[int]:
        """Return the numbers of those forms of a term (as "left" for "leave") that occur, also without accents."""
        languages = self.index.languages
        related = (form for own in languages for form in other_forms(term, own))
        forms = {term, name_key(term), *related}
        if len(languages) > 1:
            forms.update(stem(term, language) for language in languages)
        numbers = (self.index.number_of_word.get(form, -1) for form in forms)
        return {n for n in numbers if 0 <= n < len(self._postings.starts) - 1}

    def weight(self, term: str) -> float:
        """Return the squared IDF of a term over sentences; a term that the corpus lacks has frequency 0.

        It is squared because the rarest of several terms says best what is asked: common ones do not make up for it.
        """
        return idf(len(self._postings.lengths), self.frequency(term)) ** 2

    def may_know(self, question: Question) -> bool:
        """Return whether the corpus has any of a question's names, and no full name is known only by a namesake."""
        if question.names and not any(map(self._is_known, question.names)):
            return False
        return question.joins_facts or not any(self._has_namesakes(n, question) for n in question.full_names)

    def _has_namesakes(self, name: str, question: Question) -> bool:
        """Return whether the corpus lacks a full name, but has a person of another name with the same first word."""
        first, words = f"{name.split()[0]} ", (t for t in self.terms_of(name, question) if len(t) > 1)
        together = self.holding(dict.fromkeys(words, 1.0))[1].max(initial=0.0) > COMPLETE
        if together or entity_of_key(name_key(name), self.index) is not None:
            return False
        parts = set(name_key(name).split())
        if any(parts <= title_words(title) for title in column(self.index.documents, "title")):
            return False
        people = zip(self.passages.names, self.passages.types, strict=True)
        return any(kind == "person" and person.startswith(first) for person, kind in people)

    def _is_known(self, name: str) -> bool:
        """Return whether the corpus has any word of a name, given by its key; a letter (hepatitis B) is no word."""
        terms = [term for term in search_terms(name, self.index) if len(term) > 1]
        if not terms or entity_of_key(name, self.index) is not None:
            return True
        return any(map(self.frequency, terms))

    def words(self, terms: Sequence[str]) -> list[str]:
        """Return terms without those that occur in no sentence and are letters or, in some scripts, pieces of words."""
        return [t for t in terms if self.frequency(t) or not _PIECE.search(t)]

    def holding(self, weights: dict[str, float]) -> tuple[Ints, Floats]:
        """Return the sentences that contain any of some terms, ascending, and each one's share of the weights."""
        sentences = self._union(texts for term in weights for texts in self._texts(term))
        return sentences, self.shares(weights, sentences)

    def shares(self, weights: dict[str, float], sentences: Ints) -> Floats:
        """Return for each of some sentences which share of the terms' weights it contains, 0 to 1."""
        scores = np.zeros(len(sentences), np.float32)
        for term, weight in weights.items():
            has = np.zeros(len(sentences), bool)
            for texts in (*self._texts(term), *self._by_other_names.get(term, ())):
                has |= positions(texts, sentences) >= 0
            scores[has] += weight
        return scores / (sum(weights.values()) or 1.0)

    def _read_texts(self, term: str) -> list[Ints]:
        """Return for each form of a term that occurs the sentences that contain it, ascending."""
        edges = (self._postings.starts[n : n + 2] for n in sorted(self.numbers(term)))
        return [self._postings.texts[start:end] for start, end in edges if start < end]

    def _union(self, parts: Iterable[Any]) -> Ints:
        """Return the sentences in some arrays, ascending, each once; -1 and the number after the last are ignored."""
        marks = np.zeros(len(self.passages) + 1, bool)
        for sentences in parts:
            marks[sentences] = True
        return np.flatnonzero(marks[:-1])

    def terms_of(self, text: str, question: Question) -> list[str]:
        """Return the terms of a text in a question's language alone: stems of others are rare, and weigh the most."""
        own = question.language
        return terms(text, own) if own in self.index.languages else search_terms(text, self.index)

    def read(self, question: str) -> Question:
        """Read a question: in its own language or, if no document is in that language, in those of the index.

        A question of the latter kind shares only names with documents: other words that the corpus lacks are left out,
        since no sentence can be expected to contain them.
        """
        read = read_question(question, *self.index.languages)
        if read.language in self.index.languages:
            return read_question(question, read.language) if len(self.index.languages) > 1 else read
        expected = frozenset(t for name in read.names for t in search_terms(name, self.index))

        def known(stems: Sequence[str]) -> tuple[str, ...]:
            return tuple(stem for stem in stems if stem in expected or self.frequency(stem))

        focus = known(read.focus)
        if not any(map(self.frequency, focus)):
            return read
        return replace(read, terms=known(read.terms), focus=focus)

    # Sentences

    def _find(self, question: Question, speakers: frozenset[int] = frozenset()) -> Ranked:
        """Return the sentences, of some speakers if given, that contain a good share of a question, the best first."""
        weights = {term: self.weight(term) for term in self.words(question.focus)}
        if not any(map(self.frequency, weights)):
            return []
        weights, min_share = self._expected(weights, question)
        sentences, own = self._likely(weights, speakers)
        around = self.shares_around(weights, sentences, BESIDE)
        often = float(np.partition(around, -MANY)[-MANY]) if len(around) > MANY else 0.0
        passing = np.flatnonzero((own >= min_share - 1e-6) & (around >= often))
        best = passing[np.argsort(-around[passing], kind="stable")][: 2 * CANDIDATES].tolist()
        rows = zip(*(each[best].tolist() for each in (sentences, around, own)), strict=True)
        readable = (row for row in rows if states(self.passages.text(row[0])))
        quality = self.passages.quality
        ranked = [RankedSentence(s, a * (0.3 + 0.7 * quality(s)), o) for s, a, o in readable]
        return sorted(ranked, key=lambda ranked: (-ranked.score, ranked.sentence))[:CANDIDATES]

    def _expected(self, weights: dict[str, float], question: Question) -> tuple[dict[str, float], float]:
        """Return the terms that sentences are expected to contain, and the least share of their weight in each.

        If the corpus knows half of them, names and numbers aside, the others are dropped as another wording. Without
        this, half as many answers from all reports quote a page that answers: 24 and 16, not 52 and 40 % (web pages).
        """
        names = {term for name in question.names for term in search_terms(name, self.index)}
        beside_names = [term for term in weights if term not in names and not term[0].isdigit()]
        if 2 * sum(self.frequency(term) > 0 for term in beside_names) < len(beside_names):
            return weights, SHARE
        known = {term: weight for term, weight in weights.items() if self.frequency(term)}
        return known, min(SHARE, max(known.values()) / sum(known.values()))

    def _likely(self, weights: dict[str, float], speakers: frozenset[int]) -> tuple[Ints, Floats]:
        """Return all sentences, of some speakers if given, that may be among the best, and the share each contains."""
        sentences, own = self.holding(weights)
        if speakers:
            own = own * np.isin(self.passages.speaker[sentences], list(speakers))
        often = np.partition(own, -MANY)[-MANY] if len(own) > MANY else 0.0
        if often > BESIDE:  # a neighbouring sentence adds less
            likely = (own > 0) & (own + BESIDE * (1 - own) > often - 1e-3)
            return sentences[likely], own[likely]
        near = self._union((sentences - 1, sentences, sentences + 1))
        if speakers:
            near = near[np.isin(self.passages.speaker[near], list(speakers))]
        return near, self.shares(weights, near)

    def shares_around(self, weights: dict[str, float], sentences: Ints, beside: float = 1.0) -> Floats:
        """Return for each sentence which share of the terms' weights it or, times `beside`, a neighbour contains."""
        document, last = self.passages.document, len(self.passages) - 1
        sides = np.maximum(sentences - 1, 0), np.minimum(sentences + 1, last)
        near = [(side, beside * (document[side] == document[sentences])) for side in sides]
        around = np.zeros(len(sentences), np.float32)
        for term, weight in weights.items():
            own = self.shares({term: 1.0}, sentences)
            for side, factor in near:
                own = np.maximum(own, factor * self.shares({term: 1.0}, side))
            around += weight * own
        return around / (sum(weights.values()) or 1.0)

    def speakers_named(self, names: Iterable[str]) -> frozenset[int]:
        """Return the entities that speak in the corpus and whose names contain all words of one of some names."""
        keys = filter(None, (name_key(name).split() for name in names))
        named = [entity for key in keys for entity in entities_with(key, self.index)]
        (speakers,) = self.index.looked_up(all_speakers, "graph.speakers")
        return frozenset(named).intersection(speakers[:].tolist())

    def is_titled(self, sentence: int, words: Set[str]) -> bool:
        """Return whether the title of a sentence's document has some words, as a speech's has its speaker's name."""
        return words <= title_words(self.passages.title_of(int(self.passages.document[sentence])))

    # Communities

    def _by_community(self, question: Question, level: int) -> dict[int, Ranked]:
        """Return the sentences relevant to a question, grouped by the community of a level that they mention most."""
        at = frozenset(self.index.numbers_at(level))
        grouped: dict[int, Ranked] = {}
        for ranked in self.find(question):
            holders = map(self.index.communities_of, self.passages.mentioned_near(ranked.sentence))
            if counts := Counter(next((c for c in own if c in at), -1) for own in holders):
                grouped.setdefault(counts.most_common(1)[0][0], []).append(ranked)
        return grouped

    def _rank_among_parts(self, level: int) -> dict[int, int]:
        """Return each report's rank by rating, from 0, among the reports of a level under the same root."""
        seen: Counter[int] = Counter()
        ranks: dict[int, int] = {}
        for report in sorted(self.index.reports_at(level), key=lambda r: (-r.rating, r.number)):
            root = report.community
            while self.index.communities[root].parent >= 0:
                root = self.index.communities[root].parent
            ranks[report.number] = seen[root]
            seen[root] += 1
        return ranks
