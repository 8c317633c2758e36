"""Statements: the sentences that evidence is made of, each with the references that prove it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from conspectus.references import Reference, strip
from conspectus.tasks.context import Context
from conspectus.text.language import ENGLISH
from conspectus.text.quality import quality
from conspectus.text.sentences import sentences
from conspectus.text.words import VAGUE, fold, is_unspaced, stem, terms

_SPEAKER = re.compile(r'([^\s":：][^":：]{1,40})(?:: "|：“)')
_VAGUE_STEMS = frozenset(stem(word) for word in VAGUE)
_FIRST_PERSON = re.compile(r"\b(?:I|I['’](?:m|ve|d|ll)|my|me)\b")
_RUN_ON = 420  # unexplained
"""Characters of a statement at the most: longer ones are no single sentence."""
RUN_ON_UNSPACED = 160  # unexplained
"""The same in Chinese and Japanese."""


@dataclass(frozen=True)
class Statement:
    """One sentence as it is quoted, with who says it before it."""

    text: str
    references: tuple[Reference, ...]
    quality: float
    terms: frozenset[str]
    weight: float = 1.0
    """What it gains from the evidence that it comes from."""


def statements(evidence: Context, worth: Mapping[str, float], language: str = ENGLISH) -> list[Statement]:
    """Return the distinct statements of a piece of evidence, with references by its local numbers.

    `worth` says what is left of the quality of those that hold set phrases, by their words.
    """
    gathered: dict[str, list[Reference]] = {}
    weights: dict[str, float] = {}
    for text, reference, weight in _quoted(evidence):
        gathered.setdefault(text, []).append(reference)
        weights[text] = max(weights.get(text, 0.0), weight)
    found: list[Statement] = []
    for text, references in gathered.items():
        quality_of, words = reading(text, language)
        left = worth.get(words_of(text), 1.0) if worth else 1.0
        found.append(Statement(text, tuple(dict.fromkeys(references)), quality_of * left, words, weights[text]))
    return found


def _quoted(evidence: Context) -> Iterator[tuple[str, Reference, float]]:
    for i, report in enumerate(evidence.reports, 1):
        for place, finding in enumerate(report.findings):
            for text in split(strip(finding.explanation)):
                yield text, Reference("Reports", i), 1.3 - 0.05 * place
    for table, rows in (("Relationships", evidence.relationships), ("Entities", evidence.entities)):
        for i, row in enumerate(rows, 1):
            for text in split(row.description):
                yield text, Reference(table, i), 1.0
    for i, claim in enumerate(evidence.claims, 1):
        yield claim.description, Reference("Claims", i), 1.0


@lru_cache(maxsize=1 << 17)
def split(description: str) -> tuple[str, ...]:
    """Cut a description into its statements: a quotation with its speaker stands on a line of its own."""
    found: list[str] = []
    for line in description.splitlines():
        found += [line] if _SPEAKER.match(line) else [line[a:b] for a, b in sentences(line)]
    return tuple(found)


@lru_cache(maxsize=1 << 17)
def reading(text: str, language: str = ENGLISH) -> tuple[float, frozenset[str]]:
    """Return how well a statement reads alone, and the terms that it is about."""
    said = words_of(text)
    if said == text and _FIRST_PERSON.search(text):  # nobody knows who speaks
        return 0.5 * quality(said, language), frozenset()
    if len(text) > (RUN_ON_UNSPACED if is_unspaced(text) else _RUN_ON):
        return 0.2 * quality(said, language), frozenset()
    return quality(said, language), subject_terms(said, language)


def subject_terms(said: str, language: str = ENGLISH) -> frozenset[str]:
    """Return the terms that words are about, without the vague ones and without numbers."""
    return frozenset(t for t in terms(fold(said), language) if t not in _VAGUE_STEMS and not t.isdigit())


def words_of(statement: str) -> str:
    """Return what a statement quotes, without who says it."""
    match = _SPEAKER.match(statement)
    return statement[match.end() :].rstrip('"”') if match else statement


def speaker_of(statement: str) -> str:
    """Return who says a statement, "" where that is not given."""
    match = _SPEAKER.match(statement)
    return match.group(1) if match else ""
