"""What a question asks for, unit by unit: words that belong together count as one, and so does their acronym."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from conspectus.algorithms.bm25 import idf
from conspectus.index import Index
from conspectus.text.question import Question
from conspectus.text.words import name_key

if TYPE_CHECKING:
    from conspectus.models.extractive.search import Floats, Searcher

COHESION = 0.2
"""Share of the rarer one's sentences, two at least, from which on two neighbours of a question are one thing."""
WHOLE = 0.999
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
        terms = tuple(dict.fromkeys(term for word in words for term in searcher.index.terms(word)))
        others = _other_name(" ".join(words), searcher.index)
        units.append(QueryPhrase(terms, others, _weight(terms, others, searcher)))
    inside = {term for unit in units for term in unit.terms}
    rest = (term for term in searcher.words(question.focus) if term not in inside)
    return units + [QueryPhrase((term,), (), searcher.weight(term)) for term in rest]


def coverage(unit: QueryPhrase, searcher: Searcher) -> Floats:
    """Return for each sentence how far it holds a unit: 1 for all of it, less than in proportion for a part.

    "Remotely surprised" says little of remote work.
    """
    share = searcher.shares(dict.fromkeys(unit.terms, 1.0)) ** 2
    if unit.others:
        share[searcher.shares(dict.fromkeys(unit.others, 1.0)) > WHOLE] = 1
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
    terms = {*searcher.index.terms(one), *searcher.index.terms(other)}
    both = int(np.count_nonzero(searcher.shares(dict.fromkeys(terms, 1.0)) > WHOLE))
    return both >= max(2, COHESION * min(map(searcher.frequency, terms)))


def _other_name(name: str, index: Index) -> tuple[str, ...]:
    """Return the terms of the acronym of a name that the graph joins with it, or of what an acronym stands for."""
    number = index.entity_of_key.get(name_key(name))
    if number is None:
        return ()
    own = index.entities[number].name
    for edge in map(index.relationships.__getitem__, index.edges_of(number)):
        other = edge.target if edge.source == own else edge.source
        if is_acronym(own, other) or is_acronym(other, own):
            return tuple(dict.fromkeys(index.terms(other)))
    return ()


def _weight(terms: tuple[str, ...], others: tuple[str, ...], searcher: Searcher) -> float:
    if len(terms) == 1 and not others:
        return searcher.weight(terms[0])
    found = coverage(QueryPhrase(terms, others, 0.0), searcher)
    return idf(len(found), int(np.count_nonzero(found > WHOLE))) ** 2
