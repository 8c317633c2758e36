"""Which sentences of the corpus speak to a question, and how well."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from conspectus.algorithms.bm25 import Postings, idf
from conspectus.models.extractive.passages import Passages
from conspectus.rows import Chunk, Span
from conspectus.tables import Index
from conspectus.text.question import Question, read_question
from conspectus.text.words import VAGUE, name_key, stems, terms

Floats = np.ndarray[Any, np.dtype[np.float32]]
Ints = np.ndarray[Any, np.dtype[np.int64]]

SHARE = 0.34
"""Least share of a question's content that a sentence must hold, measured in squared IDF; its rarest known
word will do.
"""
STRICT_SHARE = 0.45
"""The same where most of a question's words, beside names, are never used by the corpus."""
CANDIDATES = 400
"""Sentences that are read for one question at the most."""
FEEDBACK = 40
"""Best sentences whose further words may add weight to others."""
RELATED = 12
"""Words so gained at the most, and what one of them weighs beside a word of the question."""
RELATED_WEIGHT = 0.12
TELLING = 12.0
"""Least weight of a word that may be gained."""
LEAST = 0.3
"""Least share of what is asked that a sentence and its neighbour must hold; half, where it is named there."""
NAMED = 0.25
"""What a sentence gains by naming it."""
GIVES = 0.2
"""What it gains by giving a number, a person, a place where one is asked for."""
PLACE = 0.3
"""What it gains by standing in the best chunk; half of it in the second, and so on."""
BESIDE = 0.35
"""What the content held by its better neighbour counts beside its own."""
_VAGUE = stems(VAGUE)
_OF_TIME = stems(["date", "day", "month", "year"])
_FIGURE = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|twenty|thirty|forty|fifty|hundred|"
    r"thousand|million|half|twice|once)\b|[一二两三四五六七八九十百千万萬亿億]",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Found:
    """A sentence that speaks to a question; `share` of the question's content it holds itself, 0 to 1."""

    sentence: int
    score: float
    share: float


class Searcher:
    """Finds sentences of one index."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.passages = Passages.of_index(index)
        self._postings = Postings.of(index.arrays, "sentence_terms")
        self._found: dict[str, list[Found]] = {}
        self._by_community: dict[tuple[str, int], dict[int, list[Found]]] = {}
        self.rated: dict[tuple[str, int], float] = {}
        """How relevant a report was found for a question, by the question and the report's number."""

    @cached_property
    def _number(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.index.words)}

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
        return idf(len(self._postings.lengths), self._frequency(term)) ** 2

    def read(self, question: str) -> Question:
        """Read a question in the languages of the index."""
        return read_question(question, *self.index.languages)

    def _terms(self, sentence: int) -> list[str]:
        return terms(self.passages.text(sentence), self.passages.language(sentence))

    def _frequency(self, term: str) -> int:
        number = self._number.get(term)
        in_sentences = number is not None and number + 1 < len(self._postings.starts)
        return self._postings.frequency(number) if number is not None and in_sentences else 0

    def _words(self, asked: Sequence[str]) -> list[str]:
        """Return terms without those of unspaced scripts that the corpus never has: most are cut across words."""
        return [term for term in asked if term.isascii() or self._frequency(term)]

    def find(self, question: Question) -> list[Found]:
        """Return the sentences that hold a good share of what a question asks for, the best first."""
        if question.text not in self._found:
            self._found[question.text] = self._find(question)
        return self._found[question.text]

    def _find(self, question: Question) -> list[Found]:
        weights = {term: self.weight(term) for term in self._words(question.focus)}
        total = sum(weights.values())
        if not total or not any(map(self._frequency, weights)):
            return []
        named = {t for name in question.names for t in self.index.terms(name)}
        telling = [t for t in weights if t not in named and not t.isdigit()]
        known = [t for t in telling if self._frequency(t)]
        enough = STRICT_SHARE
        if 2 * len(known) >= len(
            telling
        ):  # the others are another way to say it, and cannot be held against a sentence
            weights = {t: w for t, w in weights.items() if self._frequency(t)}
            total = sum(weights.values())
            enough = min(SHARE, max(weights.values(), default=total) / total)
        share = self._sum(weights) / total
        passing = np.flatnonzero(share >= enough - 1e-6)
        if not len(passing):
            return []
        rank = share + self._sum(self._related(passing[np.argsort(-share[passing], kind="stable")], weights)) / total
        best = passing[np.argsort(-rank[passing], kind="stable")][: 2 * CANDIDATES]
        asked = set(question.names)
        found: list[Found] = []
        for i in best.tolist():
            lost = math.fsum(weights[term] for term in self._in_names(i, asked) & weights.keys()) / total
            if share[i] - lost >= enough - 1e-6:
                score = (float(rank[i]) - lost) * (0.3 + 0.7 * self.passages.quality(i))
                found.append(Found(i, score, float(share[i]) - lost))
        return sorted(found, key=lambda f: (-f.score, f.sentence))[:CANDIDATES]

    def _in_names(self, sentence: int, asked: set[str]) -> set[str]:
        """Return the terms that a sentence holds only inside names that the question does not ask about.

        "Children of Time" says nothing of children, nor Moore's Law of the law.
        """
        names = [self.passages.names[m] for m in self.passages.mentioned(sentence)]
        inside: Counter[str] = Counter()
        for name in names:
            words = name.split()
            if len(words) > 1 and words[0][:1].isupper() and asked.isdisjoint(name_key(name).split()):
                inside.update(self.index.terms(name))
        if not inside:
            return set()
        held = Counter(self._terms(sentence))
        return {term for term, count in inside.items() if held[term] <= count}

    def near(self, question: Question, chunks: Sequence[Chunk], named: set[int]) -> list[Found]:
        """Return the sentences of the given chunks (best first) that speak to a question, the best first.

        A sentence counts by what it holds of the question itself and what its neighbours hold, by the place
        of its chunk, and where it names what is asked about or gives the kind of thing that is asked for.
        """
        share = self._asked(question, named)
        around = np.zeros(len(share) + 2, np.float32)
        around[1:-1] = share
        beside = np.maximum(around[:-2], around[2:])
        place: dict[int, int] = {}
        for rank, chunk in enumerate(chunks):
            for sentence in self.passages.within(chunk):
                place.setdefault(sentence, rank)
        found: list[Found] = []
        naming = self._naming(named)
        enough_of_subject = LEAST if self._strange(question, named) else LEAST / 2
        for i, rank in sorted(place.items()):
            mentioned = self.passages.mentioned(i)
            about = bool(naming[i]) or not named.isdisjoint(mentioned)
            held = float(share[i]) + BESIDE * float(beside[i])
            if held >= (enough_of_subject if about else LEAST):
                fits = self._gives(question.wants, i, mentioned)
                gain = NAMED * about + GIVES * fits + PLACE / (1 + rank)
                found.append(Found(i, (held + gain) * (0.5 + 0.5 * self.passages.quality(i)), float(share[i])))
        return sorted(found, key=lambda f: (-f.score, f.sentence))

    def _asked(self, question: Question, named: set[int]) -> Floats:
        """Return for each sentence the share it holds of what is asked."""
        weights = {term: self.weight(term) for term in self._asked_terms(question, named)}
        return self._sum(weights) / (sum(weights.values()) or 1.0)

    def _asked_terms(self, question: Question, named: set[int]) -> list[str]:
        """Return what is asked beside the names of what it is asked about; all, where there are but names.

        Words that say too little to ask for anything, as what happened, count where there are no others.
        """
        names = {t for n in named for t in self.index.terms(self.passages.names[n])}
        kind = _OF_TIME if question.wants == "date" else frozenset[str]()  # "on what date": no date says that it is one
        beside = [t for t in self._words(question.focus) if t not in names | kind]
        every = [t for t in self._words(question.focus or question.terms) if t not in kind]
        return next(
            (kept for words in (beside, every) if (kept := [t for t in words if t not in _VAGUE])), beside or every
        )

    def _strange(self, question: Question, named: set[int]) -> bool:
        """Tell whether most of what is asked is in words that the corpus never uses."""
        weights = {term: self.weight(term) for term in self._asked_terms(question, named)}
        known = sum(weight for term, weight in weights.items() if self._frequency(term))
        return 2 * known < sum(weights.values())

    def _naming(self, named: set[int]) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Tell which sentences hold all words of a name of several words, however they are written."""
        naming = np.zeros(len(self._postings.lengths), bool)
        for entity in named:
            words = set(self.index.terms(self.passages.names[entity]))
            if len(words) > 1:
                naming |= self._sum(dict.fromkeys(words, 1.0)) == len(words)
        return naming

    def _gives(self, wants: str, sentence: int, mentioned: list[int]) -> bool:
        if wants in ("number", "date"):
            return bool(_FIGURE.search(self.passages.text(sentence)))
        kind = {"person": "person", "place": "location"}.get(wants)
        return kind is not None and any(self.passages.types[m] == kind for m in mentioned)

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
            number = self._number.get(term)
            if number is not None and number + 1 < len(self._postings.starts):
                low, high = self._postings.starts[number], self._postings.starts[number + 1]
                scores[self._postings.texts[low:high]] += weight
        return scores

    def _related(self, best: Ints, weights: dict[str, float]) -> dict[str, float]:
        """Return the words that stand in the best sentences far more than elsewhere, with weights."""
        counts: Counter[str] = Counter()
        for i in best[:FEEDBACK].tolist():
            counts.update(set(self._terms(i)) - weights.keys())
        bound = {t: n * self.weight(t) for t, n in counts.items() if n >= 3 and self.weight(t) > TELLING}
        chosen = sorted(bound, key=lambda t: (-bound[t], t))[:RELATED]
        return {t: RELATED_WEIGHT * self.weight(t) for t in chosen}

    def by_community(self, question: Question, level: int) -> dict[int, list[Found]]:
        """Return the sentences that speak to a question, by the community that they mostly mention."""
        key = (question.text, level)
        if key not in self._by_community:
            starts, mentions = self.context
            owner = self._owner(level)
            grouped: dict[int, list[Found]] = {}
            for f in self.find(question):
                owners: Counter[int] = Counter(owner[mentions[starts[f.sentence] : starts[f.sentence + 1]]].tolist())
                if owners:
                    grouped.setdefault(owners.most_common(1)[0][0], []).append(f)
            self._by_community[key] = grouped
        return self._by_community[key]

    def _owner(self, level: int) -> Ints:
        """Return the community of each entity in the view of a level."""
        owner = np.full(len(self.index.entities), -1, np.int64)
        for community in self.index.communities_at(level):
            owner[list(community.entity_numbers)] = community.number
        return owner

    def rank_among_parts(self, level: int) -> dict[int, int]:
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
