"""Statements: the sentences that evidence is made of, each with the references that prove it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from conspectus.models.base import performs
from conspectus.models.extractive.reason import name_entities
from conspectus.references import Reference, strip
from conspectus.tasks import ClearSentences, Entails, FactualClaims, Numbered, SelectFactual
from conspectus.tasks.base import Context
from conspectus.text.language import ENGLISH
from conspectus.text.sentences import quality, sentences
from conspectus.text.words import CJK, VAGUE, WORD, fold, is_unspaced, stem, terms

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
    for text, reference, weight in _quoted(evidence, language):
        gathered.setdefault(text, []).append(reference)
        weights[text] = max(weights.get(text, 0.0), weight)
    found: list[Statement] = []
    for text, references in gathered.items():
        quality_of, words = reading(text, language)
        left = worth.get(words_of(text), 1.0) if worth else 1.0
        found.append(Statement(text, tuple(dict.fromkeys(references)), quality_of * left, words, weights[text]))
    return found


def _quoted(evidence: Context, language: str) -> Iterator[tuple[str, Reference, float]]:
    for i, report in enumerate(evidence.reports, 1):
        for place, finding in enumerate(report.findings):
            for text in split(strip(finding.explanation), language):
                yield text, Reference("Reports", i), 1.3 - 0.05 * place
    for table, rows in (("Relationships", evidence.relationships), ("Entities", evidence.entities)):
        for i, row in enumerate(rows, 1):
            for text in split(row.description, language):
                yield text, Reference(table, i), 1.0
    for i, claim in enumerate(evidence.claims, 1):
        yield claim.description, Reference("Claims", i), 1.0


@lru_cache(maxsize=1 << 17)
def split(description: str, language: str = ENGLISH) -> tuple[str, ...]:
    """Cut a description into its statements: a quotation with its speaker stands on a line of its own."""
    found: list[str] = []
    for line in description.splitlines():
        found += [line] if _SPEAKER.match(line) else [line[a:b] for a, b in sentences(line, language=language)]
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


SUPPORTED = 0.7
"""The share of the key terms of a statement that a text must hold to support it.

On the reports of an index that GPT-4.1 wrote it takes 12 % of the sentences for supported by the rows that they cite,
2.5 % by other rows of their report, and 0.1 % by rows of another: it misses paraphrases rather than make support up.
"""
LEAST = 3  # unexplained
"""Key terms of a sentence that says something of its own: names alone do not."""
WHOLE = 0.35
"""The quality from which on a sentence is no fragment."""
_ASKS = re.compile(r"[?？][\"”’」』)]*$")
_UNSETTLED = re.compile(
    r"(?:(?:and|but|so|because|then|also|or|yes|well)\b,?\s+)*"
    r"(?:it|he|she|they|this|that|these|those|here|there|his|her|its|their|him|them|the (?:former|latter))\b"
    r"(?:['’]\w+)?|^[^\w“‘]*(?:它|他|她|它们|他们|她们|这|那|这些|那些|此|其)",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NUMBER_WORD = re.compile(
    r"\b(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|trillion)s?\b",
    re.I,
)
_OPENED = re.compile(r"\w\W{0,2} $")
"""What stands before a word that opens no sentence and no quotation."""


@performs(SelectFactual)
def select_factual(task: SelectFactual) -> tuple[int, ...]:
    """Choose the sentences that name something or give a number or date, and do not ask."""
    names = frozenset(word for sentence in task.sentences for word in _capitals(sentence))
    return tuple(n for n, sentence in enumerate(task.sentences, 1) if _states_a_fact(sentence, names))


def _capitals(sentence: str) -> list[str]:
    """Return the words that a sentence writes with a capital, but for the one that it opens with."""
    return [m[0] for m in WORD.finditer(sentence) if m[0][0].isupper() and _OPENED.search(sentence, 0, m.start())]


def _states_a_fact(sentence: str, names: frozenset[str]) -> bool:
    """Tell whether a sentence names something or gives a number beside who says it; its first word is a name where
    others write it so.
    """
    said = words_of(sentence)
    if sentence.startswith("# ") or _ASKS.search(said) or len(key_terms(said)) < LEAST:
        return False
    first = WORD.search(said)
    if first and first[0] not in names and len(first[0]) > 1 and first[0].istitle():
        said = said[: first.start()] + first[0].lower() + said[first.end() :]
    return bool(_NUMBER.search(said) or _NUMBER_WORD.search(said) or name_entities(said))


@performs(ClearSentences)
def clear_sentences(task: ClearSentences) -> tuple[Numbered, ...]:
    """Keep the chosen sentences as they are, without fragments and those that open with a pronoun: nothing tells whom
    it stands for.
    """
    kept = ((n, task.sentences[n - 1]) for n in task.chosen if 0 < n <= len(task.sentences))
    return tuple(Numbered(n, text) for n, text in kept if _reads_alone(words_of(text)))


def _reads_alone(said: str) -> bool:
    if _UNSETTLED.match(said):
        return False
    ended = said if said[-1:] in ".!?。！？" else f"{said}."  # an item of a list has no full stop
    return bool(CJK.search(said)) or quality(ended) >= WHOLE


@performs(FactualClaims)
def factual_claims(task: FactualClaims) -> tuple[Numbered, ...]:
    """Take each sentence for one claim."""
    return tuple(Numbered(n, text) for n, text in enumerate(task.sentences, 1))


@performs(Entails)
def entails(task: Entails) -> bool:
    """Tell whether a text holds enough of the key terms of a statement, and all of its numbers."""
    return supported_share(task.statement, task.text) >= SUPPORTED


@lru_cache(maxsize=1 << 14)
def all_terms(text: str) -> frozenset[str]:
    """Return the terms of a text."""
    return frozenset(terms(fold(text)))


def key_terms(statement: str) -> frozenset[str]:
    """Return what a statement is about: its terms without the vague ones, and without who says it."""
    return all_terms(words_of(statement)) - _VAGUE_STEMS


def supported_share(statement: str, text: str) -> float:
    """Return the share, 0 to 1, of the key terms of a statement that a text holds; 0 where it lacks a number of it."""
    wanted = key_terms(statement)
    numbers = set(_NUMBER.findall(words_of(statement)))
    if not wanted or not numbers <= set(_NUMBER.findall(text)):
        return 0.0
    return len(wanted & all_terms(text)) / len(wanted)
