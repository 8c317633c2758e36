"""The annotations of the graph that a question matches: entities, relationships, claims, reports (GraphRAG, future
work).

They are matched by their words, the rare ones first, those in names more than others; where the index has vectors,
also by the meaning of the sentences that they stand on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from conspectus.algorithms.bm25 import idf
from conspectus.algorithms.fusion import highest, scaled
from conspectus.index import Index
from conspectus.retrieval.local import entities_in
from conspectus.retrieval.vector import has_vectors, question_vectors
from conspectus.rows import Community
from conspectus.settings import Settings
from conspectus.text.question import read_question
from conspectus.text.words import CJK

Kind = Literal["entity", "relationship", "claim", "report"]

IN_NAME = 0.5
"""What a word in a name counts beside the same word in a description."""
MEANING = 0.5
"""What the likeness of the best sentence counts beside that of the words."""
SENTENCES = 200
"""Sentences nearest to the question whose annotations are matched by meaning."""
LEAST = 0.2
"""The share of the question's weight that an annotation must hold."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A row that a question matches, and how well, about 0 to 2."""

    kind: Kind
    number: int
    name: str
    score: float


@dataclass(frozen=True, slots=True)
class _Row:
    kind: Kind
    number: int
    name: str
    text: str
    """The name and the description, in lower case."""


def _rows(index: Index) -> list[_Row]:
    """Return all annotations of an index; made once for each that is open."""
    if "annotations" not in index.derived:
        index.derived["annotations"] = list(_read(index))
    return index.derived["annotations"]


def _read(index: Index) -> Iterator[_Row]:
    for e in index.entities:
        yield _Row("entity", e.number, e.name, f"{e.name} {e.description}".lower())
    for r in index.relationships:
        yield _Row("relationship", r.number, f"{r.source} - {r.target}", r.description.lower())
    for c in index.claims:
        yield _Row("claim", c.number, c.subject, f"{c.subject} {c.object} {c.description}".lower())
    for p in index.reports:
        yield _Row("report", p.number, p.title, f"{p.title} {p.summary}".lower())


def matched(question: str, index: Index, settings: Settings, most: int) -> list[Annotation]:
    """Return the annotations that match a question, the best first, at most so many."""
    rows = _rows(index)
    scores = _by_words(question, rows, index)
    if has_vectors(index):
        for place, like in _by_meaning(question, index, settings).items():
            scores[place] = scores.get(place, 0.0) + MEANING * like
    for entity in entities_in(question, index):  # the question names it, whatever the spelling
        scores[entity.number] = scores.get(entity.number, 0.0) + 1.0
    best = sorted(scores, key=lambda place: (-scores[place], place))[:most]
    return [Annotation(rows[i].kind, rows[i].number, rows[i].name, scores[i]) for i in best]


def _by_words(question: str, rows: Sequence[_Row], index: Index) -> dict[int, float]:
    """Return by its place the share of the question's weight, in squared IDF, that each annotation holds."""
    asked = read_question(question, *index.languages).focus or tuple(dict.fromkeys(index.terms(question)))
    parts = [term[:-1] if len(term) > 3 and not CJK.search(term) else term for term in asked]
    near = [i for i, row in enumerate(rows) if any(part in row.text for part in parts)]  # stems may end otherwise
    held = {i: set(asked).intersection(index.terms(rows[i].text)) for i in near}
    frequency = {term: sum(term in words for words in held.values()) for term in asked}
    weight = {term: idf(len(rows), n) ** 2 for term, n in frequency.items() if n}
    total = sum(weight.values()) or 1.0
    scores: dict[int, float] = {}
    for i, words in held.items():
        share = sum(weight[t] for t in sorted(words)) / total
        if share >= LEAST:
            named = words.intersection(index.terms(rows[i].name))
            scores[i] = share + IN_NAME * sum(weight[t] for t in sorted(named)) / total
    return scores


def _by_meaning(question: str, index: Index, settings: Settings) -> dict[int, float]:
    """Return by its number how like the question an entity is: as the best sentence that mentions it, 1 at most."""
    like: Any = index.arrays["vectors.sentences"].astype(np.float32) @ question_vectors([question], index, settings)[0]
    starts, mentions = index.arrays["sentences.mention_starts"], index.arrays["sentences.mentions"]
    scores: dict[int, float] = {}
    best = highest(scaled(like), SENTENCES)
    for sentence, score in zip(best.tolist(), scaled(like)[best].tolist(), strict=True):
        for entity in mentions[starts[sentence] : starts[sentence + 1]].tolist() if score > 0 else ():
            scores.setdefault(entity, score)
    return scores


def home(annotation: Annotation, index: Index, least: int) -> Community | None:
    """Return the deepest community of at least so many entities that holds an annotation, None where none does."""
    match annotation.kind:
        case "report":
            return index.communities[index.reports[annotation.number].community]
        case "relationship":
            row = index.relationships[annotation.number]
            names = [row.source, row.target]
        case "claim":
            names = [index.claims[annotation.number].subject, index.claims[annotation.number].object]
        case "entity":
            names = [index.entities[annotation.number].name]
    held = [index.communities_of(index.entity_of_name[name]) for name in names if name in index.entity_of_name]
    shared = [c for c in held[0] if all(c in other for other in held[1:])] if held else []
    return next((index.communities[c] for c in shared if index.communities[c].size >= least), None)


def communities_of(annotations: Sequence[Annotation], index: Index, least: int) -> dict[int, float]:
    """Return the deepest communities that hold the annotations, with the sum of their scores, the highest first."""
    scores: dict[int, float] = {}
    for annotation in annotations:
        community = home(annotation, index, least)
        if community is not None:
            scores[community.number] = scores.get(community.number, 0.0) + annotation.score
    return {number: scores[number] for number in sorted(scores, key=lambda n: (-scores[n], n))}
