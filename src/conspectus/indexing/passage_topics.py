"""The names of a corpus, numbered; what its passages are about; and which of these are forms of one name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from conspectus.rows import Chunk, Document
from conspectus.text.lead_subjects import lead_subjects, title_key
from conspectus.text.mentions import KNOWN, OPENING, find_runs, units
from conspectus.text.vocabulary import Ints, Vocabulary
from conspectus.text.words import STOPWORDS, name_key

Matrix = sparse.csr_array[Any, Any]

TITLE = 30.0
"""How much more a name leads to sentences of the passage whose title it is than to one that mentions it."""
SUBJECT, SUBJECT_UNTITLED = 2.0, 15.0
"""The same for the subject of a passage's first sentence, where there is a title and where there is none."""
INSIDE, INSIDE_WORDS = 2.0, 4
"""The same for a name of so many words inside the title or subject, times its share of the words of that."""
MOST_ALIASES = 2
"""Names that an untitled subject may be a form of; where there are more, it is taken for none."""


@dataclass(frozen=True)
class CasingStats:
    """How the corpus writes each word, by its key: how often in lower case, and whether as a name."""

    lower: dict[str, int]
    proper: dict[str, bool]

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> CasingStats:
        keys = [name_key(word) for word in vocabulary.words]
        return cls(
            dict(zip(keys, vocabulary.lower.tolist(), strict=True)),
            dict(zip(keys, vocabulary.proper.tolist(), strict=True)),
        )


@dataclass(frozen=True)
class Names:
    """Numbers names in the order in which they are met."""

    usage: CasingStats
    keys: dict[str, int] = field(default_factory=dict[str, int])
    known: list[str] = field(default_factory=list[str])
    """Names that are looked for however they are written: what passages are about."""

    def number(self, key: str) -> int:
        return self.keys.setdefault(key, len(self.keys))

    def know(self) -> None:
        """Take the names met so far as known, but for short ones and words that the corpus writes small."""
        lower = self.usage.lower
        self.known.extend(k for k in self.keys if len(units(k)) > 1 or (len(k) > 3 and not lower.get(k)))

    def may_open(self, key: str) -> bool:
        """Tell whether a name is one where nothing but its capital says so, and that opens its sentence."""
        return " " in key or self.usage.proper.get(key, True)

    def kinds(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        kinds = np.array([OPENING * self.may_open(key) for key in self.keys], np.uint8)
        kinds[[self.keys[key] for key in self.known]] |= KNOWN
        return kinds


@dataclass(frozen=True)
class PassageTopic:
    passage: int
    key: str
    name: int
    weight: float
    main: bool
    """Whether it is the title or the first subject, whose parts count too."""
    untitled: bool


@dataclass(frozen=True)
class PassageTopics:
    rows: tuple[PassageTopic, ...]

    def matrix(self, shape: tuple[int, int]) -> Matrix:
        """Return passages by names; of several weights the largest holds."""
        weights: dict[tuple[int, int], float] = {}
        for lead in self.rows:
            place = lead.passage, lead.name
            weights[place] = max(weights.get(place, 0.0), lead.weight)
        places = np.array(list(weights), np.int64).reshape(-1, 2)
        values = np.array(list(weights.values()), np.float32)
        return sparse.csr_array((values, (places[:, 0], places[:, 1])), shape=shape)

    def with_inside(self, names: Names) -> PassageTopics:
        """Return the leads with the known names inside them, weaker the less of the words they are."""
        found: list[PassageTopic] = []
        for lead in (row for row in self.rows if row.main):
            words = lead.key.split()
            for start in range(len(words)):
                for end in range(start + 1, min(len(words), start + INSIDE_WORDS) + 1):
                    key = " ".join(words[start:end])
                    alone = end - start == 1 and (len(key) < 3 or key in STOPWORDS or not names.may_open(key))
                    if key in names.keys and end - start < len(words) and not alone:
                        weight = INSIDE * (end - start) / len(words)
                        found.append(PassageTopic(lead.passage, key, names.keys[key], weight, False, lead.untitled))
        return PassageTopics((*self.rows, *found))


def find_topics(
    documents: Sequence[Document],
    chunks: Sequence[Chunk],
    passages: tuple[Ints, Ints],
    texts: Sequence[str],
    vocabulary: Vocabulary,
    names: Names,
) -> PassageTopics:
    """Return what each passage is about: the title of its document, and the subject of that document's
    opening."""
    title_of = {d.id: title_key(d.title) for d in documents}
    rows: list[PassageTopic] = []
    runs = _first_runs(vocabulary)
    opened: set[str] = set()
    for chunk, first, last in zip(chunks, passages[0].tolist(), passages[1].tolist(), strict=True):
        title = title_of[chunk.document_id]
        if title:
            rows.append(PassageTopic(chunk.number, title, names.number(title), TITLE, True, False))
        if chunk.document_id in opened or first == last:
            continue
        opened.add(chunk.document_id)
        found = lead_subjects(texts[int(first)]) or runs.get(first, [])
        weight = SUBJECT if title else SUBJECT_UNTITLED
        for place, key in enumerate(found):
            rows.append(PassageTopic(chunk.number, key, names.number(key), weight, place == 0, not title))
    names.know()
    return PassageTopics(tuple(rows))


def _first_runs(vocabulary: Vocabulary) -> dict[int, list[str]]:
    runs: dict[int, list[str]] = {}
    for text, keys in find_runs(vocabulary, vocabulary.proper[vocabulary.token_word]):
        runs.setdefault(text, [keys[0]])
    return runs


def aliases_of(names: Names, leads: PassageTopics) -> Matrix:
    """Return names by names, 1 / n where a name is one of n that an untitled subject may be a form of, both
    ways.

    One is a form of the other where it is its first or last words, two at least, or has the same first and
    last word.
    """
    forms: dict[tuple[str, ...], set[int]] = defaultdict(set)
    for lead in (row for row in leads.rows if row.main and row.untitled):
        words = lead.key.split()
        for form in _forms(words) if words[0].isalpha() else ():
            forms[form].add(lead.name)
    rows: list[tuple[int, int, float]] = []
    for key, name in names.keys.items() if forms else ():
        words = key.split()
        if len(words) < 2 or words[0].isdigit():
            continue
        near = (forms.get((words[0], "", words[-1]), set()) | forms.get(tuple(words), set())) - {name}
        if len(near) <= MOST_ALIASES:
            rows += ((name, other, 1 / len(near)) for other in near)
    table = np.array(rows, np.float64).reshape(-1, 3)
    shape = (len(names.keys), len(names.keys))
    matrix = sparse.csr_array((table[:, 2].astype(np.float32), table[:, :2].astype(np.int64).T), shape=shape)
    return matrix.maximum(matrix.T.tocsr())


def _forms(words: list[str]) -> Iterator[tuple[str, ...]]:
    if len(words) >= 2:
        yield words[0], "", words[-1]
        for size in range(2, len(words)):
            yield tuple(words[:size])
            yield tuple(words[-size:])
